import t from 'tap'
import { type JsonSchema, outputSchema } from '../src/http/json-schema.ts'
import type { Session } from '../src/lake/session.ts'
import { setLogLevel } from '../src/log.ts'
import { READ } from '../src/model/published-columns.ts'
import { OPS } from '../src/ops/all.ts'
import { ORDER_COLUMNS, SUBSCRIPTION_COLUMNS } from '../src/ops/commerce-fields.ts'
import { NUMBERS, type Numbers } from '../src/ops/numbers.ts'
import { STATS_NUMBERS } from '../src/ops/stats-numbers.ts'
import { openReading } from '../src/segment/reading.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, lakeOf, logBatch, tick } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { randomCustomers } from './fixtures/random-customers.ts'
import { randomOrders } from './fixtures/random-orders.ts'

setLogLevel('error')

const db = await database(t)
const pipeline = await lake(t, db)
const { call, signIn } = await api(t, db, OPS, { lake: lakeOf(t, pipeline) })
const random = randomSource(t)
const brand = await makeBrand(db, { features: ['cdp', 'beta:cdp-commerce'], builtIns: true })
await randomOrders(db.postgres.sql, brand, random, { customers: 40, orders: 200, days: 400, now: new Date() })
await db.postgres.sql`update brand set next_subject = 1000 where id = ${brand.id}`
await randomCustomers(db.postgres.sql, brand, random, 60)
await db.postgres.sql`
  insert into subscription (brand_id, external_id, id, subject, status, price, currency_code, started_at,
    updated_at, interval_unit, interval_count)
  select ${brand.id}, n::text, gen_random_uuid(), n, 'active', n / 4.0, 'USD', now() - n / 3 * interval '1 day',
    now(), case when n % 5 > 0 then 'month' end, nullif(n % 4, 0)
  from generate_series(1, 40) as n`
// Of the last 60 days and before: conversations with a message each, most with an order in one of two currencies.
await db.postgres.sql`
  insert into conversation (brand_id, id, channel, opted_out_at, created_at)
  select ${brand.id}, md5('c' || n)::uuid, 'sms', case when n % 7 = 0 then now() end, now() - n * interval '19 hours'
  from generate_series(1, 90) as n`
await db.postgres.sql`
  insert into message (brand_id, id, conversation_id, idempotency_key, direction, author, channel, body, status,
    created_at, sent_at, delivered_at)
  select brand_id, gen_random_uuid(), id, id, 'outbound', 'campaign', 'sms', '', 'sent', created_at, created_at,
    case when id::text < 'c' then created_at end
  from conversation where brand_id = ${brand.id}`
await db.postgres.sql`
  insert into attribution (brand_id, order_id, conversation_id, touch, touch_at, ordered_at, amount, currency_code)
  select brand_id, gen_random_uuid(), id, 'message', created_at, created_at, 19.99,
    case when id::text < '2' then 'EUR' else 'USD' end
  from conversation where brand_id = ${brand.id} and id::text < 'e'`
await db.postgres.sql`
  insert into product (brand_id, id, title, status, variants, images, updated_at)
  select ${brand.id}, 'p' || n, 'Product ' || n, 'active',
    jsonb_build_array(
      jsonb_build_object('id', 'a' || n, 'price', (n * 1.115)::text), jsonb_build_object('id', 'b' || n),
      jsonb_build_object('price', '9.99')
    ), '[]', now()
  from generate_series(1, 30) as n`
const emails = await db.postgres.sql<{ email: string }[]>`
  select value as email from identifier where brand_id = ${brand.id} and kind = 'email' order by subject limit 20`
// Visits, some of two pages.
const visits = Array.from({ length: 120 }, (_, n) => ({
  ...{ brand_id: brand.id, email: emails[n % emails.length]?.email, occurred_at: Date.now() - n * 1_000_000 },
  properties: { session_id: `s${n % 50}`, url: `https://shop.example/${n}` },
}))
await logBatch(db.postgres.sql, visits)
await tick(pipeline)
// What the first one learned of customers comes with the next.
await tick(pipeline)
const asOf = new Date()
await refreshBrand(pipeline, brand.id, { asOf })
const as = signIn(brand)
const session = await openReading(pipeline, brand, asOf)
t.teardown(() => session.close())

type Row = Record<string, unknown>

/** What stands at a place of an answer, `[]` being all of a list. */
function rowsAt(body: unknown, at: string): Row[] {
  const steps = at === '' ? [] : at.replaceAll('[]', '').split('.')
  return steps.reduce<Row[]>((rows, step) => rows.flatMap((row) => (row[step] ?? []) as Row[]), [body as Row])
}

const shown = (value: unknown) => (value instanceof Date ? value.toISOString().slice(0, 10) : value)

const [customer] = await session.duck.rows<{ customer_id: string }>(
  `select customer_id from customers semi join stg_sessions using (customer) semi join subscriptions using (customer)
   where orders_count > 2 order by customer limit 1`,
)
const [order] = await session.duck.rows<{ id: string }>(
  'select id from orders order by refunded_total desc limit 1',
)
const [segment] = await db.postgres.sql<{ id: string }[]>`
  select id from segment where brand_id = ${brand.id} and name = 'High Value'`
const VALUES: Readonly<Record<string, string>> = {
  customer_id: customer?.customer_id ?? '',
  order_id: order?.id ?? '',
  segment_id: segment?.id ?? '',
}

/** `operation field` of each column that was compared. */
const compared = new Set<string>()

const withValues = (sql: string, values: Readonly<Record<string, string>>) =>
  sql.replaceAll(/\$(\w+)/g, (_, name) => `'${values[name]}'`)

/** What a brand's statement has, and what the operation answers of the same columns. */
async function bothOf(
  { operation, query, item, at, sql }: Numbers,
  as: ReturnType<typeof signIn>,
  { duck }: Session,
  values = VALUES,
) {
  const { route = '' } = OPS.find(({ name }) => name === operation) ?? {}
  const noun = [...sql.matchAll(/\$(\w+)/g)].map(([, name = '']) => name)
  const path = route.replace(/\{\w+\}/, item ?? encodeURIComponent(values[noun[0] ?? ''] ?? ''))
  const asked = route.startsWith('POST') ? { as, body: {} } : { as }
  const { status, body } = await call(query ? `${path}?${query}` : path, asked)
  const wanted = (await duck.rows<Row>(withValues(sql, values))).map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, shown(value)])),
  )
  const columns = Object.keys(wanted[0] ?? {})
  const answered = rowsAt(body, at).map((row) =>
    Object.fromEntries(columns.map((name) => [name, row[name] ?? null])),
  )
  return { status, wanted, columns, answered }
}

for (const numbers of NUMBERS) {
  const { operation, item, at } = numbers
  t.test(`${operation} ${item ?? at}`, async (t) => {
    const { status, wanted, columns, answered } = await bothOf(numbers, as, session)
    t.equal(status, 200)
    t.ok(wanted.length > 0, 'the statement has rows')
    t.same(answered, wanted)
    for (const column of columns) compared.add(`${operation} ${[at, column].filter(Boolean).join('.')}`)
  })
}

t.test('numbers and rows of commerce are read of columns that refreshes look for', async (t) => {
  const marts = Object.entries(READ).map(
    ([name, columns]) => `${name} as (select ${Object.keys(columns).join(', ')} from main.${name})`,
  )
  const columns = [
    { operation: 'orders', sql: `select ${ORDER_COLUMNS} from orders` },
    { operation: 'subscriptions', sql: `select ${SUBSCRIPTION_COLUMNS} from subscriptions` },
  ]
  for (const { operation, sql } of [...NUMBERS, ...columns]) {
    const text = withValues(sql, VALUES).replace(/^with\b/, ',')
    await t.resolves(session.duck.rows(`with ${marts.join(', ')} ${text}`), operation)
  }
})

t.test('statements of statistics say zero where nothing happened', async (t) => {
  const quiet = await makeBrand(db)
  const session = await openReading(pipeline, quiet, asOf)
  t.teardown(() => session.close())
  for (const numbers of STATS_NUMBERS) {
    const { wanted, answered } = await bothOf(numbers, signIn(quiet), session)
    t.ok(wanted.length > 0, 'the statement has rows')
    t.same(answered, wanted)
  }
})

t.test('where nobody ordered on two days neither statement nor answer says who is at risk', async (t) => {
  const young = await makeBrand(db, { features: ['cdp', 'beta:cdp-commerce'] })
  const once = { customers: 1, orders: 1, days: 1, now: new Date() }
  const { orders } = await randomOrders(db.postgres.sql, young, random, once)
  await db.postgres.sql`
    update store_order set subject = 1, state = 'complete', currency_code = 'USD', test = false, deleted = false
    where brand_id = ${young.id}`
  await tick(pipeline)
  const asOf = new Date()
  await refreshBrand(pipeline, young.id, { asOf })
  const session = await openReading(pipeline, young, asOf)
  t.teardown(() => session.close())
  const values = { customer_id: `customer:${young.id}:1` }
  const of = NUMBERS.filter(({ operation }) => operation === 'get_cdp_customer_insights')
  const [spent, churn] = await Promise.all(
    ['insights', 'insights.churn'].map((at) =>
      bothOf(of.find((each) => each.at === at) as Numbers, signIn(young), session, values),
    ),
  )
  t.match(spent?.wanted, [{ order_count: orders.length }])
  t.same([churn?.wanted, churn?.answered], [[], []])
})

t.test(
  'products of equal revenue and customers that a search finds stand in the order of statements',
  async (t) => {
    const wide = await makeBrand(db, { features: ['cdp', 'beta:cdp-commerce'] })
    const { sql } = db.postgres
    const names = ['😀', '～']
    for (const [at, name] of names.entries())
      await sql`
      insert into customer (brand_id, subject, id, provenance, email, store_customer_id)
      values (${wide.id}, ${1 + at}, ${name}, 'server', ${`${at}@example.com`}, ${name})`
    const lines = names.map((name) => ({ product_id: name, quantity: 1, price: '5.00', total: '5.00' }))
    await sql`
    insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, lines,
      created_at, updated_at)
    values (${wide.id}, '1', gen_random_uuid(), 1, 'complete', 'paid', 'USD', 10, ${sql.json(lines)},
      now() - interval '1 day', now())`
    await tick(pipeline)
    const asOf = new Date()
    await refreshBrand(pipeline, wide.id, { asOf })
    const session = await openReading(pipeline, wide, asOf)
    t.teardown(() => session.close())
    for (const place of ['insights.top_products', 'data']) {
      const numbers = NUMBERS.find(
        ({ operation, at }) => at === place && /search_customers|customer_insights/.test(operation),
      ) as Numbers
      const { wanted, answered } = await bothOf(numbers, signIn(wide), session, { customer_id: '😀' })
      t.equal(wanted.length, 2)
      t.same(answered, wanted, place)
    }
  },
)

t.test('statements of totals end at 10,000, as what is answered does', async (t) => {
  const busy = await makeBrand(db, { features: ['cdp', 'beta:cdp-commerce'] })
  const visit = { brand_id: busy.id, email: 'busy@example.com' }
  const visits = Array.from({ length: 10_001 }, (_, n) => ({ ...visit, properties: { session_id: `s${n}` } }))
  await logBatch(db.postgres.sql, visits)
  await tick(pipeline)
  await db.postgres.sql`
    insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
    select ${busy.id}, n::text, gen_random_uuid(), subject, 'complete', 'paid', 'USD', 1, now(), now()
    from identifier, generate_series(1, 10001) as n
    where brand_id = ${busy.id}`
  await tick(pipeline)
  const asOf = new Date()
  await refreshBrand(pipeline, busy.id, { asOf })
  const session = await openReading(pipeline, busy, asOf)
  t.teardown(() => session.close())
  const [customer] = await session.duck.rows<{ customer_id: string }>('select customer_id from customers')
  const values = { customer_id: customer?.customer_id ?? '' }
  for (const operation of ['list_cdp_sessions', 'list_cdp_customer_orders']) {
    const totals = NUMBERS.find((each) => each.operation === operation && each.at === '')
    const { wanted, answered } = await bothOf(totals as Numbers, signIn(busy), session, values)
    t.same(answered, [{ totalSize: 10_000 }], operation)
    t.same(wanted, answered, operation)
  }
})

/** Operations that answer what models say: customers, commerce, insights, segments and the customer-data host. */
const OF_MODELS =
  /^(GET (\/v1\/(customers|commerce|insights|segments)|\/cdp\/)|POST \/(cdp\/query|v1\/segments\/(estimate|preview)))/

/** Numbers that no model says: what was asked, and what counts the versions of a record. */
const NOT_SAID = /(^|\.)(offset|pageSize|version|schema_version|generation)$/

/** Said by the statement of the segment's own rule, which get_segment_sql shows, or elsewhere. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'list_segments data[].audience.member_count': 'get_segment, one by one',
  'estimate_segment count': 'the SQL of the rule',
  'preview_segment entering': 'the SQL of the rule and segment_members',
  'preview_segment leaving': 'the SQL of the rule and segment_members',
  'preview_segment staying': 'the SQL of the rule and segment_members',
  'explain_segment conditions[].actual': 'what the condition of the rule compares',
}

const MONEY = '^-?\\d+\\.\\d{2}$'

/** Where numbers and amounts of money stand in an answer, in the way of `at`. */
function numbersIn(schema: JsonSchema, at = ''): string[] {
  const options = (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []) as JsonSchema[]
  const types = [schema.type ?? []].flat()
  const isNumber = types.includes('number') || types.includes('integer') || schema.pattern === MONEY
  return [
    ...(isNumber ? [at] : []),
    ...options.flatMap((option) => numbersIn(option, at)),
    ...(schema.items ? numbersIn(schema.items as JsonSchema, `${at}[]`) : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
      numbersIn(field, at ? `${at}.${name}` : name),
    ),
  ]
}

t.test('no operation over models answers a number that has no statement', async (t) => {
  // Whether a list of rows is meant or all of its rows, `at` says the same.
  const plain = (field: string) => field.replaceAll('[]', '')
  const shown = new Set([...compared, ...Object.keys(ELSEWHERE)].map(plain))
  const fields = OPS.filter(({ route }) => OF_MODELS.test(route ?? '')).flatMap(({ name, output }) =>
    numbersIn(outputSchema(output))
      .filter((at) => !NOT_SAID.test(at))
      .map((at) => `${name} ${at}`),
  )
  t.ok(fields.length > 60, 'numbers are found in the shapes of answers')
  t.same(
    [...new Set(fields)].filter((field) => !shown.has(plain(field))),
    [],
  )
})
