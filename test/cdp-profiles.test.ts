import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { openapiText } from '../src/http/openapi.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { cdpCustomerOps } from '../src/ops/cdp-customers.ts'
import { cdpProfileOps } from '../src/ops/cdp-profiles.ts'
import { cdpSessionOps } from '../src/ops/cdp-sessions.ts'
import { customerOps } from '../src/ops/customers.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { contract } from './fixtures/contract.ts'
import { lake, lakeOf, logBatch } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { addOrders, type MadeCustomer, randomCustomers } from './fixtures/random-customers.ts'

setLogLevel('error')
t.capture(process.stderr, 'write')

const FEATURES = ['cdp', 'beta:cdp-commerce']
const SCOPES = ['customers:read', 'commerce:read']
const MINUTE = 60_000

const pipeline = await lake(t)
const { sql } = pipeline.postgres
const ops = [...cdpProfileOps, ...cdpSessionOps, ...cdpCustomerOps, ...customerOps]
const { call, key } = await api(t, pipeline, ops, { lake: lakeOf(t, pipeline) })
const origin = 'http://localhost'
const described = contract(
  JSON.parse(openapiText(ops, { baseUrl: origin, cdpUrl: origin, webhookUrl: origin })),
)

/** Requests of a brand's key; each answer is as the OpenAPI document says. */
const client = (t: Test, as: string) => async (path: string) => {
  const { status, headers, text, body } = await call(`GET ${path}`, { as })
  const got = { get: (name: string) => (headers[name.toLowerCase()] as string | undefined) ?? null }
  const problems = described.problems('GET', path, { status, headers: got, text })
  if (problems?.length !== 0) t.fail(`${path}: ${problems} ${text}`)
  return { status, body }
}
type Call = ReturnType<typeof client>

const random = randomSource(t)
const brand = await newBrand(pipeline, { features: FEATURES })
const other = await newBrand(pipeline, { features: FEATURES })
const [as, asOther] = [await key(brand, SCOPES), await key(other, SCOPES)]
const scope = brand.shop_domain
const made = await randomCustomers(sql, brand, random, 250)
const [known, visitors] = [
  made.filter(({ provenance }) => provenance !== 'pixel'),
  made.filter(({ provenance }) => provenance === 'pixel'),
]
const idsOf = (customers: readonly MadeCustomer[]) => customers.map(({ id }) => id).sort()
const refresh = async (of: Brand = brand) => {
  await snapshotAll(pipeline)
  await refreshBrand(pipeline, of.id)
}

interface Profile {
  itemId: string
  properties: Record<string, unknown>
  provenance: string
}

/** All profiles of a list, by cursors. */
async function walk(call: Call, query: string, between = async () => {}): Promise<Profile[]> {
  const list: Profile[] = []
  for (let cursor = ''; ; await between()) {
    const { status, body } = await call(`/cdp/profiles?${query}${cursor}`)
    if (status !== 200) throw new Error(JSON.stringify(body))
    list.push(...body.list)
    if (body.nextCursor === null) return list
    cursor = `&cursor=${body.nextCursor}`
  }
}

t.test('before the first refresh there is none', async (t) => {
  const call = client(t, as)
  t.match((await call('/cdp/profiles')).body, {
    bucket: 'customers',
    list: [],
    totalSize: 0,
    nextCursor: null,
  })
})

t.test('profiles are listed by bucket, with their identities', async (t) => {
  await refresh()
  await refresh(other)
  const call = client(t, as)
  for (const [bucket, those] of Object.entries({ customers: known, anonymous: visitors })) {
    const { body } = await call(`/cdp/profiles?bucket=${bucket}&limit=100`)
    t.match(body, { bucket, totalSize: those.length, offset: 0, pageSize: 100, scope })
    t.same(
      body.list.map(({ itemId }: Profile) => itemId),
      idsOf(those).slice(0, 100),
    )
    t.same(Object.keys(body.identities).sort(), body.list.map(({ itemId }: Profile) => itemId).sort())
    const wanted = bucket === 'customers' ? 'server' : 'pixel'
    t.same([...new Set(body.list.map(({ provenance }: Profile) => provenance))], [wanted])
  }
  t.match((await call('/cdp/profiles?limit=1000')).body, { pageSize: 100, list: { length: 100 } })
  t.match((await call('/cdp/profiles')).body, { bucket: 'customers', pageSize: 25 })
})

t.test('offsets and sorts show each profile once, cursors too while refreshes come', async (t) => {
  const call = client(t, as)
  const all = idsOf(known)
  for (const [sort, field] of [
    ['properties.firstVisit:desc', 'firstVisit'],
    ['properties.lastVisit', 'lastVisit'],
    ['itemId.keyword:desc', ''],
  ] as const) {
    const list: Profile[] = []
    for (let offset = 0; offset < all.length; offset += 60)
      list.push(...(await call(`/cdp/profiles?sort=${sort}&limit=60&offset=${offset}`)).body.list)
    const ids = list.map(({ itemId }) => itemId)
    t.same([...ids].sort(), all)
    const shown = list.map(({ properties }) => properties[field] as string | undefined)
    const known = shown.filter((value) => value !== undefined)
    t.same(shown.slice(0, known.length), known, 'who has none comes last')
    const upwards = [...known].sort()
    if (field) t.same(known, sort.endsWith('desc') ? upwards.reverse() : upwards)
    else t.same(ids, [...all].reverse())
  }
  const slowly = await walk(call, 'limit=50', async () => {
    await addOrders(sql, brand, random, known, 5)
    await logBatch(sql, [{ brand_id: brand.id, store_customer_id: String(random.below(1e6)) }])
    await refresh()
  })
  t.same(
    slowly.map(({ itemId }) => itemId),
    all,
  )
})

t.test('q finds a text in email, phone, name and ids', async (t) => {
  const call = client(t, as)
  const [someone] = known.filter(({ email, phone }) => email && phone)
  for (const q of [
    someone?.email?.slice(2),
    someone?.phone?.slice(1),
    someone?.id,
    someone?.email?.toUpperCase(),
  ])
    t.ok(
      (await walk(call, `q=${encodeURIComponent(String(q))}`)).some(({ itemId }) => itemId === someone?.id),
      String(q),
    )
  t.match((await call('/cdp/profiles?q=nobody%20at%20all')).body, { list: [], totalSize: 0, identities: {} })
  t.ok((await call(`/cdp/profiles?q=${visitors[0]?.id}`)).body.totalSize === 0, 'a visitor is no customer')
  t.match((await call(`/cdp/profiles?bucket=anonymous&q=${visitors[0]?.id}`)).body, { totalSize: 1 })
})

t.test('what is no bucket, sort, limit, offset or cursor is refused', async (t) => {
  const call = client(t, as)
  const { nextCursor } = (await call('/cdp/profiles?limit=1')).body
  const refusals: [query: string, status: number][] = [
    ...['bucket=x', 'sort=email', 'sort=itemId.keyword:up', 'limit=0', 'limit=x', 'offset=-1', 'x=1'].map(
      (query): [string, number] => [query, 400],
    ),
    ...[`offset=9976`, `offset=10000&limit=1`, 'cursor=x', `cursor=${nextCursor}A`].map(
      (query): [string, number] => [query, 400],
    ),
    ...['bucket=anonymous', 'q=c', 'sort=itemId.keyword:desc', 'sort=properties.firstVisit'].map(
      (query): [string, number] => [`${query}&cursor=${nextCursor}`, 400],
    ),
    [`cursor=${nextCursor}&sort=itemId.keyword`, 200],
    ['offset=9975', 200],
  ]
  for (const [query, status] of refusals)
    t.equal((await call(`/cdp/profiles?${query}`)).status, status, query)
  const foreign = await client(t, asOther)(`/cdp/profiles?cursor=${nextCursor}`)
  t.match(foreign, { status: 403, body: { error: { code: 'forbidden' } } })
  const rest = (await client(t, as)('/v1/customers?limit=1')).body.next_cursor
  t.equal((await call(`/cdp/profiles?cursor=${rest}`)).status, 400, 'of another list')
})

t.test('beside a cursor an offset is ignored, whatever it is, and without one refused', async (t) => {
  const call = client(t, as)
  const { nextCursor } = (await call('/cdp/profiles?limit=1')).body
  const next = (await call(`/cdp/profiles?limit=1&cursor=${nextCursor}`)).body
  for (const [offset, message] of Object.entries({
    abc: 'offset must be an integer',
    '': 'offset must be an integer',
    '-1': 'offset must be at least 0',
    '20000': 'offset and limit together must be at most 10,000',
  })) {
    const query = `/cdp/profiles?limit=1&offset=${offset}`
    t.same((await call(`${query}&cursor=${nextCursor}`)).body, next, offset)
    t.match(await call(query), { status: 400, body: { error: { message } } }, offset)
  }
})

t.test('a profile has what events set, its identity, and its visits', async (t) => {
  const call = client(t, as)
  const [one] = known.filter(({ store_customer_id }) => store_customer_id) as [MadeCustomer]
  const now = Date.now()
  const event = { brand_id: brand.id, store_customer_id: String(one.store_customer_id) }
  const utm = { utm_source: 'ads', utm_campaign: 'may', referrer: 'https://example.com/', device: 'mobile' }
  await logBatch(sql, [
    {
      ...event,
      event_type: 'updateProperties',
      properties: {
        ...{ plan: 'gold', totalSpend: 'x', ordersCount: 'y' },
        ...{
          itemId: 'x',
          provenance: 'merged',
          scope: 'x',
          shopDomain: 'x',
          mergeIdentifier: 'x',
          contactId: 'x',
        },
      },
    },
    { ...event, occurred_at: now - 200 * MINUTE, properties: { url: 'https://shop.example/a', ...utm } },
    { ...event, occurred_at: now - 190 * MINUTE, properties: { url: 'https://shop.example/b' } },
    {
      ...event,
      occurred_at: now - 100 * MINUTE,
      properties: { session_id: 's1', url: 'https://shop.example/c' },
    },
  ])
  await refresh()
  const { body } = await call(`/cdp/profiles/${one.id}`)
  t.match(body, {
    scope,
    profile: { itemId: one.id, provenance: 'server', properties: { plan: 'gold' } },
    identity: { profileId: one.id, email: one.email, visitorIds: [`v${one.subject}`] },
  })
  t.type(body.profile.properties.ordersCount, 'number')
  for (const name of ['itemId', 'provenance', 'scope', 'shopDomain', 'mergeIdentifier', 'contactId'])
    t.notOk(name in body.profile.properties, `${name} is the service's to say`)
  const listed = (await call(`/cdp/profiles?q=${one.id}`)).body
  t.same(listed.list, [body.profile])
  t.same(listed.identities, { [one.id]: body.identity })

  const path = `/cdp/profiles/${one.id}/sessions`
  const sessions = (await call(path)).body
  t.equal(sessions.totalSize, sessions.list.length)
  const named = sessions.list.filter(({ entryUrl }: { entryUrl: string | null }) => entryUrl)
  t.match(named, [
    { itemId: 's1', scope, profileId: one.id, events: 1, durationSeconds: 0, utm: { source: null } },
    { events: 2, durationSeconds: 600, utm: { source: 'ads', campaign: 'may' }, device: 'mobile' },
  ])
  const upwards = (await call(`${path}?sort=startedAt:asc`)).body.list
  t.same(upwards, [...sessions.list].reverse())
  const ids = (list: { itemId: string }[]) => list.map(({ itemId }) => itemId)
  for (const sort of ['itemId.keyword:asc', 'itemId'])
    t.same(ids((await call(`${path}?sort=${sort}`)).body.list), ids(sessions.list).sort(), sort)
  t.same((await call(`${path}?offset=1&limit=1`)).body.list, [sessions.list[1]])
  for (const query of ['offset=9999&limit=2', 'limit=0', 'sort=events', 'cursor=x'])
    t.equal((await call(`${path}?${query}`)).status, 400, query)
  for (const id of [randomUUID(), 'x', made.find(({ id }) => id)?.id ?? '']) {
    t.match(await client(t, asOther)(`/cdp/profiles/${id}`), { status: 404 }, 'of another brand or of none')
    t.match(await client(t, asOther)(`/cdp/profiles/${id}/sessions`), { status: 404 })
  }
})

interface Answer {
  status: number
  body: {
    matched_by: string
    insights: Record<string, unknown>
    list: {
      id: string
      state: string
      number: string
      customer: { contact_id: string | null }
      created_at: string
    }[]
    totalSize: number
    nextCursor: string | null
    error: { code: string }
  }
}

t.test('orders and insights are read by any identifier, told by its shape', async (t) => {
  const call = client(t, as)
  const [one] = known.filter(
    ({ store_customer_id, email, phone }) => store_customer_id && email && phone,
  ) as [MadeCustomer]
  const nobody = known.find(({ email, store_customer_id }) => email && !store_customer_id) as MadeCustomer
  for (const table of ['store_order', 'subscription'])
    await sql`update ${sql(table)} set deleted = true where brand_id = ${brand.id} and subject = ${nobody.subject}`
  await addOrders(sql, brand, random, [one], 12)
  const contact = randomUUID()
  const lone = randomUUID()
  await sql`insert into contact ${sql([
    { brand_id: brand.id, id: contact, subject: one.subject, email: one.email },
    { brand_id: brand.id, id: lone, subject: null, email: 'lone@example.com' },
  ])}`
  await refreshBrand(pipeline, brand.id, { asOf: new Date() })
  await refresh()
  const read = async (identifier: string, what: 'orders' | 'insights', query = '') =>
    (await call(`/cdp/customers/${encodeURIComponent(identifier)}/${what}${query}`)) as Answer

  const { insights } = (await read(one.id, 'insights')).body
  const { list } = (await read(one.id, 'orders', '?limit=100')).body
  const [{ n = 0, complete = 0 } = {}] = await sql`
    select count(*)::integer as n, (count(*) filter (where state = 'complete' and currency_code = 'USD'))::integer as complete
    from store_order where brand_id = ${brand.id} and subject = ${one.subject}`
  t.equal(list.length, n, 'orders of all states')
  t.equal(insights.order_count, complete)

  const identifiers: [identifier: string, matched: string][] = [
    [one.id, 'email'],
    [String(one.email), 'email'],
    [` ${one.email?.toUpperCase()}`, 'email'],
    [String(one.phone), 'phone'],
    [String(one.store_customer_id), 'store_customer_id'],
    [contact, 'contact_id'],
    [contact.toUpperCase(), 'contact_id'],
  ]
  for (const [identifier, matched_by] of identifiers) {
    const answer = (await read(identifier, 'insights')).body
    t.same(answer, { identifier, matched_by, scope, insights })
    const orders = (await read(identifier, 'orders', '?limit=100')).body
    t.same(orders.list, list, identifier)
    t.equal(orders.list[0]?.customer.contact_id, contact)
  }

  const zero = {
    ...{
      ltv: '0.00',
      order_count: 0,
      aov: '0.00',
      first_order_at: null,
      last_order_at: null,
      currency_code: null,
    },
    ...{ rfm: null, top_products: [], churn: null },
  }
  for (const identifier of [nobody.id, String(nobody.email)]) {
    t.match((await read(identifier, 'insights')).body, { matched_by: 'none', insights: zero }, 'of nothing')
    t.match((await read(identifier, 'orders')).body, { list: [], totalSize: 0, nextCursor: null })
  }
  for (const [identifier, matched_by] of Object.entries({
    'lone@example.com': 'email',
    [lone]: 'contact_id',
  })) {
    t.same((await read(identifier, 'insights')).body, { identifier, matched_by, scope, insights: zero })
    t.match((await read(identifier, 'orders')).body, { list: [], totalSize: 0 }, 'a contact of no profile')
  }
  for (const identifier of [
    'x',
    'x@example.org',
    '+12015559999',
    '+1',
    '@',
    '99',
    'myshopify:x:1',
    randomUUID(),
    "' or 1=1 --",
  ])
    for (const what of ['orders', 'insights'] as const)
      t.match(
        await read(identifier, what),
        { status: 404, body: { error: { code: 'not_found' } } },
        identifier,
      )
  for (const identifier of [one.id, String(one.email), contact])
    t.equal((await client(t, asOther)(`/cdp/customers/${encodeURIComponent(identifier)}/orders`)).status, 404)

  const ours = (await read(one.id, 'orders', '?limit=5')).body.nextCursor
  const theirs = await client(t, asOther)(`/cdp/customers/x/orders?cursor=${ours}`)
  t.match(theirs, { status: 400 }, 'a cursor of another brand is one that was not issued')
  const pages: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await read(one.id, 'orders', `?limit=5${cursor}`)
    pages.push(...body.list.map(({ id }) => id))
    if (body.nextCursor === null) break
    cursor = `&cursor=${body.nextCursor}`
    await addOrders(sql, brand, random, [one], 2)
    await refresh()
  }
  t.same(
    pages,
    list.map(({ id }) => id),
    'a walk stays in its refresh',
  )
  t.same((await read(one.id, 'orders', '?limit=2&offset=1')).body.list.length, 2)
  for (const query of ['?offset=9999&limit=2', '?limit=0', '?limit=x', '?offset=-1', '?cursor=x', '?sort=id'])
    t.equal((await read(one.id, 'orders', query)).status, 400, query)
})

t.test('of a customer whom nothing tells of yet insights are of nothing', async (t) => {
  const empty = await newBrand(pipeline, { features: FEATURES })
  const [one] = await randomCustomers(sql, empty, random, 1)
  const { body } = await client(t, await key(empty, SCOPES))(`/cdp/customers/${one?.id}/insights`)
  t.match(body.insights, { ltv: '0.00', rfm: null })
})

t.test('the store knows who has a subscription and nothing else', async (t) => {
  const subscribed = await newBrand(pipeline, { features: FEATURES })
  await sql`
    insert into customer (brand_id, subject, id, provenance, email)
    values (${subscribed.id}, 1, 'subscriber', 'server', 'sue@example.com')`
  await sql`insert into identifier (brand_id, kind, value, subject) values (${subscribed.id}, 'email', 'sue@example.com', 1)`
  await sql`
    insert into subscription (brand_id, external_id, id, subject, status)
    values (${subscribed.id}, '1', ${randomUUID()}, 1, 'active')`
  await refresh(subscribed)
  const call = client(t, await key(subscribed, SCOPES))
  for (const identifier of ['subscriber', 'sue@example.com'])
    t.match(await call(`/cdp/customers/${identifier}/insights`), {
      status: 200,
      body: { matched_by: 'email' },
    })
})

t.test('an address that went from one customer to another is the new one’s', async (t) => {
  const moved = await newBrand(pipeline, { features: FEATURES })
  await sql`
    insert into customer (brand_id, subject, id, provenance, email)
    values (${moved.id}, 1, 'before', 'server', 'moved@example.com'), (${moved.id}, 2, 'now', 'server', 'ann@example.com')`
  await sql`
    insert into identifier (brand_id, kind, value, subject)
    values (${moved.id}, 'email', 'ann@example.com', 1), (${moved.id}, 'email', 'moved@example.com', 1)`
  await sql`
    insert into identifier_claim (brand_id, kind, value, subject, source)
    values (${moved.id}, 'email', 'ann@example.com', 2, 'store')`
  await addOrders(sql, moved, random, [{ subject: 2 } as MadeCustomer], 5)
  await refresh(moved)
  const call = client(t, await key(moved, SCOPES))
  const ordered = async (identifier: string) => (await call(`/cdp/customers/${identifier}/orders`)).body.list
  t.equal((await ordered('ann@example.com')).length, 5)
  t.same(await ordered('moved@example.com'), [])
})

t.test('an address that nobody has any more is still that of who had it', async (t) => {
  const left = await newBrand(pipeline, { features: FEATURES })
  await sql`
    insert into customer (brand_id, subject, id, provenance) values (${left.id}, 1, 'first', 'server'), (${left.id}, 2, 'later', 'server')`
  await sql`insert into identifier (brand_id, kind, value, subject) values (${left.id}, 'email', 'ann@example.com', 1)`
  await sql`
    insert into identifier_claim (brand_id, kind, value, subject, source)
    values (${left.id}, 'email', 'ann@example.com', 2, 'store')`
  await addOrders(sql, left, random, [{ subject: 1 } as MadeCustomer], 5)
  await refresh(left)
  const call = client(t, await key(left, SCOPES))
  t.equal((await call('/cdp/customers/ann@example.com/orders')).body.list.length, 5)
})

t.test('before the first refresh insights are computed', async (t) => {
  const first = await newBrand(pipeline, { features: FEATURES })
  await logBatch(sql, [{ brand_id: first.id, origin: 'service', email: 'first@example.com' }])
  await snapshotAll(pipeline)
  const [found] = await sql`select subject from customer where brand_id = ${first.id}`
  await addOrders(sql, first, random, [{ subject: found?.subject } as MadeCustomer], 20)
  await snapshotAll(pipeline)
  const call = client(t, await key(first, SCOPES))
  const read = async () => (await call('/cdp/customers/first@example.com/insights')).body
  const computed = await read()
  t.ok(computed.insights.order_count > 0)
  await refresh(first)
  t.same(computed, await read())
})

t.test('who was merged into somebody newer than the last refresh keeps insights', async (t) => {
  const merging = await newBrand(pipeline, { features: FEATURES })
  const guest = { brand_id: merging.id, origin: 'service', email: 'guest@example.com' } as const
  await logBatch(sql, [guest])
  await snapshotAll(pipeline)
  const [found] = await sql`select subject from customer where brand_id = ${merging.id}`
  await addOrders(sql, merging, random, [{ subject: found?.subject } as MadeCustomer], 20)
  await refresh(merging)
  const call = client(t, await key(merging, SCOPES))
  const read = async () => (await call('/cdp/customers/guest@example.com/insights')).body
  const before = await read()
  t.ok(before.insights.order_count > 0)
  await logBatch(sql, [{ ...guest, store_customer_id: '1' }])
  await snapshotAll(pipeline)
  t.match(await call('/cdp/profiles?q=guest'), { body: { list: [{ provenance: 'server' }] } })
  t.same(await read(), before)
})

t.test('who came since the last refresh is matched by the same as after it', async (t) => {
  const newer = await newBrand(pipeline, { features: FEATURES })
  await logBatch(sql, [{ brand_id: newer.id, origin: 'service', email: 'new@example.com' }])
  await snapshotAll(pipeline)
  const [customer] = await sql`select id from customer where brand_id = ${newer.id}`
  const call = client(t, await key(newer, SCOPES))
  const matched = async () => (await call(`/cdp/customers/${customer?.id}/insights`)).body.matched_by
  t.equal(await matched(), 'email')
  await refresh(newer)
  t.equal(await matched(), 'email')
})

t.test(
  'beside a cursor of orders an offset is ignored, whatever it is, and without one refused',
  async (t) => {
    const call = client(t, as)
    const [one] = known as [MadeCustomer]
    await addOrders(sql, brand, random, [one], 3)
    await refresh()
    const path = `/cdp/customers/${one.id}/orders?limit=1`
    const { nextCursor } = (await call(path)).body
    const next = (await call(`${path}&cursor=${nextCursor}`)).body
    for (const offset of ['abc', '', '-1', '20000']) {
      t.same((await call(`${path}&offset=${offset}&cursor=${nextCursor}`)).body, next, offset)
      t.match(await call(`${path}&offset=${offset}`), {
        status: 400,
        body: { error: { message: /^offset / } },
      })
    }
  },
)

t.test('an id that is missing from the path is 400, after 401 and 403', async (t) => {
  const as = await key(await newBrand(pipeline, { features: FEATURES }), SCOPES)
  const paths = [
    'profiles/',
    'profiles/%20',
    'profiles//sessions',
    'customers//orders',
    'customers//insights',
  ]
  for (const path of paths) {
    const { status, body } = await call(`GET /cdp/${path}`, { as })
    t.match(
      { status, ...body },
      { status: 400, error: { code: 'bad_request', message: /must not be empty/ } },
    )
    t.equal((await call(`GET /cdp/${path}`)).status, 401)
  }
  for (const path of ['profiles//', 'customers//', 'customers///orders', 'profiles//sessions/'])
    t.equal((await call(`GET /cdp/${path}`, { as })).status, 404, path)
})

t.test('orders and insights need the beta and a store', async (t) => {
  const plain = await newBrand(pipeline, { features: ['cdp'] })
  const call = client(t, await key(plain, SCOPES))
  for (const what of ['orders', 'insights'])
    t.match(await call(`/cdp/customers/x/${what}`), {
      status: 403,
      body: { error: { code: 'beta_not_enabled' } },
    })
  const without = client(t, await key(await newBrand(pipeline), SCOPES))
  for (const path of ['/cdp/profiles', '/cdp/profiles/x', '/cdp/profiles/x/sessions'])
    t.match(await without(path), { status: 403, body: { error: { code: 'forbidden' } } })
})
