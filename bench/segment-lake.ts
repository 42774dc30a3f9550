import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
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
import { removeEmbedded } from '../src/store/embedded.ts'

export interface LakeSize {
  customers: number
  eventsPerCustomer: number
  days: number
}

const KINDS = ['products', 'customers', 'orders', 'checkouts', 'subscriptions', 'events'] as const
/** Share of the subjects that were merged into another. */
const REDIRECTED = 0.1

/**
 * A store's history through the real import, snapshot and compaction. It is kept in a folder for the next run, since
 * a million customers take some minutes; `size` is part of the folder's name.
 */
export async function segmentLake(
  folder: string,
  size: LakeSize,
  memoryMb: number,
): Promise<{ app: App; brand: Brand }> {
  setLogLevel('error')
  const dataDir = join(folder, `${size.customers}-${size.eventsPerCustomer}-${size.days}`)
  const done = join(dataDir, 'complete')
  if (!existsSync(done)) {
    await removeEmbedded(dataDir).catch(() => false)
    rmSync(dataDir, { recursive: true, force: true })
  }
  mkdirSync(dataDir, { recursive: true })
  const app = await openApp(readConfig({ DATA_DIR: dataDir }), { memoryMb })
  const [known] = await app.postgres.pipeline.many<Brand>('brands_all')
  const brand = known ?? (await createBrand(app, { name: 'Bench', shop_domain: 'bench.myshopify.com' }))
  if (existsSync(done)) return { app, brand }
  await fill(app, brand, join(dataDir, 'demo'), size)
  writeFileSync(done, '')
  return { app, brand }
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
  const { storePlatformDomain } = app.config
  for (const kind of KINDS) {
    const shown = progress(`import ${kind}`)
    await importFile({
      postgres: app.postgres,
      storePlatformDomain,
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
