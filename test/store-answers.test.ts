import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { joined } from '../src/connect/store/record.ts'
import { openAdminApi } from '../src/connect/store/shopify/client.ts'
import { readPage } from '../src/connect/store/shopify/pages.ts'
import { subscribeWebhooks } from '../src/connect/store/shopify/subscribe.ts'

const MOST_WAITS = 100

/** A store with answers of its own, asked on a clock that goes on only where somebody waits. */
async function store(t: Test, answer: (query: string) => object, headers: Record<string, string> = {}) {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    const parts = await request.toArray()
    const { query } = JSON.parse(Buffer.concat(parts).toString())
    asked.push(query)
    response.writeHead(headers['retry-after'] ? 429 : 200, headers).end(JSON.stringify(answer(query)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  const waits: number[] = []
  const clock = {
    now: () => waits.reduce((sum, ms) => sum + ms, 0),
    wait: async (ms: number) => {
      if (waits.push(ms) > MOST_WAITS) throw new Error('it waits without end')
    },
  }
  const { port } = server.address() as AddressInfo
  const api = openAdminApi({
    origin: `http://127.0.0.1:${port}`,
    accessToken: 'x',
    patienceMs: 5_000,
    clock,
    random: () => 1,
  })
  return { api, asked, waits }
}

const throttled = (requestedQueryCost: unknown, throttleStatus: unknown) => ({
  errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }],
  extensions: { cost: { requestedQueryCost, throttleStatus } },
})

t.test('points that are no numbers say nothing of how long to wait', async (t) => {
  for (const answer of [
    throttled(10, { currentlyAvailable: 'x', restoreRate: 50 }),
    throttled(10, { currentlyAvailable: 0, restoreRate: 'x' }),
    throttled('x', { currentlyAvailable: 0, restoreRate: 50 }),
    throttled(10, { currentlyAvailable: -1, restoreRate: 50 }),
    throttled(10, { currentlyAvailable: 0, restoreRate: 0 }),
    throttled(10, null),
  ]) {
    const { api, waits } = await store(t, () => answer)
    await t.rejects(api.query('query a'), { code: 'rate_limited', message: /in 4 seconds/ })
    t.same(waits, [500, 1_000, 2_000], 'it backs off')
  }
})

t.test(
  'a store that says to wait no time or for ever is asked neither without pause nor without end',
  async (t) => {
    for (const retryAfter of ['0', '0.0001']) {
      const { api, waits } = await store(t, () => ({}), { 'retry-after': retryAfter })
      await t.rejects(api.query('query a'), { code: 'rate_limited' })
      t.same(waits, Array(50).fill(100))
    }
    const never = await store(t, () => throttled(10, { currentlyAvailable: 0, restoreRate: 1e-300 }))
    await t.rejects(never.api.query('query a'), {
      code: 'rate_limited',
      message: /in 3600 seconds/,
    })
  },
)

/** A product with variants of which every page names a next one. */
const endless = (t: Test, nextPage: (at: number) => { nodes: object[]; endCursor: string }) => {
  let at = 0
  return store(t, (query) => {
    if (!/query rest/.test(query)) {
      const variants = { pageInfo: { hasNextPage: true, endCursor: 'a' }, nodes: [] }
      const product = {
        id: 'gid://shopify/Product/1',
        title: 't',
        status: 'ACTIVE',
        variants,
        images: { nodes: [] },
      }
      return { data: { page: { pageInfo: { hasNextPage: false }, nodes: [product] } } }
    }
    if (++at > 100) throw new Error('it reads without end')
    const { nodes, endCursor } = nextPage(at)
    return { data: { record: { list: { pageInfo: { hasNextPage: true, endCursor }, nodes } } } }
  })
}

t.test('a list without an end is given up with its record', async (t) => {
  const variant = { id: 'gid://shopify/ProductVariant/1', price: '1.00' }
  const wanted = { entity: 'products', after: null, first: 50, since: null } as const
  for (const [what, pages, nextPage] of [
    ['a cursor that repeats', 3, (at: number) => ({ nodes: [variant], endCursor: at % 2 ? 'b' : 'a' })],
    [
      'more than 5,000 entries',
      6,
      (at: number) => ({ nodes: Array(1_000).fill(variant), endCursor: `${at}` }),
    ],
  ] as const) {
    const { api, asked } = await endless(t, nextPage)
    const { records, unreadable } = await readPage(api, wanted)
    t.same(joined(records).products, [], what)
    t.equal(asked.length, pages)
    t.hasStrict(unreadable, [{ reason: 'page.nodes[0].variants must have an end within 5000 entries' }])
  }
})

t.test('an answer that is too long says of no topic that the store does not send it', async (t) => {
  const { api, waits } = await store(t, () => ({ data: ' '.repeat(33 << 20) }))
  await t.rejects(subscribeWebhooks(api, 'https://hooks.example'), { message: /too long/ })
  t.same(waits, [], 'it is told at once')
})
