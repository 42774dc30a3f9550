import t, { type Test } from 'tap'
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
import { askErasure, goOnErasing, STEPS_BEFORE_RESULTS } from './fixtures/erasing.ts'
import { lake } from './fixtures/lake.ts'
import { DAY } from './fixtures/oracle-rows.ts'
import { memberChanges } from './fixtures/published.ts'
import { randomSource } from './fixtures/random.ts'
import { randomDefinition } from './fixtures/random-definition.ts'
import { randomHappenings } from './fixtures/random-happenings.ts'
import { AS_OF } from './fixtures/segment-values.ts'
import { writeHappenings } from './fixtures/write-happenings.ts'

setLogLevel('error')

const STEP_MS = 15 * 60_000
const STEPS_A_DAY = 96
/** Of a quarter of an hour each, 30 days of them in `make test-deep`. */
const STEPS = Number(process.env.INCREMENTAL_STEPS ?? STEPS_A_DAY)
/** `make test` goes through its one day in so many refreshes, some of them hours apart. */
const REFRESHES = process.env.INCREMENTAL_STEPS ? STEPS : 12
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
  // Of orders' products alone, and of what their lines say beside.
  ...[
    [{ field: 'product_id', op: '=', value: 'p1' }],
    [{ field: 'product_id', op: '!=', value: 'p1' }],
    [
      { field: 'product_id', op: 'in', value: ['p1', 'p2'] },
      { field: 'quantity', op: '>=', value: 2 },
    ],
  ].map((where) => ({
    source: 'commerce_orders',
    rule: { op: 'count-over-window', window: { days: 2 }, where },
  })),
]

/** Where days begin at other moments than those of the windows. */
const ZONES = ['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Kathmandu', 'Pacific/Apia']
/** Days of an hour less, and the leap day, each as a whole of UTC. */
const DAYS = [
  { timezone: 'America/New_York', end: Date.parse('2028-03-12T23:59:59.999Z') },
  { timezone: 'Europe/Berlin', end: Date.parse('2028-03-26T23:59:59.999Z') },
  { timezone: 'Pacific/Apia', end: AS_OF },
  { timezone: 'Asia/Kathmandu', end: AS_OF },
] as const
const { timezone, end: END } = process.env.RANDOM_SEED ? random.pick(DAYS) : DAYS[0]

const brands = [
  await newBrand(pipeline, { builtIns: true, timezone }),
  await newBrand(pipeline, { builtIns: true, timezone }),
] as [Brand, Brand]
const [whole, stepwise] = brands
const servedFiles = openServed(pipeline)
t.teardown(() => servedFiles.close())

/** A segment of either brand that is the same: its ids in `whole` and in `stepwise`. */
type Both = [string, string]

/** Segments have the same name in both brands, and definitions that say the same. */
async function save(name: string, ...[ofWhole, ofStepwise = ofWhole]: object[]): Promise<Both> {
  const create = async ({ id }: Brand, definition?: object) =>
    (await createSegment(pipeline.postgres.forBrand(id), { name, definition, createdBy: 'test' })).id
  return [await create(whole, ofWhole), await create(stepwise, ofStepwise)]
}

/** Built-in segments, some of which are not evaluated in every refresh. */
const BUILT_IN = await Promise.all(
  ['Customers', 'Visitors', 'High Value', 'Churned'].map(
    async (name) => (await Promise.all(brands.map(({ id }) => segmentNamed(id, name)))) as Both,
  ),
)

async function segmentNamed(brandId: string, name: string): Promise<string> {
  return (await pipeline.postgres.forBrand(brandId).one<{ id: string }>('segment_by_name', [name])).id
}

/** A definition for either brand; what it may refer to is the brand's own. */
function randomOfBoth(others: readonly Both[]): [object, object] {
  const definition = randomDefinition(
    random,
    others.map(([inWhole]) => inWhole),
  )
  const own = new Map(others)
  const text = JSON.stringify(definition, (key, value) => (key === 'segmentId' ? own.get(value) : value))
  return [definition, JSON.parse(text)]
}

/** Whoever is no member of a segment. */
const others = (of: Both = ['', '']) =>
  of.map((segmentId) => ({
    source: 'customer_profile',
    rule: { not: { op: 'member-of-segment', segmentId } },
  }))

/** A segment is edited, archived or added. Those that others refer to are not archived. */
async function editSegments(ids: Both[]): Promise<void> {
  if (random.chance(0.2))
    return void ids.push(await save(`added ${random.below(1e9)}`, ...randomOfBoth([...BUILT_IN, ...ids])))
  const nth = random.below(ids.length)
  const ofBoth = ids[nth] as Both
  if (!random.chance(0.1)) {
    // So that they never refer to each other in a circle.
    const definitions = randomOfBoth([...BUILT_IN, ...ids.slice(0, nth)])
    for (const [index, brand] of brands.entries()) {
      const [id, definition] = [ofBoth[index] as string, definitions[index]]
      await updateSegment(pipeline.postgres.forBrand(brand.id), { id, definition, createdBy: 'test' })
    }
    return
  }
  const archived = await Promise.allSettled(
    brands.map(({ id }, index) => archiveSegment(pipeline.postgres.forBrand(id), ofBoth[index] as string)),
  )
  if (archived.every(({ status }) => status === 'fulfilled')) ids.splice(nth, 1)
}

/** From now on another currency counts, and at times days begin at other moments. */
async function changeSettings(): Promise<void> {
  const [now] = await sql<{ currency: string; zone: string }[]>`
    select currency_code as currency, timezone as zone from brand where id = ${whole.id}`
  const currency = now?.currency === 'USD' ? 'EUR' : 'USD'
  const zone = random.chance(0.5) ? random.pick(ZONES.filter((each) => each !== now?.zone)) : null
  for (const { id } of brands)
    await pipeline.postgres.pipeline.run('brand_update', [id, null, null, null, currency, zone, null, null])
}

/** The same happens in both brands. */
async function happen(now: number): Promise<void> {
  const happened = randomHappenings(random, now)
  for (const { id } of brands) await writeHappenings(pipeline, id, happened)
  await snapshotAll(pipeline)
}

/** A customer whom the store knows is to be erased. */
async function askForSomebody(): Promise<void> {
  const known = await sql<{ id: string }[]>`
    select store_customer_id as id from customer
    where brand_id = ${whole.id} and store_customer_id is not null order by store_customer_id`
  const who = known.length ? random.pick(known).id : 'nobody'
  for (const { id } of brands) await askErasure(pipeline, id, who)
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
const OWN = ['customer_id', 'aliases', 'item_id', 'id', 'order_id', 'first_visit']
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
    audiences: (
      await sql<{ ordinal: number; member_count: number; generation: number }[]>`
        select ordinal, member_count, evaluated_at, generation from segment where brand_id = ${id} order by ordinal`
    ).map(({ generation, ...audience }) => ({ ...audience, made: madeBy.get(`${id} ${generation}`) })),
  }
}

/** Which refresh made a generation of a brand. One in two rounds makes two: their numbers are a brand's own. */
const madeBy = new Map<string, string>()

async function noteGenerations(refresh: string): Promise<void> {
  for (const { id } of brands) {
    const { generation } = await pipeline.postgres.pipeline.one<{ generation: number }>('lake_brand_row', [
      id,
    ])
    for (let made = generation; made > 0 && !madeBy.has(`${id} ${made}`); made--)
      madeBy.set(`${id} ${made}`, refresh)
  }
}

/** What is looked up of customers, one by one and together, beside what the tables have. */
async function lookedUp({ id }: Brand) {
  const reader = await servedFiles.reader(id)
  if (!reader) throw new Error('nothing is published')
  // Orders, and what events set, are of removed customers, too.
  const named = await reader.rows<{ customer: number }>(`
    select distinct customer
    from (${['customers', 'orders', 'profile_properties'].map((table) => `select customer from ${table}`).join(' union all ')})
    where customer is not null order by customer`)
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

/** In the order of refreshes: one that makes several generations is one. */
async function history({ id }: Brand) {
  const changes = (await memberChanges(pipeline, id)).map(({ tick, ...change }) => ({
    ...change,
    made: madeBy.get(`${id} ${tick}`),
  }))
  return [...Map.groupBy(changes, ({ made }) => made).values()].flatMap((same) =>
    same.sort((one, other) => one.segment - other.segment || one.customer - other.customer),
  )
}

/** Both are refreshed, and show the same; false when they do not. */
async function agree(t: Test, refresh: string, asOf: Date, edited: string) {
  const [full] = await Promise.all([
    takeStep(asOf, edited),
    refreshBrand(pipeline, whole.id, { asOf, smallRows: Number.MAX_SAFE_INTEGER }),
  ])
  await noteGenerations(refresh)
  const [expected, found] = await Promise.all([shown(whole), shown(stepwise)])
  if (!t.same(found, expected, `${refresh}${full ? ', full' : ''}`)) {
    t.comment(JSON.stringify(await differing()))
    return false
  }
  return isCounted(t, found) && { full }
}

/** Also of segments that were not evaluated. */
function isCounted(t: Test, { members, audiences }: Awaited<ReturnType<typeof shown>>): boolean {
  const counts = Map.groupBy(members as { segment: number }[], ({ segment }) => segment)
  return t.same(
    audiences.map(({ ordinal, member_count }) => [ordinal, member_count]),
    audiences.map(({ ordinal }) => [ordinal, counts.get(ordinal)?.length ?? 0]),
    'so many members are counted as shown',
  )
}

/** The first and the last always. */
function stepsTaken(): number[] {
  const taken = new Set([0, STEPS])
  while (taken.size <= REFRESHES) taken.add(random.below(STEPS))
  return [...taken].sort((one, other) => one - other)
}

/** One in a hundred of them, and at least one; never the first. */
const someOf = ([, ...steps]: number[]) =>
  new Set(Array.from({ length: Math.ceil(steps.length / 100) }, () => random.pick(steps)))

t.test('refreshes of what changed show the same as full ones, at every step', async (t) => {
  for (const [n, definition] of MOVING.entries()) await save(`moving ${n}`, definition)
  const [, edited] = await save('nobody', NOBODY)
  const ids: Both[] = []
  for (let n = 0; n < 10; n++) ids.push(await save(`random ${n}`, ...randomOfBoth([...BUILT_IN, ...ids])))
  await save('not the first', ...others(ids[0]))
  // One that is evaluated every hour only.
  await save('not customers', ...others(BUILT_IN[0]))

  t.comment(`${timezone}, until ${new Date(END).toISOString()}`)
  const start = END - STEPS * STEP_MS
  for (let n = 0; n < 3; n++) await happen(start - DAY)
  const taken = stepsTaken()
  const [erasing, setting] = [someOf(taken), someOf(taken)]
  let steps = 0
  for (const step of taken) {
    // Some updates find hours gone by, some nothing new.
    const now = start + step * STEP_MS
    if (random.chance(0.8)) await happen(now)
    for (const { id } of brands) if (random.chance(0.1)) await compactBrand(pipeline, id, true)
    if (random.chance(0.05)) await editSegments(ids)
    if (setting.has(step)) await changeSettings()
    const asOf = new Date(now)
    if (erasing.has(step)) {
      await askForSomebody()
      for (const until of new Set([random.pick(STEPS_BEFORE_RESULTS), 'results' as const])) {
        for (const { id } of brands) await goOnErasing(pipeline, id, until)
        if (!(await agree(t, `step ${step}, erased until ${until}`, asOf, edited))) return
      }
      for (const { id } of brands) await goOnErasing(pipeline, id)
    }
    const agreed = await agree(t, `step ${step}`, asOf, edited)
    if (!agreed) return
    if (!agreed.full) steps++
    for (const [table, { one, together, all }] of await lookedUp(stepwise))
      if (!t.same([one, together], [all, all], `${table} by customer, step ${step}`)) return
    if (step % STEPS_A_DAY === 0 && !t.same(await history(stepwise), await history(whole), 'history so far'))
      return
  }
  const changes = await history(stepwise)
  t.same(changes, await history(whole), 'history')
  t.comment(
    Object.entries(Object.groupBy(changes, ({ reason }) => reason))
      .map(([reason, rows]) => `${rows?.length} × ${reason}`)
      .join(', '),
  )
  t.comment(`${edits} as after an edit of a rule`)
  t.ok(steps > REFRESHES / 4, `${steps} of ${REFRESHES} refreshes were incremental`)
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
