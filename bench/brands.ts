import { zstdCompressSync } from 'node:zlib'
import { v7 as uuidv7 } from 'uuid'
import { createBrand } from '../src/cli/brand.ts'
import { table } from '../src/cli/table.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { compactStaging } from '../src/lake/compact-staging.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import { options } from './options.ts'
import { rssMb, stage } from './stage.ts'

// Many brands with a trickle of events each: ticks, compaction, and how many files that makes.
const { values } = options({
  options: {
    brands: { type: 'string', default: '1000' },
    ticks: { type: 'string', default: '24' },
    events: { type: 'string', default: '5' },
  },
})
const [brands, ticks, events] = [values.brands, values.ticks, values.events].map(Number) as [
  number,
  number,
  number,
]
const { app, end } = await stage()
try {
  const { sql } = app.postgres
  const ids: string[] = []
  for (let n = 0; n < brands; n++)
    ids.push((await createBrand(app, { name: `Brand ${n}`, shop_domain: `brand-${n}.myshopify.com` })).id)
  const times: number[] = []
  const cutEvery = Math.ceil(ticks / 2)
  for (let tick = 0; tick < ticks; tick++) {
    let lines = ''
    const now = Date.now()
    for (const [n, id] of ids.entries()) {
      for (let event = 0; event < events; event++) {
        lines += `${JSON.stringify({ brand_id: id, event_id: `${tick}-${n}-${event}`, event_type: 'page_viewed', received_at: now, occurred_at: now, anonymous_id: `v${tick % 7}-${event}`, properties: { path: '/' } })}\n`
      }
    }
    await sql`insert into event_log (received_at, batch_id, event_count, payload)
      values (${new Date(now)}, ${uuidv7()}, ${brands * events}, ${zstdCompressSync(Buffer.from(lines))})`
    const started = performance.now()
    await snapshot(app.pipeline)
    await compactStaging(app.pipeline)
    times.push(performance.now() - started)
    // Twice in the run every brand cuts its staged rows, as it does every 4 hours.
    if ((tick + 1) % cutEvery === 0) for (const id of ids) await compactBrand(app.pipeline, id, true)
  }
  const [files] = await sql<{ live: number; written: number; most: number }[]>`
    select count(*) filter (where retired_at is null) as live, count(*) as written,
      (select max(files) from (
        select count(*) as files from lake_file
        where relation = 'events' and retired_at is null and brand_id is not null group by brand_id
      ) as per_brand) as most
    from lake_file`
  const [shared] = await sql<
    { files: number }[]
  >`select count(*) as files from lake_file where brand_id is null and relation = 'events' and retired_at is null`
  times.sort((a, b) => a - b)
  process.stdout.write(`node bench/brands.ts --brands ${brands} --ticks ${ticks} --events ${events}\n`)
  process.stdout.write(
    `${table(
      [
        'brands',
        'ticks',
        'tick ms (median)',
        'tick ms (max)',
        'files written',
        'event files of a brand, staged included',
        'RSS MB',
      ],
      [
        [
          brands,
          ticks,
          Math.round(times[ticks >> 1] ?? 0),
          Math.round(times.at(-1) ?? 0),
          files?.written,
          (files?.most ?? 0) + (shared?.files ?? 0),
          rssMb(),
        ],
      ],
    )}\n`,
  )
} finally {
  await end()
}
