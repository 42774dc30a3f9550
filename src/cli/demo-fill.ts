import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../app.ts'
import { generateDemo } from '../connect/demo/generate.ts'
import { importFile } from '../connect/import/import.ts'
import { fail } from '../errors.ts'
import type { Brand } from '../op.ts'
import type { Progress } from './progress.ts'

interface Size {
  customers: number
  days: number
  seed: number
}

/** The data folder remembers of each brand what it was filled with: only to the same end is it the same history again. */
interface Filled extends Size {
  ends_at: string
}

const ORDER = ['products', 'customers', 'orders', 'checkouts', 'subscriptions', 'events'] as const

/**
 * Generates a store's history and imports it like any other file. It ends at the moment of the first time: the same
 * again finishes a run that was killed, and else changes nothing. Fails with conflict for a brand that has other data.
 */
export async function fillDemo(app: App, brand: Brand, size: Size, progress: (title: string) => Progress) {
  const memory = join(app.config.dataDir, `demo-${brand.id}.json`)
  const known = filled(memory)
  if (known && !isSame(known, size))
    throw fail(
      'conflict',
      `The brand has a demo store of ${known.customers} customers, ${known.days} days and seed ${known.seed}: another one needs a brand of its own (recoup brand create).`,
    )
  const endsAt = new Date(known?.ends_at ?? Date.now())
  if (!known) {
    await checkEmpty(app, brand)
    writeFileSync(memory, JSON.stringify({ ...size, ends_at: endsAt.toISOString() } satisfies Filled))
  }
  const folder = join(app.config.dataDir, 'demo')
  mkdirSync(folder, { recursive: true })
  try {
    const making = progress('demo data')
    const { files, counts } = await generateDemo({
      ...size,
      endsAt,
      folder,
      currency: brand.currency_code,
      storefront: `https://${brand.shop_domain}`,
      onProgress: (share) => making.update(Math.round(share * 100), 100),
    })
    making.end()
    for (const kind of ORDER) {
      const shown = progress(`import ${kind}`)
      await importFile({
        postgres: app.postgres,
        storePlatformDomain: app.config.storePlatformDomain,
        brand,
        kind,
        file: files[kind],
        onProgress: (done: number, total: number) => shown.update(done, total),
      })
      shown.end()
    }
    return counts
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function filled(memory: string): Filled | null {
  try {
    return JSON.parse(readFileSync(memory, 'utf8')) as Filled
  } catch {
    return null
  }
}

const isSame = (one: Size, other: Size) =>
  one.customers === other.customers && one.days === other.days && one.seed === other.seed

async function checkEmpty({ postgres }: App, { id }: Brand): Promise<void> {
  const { empty } = await postgres.forBrand(id).one<{ empty: boolean }>('brand_empty')
  if (!empty)
    throw fail(
      'conflict',
      'The brand has customers, orders or products: a demo store needs a brand of its own (recoup brand create).',
    )
}
