import { randomUUID } from 'node:crypto'
import { createKey } from '../../src/access/key.ts'
import { openSeal } from '../../src/access/seal.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { createDefinition } from '../../src/connect/custom/definitions.ts'
import { createProvider } from '../../src/connect/custom/providers.ts'
import { signatureOf } from '../../src/connect/custom/signature.ts'
import { saveConnection } from '../../src/connect/store/connection.ts'
import { signatureOf as storeSignatureOf } from '../../src/connect/store/signature.ts'
import type { Brand } from '../../src/op.ts'
import type { Postgres } from '../../src/store/postgres.ts'
import type { RandomSource } from '../fixtures/random.ts'
import { order as orderBody } from '../fixtures/store-bodies.ts'
import { POINTS } from '../fixtures/webhook.ts'
import type { Journal, Outcome } from './journal.ts'
import type { Revision } from './revisions.ts'

/** What the clients of a brand send with. */
export interface Sender {
  brand: Brand
  key: string
  providerId: string
  webhookId: string
  webhookSecret: string
  storeSecret: string
}

/** A request with events, and their ids in the lake. */
export interface Sending {
  path: string
  headers: Record<string, string>
  body: string
  ids: string[]
  /** What else it tells. */
  record?: Revision
  order?: Revision
}

/** A way in for events. */
export interface Door {
  name: string
  /** Of each brand. */
  clients: number
  make(sender: Sender, random: RandomSource, journal: Journal): Sending
  /** What an answer says about the events; nothing when nobody may get it. */
  heard(status: number | undefined, answer: Answer): Outcome | undefined
}

interface Answer {
  error?: { code?: string }
  failed?: unknown
  ok?: boolean
  reason?: string
  deduplicated?: boolean
}

/** What the settings of the servers are, with the key that seals the secrets of webhooks. */
export const settings = (env: Record<string, string>) => {
  const all = { ...env, SECRET_KEY: 'a key of tests that is long enough to be one', TRUSTED_PROXIES: '1' }
  return { env: all, config: readConfig(all) }
}

export async function makeSender(postgres: Postgres, brand: Brand, config: Config): Promise<Sender> {
  const db = postgres.forBrand(brand.id)
  const { plaintext: key } = await createKey(db, { scopes: ['brand:read'] })
  const { webhookUrl } = config
  const seal = openSeal(config)
  const provider = await createProvider(db, { name: 'Points' }, { seal, webhookUrl, withKey: false })
  await createDefinition(db, provider.id, POINTS)
  const { id: providerId, lookup_id: webhookId, webhook_secret: webhookSecret } = provider
  const storeSecret = randomUUID()
  await saveConnection(db, brand.id, seal, {
    platform: 'shopify',
    shopDomain: brand.shop_domain,
    apiOrigin: null,
    accessToken: 'shpat_test',
    webhookSecret: storeSecret,
    scopes: [],
    connectedAt: new Date(START),
    abandonedAfterMinutes: null,
    currency: null,
    subscribes: true,
  })
  return { brand, key, providerId, webhookId, webhookSecret, storeSecret }
}

/** An hour ago: revisions of orders are a second apart. */
const START = Date.now() - 3_600_000

export const DOORS: readonly Door[] = [
  { name: 'events', clients: 3, make: ofServer, heard: collected(200) },
  { name: 'ingest', clients: 2, make: ofBrowser, heard: collected(202) },
  // One: a record is what was delivered last.
  { name: 'custom', clients: 1, make: ofWebhook, heard: delivered },
  { name: 'store', clients: 2, make: ofStore, heard: delivered },
]

function ofServer({ key }: Sender, random: RandomSource): Sending {
  const ids = random.list(1, 8, randomUUID)
  const body = JSON.stringify({ events: ids.map((eventId) => eventOf(eventId, random)) })
  return { path: '/cdp/events', headers: { authorization: `Bearer ${key}` }, body, ids }
}

/** From a page of the shop, by a visitor with an address of their own: limits are by address. */
function ofBrowser({ brand: { shop_domain: scope } }: Sender, random: RandomSource): Sending {
  const ids = random.list(1, 4, randomUUID)
  const events = ids.map((eventId) => ({ scope, ...eventOf(eventId, random) }))
  const headers = {
    origin: `https://${scope}`,
    'x-forwarded-for': `10.1.${random.below(256)}.${random.below(256)}`,
  }
  const body = JSON.stringify({ source: { scope }, events })
  return { path: '/cdp/ingest', headers, body, ids: ids.map((eventId) => `browser:${eventId}`) }
}

/** Contacts and records are of few people, so that deliveries meet at them. */
function ofWebhook(
  { brand, providerId, webhookId, webhookSecret }: Sender,
  random: RandomSource,
  { records }: Journal,
): Sending {
  const eventId = randomUUID()
  const account = `account-${random.below(50)}`
  const record = { of: account, number: records.next(brand.id, account) }
  const data = { id: account, email: `member-${random.below(50)}@example.com`, points: record.number }
  const body = JSON.stringify({ type: POINTS.type, event_id: eventId, data })
  const headers = {
    'content-type': 'application/json',
    'x-svc-signature': signatureOf(Buffer.from(webhookSecret), Buffer.from(body)),
    'x-svc-event-id': eventId,
    'x-svc-topic': POINTS.type,
  }
  return { path: `/custom/${webhookId}`, headers, body, ids: [`service:${providerId}:${eventId}`], record }
}

/** Revisions of few orders, of which some come late. */
function ofStore({ brand, storeSecret }: Sender, random: RandomSource, { orders }: Journal): Sending {
  const id = 1_000 + random.below(40)
  const next = orders.next(brand.id, `${id}`)
  const number = random.chance(0.2) ? 1 + random.below(next) : next
  const customer = { id: 1 + (id % 20), email: `buyer-${id % 20}@example.com` }
  const updated = new Date(START + number * 1_000).toISOString()
  const times = { created_at: new Date(START).toISOString(), updated_at: updated }
  const { email } = customer
  const body = orderBody({ id, name: `#${id}`, customer, email, total_price: `${number}.25`, ...times })
  const headers = {
    'content-type': 'application/json',
    'x-shopify-topic': 'orders/updated',
    'x-shopify-shop-domain': brand.shop_domain,
    'x-shopify-webhook-id': randomUUID(),
    'x-shopify-triggered-at': new Date().toISOString(),
    'x-shopify-hmac-sha256': storeSignatureOf(Buffer.from(body), storeSecret),
  }
  return { path: '/store/shopify/webhooks', headers, body, ids: [], order: { of: `${id}`, number } }
}

const eventOf = (eventId: string, random: RandomSource) => ({
  eventType: 'product_viewed',
  eventId,
  anonymousId: `visitor-${random.below(200)}`,
  properties: { product_id: String(random.below(1_000)), title: 'x'.repeat(random.below(300)) },
})

function collected(accepted: number): Door['heard'] {
  return (status, answer) => {
    if (status === accepted) return 'acknowledged'
    if (status !== 503) return undefined
    if (answer.error?.code === 'unavailable' && !('failed' in answer)) return 'refused'
    return Object.keys(answer).join() === 'message' ? 'unknown' : undefined
  }
}

/** A delivery that gets a 503 may be stored all the same. */
function delivered(status: number | undefined, { ok, reason, deduplicated }: Answer): Outcome | undefined {
  if (status === 200) return ok || deduplicated ? 'acknowledged' : undefined
  return status === 503 && reason === 'unavailable' ? 'unknown' : undefined
}
