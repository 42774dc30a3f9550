import { v7 as uuidv7 } from 'uuid'
import type { App } from '../app.ts'
import { errorCode, fail } from '../errors.ts'
import type { Brand } from '../op.ts'
import { command, required, text, UsageError } from './command.ts'

const FEATURES = ['cdp', 'beta:cdp-commerce']
const NAME_LENGTH = 200
const UNIQUE_VIOLATION = '23505'
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The brand of --brand: its id, its shop (with or without the platform's domain) or its exact name. */
export async function brandOf(app: App, wanted: string): Promise<Brand> {
  const shop = wanted.includes('.') ? wanted : `${wanted}.${app.config.storePlatformDomain}`
  const id = UUID.test(wanted) ? wanted : null
  const found = await app.postgres.pipeline.many<Brand>('brands_named', [id, shop.toLowerCase(), wanted])
  const [brand] = found
  if (found.length > 1) throw new UsageError(`--brand: several brands are named "${wanted}"; use the id`)
  if (brand) return brand
  const all = await app.postgres.pipeline.many<Brand>('brands_all')
  const known = all.length
    ? `Known: ${all.map((one) => `${one.shop_domain} (${one.id})`).join(', ')}`
    : 'There is none yet: recoup brand create'
  throw new UsageError(`--brand: there is no brand "${wanted}". ${known}`)
}

export interface NewBrand {
  name: string
  shop: string
  features?: string[]
  currency?: string
  timezone?: string
  region?: string
}

export async function createBrand(app: App, brand: NewBrand): Promise<Brand> {
  const shop = (
    brand.shop.includes('.') ? brand.shop : `${brand.shop}.${app.config.storePlatformDomain}`
  ).toLowerCase()
  const { length } = [...brand.name]
  if (length > NAME_LENGTH)
    throw new UsageError(`--name must have at most ${NAME_LENGTH} characters, not ${length}`)
  const label = '[a-z0-9]([a-z0-9-]*[a-z0-9])?'
  if (!new RegExp(`^${label}\\.${app.config.storePlatformDomain.replaceAll('.', '\\.')}$`).test(shop))
    throw new UsageError(
      `--shop must be a shop of ${app.config.storePlatformDomain}, such as my-shop, not "${brand.shop}"`,
    )
  if (
    !Intl.supportedValuesOf('timeZone')
      .concat('UTC')
      .includes(brand.timezone ?? 'UTC')
  )
    throw new UsageError(
      `--timezone must be an IANA time zone such as Europe/Berlin, not "${brand.timezone}"`,
    )
  if (!/^[A-Z]{3}$/.test(brand.currency ?? 'USD'))
    throw new UsageError(`--currency must be an ISO 4217 code such as USD, not "${brand.currency}"`)
  if (!/^[A-Z]{2}$/.test(brand.region ?? 'US'))
    throw new UsageError(`--region must be a country code such as US, not "${brand.region}"`)
  const id = uuidv7()
  try {
    return await app.postgres.pipeline.tx(async (tx) => {
      const { name, features = FEATURES, currency = 'USD', timezone = 'UTC', region = 'US' } = brand
      await tx.run('brand_insert', [id, name, shop, currency, timezone, region, features])
      await tx.run('lake_brand_insert', [id])
      const [created] = await tx.many<Brand>('brands_named', [id, null, null])
      return created as Brand
    })
  } catch (error) {
    if (errorCode(error) === UNIQUE_VIOLATION)
      throw fail('conflict', `The shop ${shop} has a brand already.`, { cause: error })
    throw error
  }
}

export const brandCommands = [
  command({
    name: 'brand create',
    what: 'Make a brand with its connected store',
    options: {
      name: { type: 'string', required: true, placeholder: 'NAME', what: 'Name of the brand' },
      shop: {
        type: 'string',
        required: true,
        placeholder: 'SHOP',
        what: 'Shop on the store platform, such as my-shop',
      },
      feature: {
        type: 'string',
        multiple: true,
        placeholder: 'NAME',
        what: `Feature to enable (default: ${FEATURES.join(', ')})`,
      },
      currency: { type: 'string', placeholder: 'CODE', what: 'Currency (default USD)' },
      timezone: { type: 'string', placeholder: 'ZONE', what: 'Time zone whose days count (default UTC)' },
      region: {
        type: 'string',
        placeholder: 'CC',
        what: 'Country of phone numbers without one (default US)',
      },
    },
    run: async ({ app, values }) => {
      const features = values.feature as string[] | undefined
      const unknown = features?.find((feature) => !FEATURES.includes(feature))
      if (unknown)
        throw new UsageError(`--feature: "${unknown}" is not a feature. Known: ${FEATURES.join(', ')}`)
      const brand = await createBrand(await app(), {
        name: required(values, 'name'),
        shop: required(values, 'shop'),
        features,
        currency: text(values, 'currency'),
        timezone: text(values, 'timezone'),
        region: text(values, 'region'),
      })
      return { brand_id: brand.id, shop: brand.shop_domain }
    },
    text: ({ brand_id, shop }) => `Brand ${brand_id} with the store ${shop}`,
  }),
]
