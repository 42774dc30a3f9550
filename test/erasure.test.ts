import { constants } from 'node:buffer'
import { createHash } from 'node:crypto'
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { erase } from '../jobs/erase.ts'
import type { App } from '../src/app.ts'
import type { Values } from '../src/cli/command.ts'
import { customerCommands } from '../src/cli/customer.ts'
import type { Progress } from '../src/cli/progress.ts'
import { readConfig } from '../src/config.ts'
import { eraseRejects, OPENED_TABLES } from '../src/connect/erase/bodies.ts'
import { type Certificate, digestOf } from '../src/connect/erase/certificate.ts'
import { cutIdentity } from '../src/connect/erase/cut.ts'
import { eraseDue, eraseLate } from '../src/connect/erase/due.ts'
import { KEPT_TABLES, NOT_EXPORTED_TABLES } from '../src/connect/erase/inventory.ts'
import { previewErasure, whomsOf } from '../src/connect/erase/preview.ts'
import { ERASED_TABLES } from '../src/connect/erase/tables.ts'
import { requestErasure, type Whom } from '../src/identity/erasure-request.ts'
import { noIdentifiers, peopleWith } from '../src/identity/people.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { compactStaging } from '../src/lake/compact-staging.ts'
import { REMOVAL_PAUSED, sweepAfterErasure } from '../src/lake/erase-disk.ts'
import { eraseNotedLines } from '../src/lake/erase-log.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { writeParquet } from '../src/lake/stage.ts'
import { withWorkspace } from '../src/lake/workspace.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Statements } from '../src/op.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import connect from '../src/store/driver.ts'
import type { Duck } from '../src/store/duckdb.ts'
import { STAGING_FOLDER } from '../src/store/lake.ts'
import { statement } from '../src/store/sqlfile.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { type Canary, canaryOf, fillWithCanary } from './fixtures/canary.ts'
import { runCommand } from './fixtures/command.ts'
import { controlled } from './fixtures/control.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { lake, logBatch, sourceRows } from './fixtures/lake.ts'
import { memberChanges } from './fixtures/published.ts'
import { rowsRead } from './fixtures/rows-read.ts'
import { everythingStored, placesOf } from './fixtures/search.ts'

setLogLevel('error')
const AT_ONCE = { patience: { readersMs: 0, writersMs: 0 } }

const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = pipeline.postgres
const brand = await newBrand(pipeline)
const neighbour = await newBrand(pipeline)
const canary = canaryOf('1aaa', '+12025550177')
const publicId = `myshopify:${brand.shop_domain.split('.')[0]}:${canary.storeId}`
/** Of the neighbour's customer, who is in the same batches and shared files. */
const other = canaryOf('2bbb', '+12025550188')
await fillWithCanary(t, pipeline, neighbour, other, { compacted: false })
const filled = await fillWithCanary(t, pipeline, brand, canary)

const ask = (whom: Whom, of: Brand = brand) =>
  pipeline.postgres.forBrand(of.id).tx((tx) => requestErasure(tx, whom, 'a test'))
const found = async (of: Canary = canary) =>
  placesOf(await everythingStored(pipeline, [filled.rejects]), of.texts, [publicId])

/** A hash of what the lake shows of everybody but some subjects, by relation. */
async function othersOf(of: Brand, subjects: readonly number[]): Promise<Record<string, string>> {
  const shown: Record<string, string> = {}
  const not = subjects.length ? `where subject is null or subject not in (${subjects.join(', ')})` : ''
  for (const relation of [
    'events',
    'customers_source',
    'orders_source',
    'checkouts',
    'subscriptions_source',
  ]) {
    const rows = await sourceRows(
      pipeline,
      of,
      `select * exclude (tick) from ${relation} ${not} order by all`,
    )
    // Those of nobody are more afterwards.
    const named = relation === 'events' ? rows : rows.filter(({ subject }) => subject !== null)
    shown[relation] = createHash('sha256').update(JSON.stringify(named)).digest('hex')
  }
  return shown
}

const subjectsOf = async () =>
  (
    await sql<{ subject: number }[]>`
      select distinct coalesce(redirect.customer, customer.subject) as subject from customer
      left join subject_redirect as redirect using (brand_id, subject)
      where brand_id = ${brand.id} and store_customer_id = ${canary.storeId}
      union select subject from subject_redirect where brand_id = ${brand.id}`
  ).map(({ subject }) => subject)

/** A command of `recoup customer`, without a terminal. */
function customer<Result>(
  name: string,
  positionals: string[],
  values: Values = {},
  update?: Progress['update'],
): Promise<Result> {
  const app = { config: readConfig({}), postgres: pipeline.postgres, pipeline } as App
  const given = { brand: brand.id, ...values }
  return runCommand(app, customerCommands, `customer ${name}`, given, positionals, update)
}

t.test('recoup customer export prints all that is stored of a customer, and of nobody else', async (t) => {
  const printed = JSON.stringify(await customer('export', [canary.email]))
  const missing = canary.texts.filter((text) => !printed.includes(text))
  t.same(
    missing.map((text) => text.replace(/^canary|1aaa$/g, '')),
    ['letter', 'delivery', 'waiting', 'dead', 'rejected', 'repeat', 'trigger'],
    'what is not read, not read yet, or read once more is of nobody',
  )
  t.notOk(other.texts.some((text) => printed.includes(text)))
  await t.rejects(customer('export', ['typo@example.com']), { message: /^Nobody of / })
})

t.test('recoup customer export prints amounts as decimal strings', async (t) => {
  const data = await customer<Record<string, Record<string, unknown>[]>>('export', [canary.email])
  const amount = /^\d+\.\d\d$/
  const order = { total: amount, subtotal: amount, discount_total: amount, refunded_total: amount }
  t.match(data, {
    orders: [order, order],
    checkouts: [{ total: amount }],
    subscriptions: [{ price: null }],
  })
  const models = new Map(data.models?.map(({ model, rows }) => [model, rows]))
  t.match(models.get('customers'), [{ total_spend: amount, average_order_value: amount }])
  const orders = (models.get('orders') ?? []) as { lines: object[] }[]
  t.equal(orders.length, 2)
  for (const { lines, ...totals } of orders) {
    t.match(totals, { total: amount, net_total: amount })
    for (const line of lines) t.match(line, { price: amount })
  }
})

t.test('recoup customer export knows who only an address names', async (t) => {
  await sql`insert into contact (brand_id, id, email) values (${neighbour.id}, ${v7()}, 'letters@example.com')`
  const printed = await customer('export', ['letters@example.com'], { brand: neighbour.id })
  t.match(printed, { contacts: [{ email: 'letters@example.com' }], events: [] })
})

t.test('recoup customer export knows what the event of a moment ago says', async (t) => {
  const [storeId, email] = ['88123', 'moment@example.com']
  await logBatch(sql, [{ brand_id: neighbour.id, email }])
  await snapshotAll(pipeline)
  await logBatch(sql, [{ brand_id: neighbour.id, email, store_customer_id: storeId }])
  const printed = await customer<{ identifiers: { value: string }[] }>('export', [storeId], {
    brand: neighbour.id,
  })
  t.same(printed.identifiers.map(({ value }) => value).sort(), [storeId, email])
})

interface Told {
  memberships: { name: string; joined_at: string }[]
  membership_history: { name: string; action: string; reason: string; changed_at: string }[]
  models: { model: string; rows: Record<string, unknown>[] }[]
}

t.test('an export has the segments of a customer, with when and why it entered and left them', async (t) => {
  const printed = await customer<Told>('export', [canary.email])
  t.match(printed.memberships, [{ name: 'Buyers', joined_at: String }])
  t.match(printed.membership_history, [
    { name: 'Buyers', action: 'entered', reason: 'segment_created', changed_at: String },
  ])
})

t.test('an export has what each published model says of a customer', async (t) => {
  const { models } = await customer<Told>('export', [canary.email])
  t.same(
    models.map(({ model }) => model),
    [...['cadence', 'churn', 'customer_products', 'customers', 'ltv', 'orders', 'rfm', 'subscriptions']],
  )
  const row = (name: string) => models.find(({ model }) => model === name)?.rows[0]
  t.match(row('rfm'), { tier: String })
  t.match(row('customers'), { customer_id: publicId, email: canary.email, orders_count: 2 })
  t.notOk('position' in (row('customers') ?? {}), 'nor how the files find it')
})

t.test('an export has the merges that made profiles one customer', async (t) => {
  const printed = await customer('export', [canary.email])
  t.match(printed, { merges: [{ evidence: { kind: 'anonymous_id' }, undone_at: null }] })
})

t.test('an export has the orders that messages brought, and topics of messages', async (t) => {
  const topic = v7()
  await sql`
    insert into conversation_insight (brand_id, id, topic, keywords)
    values (${neighbour.id}, ${topic}, 'Late parcels', ${['parcel']})`
  await sql`
    insert into insight_message (brand_id, insight_id, message_id, conversation_id, at, day)
    select brand_id, ${topic}, id, conversation_id, now(), now()::date from message
    where brand_id = ${neighbour.id} and direction = 'inbound'`
  for (const order of ['o1', 'x1'])
    await sql`
      insert into attribution (brand_id, order_id, conversation_id, touch, touch_at, ordered_at, amount, currency_code)
      select placed.brand_id, placed.id, conversation.id, 'message', now(), now(), 20, 'USD'
      from store_order as placed
      left join conversation on conversation.brand_id = placed.brand_id
      where placed.brand_id = ${neighbour.id} and external_id = ${order}`
  const printed = await customer('export', [other.email], { brand: neighbour.id })
  t.hasStrict(printed, {
    attributions: [{ amount: '20.00' }, { amount: '20.00' }],
    message_topics: [{ topic: 'Late parcels' }],
  })
  const bought = await customer<{ attributions: unknown[] }>('export', ['other1@example.com'], {
    brand: neighbour.id,
  })
  t.equal(bought.attributions.length, 1, 'of whoever ordered, too')
})

t.test('of a brand that was never refreshed an export has no results, and all else', async (t) => {
  const fresh = await newBrand(pipeline)
  await logBatch(sql, [{ brand_id: fresh.id, email: 'early@example.com', event_type: 'page_viewed' }])
  const printed = await customer('export', ['early@example.com'], { brand: fresh.id })
  t.match(printed, { events: [{ event_type: 'page_viewed' }] })
  t.hasStrict(printed, { memberships: [], membership_history: [], models: [] })
})

t.test('an export does not pass for whole while results are computed anew', async (t) => {
  const [gone, email] = [await newBrand(pipeline), 'early@example.com']
  await logBatch(sql, [{ brand_id: gone.id, email }])
  await snapshotAll(pipeline)
  await sql`update lake_brand set generation = 3 where brand_id = ${gone.id}`
  await t.rejects(customer('export', [email], { brand: gone.id }), { code: 'unavailable' })
})

t.test('every table is erased from, opened, or holds nobody', async (t) => {
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by relname`
  const known = new Set([...ERASED_TABLES, ...OPENED_TABLES, ...Object.keys(KEPT_TABLES)])
  t.same(
    tables.map(({ name }) => name).filter((name) => !known.has(name)),
    [],
    'say what an erasure does with it in src/connect/erase',
  )
  t.same(
    [...known].filter((name) => !tables.some((table) => table.name === name)),
    [],
  )
})

/** Columns by which a row leads to a customer, or names one. */
const LEADS_TO_CUSTOMER =
  /^((from_|to_)?subjects?|customer(_ids?)?|contact_id|conversation_id|message_id|order_id|run_id|email|phone)$/

t.test('every table is in the export, left out of it for a reason, or leads to no customer', async (t) => {
  const columns = await sql<{ table: string; name: string }[]>`
    select relname as table, attname as name from pg_attribute join pg_class on pg_class.oid = attrelid
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and attnum > 0 and not attisdropped order by relname`
  const exported = new Set(
    [...statement('postgres', 'data_of_person').matchAll(/\b(?:from|join) (\w+)/g)].map(([, name]) => name),
  )
  const leads = new Set(
    columns
      .filter(({ table, name }) => !(table in KEPT_TABLES) || LEADS_TO_CUSTOMER.test(name))
      .map(({ table }) => table),
  )
  const unsaid = [...leads].filter((name) => !exported.has(name) && !(name in NOT_EXPORTED_TABLES))
  t.same(unsaid, [], 'add it to sql/postgres/erasure/data_of_person.sql or to NOT_EXPORTED_TABLES')
  const needless = Object.keys(NOT_EXPORTED_TABLES).filter((name) => exported.has(name) || !leads.has(name))
  t.same(needless, [])
})

/** Columns of erased tables that say nothing of anybody: ids, kinds, states, amounts, and times of the brand. */
const NAMELESS =
  /_id$|^id$|^kind$|^state$|^status$|status$|^provenance$|^source$|currency_code|interval_unit|^title$|^lines$|^items$|_consent$|^channel$|^event_type$|^reason$|^tracking_company$|^topic$|outcome$|^direction$|^author$|^step$|^branch$|^trigger_event$|_key$|^code$|^timezone$|_kind$/

t.test('every column that could tell of a customer tells of the canary before', async (t) => {
  const columns = await sql<{ table: string; name: string; type: string }[]>`
    select attrelid::regclass::text as table, attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = any (${ERASED_TABLES}::text[]::regclass[]) and attnum > 0 and not attisdropped
      and format_type(atttypid, null) in ('text', 'text[]', 'json', 'jsonb', 'bytea')`
  const silent: string[] = []
  for (const { table, name, type } of columns) {
    const rows = await sql<{ text: string }[]>`
      select ${type === 'bytea' ? sql`encode(${sql(name)}, 'escape')` : sql`${sql(name)}::text`} as text from ${sql(table)} where brand_id = ${brand.id} and ${sql(name)} is not null`
    const text = rows
      .map((row) => row.text)
      .join(' ')
      .toLowerCase()
    if (!canary.texts.some((one) => text.includes(one.toLowerCase()))) silent.push(`${table}.${name}`)
  }
  t.same(
    silent.filter((column) => !NAMELESS.test(column.split('.')[1] ?? '')),
    [],
  )
})

t.test('every text of the canary is stored somewhere before', async (t) => {
  const held = new Set(Object.values(await found()).flat())
  t.same(
    canary.texts.filter((text) => !held.has(text)),
    [],
  )
})

t.test('an erased customer is nowhere, and everybody else as before', async (t) => {
  const theirs = await subjectsOf()
  const before = [await othersOf(brand, theirs), await othersOf(neighbour, [])]
  const spent = await sourceRows(
    pipeline,
    brand,
    'select sum(total)::varchar as total, count(*)::integer as orders from orders_source',
  )
  const folder = join(pipeline.lakeDir, 'brands', brand.id)
  writeFileSync(join(folder, 'events-of-killed-work.parquet'), canary.email)
  writeFileSync(join(pipeline.lakeDir, 'staging', 'unfinished.parquet.tmp'), canary.email)

  // Those that are nobody's are counted as well: what was said stays as figures.
  const talks = () =>
    sourceRows(
      pipeline,
      brand,
      `select 'conversation' as what, subject from conversations union all select 'message', subject from messages order by all`,
    )
  const [whose] = await talks()
  t.ok(theirs.includes(whose?.subject as number), 'conversations are the customer’s')
  const said = { what: 'message', subject: whose?.subject }
  t.same(await talks(), [whose, said, said])

  const { erasureId } = await ask({ email: ` ${canary.email.toUpperCase()} ` })
  t.same(await ask({ email: canary.email }), { erasureId }, 'the same request')
  t.equal(await eraseDue(pipeline, AT_ONCE), brand.id)
  t.equal(await eraseDue(pipeline, AT_ONCE), false, 'nothing waits')

  t.same(await found(), {})
  t.same(await talks(), [
    { what: 'conversation', subject: null },
    { what: 'message', subject: null },
    { what: 'message', subject: null },
  ])
  t.same([await othersOf(brand, theirs), await othersOf(neighbour, [])], before)
  t.not(Object.keys(await found(other)).length, 0, 'the neighbour keeps its customer')
  t.same(
    await sourceRows(
      pipeline,
      brand,
      'select sum(total)::varchar as total, count(*)::integer as orders from orders_source',
    ),
    spent,
    'orders stay as amounts',
  )

  const listed = await sql<{ path: string }[]>`select path from lake_file where retired_at is null`
  const known = new Set(listed.map(({ path }) => path))
  for (const name of [join('brands', brand.id), 'staging']) {
    const files = readdirSync(join(pipeline.lakeDir, name), { withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    t.same(
      files.map((entry) => join(name, entry.name)).filter((path) => !known.has(path)),
      [],
      'only listed files',
    )
  }
  const [row] = await sql<{ state: string; certificate: Certificate; whom: unknown; identifiers: unknown }[]>`
    select state, certificate, whom, identifiers from erasure where id = ${erasureId}`
  t.match(row, { state: 'done', whom: null, identifiers: null })
  t.match(row?.certificate, {
    requested_by: 'a test',
    removed: {
      postgres: { customer: 2, store_order: 2, checkout: 1, subscription: 1, contact: 1, custom_event: 1 },
      lake: { orders: Number, events: Number },
      event_log: { events: Number },
      imports: { rejected_rows: 1 },
    },
  })
  t.ok(row?.certificate.customer_ids.includes(publicId))
  t.equal(row?.certificate.sha256, digestOf(row?.certificate ?? {}))
  t.not(row?.certificate.sha256, digestOf({ ...row?.certificate, requested_by: 'another' }))
  t.match(
    (await memberChanges(pipeline, brand.id)).filter(({ customer }) => theirs.includes(customer)),
    [{ action: 'entered' }, { action: 'exited', reason: 'erased' }],
    'the history keeps its ordinal',
  )
})

t.test('data from before stays out, wherever it comes from', async (t) => {
  const old = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-02T00:00:00Z' }
  const line = { total: '5.00', lines: [] }
  await filled.put('orders', 'orders-again', [
    {
      external_id: 'o1',
      store_customer_id: canary.storeId,
      email: canary.email,
      number: canary.texts[9],
      ...line,
      ...old,
    },
    {
      external_id: 'o7',
      store_customer_id: canary.storeId,
      ...line,
      ...old,
      discount_codes: [canary.texts[10]],
    },
    { external_id: 'o8', email: canary.email, phone: canary.phone, ...line, ...old },
  ])
  await filled.put('customers', 'customers-again', [
    { external_id: canary.storeId, email: canary.email, first_name: canary.texts[0] },
    { external_id: canary.storeId, email: canary.email, first_name: canary.texts[0], ...old },
  ])
  await filled.put('checkouts', 'checkouts-again', [
    { external_id: 'c8', email: canary.email, url: `https://shop/${canary.texts[11]}`, ...old },
  ])
  await filled.put('events', 'events-again', [
    {
      event_type: 'page_viewed',
      occurred_at: '2026-01-01T00:00:00Z',
      email: canary.email,
      properties: { note: canary.texts[6] },
    },
  ])
  const long = Date.now() - 3_600_000 * 48
  const event = { brand_id: brand.id, occurred_at: long, properties: { note: canary.texts[6] } }
  await logBatch(sql, [
    { ...event, email: canary.email },
    { ...event, store_customer_id: canary.storeId },
    { ...event, anonymous_id: canary.texts[3] },
    { ...event, email: 'other1@example.com', anonymous_id: 'v', properties: { note: 'stays' } },
  ])
  await snapshotAll(pipeline)
  await eraseLate(pipeline, AT_ONCE.patience)
  await compactStaging(pipeline)
  await compactBrand(pipeline, brand.id, true)
  await refreshBrand(pipeline, brand.id)
  t.same(await found(), {})
  t.equal((await sourceRows(pipeline, brand, `from events where properties ->> 'note' = 'stays'`)).length, 1)
  t.equal(
    (
      await sourceRows(
        pipeline,
        brand,
        `from orders_source where external_id in ('o7', 'o8') and subject is null`,
      )
    ).length,
    2,
  )
})

t.test('a file that names nobody brings nothing back, and is not new again', async (t) => {
  const line = { total: '5.00', lines: [], created_at: '2026-01-01T00:00:00Z' }
  const files = {
    orders: [{ ...line, external_id: 'o8', number: canary.texts[9], discount_codes: [canary.texts[10]] }],
    checkouts: [{ ...line, external_id: 'c8', url: `https://shop/${canary.texts[11]}` }],
  }
  for (const kind of ['orders', 'checkouts'] as const)
    await filled.put(kind, `${kind}-of-nobody`, files[kind])
  t.same(await found(), {})
  const before = await sql`select xid from store_order where brand_id = ${brand.id} and external_id = 'o8'`
  await filled.put('orders', 'orders-of-nobody-again', [...files.orders, { ...line, external_id: 'o10' }])
  t.same(await sql`select xid from store_order where brand_id = ${brand.id} and external_id = 'o8'`, before)
})

t.test('one who comes back is somebody new', async (t) => {
  await logBatch(sql, [
    { brand_id: brand.id, occurred_at: Date.now(), store_customer_id: canary.storeId, email: canary.email },
  ])
  await snapshotAll(pipeline)
  const rows = await sql`
    select id, email, erased_at is null as living from customer where brand_id = ${brand.id} and id = ${publicId} order by subject`
  t.match(
    [...rows],
    [
      { email: null, living: false },
      { email: canary.email, living: true },
    ],
  )
  const order = {
    store_customer_id: canary.storeId,
    total: '5.00',
    lines: [],
    created_at: new Date(Date.now()).toISOString(),
  }
  await filled.put('orders', 'orders-new', [{ ...order, external_id: 'o9', email: canary.email }])
  t.match(await sql`select email from store_order where brand_id = ${brand.id} and external_id = 'o9'`, [
    { email: canary.email },
  ])
})

t.test('recoup customer erase prints the certificate, and erasures lists it', async (t) => {
  await t.rejects(customer('erase', [canary.storeId]), { message: /--yes is needed/ })
  const certificate = await customer<Certificate>('erase', [canary.storeId], { yes: true })
  t.match(certificate, {
    requested_by: 'cli',
    customer_ids: [publicId],
    removed: { postgres: { customer: 1 }, lake: { events: 1 }, event_log: { events: 1 } },
  })
  t.equal(certificate.sha256, digestOf(certificate))
  t.same(await found(), {})
  const { data } = await customer<{ data: { state: string; certificate: Certificate }[] }>('erasures', [])
  t.same(
    data.map(({ state }) => state),
    ['done', 'done'],
  )
  t.same(data[0]?.certificate, certificate)
  t.same(await customer('erase', [canary.storeId]), certificate, 'again: the same, without a question')

  for (const typo of ['typo@example.com', '4711', v7()])
    await t.rejects(customer('erase', [typo], { yes: true }), { message: /^Nobody of .* nothing was erased/ })
  const asked = await customer<{ data: [] }>('erasures', [])
  t.equal(asked.data.length, 2, 'neither makes a request')
  const unknown = await customer<Certificate>('erase', ['typo@example.com'], { yes: true, unknown: true })
  t.match(unknown, { customer_ids: [], removed: { postgres: undefined } })
  await sql`insert into contact (brand_id, id, email) values (${brand.id}, ${v7()}, 'reached@example.com')`
  const contact = await customer('erase', ['reached@example.com'], { yes: true })
  t.match(contact, { customer_ids: [], removed: { postgres: { contact: 1 } } }, 'a contact is somebody')
})

/** A brand of Germany that a number which nobody bought with wrote STOP to. */
async function texted(phone: string) {
  const its = await newBrand(pipeline, { default_phone_region: 'DE' })
  await sql`insert into contact (brand_id, id, phone, sms_consent) values (${its.id}, ${v7()}, ${phone}, 'unsubscribed')`
  return its
}

t.test('recoup customer export and erase know a number in the writing of its country', async (t) => {
  for (const written of [
    '0160 99999999',
    '016099999999',
    '(0160) 99999999',
    '00491609999 9999',
    '0160/99999999',
  ]) {
    const its = await texted('+4916099999999')
    t.match(await customer('export', [written], { brand: its.id }), {
      contacts: [{ phone: '+4916099999999' }],
    })
    const certificate = await customer('erase', [written], { brand: its.id, yes: true, unknown: true })
    t.match(certificate, { removed: { postgres: { contact: 1 } } }, written)
    t.same(await sql`select from contact where brand_id = ${its.id}`, [], written)
    t.same(await customer('erase', ['+4916099999999'], { brand: its.id }), certificate)
    t.same(await customer('erase', [written], { brand: its.id }), certificate)
  }
})

t.test('recoup customer erase refuses what may be a store id and a number', async (t) => {
  const its = await texted('+4916099999999')
  const erase = (identifier: string, values: Values = {}) =>
    customer('erase', [identifier], { brand: its.id, yes: true, ...values })
  const ambiguous = { message: /may be the store id 0\d+ or the phone number \+49\d+\. Write/ }
  await t.rejects(erase('016011111111', { unknown: true }), ambiguous, 'nobody has either')
  await sql`insert into customer (brand_id, subject, id, provenance, store_customer_id)
    values (${its.id}, 1, 'by figures', 'server', '016099999999')`
  await sql`insert into identifier (brand_id, kind, value, subject)
    values (${its.id}, 'store_customer_id', '016099999999', 1)`
  await t.rejects(erase('016099999999'), ambiguous, 'two people have them')
  t.match(await sql`select from erasure where brand_id = ${its.id}`, [])
  t.match(await erase('gid://shopify/Customer/016099999999'), { customer_ids: ['by figures'] })
  await t.rejects(erase('016099999999'), ambiguous, 'one of them was erased')
  t.match(await erase('+4916099999999'), { customer_ids: [], removed: { postgres: { contact: 1 } } })
})

t.test('recoup customer erase sees who only an event of just now names by figures', async (t) => {
  const its = await texted('+4916099999999')
  const event = { brand_id: its.id, event_id: 'by figures', store_customer_id: '016099999999' }
  await logBatch(sql, [event])
  await t.rejects(customer('erase', ['016099999999'], { brand: its.id, yes: true }), {
    message: /may be the store id 0\d+ or the phone number \+49\d+\. Write/,
  })
})

t.test('brands take turns: one of many requests lets others in between', async (t) => {
  const waiting = async (of: Brand, email: string, asked: string) => {
    const { erasureId } = await ask({ email }, of)
    await sql`update erasure set requested_at = ${asked}, tried_at = null where id = ${erasureId}`
  }
  await waiting(brand, 'first@example.com', '2026-01-01T00:00:00Z')
  t.equal(await eraseDue(pipeline, AT_ONCE), brand.id)
  await waiting(brand, 'second@example.com', '2026-01-01T00:00:00Z')
  await waiting(neighbour, 'third@example.com', '2026-01-02T00:00:00Z')
  const turns = [await eraseDue(pipeline, AT_ONCE), await eraseDue(pipeline, AT_ONCE)]
  t.same(turns, [neighbour.id, brand.id])
})

/** A contact that only an address names. */
async function newContact(email: string): Promise<string> {
  const id = v7()
  await sql`insert into contact (brand_id, id, email) values (${brand.id}, ${id}, ${email})`
  return id
}

t.test('recoup customer erase of a contact that was erased prints the certificate of then', async (t) => {
  const id = await newContact('contact-erased@example.com')
  const certificate = await customer<Certificate>('erase', [id], { yes: true })
  t.match(certificate, { removed: { postgres: { contact: 1 } } })
  t.same(await customer('erase', [id]), certificate)
  t.same(await customer('erase', [id.toUpperCase()]), certificate)
  t.same(await customer('erase', ['contact-erased@example.com']), certificate)
  t.same(await placesOf(await everythingStored(pipeline), [id]), {})
})

t.test('recoup customer erase of a contact that is being erased waits for that', async (t) => {
  const id = await newContact('contact-cut@example.com')
  const { erasureId } = await ask({ email: 'contact-cut@example.com' })
  await cutIdentity(pipeline, { brand_id: brand.id, id: erasureId })
  await sql`update erasure set tried_at = null where id = ${erasureId}`
  t.match(await customer('erase', [id], { yes: true }), { erasure_id: erasureId })
})

t.test(
  'recoup customer erase waits for a backup that copies files, also when it is called again',
  async (t) => {
    const email = 'copied@example.com'
    await logBatch(sql, [{ brand_id: brand.id, email }])
    await pipeline.postgres.pipeline.run('backup_pause_removal', [5])
    let waiting = 0
    t.capture(process.stderr, 'write', () => ++waiting > 0)
    const first = customer<Certificate>('erase', [email], { yes: true })
    await eventually(async () => waiting === 1)
    const again = customer<Certificate>('erase', [email], { yes: true })
    await eventually(async () => waiting === 2)
    await sql`update lake_state set removal_paused_until = null`
    t.match(await first, { removed: { event_log: { events: 1 } } })
    t.same(await again, await first, 'one request')
  },
)

t.test('recoup customer erase that tries again after a backup counts its steps anew', async (t) => {
  const email = 'copied-too@example.com'
  await logBatch(sql, [{ brand_id: brand.id, email }])
  await pipeline.postgres.pipeline.run('backup_pause_removal', [5])
  let waiting = 0
  t.capture(process.stderr, 'write', () => ++waiting > 0)
  const shown: number[] = []
  const steps = new Set<number>()
  const erased = customer('erase', [email], { yes: true }, (done, total) => {
    shown.push(done)
    steps.add(total)
  })
  await eventually(async () => waiting === 1)
  await sql`update lake_state set removal_paused_until = null`
  await erased
  t.same(shown, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6])
  t.same([...steps], [7])
})

t.test('the job takes a backup that it waits for as no failure, and goes on once that is over', async (t) => {
  const { erasureId } = await ask({ email: 'copied-by-then@example.com' })
  const state = async () => (await sql`select state, error from erasure where id = ${erasureId}`)[0]
  await pipeline.postgres.pipeline.run('backup_pause_removal', [5])
  await erase.run(pipeline, {}, controlled())
  t.same(await state(), { state: 'failed', error: REMOVAL_PAUSED })
  await sql`update lake_state set removal_paused_until = now()`
  await erase.run(pipeline, {}, controlled())
  t.same(await state(), { state: 'done', error: null })
  await sql`update lake_state set removal_paused_until = null`
})

t.test('what began once more while an erasure committed is erased beside it', async (t) => {
  const [subject] = await sql`select 900000 + count(*)::integer as n from customer`
  const [campaign] = await sql`select id from campaign where brand_id = ${brand.id} limit 1`
  const begin = () => sql`
    insert into campaign_run (brand_id, id, campaign_id, version, occurrence, subject, trigger_event, source_kind, source_id, triggered_at, facts, step, due_at, created_at, updated_at)
    values (${brand.id}, ${v7()}, ${campaign?.id}, 1, 'twice', ${subject?.n}, 'order_fulfilled', 'order', 'o1', now(), '{}', 'start', now(), now(), now())`
  for (const _ of [1, 2]) {
    await begin()
    await pipeline.postgres.pipeline.run('erase_runs', [brand.id, [subject?.n], [], [], new Date()])
  }
  const left = await sql`select from campaign_run where brand_id = ${brand.id} and subject = ${subject?.n}`
  t.equal(left.count, 0)
})

t.test('an erasure passes over rejects files that are no files any more', async (t) => {
  const email = 'failed@example.com'
  const broken = join(t.testdir({ file: '' }), 'file')
  await logBatch(sql, [{ brand_id: brand.id, email }])
  await sql`insert into import_rejects (brand_id, path) values (${brand.id}, ${broken.slice(0, -5)})`
  await sql`insert into import_rejects (brand_id, path) values (${brand.id}, ${join(broken, 'in-a-file')})`
  const certificate = await customer<Certificate>('erase', [email], { yes: true })
  t.match(certificate, { customer_ids: { length: 1 } }, 'where no file is, no row of anybody is')
  t.same(await sql`select from import_rejects where path like ${`${broken.slice(0, -5)}%`}`, [])
})

/** Where rejects of the brand are. */
async function rejectsFile(t: Test): Promise<string> {
  const path = join(t.testdir({}), 'rejects.ndjson')
  await sql`insert into import_rejects (brand_id, path) values (${brand.id}, ${path})`
  return path
}

/** Postgres counts parts of a millisecond: what it noted just now may be later than the time that Node has. */
const soon = () => new Date(Date.now() + 1_000)

t.test('of a rejects file all lines stay byte by byte that name somebody else', async (t) => {
  const email = 'rejected@example.com'
  const path = await rejectsFile(t)
  await logBatch(sql, [{ brand_id: brand.id, email }])
  const others = [Buffer.from('{"row":1}\r\n\n'), Buffer.from([0xe9, 0x00, 0x0a]), Buffer.from('no end')]
  const theirs = Buffer.from(`{"row":2,"data":{"email":"${email}"}}\n`)
  writeFileSync(path, Buffer.concat(others.flatMap((line) => [theirs, line])))
  t.match(await customer('erase', [email], { yes: true }), { removed: { imports: { rejected_rows: 3 } } })
  t.same(readFileSync(path), Buffer.concat(others))
  t.equal(statSync(path).mode & 0o777, 0o600)
})

t.test('a document names somebody by every digit of an id, also where that is a number', async (t) => {
  const path = await rejectsFile(t)
  const line = (id: string) => `{"row":1,"data":{"customer":{"id":${id}}}}\n`
  writeFileSync(path, line('9007199254740993') + line('9007199254740992'))
  const people = peopleWith({ ...noIdentifiers(), store_customer_id: ['9007199254740993'] }, 'US')
  const wanted = { brandId: brand.id, erasedAt: soon(), people }
  t.same(await eraseRejects(pipeline.postgres.pipeline, wanted), { 'imports.rejected_rows': 1 })
  t.equal(readFileSync(path, 'utf8'), line('9007199254740992'))
})

t.test('a rejects file may be longer than a text can be', async (t) => {
  const email = ['erased@example.com']
  const path = await rejectsFile(t)
  const row = 8 << 20
  const rows = Math.ceil(constants.MAX_STRING_LENGTH / row) + 1
  const file = openSync(path, 'w')
  for (let at = 1; at <= rows; at++) writeSync(file, '\n', at * row)
  closeSync(file)
  const people = peopleWith({ ...noIdentifiers(), email }, 'US')
  const wanted = { brandId: brand.id, erasedAt: soon(), people }
  t.same(await eraseRejects(pipeline.postgres.pipeline, wanted), { 'imports.rejected_rows': 0 })
})

t.test('whom only an event names that is still to come into the lake is erased', async (t) => {
  await logBatch(sql, [{ brand_id: brand.id, email: 'lately@example.com' }])
  const certificate = await customer<Certificate>('erase', ['lately@example.com'], { yes: true })
  t.match(certificate, { customer_ids: { length: 1 }, removed: { lake: { events: 1 } } })
})

t.test('the parcels of who is erased are found without reading the orders of all', async (t) => {
  const orders = 10_000
  const { id } = await newBrand(pipeline)
  await sql`
    insert into store_order (
      brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
    select ${id}, n::text, gen_random_uuid(), n, 'complete', 'paid', 'USD', 1, now(), now()
    from generate_series(1, ${orders}::integer) as n`
  await sql`
    insert into fulfillment (brand_id, external_id, order_external_id, status, tracking_numbers, created_at, updated_at)
    select brand_id, external_id, external_id, 'success', '{1}', now(), now() from store_order where brand_id = ${id}`
  await sql`update store_order set subject = null, erased = true where brand_id = ${id} and subject % 1000 = 0`
  const owner = connect(db.url, { max: 1 })
  await owner`analyze store_order, fulfillment`
  await owner.end()
  const read = await sql.begin((tx) =>
    rowsRead(tx, () => tx.unsafe(statement('postgres', 'erase_fulfillments'), [id, [1], [], [], new Date()])),
  )
  t.ok(read < orders / 10, `${read} rows`)
  const left = await sql`select from fulfillment where brand_id = ${id} and tracking_numbers = '{}'`
  t.equal(left.length, 11)
})

t.test('whom an identifier names follows from its shape', async (t) => {
  const contact = v7()
  await sql`insert into contact (brand_id, id, email) values (${brand.id}, ${contact}, 'contact@example.com')`
  const whoms = (identifier: string) => whomsOf(pipeline, brand, identifier)
  t.same(await whoms(' a@b.co '), [{ email: 'a@b.co' }])
  t.same(await whoms('+1 202 555 0177'), [{ phone: '+12025550177' }])
  t.same(await whoms('123'), [{ storeCustomerId: '123' }])
  t.same(await whoms('2025550177'), [{ storeCustomerId: '2025550177' }, { phone: '+12025550177' }])
  t.same(await whoms('(202) 555-0177'), [{ profileId: '(202) 555-0177' }, { phone: '+12025550177' }])
  const global = 'gid://shopify/Customer/2025550177'
  t.same(await whoms(global), [{ storeCustomerId: '2025550177', profileId: global }])
  t.same(await whoms('myshopify:shop:1'), [{ profileId: 'myshopify:shop:1' }])
  t.same(await whoms(contact), [{ profileId: null, email: 'contact@example.com', phone: null }])
  t.match(await previewErasure(pipeline, brand, { email: 'other1@example.com' }), {
    customer_ids: [/9000000000/],
    orders: 1,
    events: 2,
  })
})

t.test('an address that went from one customer to another names the new one', async (t) => {
  const address = 'handed-on@example.com'
  await sql`
    insert into customer (brand_id, subject, id, provenance, email)
    values (${neighbour.id}, 5001, 'had it', 'server', 'new-one@example.com'), (${neighbour.id}, 5002, 'has it', 'server', ${address})`
  await sql`insert into identifier (brand_id, kind, value, subject) values (${neighbour.id}, 'email', ${address}, 5001)`
  await sql`
    insert into identifier_claim (brand_id, kind, value, subject, source) values (${neighbour.id}, 'email', ${address}, 5002, 'store')`
  t.match(await previewErasure(pipeline, neighbour, { email: address }), { customer_ids: ['has it'] })
})

t.test('the job erases somebody who is not known, too, and they stay out', async (t) => {
  await sql`
    insert into visitor_claim (brand_id, kind, value, subject)
    select ${brand.id}, 'email', value, 4711 from unnest(array['nobody@example.com', 'somebody@example.com']) as value`
  await ask({ phone: '(202) 555-0199', email: 'nobody@example.com' })
  await erase.run(pipeline, {}, controlled())
  t.same(
    await sql`select value from visitor_claim where subject = 4711`,
    [{ value: 'somebody@example.com' }],
    'what a visitor said of them is gone, too',
  )
  await filled.put('customers', 'nobody', [{ email: 'nobody@example.com' }, { phone: '+12025550199' }])
  t.same(
    await sql`select email from customer where email = 'nobody@example.com' or phone = '+12025550199'`,
    [],
  )
  await t.rejects(ask({ email: ' ' }), { code: 'bad_request' })
})

t.test(
  'a lake file that an erasure removes while it is written was outrun, and leaves nothing',
  async (t) => {
    const inFolder = () => readdirSync(join(pipeline.lakeDir, STAGING_FOLDER)).sort()
    const before = inFolder()
    await withWorkspace(pipeline, async (duck) => {
      const run: Duck['run'] = async (statement) => {
        await duck.run(statement)
        // Before any file of now, as an erasure that begins later counts.
        t.ok((await sweepAfterErasure(pipeline, brand.id, { readersMs: 0, writersMs: -60_000 })) > 0)
      }
      const written = writeParquet({ ...duck, run }, pipeline, STAGING_FOLDER, 'orders', 'select 1 as one')
      await t.rejects(written, { name: 'Outrun' })
    })
    t.same(inFolder(), before)
  },
)

t.test('noted lines of many batches are looked for in the log at once', async (t) => {
  const { pipeline: own } = pipeline.postgres
  const ids = Array.from({ length: 300 }, () => v7())
  await own.run('erased_lines_add', [ids, ids.map(() => 0)])
  let looks = 0
  const looking = (tx: Statements): Statements => ({
    ...tx,
    many: (name, args) => {
      if (name === 'log_batches_with') looks++
      return tx.many(name, args)
    },
  })
  const tx: typeof own.tx = (work) => own.tx((tx) => work(looking(tx)))
  const watched = { ...pipeline.postgres, pipeline: { ...own, tx } }
  await eraseNotedLines({ ...pipeline, postgres: watched })
  t.equal(looks, 1)
  t.same(await own.many('erased_batch_ids'), [])
})
