import { randomUUID } from 'node:crypto'
import { zstdDecompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { openInvalidation } from '../src/access/invalidation.ts'
import { createLimits } from '../src/access/limits.ts'
import { createOrigins } from '../src/access/origin.ts'
import { type Ingest, openIngest } from '../src/event/ingest.ts'
import { Unsettled } from '../src/event/log.ts'
import type { EventLine } from '../src/event/shape.ts'
import { type Ingesting, ingestRoutes } from '../src/http/ingest.ts'
import { createServer } from '../src/http/server.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Statements } from '../src/op.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, sourceRows, tick } from './fixtures/lake.ts'
import './fixtures/checked.ts'

setLogLevel('error')

const made = await database(t)
const { postgres: db } = made
const brand = await makeBrand({ postgres: db })
const scope = brand.shop_domain
const origin = `https://${scope}`

/** The statements that a pipeline was asked for, by name. */
function counting(pipeline: Statements): { pipeline: Statements; names: string[] } {
  const names: string[] = []
  return {
    names,
    pipeline: {
      ...pipeline,
      many: (name, args) => {
        names.push(name)
        return pipeline.many(name, args)
      },
    },
  }
}

interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came
  body: any
}

interface Sent {
  method?: string
  /** Without an Origin header. */
  bare?: boolean
  headers?: Record<string, string>
  path?: string
}

/** The route over the database; what is not given is as a server has it. */
async function host(t: Test, given: Partial<Ingesting> = {}, trustedHops = 0) {
  const routes = ingestRoutes({
    origins: given.origins ?? createOrigins(db.pipeline),
    ingest: given.ingest ?? (await ingestOf(t)),
    limit: given.limit,
  })
  const server = createServer(routes, { trustedHops })
  const port = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.drain(1_000))
  return async (
    body: string | Buffer | object,
    { method = 'POST', headers = {}, path = '/cdp/ingest', bare = false }: Sent = {},
  ): Promise<Answer> => {
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { ...(bare ? {} : { origin }), ...headers },
      ...(method === 'POST' ? { body: text } : {}),
    })
    const answer = await response.text()
    return { status: response.status, headers: response.headers, body: answer ? JSON.parse(answer) : null }
  }
}

/** Takes all there is at once, however busy Postgres is. */
const takesAll = async (t: Test): Promise<Ingest> => ({
  ...(await ingestOf(t)),
  acceptBrowser: async () => ({ accepted: 1, deduplicated: 0 }),
})

/** It sheds no load of a busy machine. */
async function ingestOf(t: Test, options?: Parameters<typeof openIngest>[1]) {
  const ingest = await openIngest(db, { shedder: { takes: () => true }, ...options })
  t.teardown(() => ingest.close())
  return ingest
}

async function storedLines(): Promise<EventLine[]> {
  const rows = await db.sql<{ payload: Buffer }[]>`select payload from event_log order by xid, batch_id`
  return rows.flatMap(({ payload }) =>
    zstdDecompressSync(payload)
      .toString()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as EventLine),
  )
}
const storedLine = async (id: string) => (await storedLines()).find(({ event_id }) => event_id === id)

const view = (more: object = {}) => ({ scope, eventType: 'page_viewed', properties: { path: '/' }, ...more })
const bodyOf = (...events: object[]) => ({ source: { scope }, events })

t.test('POST /cdp/ingest', async (t) => {
  const send = await host(t)

  t.test('answers 202 once the events are in the log, marked as a browser’s', async (t) => {
    const id = randomUUID()
    const answer = await send(bodyOf(view({ eventId: id, anonymousId: 'v1' }), view()))
    t.match(answer, { status: 202, body: { accepted: 2 } })
    t.ok(answer.headers.get('x-request-id'))
    const line = await storedLine(id)
    t.match(line, {
      brand_id: brand.id,
      origin: 'browser',
      event_type: 'page_viewed',
      anonymous_id: 'v1',
      properties: { path: '/' },
    })
    t.equal(line?.occurred_at, line?.received_at)
  })
  t.test('takes events about nobody, which the lake keeps as such', async (t) => {
    const eventId = randomUUID()
    t.match(await send(bodyOf(view({ eventId }))), { status: 202, body: { accepted: 1 } })
    const pipeline = await lake(t, made)
    await tick(pipeline)
    t.same(
      await sourceRows(pipeline, brand, `select subject from events where event_id = 'browser:${eventId}'`),
      [{ subject: null }],
    )
  })
  t.test('counts a repeat within the request once', async (t) => {
    const eventId = randomUUID()
    t.match(await send(bodyOf(view({ eventId }), view({ eventId }))), { status: 202, body: { accepted: 1 } })
  })
  t.test('reads JSON whatever Content-Type says, and takes no notice of Authorization', async (t) => {
    const all: Record<string, string>[] = [
      { 'content-type': 'text/plain;charset=UTF-8' },
      { 'content-type': 'application/x-www-form-urlencoded', authorization: 'Bearer svc_live_old' },
      { 'content-type': 'application/json', authorization: 'nonsense' },
    ]
    for (const headers of all) t.match(await send(bodyOf(view()), { headers }), { status: 202 })
  })
  t.test('takes any number of events that 65,536 bytes hold, and no byte more', async (t) => {
    const sized = (bytes: number) => {
      const empty = JSON.stringify(bodyOf(view({ properties: { x: '' } }))).length
      return JSON.stringify(bodyOf(view({ properties: { x: 'x'.repeat(bytes - empty) } })))
    }
    t.match(await send(sized(65_536)), { status: 202 })
    t.match(await send(sized(65_537)), { status: 413, body: { error: { code: 'bad_request' } } })
    t.match(await send('{'.repeat(65_537)), { status: 413 }, 'before it is parsed')
    t.match(await send(bodyOf(...Array(120).fill(view()))), { status: 202, body: { accepted: 120 } })
  })
  t.test('refuses a compressed body with 400', async (t) => {
    t.match(await send(bodyOf(view()), { headers: { 'content-encoding': 'gzip' } }), {
      status: 400,
      body: { error: { code: 'bad_request' } },
    })
  })
  t.test('refuses with rejected beside the error, and stores nothing of the request', async (t) => {
    const id = randomUUID()
    const answer = await send(bodyOf(view({ eventId: id }), view({ eventType: 'refund_issued' })))
    t.match(answer, {
      status: 400,
      body: {
        error: { code: 'bad_request' },
        rejected: [{ index: 1, path: 'events[1].eventType', message: /by the service only/ }],
      },
    })
    t.equal(await storedLine(id), undefined)
  })
  t.test('a scope of another shop is 403 wherever it stands, and nothing is stored', async (t) => {
    const id = randomUUID()
    const other = 'other.myshopify.com'
    const bodies = [
      { ...bodyOf(view({ eventId: id })), source: { scope: other } },
      bodyOf(view({ eventId: id }), view({ scope: other })),
      bodyOf(view({ eventId: id }), view({ target: { scope: other } })),
      bodyOf(view({ eventId: id }), view({ scope: scope.toUpperCase() })),
      bodyOf(view({ eventId: id }), view({ scope: other, eventType: '' })),
    ]
    for (const body of bodies)
      t.match(await send(body), { status: 403, body: { error: { code: 'insufficient_scope' } } })
    t.equal(await storedLine(id), undefined)
    t.match(await send(bodyOf(view({ target: { itemType: 'page' } }), view({ target: { scope } }))), {
      status: 202,
    })
  })
  t.test('any other method or path is a 404 with a message alone', async (t) => {
    for (const sent of [
      { method: 'GET' },
      { method: 'PUT' },
      { method: 'DELETE' },
      { path: '/cdp/ingest/' },
      { path: '/cdp/other' },
    ]) {
      const answer = await send(bodyOf(view()), sent)
      t.same([answer.status, answer.body], [404, { message: 'Not Found' }], JSON.stringify(sent))
      t.equal(answer.headers.get('x-request-id'), null)
    }
  })
  t.test('answers 500 to what nobody expected, without saying what it was', async (t) => {
    t.capture(process.stderr, 'write')
    const failing = await host(t, {
      ingest: { admit: () => () => {}, acceptBrowser: () => Promise.reject(new Error('secret detail')) },
    })
    const answer = await failing(bodyOf(view()))
    t.match(answer, { status: 500, body: { error: { code: 'internal' } } })
    t.notMatch(JSON.stringify(answer.body), /secret/)
    t.equal(answer.headers.get('access-control-allow-origin'), origin)
  })
  t.test('an outcome that is not known is a 503 with a message alone, readable by the page', async (t) => {
    const failing = await host(t, {
      ingest: {
        admit: () => () => {},
        acceptBrowser: () => Promise.reject(new Unsettled('the outcome is not known')),
      },
    })
    const answer = await failing(bodyOf(view()))
    t.same([answer.status, Object.keys(answer.body)], [503, ['message']])
    t.equal(answer.headers.get('x-request-id'), null)
    t.equal(answer.headers.get('access-control-allow-origin'), origin)
  })
  t.test('room for a body is kept for the network that it comes from', async (t) => {
    const kept: unknown[] = []
    const counting = await host(t, {
      ingest: {
        admit: (_brandId, _bytes, network) => {
          kept.push(network)
          return () => {}
        },
        acceptBrowser: async () => ({ accepted: 1, deduplicated: 0 }),
      },
    })
    t.match(await counting(bodyOf(view())), { status: 202 })
    t.same(kept, ['127.0.0.1'])
  })
  t.test('single events that cannot be stored are named in a 503, and the others are stored', async (t) => {
    const faulty = await host(t, { ingest: await ingestOf(t, { fault: (index) => index === 1 }) })
    t.match(await faulty(bodyOf(view(), view(), view())), {
      status: 503,
      body: { error: { code: 'unavailable' }, accepted: 2, failed: [1] },
    })
  })
})

t.test('the Origin', async (t) => {
  const send = await host(t)
  const from = (sentOrigin: string, sent: Sent = {}) =>
    send(bodyOf(view()), { ...sent, headers: { origin: sentOrigin } })

  t.test('of the shop is reflected, never a wildcard, on every answer', async (t) => {
    for (const answer of [
      await send(bodyOf(view())),
      await send('not json'),
      await send('x'.repeat(65_537)),
      await send(bodyOf(view({ scope: 'other.myshopify.com' }))),
      await send('', { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } }),
    ]) {
      t.equal(answer.headers.get('access-control-allow-origin'), origin, String(answer.status))
      t.equal(answer.headers.get('vary'), 'Origin')
    }
  })
  t.test('that is missing, null or of no shop is 403 and not reflected', async (t) => {
    const elsewhere = [
      'null',
      '*',
      `http://${scope}`,
      `https://${scope}:443`,
      `https://${scope}/`,
      `https://${scope}.evil.example`,
      `https://evil-${scope}`,
      `https://x.${scope}`,
      `https://${scope.toUpperCase()}`,
      'https://myshopify.com',
      'https://evil.example',
      `https://evil.example https://${scope}`,
      '',
      'https://',
      `https://${'a.'.repeat(200)}example`,
    ]
    for (const sentOrigin of elsewhere) {
      for (const method of ['POST', 'OPTIONS']) {
        const answer = await from(sentOrigin, { method })
        t.match(answer, { status: 403, body: { error: { code: 'insufficient_scope' } } }, sentOrigin)
        t.equal(answer.headers.get('access-control-allow-origin'), null)
        t.equal(answer.headers.get('vary'), 'Origin')
      }
    }
  })
  t.test('has to be there', async (t) => {
    for (const method of ['POST', 'OPTIONS'])
      t.match(await send(bodyOf(view()), { method, bare: true }), {
        status: 403,
        body: { error: { code: 'insufficient_scope' } },
      })
  })
  t.test('is judged before the body', async (t) => {
    t.equal((await send('x'.repeat(65_537), { headers: { origin: 'https://evil.example' } })).status, 403)
  })
  t.test('OPTIONS says what a page may send', async (t) => {
    const { status, headers, body } = await send('', {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
    })
    t.same([status, body], [204, null])
    t.equal(headers.get('access-control-allow-methods'), 'POST')
    t.equal(headers.get('access-control-allow-headers'), 'Content-Type')
    t.match(headers.get('access-control-max-age'), /^\d+$/)
  })
})

t.test('the shop of an origin', async (t) => {
  const invalidation = await openInvalidation(db)
  t.teardown(() => invalidation.close())
  const counted = counting(db.pipeline)
  const origins = createOrigins(counted.pipeline, Date.now, invalidation.lease)
  invalidation.onChange(origins.forget)
  const send = await host(t, { origins })
  const statusFrom = async (domain: string) =>
    (await send(bodyOf(view()), { headers: { origin: `https://${domain}` } })).status
  const setDomains = async (of: Brand, domains: string[]) => {
    await db.sql`update brand set storefront_domains = ${domains} where id = ${of.id}`
    await invalidation.everywhere()
  }

  t.test('is not asked for again while it is known', async (t) => {
    t.equal(await statusFrom(scope), 202)
    const before = counted.names.length
    for (let n = 0; n < 20; n++) t.equal(await statusFrom(scope), 202)
    t.equal(counted.names.length, before)
  })
  t.test('storefront domains work and stop working with the change itself', async (t) => {
    const domain = 'www.lumenhome.example'
    t.equal(await statusFrom(domain), 403)
    for (let n = 0; n < 3; n++) {
      await setDomains(brand, ['shop.lumenhome.example', domain])
      t.equal(await statusFrom(domain), 202)
      await setDomains(brand, [])
      t.equal(await statusFrom(domain), 403)
    }
  })
  t.test('a domain that moves to another brand is that brand’s at once', async (t) => {
    const domain = 'moving.example'
    const other = await makeBrand({ postgres: db })
    await setDomains(brand, [domain])
    t.equal(await statusFrom(domain), 202)
    await setDomains(brand, [])
    await setDomains(other, [domain])
    t.equal(await statusFrom(domain), 403, 'the scope of the body is not that of its shop')
    const id = randomUUID()
    const body = {
      source: { scope: other.shop_domain },
      events: [view({ scope: other.shop_domain, eventId: id })],
    }
    t.match(await send(body, { headers: { origin: `https://${domain}` } }), { status: 202 })
    t.match(await storedLine(id), { brand_id: other.id })
  })
  t.test('many origins that nobody knows cost one statement at a time', async (t) => {
    const before = counted.names.length
    const asked = Array.from({ length: 500 }, (_, n) => origins.find(`https://shop-${n}.example`))
    t.same(new Set(await Promise.all(asked)), new Set([undefined]))
    t.ok(counted.names.length - before <= 2, `${counted.names.length - before} statements`)
    for (let n = 0; n < 500; n++) t.equal(origins.find(`https://shop-${n}.example`), undefined)
    t.ok(counted.names.length - before <= 2)
  })
  t.test('what was read before a change is not kept', async (t) => {
    const gate = Promise.withResolvers<void>()
    const late = createOrigins({
      ...db.pipeline,
      many: async (name, args) => {
        const rows = await db.pipeline.many(name, args)
        await gate.promise
        return rows as never
      },
    })
    const first = late.find('https://late.example')
    await db.sql`update brand set storefront_domains = ${['late.example']} where id = ${brand.id}`
    late.forget('brand', brand.id)
    gate.resolve()
    await first
    t.match(await late.find('https://late.example'), { brandId: brand.id, scope })
  })
})

t.test('browsers behind a proxy are told apart by the address that it says they have', async (t) => {
  const limits = createLimits(db.pipeline, () => 0)
  t.teardown(() => limits.close())
  const send = await host(t, { ingest: await takesAll(t), limit: limits.collect }, 1)
  const answers = await Promise.all(
    Array.from({ length: 150 }, (_, n) =>
      send(bodyOf(view()), { headers: { 'x-forwarded-for': `1.2.3.4, 10.1.1.${n}` } }),
    ),
  )
  t.same(new Set(answers.map(({ status }) => status)), new Set([202]))
})

t.test('a browser that sends more than it may gets 429 with a message alone', async (t) => {
  // In one instant, however long that takes here.
  const limits = createLimits(db.pipeline, () => 0)
  t.teardown(() => limits.close())
  const send = await host(t, { ingest: await takesAll(t), limit: limits.collect })
  const answers = await Promise.all(Array.from({ length: 150 }, () => send(bodyOf(view()))))
  const refused = answers.filter(({ status }) => status === 429)
  t.equal(refused.length, 50)
  t.equal(answers.filter(({ status }) => status === 202).length, 100)
  for (const { headers, body } of refused) {
    t.same(body, { message: 'Too Many Requests' })
    t.equal(headers.get('retry-after'), null)
    t.equal(headers.get('x-request-id'), null)
    t.equal(headers.get('access-control-allow-origin'), origin)
  }
})
