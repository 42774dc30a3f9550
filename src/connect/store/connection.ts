import { v7 } from 'uuid'
import { gathered } from '../../access/gathered.ts'
import type { Seal } from '../../access/seal.ts'
import type { Statements } from '../../op.ts'

export const PLATFORMS = ['shopify'] as const
export type Platform = (typeof PLATFORMS)[number]

/** The live store of a brand. */
export interface Connection {
  brandId: string
  id: string
  platform: Platform
  shopDomain: string
  /** Origin of the Admin API. */
  apiOrigin: string
  /** Null once the app was removed from the store. */
  accessToken: string | null
  webhookSecret: string
  scopes: string[]
  status: 'connected' | 'refused' | 'disconnected'
  error: string | null
  connectedAt: Date
  /** Since when it has its token. */
  tokenAt: Date
  abandonedAfterMinutes: number
  /** The service has it send its webhooks; else the operator does. */
  subscribes: boolean
  /** The shop's; the brand's where the store did not say it. */
  currency: string
  /** Of the brand: the region of phone numbers without a country code. */
  region: string
}

interface ConnectionRow {
  brand_id: string
  id: string
  platform: Platform
  shop_domain: string
  api_origin: string | null
  access_token: Buffer | null
  webhook_secret: Buffer
  scopes: string[]
  status: Connection['status']
  error: string | null
  connected_at: Date
  token_at: Date
  abandoned_after_minutes: number
  subscribes: boolean
  currency_code: string
  region: string
}

const tokenPlace = (brandId: string) => `the store token of ${brandId}`
const secretPlace = (brandId: string) => `the store secret of ${brandId}`

/**
 * The connection of a shop, for webhooks: they name the shop and no brand. `pipeline` is cross-brand. Anybody may name
 * any shop: whatever is asked meanwhile shares a statement.
 */
export function connectionsOfShops(pipeline: Statements, seal: Seal) {
  const look = gathered<ConnectionRow>(async (keys) => {
    const shops = keys.map((key) => key.split(' '))
    const asked = [shops.map(([platform]) => platform), shops.map(([, shopDomain]) => shopDomain)]
    const rows = await pipeline.many<ConnectionRow>('store_connections_by_shop', asked)
    return new Map(rows.map((row) => [shopKey(row.platform, row.shop_domain), row]))
  })
  return async (platform: string, shopDomain: string): Promise<Connection | null> => {
    const row = await look(shopKey(platform, shopDomain))
    return row ? opened(row, seal) : null
  }
}

/** Neither has a space in it. */
const shopKey = (platform: string, shopDomain: string) => `${platform} ${shopDomain}`

/** The brand's own; null when it has none. */
export async function connectionOf(db: Statements, seal: Seal): Promise<Connection | null> {
  const row = await db.maybe<ConnectionRow>('store_connection_of')
  return row ? opened(row, seal) : null
}

function opened(row: ConnectionRow, seal: Seal): Connection {
  const { brand_id: brandId, access_token: token } = row
  return {
    brandId,
    id: row.id,
    platform: row.platform,
    shopDomain: row.shop_domain,
    apiOrigin: row.api_origin ?? `https://${row.shop_domain}`,
    accessToken: token && seal.open(token, tokenPlace(brandId)).toString(),
    webhookSecret: seal.open(row.webhook_secret, secretPlace(brandId)).toString(),
    scopes: row.scopes,
    status: row.status,
    error: row.error,
    connectedAt: row.connected_at,
    tokenAt: row.token_at,
    abandonedAfterMinutes: row.abandoned_after_minutes,
    subscribes: row.subscribes,
    currency: row.currency_code,
    region: row.region,
  }
}

export interface NewConnection {
  platform: Platform
  shopDomain: string
  /** Null: the shop's own domain. */
  apiOrigin: string | null
  accessToken: string
  webhookSecret: string
  scopes: readonly string[]
  connectedAt: Date
  /** Null: as it was, 60 at first. */
  abandonedAfterMinutes: number | null
  /** The shop's; null: the store does not say it. */
  currency: string | null
  subscribes: boolean
}

/** Connects a brand's store, or renews its connection. */
export async function saveConnection(
  db: Statements,
  brandId: string,
  seal: Seal,
  given: NewConnection,
): Promise<void> {
  const sealed = (text: string, place: string) => seal.seal(Buffer.from(text), place)
  await db.one('store_connection_put', [
    v7(),
    given.platform,
    given.shopDomain,
    given.apiOrigin,
    sealed(given.accessToken, tokenPlace(brandId)),
    sealed(given.webhookSecret, secretPlace(brandId)),
    given.scopes,
    given.connectedAt,
    given.abandonedAfterMinutes,
    given.currency,
    given.subscribes,
  ])
}
