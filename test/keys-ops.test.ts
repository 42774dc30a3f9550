import postgres from 'postgres'
import t, { type Test } from 'tap'
import { createAuthenticator } from '../src/access/authenticate.ts'
import { openInvalidation } from '../src/access/invalidation.ts'
import { isKey } from '../src/access/key.ts'
import type { Statements } from '../src/op.ts'
import { brandOps } from '../src/ops/brand.ts'
import { keyOps } from '../src/ops/keys.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { serverProcess } from './fixtures/child.ts'
import { type Database, database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { proxy } from './fixtures/proxy.ts'

/** A change that some process does not confirm waits for 1,250 ms. */
const UNCONFIRMED_MS = 1_200
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'
const RECORD = [
  'id',
  'key_prefix',
  'brand_id',
  'scopes',
  'created_at',
  'last_used_at',
  'expires_at',
  'revoked_at',
]

t.capture(process.stderr, 'write')

t.test('keys over REST', async (t) => {
  const db = await database(t)
  const brand = await makeBrand(db, { features: ['cdp'] })
  const other = await makeBrand(db)
  let confirmed = 0
  const { call, key, signIn } = await api(t, db, [...brandOps, ...keyOps], {
    everywhere: async () => void confirmed++,
  })
  const admin = signIn(brand)
  const scopes = ['brand:read', 'segments:read']
  const create = (body: object) => call('POST /v1/keys', { as: admin, body })

  t.test('a created key is shown once with its plaintext, and works', async (t) => {
    const { status, body } = await create({ scopes, name: 'Warehouse' })
    t.equal(status, 200)
    t.same(Object.keys(body), [...RECORD, 'plaintext'])
    t.match(body, { brand_id: brand.id, scopes, last_used_at: null, expires_at: null, revoked_at: null })
    t.ok(isKey(body.plaintext))
    t.equal(body.key_prefix, body.plaintext.slice(0, 12))
    t.equal((await call('GET /v1/brand', { as: body.plaintext })).status, 200)
  })
  t.test('the list has every key of the brand, newest first, without plaintext', async (t) => {
    const mine = await makeBrand(db)
    const as = signIn(mine)
    const first = await call('POST /v1/keys', { as, body: { scopes } })
    const second = await call('POST /v1/keys', { as, body: { scopes: ['stats:read'], key_class: 'cdp' } })
    await key(mine, ['providers:read'], 'brand-api')
    const { body } = await call('GET /v1/keys', { as })
    t.same(Object.keys(body), ['data', 'next_cursor'])
    t.equal(body.next_cursor, null)
    for (const one of body.data) t.same(Object.keys(one), RECORD)
    t.match(body.data, [{ scopes: ['providers:read'] }, { id: second.body.id }, { id: first.body.id }])
    const ofClass = await call('GET /v1/keys?key_class=cdp', { as })
    t.equal(ofClass.body.data.length, 2)
  })
  t.test('scopes that a key cannot carry are 400, by create and by rotate', async (t) => {
    const { id } = (await create({ scopes })).body
    for (const scope of ['keys:manage', 'cdp:read', 'workflows:read', 'dashboard:read', 'nonsense', 1]) {
      for (const route of ['POST /v1/keys', `POST /v1/keys/${id}/rotate`]) {
        t.match(await call(route, { as: admin, body: { scopes: ['brand:read', scope] } }), {
          status: 400,
          body: { error: { code: 'bad_request', message: /^scopes\[1\] must be/ } },
        })
      }
    }
    for (const wrong of [[], 'brand:read', null]) {
      t.match(await create({ scopes: wrong }), { status: 400, body: { error: { message: /^scopes must/ } } })
    }
    t.match(await create({}), { status: 400, body: { error: { message: 'scopes is required' } } })
    t.equal(
      (await call('GET /v1/keys', { as: admin })).body.data.find((one: { id: string }) => one.id === id)
        .revoked_at,
      null,
    )
  })
  t.test('a new key is of the class cdp', async (t) => {
    t.match(await create({ scopes, key_class: 'brand-api' }), {
      status: 400,
      body: { error: { message: /^key_class must be/ } },
    })
  })
  t.test('an expiry lies in the future', async (t) => {
    t.match(await create({ scopes, expires_at: '2020-01-01T00:00:00Z' }), {
      status: 400,
      body: { error: { message: 'expires_at must be in the future' } },
    })
    const { body } = await create({ scopes, expires_at: '2999-01-01T00:00:00Z' })
    t.equal(body.expires_at, '2999-01-01T00:00:00.000Z')
  })
  t.test('a first key is made once', async (t) => {
    const fresh = await makeBrand(db)
    const as = signIn(fresh)
    await key(fresh, ['providers:read'], 'brand-api')
    const first = () => call('POST /v1/keys', { as, body: { scopes, first_key: true } })
    const answers = await Promise.all(Array.from({ length: 5 }, first))
    t.same(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409])
    t.equal(answers.find(({ status }) => status === 409)?.body.error.code, 'conflict')
    const made = answers.find(({ status }) => status === 200)?.body
    await call(`DELETE /v1/keys/${made.id}`, { as })
    t.equal((await first()).status, 200, 'a revoked key does not count')
  })

  t.test('rotate answers a new key with the name, class, expiry and scopes of the old one', async (t) => {
    const old = (await create({ scopes, name: 'Till', expires_at: '2999-01-01T00:00:00Z' })).body
    const before = confirmed
    const { status, body } = await call(`POST /v1/keys/${old.id}/rotate`, { as: admin, body: {} })
    t.equal(status, 200)
    t.same(Object.keys(body), [...RECORD, 'plaintext'])
    t.match(body, { scopes, expires_at: old.expires_at, revoked_at: null })
    t.not(body.id, old.id)
    t.not(body.plaintext, old.plaintext)
    t.equal(confirmed, before + 1, 'after all processes confirmed')
    const [stored] = await db.postgres.sql`select name, key_class from api_key where id = ${body.id}`
    t.same(stored, { name: 'Till', key_class: 'cdp' })
    t.equal((await call('GET /v1/brand', { as: body.plaintext })).status, 200)
  })
  t.test('rotate takes other scopes', async (t) => {
    const { id } = (await create({ scopes })).body
    const { body } = await call(`POST /v1/keys/${id}/rotate`, { as: admin, body: { scopes: ['stats:read'] } })
    t.same(body.scopes, ['stats:read'])
  })
  t.test('two rotations at once make one key', async (t) => {
    const { id } = (await create({ scopes })).body
    const answers = await Promise.all([1, 2].map(() => call(`POST /v1/keys/${id}/rotate`, { as: admin })))
    t.same(answers.map(({ status }) => status).sort(), [200, 404])
  })
  t.test('an expired key cannot be rotated', async (t) => {
    const { id } = (await create({ scopes })).body
    await db.postgres.sql`update api_key set expires_at = now() - interval '1 s' where id = ${id}`
    t.match(await call(`POST /v1/keys/${id}/rotate`, { as: admin }), { status: 409 })
    const [row] = await db.postgres.sql`select revoked_at from api_key where id = ${id}`
    t.equal(row?.revoked_at, null, 'and stays as it is')
  })
  t.test('a provider key is rotated to one that provider keys may be', async (t) => {
    await key(brand, ['providers:read'], 'brand-api')
    const [{ id } = {}] = await db.postgres.sql`
      update api_key set scopes = '{providers:read,customers:read}'
      where brand_id = ${brand.id} and key_class = 'brand-api' returning id`
    const { body } = await call(`POST /v1/keys/${id}/rotate`, { as: admin })
    t.same(body.scopes, ['providers:read'])
    t.match(body.plaintext, /^svc_ba_/)
    const wide = { scopes: ['customers:read'] }
    t.equal((await call(`POST /v1/keys/${body.id}/rotate`, { as: admin, body: wide })).status, 400)
  })

  t.test('delete answers the record with revoked_at, and only once', async (t) => {
    const { id, plaintext } = (await create({ scopes })).body
    const before = confirmed
    const { status, body } = await call(`DELETE /v1/keys/${id}`, { as: admin })
    t.equal(status, 200)
    t.same(Object.keys(body), RECORD)
    t.match(body.revoked_at, /^\d{4}-.*Z$/)
    t.equal(confirmed, before + 1)
    t.equal((await call(`DELETE /v1/keys/${id}`, { as: admin })).status, 404)
    t.equal((await call(`POST /v1/keys/${id}/rotate`, { as: admin })).status, 404)
    t.equal((await call('GET /v1/brand', { as: plaintext })).status, 401)
  })
  t.test('a key of another class or brand, or none, is 404', async (t) => {
    const { id } = (await create({ scopes })).body
    const foreign = (await call('POST /v1/keys', { as: signIn(other), body: { scopes } })).body.id
    const route = [
      `DELETE /v1/keys/${id}?key_class=brand-api`,
      `DELETE /v1/keys/${foreign}`,
      `DELETE /v1/keys/${UNKNOWN}`,
    ]
    for (const one of [...route, `POST /v1/keys/${foreign}/rotate`, `POST /v1/keys/${UNKNOWN}/rotate`]) {
      t.match(await call(one, { as: admin }), { status: 404, body: { error: { code: 'not_found' } } }, one)
    }
    const body = { key_class: 'brand-api' }
    t.equal((await call(`POST /v1/keys/${id}/rotate`, { as: admin, body })).status, 404)
    t.equal((await call(`DELETE /v1/keys/${id}?key_class=cdp`, { as: admin })).status, 200)
  })
  t.test('keys and members cannot manage keys', async (t) => {
    const member = signIn(brand, { role: 'member', scopes: ['keys:manage'] })
    const unscoped = signIn(brand, { scopes: ['brand:read'] })
    for (const as of [await key(brand, scopes), member, unscoped]) {
      for (const route of ['GET /v1/keys', `POST /v1/keys/${UNKNOWN}/rotate`, `DELETE /v1/keys/${UNKNOWN}`])
        t.match(await call(route, { as }), { status: 403, body: { error: { code: 'insufficient_scope' } } })
    }
  })

  t.test('the key routes of the CDP host', async (t) => {
    const session = signIn(brand, { kind: 'session' })
    const staff = signIn(other, { kind: 'session', isStaff: true, role: 'member' })
    const made = async () => (await create({ scopes })).body

    t.test('revoke by id or prefix and list what moved', async (t) => {
      const [one, two] = [await made(), await made()]
      const { status, body } = await call(`DELETE /cdp/keys?id=${one.id}`, { as: session })
      t.equal(status, 200)
      t.same(Object.keys(body), ['revoked'])
      t.same(Object.keys(body.revoked[0]), [
        'id',
        'key_prefix',
        'brand_id',
        'is_staff',
        'expires_at',
        'revoked_at',
        'created_at',
      ])
      t.match(body.revoked, [{ id: one.id, brand_id: brand.id, is_staff: false, revoked_at: /Z$/ }])
      const again = await call('POST /cdp/keys/revoke', { as: session, body: { key_prefix: two.key_prefix } })
      t.match(again.body.revoked, [{ id: two.id }])
      t.equal(again.body.revoked.length, 1)
    })
    t.test('answer an empty list for what is revoked, unknown or of another brand', async (t) => {
      const { id } = await made()
      await call(`DELETE /cdp/keys?id=${id}`, { as: session })
      const foreign = (await call('POST /v1/keys', { as: signIn(other), body: { scopes } })).body
      for (const target of [
        `id=${id}`,
        `id=${UNKNOWN}`,
        'id=nonsense',
        `id=${foreign.id}`,
        `key_prefix=${foreign.key_prefix}`,
        `key_prefix=${'x'.repeat(65)}`,
      ]) {
        t.same((await call(`DELETE /cdp/keys?${target}`, { as: session })).body, { revoked: [] }, target)
      }
      for (const id of [UNKNOWN, 'nonsense'])
        t.match(await call('POST /cdp/keys/revoke', { as: session, body: { id } }), {
          status: 200,
          body: { revoked: [] },
        })
    })
    t.test('want id or key_prefix', async (t) => {
      for (const route of [
        'DELETE /cdp/keys',
        `DELETE /cdp/keys?brand_id=${brand.id}`,
        'POST /cdp/keys/revoke',
      ])
        t.match(await call(route, { as: session }), { status: 400, body: { error: { code: 'bad_request' } } })
    })
    t.test('take a session only', async (t) => {
      const forbidden = { status: 403, body: { error: { code: 'forbidden' } } }
      for (const as of [await key(brand, scopes), admin, signIn(brand, { kind: 'session', role: 'member' })])
        t.match(await call(`DELETE /cdp/keys?id=${UNKNOWN}`, { as }), forbidden)
      t.match(await call(`DELETE /cdp/keys?id=${UNKNOWN}`), {
        status: 401,
        body: { error: { code: 'unauthorized' } },
      })
      t.match(
        await call(`DELETE /cdp/keys?id=${UNKNOWN}`, {
          as: await key(brand, ['providers:read'], 'brand-api'),
        }),
        {
          status: 401,
        },
      )
    })
    t.test('let staff, and nobody else, name another brand', async (t) => {
      const one = await made()
      const foreign = `DELETE /cdp/keys?id=${one.id}&brand_id=${brand.id}`
      const outsider = signIn(other, { kind: 'session' })
      t.match(await call(foreign, { as: outsider }), { status: 403, body: { error: { code: 'forbidden' } } })
      t.equal((await call(foreign, { as: session })).body.revoked.length, 1, 'its own brand is no other')
      const two = await made()
      const { body } = await call('POST /cdp/keys/revoke', {
        as: staff,
        body: { id: two.id, brand_id: brand.id },
      })
      t.match(body.revoked, [{ id: two.id, brand_id: brand.id }])
    })
    t.test('refuse the brand of others before what the target lacks', async (t) => {
      const route = `DELETE /cdp/keys?brand_id=${brand.id}`
      const outsider = signIn(other, { kind: 'session' })
      t.match(await call(route, { as: outsider }), { status: 403, body: { error: { code: 'forbidden' } } })
    })
    t.test('say method_not_allowed', async (t) => {
      const answer = await call('GET /cdp/keys', { as: session })
      t.match(answer, { status: 405, body: { error: { code: 'method_not_allowed' } } })
      t.equal(answer.headers.allow, 'DELETE, OPTIONS')
    })
  })
})

t.test('changes of keys and brands take effect at once', async (t) => {
  const db = await database(t)
  const brand = await makeBrand(db, { name: 'Before' })
  const { call, signIn } = await api(t, db, [...brandOps, ...keyOps])
  const made = async () =>
    (await call('POST /v1/keys', { as: signIn(brand), body: { scopes: ['brand:read'] } })).body

  /** One process of ours, with an API whose changes wait for all others. */
  const here = async (t: Test, db: Database) => {
    const invalidation = await openInvalidation(db.postgres)
    t.teardown(() => invalidation.close())
    const { call, signIn } = await api(t, db, [...brandOps, ...keyOps], {
      everywhere: invalidation.everywhere,
    })
    const as = signIn(brand)
    return {
      invalidation,
      revoke: async (id: string) => {
        const began = performance.now()
        t.equal((await call(`DELETE /v1/keys/${id}`, { as })).status, 200)
        return performance.now() - began
      },
    }
  }

  /** Waits for so many processes on the list, and for those that tests have killed to be off it. */
  const listed = (count: number) =>
    eventually(async () => {
      const [row] = await db.postgres.sql`
        select count(*) as live from server_process where seen_at > clock_timestamp() - interval '1250 ms'`
      return row?.live === count
    })

  t.test('a warm key costs no statement', async (t) => {
    const { invalidation } = await here(t, db)
    let reads = 0
    const counted: Statements = {
      ...db.postgres.pipeline,
      many: (name, args) => {
        reads++
        return db.postgres.pipeline.many(name, args)
      },
    }
    const clock = { now: Date.now() }
    const { authenticate, settled } = createAuthenticator(counted, () => clock.now, invalidation.lease)
    t.teardown(settled)
    const { plaintext } = await made()
    for (let at = 0; at < 10; at++) {
      await authenticate(`Bearer ${plaintext}`)
      clock.now += 5_000
    }
    t.equal(reads, 1)
  })

  t.test('a revoked key is unknown to every process when the answer comes', async (t) => {
    const { revoke } = await here(t, db)
    const processes = await Promise.all([serverProcess(t, db.url), serverProcess(t, db.url)])
    for (let round = 0; round < 20; round++) {
      const { id, plaintext } = await made()
      const asked = () => Promise.all(processes.map(({ ask }) => ask('authenticate', plaintext)))
      t.same(await asked(), ['Before', 'Before'])
      await revoke(id)
      t.same(await asked(), ['unauthorized', 'unauthorized'])
    }
  })

  t.test('and so is one that was changed by hand', async (t) => {
    const { invalidation } = await here(t, db)
    const { ask } = await serverProcess(t, db.url)
    const { id, plaintext } = await made()
    t.equal(await ask('authenticate', plaintext), 'Before')
    await db.postgres.sql`update api_key set revoked_at = now() where id = ${id}`
    await invalidation.everywhere()
    t.equal(await ask('authenticate', plaintext), 'unauthorized')
  })

  t.test(
    'a changed key is answered when no process can be asked, once none trusts what it read',
    async (t) => {
      const away: Statements['many'] = (name, args) =>
        name === 'server_fence'
          ? Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
          : db.postgres.pipeline.many(name, args)
      const pipeline = { ...db.postgres.pipeline, many: away }
      const { invalidation } = await here(t, { ...db, postgres: { ...db.postgres, pipeline } })
      const lonely = await api(t, db, keyOps, { everywhere: invalidation.everywhere })
      const { id, plaintext } = await made()
      const began = performance.now()
      const { status, body } = await lonely.call(`POST /v1/keys/${id}/rotate`, { as: lonely.signIn(brand) })
      t.equal(status, 200)
      t.ok(isKey(body.plaintext))
      t.ok(performance.now() - began > UNCONFIRMED_MS)
      t.equal((await call('GET /v1/brand', { as: plaintext })).status, 401)
    },
  )

  t.test('a brand’s settings are the new ones', async (t) => {
    const { invalidation } = await here(t, db)
    const { ask } = await serverProcess(t, db.url)
    const { plaintext } = await made()
    t.equal(await ask('authenticate', plaintext), 'Before')
    await db.postgres.sql`update brand set name = 'After' where id = ${brand.id}`
    await invalidation.everywhere()
    t.equal(await ask('authenticate', plaintext), 'After')
    await db.postgres.sql`update brand set name = 'Before' where id = ${brand.id}`
  })

  t.test(
    'a process that stands still delays a revocation by little more than a second, and refuses the key after',
    async (t) => {
      const { revoke } = await here(t, db)
      const { ask, child } = await serverProcess(t, db.url)
      const { id, plaintext } = await made()
      t.equal(await ask('authenticate', plaintext), 'Before')
      child.kill('SIGSTOP')
      // Read first when it goes on, before anything else could have been heard.
      const answer = ask('authenticate', plaintext)
      const ms = await revoke(id)
      child.kill('SIGCONT')
      t.equal(await answer, 'unauthorized')
      t.ok(ms > 900, `waited ${ms} ms`)
      // A connection that does not answer is given up after five: that is not waited for.
      t.ok(ms < 4_500, `waited ${ms} ms`)
    },
  )

  t.test('a process cut off from Postgres refuses the key after', async (t) => {
    const { revoke } = await here(t, db)
    const between = await proxy(t, db.url)
    const { ask } = await serverProcess(t, between.url)
    const { id, plaintext } = await made()
    t.equal(await ask('authenticate', plaintext), 'Before')
    between.silent = true
    await revoke(id)
    const answer = ask('authenticate', plaintext)
    between.silent = false
    t.equal(await answer, 'unauthorized')
  })

  t.test('a process whose connection broke listens again', async (t) => {
    const { revoke } = await here(t, db)
    const { ask } = await serverProcess(t, db.url)
    const one = await made()
    t.equal(await ask('authenticate', one.plaintext), 'Before')
    const owner = postgres(db.url, { max: 1 })
    t.teardown(() => owner.end())
    const broken = await owner`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like '%server_process%' and query not like '%server_fence%' and query not like '%as live%'
        and backend_type = 'client backend' and pid <> pg_backend_pid()`
    t.ok(broken.length >= 2)
    await revoke(one.id)
    t.equal(await ask('authenticate', one.plaintext), 'unauthorized')
    const two = await made()
    await listed(2)
    t.equal(await ask('authenticate', two.plaintext), 'Before')
    await revoke(two.id)
    t.equal(await ask('authenticate', two.plaintext), 'unauthorized')
    // On a busy machine not the first time.
    await eventually(async () => (await revoke((await made()).id)) < UNCONFIRMED_MS)
  })

  t.test('a process that ended is waited for no longer', async (t) => {
    const { revoke } = await here(t, db)
    const { child } = await serverProcess(t, db.url)
    await listed(2)
    const onTheList = async () => (await db.postgres.sql`select from server_process`).count
    const before = await onTheList()
    const { id } = await made()
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.stdin?.end()
    await ended
    t.equal(await onTheList(), before - 1)
    await revoke(id)
  })
})
