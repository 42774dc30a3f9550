import { table } from '../src/cli/table.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import { options } from './options.ts'
import { fillLog, rssMb, seconds, stage } from './stage.ts'

// Events of the log to Parquet: read, checked, deduplicated, subjects resolved, written, synced, published.
const { values } = options({
  options: {
    events: { type: 'string', default: '1000000' },
    customers: { type: 'string', default: '100000' },
  },
})
const events = Number(values.events)
const customers = Number(values.customers)
const { app, brand, end } = await stage()
try {
  const rows: unknown[][] = []
  // The second round meets customers that are known already, and compares ids with the first.
  for (const round of ['new customers', 'known customers']) {
    const bytes = await fillLog(app, brand, { events, customers, ids: round, days: 365 })
    const started = performance.now()
    let read = 0
    for (let more = true; more; ) {
      const report = await snapshot(app.pipeline)
      read += report.read
      more = report.more
    }
    const ms = performance.now() - started
    const compaction = performance.now()
    await compactBrand(app.pipeline, brand.id)
    rows.push([
      round,
      read,
      Math.round(bytes),
      seconds(ms),
      Math.round((read / ms) * 1000),
      seconds(performance.now() - compaction),
      rssMb(),
    ])
  }
  process.stdout.write(`node bench/snapshot.ts --events ${events} --customers ${customers}\n`)
  process.stdout.write(
    `${table(['round', 'events', 'bytes/event', 'seconds', 'events/s', 'compaction s', 'RSS MB'], rows)}\n`,
  )
} finally {
  await end()
}
