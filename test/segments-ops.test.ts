import t, { type Test } from 'tap'
import { createKey } from '../src/access/key.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { segmentQuestionOps } from '../src/ops/segment-questions.ts'
import { segmentOps } from '../src/ops/segments.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { createSegment } from '../src/segment/saved.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { logBatch } from './fixtures/lake.ts'
import { service } from './fixtures/service.ts'

setLogLevel('error')

const HOUR = 3_600_000
const CUSTOMERS = 250
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'
const ITEM = [
  'id',
  'name',
  'description',
  'status',
  'current_version_id',
  'created_by',
  'created_at',
  'updated_at',
  'audience',
]
const AUDIENCE = [
  'evaluation_status',
  'member_count',
  'generation',
  'evaluated_at',
  'last_run_at',
  'current_version_evaluated',
]
const EVERYONE = { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 0 } }
/** Half of the customers viewed something an hour ago. */
const VIEWERS = {
  source: 'product_events',
  rule: {
    all: [
      {
        op: 'count-over-window',
        where: [{ field: 'event_kind', op: '=', value: 'product_viewed' }],
        window: { days: 1 },
      },
    ],
  },
}

const { app, db, origin, described } = await service(t)
const { sql } = app.postgres

const keyOf = async ({ id }: Brand, scopes = ['segments:read', 'segments:write']) =>
  (await createKey(app.postgres.forBrand(id), { scopes })).plaintext
const save = (brand: Brand, name: string, definition: object, description?: string) =>
  createSegment(app.postgres.forBrand(brand.id), { name, definition, description, createdBy: 'test' })

/** Requests of one brand's key; each answer is as the OpenAPI document says. */
const client = (t: Test, key: string) => async (route: string, body?: object) => {
  const [method = '', path = ''] = route.split(' ')
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(origin + path, { method, headers, ...sent })
  const text = await response.text()
  t.same(
    described.problems(method, path, { status: response.status, headers: response.headers, text }),
    [],
    route,
  )
  return { status: response.status, body: JSON.parse(text) }
}
type Call = ReturnType<typeof client>

const refused = async (t: Test, call: Call, wanted: string | RegExp, route: string, body?: object) => {
  const answer = await call(route, body)
  t.match(answer, { status: 400, body: { error: { code: 'bad_request', message: wanted } } })
}

const brand = await newBrand(app, { features: ['cdp'] })
const other = await newBrand(app, { features: ['cdp'] })
const key = await keyOf(brand)
const everyone = await save(brand, 'Everyone', EVERYONE, 'All of them')
const viewers = await save(brand, 'Viewers', VIEWERS)
const foreign = await save(other, 'Foreign', EVERYONE)
const viewedAt = Date.now() - HOUR
await logBatch(
  sql,
  Array.from({ length: CUSTOMERS }, (_, index) => ({
    brand_id: brand.id,
    store_customer_id: `${index}`,
    ...(index ? {} : { profile_id: 'crm-0' }),
    ...(index % 3 ? { email: `c${index}@example.com` } : {}),
    ...(index % 2 ? { event_type: 'product_viewed', occurred_at: viewedAt } : {}),
  })),
)
await logBatch(sql, [{ brand_id: other.id, store_customer_id: '1' }])
await snapshotAll(app.pipeline)

t.test('a segment before its first refresh has no members and says so', async (t) => {
  const call = client(t, key)
  const nothing = {
    evaluation_status: 'not_evaluated',
    member_count: 0,
    generation: 0,
    evaluated_at: null,
    last_run_at: null,
    current_version_evaluated: false,
  }
  t.same((await call(`GET /v1/segments/${everyone.id}/audience`)).body, {
    ...nothing,
    segment_id: everyone.id,
    message: null,
  })
  t.same((await call(`GET /v1/segments/${everyone.id}/members`)).body, {
    data: [],
    next_cursor: null,
    generation: 0,
  })
})

t.test('after a refresh', async (t) => {
  const { as_of } = await refreshBrand(app.pipeline, brand.id)
  await refreshBrand(app.pipeline, other.id)
  const call = client(t, key)

  await t.test('a segment is answered with its definition as it was sent', async (t) => {
    const { status, body } = await client(t, key)(`GET /v1/segments/${viewers.id}`)
    t.equal(status, 200)
    t.same(Object.keys(body), [...ITEM, 'version', 'schema_version', 'definition'])
    t.match(body, {
      id: viewers.id,
      name: 'Viewers',
      description: '',
      status: 'active',
      created_by: 'test',
      version: 1,
      schema_version: 1,
      audience: {
        evaluation_status: 'evaluated',
        member_count: CUSTOMERS / 2,
        generation: 1,
        evaluated_at: as_of,
      },
    })
    t.equal(JSON.stringify(body.definition), JSON.stringify(VIEWERS))
  })

  await t.test('the audience stands alone with the id of its segment', async (t) => {
    const { body } = await client(t, key)(`GET /v1/segments/${everyone.id}/audience`)
    t.same(Object.keys(body), [...AUDIENCE, 'segment_id', 'message'])
    t.same(body, {
      evaluation_status: 'evaluated',
      member_count: CUSTOMERS,
      generation: 1,
      evaluated_at: as_of,
      last_run_at: as_of,
      current_version_evaluated: true,
      segment_id: everyone.id,
      message: null,
    })
  })

  await t.test('members are walked by cursor in the order of customer id, each once', async (t) => {
    const call = client(t, key)
    for (const limit of [100, 50, CUSTOMERS, CUSTOMERS - 1]) {
      const pages = await walk(call, `/v1/segments/${everyone.id}/members?limit=${limit}`)
      t.equal(pages.length, Math.ceil(CUSTOMERS / limit), `no page is empty with ${limit} a page`)
      const ids = pages.flat().map(({ customer_id }) => customer_id as string)
      t.equal(new Set(ids).size, CUSTOMERS)
      t.same(ids, [...ids].sort())
    }
    const { body } = await call(`GET /v1/segments/${viewers.id}/members`)
    t.equal(body.data.length, 100, 'the default')
    t.equal(body.generation, 1)
    t.same(Object.keys(body), ['data', 'next_cursor', 'generation'])
    for (const member of body.data) {
      t.same(Object.keys(member), ['customer_id', 'email', 'phone', 'svc_contact_id', 'joined_at'])
      t.match(member, { phone: null, joined_at: as_of })
      t.equal(
        member.svc_contact_id !== null,
        member.email !== null,
        'whom an address is known of is a contact',
      )
    }
    t.equal(
      body.data.filter(({ email }: { email: string | null }) => email === null).length,
      33,
      'some have no email',
    )
  })

  await t.test('a customer is asked for by the id of its sender as by the public one', async (t) => {
    const call = client(t, key)
    const asked = (id: string) =>
      Promise.all([
        call(`GET /v1/segments/${everyone.id}/history?customer_id=${id}`),
        call(`GET /v1/segments/${everyone.id}/explain?customer_id=${id}`),
      ])
    const [{ id = '' } = {}] = await sql<{ id: string }[]>`
      select id from customer where brand_id = ${brand.id} and store_customer_id = '0'`
    const [history, explained] = await asked(id)
    const [own, ownExplained] = await asked('crm-0')
    t.hasStrict(history.body.data, [{ customer_id: id, action: 'entered' }])
    t.strictSame(own, history)
    const { explained_at: _, ...said } = explained.body
    const { explained_at: __, ...ownSaid } = ownExplained.body
    t.equal(said.customer_id, id)
    t.strictSame(ownSaid, said)

    await t.test('also while the lake does not know yet whom they have become', async (t) => {
      await sql`insert into customer (brand_id, subject, id, provenance) values (${brand.id}, 900000, 'newcomer', 'server')`
      await sql`
        insert into subject_redirect (brand_id, subject, customer)
        select brand_id, subject, 900000 from customer where brand_id = ${brand.id} and id = ${id}`
      const [merged, mergedExplained] = await asked(id)
      await sql`update subject_redirect set deleted = true where brand_id = ${brand.id} and customer = 900000`
      await sql`update customer set deleted = true where brand_id = ${brand.id} and subject = 900000`
      t.strictSame(merged, history)
      t.match(mergedExplained, { status: 200, body: { customer_id: id } })
    })
  })

  await t.test('a walk stays in the generation that it began in', async (t) => {
    const call = client(t, key)
    const { body: first } = await call(`GET /v1/segments/${everyone.id}/members?limit=200`)
    await refreshBrand(app.pipeline, brand.id, { asOf: new Date() })
    const next = () => call(`GET /v1/segments/${everyone.id}/members?limit=200&cursor=${first.next_cursor}`)
    const { body: second } = await next()
    t.match(second, { generation: first.generation, next_cursor: null })
    t.equal(new Set([...first.data, ...second.data].map(({ customer_id }) => customer_id)).size, CUSTOMERS)

    await t.test('for 24 hours, then it goes on in the newest', async (t) => {
      await sql`
        update served_generation set replaced_at = now() - interval '25 hours'
        where brand_id = ${brand.id} and replaced_at is not null`
      const { body: later } = await next()
      t.match(later, { generation: first.generation + 1, next_cursor: null })
      t.same(later.data, second.data)
    })
  })

  await t.test('a failed run shows why, and the members of the last good one', async (t) => {
    const broken = await save(brand, 'Broken', EVERYONE)
    await refreshBrand(app.pipeline, brand.id)
    await sql`update segment_version set definition = '{"source":"moon"}' where segment_id = ${broken.id}`
    await refreshBrand(app.pipeline, brand.id)
    const call = client(t, key)
    t.match((await call(`GET /v1/segments/${broken.id}/audience`)).body, {
      evaluation_status: 'failed',
      member_count: CUSTOMERS,
      message: /^definition\.source: "moon"/,
    })
    t.equal((await call(`GET /v1/segments/${broken.id}/members?limit=5000`)).body.data.length, CUSTOMERS)
    await sql`update segment set status = 'archived' where id = ${broken.id}`
  })

  t.equal((await call('GET /v1/segments')).body.data.length, 2, 'the rest of the tests finds these')
})

/** All pages from the first to the one without a cursor. */
async function walk(call: Call, path: string): Promise<Record<string, unknown>[][]> {
  const pages: Record<string, unknown>[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body }: { body: { data: Record<string, unknown>[]; next_cursor: string | null } } = await call(
      `GET ${path}${cursor && `&cursor=${cursor}`}`,
    )
    pages.push(body.data)
    cursor = body.next_cursor
  }
  return pages
}

t.test('a list of segments', async (t) => {
  const mine = await newBrand(app, { features: ['cdp'] })
  const call = client(t, await keyOf(mine))
  t.same((await call('GET /v1/segments')).body, { data: [], next_cursor: null })
  const saved = []
  for (const name of ['a', 'b', 'c', 'd', 'e']) saved.push(await save(mine, name, EVERYONE))
  await sql`update segment set status = 'archived' where id = ${saved[1]?.id as string}`
  // Two of the same instant: the id decides.
  await sql`update segment set created_at = (select created_at from segment where id = ${saved[3]?.id as string})
    where id = ${saved[4]?.id as string}`
  const names = async (query: string) =>
    (await walk(call, `/v1/segments?${query}`)).map((page) => page.map(({ name }) => name))

  await t.test('has the active ones, newest first, without their definitions', async (t) => {
    t.same(await names('limit=200'), [['e', 'd', 'c', 'a']])
    const { body } = await client(t, await keyOf(mine))('GET /v1/segments')
    for (const item of body.data) {
      t.same(Object.keys(item), ITEM)
      t.same(Object.keys(item.audience), AUDIENCE)
    }
  })
  await t.test('is walked by cursor', async (t) => {
    t.same(await names('limit=2'), [
      ['e', 'd'],
      ['c', 'a'],
    ])
    t.same(await names('limit=3&status=all'), [
      ['e', 'd', 'c'],
      ['b', 'a'],
    ])
    t.same(await names('limit=1&status=archived'), [['b']])
  })
  await t.test('refuses a cursor of other filters, another list or another brand', async (t) => {
    const cursor = async (path: string, as = call) => (await as(`GET ${path}`)).body.next_cursor
    const lists = await cursor('/v1/segments?limit=1')
    const members = await cursor(`/v1/segments/${everyone.id}/members?limit=1`, client(t, key))
    const foreign = await cursor('/v1/segments?limit=1', client(t, key))
    t.ok(lists && members && foreign)
    const wanted = /^cursor was not issued for this list/
    await refused(t, call, wanted, `GET /v1/segments?status=all&cursor=${lists}`)
    await refused(t, call, wanted, `GET /v1/segments?cursor=${members}`)
    await refused(t, call, wanted, `GET /v1/segments?cursor=${foreign}`)
    await refused(t, call, wanted, 'GET /v1/segments?cursor=x')
    await refused(t, client(t, key), wanted, `GET /v1/segments/${viewers.id}/members?cursor=${members}`)
  })
})

t.test('wrong input is refused by its name', async (t) => {
  const call = client(t, key)
  const members = `GET /v1/segments/${everyone.id}/members`
  await refused(t, call, 'limit must be at most 5000', `${members}?limit=5001`)
  await refused(t, call, 'limit must be at least 1', `${members}?limit=0`)
  await refused(t, call, 'limit must be an integer', `${members}?limit=ten`)
  await refused(t, call, 'limit must be at most 500', 'GET /v1/segments?limit=501')
  await refused(t, call, 'status must be active, archived or all', 'GET /v1/segments?status=gone')
  await refused(
    t,
    call,
    /^"offset" is not a parameter of this operation\. Known: limit, cursor$/,
    `${members}?offset=1`,
  )
  await refused(t, call, /^"q" is not a parameter/, `GET /v1/segments/${everyone.id}?q=1`)
  await refused(t, call, 'id must be a UUID', 'GET /v1/segments/1')
  t.equal((await call(`${members}?limit=5000`)).status, 200)
  t.equal((await call('GET /v1/segments?limit=500')).status, 200)
})

t.test('a segment of another brand is 404 as an unknown one is', async (t) => {
  const call = client(t, key)
  for (const id of [foreign.id, UNKNOWN]) {
    const bodies = new Set<string>()
    for (const path of [`/${id}`, `/${id}/audience`, `/${id}/members`]) {
      const { status, body } = await call(`GET /v1/segments${path}`)
      t.match({ status, body }, { status: 404, body: { error: { code: 'not_found' } } })
      bodies.add(body.error.message)
    }
    const { status, body } = await call('POST /v1/segments/estimate', { segment_id: id })
    t.equal(status, 404)
    bodies.add(body.error.message)
    t.equal(bodies.size, 1)
  }
})

t.test('reading needs segments:read and the feature, saving a sign-in', async (t) => {
  const plain = await newBrand(app)
  const forbidden = { status: 403, body: { error: { code: 'insufficient_scope' } } }
  t.match(await client(t, await keyOf(brand, ['brand:read']))('GET /v1/segments'), forbidden)
  t.match(await client(t, await keyOf(plain))('GET /v1/segments'), forbidden)
  const call = client(t, key)
  t.match(await call('POST /v1/segments', { name: 'Mine', definition: EVERYONE }), forbidden)
  t.match(await call('POST /v1/segments', { name: '' }), forbidden)
})

t.test('an estimate', async (t) => {
  const call = client(t, key)
  const estimate = 'POST /v1/segments/estimate'

  await t.test('counts a draft now, and saves nothing', async (t) => {
    const { body } = await client(t, key)(estimate, { definition: VIEWERS })
    t.match(body, { count: CUSTOMERS / 2, segment_id: null, version: null })
    t.ok(Math.abs(Date.now() - Date.parse(body.estimated_at)) < HOUR)
    t.equal((await client(t, key)('GET /v1/segments')).body.data.length, 2)
  })
  await t.test('counts a saved segment with its version', async (t) => {
    const { body } = await client(t, key)(estimate, { segment_id: everyone.id })
    t.match(body, { count: CUSTOMERS, segment_id: everyone.id, version: 1 })
  })
  await t.test('counts as of a past instant', async (t) => {
    const before = new Date(viewedAt - 1).toISOString()
    t.match((await client(t, key)(estimate, { segment_id: viewers.id, as_of: before })).body, {
      count: 0,
      estimated_at: before,
      version: 1,
    })
    const then = new Date(viewedAt).toISOString()
    t.match((await client(t, key)(estimate, { definition: VIEWERS, as_of: then })).body, {
      count: CUSTOMERS / 2,
      estimated_at: then,
    })
  })

  await t.test('is answered for more brands at once than sessions are kept', async (t) => {
    const keys = await Promise.all(
      Array.from({ length: 6 }, async () => keyOf(await newBrand(app, { features: ['cdp'] }))),
    )
    const asked = Array.from({ length: 4 }, () => keys).flat()
    const answers = await Promise.all(asked.map((one) => client(t, one)(estimate, { definition: EVERYONE })))
    for (const { status, body } of answers) t.match({ status, body }, { status: 200, body: { count: 0 } })
  })

  await t.test('takes exactly one of definition and segment_id', async (t) => {
    const wanted = 'Send exactly one of definition and segment_id'
    await refused(t, call, wanted, estimate, {})
    await refused(t, call, wanted, estimate, { definition: VIEWERS, segment_id: everyone.id })
  })
  await t.test('is refused with the path of what is wrong', async (t) => {
    const rule = (rule: object) => ({ definition: { source: 'customer_profile', rule } })
    await refused(
      t,
      call,
      /^definition\.rule\.all\[1\]\.field: "totl_spend" is not a field of customer_profile\. Did you mean "total_spend"\?/,
      estimate,
      rule({
        all: [
          { field: 'orders_count', op: '>', value: 1 },
          { field: 'totl_spend', op: '>', value: 1 },
        ],
      }),
    )
    await refused(
      t,
      call,
      /^definition\.rule\.op: "over"/,
      estimate,
      rule({ field: 'total_spend', op: 'over', value: 1 }),
    )
    await refused(t, call, /^definition\.rule/, estimate, { definition: { source: 'customer_profile' } })
    await refused(t, call, /^definition must be an object/, estimate, { definition: 'everyone' })
    await refused(t, call, /^"segmentId" is not a field of this body/, estimate, { segmentId: everyone.id })
    await refused(t, call, /^segment_id must be a UUID/, estimate, { segment_id: 'x' })
    await refused(t, call, /^as_of must be an ISO 8601 time/, estimate, {
      definition: VIEWERS,
      as_of: '2026-02-31T00:00:00Z',
    })
    await refused(t, call, 'as_of must be in the past', estimate, {
      definition: VIEWERS,
      as_of: new Date(Date.now() + HOUR).toISOString(),
    })
  })
})

t.test(
  'what is wrong with a rule is said before that there is no such segment, or that it is archived',
  async (t) => {
    const { call, signIn } = await api(t, db, [...segmentOps, ...segmentQuestionOps])
    const mine = await newBrand(db, { features: ['cdp'] })
    const as = signIn(mine)
    const definition = { source: 'customer_profile', rule: { op: 'member-of-segment', segmentId: UNKNOWN } }
    const wrong = {
      status: 400,
      body: { error: { message: /^definition\.rule\.segmentId: there is no segment/ } },
    }
    t.match(await call('POST /v1/segments/preview', { as, body: { segment_id: UNKNOWN, definition } }), wrong)
    const made = await call('POST /v1/segments', { as, body: { name: 'Gone', definition: VIEWERS } })
    const at = `/v1/segments/${made.body.id}`
    await call(`POST ${at}/archive`, { as })
    t.match(await call(`PATCH ${at}`, { as, body: { definition } }), wrong)
    t.match(await call(`PATCH ${at}`, { as, body: { definition: VIEWERS } }), { status: 409 })
  },
)

t.test('a definition that is no object is told what it is, wherever it is sent', async (t) => {
  const { call, signIn } = await api(t, db, [...segmentOps, ...segmentQuestionOps])
  const as = signIn(await newBrand(db, { features: ['cdp'] }))
  const rest = {
    'POST /v1/segments': '"name":"x",',
    [`PATCH /v1/segments/${UNKNOWN}`]: '',
    'POST /v1/segments/estimate': '',
    'POST /v1/segments/preview': `"segment_id":"${UNKNOWN}",`,
  }
  const said = {
    '[]': 'an empty list',
    '[{}]': 'a list',
    '9007199254740993': '9007199254740993',
    null: 'null',
  }
  for (const [route, others] of Object.entries(rest))
    for (const [definition, what] of Object.entries(said))
      t.match(await call(route, { as, text: `{${others}"definition":${definition}}` }), {
        status: 400,
        body: { error: { message: `definition must be an object with source and rule, not ${what}` } },
      })
})

t.test('a signed-in user', async (t) => {
  const { call, signIn } = await api(t, db, segmentOps)
  const mine = await newBrand(db, { features: ['cdp'] })
  const as = signIn(mine)
  const create = (body: object) => call('POST /v1/segments', { as, body })

  await t.test('saves a segment, which is not evaluated yet', async (t) => {
    const { status, body } = await create({
      name: '  Ünïcode 👋 ',
      description: 'What for',
      definition: VIEWERS,
    })
    t.equal(status, 200)
    t.same(Object.keys(body), [...ITEM, 'version', 'schema_version', 'definition'])
    t.match(body, {
      name: 'Ünïcode 👋',
      description: 'What for',
      status: 'active',
      version: 1,
      audience: { evaluation_status: 'not_evaluated', member_count: 0 },
    })
    t.equal(JSON.stringify(body.definition), JSON.stringify(VIEWERS))
    t.same((await call(`GET /v1/segments/${body.id}`, { as })).body, body)
  })
  await t.test('is refused a name that an active segment has, in any case and with any spaces', async (t) => {
    t.match(await create({ name: 'ünïcode 👋', definition: EVERYONE }), {
      status: 409,
      body: { error: { code: 'conflict', message: 'An active segment is named "ünïcode 👋" already.' } },
    })
    await create({ name: 'ΣΑΣ', definition: EVERYONE })
    t.equal(
      (await create({ name: 'σας', definition: EVERYONE })).status,
      409,
      'whose letters have two small forms',
    )
    t.equal(
      (await create({ name: 'u\u0308nïcode 👋', definition: EVERYONE })).status,
      409,
      'whose accents are characters of their own',
    )
    await sql`update segment set status = 'archived' where brand_id = ${mine.id}`
    t.equal((await create({ name: 'Ünïcode 👋', definition: EVERYONE })).status, 200)
  })
  await t.test('is told what is wrong with a new segment', async (t) => {
    const wrong = async (body: object, message: string | RegExp) =>
      t.match(await create(body), { status: 400, body: { error: { code: 'bad_request', message } } })
    await wrong({ definition: EVERYONE }, 'name is required')
    await wrong({ name: '', definition: EVERYONE }, 'name must be 1 to 200 characters')
    for (const name of ['   ', '\u200b', '\u2060\ufeff', '\u00a0\u00ad'])
      await wrong({ name, definition: EVERYONE }, /^name must .* 1 to 200 characters/)
    await wrong({ name: 'x'.repeat(201), definition: EVERYONE }, 'name must be 1 to 200 characters')
    await wrong(
      { name: 'x', definition: EVERYONE, description: 'x'.repeat(2001) },
      /^description must be at most 2000/,
    )
    await wrong({ name: 'x' }, /^definition/)
    await wrong({ name: 'x', definition: { source: 'orders', rule: {} } }, /^definition\.source: "orders"/)
    await wrong({ name: 'x', definition: EVERYONE, scope: 1 }, /^"scope" is not a field of this body/)
  })
  await t.test('may have spaces around a name as long as names can be', async (t) => {
    t.equal((await create({ name: ` ${'👋'.repeat(200)}\n`, definition: EVERYONE })).status, 200)
  })
})
