import t, { type Test } from 'tap'
import { startFakeStore } from '../src/connect/demo/store/server.ts'
import { ShopState } from '../src/connect/demo/store/state.ts'
import { reconcileAll } from '../src/connect/store/reconcile-all.ts'
import { database } from './fixtures/database.ts'
import { connectedBrand, SEAL } from './fixtures/store.ts'

const written = t.capture(process.stderr, 'write')
const logged = (event: string) =>
  written()
    .map(({ args }) => String(args[0]))
    .filter((line) => line.includes(`"${event}"`))
    .map((line) => JSON.parse(line))
const db = await database(t)
const { sql } = db.postgres
const ADDRESS = 'https://hooks.example/store/shopify/webhooks'
/** Queries of a reconcile itself. */
const WALKS = 4

const READ_ALL = ['read_customers', 'read_products', 'read_orders', 'read_subscriptions']
const WITHOUT_SUBSCRIPTIONS = READ_ALL.slice(0, -1)
const REFUSED = ['subscription_contracts/create', 'subscription_contracts/update']

async function connected(t: Test, { subscribes = true, scopes = READ_ALL } = {}) {
  const store = await startFakeStore({
    state: new ShopState(),
    shopDomain: 'any',
    accessToken: 'shpat_test',
    scopes,
    points: { most: 1e6, perSecond: 1e6 },
  })
  const brand = await connectedBrand(db, { connectedAt: new Date(), apiOrigin: store.origin })
  await sql`update store_connection set subscribes = ${subscribes} where brand_id = ${brand.id}`
  t.teardown(async () => {
    await store.close()
    await sql`delete from store_connection where brand_id = ${brand.id}`
  })
  const parts = {
    seal: SEAL,
    storePlatformDomain: 'myshopify.com',
    webhookUrl: 'https://hooks.example',
  }
  const reconcile = async (postgres = db.postgres) => {
    const before = store.counts.answered
    await reconcileAll({ ...parts, postgres }, new AbortController().signal)
    return store.counts.answered - before
  }
  const walked = async () => {
    const [{ count } = { count: 0 }] = await sql<{ count: number }[]>`
      select count(*)::integer as count from store_sync where brand_id = ${brand.id} and finished_at is not null`
    return count
  }
  const refused = async () => {
    const own = db.postgres.forBrand(brand.id)
    return (await own.one<{ refused_topics: string[] }>('store_status')).refused_topics
  }
  return { store, brand, reconcile, walked, refused }
}

t.test('a store that sends no webhooks any more is asked for them again', async (t) => {
  const { store, reconcile } = await connected(t)
  await reconcile()
  t.equal(store.subscribed.get('ORDERS_PAID'), ADDRESS)
  t.equal(store.subscribed.get('CARTS_UPDATE'), ADDRESS)
})

t.test('what was dropped is said, by topic', async (t) => {
  const { store, brand, reconcile } = await connected(t)
  await reconcile()
  store.unsubscribe('CARTS_UPDATE')
  written()
  await reconcile()
  t.match(logged('store_webhooks_subscribed'), [{ brand_id: brand.id, topics: ['carts/update'] }])
})

t.test('a store that sends all of them is asked once', async (t) => {
  const { reconcile } = await connected(t)
  await reconcile()
  t.equal(await reconcile(), WALKS + 1)
})

t.test('webhooks that an operator has sent are left to them', async (t) => {
  const { store, reconcile } = await connected(t, { subscribes: false })
  await reconcile()
  t.equal(store.subscribed.size, 0)
})

t.test('topics that the store refuses are in its status', async (t) => {
  const { reconcile, refused } = await connected(t, { scopes: WITHOUT_SUBSCRIPTIONS })
  await reconcile()
  t.strictSame(await refused(), REFUSED)
})

t.test('topics that the store grants later are no longer in its status', async (t) => {
  const scopes = [...WITHOUT_SUBSCRIPTIONS]
  const { reconcile, refused } = await connected(t, { scopes })
  await reconcile()
  scopes.push('read_subscriptions')
  await reconcile()
  t.strictSame(await refused(), [])
})

t.test('what goes wrong with webhooks keeps no store from being reconciled', async (t) => {
  const { brand, reconcile, walked } = await connected(t)
  const { postgres } = db
  await reconcile({
    ...postgres,
    forBrand: (brandId) => {
      const own = postgres.forBrand(brandId)
      const maybe: typeof own.maybe = async (name, args) => {
        if (name === 'store_topics_refused') throw new Error('not noted')
        return await own.maybe(name, args)
      }
      return { ...own, maybe }
    },
  })
  t.equal(await walked(), WALKS)
  t.match(logged('store_webhooks_unknown'), [{ brand_id: brand.id }])
})
