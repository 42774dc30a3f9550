import type { Seal } from '../../access/seal.ts'
import { fail } from '../../errors.ts'
import type { Brand } from '../../op.ts'
import type { Postgres } from '../../store/postgres.ts'
import { saveConnection } from './connection.ts'
import { Fields } from './fields.ts'
import { openAdminApi } from './shopify/client.ts'
import { SHOP } from './shopify/queries.ts'
import { type Subscribed, subscribeWebhooks } from './shopify/subscribe.ts'
import { webhookAddress } from './webhook-address.ts'

export interface ConnectOptions {
  postgres: Postgres
  seal: Seal
  brand: Brand
  accessToken: string
  webhookSecret: string
  /** Where the Admin API is, if not at the shop's own domain. */
  apiOrigin?: string
  abandonedAfterMinutes?: number
  /** Origin of the receiver of webhooks. */
  webhookUrl: string
  /** The service has the store send its webhooks; else that is left to the operator. */
  subscribes: boolean
  now?: Date
}

export interface Connected {
  shop_domain: string
  currency_code: string | null
  scopes: string[]
  /** Null: the store was not asked to send any. */
  webhooks: Subscribed | null
  /** What the operator should know. */
  notes: string[]
}

const WANTED_SCOPES = ['read_customers', 'read_orders', 'read_products']

/** Tries the token on the store, stores the connection and has the webhooks sent. Nothing is stored when it fails. */
export async function connectStore(options: ConnectOptions): Promise<Connected> {
  const { postgres, seal, brand, accessToken, webhookSecret, apiOrigin, webhookUrl, subscribes } = options
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
  const db = postgres.forBrand(brand.id)
  const where = { platform: 'shopify', shopDomain: brand.shop_domain } as const
  await saveConnection(db, brand.id, seal, {
    ...where,
    apiOrigin: apiOrigin ?? null,
    accessToken,
    webhookSecret,
    scopes,
    connectedAt: options.now ?? new Date(),
    abandonedAfterMinutes: options.abandonedAfterMinutes ?? null,
    currency,
    subscribes,
  })
  const address = webhookAddress(webhookUrl, { ...where, apiOrigin: origin })
  const webhooks = subscribes && address !== null ? await subscribeWebhooks(api, address) : null
  if (webhooks) await db.run('store_topics_refused', [webhooks.refused.map(({ topic }) => topic)])
  return {
    shop_domain: brand.shop_domain,
    currency_code: currency,
    scopes,
    webhooks,
    notes: [
      ...notesOf(brand, currency, scopes),
      ...(address === null ? ['WEBHOOK_URL is not https: the store sends no webhooks there.'] : []),
    ],
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
