import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { createLimits } from '../src/access/limits.ts'
import { setLogLevel } from '../src/log.ts'
import { OPS } from '../src/ops/all.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, lakeOf, tick } from './fixtures/lake.ts'
import { BUCKETS, counted, money, naiveAtRisk, naiveValue, netOf, sumOf } from './fixtures/naive-insights.ts'
import { randomSource } from './fixtures/random.ts'
import { insertOrders, type KnownOrder, randomOrders } from './fixtures/random-orders.ts'
import { client, walk } from './fixtures/shop.ts'

setLogLevel('error')

const NOW = new Date()
const DAY_MS = 86_400_000
const FEATURES = ['cdp', 'beta:cdp-commerce']
const SCOPES = ['customers:read', 'commerce:read']
const INSIGHTS = ['lifetime-value', 'rfm-tiers', 'top-products', 'at-risk', 'cohorts']

const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = db.postgres
const lakes = lakeOf(t, pipeline)
const made = await api(t, db, OPS, { lake: lakes })
const random = randomSource(t as unknown as Test)

const brand = await makeBrand(db, { features: FEATURES })
const shop = await randomOrders(sql, brand, random, {
  customers: 60,
  orders: 260,
  days: 400,
  now: NOW,
})
const empty = await makeBrand(db, { features: FEATURES })
const large = await makeBrand(db, { features: FEATURES })
await sql`
  insert into customer (brand_id, subject, id, provenance)
  select ${large.id}, n, 'customer:' || n, 'server' from generate_series(1, 10040) as n`
// One who orders every ten days says how often the brand's customers do; all others ordered once.
await sql`
  insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
  select ${large.id}, n::text, gen_random_uuid(), least(n, 10040), 'complete', 'paid', 'USD', 1 + n % 50,
    now() - case when n > 10040 then interval '10 days' else (20 + n % 200) * interval '1 day' end, now()
  from generate_series(1, 10041) as n`
await tick(pipeline)
for (const { id } of [brand, empty, large]) await refreshBrand(pipeline, id, { asOf: NOW })
const key = await made.key(brand, SCOPES)

const INSTANTS = [null, new Date(NOW.getTime() - 90 * DAY_MS), new Date(NOW.getTime() - 250 * DAY_MS)]
const query = (asOf: Date | null, more = '') => `?${asOf ? `as_of=${asOf.toISOString()}&` : ''}${more}`

t.test('lifetime value is what a naive sum over the orders comes to, now and at past instants', async (t) => {
  const ask = client(t, made, key)
  for (const at of INSTANTS) {
    const { body } = await ask(`GET /v1/insights/lifetime-value${query(at)}`)
    const { as_of, other_currencies, ...value } = body
    t.same(value, naiveValue(shop, at ?? NOW))
    t.equal(
      sumOf(value.distribution.map((bucket: { customer_count: number }) => bucket.customer_count)),
      value.customer_count,
    )
    if (at) t.equal(as_of, at.toISOString())
    const euros = counted(shop, at ?? NOW, 'EUR')
    t.match(other_currencies, [
      { currency_code: 'EUR', total_revenue: money(sumOf(euros.map(netOf))), order_count: euros.length },
    ])
    const { scope, ...cdp } = (await ask(`GET /cdp/insights/ltv${query(at)}`)).body
    t.equal(scope, brand.shop_domain)
    t.same(cdp, value, 'the customer-data host says the same')
  }
})

t.test('insights of a customer are those of the orders until the instant asked for', async (t) => {
  const ask = client(t, made, key)
  for (const at of INSTANTS) {
    const atRisk = naiveAtRisk(shop, at ?? NOW)
    const orders = counted(shop, at ?? NOW)
    for (const { customer, ids } of [...shop.customers].slice(0, 12)) {
      const [id = ''] = ids
      const theirs = orders.filter((order) => order.customer === customer)
      const { status, body } = await ask(`GET /cdp/customers/${encodeURIComponent(id)}/insights${query(at)}`)
      t.equal(status, 200)
      const { churn, rfm, top_products, ...spent } = body.insights
      t.match(spent, { ltv: money(sumOf(theirs.map(netOf))), order_count: theirs.length })
      t.equal(churn?.at_risk ?? false, atRisk.includes(id))
      t.equal(rfm === null, theirs.length === 0)
      t.equal(top_products.length > 0, theirs.length > 0)
    }
  }
})

t.test('tiers, cohorts and products agree with lifetime value', async (t) => {
  const ask = client(t, made, key)
  for (const at of INSTANTS) {
    const { total_revenue, customer_count } = naiveValue(shop, at ?? NOW)
    const tiers = (await ask(`GET /v1/insights/rfm-tiers${query(at)}`)).body
    t.match(tiers, { customer_count, currency_code: 'USD' })
    t.equal(tiers.tiers.length, 11)
    const cents = (rows: { revenue?: string; total_revenue?: string }[]) =>
      money(
        sumOf(rows.map(({ revenue, total_revenue }) => Math.round(Number(revenue ?? total_revenue) * 100))),
      )
    t.equal(cents(tiers.tiers), total_revenue)

    const cohorts = (await ask(`GET /v1/insights/cohorts${query(at)}`)).body.data
    t.equal(sumOf(cohorts.map((cohort: { customer_count: number }) => cohort.customer_count)), customer_count)
    t.equal(cents(cohorts.flatMap(({ months }: { months: { revenue: string }[] }) => months)), total_revenue)
    for (const { customer_count: size, months } of cohorts)
      t.match(months[0], { month_number: 0, active_customers: size, retention: 1 })

    const products = (await ask(`GET /v1/insights/top-products${query(at, 'limit=100')}`)).body.data
    const sold = counted(shop, at ?? NOW).filter((order) => order.seen)
    t.equal(
      cents(products),
      money(sumOf(sold.map(({ cents: total }) => total))),
      'lines have the totals of their orders',
    )
    const revenues = products.map(({ revenue }: { revenue: string }) => Number(revenue))
    t.same(
      revenues,
      revenues.toSorted((a: number, b: number) => b - a),
    )
    const top = (await ask(`GET /v1/insights/top-products${query(at, 'limit=2')}`)).body
    t.same(top, { data: products.slice(0, 2), next_cursor: null })
  }
})

t.test('customers at risk are those that a naive look at their order days finds, in order', async (t) => {
  const ask = client(t, made, key)
  for (const at of INSTANTS) {
    const expected = naiveAtRisk(shop, at ?? NOW)
    t.ok(expected.length > 5)
    const rows = await walk<{ customer_id: string; at_risk_score: number }>(
      ask,
      `GET /v1/insights/at-risk${query(at, 'limit=9')}`,
    )
    t.same(
      rows.map(({ customer_id }) => customer_id),
      expected,
    )
    t.ok(rows.every(({ at_risk_score }) => at_risk_score > 2 && at_risk_score <= 9.99))
  }
})

t.test('a walk over customers at risk gives those of its beginning once while refreshes go on', async (t) => {
  const moving = await makeBrand(db, { features: FEATURES })
  const store = await randomOrders(sql, moving, random, { customers: 20, orders: 60, days: 300, now: NOW })
  await tick(pipeline)
  await refreshBrand(pipeline, moving.id)
  const ask = client(t, made, await made.key(moving, SCOPES))
  const expected = await walk(ask, 'GET /v1/insights/at-risk?limit=100')
  const rows = await walk<object>(ask, 'GET /v1/insights/at-risk?limit=3', {
    between: async (page) => {
      if (page > 1) return
      const [order] = store.orders as [KnownOrder]
      const subjects = [1, 2, 3].map((subject) => 1 + page * 3 + subject)
      await insertOrders(
        sql,
        moving,
        subjects.map((subject) => ({
          order: {
            ...order,
            id: v7(),
            external_id: `new ${subject}`,
            state: 'complete',
            created_at: new Date(),
          },
          subject,
        })),
      )
      await tick(pipeline)
      await refreshBrand(pipeline, moving.id)
    },
  })
  t.same(rows, expected)
  t.ok((await walk(ask, 'GET /v1/insights/at-risk?limit=100')).length < expected.length)
})

t.test('customers at risk end at row 10,000', async (t) => {
  const ask = client(t, made, await made.key(large, SCOPES))
  const at = (row: number) =>
    made.cursors.seal(
      { endpoint: 'list_at_risk_customers', brand: large.id },
      { generation: 1, row, after: [10, '0.00', ''] },
    )
  const page = async (row: number) => {
    const { status, body } = await ask(`GET /v1/insights/at-risk?limit=100&cursor=${at(row)}`)
    return [status, body.data?.length, body.next_cursor === null]
  }
  t.same(await page(9_899), [200, 100, false])
  t.same(await page(9_900), [200, 100, true])
  t.same(await page(9_990), [200, 10, true])
  for (const row of [10_000, 12_345])
    t.same((await ask(`GET /v1/insights/at-risk?cursor=${at(row)}`)).status, 400)
})

t.test('without data, before any data and before the first refresh all is zero', async (t) => {
  const unrefreshed = await makeBrand(db, { features: FEATURES })
  const before = '?as_of=2001-01-01T00:00:00Z'
  for (const [one, asOf] of [
    [empty, ''],
    [empty, before],
    [unrefreshed, ''],
    [brand, before],
  ] as const) {
    const ask = client(t, made, await made.key(one, SCOPES))
    const answers = await Promise.all(INSIGHTS.map((path) => ask(`GET /v1/insights/${path}${asOf}`)))
    t.same(
      answers.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    )
    const [value, tiers, ...lists] = answers.map(({ body }) => body)
    t.match(value, {
      total_revenue: '0.00',
      customer_count: 0,
      average_ltv: '0.00',
      currency_code: null,
      other_currencies: [],
    })
    t.same(
      value.distribution,
      BUCKETS.map(([label, min, max]) => ({ label, min, max, customer_count: 0 })),
    )
    t.match(tiers, { customer_count: 0, currency_code: null })
    t.equal(tiers.tiers.length, 11)
    t.ok(tiers.tiers.every((tier: object) => 'customer_count' in tier && tier.customer_count === 0))
    for (const list of lists) t.same(list, { data: [], next_cursor: null })
    const cdp = (await ask('GET /cdp/insights/ltv')).body
    if (one !== brand) t.match(cdp, { total_revenue: '0.00', customer_count: 0, currency_code: null })
    t.equal(cdp.distribution.length, 5)
  }
})

t.test('amounts carry the currency that they were counted in until they are counted anew', async (t) => {
  const moved = await makeBrand(db, { features: FEATURES })
  await sql`insert into customer (brand_id, subject, id, provenance) values (${moved.id}, 1, ${`c:${moved.id}`}, 'server')`
  const placed = {
    currency_code: 'USD',
    cents: 500,
    refundedCents: 0,
    state: 'complete',
    billing_status: 'paid',
  } as const
  const order = { ...placed, customer: 1, seen: true }
  const ago = (days: number) => new Date(NOW.getTime() - days * DAY_MS)
  await insertOrders(
    sql,
    moved,
    [ago(90), ago(80)].map((created_at, n) => ({
      order: { ...order, id: v7(), external_id: `${n}:${moved.id}`, created_at },
      subject: 1,
    })),
  )
  await tick(pipeline)
  await refreshBrand(pipeline, moved.id)
  await sql`update brand set currency_code = 'EUR' where id = ${moved.id}`
  const ask = client(t, made, await made.key(moved, SCOPES))
  const currencies = async () => {
    const bodies = []
    for (const path of INSIGHTS) bodies.push((await ask(`GET /v1/insights/${path}`)).body)
    return bodies.map(({ currency_code, data }) => currency_code ?? data?.[0]?.currency_code ?? null)
  }
  t.same(
    await currencies(),
    INSIGHTS.map(() => 'USD'),
    'one who is late among them',
  )
  await refreshBrand(pipeline, moved.id)
  t.same(
    await currencies(),
    INSIGHTS.map(() => null),
    'nothing was sold in euros',
  )
})

t.test('as_of lies in the past, and a cursor is of its as_of', async (t) => {
  const ask = client(t, made, key)
  const ahead = new Date(Date.now() + 60_000).toISOString()
  for (const path of INSIGHTS) {
    const { status, body } = await ask(`GET /v1/insights/${path}?as_of=${ahead}`)
    t.match([status, body.error], [400, { code: 'bad_request', message: 'as_of must be in the past' }], path)
  }
  for (const path of [
    'insights/ltv',
    `customers/${encodeURIComponent(shop.customers[0]?.ids[0] ?? '')}/insights`,
  ])
    t.equal((await ask(`GET /cdp/${path}?as_of=${ahead}`)).status, 400, path)
  t.equal(
    (await ask(`GET /cdp/customers/unknown/insights?as_of=${ahead}`)).status,
    400,
    'before who is not there',
  )
  const [day, midnight] = ['2026-01-01', '2026-01-01T00:00:00.000Z']
  t.equal((await ask(`GET /v1/insights/lifetime-value?as_of=${day}`)).body.as_of, midnight, 'a date')
  const { next_cursor } = (await ask('GET /v1/insights/at-risk?limit=1')).body
  const other = await ask(`GET /v1/insights/at-risk?cursor=${next_cursor}&as_of=2026-01-01T00:00:00Z`)
  t.equal(other.status, 400)
  t.match(
    (await ask('GET /v1/insights/top-products?limit=101')).body.error.message,
    /^limit must be at most 100/,
  )
})

t.test('each insight takes ten requests a second of a credential, routes and tools together', async (t) => {
  const limits = createLimits(db.postgres.pipeline)
  t.teardown(() => limits.close())
  const limited = await api(t, db, OPS, {
    lake: lakes,
    limit: (op, { caller }) => limits.call(op, caller.id),
  })
  const [as, another] = [await limited.key(brand, SCOPES), await limited.key(brand, SCOPES)]
  const tools = [
    'get_lifetime_value',
    'get_rfm_tiers',
    'get_top_products',
    'list_at_risk_customers',
    'get_cohorts',
  ]
  for (const [at, path] of INSIGHTS.entries()) {
    const route = () => limited.call(`GET /v1/insights/${path}?limit=0`, { as })
    const tool = () => limited.tool(tools[at] ?? '', { limit: 0 }, { as })
    // As many of each as are admitted at once, which takes less than the second in which as many more are.
    const calls = await Promise.all(Array.from({ length: 10 }, () => [route(), tool()]).flat())
    const refused = calls.filter(({ text }) => text.includes('rate_limited'))
    t.ok(refused.length >= 1 && refused.length <= 10, `${path}: ${refused.length} of 20`)
    t.match(calls.find(({ status }) => status === 429)?.headers['retry-after'] ?? '1', /^1$/)
    t.not((await limited.call(`GET /v1/insights/${path}?limit=0`, { as: another })).status, 429)
  }
})

t.test(
  'the customer-data host computes ten insights of the past a second for a brand, whoever asks for which',
  async (t) => {
    const limits = createLimits(db.postgres.pipeline)
    t.teardown(() => limits.close())
    const limited = await api(t, db, OPS, { lake: lakes, limitShared: limits.shared })
    const keys = [await limited.key(brand, SCOPES), await limited.key(brand, SCOPES)]
    const paths = [
      'cdp/insights/ltv',
      `cdp/customers/${encodeURIComponent(shop.customers[0]?.ids[0] ?? '')}/insights`,
    ]
    const refused = async (more: string) => {
      const calls = await Promise.all(
        keys.flatMap((as) =>
          paths.flatMap((path) => [1, 2, 3, 4, 5].map(() => limited.call(`GET /${path}${more}`, { as }))),
        ),
      )
      return calls.filter(({ status }) => status === 429).length
    }
    t.equal(await refused(''), 0)
    const many = await refused(query(new Date(Date.now() + 60_000)))
    t.ok(many >= 1 && many <= 10, `${many} of 20`)
  },
)

t.test('tools answer as routes do', async (t) => {
  const tool = async (name: string, values: object) =>
    (await made.tool(name, values, { as: key })).body.result.structuredContent
  const route = async (path: string) => (await made.call(`GET /v1/insights/${path}`, { as: key })).body
  t.same(await tool('get_lifetime_value', {}), await route('lifetime-value'))
  t.same(await tool('get_rfm_tiers', {}), await route('rfm-tiers'))
  t.same(await tool('get_top_products', { limit: 3 }), await route('top-products?limit=3'))
  t.same((await tool('list_at_risk_customers', { limit: 3 })).data, (await route('at-risk?limit=3')).data)
  t.same(await tool('get_cohorts', {}), await route('cohorts'))
})

t.test(
  'who was merged since the models were made is still at risk as they say, without channels',
  async (t) => {
    const apart = await makeBrand(db, { features: FEATURES })
    await sql`
    insert into customer (brand_id, subject, id, provenance, email)
    select ${apart.id}, n, 'customer:' || n, 'server', n || '@example.com' from generate_series(1, 3) as n`
    await sql`
    insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
    select ${apart.id}, n || '-' || d, gen_random_uuid(), n, 'complete', 'paid', 'USD', 10 * n,
      now() - (100 + 10 * d) * interval '1 day', now()
    from generate_series(1, 3) as n, generate_series(1, 3) as d`
    await tick(pipeline)
    const large = { smallRows: 0, mostTouched: 9 }
    await refreshBrand(pipeline, apart.id, large)
    const ask = client(t, made, await made.key(apart, SCOPES))
    const before = (await ask('GET /v1/insights/at-risk')).body.data
    await sql`insert into subject_redirect (brand_id, subject, customer) values (${apart.id}, 2, 1)`
    await tick(pipeline)
    await refreshBrand(pipeline, apart.id, { parts: ['segments'], ...large })
    const { body } = await ask('GET /v1/insights/at-risk')
    t.same(
      body.data,
      before.map((row: { customer_id: string }) =>
        row.customer_id === 'customer:2' ? { ...row, email: null, phone: null } : row,
      ),
    )
  },
)
