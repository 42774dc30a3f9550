import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type App, openApp } from '../src/app.ts'
import { createBrand } from '../src/cli/brand.ts'
import { progress } from '../src/cli/progress.ts'
import { readConfig } from '../src/config.ts'
import { generateDemo } from '../src/connect/demo/generate.ts'
import { importFile } from '../src/connect/import/import.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { createSegment } from '../src/segment/saved.ts'
import { removeEmbedded } from '../src/store/embedded.ts'
import { segmentMix } from './segment-mix.ts'

export interface LakeSize {
  customers: number
  eventsPerCustomer: number
  days: number
}

const KINDS = ['products', 'customers', 'orders', 'checkouts', 'subscriptions', 'events'] as const
/** Share of the subjects that were merged into another. */
const REDIRECTED = 0.1

/**
 * A store's history through the real import, snapshot and compaction, with the published mix of segments, refreshed once.
 * It is made once, since a million customers take half an hour, and kept in a folder with `size` in its name; what a run
 * adds goes into a copy, which `end` removes: each run finds the same.
 */
export async function segmentLake(
  folder: string,
  size: LakeSize,
  memoryMb: number,
): Promise<{ app: App; brand: Brand; end(): Promise<void> }> {
  setLogLevel('error')
  const kept = join(folder, `${size.customers}-${size.eventsPerCustomer}-${size.days}`)
  const done = join(kept, 'refreshed')
  if (!existsSync(done)) {
    await make(kept, size, memoryMb)
    writeFileSync(done, '')
  }
  const copy = `${kept}-run`
  await remove(copy)
  copyFolder(kept, copy)
  const app = await openApp(readConfig({ DATA_DIR: copy, DUCKDB_MEMORY_MB: String(memoryMb) }))
  const [brand] = await app.postgres.pipeline.many<Brand>('brands_all')
  if (!brand) throw new Error(`${kept} has no brand: remove it, to have it made anew`)
  return {
    app,
    brand,
    end: async () => {
      await app.close()
      await remove(copy)
    },
  }
}

async function remove(folder: string): Promise<void> {
  if (!(await removeEmbedded(folder))) throw new Error(`another process uses ${folder}`)
  rmSync(folder, { recursive: true, force: true })
}

/** With the owners of the files. Those of the lake are links: none is written to again. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to)
  for (const name of readdirSync(from))
    execFileSync('cp', [name === 'lake' ? '-al' : '-a', join(from, name), to])
  execFileSync('sync', ['-f', to])
}

async function make(folder: string, size: LakeSize, memoryMb: number): Promise<void> {
  await remove(folder)
  mkdirSync(folder, { recursive: true })
  const app = await openApp(readConfig({ DATA_DIR: folder, DUCKDB_MEMORY_MB: String(memoryMb) }))
  try {
    const brand = await createBrand(app, { name: 'Bench', shop_domain: 'bench.myshopify.com' })
    await fill(app, brand, join(folder, 'demo'), size)
    const db = app.postgres.forBrand(brand.id)
    for (const [n, definition] of segmentMix().entries())
      await createSegment(db, { name: `Mix ${n}`, definition, createdBy: 'cli' })
    await refreshBrand(app.pipeline, brand.id)
  } finally {
    await app.close()
  }
}

/** Ids that the store has for its customers, for events of those who are there. */
export async function storeIds({ postgres }: App, { id }: Brand): Promise<string[]> {
  const rows = await postgres.sql<{ store_customer_id: string }[]>`
    select store_customer_id from customer
    where brand_id = ${id} and store_customer_id is not null order by subject`
  return rows.map(({ store_customer_id }) => store_customer_id)
}

async function fill(app: App, brand: Brand, folder: string, size: LakeSize): Promise<void> {
  const making = progress('demo data')
  const { files } = await generateDemo({
    ...size,
    seed: 1,
    endsAt: new Date(),
    folder,
    currency: brand.currency_code,
    memoryMb: 6_000,
    onProgress: (share) => making.update(Math.round(share * 100), 100),
  })
  making.end()
  for (const kind of KINDS) {
    const shown = progress(`import ${kind}`)
    await importFile({
      pipeline: app.pipeline,
      brand,
      kind,
      file: files[kind],
      onProgress: (done, total) => shown.update(done, total),
    })
    shown.end()
  }
  rmSync(folder, { recursive: true, force: true })
  await snapshotAll(app.pipeline)
  // Every tenth subject, of those that never said who they are, belongs to a customer.
  const { sql } = app.postgres
  await sql`
    insert into subject_redirect (brand_id, subject, customer)
    select brand_id, subject, 1 + (subject::bigint * 7919) % ${size.customers}
    from (
      select brand_id, subject from customer
      where brand_id = ${brand.id} and email is null and phone is null and store_customer_id is null
        and subject > ${size.customers}
      order by subject
      limit (select (count(*) * ${REDIRECTED}::double precision)::bigint from customer where brand_id = ${brand.id})
    ) as anonymous
    on conflict do nothing`
  await snapshotAll(app.pipeline)
  while ((await compactBrand(app.pipeline, brand.id, true)) > 0);
}
