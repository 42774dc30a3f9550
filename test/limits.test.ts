import t from 'tap'
import * as v from 'valibot'
import { afterCall, bucketOf, waitOf } from '../src/access/gcra.ts'
import { createLimits } from '../src/access/limits.ts'
import { networkOf, siteOf } from '../src/access/network.ts'
import { readConfig } from '../src/config.ts'
import { Failure } from '../src/errors.ts'
import { type Op, op, type Rate, type Statements } from '../src/op.ts'
import { cdpQueryOps } from '../src/ops/cdp-query.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { serverProcess } from './fixtures/child.ts'
import { database } from './fixtures/database.ts'
import { randomSource } from './fixtures/random.ts'

t.capture(process.stderr, 'write')

const QUERY = 'POST /cdp/query/{itemType}/count'

/** Seconds that a refused call is to wait; 0 when it is admitted. */
const refused = async (call: () => void | Promise<void>): Promise<number> => {
  try {
    await call()
    return 0
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'rate_limited') throw error
    return Number(error.headers['retry-after'])
  }
}

t.test('GCRA', async (t) => {
  const calls = (rate: Rate, times: readonly number[]) => {
    const bucket = bucketOf(rate)
    let fullAt = 0
    return times.map((at) => {
      const wait = waitOf(bucket, fullAt, at)
      if (wait === 0) fullAt = afterCall(bucket, fullAt, at)
      return wait
    })
  }
  t.test('takes a burst, then one call per interval', async (t) => {
    const ten = Array(10).fill(0)
    t.same(calls({ count: 10, per: 'second' }, [...ten, 0, 50, 99, 100, 100, 200]), [
      ...ten,
      100,
      50,
      1,
      0,
      100,
      0,
    ])
    t.same(calls({ count: 30, per: 'minute' }, [...Array(31).fill(0), 2000]).slice(29), [0, 2000, 0])
    t.same(calls({ count: 1, per: 'second', burst: 3 }, [0, 0, 0, 0, 999, 1000]), [0, 0, 0, 1000, 1, 0])
  })
  t.test('admits in any window what a token bucket does, and a refused call costs nothing', async (t) => {
    const { below, chance } = randomSource(t)
    for (let round = 0; round < 200; round++) {
      const rate = {
        count: 1 + below(12),
        per: 'second',
        burst: 1 + below(20),
      } as const
      let at = 0
      const times = Array.from({ length: 200 }, () => {
        at += chance(0.3) ? below(500_000) / 1000 : 0
        return at
      })
      let tokens = rate.burst
      let filledAt = 0
      const waits = calls(rate, times)
      for (const [index, time] of times.entries()) {
        tokens = Math.min(rate.burst, tokens + ((time - filledAt) * rate.count) / 1000)
        filledAt = time
        const admits = tokens > 1 - 1e-6
        if (admits) tokens--
        if (admits !== (waits[index] === 0)) t.fail(JSON.stringify({ rate, index }))
      }
    }
  })
})

const none: Statements = {
  one: () => Promise.reject(new Error('no statement is expected')),
  maybe: () => Promise.reject(new Error('no statement is expected')),
  many: () => Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' })),
  run: async () => 0,
}

t.test('operations without a limit of their own', async (t) => {
  const clock = { now: 1_000 }
  const limits = createLimits(none, () => clock.now)
  t.teardown(limits.close)
  const call = (name: string, credential: string) => refused(() => limits.call({ name }, credential))
  const admitted = async (name: string, credential: string, times: number) => {
    let count = 0
    for (let at = 0; at < times; at++) if ((await call(name, credential)) === 0) count++
    return count
  }

  t.test('take 200 calls at once and then 100 a second, although Postgres is away', async (t) => {
    t.equal(await admitted('a', 'k', 300), 200)
    t.equal(await call('a', 'k'), 1)
    clock.now += 1_000
    t.equal(await admitted('a', 'k', 300), 100)
    clock.now += 10
    t.equal(await admitted('a', 'k', 3), 1)
    clock.now += 60_000
    t.equal(await admitted('a', 'k', 300), 200)
  })
  t.test('count by credential and operation', async (t) => {
    t.equal(await admitted('a', 'other', 300), 200)
    t.equal(await admitted('b', 'k', 300), 200)
  })
  t.test('forget the oldest of 50,000 busy buckets', async (t) => {
    t.equal(await admitted('a', 'first', 300), 200)
    for (let at = 0; at < 49_999; at++) limits.call({ name: 'a' }, String(at))
    t.equal(await admitted('a', 'first', 300), 0)
    limits.call({ name: 'a' }, 'one more')
    t.equal(await admitted('a', 'first', 300), 200)
  })
})

t.test(
  'browsers may send 50 requests a second, 100 at once, per shop and address or IPv6 network',
  async (t) => {
    const limits = createLimits(none, () => 0)
    t.teardown(limits.close)
    const admitted = async (shop: string, address: string) => {
      let count = 0
      for (let at = 0; at < 150; at++) if ((await refused(() => limits.collect(shop, address))) === 0) count++
      return count
    }
    t.equal(await admitted('a.myshopify.com', '192.0.2.1'), 100)
    t.equal(await admitted('a.myshopify.com', '192.0.2.1'), 0)
    t.equal(await admitted('a.myshopify.com', '192.0.2.2'), 100)
    t.equal(await admitted('b.myshopify.com', '192.0.2.1'), 100)
    t.equal(await admitted('a.myshopify.com', '::ffff:192.0.2.1'), 0)
    t.equal(await admitted('a.myshopify.com', '2001:db8:0:1::1'), 100)
    t.equal(await admitted('a.myshopify.com', '2001:db8:0:1:ffff:2:3:4'), 0, 'of one IPv6 network')
    t.equal(await admitted('a.myshopify.com', '2001:db8:0:2::1'), 100)
  },
)

t.test('calls without a credential', async (t) => {
  const clock = { now: 1_000 }
  const limits = createLimits(none, () => clock.now)
  t.teardown(limits.close)
  const admitted = async (call: () => void | Promise<void>) => {
    let count = 0
    for (let at = 0; at < 300; at++) if ((await refused(call)) === 0) count++
    return count
  }
  t.test('are counted by address or IPv6 network', async (t) => {
    t.equal(await admitted(() => limits.anonymous({ name: 'a' }, '192.0.2.1')), 200)
    t.equal(await admitted(() => limits.anonymous({ name: 'a' }, '2001:db8:0:1::1')), 200)
    t.equal(await admitted(() => limits.anonymous({ name: 'a' }, '2001:db8:0:1::2')), 0)
  })
  t.test('of however many addresses make no calls of a credential be forgotten', async (t) => {
    t.equal(await admitted(() => limits.call({ name: 'a' }, 'key')), 200)
    for (let at = 0; at < 50_001; at++) limits.anonymous({ name: 'a' }, String(at))
    t.equal(await admitted(() => limits.call({ name: 'a' }, 'key')), 0)
  })
})

t.test('an address is of one network, however it is written', async (t) => {
  for (const [network, addresses] of Object.entries({
    '192.0.2.1': [
      '192.0.2.1',
      '::ffff:192.0.2.1',
      '::FFFF:c000:201',
      '0:0:0:0:0:ffff:192.0.2.1',
      '0000:0000:0000:0000:0000:ffff:c000:0201',
    ],
    '2001:db8:0:1': ['2001:db8:0:1::', '2001:DB8::1:0:0:0:9', '2001:0db8:0000:0001:ffff:ffff:ffff:ffff'],
    '0:0:0:0': ['::1', '::', '::fffe:192.0.2.1'],
    'fe80:0:0:0': ['fe80::1%eth0.1.2.3', 'fe80:0:0:0:1:2:3:4%1.2.3.4'],
    '64:ff9b:0:0': ['64:ff9b::192.0.2.1'],
    'no address': ['no address'],
  }))
    for (const address of addresses) t.equal(networkOf(address), network, address)
})

t.test('a site has all networks of 48 bits of IPv6', async (t) => {
  t.equal(siteOf('2001:DB8::1:0:0:0:9'), '2001:db8:0')
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1', 'no address']) t.equal(siteOf(address), undefined)
})

t.test('over Postgres', async (t) => {
  const db = await database(t)
  const { pipeline } = db.postgres
  const insights = { name: 'get_lifetime_value', rate: { count: 10, per: 'second' } } as const
  const estimate = { name: 'estimate_segment', rate: { count: 30, per: 'minute' } } as const
  const { name, rate } = cdpQueryOps.find((each) => each.route === QUERY) as Op
  const query = { name, rate }

  const counted = () => {
    const made = { statements: 0 }
    const statements: Statements = {
      ...pipeline,
      maybe: (name, args) => {
        made.statements++
        return pipeline.maybe(name, args)
      },
      many: (name, args) => {
        made.statements++
        return pipeline.many(name, args)
      },
    }
    const limits = createLimits(statements)
    t.teardown(limits.close)
    return { made, limits }
  }

  t.test('a limit of an operation is exact over several processes', async (t) => {
    const processes = await Promise.all([serverProcess(t, db.url), serverProcess(t, db.url)])
    for (const [op, burst, everyMs] of [
      [estimate, 30, 2_000],
      [insights, 10, 100],
      [query, 20, 100],
    ] as const) {
      const began = performance.now()
      const rounds = await Promise.all(
        processes.flatMap(({ ask }) => [ask('take', op, 'k1', 100), ask('take', op, 'k1', 100)]),
      )
      const most = burst + Math.floor((performance.now() - began) / everyMs)
      const count = (rounds as number[]).reduce((sum, one) => sum + one)
      t.ok(count >= burst && count <= most, `${op.name}: ${count} of ${burst} to ${most}`)
    }
  })

  t.test('calls at the same moment are counted one by one', async (t) => {
    const { limits } = counted()
    const began = performance.now()
    const waits = await Promise.all(
      Array.from({ length: 60 }, () => refused(() => limits.call(estimate, 'k2'))),
    )
    const took = Math.floor((performance.now() - began) / 1_000)
    const admitted = waits.filter((wait) => wait === 0).length
    t.ok(admitted >= 30 && admitted <= 30 + took / 2, `${admitted} in ${took} s`)
    // From the call's own beginning, which is a moment before the last one that was admitted.
    t.ok(
      waits.every((wait) => wait === 0 || (wait >= 2 - took && wait <= 3 + took)),
      'the others wait 2 s',
    )
  })

  t.test('refused calls cost no statement', async (t) => {
    const { limits, made } = counted()
    const began = performance.now()
    for (let at = 0; at < 300; at++) await refused(() => limits.call(estimate, 'k3'))
    // One call more is admitted every two seconds, and the next one looks again.
    const most = 31 + 2 * Math.floor((performance.now() - began) / 2_000)
    t.ok(made.statements >= 31 && made.statements <= most, `${made.statements} of 31 to ${most}`)
  })

  t.test('Postgres being away is not a 429', async (t) => {
    const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    const limits = createLimits({ ...pipeline, maybe: () => Promise.reject(away) })
    t.teardown(limits.close)
    await t.rejects(async () => limits.call(estimate, 'k'), away)
  })

  t.test('the common limit costs a statement per twenty calls, and refused calls none', async (t) => {
    const { limits, made } = counted()
    for (let at = 0; at < 19; at++) await limits.call({ name: 'a' }, 'k4')
    await limits.settled()
    t.equal(made.statements, 0)
    const began = performance.now()
    for (let at = 0; at < 1_000; at++) {
      await refused(() => limits.call({ name: 'a' }, 'k4'))
      await limits.settled()
    }
    // A hundred calls a second come beside the burst of two hundred.
    const most = 30 + (performance.now() - began) / 200
    t.ok(made.statements > 5 && made.statements < most, String(made.statements))
  })

  t.test('reports do not make one process stricter than it is alone', async (t) => {
    const clock = { now: 1_000 }
    const limits = createLimits(pipeline, () => clock.now)
    t.teardown(limits.close)
    for (let at = 0; at < 100; at++) {
      clock.now += 1_000
      t.equal(await refused(() => limits.call({ name: 'a' }, 'k5')), 0)
      await limits.settled()
    }
    clock.now += 1_000
    let admitted = 0
    for (let at = 0; at < 300; at++)
      if ((await refused(() => limits.call({ name: 'a' }, 'k5'))) === 0) admitted++
    t.equal(admitted, 200)
    await limits.settled()
  })

  t.test('several processes together admit a burst and little more', async (t) => {
    const processes = await Promise.all([serverProcess(t, db.url), serverProcess(t, db.url)])
    const began = performance.now()
    const answers = await Promise.all(processes.map(({ ask }) => ask('take', { name: 'a' }, 'k6', 20_000)))
    const refilled = Math.ceil((performance.now() - began) / 10)
    const count = (answers as number[]).reduce((sum, one) => sum + one)
    t.ok(count >= 200 && count <= 240 + refilled, `${count}`)
  })

  t.test('two processes that admit 90 a second each come down to 100', async (t) => {
    const clock = { now: 1_000 }
    const both = [0, 1].map(() => createLimits(virtual(clock), () => clock.now))
    for (const limits of both) t.teardown(limits.close)
    const admitted = [0, 0]
    for (let second = 0; second < 30; second++) {
      for (let at = 0; at < 90; at++) {
        clock.now += 1000 / 90
        for (const [index, limits] of both.entries()) {
          if ((await refused(() => limits.call({ name: 'a' }, 'k'))) === 0)
            admitted[index] = (admitted[index] ?? 0) + 1
          await limits.settled()
        }
      }
    }
    const total = (admitted[0] ?? 0) + (admitted[1] ?? 0)
    t.ok(total > 3_100 && total < 3_300, `${total} of 3,200 in 30 s`)
  })

  t.test('what is full again is removed', async (t) => {
    await pipeline.run('limit_sweep')
    const { limits } = counted()
    await limits.call(estimate, 'k7')
    await db.postgres.sql`update rate_limit set full_at = full_at - interval '1 hour'`
    t.ok((await pipeline.run('limit_sweep')) > 0)
    t.same(await db.postgres.sql`select from rate_limit`, [])
  })

  t.test('what is full again in hours, since the clock was set back, is removed', async (t) => {
    const clock = { now: 0 }
    const limits = createLimits(pipeline, () => clock.now)
    t.teardown(limits.close)
    await limits.call(estimate, 'k8')
    await db.postgres.sql`update rate_limit set full_at = full_at + interval '5 hours'`
    t.not(await refused(() => limits.call(estimate, 'k8')), 0)
    t.ok((await pipeline.run('limit_sweep')) > 0)
    clock.now += 60_000
    t.equal(await refused(() => limits.call(estimate, 'k8')), 0)
  })

  t.test('a clock that was set back makes no process wait for longer than a bucket holds', async (t) => {
    const clock = { now: 0 }
    const limits = createLimits(pipeline, () => clock.now)
    t.teardown(limits.close)
    const calls = () => Array.from({ length: 20 }, () => limits.call({ name: 'a' }, 'k9'))
    await Promise.all(calls())
    await limits.settled()
    await db.postgres.sql`update rate_limit set full_at = full_at + interval '5 hours'`
    await Promise.all(calls())
    await limits.settled()
    await pipeline.run('limit_sweep')
    clock.now += 60_000
    t.equal(await refused(() => limits.call({ name: 'a' }, 'k9')), 0)
  })

  t.test('neither credentials nor addresses are stored', async (t) => {
    const { limits } = counted()
    for (let at = 0; at < 100; at++) limits.collect('shop.myshopify.com', '192.0.2.77')
    await limits.settled()
    const rows = await db.postgres.sql`select rate_limit::text as row from rate_limit`
    t.equal(rows.length, 1)
    t.notMatch(rows[0]?.row, '192.0.2')
  })
})

/** The statement of reports over a clock that the test moves. */
function virtual(clock: { now: number }): Statements {
  return {
    ...none,
    many: async (_, args) => {
      const [keys, ms] = args as [string[], number[]]
      return keys.map((key, at) => {
        const fullAt = Math.max(shared.get(key) ?? 0, clock.now) + (ms[at] ?? 0)
        shared.set(key, fullAt)
        return { key, full_in_ms: fullAt - clock.now }
      }) as never
    },
  }
}
const shared = new Map<string, number>()

t.test('over HTTP', async (t) => {
  const db = await database(t)
  const brand = await makeBrand(db)
  const limits = createLimits(db.postgres.pipeline)
  t.teardown(limits.close)
  const scarce = op({
    name: 'scarce',
    route: 'GET /v1/scarce',
    scopes: ['stats:read'],
    rate: { count: 2, per: 'minute' },
    output: v.any(),
    what: '',
    run: async () => ({}),
  })
  const { call, key } = await api(t, db, [scarce, ...cdpQueryOps], {
    limit: (op, { caller }) => limits.call(op, caller.id),
  })
  const as = await key(brand, ['stats:read'])

  t.test('a call too many is 429 rate_limited with Retry-After in whole seconds', async (t) => {
    const began = performance.now()
    for (let at = 0; at < 2; at++) t.equal((await call('GET /v1/scarce', { as })).status, 200)
    const { status, headers, body } = await call('GET /v1/scarce', { as })
    const took = Math.floor((performance.now() - began) / 1_000)
    t.equal(status, 429)
    const seconds = headers['retry-after']
    t.ok(Number(seconds) <= 30 && Number(seconds) >= 30 - took, `${seconds} s`)
    t.match(body, {
      error: { code: 'rate_limited', message: `At most 2 requests per minute. Try again in ${seconds} s` },
    })
    t.ok(headers['x-request-id'])
  })
  t.test('a query of customer data has a tighter limit, for both kinds of item together', async (t) => {
    const cdp = await makeBrand(db, { features: ['cdp'] })
    const reader = await key(cdp, ['customers:read'])
    const began = performance.now()
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        call(`POST /cdp/query/${n % 2 ? 'profile' : 'event'}/count`, { as: reader, body: {} }),
      ),
    )
    const most = 20 + Math.floor((performance.now() - began) / 100)
    const admitted = answers.filter(({ status }) => status === 200).length
    t.ok(admitted >= 20 && admitted <= most, `${admitted} of 20 to ${most}`)
    for (const { status, headers, body } of answers.filter((each) => each.status !== 200)) {
      t.match(body, { error: { code: 'rate_limited', message: /^At most 10 requests per second/ } })
      t.match([status, headers['retry-after']], [429, '1'])
    }
  })
  t.test('429 comes after 401 and 403 and before 400', async (t) => {
    t.equal((await call('GET /v1/scarce')).status, 401)
    t.equal((await call('GET /v1/scarce', { as: await key(brand, ['brand:read']) })).status, 403)
    t.equal((await call('GET /v1/scarce?wrong=1', { as })).status, 429)
  })
  t.test('another key has a bucket of its own', async (t) => {
    t.equal((await call('GET /v1/scarce', { as: await key(brand, ['stats:read']) })).status, 200)
  })
})

t.test('RATE_LIMITS=off turns them off', async (t) => {
  t.equal(readConfig({}).rateLimits, true)
  t.equal(readConfig({ RATE_LIMITS: 'off' }).rateLimits, false)
  t.throws(() => readConfig({ RATE_LIMITS: 'no' }), /RATE_LIMITS/)
})
