import { domainToASCII } from 'node:url'
import { isSupportedCountry } from 'libphonenumber-js'
import * as v from 'valibot'
import type { Config } from '../config.ts'
import { domain } from '../fields.ts'
import type { Brand } from '../op.ts'
import { knownTimezone } from '../time.ts'
import { type Option, required, UsageError, type Values } from './command.ts'

/** What of a brand an operator can set. */
export type BrandSettings = Omit<Brand, 'id' | 'created_at'>

export const FEATURES = ['cdp', 'beta:cdp-commerce']
const NAME_LENGTH = 200
/** Empties a list. */
const NONE = 'none'

export const SETTING_OPTIONS = {
  name: { type: 'string', placeholder: 'NAME', what: 'Name of the brand' },
  shop: { type: 'string', placeholder: 'SHOP', what: 'Shop on the store platform, such as my-shop' },
  storefront: {
    type: 'string',
    multiple: true,
    placeholder: 'DOMAIN',
    what: 'Domain of its own that the storefront has; give it once for each, or "none"',
  },
  currency: { type: 'string', placeholder: 'CODE', what: 'Currency, such as USD' },
  timezone: {
    type: 'string',
    placeholder: 'ZONE',
    what: 'Time zone whose days count, such as Europe/Berlin',
  },
  region: { type: 'string', placeholder: 'CC', what: 'Country of phone numbers that name none, such as US' },
  feature: {
    type: 'string',
    multiple: true,
    placeholder: 'NAME',
    what: `Feature to enable, of ${FEATURES.join(', ')}; give it once for each, or "none"`,
  },
} as const satisfies Record<string, Option>

/** The settings that are given, checked. */
export function settingsOf(values: Values, config: Config): Partial<BrandSettings> {
  const one = (name: string, checked: (value: string) => string) =>
    values[name] === undefined ? undefined : checked(required(values, name).trim())
  const all = (name: string, checked: (value: string) => string) => {
    const given = values[name] as string[] | undefined
    if (given?.length === 1 && given[0] === NONE) return []
    return given && [...new Set(given.map(checked))]
  }
  const found = {
    name: one('name', nameOf),
    shop_domain: one('shop', (value) => shopOf(value, config)),
    storefront_domains: all('storefront', (value) => storefrontOf(value, config)),
    currency_code: one('currency', currencyOf),
    timezone: one('timezone', timezoneOf),
    default_phone_region: one('region', regionOf),
    features: all('feature', featureOf),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

/** A shop as its domain, with or without that of the platform. */
export const shopDomain = (shop: string, { storePlatformDomain }: Config) =>
  (shop.includes('.') ? shop : `${shop}.${storePlatformDomain}`).toLowerCase()

function nameOf(name: string): string {
  const { length } = [...name]
  if (length > NAME_LENGTH)
    throw new UsageError(`--name must have at most ${NAME_LENGTH} characters, not ${length}`)
  return name
}

function shopOf(value: string, config: Config): string {
  const shop = shopDomain(value, config)
  const platform = config.storePlatformDomain
  if (
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(shop.slice(0, -platform.length - 1)) &&
    shop.endsWith(`.${platform}`)
  )
    return shop
  throw new UsageError(`--shop must be a shop of ${platform}, such as my-shop, not "${value}"`)
}

function storefrontOf(value: string, { storePlatformDomain: platform }: Config): string {
  // As browsers name where a page is from.
  const ascii = /^[\0-\x7f]*$/.test(value) ? value : domainToASCII(value.trim())
  const checked = v.safeParse(domain, ascii)
  if (checked.success && checked.output.endsWith(`.${platform}`))
    throw new UsageError(
      `--storefront must be a domain of the brand's own: ${value} is a shop of ${platform}`,
    )
  if (checked.success) return checked.output
  throw new UsageError(`--storefront must be a domain such as www.my-shop.com, not "${value}"`)
}

function currencyOf(value: string): string {
  const code = value.toUpperCase()
  if (Intl.supportedValuesOf('currency').includes(code)) return code
  throw new UsageError(`--currency must be an ISO 4217 code such as USD, not "${value}"`)
}

function timezoneOf(value: string): string {
  const known = knownTimezone(value)
  // ICU, DuckDB and Postgres all take older and newer names; ICU lists one of them only.
  if (known) return known.toLowerCase() === value.toLowerCase() ? known : value
  throw new UsageError(`--timezone must be an IANA time zone such as Europe/Berlin, not "${value}"`)
}

function regionOf(value: string): string {
  const code = value.toUpperCase()
  if (isSupportedCountry(code)) return code
  throw new UsageError(`--region must be a country code such as US, not "${value}"`)
}

function featureOf(value: string): string {
  if (FEATURES.includes(value)) return value
  throw new UsageError(`--feature: "${value}" is not a feature. Known: ${FEATURES.join(', ')}`)
}
