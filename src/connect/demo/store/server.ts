import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Asked, askedIn } from './asked.ts'
import { customerNode, listOf, orderNode, productNode, subscriptionNode } from './nodes.ts'
import { bodyOf } from './rest.ts'
import type { ShopState } from './state.ts'

/** What goes wrong with one request. */
export type Fault = '429' | '503' | 'cut' | 'hang' | 'garbage'

export interface FakeStoreOptions {
  state: ShopState
  shopDomain: string
  accessToken: string
  scopes?: readonly string[]
  /** How many records of a kind it says there are; else as many as there are. */
  counted?: number
  /** Points that queries cost: what is there at most, and how many come back in a second. */
  points?: { most: number; perSecond: number }
  /** Milliseconds; a clock of the test's own makes throttling quick. */
  now?: () => number
}

export interface FakeStore {
  origin: string
  /** Queries answered with data, and those that were throttled. */
  readonly counts: { answered: number; throttled: number; faults: number }
  /** Discounts that were made, by code. */
  readonly discounts: ReadonlyMap<string, object>
  /** Where webhooks are wanted, by topic of the platform's spelling. */
  readonly subscribed: ReadonlyMap<string, string>
  /** As the platform does where webhooks failed for hours. */
  unsubscribe(topic: string): void
  /** Faults of the next requests, in this order. */
  fail(...faults: Fault[]): void
  close(): Promise<void>
}

interface Query {
  query: string
  variables: {
    first?: number
    after?: string | null
    query?: string | null
    sortKey?: string
    id?: string
    topic?: string
    uri?: string
    input?: { code: string }
  }
}

const MOST_COST = 1000
/** Points of one record of a page, as dear as the platform's. */
const COSTS: Record<string, number> = { customers: 1, products: 3, orders: 12, subscriptions: 2 }

const READ = {
  customers: { list: (state: ShopState) => state.customers, node: customerNode },
  products: { list: (state: ShopState) => state.products, node: productNode },
  orders: { list: (state: ShopState) => state.orders, node: orderNode },
  subscriptions: { list: (state: ShopState) => state.subscriptions, node: subscriptionNode },
} as unknown as Record<
  string,
  {
    list(state: ShopState): { id: bigint; updatedAt: Date }[]
    node(state: ShopState, record: unknown, asked: Asked): object
  }
>

/** A store of the platform on loopback: its Admin API for the queries of this service, with throttling and faults. */
export async function startFakeStore(options: FakeStoreOptions): Promise<FakeStore> {
  const { points = { most: 2_000, perSecond: 100 }, now = Date.now } = options
  const counts = { answered: 0, throttled: 0, faults: 0 }
  const faults: Fault[] = []
  const discounts = new Map<string, object>()
  const subscribed = new Map<string, string>()
  let left = points.most
  let at = now()

  /** Null when the points are there, and taken. */
  const throttled = (cost: number): object | null => {
    left = Math.min(points.most, left + ((now() - at) / 1000) * points.perSecond)
    at = now()
    const isThrottled = cost > left
    if (!isThrottled) left -= cost
    const throttleStatus = {
      maximumAvailable: points.most,
      currentlyAvailable: Math.floor(left),
      restoreRate: points.perSecond,
    }
    const extensions = {
      cost: { requestedQueryCost: cost, actualQueryCost: isThrottled ? null : cost, throttleStatus },
    }
    if (!isThrottled) return null
    counts.throttled++
    return { errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }], extensions }
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await read(request)
    const fault = faults.shift()
    if (fault) {
      counts.faults++
      return broken(fault, response)
    }
    if (request.headers['x-shopify-access-token'] !== options.accessToken)
      return send(response, 401, { errors: '[API] Invalid API key or access token' })
    const { query, variables } = JSON.parse(body) as Query
    const cost = costOf(query, variables)
    if (cost > MOST_COST)
      return send(response, 200, {
        errors: [{ message: `Query cost is ${cost}`, extensions: { code: 'MAX_COST_EXCEEDED' } }],
      })
    const refusal = throttled(cost) ?? denied(options, nameOf(query), variables)
    if (!refusal) counts.answered++
    const data = () => {
      if (nameOf(query) === 'subscribe') return subscribe(subscribed, variables)
      if (nameOf(query) === 'subscribed') return subscriptions(subscribed)
      if (nameOf(query) === 'discount') return discount(discounts, variables)
      return dataOf(options, query, variables)
    }
    send(response, 200, refusal ?? { data: data() })
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    discounts,
    subscribed,
    unsubscribe: (topic) => void subscribed.delete(topic),
    fail: (...more) => void faults.push(...more),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function read(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

function send(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(bodyOf(body))
}

function broken(fault: Fault, response: ServerResponse): void {
  if (fault === '429') send(response, 429, {}, { 'retry-after': '2' })
  else if (fault === '503') send(response, 503, {})
  else if (fault === 'garbage') response.end('<html>')
  else if (fault === 'cut') {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('{"data":')
    response.destroy()
  }
  // hang: no answer at all.
}

const nameOf = (query: string) => /^(?:query|mutation) (\w+)/.exec(query)?.[1] ?? ''

function subscribe(subscribed: Map<string, string>, { topic = '', uri = '' }: Query['variables']): object {
  const message = subscribed.get(topic) === uri ? 'Address for this topic has already been taken' : null
  subscribed.set(topic, uri)
  const userErrors = message ? [{ message }] : []
  return { webhookSubscriptionCreate: { webhookSubscription: message ? null : { id: topic }, userErrors } }
}

const subscriptions = (subscribed: ReadonlyMap<string, string>) => ({
  webhookSubscriptions: { nodes: [...subscribed].map(([topic, uri]) => ({ topic, uri })) },
})

function discount(made: Map<string, object>, { input }: Query['variables']): object {
  const isTaken = made.has(input?.code ?? '')
  if (input && !isTaken) made.set(input.code, input)
  const userErrors = isTaken ? [{ code: 'TAKEN', message: 'Code must be unique. Please try again.' }] : []
  return {
    made: {
      codeDiscountNode: isTaken ? null : { id: `gid://shopify/DiscountCodeNode/${made.size}` },
      userErrors,
    },
  }
}

const costOf = (query: string, { first = 1 }: Query['variables']) => 2 + first * (COSTS[nameOf(query)] ?? 1)

function dataOf(options: FakeStoreOptions, query: string, variables: Query['variables']): object {
  const { state, shopDomain, counted, scopes = ['read_customers', 'read_products', 'read_orders'] } = options
  const name = nameOf(query)
  if (name === 'shop')
    return {
      shop: { myshopifyDomain: shopDomain, currencyCode: state.currency },
      currentAppInstallation: { accessScopes: scopes.map((handle) => ({ handle })) },
    }
  if (name === 'count') {
    const entity = /count: (\w+)Count/.exec(query)?.[1] ?? ''
    return { count: { count: counted ?? READ[entity]?.list(state).length ?? 0 } }
  }
  if (name === 'rest') {
    const records = [state.orders, state.products, state.orders.flatMap(({ refunds }) => refunds)].flat()
    const record = records.find(({ id }) => variables.id?.endsWith(`/${id}`))
    const list = /list: (\w+)/.exec(query)?.[1] as Parameters<typeof listOf>[2]
    const { first, after } = variables
    return { record: record && { list: listOf(state, record, list, { from: Number(after), first }) } }
  }
  return { page: pageOf(state, name, variables, askedIn(query)) }
}

/** Refused for want of the scope that a list, a mutation or a topic needs. */
function denied({ scopes }: FakeStoreOptions, name: string, { topic }: Query['variables']): object | null {
  const of = topic?.startsWith('SUBSCRIPTION_CONTRACTS') ? 'subscriptions' : name
  const scope = of === 'discount' ? 'write_discounts' : of in READ ? `read_${of}` : null
  if (!scopes || scope === null || scopes.includes(scope)) return null
  const message = `Access denied for ${name} field.`
  return { errors: [{ message, extensions: { code: 'ACCESS_DENIED' } }] }
}

/** Keyset pages: a record that changes meanwhile moves to the end of those sorted by change. */
function pageOf(
  state: ShopState,
  name: string,
  { first = 1, after, query, sortKey }: Query['variables'],
  asked: Asked,
): object {
  const { list, node } = READ[name] ?? { list: () => [], node: () => ({}) }
  const since = /updated_at:>='([^']+)'/.exec(query ?? '')?.[1]
  const keyOf = (record: { id: bigint; updatedAt: Date }) =>
    `${sortKey === 'ID' ? '' : record.updatedAt.toISOString()} ${String(record.id).padStart(20, '0')}`
  const position = after ? Buffer.from(after, 'base64url').toString() : ''
  const rest = list(state)
    .filter(({ updatedAt }) => since === undefined || updatedAt.toISOString() >= since)
    .map((record) => ({ record, key: keyOf(record) }))
    .filter(({ key }) => key > position)
    .sort((one, other) => (one.key < other.key ? -1 : 1))
  const page = rest.slice(0, first)
  const last = page.at(-1)
  return {
    pageInfo: {
      hasNextPage: rest.length > page.length,
      endCursor: last ? Buffer.from(last.key).toString('base64url') : null,
    },
    nodes: page.map(({ record }) => node(state, record, asked)),
  }
}
