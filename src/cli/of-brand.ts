import type { App } from '../app.ts'
import type { Brand } from '../op.ts'
import { shopDomain } from './brand-settings.ts'
import { type Run, required, UsageError } from './command.ts'

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whom a command is about. */
export const brand = {
  type: 'string',
  required: true,
  placeholder: 'BRAND',
  what: 'Id, shop or name',
} as const

/** The same of a command that most often is about the only one. */
export const brandUnlessOnly = {
  ...brand,
  required: false,
  what: 'Id, shop or name (default: the only brand)',
} as const

/** The stores, opened, and the brand of --brand in them. */
export async function ofBrand({ app: open, values }: Pick<Run, 'app' | 'values'>) {
  const app = await open()
  const found = await brandOf(app, required(values, 'brand'))
  return { app, brand: found, db: app.postgres.forBrand(found.id) }
}

/** The brand of --brand: its id, its shop (with or without the platform's domain) or its exact name. */
export async function brandOf(app: App, wanted: string, where = '--brand'): Promise<Brand> {
  const id = UUID.test(wanted) ? wanted : null
  const found = await app.postgres.pipeline.many<Brand>('brands_named', [
    id,
    shopDomain(wanted, app.config),
    wanted,
  ])
  const [brand] = found
  if (found.length > 1) throw new UsageError(`${where}: several brands are named "${wanted}"; use the id`)
  if (brand) return brand
  const all = await app.postgres.pipeline.many<Brand>('brands_all')
  const known = all.length
    ? `Known: ${all.map((one) => `${one.shop_domain} (${one.id})`).join(', ')}`
    : 'There is none yet: recoup brand create'
  throw new UsageError(`${where}: there is no brand "${wanted}". ${known}`)
}

/** The brand of --brand; without it the only one. */
export async function brandOrOnly(app: App, wanted: string | undefined): Promise<Brand> {
  if (wanted) return await brandOf(app, wanted)
  const brands = await app.postgres.pipeline.many<Brand>('brands_all')
  const [brand] = brands
  if (!brand) throw new UsageError('There is no brand yet: recoup brand create')
  if (brands.length > 1)
    throw new UsageError(
      `--brand is missing. Known: ${brands.map(({ shop_domain }) => shop_domain).join(', ')}`,
    )
  return brand
}
