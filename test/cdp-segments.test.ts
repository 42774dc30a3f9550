import t, { type Test } from 'tap'
import { createKey } from '../src/access/key.ts'
import { listMerges, undoMerge } from '../src/identity/merge.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Lake } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { createSegment } from '../src/segment/saved.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { logBatch } from './fixtures/lake.ts'
import { service } from './fixtures/service.ts'

setLogLevel('error')
t.capture(process.stderr, 'write')

const CUSTOMERS = 3_000
const DAY = 86_400_000
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'
const EVERYONE = { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 0 } }

const { app, db, origin, described } = await service(t, { RATE_LIMITS: 'off' })
const { sql } = app.postgres

const SCOPES = ['segments:read', 'customers:read']
const keyOf = async ({ id }: Brand) =>
  (await createKey(app.postgres.forBrand(id), { scopes: SCOPES })).plaintext
const save = (brand: Brand, name: string, definition: object, description?: string) =>
  createSegment(app.postgres.forBrand(brand.id), { name, definition, description, createdBy: 'test' })

/** Requests of one brand's key; each answer is as the OpenAPI document says. */
const client = (t: Test, key: string) => async (route: string, body?: object) => {
  const [method = '', path = ''] = route.split(' ')
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(origin + path, { method, headers, ...sent })
  const { status, headers: got } = response
  const text = await response.text()
  const problems = described.problems(method, path, { status, headers: got, text })
  if (problems?.length !== 0) t.fail(`${route}: ${problems}`)
  const isJson = got.get('content-type') === 'application/json'
  return { status, headers: got, text, body: isJson ? JSON.parse(text) : undefined }
}

const [brand, other] = [
  await newBrand(app, { features: ['cdp'] }),
  await newBrand(app, { features: ['cdp'] }),
]
const [key, otherKey] = [await keyOf(brand), await keyOf(other)]
const everyone = await save(brand, 'Everyone', EVERYONE, 'All of them')
const nobody = await save(brand, 'Nobody', { ...EVERYONE, rule: { not: EVERYONE.rule } })
const foreign = await save(other, 'Foreign', EVERYONE)
const now = Date.now()
await logBatch(
  sql,
  Array.from({ length: CUSTOMERS }, (_, n) => ({
    brand_id: brand.id,
    store_customer_id: `${n}`,
    ...(n % 3 ? { email: `c${n}"\\@example.com` } : {}),
    occurred_at: now - (n % 50) * DAY,
  })),
)
await logBatch(sql, [
  { brand_id: brand.id, anonymous_id: 'v1', properties: { path: '/', session_id: 's1', utm_source: 'ads' } },
  {
    brand_id: brand.id,
    anonymous_id: 'v1',
    event_type: 'updateProperties',
    properties: {
      plan: 'gold',
      seats: 3,
      'a.b': [1, 2],
      thing: { a: 1 },
      when: '2026-01-01',
      scope: 'x',
      itemId: 'x',
      // Names are anybody's words: long ones are not listed.
      ['n'.repeat(129)]: 1,
    },
  },
  { brand_id: brand.id, store_customer_id: '7', anonymous_id: 'v7', occurred_at: now - DAY },
  {
    brand_id: brand.id,
    store_customer_id: '8',
    event_type: 'updateProperties',
    occurred_at: now - DAY,
    properties: { city: 'Köln', zipCode: 50667, countryName: ['DE', 'FR'] },
  },
  { brand_id: other.id, store_customer_id: '1', event_type: 'updateProperties', properties: { secret: 1 } },
])
await snapshotAll(app.pipeline)
const at = `/cdp/segments/${everyone.id}`

/** All lines from a cursor on, and how many pages they came in. */
async function walk(
  call: ReturnType<typeof client>,
  query: string,
  between: (page: number) => Promise<unknown> = async () => {},
): Promise<{ lines: { id: string }[]; pages: number }> {
  const lines: { id: string }[] = []
  for (let page = 1, cursor = ''; ; page++) {
    const { status, text, headers } = await call(`GET ${at}/export?${query}${cursor}`)
    t.equal(status, 200)
    lines.push(
      ...text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    )
    const next = headers.get('x-next-cursor')
    if (next === null) return { lines, pages: page }
    cursor = `&cursor=${next}`
    await between(page)
  }
}

t.test('before the first refresh there is a segment without members', async (t) => {
  const call = client(t, key)
  const exported = await call(`GET ${at}/export`)
  t.match(exported, { status: 200, text: '' })
  t.equal(exported.headers.get('content-type'), 'application/x-ndjson')
  t.equal(exported.headers.get('x-next-cursor'), null)
  t.match((await call(`GET ${at}/members`)).body, { list: [], identities: {}, totalSize: 0 })
})

t.test('after a refresh', async (t) => {
  await refreshBrand(app.pipeline, brand.id)
  await refreshBrand(app.pipeline, other.id)
  const call = client(t, key)
  const scope = brand.shop_domain

  await t.test('segments are listed with their scope, those of the brand alone', async (t) => {
    const { body } = await client(t, key)('GET /cdp/segments')
    t.equal(body.scope, scope)
    const own = body.list.filter(({ id }: { id: string }) => [everyone.id, nobody.id].includes(id))
    t.same(own, [
      { id: nobody.id, name: 'Nobody', scope },
      { id: everyone.id, name: 'Everyone', description: 'All of them', scope },
    ])
    t.notOk(JSON.stringify(body).includes(foreign.id))
  })

  await t.test('members are profiles with identities', async (t) => {
    const call = client(t, key)
    const { body } = await call(`GET ${at}/members`)
    t.match(body, { segmentId: everyone.id, totalSize: CUSTOMERS, offset: 0, pageSize: 25, scope })
    t.equal(body.list.length, 25)
    const ids = body.list.map(({ itemId }: { itemId: string }) => itemId)
    t.same(ids, [...ids].sort())
    t.same(Object.keys(body.identities).sort(), ids)
    for (const { itemId, properties, provenance } of body.list) {
      t.equal(provenance, 'server')
      const { email = null, storeCustomerId, firstVisit, ordersCount } = properties
      t.match(body.identities[itemId], { profileId: itemId, email, storeCustomerId, visitorIds: [] })
      t.equal(new Date(firstVisit).toISOString(), firstVisit)
      t.equal(ordersCount, 0)
    }
    t.equal((await call(`GET ${at}/members?limit=1000`)).body.list.length, 100, 'a greater limit is reduced')
    t.match((await call(`GET ${at}/members?offset=${CUSTOMERS - 1}&limit=2`)).body.list, { length: 1 })
    t.match((await call(`GET /cdp/segments/${nobody.id}/members`)).body, { list: [], totalSize: 0 })
  })

  await t.test('an identity has the contact and the visitors of its profile', async (t) => {
    const [{ id, subject } = {}] = await sql`
      select id, subject from customer where brand_id = ${brand.id} and store_customer_id = '7'`
    const [contact] = await sql<{ id: string }[]>`
      select id from contact where brand_id = ${brand.id} and subject = ${subject}`
    const call = client(t, key)
    const ids = (await walk(call, '')).lines.map((line) => line.id).sort()
    const { body } = await call(`GET ${at}/members?limit=1&offset=${ids.indexOf(id)}`)
    t.match(body.identities[id], {
      contactId: contact?.id ?? 'none',
      visitorIds: ['v7'],
      storeCustomerId: '7',
    })
  })

  await t.test('members are sorted by the fields that are known', async (t) => {
    const call = client(t, key)
    const sorted = async (sort: string) =>
      (await call(`GET ${at}/members?limit=100&sort=${sort}`)).body.list as {
        itemId: string
        properties: { lastVisit: string }
      }[]
    const last = (await sorted('properties.lastVisit:desc')).map(({ properties }) => properties.lastVisit)
    t.same(last, [...last].sort().reverse())
    t.equal(last[0], new Date(now).toISOString())
    t.same((await sorted('properties.lastVisit')).length, 100)
    const down = (await sorted('itemId.keyword:desc')).map(({ itemId }) => itemId)
    t.same(down, [...down].sort().reverse())
  })

  await t.test('beyond the window and for what is no sort, limit or offset is 400', async (t) => {
    const call = client(t, key)
    for (const query of [
      'offset=9976',
      'offset=9999&limit=2',
      'offset=10000&limit=100',
      'offset=-1',
      'offset=x',
      'limit=0',
      'limit=x',
      'sort=properties.email:asc',
      'sort=customer_id;drop table customers',
      'sort=itemId.keyword:asc,itemId.keyword:desc',
      'cursor=x',
    ])
      t.match(await call(`GET ${at}/members?${encodeURI(query)}`), {
        status: 400,
        body: { error: { code: 'bad_request' } },
      })
    t.match((await call(`GET ${at}/members?offset=9975`)).status, 200)
    t.match((await call('GET /cdp/segments/x/members')).status, 400)
    for (const id of [UNKNOWN, foreign.id])
      for (const part of ['members', 'export'])
        t.match(await call(`GET /cdp/segments/${id}/${part}`), {
          status: 404,
          body: { error: { code: 'not_found' } },
        })
  })

  await t.test('an export has each member once, whatever the page size', async (t) => {
    const call = client(t, key)
    for (const limit of [10_000, 1_000, CUSTOMERS, 777]) {
      const { lines, pages } = await walk(call, `limit=${limit}`)
      t.equal(pages, Math.ceil(CUSTOMERS / limit))
      t.equal(new Set(lines.map(({ id }) => id)).size, CUSTOMERS)
      t.equal(lines.length, CUSTOMERS)
    }
    for (const limit of ['0', '-5']) {
      const { text, headers } = await call(`GET ${at}/export?limit=${limit}`)
      t.ok(text.split('\n').length === 2 && headers.get('x-next-cursor'), `a limit of ${limit} is 1`)
    }
    t.equal((await call(`GET ${at}/export?limit=x`)).status, 400)
    const { lines } = await walk(call, 'limit=99999')
    const [cologne, ...others] = (lines as Record<string, unknown>[]).sort(
      (one, two) => Number(two.storeCustomerId === '8') - Number(one.storeCustomerId === '8'),
    )
    t.match(cologne, { city: 'Köln', zipCode: '50667', countryName: undefined })
    const wrong = others.filter(
      ({ id, provenance, email, storeCustomerId, shopDomain, properties, ...rest }) =>
        !(
          Object.keys(rest).length === 0 &&
          String(id).endsWith(`:${storeCustomerId}`) &&
          provenance === 'server' &&
          shopDomain === scope &&
          email === (Number(storeCustomerId) % 3 ? `c${storeCustomerId}"\\@example.com` : undefined) &&
          Object.keys(properties as object).join() === 'firstVisit,lastVisit'
        ),
    )
    t.same(wrong, [])
    const { text } = await call(`GET /cdp/segments/${nobody.id}/export`)
    t.equal(text, '')
  })

  await t.test('a cursor is good for its brand and segment', async (t) => {
    const call = client(t, key)
    const { headers } = await call(`GET ${at}/export?limit=10`)
    const cursor = headers.get('x-next-cursor') as string
    const wrong = async (route: string, as = key) => {
      const { status, body } = await client(t, as)(`GET ${route}`)
      return [status, body.error.code]
    }
    t.same(await wrong(`/cdp/segments/${foreign.id}/export?cursor=${cursor}`, otherKey), [403, 'forbidden'])
    t.same(await wrong(`/cdp/segments/${nobody.id}/export?cursor=${cursor}`), [400, 'bad_request'])
    for (const other of ['x', `${cursor}A`, cursor.slice(1), '%00'])
      t.same(await wrong(`${at}/export?cursor=${other}`), [400, 'bad_request'])
    const rest = await client(t, key)(`GET /v1/segments/${everyone.id}/members?limit=10`)
    t.same(await wrong(`${at}/export?cursor=${rest.body.next_cursor}`), [400, 'bad_request'])
  })

  await t.test('a walk while generations change has each customer of both generations once', async (t) => {
    const call = client(t, key)
    const full = { smallRows: 0, mostTouched: 1 }
    let added = 0
    const change = async () => {
      const lines = Array.from({ length: 200 }, (_, n) => ({
        brand_id: brand.id,
        store_customer_id: `${n % 2 ? 'new' : ''}${added * 50 + n}`,
      }))
      added++
      await logBatch(sql, lines)
      await snapshotAll(app.pipeline)
      return await refreshBrand(app.pipeline, brand.id, full)
    }
    t.equal((await change()).full, false, 'members are a base and changes')
    const before = new Set((await walk(call, '')).lines.map(({ id }) => id))
    const { lines } = await walk(call, 'limit=500', async (page) => {
      if (page <= 2) await change()
      // What began in a generation that is gone goes on after the same id in the newest.
      if (page === 3)
        await sql`update served_generation set replaced_at = now() - interval '25 hours'
          where brand_id = ${brand.id} and replaced_at is not null`
      if (page === 4) await refreshBrand(app.pipeline, brand.id, { asOf: new Date(), smallRows: 1e9 })
    })
    const after = new Set((await walk(call, '')).lines.map(({ id }) => id))
    const ids = lines.map(({ id }) => id)
    t.ok(after.size > before.size)
    t.equal(new Set(ids).size, ids.length, 'none twice')
    t.same(
      [...before].filter((id) => after.has(id) && !ids.includes(id)),
      [],
      'none of both generations is missing',
    )
    t.same(
      ids.filter((id) => !before.has(id) && !after.has(id)),
      [],
    )
  })

  await t.test('profiles and events are counted', async (t) => {
    const call = client(t, key)
    const count = async (item: string, condition?: object) =>
      (await call(`POST /cdp/query/${item}/count`, condition ? { condition } : {})).body
    t.same(
      await count('event', {
        type: 'eventTypeCondition',
        parameterValues: { eventTypeId: 'updateProperties' },
      }),
      {
        itemType: 'event',
        count: 2,
        scope,
      },
    )
    const { count: all } = await count('profile')
    t.ok(all > CUSTOMERS)
    const known = { propertyName: 'properties.storeCustomerId', comparisonOperator: 'missing' }
    t.match(await count('profile', { type: 'profilePropertyCondition', parameterValues: known }), {
      count: 1,
    })
    t.match(await call('POST /cdp/query/session/count', {}), {
      status: 404,
      body: { error: { code: 'not_found' } },
    })
    t.match(await call('GET /cdp/query/profile/count'), {
      status: 405,
      body: { error: { code: 'method_not_allowed' } },
    })
    for (const name of ['scope', 'properties.shopDomain']) {
      const asked = { propertyName: name, comparisonOperator: 'equals', propertyValue: other.shop_domain }
      t.match(
        await call('POST /cdp/query/profile/count', {
          condition: { type: 'profilePropertyCondition', parameterValues: asked },
        }),
        {
          status: 400,
          body: { error: { message: /^condition\.parameterValues\.propertyName: cannot be used/ } },
        },
      )
    }
  })

  await t.test(
    'property types are the built-in ones and those that the brand’s own events set',
    async (t) => {
      const { body } = await client(t, key)('GET /cdp/definitions/properties')
      t.equal(body.scope, scope)
      const keys = body.properties.map(({ target, id }: Record<string, string>) => `${target} ${id}`)
      t.same(keys, [...keys].sort())
      const custom = body.properties.filter(({ source }: { source: string }) => source === 'custom')
      const row = (id: string, type: string, multivalued = false) => ({
        id,
        propertyName: `properties.${id}`,
        target: 'profiles',
        type,
        multivalued,
        source: 'custom',
      })
      t.same(custom, [
        row('a.b', 'string', true),
        row('city', 'string'),
        row('countryName', 'string', true),
        row('plan', 'string'),
        row('seats', 'integer'),
        row('when', 'date'),
        row('zipCode', 'integer'),
      ])
      t.match(
        body.properties.find(({ id }: { id: string }) => id === 'tags'),
        { type: 'string', multivalued: true, source: 'built-in' },
      )
    },
  )

  await t.test('the vocabulary is listed', async (t) => {
    const { body } = await client(t, key)('GET /cdp/definitions/conditions')
    t.equal(body.conditions.length, 7)
    t.ok(body.operators.some(({ id }: { id: string }) => id === 'notEquals'))
    t.equal(body.scope, scope)
  })
  t.equal((await call('POST /cdp/segments', {})).status, 403, 'defining one takes a sign-in')
})

t.test('a merged profile is exported with what it was merged by', async (t) => {
  const merging = await newBrand(app, { features: ['cdp'] })
  const named = { brand_id: merging.id, origin: 'service' } as const
  const [email, phone] = ['m"1@example.com', '+12015550123']
  await logBatch(sql, [
    { ...named, store_customer_id: '1', email, occurred_at: now - DAY },
    { ...named, phone, occurred_at: now - DAY },
    { ...named, store_customer_id: '2', email: 'other@example.com' },
  ])
  await logBatch(sql, [{ ...named, store_customer_id: '1', phone }])
  await snapshotAll(app.pipeline)
  const { id } = await save(merging, 'Everyone', EVERYONE)
  await refreshBrand(app.pipeline, merging.id)
  const call = client(t, await keyOf(merging))
  const identifiers = async () =>
    (await call(`GET /cdp/segments/${id}/export`)).text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
      .map(({ provenance, mergeIdentifier }) => [provenance, mergeIdentifier])
  t.same(await identifiers(), [
    ['merged', phone],
    ['server', undefined],
  ])
  const db = app.postgres.forBrand(merging.id)
  const [merge] = await listMerges(db, 1)
  await undoMerge(db, String(merge?.id), 'test')
  t.same(
    await identifiers(),
    [
      ['merged', undefined],
      ['server', undefined],
    ],
    'nothing of a merge that was undone since the refresh',
  )
})

t.test('a condition becomes a segment', async (t) => {
  const { call, signIn } = await api(t, db, OPS)
  const as = signIn(brand)
  const condition = {
    type: 'notCondition',
    parameterValues: {
      subCondition: {
        type: 'profilePropertyCondition',
        parameterValues: { propertyName: 'properties.email', comparisonOperator: 'exists' },
      },
    },
  }
  const made = await call('POST /cdp/segments', { as, body: { name: 'No email', condition } })
  t.match(made, { status: 200, body: { name: 'No email', scope: brand.shop_domain } })
  t.same(Object.keys(made.body), ['id', 'name', 'scope'])
  const { body } = await call(`GET /v1/segments/${made.body.id}`, { as })
  t.same(body.definition, {
    source: 'customer_profile',
    rule: { not: { source: 'customer_profile', field: 'email', op: 'exists' } },
  })
  await refreshBrand(app.pipeline, brand.id)
  const { lines } = await walk(client(t, key), '')
  const without = lines.filter((line) => !('email' in line))
  const { body: members } = await client(t, key)(`GET /cdp/segments/${made.body.id}/members`)
  t.ok(without.length > CUSTOMERS / 3)
  t.equal(members.totalSize, without.length)
  t.match(await call('POST /cdp/segments', { as, body: { name: 'no EMAIL', condition } }), {
    status: 409,
    body: { error: { code: 'conflict' } },
  })
  const phone = {
    type: 'profilePropertyCondition',
    parameterValues: { propertyName: 'properties.Phone', comparisonOperator: 'exists' },
  }
  t.match(await call('POST /cdp/segments', { as, body: { name: 'Phone', condition: phone } }), {
    status: 400,
    body: { error: { message: /^condition\.parameterValues\.propertyName: segments cannot be made of/ } },
  })
  const event = { type: 'eventTypeCondition', parameterValues: { eventTypeId: 'page_viewed' } }
  t.match(await call('POST /cdp/segments', { as, body: { name: 'Pages', condition: event } }), {
    status: 400,
    body: {
      error: { message: /^condition\.parameterValues\.eventTypeId: segments cannot be made of page_viewed/ },
    },
  })
})

t.test('faults', async (t) => {
  const failing = (error: Error): Lake => ({
    served: async () => Promise.reject(error),
    sources: async () => Promise.reject(error),
    pinned: async () => Promise.reject(error),
  })
  const ask = async (error: Error, of: Brand = brand) => {
    const { call, key } = await api(t, db, OPS, { lake: () => failing(error) })
    const { status, body } = await call('POST /cdp/query/profile/count', {
      as: await key(of, SCOPES),
      body: {},
    })
    return [status, body.error.code]
  }
  t.same(await ask(new Error('Out of Memory Error')), [502, 'upstream_error'])
  const { call, key: keyIn } = await api(t, db, OPS, { lake: () => failing(new Error('IO Error')) })
  const member = await keyIn(brand, SCOPES)
  const selling = await keyIn(await newBrand(app, { features: ['cdp', 'beta:cdp-commerce'] }), SCOPES)
  const past = '/cdp/insights/ltv?as_of=2025-01-01T00:00:00Z'
  for (const [route, as] of [
    [`${at}/members`, member],
    [`${at}/export`, member],
    ['/cdp/insights/ltv', selling],
    [past, selling],
  ] as const)
    t.match(await call(`GET ${route}`, { as }), {
      status: 502,
      body: { error: { code: 'upstream_error' } },
    })
  for (const code of ['57P01', '57014'])
    t.same(await ask(Object.assign(new Error(code), { code })), [503, 'upstream_unavailable'], code)
  const plain = await newBrand(app, { features: ['cdp'] })
  await sql`update brand set shop_domain = '' where id = ${plain.id}`
  t.same(await ask(new Error('never'), plain), [403, 'forbidden'], 'without a store there is no scope')
})
