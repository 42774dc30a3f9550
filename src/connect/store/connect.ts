import type { Seal } from '../../access/seal.ts'
import { fail } from '../../errors.ts'
import type { Brand } from '../../op.ts'
import type { Postgres } from '../../store/postgres.ts'
import { type Platform, saveConnection } from './connection.ts'
import { Fields } from './fields.ts'
import { openAdminApi } from './shopify/client.ts'
import { SHOP } from './shopify/queries.ts'
import { type Subscribed, subscribeWebhooks } from './shopify/subscribe.ts'

export interface ConnectOptions {
  postgres: Postgres
  seal: Seal
  brand: Brand
  accessToken: string
  webhookSecret: string
  /** Where the Admin API is, if not at the shop's own domain. */
  apiOrigin?: string
  abandonedAfterMinutes?: number
  /** Where the store is to send webhooks; without it that is left to the operator. */
  webhookUrl?: string
  now?: Date
}

export interface Connected {
  shop_domain: string
  currency_code: string | null
  scopes: string[]
  webhooks: Subscribed | null
  /** What the operator should know. */
  notes: string[]
}

const WANTED_SCOPES = ['read_customers', 'read_orders', 'read_products']

/** Path of the receiver, behind WEBHOOK_URL. */
export const webhookPath = (platform: Platform) => `/store/${platform}/webhooks`

/** Tries the token on the store, stores the connection and has the webhooks sent. Nothing is stored when it fails. */
export async function connectStore(options: ConnectOptions): Promise<Connected> {
  const { postgres, seal, brand, accessToken, webhookSecret, apiOrigin, webhookUrl } = options
  const origin = apiOrigin ?? `https://${brand.shop_domain}`
  const api = openAdminApi({ origin, accessToken, patienceMs: 30_000 })
  const data = new Fields(await api.query(SHOP))
  const shop = data.object('shop')
  const domain = shop?.text('myshopifyDomain') ?? null
  if (domain !== null && domain !== brand.shop_domain)
    throw fail('conflict', `The token is of ${domain}, and the shop of the brand is ${brand.shop_domain}.`)
  const scopes = (data.object('currentAppInstallation')?.list('accessScopes') ?? []).flatMap(
    (scope) => scope.text('handle') ?? [],
  )
  const currency = shop?.currency('currencyCode') ?? null
  await saveConnection(postgres.forBrand(brand.id), brand.id, seal, {
    platform: 'shopify',
    shopDomain: brand.shop_domain,
    apiOrigin: apiOrigin ?? null,
    accessToken,
    webhookSecret,
    scopes,
    connectedAt: options.now ?? new Date(),
    abandonedAfterMinutes: options.abandonedAfterMinutes ?? null,
    currency,
  })
  const webhooks = webhookUrl === undefined ? null : await subscribeWebhooks(api, webhookUrl)
  return {
    shop_domain: brand.shop_domain,
    currency_code: currency,
    scopes,
    webhooks,
    notes: notesOf(brand, currency, scopes),
  }
}

function notesOf(brand: Brand, currency: string | null, scopes: readonly string[]): string[] {
  const lacking = WANTED_SCOPES.filter((scope) => !scopes.includes(scope))
  return [
    ...(currency !== null && currency !== brand.currency_code
      ? [
          `The shop's currency is ${currency}, the brand's ${brand.currency_code}: sums count orders in ${brand.currency_code} only.`,
        ]
      : []),
    ...(lacking.length ? [`The token lacks ${lacking.join(', ')}.`] : []),
    ...(scopes.includes('read_all_orders')
      ? []
      : ['Without read_all_orders the store gives orders of the last 60 days only.']),
  ]
}
