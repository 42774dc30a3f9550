import { randomUUID } from 'node:crypto'
import t from 'tap'
import { undoMerge } from '../src/identity/merge.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { openServed } from '../src/lake/served.ts'
import { lookedUpSql, lookedUpTables } from '../src/lake/serving.ts'
import { setLogLevel } from '../src/log.ts'
import { loadModels } from '../src/model/graph.ts'
import type { Brand } from '../src/op.ts'
import { parseDefinition } from '../src/segment/definition.ts'
import type { Part } from '../src/segment/part.ts'
import { plan } from '../src/segment/plan.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { archiveSegment, createSegment, updateSegment } from '../src/segment/saved.ts'
import { DATED, slicesOf } from '../src/segment/slices.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { type Line, lake, logBatch } from './fixtures/lake.ts'
import { memberChanges } from './fixtures/published.ts'
import { randomSource } from './fixtures/random.ts'
import { randomDefinition } from './fixtures/random-definition.ts'
import { AS_OF, ATTRIBUTES, DAY, randomAttribute, WORDS } from './fixtures/segment-store.ts'

setLogLevel('error')

const STEP_MS = 15 * 60_000
const STEPS_A_DAY = 96
/** Of a quarter of an hour each, 30 days of them in `make test-deep`. */
const STEPS = Number(process.env.INCREMENTAL_STEPS ?? STEPS_A_DAY)
/** `make test` goes through its one day in so many refreshes, some of them hours apart. */
const REFRESHES = process.env.INCREMENTAL_STEPS ? STEPS : 12
const CUSTOMERS = 40
const random = randomSource(t)
// Few rows: a second thread costs more than it gives.
const pipeline = { ...(await lake(t)), threads: 1 }
const { sql } = pipeline.postgres

/** Rules whose answers time changes, each in its own way. */
const MOVING = [
  { source: 'customer_profile', rule: { field: 'last_event_at', op: 'withinLast', value: { days: 1 } } },
  { source: 'customer_profile', rule: { field: 'days_since_last_order', op: '>=', value: 1 } },
  { source: 'customer_profile', rule: { field: 'days_since_last_order', op: 'in', value: [0, 2] } },
  {
    source: 'product_events',
    rule: { op: 'count-over-window', window: { days: 1 }, times: { op: '<', n: 2 } },
  },
  {
    source: 'product_events',
    rule: { agg: 'min', field: 'occurred_at', op: 'withinLast', value: { days: 2 } },
  },
  {
    source: 'carts',
    rule: {
      op: 'count-over-window',
      where: [{ field: 'abandoned_at', op: 'notWithinLast', value: { days: 1 } }],
    },
  },
  {
    source: 'engagement_events',
    rule: {
      op: 'count-over-window',
      window: { days: 1 },
      where: [{ field: 'event_kind', op: '!=', value: 'message_sent' }],
    },
  },
  {
    source: 'customer_attributes',
    rule: { field: 'attributes.born on', op: 'notWithinLast', value: { days: 1 } },
  },
  { source: 'customer_attributes', rule: { field: 'attributes.plan', op: '<', value: 5 } },
  { source: 'customer_attributes', rule: { field: 'tags', op: 'contains', value: 'vip' } },
  {
    source: 'commerce_orders',
    rule: { agg: 'sum', field: 'total', window: { days: 2 }, op: '>', value: 20 },
  },
]

/** Where days begin at other moments than those of the windows, and in March an hour early or late. */
const timezone = random.pick(['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Kathmandu', 'Pacific/Apia'])
/** The leap day, and the last days of winter there. */
const END = random.pick([
  AS_OF,
  Date.parse('2028-03-12T23:59:59.999Z'),
  Date.parse('2028-03-26T23:59:59.999Z'),
])

const brands = [
  await newBrand(pipeline, { builtIns: true, timezone }),
  await newBrand(pipeline, { builtIns: true, timezone }),
] as [Brand, Brand]
const [whole, stepwise] = brands
const servedFiles = openServed(pipeline)
t.teardown(() => servedFiles.close())

/** Segments have the same name in both brands; returns their ids by brand. */
async function save(name: string, definition: object): Promise<string[]> {
  const ids = []
  for (const { id } of brands) {
    const db = pipeline.postgres.forBrand(id)
    ids.push((await createSegment(db, { name, definition, createdBy: 'test' })).id)
  }
  return ids
}

/** A segment is edited, archived or added. Those that others refer to, or that are archived, stay as they are. */
async function editSegments(ids: string[][]): Promise<void> {
  const definition = randomDefinition(random)
  if (random.chance(0.2)) return void ids.push(await save(`random ${ids.length}`, definition))
  const ofBoth = random.pick(ids)
  const isArchived = random.chance(0.1)
  for (const [index, { id: brandId }] of brands.entries()) {
    const db = pipeline.postgres.forBrand(brandId)
    const id = ofBoth[index] as string
    await (isArchived
      ? archiveSegment(db, id)
      : updateSegment(db, { id, definition, createdBy: 'test' })
    ).catch(() => {})
  }
}

/** The same things happen in both brands, many of them a while ago. */
async function happen(now: number): Promise<void> {
  const lines = random.list(0, 8, () => line(now))
  const orders = random.list(0, 3, () => order(now))
  const carts = random.list(0, 2, () => cart(now))
  const tags = random.list(0, 1, tagged)
  const messages = random.list(0, 3, () => message(now))
  const refunds = random.list(0, 1, () => refund(now))
  const subscriptions = random.list(0, 2, () => subscription(now))
  const products = random.list(0, 1, () => product(now))
  const undone = random.chance(0.1) ? random.below(1_000) : null
  for (const { id } of brands) {
    if (lines.length)
      await logBatch(
        sql,
        lines.map((each) => ({ ...each, brand_id: id })),
      )
    for (const each of orders) await writeOrder(id, each)
    for (const each of carts) await writeCart(id, each)
    for (const each of tags) await writeTags(id, each)
    for (const each of messages) await writeMessage(id, each)
    for (const each of refunds) await writeRefund(id, each)
    for (const each of subscriptions) await writeSubscription(id, each)
    for (const each of products) await writeProduct(id, each)
    if (undone !== null) await undoOne(id, undone)
  }
  await snapshotAll(pipeline)
}

/** A person is known by a store id, an email, both (who may be two so far), or as a visitor. */
function line(now: number): Omit<Line, 'brand_id'> {
  const who = random.below(CUSTOMERS)
  const other = random.chance(0.1) ? random.below(CUSTOMERS) : who
  const known = random.pick([
    { store_customer_id: `${who}` },
    { email: `c${who}@example.com` },
    { store_customer_id: `${who}`, email: `c${other}@example.com` },
    { anonymous_id: `v${who}` },
    { anonymous_id: `v${who}`, email: `c${other}@example.com` },
    { phone: `+155501${1_000 + other}` },
  ])
  const about = {
    ...known,
    event_id: `e${Math.trunc(now / STEP_MS)}-${random.below(1e9)}`,
    received_at: now,
    occurred_at: before(now),
  }
  if (random.chance(0.2)) {
    const properties = { [random.pick(ATTRIBUTES)]: random.chance(0.1) ? null : attribute(now) }
    return { ...about, event_type: 'updateProperties', properties }
  }
  if (random.chance(0.2)) {
    const event_type = random.pick(WORDS['stg_engagement_events.event_kind'] as string[])
    const channel = random.chance(0.2) ? 'email' : undefined
    return { ...about, event_type, properties: { campaign_id: random.pick(['c1', 'c2']), channel } }
  }
  return {
    ...about,
    event_type: random.pick(WORDS.event_kind as string[]),
    properties: { ...aboutProduct(), ...(random.chance(0.3) && campaign()) },
  }
}

const word = () => random.pick(['p1', 'p1', 'p2', 'P1', 'p12', "it's", ''])
const perhaps = <Value>(value: Value): Value | undefined => (random.chance(0.5) ? value : undefined)
const currency = () => random.pick(['USD', 'USD', 'EUR'])
const price = () => random.pick(['0.00', '9.99', '10.00', '10.00', '100.00'])

const aboutProduct = () => ({
  ...{
    product_id: random.chance(0.9) ? word() : undefined,
    product_title: perhaps(word()),
    variant_id: perhaps(word()),
  },
  ...{ price: price(), quantity: random.below(4), currency_code: perhaps(currency()) },
})

/** How a visitor came. */
const campaign = () => ({
  ...{ utm_source: perhaps(word()), utm_medium: perhaps(word()), utm_campaign: perhaps(word()) },
  ...{ utm_term: perhaps(word()), utm_content: perhaps(word()), landing_page: perhaps(word()) },
})

/** Often a time that windows look at. */
const attribute = (now: number) =>
  random.chance(0.5) ? new Date(before(now)).toISOString() : randomAttribute(random)

/** Now and then exactly N days ago, or close to it; seldom ahead. */
function before(now: number): number {
  const days = random.pick([0, 0, 0, 1, 2, 7, 30])
  const near = random.pick([0, 1, -1, random.below(DAY), random.below(2 * STEP_MS)])
  return now - days * DAY - near + (random.chance(0.05) ? STEP_MS : 0)
}

/** Tags of a customer whom the store knows, seldom none. */
const tagged = () => ({
  who: random.below(CUSTOMERS),
  tags: random.list(0, 2, () => random.pick(['vip', 'new'])),
})

const writeTags = (brandId: string, { who, tags }: ReturnType<typeof tagged>) => sql`
  update customer set tags = ${tags} where brand_id = ${brandId} and subject = ${subjectOf(brandId, who)}`

const order = (now: number) => ({
  external_id: `o${random.below(60)}`,
  who: random.chance(0.1) ? null : random.below(CUSTOMERS),
  state: random.pick(['complete', 'complete', 'complete', 'pending', 'cancelled', 'refunded']),
  billing_status: random.pick(WORDS.billing_status as string[]),
  ...{ currency_code: currency(), total: 1 + random.below(100), refunded_total: random.chance(0.2) ? 1 : 0 },
  discount_codes: random.list(0, 2, word),
  lines: sql.json(
    random.list(0, 3, () => ({
      ...{ id: '1', product_id: word(), title: perhaps(word()), sku: perhaps(word()) },
      ...{ quantity: 1 + random.below(3), price: price(), total: price() },
    })) as never,
  ),
  ...{ test: random.chance(0.05), deleted: random.chance(0.05) },
  created_at: new Date(before(now)),
  updated_at: new Date(now),
  cancelled_at: random.chance(0.1) ? new Date(before(now)) : null,
  recovered_at: random.chance(0.3) ? new Date(before(now)) : null,
})

/** The customer with a store id, made by an event before; null when there is none yet. */
const subjectOf = (brandId: string, who: number | null) => sql`
  (select subject from identifier where brand_id = ${brandId} and kind = 'store_customer_id' and value = ${String(who)})`

/** Of an order that is there, everything but when it was placed. */
async function writeOrder(brandId: string, { who, ...each }: ReturnType<typeof order>): Promise<void> {
  const { external_id: _, created_at: __, ...changed } = each
  await sql`
    insert into store_order ${sql({ brand_id: brandId, id: randomUUID(), ...each } as never)}
    on conflict (brand_id, external_id) do update set ${sql(changed as never)}`
  await sql`
    update store_order set subject = ${subjectOf(brandId, who)}
    where brand_id = ${brandId} and external_id = ${each.external_id}`
}

const cart = (now: number) => ({
  external_id: `k${random.below(30)}`,
  who: random.below(CUSTOMERS),
  state: random.pick(WORDS['stg_checkouts.state'] as string[]),
  ...{ currency_code: currency(), total: price(), item_count: random.below(4), deleted: random.chance(0.05) },
  created_at: new Date(before(now)),
  updated_at: new Date(now),
  abandoned_at: random.chance(0.5) ? new Date(before(now)) : null,
})

const writeCart = (brandId: string, { who, ...each }: ReturnType<typeof cart>) => sql`
  insert into checkout (brand_id, external_id, id, subject, state, currency_code, total, item_count, deleted, created_at,
    updated_at, abandoned_at)
  values (${brandId}, ${each.external_id}, gen_random_uuid(), ${subjectOf(brandId, who)}, ${each.state},
    ${each.currency_code}, ${each.total}, ${each.item_count}, ${each.deleted}, ${each.created_at}, ${each.updated_at},
    ${each.abandoned_at})
  on conflict (brand_id, external_id) do update
  set state = excluded.state, currency_code = excluded.currency_code, total = excluded.total,
    item_count = excluded.item_count, deleted = excluded.deleted, abandoned_at = excluded.abandoned_at`

/** One of few, which is sent, arrives or is found not to have. */
const message = (now: number) => ({
  who: random.below(CUSTOMERS),
  name: `m${random.below(60)}`,
  inbound: random.chance(0.3),
  channel: random.chance(0.2) ? 'email' : 'sms',
  created_at: new Date(before(now)),
  sent_at: random.chance(0.7) ? new Date(before(now)) : null,
  delivered_at: random.chance(0.5) ? new Date(before(now)) : null,
})

/** Ids are the same in both brands. */
const writeMessage = (brandId: string, each: ReturnType<typeof message>) => sql`
  with talk as (
    insert into conversation as known (brand_id, id, subject, channel, created_at)
    values (${brandId}, md5(${`t${each.who}${each.channel}`})::uuid, ${subjectOf(brandId, each.who)}, ${each.channel},
      ${each.created_at})
    on conflict (brand_id, id) do update set subject = coalesce(known.subject, excluded.subject)
    returning *
  )
  insert into message (brand_id, id, conversation_id, idempotency_key, direction, author, channel, body, status,
    created_at, sent_at, delivered_at)
  select brand_id, md5(${each.name})::uuid, id, ${each.name}, ${each.inbound ? 'inbound' : 'outbound'}, 'contact',
    ${each.channel}, '', 'sent', ${each.created_at}, ${each.sent_at}, ${each.delivered_at}
  from talk
  on conflict (brand_id, id) do update set sent_at = excluded.sent_at, delivered_at = excluded.delivered_at`

/** Of an order, or of none, so that it counts against a customer. */
const refund = (now: number) => ({
  external_id: `r${random.below(30)}`,
  order: random.chance(0.5) ? `o${random.below(60)}` : null,
  who: random.below(CUSTOMERS),
  currency: random.pick(['USD', 'USD', 'EUR']),
  total: 1 + random.below(20),
  created_at: new Date(before(now)),
})

const writeRefund = (brandId: string, each: ReturnType<typeof refund>) => sql`
  insert into refund (brand_id, external_id, id, order_external_id, subject, currency_code, total, created_at)
  values (${brandId}, ${each.external_id}, gen_random_uuid(), ${each.order},
    ${each.order === null ? subjectOf(brandId, each.who) : null}, ${each.currency}, ${each.total}, ${each.created_at})
  on conflict (brand_id, external_id) do update set total = excluded.total, created_at = excluded.created_at`

const subscription = (now: number) => ({
  external_id: `s${random.below(20)}`,
  who: random.chance(0.1) ? null : random.below(CUSTOMERS),
  status: random.pick(WORDS.status as string[]),
  ...{ product_id: word(), interval_unit: perhaps(random.pick(WORDS.interval_unit as string[])) ?? null },
  ...{ price: price(), currency_code: currency(), deleted: random.chance(0.05) },
  updated_at: new Date(now),
  next_billing_at: random.chance(0.5) ? new Date(before(now + 2 * DAY)) : null,
  started_at: random.chance(0.9) ? new Date(before(now)) : null,
  cancelled_at: random.chance(0.3) ? new Date(before(now)) : null,
})

async function writeSubscription(brandId: string, { who, ...each }: ReturnType<typeof subscription>) {
  const { external_id: _, ...changed } = each
  await sql`
    insert into subscription ${sql({ brand_id: brandId, id: randomUUID(), ...each } as never)}
    on conflict (brand_id, external_id) do update set ${sql(changed as never)}`
  await sql`
    update subscription set subject = ${subjectOf(brandId, who)}
    where brand_id = ${brandId} and external_id = ${each.external_id}`
}

const product = (now: number) => ({
  name: random.pick(['p1', 'p2', 'p12']),
  title: random.pick(['Tea', 'Cup']),
  updated_at: new Date(now),
})

const writeProduct = (brandId: string, { name, title, updated_at }: ReturnType<typeof product>) => sql`
  insert into product (brand_id, id, title, updated_at) values (${brandId}, ${name}, ${title}, ${updated_at})
  on conflict (brand_id, id) do update set title = excluded.title, updated_at = excluded.updated_at`

/** The same of the merges in both brands, where there are any. */
async function undoOne(brandId: string, nth: number): Promise<void> {
  const merges = await sql<{ id: string }[]>`
    select id from merge where brand_id = ${brandId} and undone_at is null order by from_subject, to_subject`
  const merge = merges[nth % merges.length]
  if (merge) await undoMerge(pipeline.postgres.forBrand(brandId), merge.id, 'test')
}

/** Edited, a rule without members changes the way of a refresh, and no history. */
const NOBODY = { source: 'customer_profile', rule: { field: 'orders_count', op: '<', value: 0 } }
let edits = 0

/**
 * Now and then models and segments one after the other, as large brands are refreshed; then at times as after an edit
 * of a rule, where members are computed of everyone. Seldom as a small brand, or as one of which too many were touched.
 * Whether any was computed whole.
 */
async function takeStep(asOf: Date, edited: string): Promise<boolean> {
  const mostMoved = random.chance(0.5) ? 9 : 0.1
  const mostTouched = random.chance(0.05) ? 0 : 9
  const isSmall = random.chance(0.05)
  const options = { asOf, smallRows: isSmall ? Number.MAX_SAFE_INTEGER : 0, mostTouched, mostMoved }
  const rounds: (readonly Part[] | undefined)[] =
    !isSmall && random.chance(0.3) ? [['models'], ['segments']] : [undefined]
  if (rounds.length > 1 && random.chance(0.4)) {
    edits++
    const db = pipeline.postgres.forBrand(stepwise.id)
    await updateSegment(db, { id: edited, definition: NOBODY, createdBy: 'test' })
  }
  let whole = false
  for (const parts of rounds) {
    const { full } = await refreshBrand(pipeline, stepwise.id, { ...options, ...(parts && { parts }) })
    whole ||= full
  }
  return whole
}

/** Columns whose values are a brand's own. */
const OWN = ['customer_id', 'item_id', 'id', 'order_id', 'created_at', 'first_visit']
const marts = (await loadModels()).filter(({ stored }) => stored).map(({ name }) => name)
const rowsOf = (mart: string) =>
  `select columns(lambda name: name not in (${OWN.map((name) => `'${name}'`)})) from ${mart}`
const SUMS = marts.map(
  (mart) =>
    `select '${mart}' as mart, count(*) as rows, sum(hash(one)::hugeint)::varchar as sum from (${rowsOf(mart)}) as one`,
)

/** What reads answer: of the results of models a sum, their rows only where those differ. */
async function shown({ id }: Brand) {
  const reader = await servedFiles.reader(id)
  const rows = (text: string) => reader?.rows<{ mart: string }>(text) ?? []
  return {
    sums: await rows(SUMS.join(' union all ')),
    members: await rows('select segment, customer, joined_at from members order by all'),
    counts: await sql`select ordinal, member_count from segment where brand_id = ${id} order by ordinal`,
  }
}

/** What is looked up of customers, one by one and together, beside what the tables have. */
async function lookedUp({ id }: Brand) {
  const reader = await servedFiles.reader(id)
  if (!reader) throw new Error('nothing is published')
  const named = await reader.rows<{ customer: number }>('select customer from customers')
  const customers = named.map(({ customer }) => customer)
  const sorted = (rows: object[]) => rows.map((row) => JSON.stringify(row)).sort()
  const rowsOf = async (customers: readonly number[], table: string) =>
    (await reader.of(customers, [table])).flatMap((rows) => rows<object>(table))
  const tables = await Promise.all(
    lookedUpTables.map(async (table) => {
      const one = await Promise.all(customers.map((customer) => rowsOf([customer], table)))
      const everyone = table === 'customers' ? 'customers_placed' : table
      return [
        table,
        {
          one: sorted(one.flat()),
          together: sorted(await rowsOf(customers, table)),
          all: sorted(await reader.rows(`from (${lookedUpSql(table, everyone)}) where customer is not null`)),
        },
      ] as const
    }),
  )
  return tables
}

/** The rows of both brands' models that differ. */
async function differing(): Promise<object> {
  const [expected, found] = await Promise.all(
    brands.map(async ({ id }) => {
      const reader = await servedFiles.reader(id)
      const read = async (mart: string) => [
        mart,
        (await reader?.rows(rowsOf(mart)))?.map((row) => JSON.stringify(row)).sort(),
      ]
      return Object.fromEntries(await Promise.all(marts.map(read))) as Record<string, string[]>
    }),
  )
  const beyond = (some?: string[], others?: string[]) => some?.filter((row) => !others?.includes(row))
  return Object.fromEntries(
    marts.map((mart) => [
      mart,
      { missing: beyond(expected?.[mart], found?.[mart]), surplus: beyond(found?.[mart], expected?.[mart]) },
    ]),
  )
}

const history = async ({ id }: Brand) =>
  (await memberChanges(pipeline, id)).map(({ tick: _, ...change }) => change)

/** The first and the last always. */
function stepsTaken(): number[] {
  const taken = new Set([0, STEPS])
  while (taken.size <= REFRESHES) taken.add(random.below(STEPS))
  return [...taken].sort((one, other) => one - other)
}

t.test('refreshes of what changed show the same as full ones, at every step', async (t) => {
  for (const [n, definition] of MOVING.entries()) await save(`moving ${n}`, definition)
  const [, edited = ''] = await save('nobody', NOBODY)
  const ids: string[][] = []
  for (let n = 0; n < 10; n++) ids.push(await save(`random ${n}`, randomDefinition(random)))
  const member = { op: 'member-of-segment', segmentId: '' }
  const [inWhole, inSteps] = ids[0] as [string, string]
  for (const [brand, segmentId] of [
    [whole, inWhole],
    [stepwise, inSteps],
  ] as const) {
    const db = pipeline.postgres.forBrand(brand.id)
    const notIn = async (name: string, segmentId: string) => {
      const definition = { source: 'customer_profile', rule: { not: { ...member, segmentId } } }
      await createSegment(db, { name, definition, createdBy: 'test' })
    }
    await notIn('not the first', segmentId)
    // One that is evaluated every hour only.
    await notIn('not customers', (await db.one<{ id: string }>('segment_by_name', ['Customers'])).id)
  }

  t.comment(`${timezone}, until ${new Date(END).toISOString()}`)
  const start = END - STEPS * STEP_MS
  for (let n = 0; n < 3; n++) await happen(start - DAY)
  let steps = 0
  for (const step of stepsTaken()) {
    // Some updates find hours gone by, some nothing new.
    const now = start + step * STEP_MS
    if (random.chance(0.8)) await happen(now)
    for (const { id } of brands) if (random.chance(0.1)) await compactBrand(pipeline, id, true)
    if (random.chance(0.05)) await editSegments(ids)
    const asOf = new Date(now)
    const [full] = await Promise.all([
      takeStep(asOf, edited),
      refreshBrand(pipeline, whole.id, { asOf, smallRows: Number.MAX_SAFE_INTEGER }),
    ])
    if (!full) steps++
    const [expected, found] = await Promise.all([shown(whole), shown(stepwise)])
    if (!t.same(found, expected, `step ${step}${full ? ', full' : ''}`))
      return t.comment(JSON.stringify(await differing()))
    for (const [table, { one, together, all }] of await lookedUp(stepwise))
      if (!t.same([one, together], [all, all], `${table} by customer, step ${step}`)) return
    if (step % STEPS_A_DAY === 0 && !t.same(await history(stepwise), await history(whole), 'history so far'))
      return
  }
  t.same(await history(stepwise), await history(whole), 'history')
  t.comment(`${edits} as after an edit of a rule`)
  t.ok(steps > REFRESHES / 3, `${steps} of ${REFRESHES} refreshes were incremental`)
})

t.test('a full refresh as of the same instant finds no difference', async (t) => {
  await refreshBrand(pipeline, stepwise.id, { asOf: new Date(END + STEP_MS), smallRows: 0, mostTouched: 9 })
  const before = await history(stepwise)
  await refreshBrand(pipeline, stepwise.id, { asOf: new Date(END + STEP_MS), verify: true })
  t.same(await history(stepwise), before)
})

t.test('when every rule that can be said changes is known', (t) => {
  for (let n = 0; n < 500; n++)
    slicesOf(plan([{ ordinal: 0, tree: parseDefinition(randomDefinition(random)) }]))
  const rule = { field: 'days_since_last_order', op: '>=', value: 10 ** 18 }
  const never = parseDefinition({ source: 'customer_profile', rule })
  t.same(slicesOf(plan([{ ordinal: 0, tree: never }])), DATED, 'and none of what never comes')
  t.end()
})
