import { randomBytes } from 'node:crypto'
import autocannon from 'autocannon'

/** What the process that makes the load is told. */
export interface LoadOrder {
  url: string
  headers: Record<string, string>
  /** The shop whose pages send, for /cdp/ingest. */
  scope?: string
  connections: number
  seconds: number
  eventsPerRequest: number
  eventBytes: number
}

export interface LoadResult {
  requests: number
  seconds: number
  p50: number
  p99: number
  failed: number
  /** Share of one core that the generator itself took. */
  cpu: number
}

/** Different bodies of one connection, sent in turn; every event gets a new id each time. */
const BODIES = 8
const ID_DIGITS = 16
const ID = 'id-'.padEnd(3 + ID_DIGITS, '0')

const random = (bytes: number) => randomBytes(bytes).toString('base64url')
const pick = <T>(of: readonly T[]) => of[Math.floor(Math.random() * of.length)] as T

/** An event of about so many bytes: a product view, with cart items and a long address when it has to be longer. */
function eventText({ eventBytes: bytes, scope }: LoadOrder): string {
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

function bodyText(order: LoadOrder): string {
  const events = Array.from({ length: order.eventsPerRequest }, () => eventText(order)).join(',')
  return `{${order.scope ? `"source":{"scope":"${order.scope}"},` : ''}"events":[${events}]}`
}

let sent = Math.floor(Math.random() * 1e9)

/** Writes new ids over those in a request that is about to be sent. */
function stamp(request: Buffer, places: readonly number[]): void {
  for (const place of places) {
    let rest = ++sent
    for (let at = place + ID_DIGITS - 1; rest > 0; at--) {
      request[at] = 48 + (rest % 10)
      rest = Math.floor(rest / 10)
    }
  }
}

interface Iterator {
  nextRequest(): { requestBuffer: Buffer }
}

// In place, since autocannon's setupRequest builds the whole request anew each time, on a core that the server shares.
function setupClient(client: unknown): void {
  const { requestIterator } = client as { requestIterator: Iterator }
  const next = requestIterator.nextRequest
  const placesOf = new WeakMap<Buffer, number[]>()
  requestIterator.nextRequest = function () {
    const request = next.call(this)
    let places = placesOf.get(request.requestBuffer)
    if (!places) {
      places = []
      for (
        let at = request.requestBuffer.indexOf(ID);
        at >= 0;
        at = request.requestBuffer.indexOf(ID, at + 1)
      )
        places.push(at + 3)
      placesOf.set(request.requestBuffer, places)
    }
    stamp(request.requestBuffer, places)
    return request
  }
}

async function run(order: LoadOrder): Promise<LoadResult> {
  const before = process.cpuUsage()
  const started = performance.now()
  const result = await autocannon({
    url: order.url,
    method: 'POST',
    connections: order.connections,
    duration: order.seconds,
    headers: { ...order.headers, 'content-type': 'application/json' },
    requests: Array.from({ length: BODIES }, () => ({ body: bodyText(order) })),
    setupClient,
  })
  const { user, system } = process.cpuUsage(before)
  return {
    requests: result['2xx'],
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    failed: result.non2xx + result.errors + result.timeouts,
    cpu: (user + system) / 1000 / (performance.now() - started),
  }
}

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (result) => process.send?.({ result }, () => process.disconnect?.()),
    (error: Error) => process.send?.({ error: error.stack }, () => process.disconnect?.()),
  )
})
