import t from 'tap'
import { compactBrand } from '../src/lake/compact.ts'
import { compactStaging } from '../src/lake/compact-staging.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { openSession } from '../src/lake/session.ts'
import { setLogLevel } from '../src/log.ts'
import { loadModels } from '../src/model/graph.ts'
import { runModels } from '../src/model/run.ts'
import { parseDefinition } from '../src/segment/definition.ts'
import { compileOne } from '../src/segment/plan.ts'
import { openReading } from '../src/segment/reading.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { lake, logBatch } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'

setLogLevel('error')

const DAY = 86_400_000
const STEP = 3 * 3_600_000
const START = Date.parse('2026-05-01T10:00:00Z')
const CUSTOMERS = 30
const random = randomSource(t)
// Few rows: a second thread costs more than it gives.
const pipeline = { ...(await lake(t)), threads: 1 }
const { sql } = pipeline.postgres
const brand = await newBrand(pipeline)
const INCREMENTAL = { smallRows: 0, mostTouched: 9 }

/** Often at the edge of what is copied, and of what windows look at. */
const before = (now: number) =>
  now - random.pick([0, 1, 30, 90, 91, 92, 200]) * DAY - random.pick([0, 1, -1, random.below(STEP)])

const who = () => random.below(CUSTOMERS)
const viewed = (now: number) => ({
  ...{
    brand_id: brand.id,
    event_type: random.pick(['product_viewed', 'product_added_to_cart', 'page_viewed']),
  },
  ...{ received_at: now, occurred_at: Math.min(now, before(now)) },
  ...random.pick([
    { store_customer_id: `${who()}` },
    { anonymous_id: `v${who()}` },
    { anonymous_id: `v${who()}`, email: `c${who()}@example.com` },
    { store_customer_id: `${who()}`, email: `c${who()}@example.com` },
  ]),
  properties: { product_id: random.pick(['p1', 'p2']), price: '10.00' },
})

/** The same orders again and again, as others' or at another time. */
const order = (now: number) => sql`
  insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, lines, created_at, updated_at)
  values (${brand.id}, ${`o${random.below(40)}`}, gen_random_uuid(),
    (select subject from identifier where brand_id = ${brand.id} and kind = 'store_customer_id' and value = ${`${who()}`}),
    ${random.pick(['complete', 'cancelled'])}, 'paid', 'USD', ${1 + random.below(50)},
    ${sql.json([{ id: '1', product_id: random.pick(['p1', 'p2']), quantity: 1, price: 5, total: 5 }])},
    ${new Date(before(now))}, now())
  on conflict (brand_id, external_id) do update
  set subject = excluded.subject, state = excluded.state, total = excluded.total, lines = excluded.lines,
    created_at = excluded.created_at, deleted = false`

async function happen(now: number): Promise<void> {
  await logBatch(
    sql,
    random.list(5, 25, () => viewed(now)),
  )
  await snapshotAll(pipeline)
  for (let n = random.below(8); n > 0; n--) await order(now)
  if (random.chance(0.5))
    await sql`
      update store_order set deleted = true where brand_id = ${brand.id} and external_id = ${`o${random.below(40)}`}`
  await snapshotAll(pipeline)
}

const DEFINITIONS = [1, 90, 91, 92].flatMap((days) => {
  const window = { days }
  const bought = { field: 'product_id', op: '=', value: 'p1' }
  return [
    { source: 'product_events', rule: { op: 'count-over-window', window } },
    {
      source: 'product_events',
      rule: { agg: 'countDistinct', field: 'product_id', window, op: '>=', value: 2 },
    },
    {
      source: 'commerce_orders',
      rule: { op: 'count-over-window', window, times: { op: '<', n: 1 }, where: [bought] },
    },
    { source: 'commerce_orders', rule: { agg: 'sum', field: 'total', window, op: '>', value: 20 } },
    {
      source: 'commerce_orders',
      rule: { agg: 'max', field: 'price', window, where: [bought], op: '>', value: 1 },
    },
  ]
})

/** Members of each definition, as an estimate finds them. */
async function estimated(asOf: Date): Promise<unknown[]> {
  const session = await openReading(pipeline, brand, asOf, INCREMENTAL)
  try {
    const found = []
    for (const definition of DEFINITIONS) {
      const { text, values } = compileOne(parseDefinition(definition), session.asOf)
      found.push(await session.duck.rows(`${text} order by 1`, values))
    }
    return found
  } finally {
    await session.close()
  }
}

/** The same over all files, without anything that was published. */
async function computed(asOf: Date): Promise<unknown[]> {
  const session = await openSession(pipeline, brand, asOf)
  try {
    await runModels(session.duck.connection, await loadModels())
    const found = []
    for (const definition of DEFINITIONS) {
      const { text, values } = compileOne(parseDefinition(definition))
      found.push(await session.duck.rows(`${text} order by 1`, values))
    }
    return found
  } finally {
    await session.close()
  }
}

t.test('estimates by copies of the recent rows find who is found without them', async (t) => {
  for (let n = 0; n < 3; n++) await happen(START - DAY)
  for (let step = 0; step < 6; step++) {
    const now = START + step * STEP
    await happen(now)
    if (step % 3 === 2) await compactBrand(pipeline, brand.id, true)
    // Everyone is computed at first and once later, so that copies come from two refreshes.
    const options = step === 3 ? { smallRows: 0, mostTouched: 0 } : INCREMENTAL
    if (step % 2 === 0 || step === 3)
      await refreshBrand(pipeline, brand.id, { asOf: new Date(now), ...options })
    const asOf = new Date(now + random.pick([0, 1, STEP / 2]))
    t.same(await estimated(asOf), await computed(asOf), `step ${step}`)
  }
})

t.test('an estimate over the days of the copies reads no older rows', async (t) => {
  const session = await openReading(pipeline, brand, new Date(START + 6 * STEP), INCREMENTAL)
  t.teardown(() => session.close())
  const planOf = async (days: number) => {
    const definition = { source: 'product_events', rule: { op: 'count-over-window', window: { days } } }
    const { text, values } = compileOne(parseDefinition(definition), session.asOf)
    const reader = await session.duck.connection.runAndReadAll(`explain (format json) ${text}`, values)
    return String(reader.getRows().map((row) => row[1]))
  }
  const older = /tick ?<=/
  t.match(await planOf(92), older)
  t.notMatch(await planOf(91), older)
  t.match(await planOf(91), /recent_product_events/)
})

t.test('orders that came since the copies are read where shared files of theirs were merged', async (t) => {
  const asOf = new Date(START + 7 * STEP)
  await refreshBrand(pipeline, brand.id, { asOf, smallRows: 0, mostTouched: 0 })
  for (let merged = 0; merged === 0; merged = await compactStaging(pipeline)) {
    await order(Number(asOf))
    await snapshotAll(pipeline)
  }
  t.same(await estimated(asOf), await computed(asOf))
  await refreshBrand(pipeline, brand.id, { asOf, ...INCREMENTAL })
  t.same(await estimated(asOf), await computed(asOf))
})
