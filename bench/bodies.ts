import { randomBytes } from 'node:crypto'

/** What requests look like. */
export interface Shape {
  /** The shop whose pages send, for /cdp/ingest. */
  scope?: string | undefined
  eventsPerRequest: number
  eventBytes: number
}

const ID_DIGITS = 16
/** Stands in each event until it is sent: every event gets a new id each time. */
export const ID = 'id-'.padEnd(3 + ID_DIGITS, '0')

const random = (bytes: number) => randomBytes(bytes).toString('base64url')
const pick = <T>(of: readonly T[]) => of[Math.floor(Math.random() * of.length)] as T

/** Different bodies, to be sent in turn. */
export const bodies = (shape: Shape, count = 8): string[] =>
  Array.from({ length: count }, () => bodyText(shape))

function bodyText(shape: Shape): string {
  const events = Array.from({ length: shape.eventsPerRequest }, () => eventText(shape)).join(',')
  return `{${shape.scope ? `"source":{"scope":"${shape.scope}"},` : ''}"events":[${events}]}`
}

/** An event of about so many bytes: a product view, with cart items and a long address when it has to be longer. */
function eventText({ eventBytes: bytes, scope }: Shape): string {
  const product = Math.floor(Math.random() * 5_000)
  const properties: Record<string, unknown> = {
    product_id: String(7_000_000_000 + product),
    product_title: `Product ${product}`,
    price: `${(Math.random() * 200).toFixed(2)}`,
    currency_code: 'EUR',
    quantity: 1,
  }
  const event = {
    ...(scope && { scope }),
    eventType: pick(['product_viewed', 'page_viewed', 'product_added_to_cart', 'search_submitted']),
    eventId: ID,
    timeStamp: new Date(Date.now() - Math.floor(Math.random() * 3_600_000)).toISOString(),
    email: `${random(6).toLowerCase()}@example.com`,
    properties,
  }
  const length = () => JSON.stringify(event).length
  const items: object[] = []
  while (length() + 140 < bytes) {
    items.push({
      product_id: random(7),
      product_title: `Item ${random(9)}`,
      sku: random(8),
      price: '19.90',
      quantity: 2,
    })
    properties.items = items
  }
  const missing = bytes - length() - ',"path":"/"'.length
  if (missing > 0) properties.path = `/${random(missing).slice(0, missing)}`
  return JSON.stringify(event)
}

/** Where the digits of the ids are in a request. */
export function idPlaces(request: Buffer): number[] {
  const places: number[] = []
  for (let at = request.indexOf(ID); at >= 0; at = request.indexOf(ID, at + 1)) places.push(at + 3)
  return places
}

let sent = Math.floor(Math.random() * 1e9)

/** Writes new ids over those in a request that is about to be sent. */
export function stamp(request: Buffer, places: readonly number[]): void {
  for (const place of places) {
    let rest = ++sent
    for (let at = place + ID_DIGITS - 1; rest > 0; at--) {
      request[at] = 48 + (rest % 10)
      rest = Math.floor(rest / 10)
    }
  }
}
