import t, { type Test } from 'tap'
import { openInvalidation } from '../src/access/invalidation.ts'
import { createLimits } from '../src/access/limits.ts'
import { ShopLife } from '../src/connect/demo/store/life.ts'
import { type FakeStore, type FakeStoreOptions, startFakeStore } from '../src/connect/demo/store/server.ts'
import { ShopState } from '../src/connect/demo/store/state.ts'
import type { Brand } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { randomSource } from './fixtures/random.ts'
import { type Client, client, walk } from './fixtures/shop.ts'
import { connectedBrand, SEAL } from './fixtures/store.ts'

t.capture(process.stderr, 'write')

const FEATURES = ['cdp', 'beta:cdp-commerce']
const SCOPES = ['commerce:read']
const db = await database(t)
const { sql } = db.postgres
const made = await api(t, db, OPS, { seal: SEAL })
const asking = async (t: Test, brand: Brand) => client(t, made, await made.key(brand, SCOPES))

interface Live {
  brand: Brand
  store: FakeStore
  state: ShopState
  ask: Client
}

/** A brand whose live store has 12 products. */
async function live(t: Test, options: Partial<FakeStoreOptions> = {}): Promise<Live> {
  const life = new ShopLife(new ShopState(), randomSource(t), new Date())
  life.open({ products: 12, customers: 0 })
  const store = await startFakeStore({
    state: life.state,
    shopDomain: 'any.myshopify.com',
    accessToken: 'shpat_test',
    ...options,
  })
  t.teardown(() => store.close())
  const brand = await connectedBrand(db, { connectedAt: new Date(), apiOrigin: store.origin })
  return { brand, store, state: life.state, ask: await asking(t, brand) }
}

async function cdpWalk(ask: Client, route: string): Promise<{ id: string }[]> {
  const rows: { id: string }[] = []
  for (let cursor = ''; ; ) {
    const { body } = await ask(`${route}${cursor && `&cursor=${cursor}`}`)
    rows.push(...body.list)
    if (body.nextCursor === null) return rows
    cursor = body.nextCursor
  }
}

const idsOf = (rows: readonly { id: unknown }[]) => rows.map(({ id }) => String(id))

t.test('without a live store the catalog is the imported one, whatever shape its parts have', async (t) => {
  const brand = await makeBrand(db, { features: FEATURES })
  const variants =
    '[{"id": 9007199254740993, "price": 12.5, "sku": null}, {"id": "v2", "price": "7"}, "odd", {"price": "1"}]'
  const images = '[{"url": "https://cdn.example/a.jpg", "alt_text": "A"}, {"id": "no url"}]'
  for (const id of ['p3', 'p1', 'p2'])
    await sql`insert into product (brand_id, id, title, variants, images) values (
      ${brand.id}, ${id}, ${`Title ${id}`}, ${id === 'p1' ? variants : '[]'}::text::jsonb, ${id === 'p1' ? images : '{}'}::text::jsonb
    )`
  await sql`insert into product (brand_id, id, title, deleted) values (${brand.id}, 'gone', 'Gone', true)`
  const ask = await asking(t, brand)
  const rows = await walk<{ id: string }>(ask, 'GET /v1/commerce/products?limit=1')
  t.same(idsOf(rows), ['p1', 'p2', 'p3'])
  t.same(rows[0], {
    id: 'p1',
    title: 'Title p1',
    status: 'active',
    variants: [
      { id: '9007199254740993', price: '12.50', sku: null },
      { id: 'v2', price: '7.00', sku: null },
    ],
    images: [{ id: '1', url: 'https://cdn.example/a.jpg', alt_text: 'A' }],
  })
  t.same(idsOf(await cdpWalk(ask, 'GET /cdp/commerce/products?limit=2')), ['p1', 'p2', 'p3'])
  const { body } = await ask('GET /cdp/commerce/products?limit=900')
  t.match(body, { pageSize: 100, scope: brand.shop_domain, nextCursor: null })
  t.match(body.list[0].images, [{ altText: 'A' }])
})

t.test('a connected store is asked itself, page by page by its own cursor', async (t) => {
  const { state, ask, brand } = await live(t)
  await sql`insert into product (brand_id, id, title) values (${brand.id}, 'imported', 'Imported')`
  const expected = state.products.map(({ id }) => String(id))
  t.same(idsOf(await walk(ask, 'GET /v1/commerce/products?limit=5')), expected)
  t.same(idsOf(await cdpWalk(ask, 'GET /cdp/commerce/products?limit=5')), expected)
  const [product] = state.products
  if (product) product.title = 'Changed just now'
  const { body } = await ask('GET /v1/commerce/products?limit=1')
  t.match(body.data, [{ title: 'Changed just now', variants: [{ price: product?.price }] }])
})

t.test(
  'a throttled store is passed on: the wait is in the message, and in a header on the CDP host only',
  async (t) => {
    const { ask, store } = await live(t, { points: { most: 6, perSecond: 0.2 } })
    t.equal((await ask('GET /v1/commerce/products?limit=1')).status, 200)
    const rest = await ask('GET /v1/commerce/products?limit=1')
    t.match(
      [rest.status, rest.body.error],
      [429, { code: 'rate_limited', message: /Try again in \d+ seconds/ }],
    )
    t.equal(rest.headers['retry-after'], undefined)
    const cdp = await ask('GET /cdp/commerce/products?limit=1')
    t.match([cdp.status, cdp.body.error.code], [429, 'rate_limited'])
    t.match(cdp.headers['retry-after'], /^[1-9]\d*$/)
    t.equal(store.counts.throttled, 2)
  },
)

t.test(
  'a store that is down is 502 on the CDP host and 503 on REST; a lost answer is asked for again',
  async (t) => {
    const { ask, store } = await live(t)
    store.fail('cut')
    t.equal((await ask('GET /v1/commerce/products')).status, 200)
    await store.close()
    const [rest, cdp] = await Promise.all([
      ask('GET /v1/commerce/products'),
      ask('GET /cdp/commerce/products'),
    ])
    t.match([rest.status, rest.body], [503, { error: { code: 'unavailable' } }])
    t.match([cdp.status, cdp.body], [502, { error: { code: 'upstream_error' } }])
  },
)

t.test(
  'a token that cannot read products, and one that the store or its owner withdrew, are 403',
  async (t) => {
    const denied = await live(t, { scopes: ['read_orders'] })
    const refused = await live(t, { accessToken: 'shpat_another' })
    const removed = await live(t)
    await sql`update store_connection set access_token = null, status = 'disconnected' where brand_id = ${removed.brand.id}`
    for (const [{ ask }, code] of [
      [denied, 'forbidden'],
      [refused, 'integration_not_connected'],
      [removed, 'integration_not_connected'],
    ] as const) {
      const rest = await ask('GET /v1/commerce/products')
      t.match([rest.status, rest.body.error.code], [403, 'insufficient_scope'])
      const cdp = await ask('GET /cdp/commerce/products')
      t.match([cdp.status, cdp.body.error.code], [403, code])
    }
  },
)

t.test(
  'once the store has removed the app what needs a connected store is 403 on the CDP host',
  async (t) => {
    const brand = await connectedBrand(db, { connectedAt: new Date(), apiOrigin: 'http://127.0.0.1:1' })
    const ask = await asking(t, brand)
    const path = 'GET /cdp/customers/nobody/orders'
    t.equal((await ask(path)).status, 404)
    const invalidation = await openInvalidation(db.postgres)
    t.teardown(() => invalidation.close())
    const changed: string[] = []
    invalidation.onChange((kind, id) => changed.push(`${kind} ${id}`))
    await sql`update store_connection set status = 'disconnected' where brand_id = ${brand.id}`
    await invalidation.everywhere()
    t.same(changed, [`brand ${brand.id}`], 'servers hear of it')
    const gone = await (await asking(t, brand))(path)
    t.match([gone.status, gone.body.error.code], [403, 'integration_not_connected'])
    await sql`update store_connection set status = 'connected' where brand_id = ${brand.id}`
    t.equal((await (await asking(t, brand))(path)).status, 404)
  },
)

t.test('a cursor of the imported catalog is of no use once a store is connected', async (t) => {
  const brand = await connectedBrand(db, { connectedAt: new Date(), apiOrigin: 'http://127.0.0.1:1' })
  const ask = await asking(t, brand)
  const imported = made.cursors.seal({ endpoint: 'list_products', brand: brand.id }, { after: 'p1' })
  const { status, body } = await ask(`GET /v1/commerce/products?cursor=${imported}`)
  t.match([status, body.error], [400, { code: 'bad_request', message: /start again without it/ }])
})

t.test(
  'five calls of a store go at once and then one a second, whoever calls; imported catalogs are not counted',
  async (t) => {
    const limits = createLimits(db.postgres.pipeline)
    t.teardown(() => limits.close())
    const limited = await api(t, db, OPS, { seal: SEAL, limitShared: limits.shared })
    const { brand, store } = await live(t)
    const [one, other] = [await limited.key(brand, SCOPES), await limited.key(brand, SCOPES)]
    const statuses: number[] = []
    for (const as of [one, other, one, other, one, other]) {
      const answer = await limited.call('GET /v1/commerce/products?limit=1', { as })
      statuses.push(answer.status)
      if (answer.status === 429) t.match(answer.headers['retry-after'], /^1$/)
    }
    t.same(statuses, [200, 200, 200, 200, 200, 429])
    t.equal(store.counts.answered, 5)
    const { brand: neighbour } = await live(t)
    const as = await limited.key(neighbour, SCOPES)
    t.equal((await limited.call('GET /v1/commerce/products?limit=1', { as })).status, 200)
    const imported = await limited.key(await makeBrand(db), SCOPES)
    for (let call = 0; call < 8; call++)
      t.equal((await limited.call('GET /v1/commerce/products', { as: imported })).status, 200)
  },
)
