import t from 'tap'
import { v7 } from 'uuid'
import { createKey } from '../src/access/key.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import { OPS } from '../src/ops/all.ts'
import { openReading } from '../src/segment/reading.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, lakeOf, logBatch } from './fixtures/lake.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'
import { client } from './fixtures/shop.ts'

setLogLevel('error')

const DAY = 86_400_000
const NOW = Date.now()
const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = db.postgres

/** What happened to an order, in cents and milliseconds. */
interface History {
  external_id: string
  cents: number
  placed: number
  isPaid: boolean
  refunds: { at: number; cents: number }[]
  cancelled: number | null
}

interface State {
  external_id: string
  state: string
  billing_status: string
  refunded_total: string
  cancelled_at: number | null
}

/** What a store says of an order after all that happened until an instant. */
function stateAt({ external_id, cents, isPaid, refunds, cancelled }: History, instant: number): State {
  const isCancelled = cancelled !== null && cancelled <= instant
  const refunded = refunds.filter(({ at }) => at <= instant).reduce((sum, one) => sum + one.cents, 0)
  const unpaid = isCancelled ? 'voided' : 'pending'
  const paid = refunded === 0 ? 'paid' : refunded < cents ? 'partially_refunded' : 'refunded'
  const billing_status = isPaid ? paid : unpaid
  const settled = ['refunded', 'pending'].includes(billing_status) ? billing_status : 'complete'
  return {
    external_id,
    state: isCancelled ? 'cancelled' : settled,
    billing_status,
    refunded_total: (refunded / 100).toFixed(2),
    cancelled_at: isCancelled ? cancelled : null,
  }
}

function randomHistory(random: RandomSource, n: number): History {
  const cents = 100 + random.below(9_900)
  const placed = NOW - (2 + random.below(60)) * DAY
  const later = () => placed + 1 + random.below(NOW - placed - 1)
  const isPaid = random.chance(0.8)
  const parts = isPaid ? random.pick([[], [], [cents], [1], [1, cents - 1], [cents - 50, 25]]) : []
  return {
    ...{ external_id: `o${n}`, cents, placed, isPaid },
    refunds: parts.map((part) => ({ at: later(), cents: part })),
    cancelled: random.chance(0.3) ? later() : null,
  }
}

const money = (cents: number) => (cents / 100).toFixed(2)

async function store(
  brandId: string,
  histories: readonly History[],
  recovered: number | null,
): Promise<void> {
  const orders = histories.map((one) => {
    const { cancelled_at, ...now } = stateAt(one, NOW)
    return {
      ...{ brand_id: brandId, id: v7(), subject: 1, currency_code: 'USD', total: money(one.cents), ...now },
      cancelled_at: cancelled_at === null ? null : new Date(cancelled_at),
      recovered_at: recovered === null ? null : new Date(recovered),
      ...{ created_at: new Date(one.placed), updated_at: new Date(NOW) },
    }
  })
  await sql`insert into store_order ${sql(orders as never)}`
  const refunds = histories.flatMap(({ external_id, refunds: all }) =>
    all.map(({ at, cents }, n) => ({
      ...{ brand_id: brandId, id: v7(), external_id: `${external_id}-${n}`, order_external_id: external_id },
      ...{ currency_code: 'USD', total: money(cents), created_at: new Date(at) },
    })),
  )
  if (refunds.length) await sql`insert into refund ${sql(refunds as never)}`
}

async function madeOf(
  histories: readonly History[],
  { recovered = null }: { recovered?: number | null } = {},
) {
  const brand = await newBrand(db, { features: ['cdp', 'beta:cdp-commerce'] })
  await sql`insert into customer (brand_id, subject, id, provenance) values (${brand.id}, 1, ${`one:${brand.id}`}, 'server')`
  if (histories.length) await store(brand.id, histories, recovered)
  await snapshotAll(pipeline)
  await refreshBrand(pipeline, brand.id)
  return brand
}

t.test('orders of a past instant are what they were before later refunds and cancellations', async (t) => {
  const random = randomSource(t)
  const histories = Array.from({ length: 120 }, (_, n) => randomHistory(random, n))
  const brand = await madeOf(histories)
  // At the instants when something happens, too, and just before.
  const moments = histories.flatMap(({ refunds, cancelled }) => [
    ...refunds.map(({ at }) => at),
    cancelled ?? [],
  ])
  const instants = Array.from({ length: 8 }, () => random.pick(moments.flat()) - random.below(2))
  for (const instant of instants) {
    const session = await openReading(pipeline, brand, new Date(instant))
    try {
      const rows = await session.duck.rows<State>(
        `select external_id, state, billing_status, refunded_total::varchar as refunded_total,
           epoch_ms(cancelled_at)::double as cancelled_at
         from stg_orders order by external_id`,
      )
      const wanted = histories
        .filter(({ placed }) => placed <= instant)
        .map((one) => stateAt(one, instant))
        .sort((a, b) => (a.external_id < b.external_id ? -1 : 1))
      t.same(rows, wanted, new Date(instant).toISOString())
    } finally {
      await session.close()
    }
  }
})

t.test('an order of a past instant is recovered only once it was', async (t) => {
  const [bought, recovered] = [NOW - 9 * DAY, NOW - 5 * DAY]
  const order = { external_id: 'came back', cents: 5_000, placed: bought, isPaid: true }
  const brand = await madeOf([{ ...order, refunds: [], cancelled: null }], { recovered })
  for (const [instant, at] of [
    [recovered - 1, null],
    [recovered, recovered],
  ] as const) {
    const session = await openReading(pipeline, brand, new Date(instant))
    const asked = 'select epoch_ms(recovered_at)::double as at from stg_orders'
    t.same(await session.duck.rows(asked).finally(session.close), [{ at }])
  }
})

t.test('a brand that never sold anything has a past, too', async (t) => {
  const brand = await madeOf([])
  const session = await openReading(pipeline, brand, new Date(NOW - DAY))
  t.teardown(() => session.close())
  t.same(await session.duck.rows('from stg_orders'), [])
})

t.test('attributes are as they are now, also of a past instant', async (t) => {
  const brand = await newBrand(pipeline)
  const set = (days: number, size: string) =>
    logBatch(sql, [
      {
        brand_id: brand.id,
        email: 'ann@example.com',
        event_type: 'updateProperties',
        properties: { size },
        occurred_at: NOW - days * DAY,
      },
    ])
  await set(9, 'S')
  await set(1, 'L')
  await snapshotAll(pipeline)
  await refreshBrand(pipeline, brand.id)
  for (const past of [new Date(NOW - 5 * DAY), new Date(NOW - 20 * DAY)]) {
    const session = await openReading(pipeline, brand, past)
    const asked = `select value, elements from stg_customer_attributes where name = 'size'`
    t.same(await session.duck.rows(asked).finally(session.close), [{ value: 'L', elements: ['L'] }])
  }
})

t.test('of an instant since the last refresh marts have attributes as they are now, too', async (t) => {
  const brand = await newBrand(pipeline)
  const set = (size: string) =>
    logBatch(sql, [
      { brand_id: brand.id, email: 'ann@example.com', event_type: 'updateProperties', properties: { size } },
    ])
  await set('S')
  await snapshotAll(pipeline)
  await refreshBrand(pipeline, brand.id)
  const between = new Date(Date.now() - 1)
  await set('L')
  await snapshotAll(pipeline)
  for (const smallRows of [0, 1_000]) {
    const session = await openReading(pipeline, brand, between, { smallRows })
    const rows = await session.duck.rows('select properties from profiles').finally(session.close)
    t.same(rows, [{ properties: '{"size":"L"}' }], `${smallRows}`)
  }
})

t.test('an instant since the last refresh is a past one, too', async (t) => {
  const placed = NOW - DAY
  const history = { external_id: 'given back', cents: 5_000, placed, isPaid: true, cancelled: null }
  const brand = await madeOf([{ ...history, refunds: [] }])
  const between = new Date()
  const refunded = { ...history, refunds: [{ at: between.getTime() + 1, cents: 4_000 }] }
  const { state, billing_status, refunded_total } = stateAt(refunded, between.getTime() + 1)
  await sql`
    update store_order set ${sql({ state, billing_status, refunded_total, updated_at: new Date(NOW + 1) })}
    where brand_id = ${brand.id}`
  await sql`
    insert into refund (brand_id, id, external_id, order_external_id, currency_code, total, created_at)
    values (${brand.id}, ${v7()}, 'r', 'given back', 'USD', 40, ${new Date(between.getTime() + 1)})`
  await snapshotAll(pipeline)
  for (const [past, ltv] of [
    [between, '50.00'],
    [undefined, '10.00'],
  ] as const) {
    const session = await openReading(pipeline, brand, past, { smallRows: 0 })
    t.same(await session.duck.rows('select ltv from ltv'), [{ ltv }])
    await session.close()
  }
})

t.test('insights of a past instant count what was given back since', async (t) => {
  const at = (day: string) => Date.parse(`${day}T12:00:00Z`)
  const one = { placed: at('2026-01-10'), isPaid: true, cancelled: null }
  const brand = await madeOf([
    { ...one, external_id: 'part', cents: 10_000, refunds: [{ at: at('2026-03-01'), cents: 4_000 }] },
    { ...one, external_id: 'whole', cents: 700, refunds: [{ at: at('2026-04-01'), cents: 700 }] },
    { ...one, external_id: 'gone', cents: 90, refunds: [], cancelled: at('2026-05-01') },
  ])
  const made = await api(t, db, OPS, { lake: lakeOf(t, pipeline) })
  const { plaintext } = await createKey(db.postgres.forBrand(brand.id), { scopes: ['customers:read'] })
  const ask = client(t, made, plaintext)
  const totals = {
    '2026-02-01': '107.90',
    '2026-03-02': '67.90',
    '2026-04-02': '60.90',
    '2026-05-02': '60.00',
  }
  for (const [day, total] of Object.entries(totals)) {
    const { body } = await ask(`GET /v1/insights/lifetime-value?as_of=${day}T00:00:00Z`)
    t.equal(body.total_revenue, total, day)
  }
  t.equal((await ask('GET /v1/insights/lifetime-value')).body.total_revenue, '60.00', 'now')
})
