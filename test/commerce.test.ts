import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { analyze } from './fixtures/analyze.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, lakeOf, tick } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { insertOrders, type KnownOrder, randomOrders } from './fixtures/random-orders.ts'
import { client, walk } from './fixtures/shop.ts'

setLogLevel('error')

const NOW = new Date()
const SCOPES = ['commerce:read']
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'

const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = db.postgres
const made = await api(t, db, OPS, { lake: lakeOf(t, pipeline) })
const random = randomSource(t as unknown as Test)

const brand = await makeBrand(db)
const other = await makeBrand(db)
const shop = await randomOrders(sql, brand, random, { customers: 40, orders: 200, days: 14, now: NOW })
const foreign = await randomOrders(sql, other, random, { customers: 40, orders: 20, days: 20, now: NOW })
await sql`insert into contact (brand_id, id, subject, email) values (${brand.id}, ${UNKNOWN}, 1, 'c1@example.com')`
const refreshed = async (...brands: Brand[]) => {
  await tick(pipeline)
  for (const { id } of brands) await refreshBrand(pipeline, id)
}
await refreshed(brand, other)
const key = await made.key(brand, SCOPES)

/** Newest first, ties by id. */
const inOrder = (orders: readonly KnownOrder[]) =>
  orders
    .filter(({ seen }) => seen)
    .sort((a, b) => b.created_at.getTime() - a.created_at.getTime() || (a.id < b.id ? -1 : 1))
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
const customerOf = ({ customer }: KnownOrder) => shop.customers.find((one) => one.customer === customer)

t.test('orders by every filter, and by several, are those that a naive filter finds', async (t) => {
  const ask = client(t, made, key)
  const own = randomSource(t)
  const filters = {
    created_at_gte: () => new Date(NOW.getTime() - own.below(14 * 24) * 3_600_000).toISOString(),
    created_at_lte: () => own.pick(shop.orders).created_at.toISOString(),
    state: () => own.pick(['complete', 'pending', 'cancelled', 'refunded']),
    billing_status: () => own.pick(['pending', 'paid', 'partially_refunded', 'refunded', 'voided']),
    customer_email: () => own.pick(own.pick(shop.customers).emails) ?? 'nobody@example.com',
    customer_phone: () => own.pick(own.pick(shop.customers).phones) ?? '+12015559999',
    customer_id: () => own.pick(own.pick(shop.customers).ids),
  }
  const naive: Record<keyof typeof filters, (order: KnownOrder, value: string) => boolean> = {
    created_at_gte: ({ created_at }, value) => created_at >= new Date(value),
    created_at_lte: ({ created_at }, value) => created_at <= new Date(value),
    state: ({ state }, value) => state === value,
    billing_status: ({ billing_status }, value) => billing_status === value,
    customer_email: (order, value) => customerOf(order)?.emails.includes(value) ?? false,
    customer_phone: (order, value) => customerOf(order)?.phones.includes(value) ?? false,
    customer_id: (order, value) => customerOf(order)?.ids.includes(value) ?? false,
  }
  const names = Object.keys(filters) as (keyof typeof filters)[]
  const cases = [
    [],
    ...names.flatMap((name) => [[name], [name], [name]]),
    ...own.list(30, 30, () => [...new Set(own.list(2, 3, () => own.pick(names)))]),
  ]
  let found = 0
  for (const chosen of cases) {
    const given = chosen.map((name) => [name, filters[name]()] as const)
    const query = new URLSearchParams([...given, ['limit', String(1 + own.below(100))]] as [string, string][])
    const rows = await walk<{ id: string }>(ask, `GET /v1/commerce/orders?${query}`)
    const expected = inOrder(
      shop.orders.filter((order) => given.every(([name, value]) => naive[name](order, value))),
    )
    t.same(idsOf(rows), idsOf(expected), String(query))
    found += rows.length > 0 && chosen.length > 0 ? 1 : 0
  }
  t.ok(found > 20, 'most filters find something')
})

t.test('an order is found by its id and by the store’s, as it is now', async (t) => {
  const ask = client(t, made, key)
  const listed = new Map<string, object>()
  for (const row of await walk<{ id: string }>(ask, 'GET /v1/commerce/orders?limit=100'))
    listed.set(row.id, row)
  for (const { id, external_id, seen } of shop.orders.slice(0, 60)) {
    const [byId, byExternal] = [
      await ask(`GET /v1/commerce/orders/${id}`),
      await ask(`GET /v1/commerce/orders/${encodeURIComponent(external_id)}`),
    ]
    t.same([byId.status, byExternal.status], seen ? [200, 200] : [404, 404])
    if (!seen) continue
    t.same(byId.body, listed.get(id))
    t.same(byExternal.body, byId.body)
  }
  const [one] = inOrder(shop.orders)
  const global = encodeURIComponent(`gid://shopify/Order/${one?.external_id}`)
  t.match((await ask(`GET /v1/commerce/orders/${global}`)).body, { id: one?.id })
  await sql`update store_order set billing_status = 'voided' where brand_id = ${brand.id} and id = ${one?.id ?? ''}`
  t.match((await ask(`GET /v1/commerce/orders/${one?.id}`)).body, { billing_status: 'voided' })
  const [stale] = (await ask('GET /v1/commerce/orders?limit=1')).body.data
  t.match(stale, { id: one?.id, billing_status: one?.billing_status }, 'the list is as of the last refresh')
})

t.test('an order of another brand is as one that does not exist', async (t) => {
  const ask = client(t, made, key)
  const [theirs] = foreign.orders.filter(({ seen }) => seen)
  const missing = await ask(`GET /v1/commerce/orders/${UNKNOWN}`)
  for (const id of [theirs?.id, theirs?.external_id]) {
    const answer = await ask(`GET /v1/commerce/orders/${encodeURIComponent(id ?? '')}`)
    t.equal(answer.status, 404)
    t.equal(answer.text, missing.text)
  }
  const [stranger] = foreign.customers
  const filtered = await ask(`GET /v1/commerce/orders?customer_id=${encodeURIComponent(stranger?.id ?? '')}`)
  t.same(filtered.body, { data: [], next_cursor: null })
})

t.test('a customer’s contact, email and phone stand beside the order', async (t) => {
  const rows = await walk<{ customer_id: string | null; customer: object }>(
    client(t, made, key),
    'GET /v1/commerce/orders?limit=100',
  )
  const first = rows.find(({ customer_id }) => customer_id === `customer:${brand.id}:1`)
  const known = shop.customers[0]
  t.match(first?.customer, { contact_id: UNKNOWN, email: known?.emails[0] ?? null })
  const nobody = rows.find(({ customer_id }) => customer_id === null)
  t.same(nobody?.customer, { contact_id: null, email: null, phone: null })
})

/** A customer whom the store removed, with whom a profile known by an email had become one, and an order of theirs. */
async function removedCustomer() {
  const left = await makeBrand(db)
  const email = 'ann@example.com'
  await sql`
    insert into customer (brand_id, subject, id, provenance, email, deleted)
    values (${left.id}, 1, 'removed', 'server', null, true), (${left.id}, 2, 'absorbed', 'server', ${email}, false)`
  await sql`insert into identifier (brand_id, kind, value, subject) values (${left.id}, 'email', ${email}, 2)`
  await sql`insert into subject_redirect (brand_id, subject, customer) values (${left.id}, 2, 1)`
  await sql`insert into contact (brand_id, id, subject, email) values (${left.id}, ${v7()}, 1, ${email})`
  const [order] = shop.orders as [KnownOrder]
  await insertOrders(sql, left, [{ order, subject: 2 }])
  await refreshed(left)
  return { key: await made.key(left, SCOPES), order, email }
}

t.test('an order of a customer whom the store removed is of nobody, listed and read alone', async (t) => {
  const { order, ...left } = await removedCustomer()
  const ask = client(t, made, left.key)
  const [listed] = (await ask('GET /v1/commerce/orders')).body.data
  const ofNobody = { customer_id: null, customer: { contact_id: null, email: null, phone: null } }
  t.match(listed, { id: order.id, ...ofNobody })
  t.same((await ask(`GET /v1/commerce/orders/${order.id}`)).body, listed)
})

t.test('whom the store removed no filter finds, by whatever they were named', async (t) => {
  const { email, ...left } = await removedCustomer()
  const ask = client(t, made, left.key)
  for (const filter of [`customer_email=${email}`, 'customer_id=removed', 'customer_id=absorbed'])
    t.same((await ask(`GET /v1/commerce/orders?${filter}`)).body.data, [], filter)
})

t.test('a walk gives each order of its beginning once while refreshes go on', async (t) => {
  const walked = await makeBrand(db)
  const { orders } = await randomOrders(sql, walked, random, { customers: 10, orders: 40, days: 3, now: NOW })
  await refreshed(walked)
  const expected = idsOf(inOrder(orders))
  const ask = client(t, made, await made.key(walked, SCOPES))
  const rows = await walk<{ id: string; state: string }>(ask, 'GET /v1/commerce/orders?limit=7', {
    between: async (page) => {
      if (page > 3) return
      const [moved] = inOrder(orders).slice(10 + page)
      await sql`update store_order set created_at = now(), updated_at = now() where brand_id = ${walked.id} and id = ${moved?.id ?? ''}`
      const fresh: KnownOrder = {
        ...(moved as KnownOrder),
        id: v7(),
        external_id: `later ${page}`,
        created_at: new Date(),
      }
      await insertOrders(sql, walked, [{ order: fresh, subject: 1 }])
      await refreshed(walked)
    },
  })
  t.same(idsOf(rows), expected)
  t.equal((await walk(ask, 'GET /v1/commerce/orders?limit=100')).length, expected.length + 4)
})

t.test(
  'what is of nobody is written without a look at all others, whatever statistics there are',
  async (t) => {
    const rows = 'from generate_series(1, $2::integer) as n'
    const written = {
      store_order: `insert into store_order (brand_id, external_id, id, state, billing_status, currency_code, total, created_at, updated_at)
      select $1, n::text, gen_random_uuid(), 'complete', 'paid', 'USD', 1, now(), now() ${rows}`,
      checkout: `insert into checkout (brand_id, external_id, id, state, currency_code, created_at, updated_at)
      select $1, n::text, gen_random_uuid(), 'open', 'USD', now(), now() ${rows}`,
      fulfillment: `insert into fulfillment (brand_id, external_id, order_external_id, status, tracking_numbers, created_at, updated_at)
      select $1, n::text, n::text, 'success', '{1}', now(), now() ${rows}`,
    }
    for (const known of [null, 0, 20, 1_500]) {
      const own = await database(t)
      const write = async (table: keyof typeof written, count: number, { id }: Brand) =>
        await own.postgres.sql.begin(async (tx) => {
          const readSoFar = async () =>
            (
              await tx`select sum(seq_tup_read + idx_tup_fetch)::integer as rows from pg_stat_xact_user_tables`
            )[0]?.rows
          const before = await readSoFar()
          await tx.unsafe(written[table], [id, count])
          return (await readSoFar()) - before
        })
      const tables = Object.keys(written) as (keyof typeof written)[]
      const another = await makeBrand(own)
      for (const table of tables) await write(table, known ?? 0, another)
      if (known !== null) await analyze(own.postgres.sql)
      const fresh = await makeBrand(own)
      for (const table of tables) {
        const read = await write(table, 3_000, fresh)
        t.ok(read < 100_000, `${table}, ${known ?? 'no'} rows in statistics: ${read} rows read`)
      }
    }
  },
)

t.test('lists end at row 10,000, and a cursor that lies there is refused', async (t) => {
  const large = await makeBrand(db)
  await sql`
    insert into store_order (brand_id, external_id, id, state, billing_status, currency_code, total, created_at, updated_at)
    select ${large.id}, n::text, gen_random_uuid(), 'complete', 'paid', 'USD', 1, now() - n * interval '1 minute', now()
    from generate_series(1, 10030) as n`
  await sql`
    insert into subscription (brand_id, external_id, id, status, started_at)
    select ${large.id}, n::text, gen_random_uuid(), 'active', now() - n * interval '1 minute' from generate_series(1, 10030) as n`
  await refreshed(large)
  const ask = client(t, made, await made.key(large, SCOPES))
  for (const [endpoint, path] of [
    ['list_orders', 'orders'],
    ['list_subscriptions', 'subscriptions'],
  ] as const) {
    const at = (row: number) =>
      made.cursors.seal(
        { endpoint, brand: large.id },
        { generation: 1, row, after: { value: '2999-01-01 00:00:00', id: '' } },
      )
    const page = async (row: number) => {
      const { status, body } = await ask(`GET /v1/commerce/${path}?limit=100&cursor=${at(row)}`)
      return [status, body.data?.length, body.next_cursor === null]
    }
    t.same(await page(9_899), [200, 100, false], path)
    t.same(await page(9_900), [200, 100, true], 'the page that ends at row 10,000 is the last')
    t.same(await page(9_990), [200, 10, true], 'the page that reaches beyond is shortened')
    for (const row of [10_000, 10_001]) {
      const { status, body } = await ask(`GET /v1/commerce/${path}?cursor=${at(row)}`)
      t.match([status, body.error], [400, { code: 'bad_request', message: /10,000/ }])
    }
  }
  t.equal((await walk(ask, 'GET /v1/commerce/orders?limit=100')).length, 10_000)
})

/** A customer of 40 orders with lines of 60 KB, but for one with 2 MB. */
async function largeOrders() {
  const large = await makeBrand(db, { features: ['cdp', 'beta:cdp-commerce'] })
  await sql`insert into customer (brand_id, subject, id, provenance, email)
    values (${large.id}, 1, 'large', 'server', 'large@example.com')`
  await sql`
    insert into store_order (brand_id, subject, external_id, id, state, billing_status, currency_code, total, created_at, updated_at, lines)
    select ${large.id}, 1, n::text, gen_random_uuid(), 'complete', 'paid', 'USD', 1, now() - n * interval '1 hour', now(), (
      select jsonb_agg(jsonb_build_object('id', line::text, 'title', repeat('x', 600), 'quantity', 1, 'price', '1.00'))
      from generate_series(1, case n when 20 then 3000 else 80 end) as line)
    from generate_series(1, 40) as n`
  await refreshed(large)
  const as = await made.key(large, [...SCOPES, 'customers:read'])
  return { as, ask: client(t, made, as) }
}

t.test('pages of large orders end early, and walks go on behind them', async (t) => {
  const { ask } = await largeOrders()
  for (const list of ['/v1/commerce/orders?limit=100', '/v1/customers/large/orders?limit=200']) {
    const sizes: number[] = []
    const found: { external_id: string }[] = []
    for (let cursor = ''; ; ) {
      const { body } = await ask(`GET ${list}${cursor}`)
      sizes.push(JSON.stringify(body.data).length)
      found.push(...body.data)
      if (body.next_cursor === null) break
      cursor = `&cursor=${body.next_cursor}`
    }
    t.ok(sizes.length > 3, `${sizes.length} pages of ${list}`)
    t.equal(sizes.filter((size) => size > 1 << 20).length, 1, 'that of the order which alone is larger')
    t.same(
      found.map(({ external_id }) => Number(external_id)),
      Array.from({ length: 40 }, (_, n) => n + 1),
    )
  }
})

t.test('the orders of a customer on the customer-data host are read without lines', async (t) => {
  const { as } = await largeOrders()
  const statements: string[] = []
  const served = lakeOf(t, pipeline)
  const spied = await api(t, db, OPS, {
    lake: (brand) => {
      const found = served(brand)
      return {
        ...found,
        served: async (...asked) => {
          const published = await found.served(...asked)
          return (
            published && {
              ...published,
              rows: (statement, values) => {
                statements.push(statement)
                return published.rows(statement, values)
              },
            }
          )
        },
      }
    },
  })
  const { body } = await spied.call('GET /cdp/customers/large/orders?limit=100', { as })
  t.equal(body.list.length, 40)
  t.notMatch(statements.join(), /lines/)
})

/** Some with a start, of which several are at one instant, and some without. */
async function subscribe(to: Brand, own: ReturnType<typeof randomSource>, count: number) {
  const rows = Array.from({ length: count }, (_, at) => ({
    brand_id: to.id,
    external_id: v7(),
    id: v7(),
    status: own.pick(['active', 'paused', 'cancelled']),
    interval_unit: at % 4 ? 'month' : null,
    interval_count: at % 4 ? 3 : null,
    price: at % 5 ? '24.00' : null,
    currency_code: 'USD',
    started_at: own.chance(0.3) ? null : new Date(NOW.getTime() - 3_600_000 * own.below(12)),
  }))
  await sql`insert into subscription ${sql(rows)}`
  const time = ({ started_at }: (typeof rows)[number]) => started_at?.getTime() ?? Number.NEGATIVE_INFINITY
  return rows.sort((a, b) => (time(a) === time(b) ? (a.id < b.id ? -1 : 1) : time(b) - time(a)))
}

t.test('subscriptions come by their start, those without one last', async (t) => {
  const subscribed = await makeBrand(db)
  const expected = await subscribe(subscribed, randomSource(t), 60)
  await refreshed(subscribed)
  const ask = client(t, made, await made.key(subscribed, SCOPES))
  for (const limit of [1, 7, 100]) {
    const found = await walk<{ id: string }>(ask, `GET /v1/commerce/subscriptions?limit=${limit}`)
    t.same(idsOf(found), idsOf(expected))
  }
  const [first] = (await ask('GET /v1/commerce/subscriptions?limit=1')).body.data
  t.match(first, { id: expected[0]?.id, customer_id: null, currency_code: 'USD' })
})

t.test('a walk gives each subscription of its beginning once while refreshes go on', async (t) => {
  const own = randomSource(t)
  const walked = await makeBrand(db)
  const expected = idsOf(await subscribe(walked, own, 40))
  await refreshed(walked)
  const ask = client(t, made, await made.key(walked, SCOPES))
  const rows = await walk<{ id: string }>(ask, 'GET /v1/commerce/subscriptions?limit=6', {
    between: async (page) => {
      if (page > 3) return
      // One that came goes to the end, one that is still to come to the beginning, another goes away; five are new.
      const [came, next, gone] = [expected[page], expected[30 + page], expected[20 + page]] as string[]
      await sql`update subscription set started_at = null where brand_id = ${walked.id} and id = ${came ?? ''}`
      await sql`update subscription set started_at = now() where brand_id = ${walked.id} and id = ${next ?? ''}`
      await sql`update subscription set deleted = true where brand_id = ${walked.id} and id = ${gone ?? ''}`
      await subscribe(walked, own, 5)
      await refreshed(walked)
    },
  })
  t.same(idsOf(rows), expected)
  const now = idsOf(await walk<{ id: string }>(ask, 'GET /v1/commerce/subscriptions?limit=100'))
  t.equal(now.length, expected.length + 4 * (5 - 1))
  t.not(now[0], expected[0], 'the refreshes changed what a new walk gives')
})

t.test(
  'an order lies in the range of the time that is shown of it, and a date is its midnight',
  async (t) => {
    const own = await makeBrand(db)
    await randomOrders(sql, own, randomSource(t), { customers: 3, orders: 9, days: 9, now: NOW })
    await sql`
    update store_order set created_at = date_trunc('milliseconds', created_at) + interval '456 microseconds'
    where brand_id = ${own.id}`
    await refreshed(own)
    const ask = client(t, made, await made.key(own, SCOPES))
    const idsIn = async (query: string) => idsOf((await ask(`GET /v1/commerce/orders?${query}`)).body.data)
    const orders: { id: string; created_at: string }[] = (await ask('GET /v1/commerce/orders')).body.data
    t.not(orders.length, 0)
    for (const { id, created_at: at } of orders) {
      t.ok((await idsIn(`created_at_gte=${at}&created_at_lte=${at}`)).includes(id))
      const before = new Date(Date.parse(at) - 1).toISOString()
      t.notOk((await idsIn(`created_at_lte=${before}`)).includes(id))
    }
    const [day] = (orders[4]?.created_at ?? '').split('T') as [string]
    for (const filter of ['created_at_gte', 'created_at_lte']) {
      const same = await idsIn(`${filter}=${day}T00:00:00.000Z`)
      for (const written of [day, `${day}T00:00`, `${day}T02:00:00%2B02:00`, `${day}T02:00:00%2B0200`])
        t.same(await idsIn(`${filter}=${written}`), same, written)
    }
  },
)

t.test('wrong filters, limits and cursors are refused by name', async (t) => {
  const ask = client(t, made, key)
  const refused: Record<string, RegExp> = {
    'limit=101': /^limit must be at most 100/,
    'limit=0': /^limit must be at least 1/,
    'offset=5': /offset/,
    'state=paid': /^state must be one of complete/,
    'billing_status=done': /^billing_status must be one of/,
    'customer_email=nobody': /^customer_email must be an email address/,
    'customer_phone=abc': /^customer_phone must be a phone number/,
    'created_at_gte=yesterday': /^created_at_gte must be an ISO 8601 time/,
    'created_at_gte=2026-02-30': /^created_at_gte must be an ISO 8601 time/,
    'created_at_lte=2026-02-28Z': /^created_at_lte must be an ISO 8601 time/,
    'created_at_lte=2026-02-28T24:00': /^created_at_lte must be an ISO 8601 time/,
    'cursor=abc': /^cursor was not issued/,
  }
  for (const [query, message] of Object.entries(refused)) {
    const { status, body } = await ask(`GET /v1/commerce/orders?${query}`)
    t.match([status, body.error], [400, { code: 'bad_request', message }], query)
  }
  const { next_cursor } = (await ask('GET /v1/commerce/orders?limit=1')).body
  const moved = await ask(`GET /v1/commerce/orders?state=complete&cursor=${next_cursor}`)
  t.equal(moved.status, 400, 'a cursor of other filters')
  const theirs = client(t, made, await made.key(other, SCOPES))
  t.equal((await theirs(`GET /v1/commerce/orders?cursor=${next_cursor}`)).status, 400, 'of another brand')
  t.equal((await ask('GET /v1/commerce/orders?customer_phone=2015551003')).status, 200, 'a national number')
})

t.test('before the first refresh the lists are empty, and tools answer as routes do', async (t) => {
  const fresh = await makeBrand(db)
  const as = await made.key(fresh, SCOPES)
  const empty = { data: [], next_cursor: null }
  t.same((await client(t, made, as)('GET /v1/commerce/orders')).body, empty)
  t.same((await client(t, made, as)('GET /v1/commerce/subscriptions')).body, empty)
  const [one] = inOrder(shop.orders)
  const tool = async (name: string, values: object) =>
    (await made.tool(name, values, { as: key })).body.result.structuredContent
  t.same(
    await tool('list_orders', { state: 'complete', limit: 3 }),
    (await made.call('GET /v1/commerce/orders?state=complete&limit=3', { as: key })).body,
  )
  t.match(await tool('get_order', { order_id: one?.external_id }), { id: one?.id })
  t.same(await tool('list_subscriptions', {}), empty)
})
