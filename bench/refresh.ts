import { table } from '../src/cli/table.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { createSegment } from '../src/segment/saved.ts'
import { options } from './options.ts'
import { fillLog, rssMb, seconds, stage } from './stage.ts'

// 20 segments over events that went through the real snapshot and compaction: models, members, publication.
const { values } = options({
  options: {
    events: { type: 'string', default: '5000000' },
    customers: { type: 'string', default: '200000' },
    orders: { type: 'string', default: '500000' },
  },
})
const [events, customers, orders] = [values.events, values.customers, values.orders].map(Number) as [
  number,
  number,
  number,
]

const viewed = (days: number, n: number, product?: string) => ({
  source: 'product_events',
  rule: {
    op: 'count-over-window',
    window: { days },
    times: { op: '>=', n },
    where: [
      { field: 'event_kind', op: '=', value: 'product_viewed' },
      ...(product ? [{ field: 'product_id', op: '=', value: product }] : []),
    ],
  },
})
const profile = (field: string, op: string, value: unknown) => ({
  source: 'customer_profile',
  rule: { field, op, value },
})
const spent = (days: number, op: string, value: string) => ({
  source: 'commerce_orders',
  rule: { agg: 'sum', field: 'total', window: { days }, op, value },
})

const DEFINITIONS = [
  ...[7, 30, 90, 365].map((days) => viewed(days, 2)),
  ...[7, 30, 90].map((days) => viewed(days, 5)),
  ...['p1', 'p20', 'p333'].map((product) => viewed(365, 1, product)),
  profile('total_spend', '>=', '500.00'),
  profile('orders_count', '>=', 3),
  profile('last_order_at', 'notWithinLast', { days: 90 }),
  profile('last_event_at', 'withinLast', { days: 14 }),
  spent(365, '>=', '200.00'),
  spent(90, '>=', '50.00'),
  { source: 'commerce_orders', rule: { field: 'product_id', op: '=', value: 'p7' } },
  {
    source: 'commerce_orders',
    rule: { op: 'count-over-window', window: { days: 365 }, times: { op: '>=', n: 4 } },
  },
  { source: 'commerce_orders', rule: { agg: 'avg', field: 'total', op: '>', value: '60.00' } },
  {
    source: 'product_events',
    rule: {
      all: [
        viewed(30, 1).rule,
        { not: { source: 'commerce_orders', op: 'count-over-window', window: { days: 60 } } },
      ],
    },
  },
]

const { app, brand, end } = await stage(3000)
try {
  const { sql } = app.postgres
  process.stderr.write(`filling ${events} events …\n`)
  for (let done = 0; done < events; done += 500_000) {
    await fillLog(app, brand, {
      events: Math.min(500_000, events - done),
      customers,
      days: 365,
      ids: `part-${done}`,
    })
    await snapshotAll(app.pipeline)
    await compactBrand(app.pipeline, brand.id)
  }
  await sql`
    insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, lines, created_at, updated_at)
    select ${brand.id}, n::text, gen_random_uuid(), 1 + (n::bigint * 7919 % ${customers}::bigint)::integer, 'complete', 'paid', 'USD', 10 + n % 90,
      jsonb_build_array(jsonb_build_object('id', '1', 'product_id', 'p' || (n % 400), 'quantity', 1, 'price', 10 + n % 90, 'total', 10 + n % 90)),
      now() - make_interval(mins => (n::bigint * 104729 % 525600)::integer), now()
    from generate_series(1, ${orders}::integer) as n`
  await snapshotAll(app.pipeline)
  await compactBrand(app.pipeline, brand.id)
  const db = app.postgres.forBrand(brand.id)
  for (const [n, definition] of DEFINITIONS.entries())
    await createSegment(db, { name: `Segment ${n}`, definition, createdBy: 'cli' })

  const rows: unknown[][] = []
  for (const round of ['first', 'second', 'third']) {
    const started = performance.now()
    const { steps } = await refreshBrand(app.pipeline, brand.id)
    const total = performance.now() - started
    rows.push([
      round,
      ...steps.map(({ ms }) => seconds(ms)),
      seconds(total),
      steps.find(({ step }) => step === 'members')?.rows,
      rssMb(),
    ])
  }
  process.stdout.write(
    `node bench/refresh.ts --events ${events} --customers ${customers} --orders ${orders}  (${DEFINITIONS.length} segments, events of about 290 bytes)\n`,
  )
  process.stdout.write(
    `${table(['refresh', 'models s', 'segments s', 'members s', 'publish s', 'total s', 'member changes', 'RSS MB'], rows)}\n`,
  )
} finally {
  await end()
}
