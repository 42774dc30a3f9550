import { refresh } from '../jobs/refresh.ts'
import { createBrand } from '../src/cli/brand.ts'
import { table } from '../src/cli/table.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { loadModels } from '../src/model/graph.ts'
import type { Part } from '../src/segment/part.ts'
import { resultsHash } from '../src/segment/recipe.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { createSegment } from '../src/segment/saved.ts'
import { editRules } from './edited-rules.ts'
import { options } from './options.ts'
import { segmentMix } from './segment-mix.ts'
import { fillLog, rssMb, seconds, stage } from './stage.ts'

// Rounds of the refresh over many small brands: the first, one after news of each, one in which nothing changed, and one
// of all segments anew, without models.
const { values } = options({
  options: {
    brands: { type: 'string', default: '1000' },
    customers: { type: 'string', default: '2000' },
    events: { type: 'string', default: '20000' },
  },
})
const [brands, customers, events] = [values.brands, values.customers, values.events].map(Number) as [
  number,
  number,
  number,
]
/** Every fifth of the published mix. */
const definitions = segmentMix().filter((_, n) => n % 5 === 0)
const { app, end } = await stage()
const rows: unknown[][] = []

/**
 * All brands whose turn has come by the planner's own statement, as many at a time as the queue has workers. Returns how
 * many there were.
 */
async function round(name: string, parts?: readonly Part[]): Promise<number> {
  const { pipeline } = app.postgres
  const [started, cpu] = [performance.now(), process.cpuUsage()]
  const due = await pipeline.many<{ brand_id: string }>('brands_to_refresh', [
    new Date(),
    60,
    resultsHash(await loadModels()),
  ])
  const left = due.values()
  const worker = async () => {
    for (const { brand_id } of left) await refreshBrand(app.pipeline, brand_id, { ...(parts && { parts }) })
  }
  await Promise.all(Array.from({ length: refresh.workers ?? 1 }, worker))
  const { user, system } = process.cpuUsage(cpu)
  rows.push([
    name,
    due.length,
    seconds(performance.now() - started),
    seconds((user + system) / 1000),
    rssMb(),
  ])
  return due.length
}

try {
  const made = []
  for (let n = 0; n < brands; n++) {
    const brand = await createBrand(app, { name: `Brand ${n}`, shop_domain: `brand-${n}.myshopify.com` })
    const db = app.postgres.forBrand(brand.id)
    for (const [at, definition] of definitions.entries())
      await createSegment(db, { name: `Mix ${at}`, definition, createdBy: 'cli' })
    await fillLog(app, brand, { events, customers, days: 365, ids: 'history' })
    made.push(brand)
  }
  await snapshotAll(app.pipeline)
  for (const { id } of made) await compactBrand(app.pipeline, id, true)
  await round('first')
  for (const brand of made) await fillLog(app, brand, { events: 20, customers, days: 1 / 96, ids: 'news' })
  await snapshotAll(app.pipeline)
  await round('news of each brand')
  const before = rows.length
  // Time ends windows during a round, too: the last of these is one in which nothing changed.
  while ((await round('nothing new')) > 0);
  rows.splice(before, rows.length - before - 1)
  for (const { id } of made) await editRules(app.postgres, id, 1)
  await round('segments anew, a rule of each was edited', ['segments'])
  process.stdout.write(
    `node bench/round.ts --brands ${brands} --customers ${customers} --events ${events}  (${definitions.length} segments each)\n`,
  )
  process.stdout.write(`${table(['round', 'brands due', 's', 'CPU s', 'RSS MB'], rows)}\n`)
} finally {
  await end()
}
