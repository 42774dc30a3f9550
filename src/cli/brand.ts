import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import type { App } from '../app.ts'
import { fail, isUniqueViolation } from '../errors.ts'
import type { Brand } from '../op.ts'
import { type BrandSettings, FEATURES, SETTING_OPTIONS, settingsOf } from './brand-settings.ts'
import { command, UsageError } from './command.ts'
import { everywhere } from './everywhere.ts'
import { brandOf } from './of-brand.ts'
import { table } from './table.ts'

export type NewBrand = Pick<BrandSettings, 'name' | 'shop_domain'> & Partial<BrandSettings>

/** Makes a brand from settings that were checked. */
export async function createBrand(app: App, brand: NewBrand): Promise<Brand> {
  const id = uuidv7()
  const { name, shop_domain, storefront_domains = [], features = FEATURES } = brand
  const { currency_code = 'USD', timezone = 'UTC', default_phone_region = 'US' } = brand
  const settings = [currency_code, timezone, default_phone_region, features, storefront_domains]
  return await ofOneBrand(() =>
    app.postgres.pipeline.tx(async (tx) => {
      await tx.run('brand_insert', [id, name, shop_domain, ...settings])
      await tx.run('lake_brand_insert', [id])
      await tx.run('segments_built_in', [id])
      const [created] = await tx.many<Brand>('brands_named', [id, null, null])
      return created as Brand
    }),
  )
}

interface Change {
  from: unknown
  to: unknown
}

/** Changes what is not so already, and returns once every running server goes by it. */
async function setBrand(
  app: App,
  brand: Brand,
  settings: Partial<BrandSettings>,
): Promise<Record<string, Change>> {
  const changed: Record<string, Change> = {}
  for (const name of Object.keys(settings) as (keyof BrandSettings)[])
    if (!isDeepStrictEqual(settings[name], brand[name]))
      changed[name] = { from: brand[name], to: settings[name] }
  if (Object.keys(changed).length === 0) return changed
  const to = (name: keyof BrandSettings) => changed[name]?.to ?? null
  const texts = [to('name'), to('shop_domain'), to('storefront_domains'), to('currency_code')]
  const args = [brand.id, ...texts, to('timezone'), to('default_phone_region'), to('features')]
  await ofOneBrand(() => app.postgres.pipeline.run('brand_update', args))
  await everywhere(app)
  return changed
}

async function ofOneBrand<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    const { detail } = error as { detail?: string }
    throw fail('conflict', `${detail} belongs to another brand already.`, { cause: error })
  }
}

const shown = (brand: Brand) => ({ ...brand, created_at: new Date(brand.created_at).toISOString() })
const words = (value: unknown) => (Array.isArray(value) ? value.join(', ') || 'none' : String(value))

const { name, shop } = SETTING_OPTIONS

export const brandCommands = [
  command({
    name: 'brand create',
    what: `Make a brand with its connected store; by default in USD, UTC and the US, with ${FEATURES.join(' and ')}`,
    begins: true,
    options: { ...SETTING_OPTIONS, name: { ...name, required: true }, shop: { ...shop, required: true } },
    run: async ({ app, values, config }) => {
      const settings = settingsOf(values, config) as NewBrand
      const brand = await createBrand(await app(), settings)
      return { brand_id: brand.id, shop: brand.shop_domain }
    },
    text: ({ brand_id, shop }) => `Brand ${brand_id} with the store ${shop}`,
  }),
  command({
    name: 'brand list',
    what: 'List the brands, oldest first',
    options: {},
    run: async ({ app }) => ({
      data: (await (await app()).postgres.pipeline.many<Brand>('brands_all')).map(shown),
    }),
    text: ({ data }) =>
      table(
        ['id', 'name', 'shop_domain', 'currency_code', 'timezone', 'features'],
        data.map((one) => [
          ...[one.id, one.name, one.shop_domain, one.currency_code, one.timezone],
          one.features.join(','),
        ]),
      ),
  }),
  command({
    name: 'brand show',
    arguments: ['BRAND'],
    what: 'Show the settings of a brand: its id, shop or name',
    options: {},
    run: async ({ app, positionals: [wanted] }) => shown(await brandOf(await app(), wanted, 'BRAND')),
    text: (brand) =>
      table(
        ['setting', 'value'],
        Object.entries(brand).map(([name, value]) => [name, words(value)]),
      ),
  }),
  command({
    name: 'brand set',
    arguments: ['BRAND'],
    what: 'Change settings of a brand: its id, shop or name; running servers go by them at once',
    options: SETTING_OPTIONS,
    run: async ({ app: open, values, config, positionals: [wanted] }) => {
      const settings = settingsOf(values, config)
      if (Object.keys(settings).length === 0)
        throw new UsageError('brand set: nothing is set. See recoup brand set --help')
      const app = await open()
      const brand = await brandOf(app, wanted, 'BRAND')
      return { brand_id: brand.id, changed: await setBrand(app, brand, settings) }
    },
    text: ({ changed }) =>
      Object.entries(changed)
        .map(([name, { from, to }]) => `${name}: ${words(from)} → ${words(to)}`)
        .join('\n') || 'Everything is so already.',
  }),
]
