import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../app.ts'
import { filledWith, rememberFilled, type Size } from '../connect/demo/filled.ts'
import { generateDemo } from '../connect/demo/generate.ts'
import { importFile } from '../connect/import/import.ts'
import { fail } from '../errors.ts'
import type { Brand } from '../op.ts'
import { checkEmpty } from './demo-brand.ts'
import type { Progress } from './progress.ts'

const ORDER = ['products', 'customers', 'orders', 'checkouts', 'subscriptions', 'events'] as const

/**
 * Generates a store's history and imports it like any other file. It ends at the moment of the first time: the same
 * again finishes a run that was killed, and else changes nothing. Fails with conflict for a brand that has other data.
 */
export async function fillDemo(app: App, brand: Brand, size: Size, progress: (title: string) => Progress) {
  const known = filledWith(app.config, brand.id)
  if (known && !isSame(known, size))
    throw fail(
      'conflict',
      `The brand has a demo store of ${known.customers} customers, ${known.days} days and seed ${known.seed}: another one needs a brand of its own (recoup brand create).`,
    )
  const endsAt = new Date(known?.ends_at ?? Date.now())
  if (!known) {
    await checkEmpty(app, brand)
    rememberFilled(app.config, brand.id, { ...size, ends_at: endsAt.toISOString() })
  }
  const folder = join(app.config.dataDir, `demo-${brand.id}`)
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
        pipeline: app.pipeline,
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

const isSame = (one: Size, other: Size) =>
  one.customers === other.customers && one.days === other.days && one.seed === other.seed
