import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { startFakeStore } from '../src/connect/demo/store/server.ts'
import { ShopState } from '../src/connect/demo/store/state.ts'
import { reconcileAll } from '../src/connect/store/reconcile-all.ts'
import type { Brand } from '../src/op.ts'
import { type Database, database } from './fixtures/database.ts'
import { connect, connectedBrand, SEAL } from './fixtures/store.ts'

t.capture(process.stderr, 'write')
const NOW = new Date()
const SIGNAL = new AbortController().signal

const run = ({ postgres }: Database, { signal = SIGNAL, shareMs = 200 } = {}) =>
  reconcileAll(
    { postgres, seal: SEAL, storePlatformDomain: 'myshopify.com', webhookUrl: 'https://hooks.example' },
    signal,
    {
      atOnce: 1,
      shareMs,
    },
  )

/** A brand whose store takes every request and answers none. */
async function deadStore(t: Test, db: Database, onAsked = () => {}): Promise<Brand> {
  const server = createServer(() => onAsked())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return await connectedBrand(db, { connectedAt: NOW, apiOrigin: `http://127.0.0.1:${port}` })
}

t.test('stores that do not answer keep no other from being reconciled', async (t) => {
  const db = await database(t)
  for (let count = 0; count < 2; count++) await deadStore(t, db)
  const state = new ShopState()
  state.addProduct(NOW, '12.00')
  const store = await startFakeStore({ state, shopDomain: 'any', accessToken: 'shpat_test' })
  t.teardown(() => store.close())
  const alive = await connectedBrand(db, { connectedAt: NOW, apiOrigin: store.origin })
  await run(db, { shareMs: 4_000 })
  t.hasStrict(await db.postgres.sql`select id from product where brand_id = ${alive.id}`, [
    { id: String(state.products[0]?.id) },
  ])
})

t.test('a run that is cut off is followed by one that begins with those it did not reach', async (t) => {
  const db = await database(t)
  const asked: number[] = []
  const cut = new AbortController()
  for (const number of [1, 2, 3])
    await deadStore(t, db, () => {
      asked.push(number)
      if (asked.length === 2) cut.abort()
    })
  await t.rejects(run(db, { signal: cut.signal }))
  const reached = [...asked]
  t.equal(reached.length, 2)
  asked.length = 0
  await run(db)
  t.notOk(reached.includes(asked[0] ?? 0))
  t.same(asked.slice(1, 3), reached)
})

/** What the status says after a reconcile with a token that is renewed, and tried, before the store's answer is noted. */
async function statusOfRenewed(t: Test, tokenOfStore: string, error: string | null) {
  const db = await database(t)
  const { postgres } = db
  const state = new ShopState()
  const store = await startFakeStore({ state, shopDomain: 'any', accessToken: tokenOfStore })
  t.teardown(() => store.close())
  const given = { apiOrigin: store.origin, connectedAt: new Date(NOW.getTime() - 1000) }
  const brand = await connectedBrand(db, given)
  const own = postgres.forBrand(brand.id)
  const renewed = async (name: string, args?: unknown[]) => {
    if (name === 'store_connection_refused') {
      await connect(db, brand, { ...given, connectedAt: NOW })
      await postgres.sql`
        update store_connection set error = ${error}, status = ${error === null ? 'connected' : 'refused'}
        where brand_id = ${brand.id}`
    }
    return await own.run(name, args)
  }
  await run(
    { ...db, postgres: { ...postgres, forBrand: () => ({ ...own, run: renewed }) } },
    { shareMs: 4_000 },
  )
  return await own.one<{ status: string; error: string | null }>('store_connection_of')
}

t.test('a token that was withdrawn says nothing against the one that came after it', async (t) => {
  t.match(await statusOfRenewed(t, 'shpat_other', null), { status: 'connected', error: null })
})

t.test('a token that the store took says nothing for the one that came after it', async (t) => {
  t.match(await statusOfRenewed(t, 'shpat_test', 'No more.'), { status: 'refused', error: 'No more.' })
})

t.test('a store that refuses its token is noted as one that does', async (t) => {
  const db = await database(t)
  const store = await startFakeStore({
    state: new ShopState(),
    shopDomain: 'any',
    accessToken: 'shpat_other',
  })
  t.teardown(() => store.close())
  const { id } = await connectedBrand(db, { connectedAt: NOW, apiOrigin: store.origin })
  await run(db, { shareMs: 4_000 })
  t.match(await db.postgres.forBrand(id).one('store_connection_of'), { status: 'refused' })
})

t.test('a store of which nothing can be noted keeps no other from being reconciled', async (t) => {
  const db = await database(t)
  const store = await startFakeStore({
    state: new ShopState(),
    shopDomain: 'any',
    accessToken: 'shpat_other',
  })
  t.teardown(() => store.close())
  const given = { connectedAt: NOW, apiOrigin: store.origin }
  const brands = [await connectedBrand(db, given), await connectedBrand(db, given)]
  const { postgres } = db
  let noted = 0
  const forBrand: typeof postgres.forBrand = (brandId) => {
    const own = postgres.forBrand(brandId)
    const run: typeof own.run = async (name, args) => {
      if (name === 'store_connection_refused' && noted++ === 0) throw new Error('not noted')
      return await own.run(name, args)
    }
    return { ...own, run }
  }
  await run({ ...db, postgres: { ...postgres, forBrand } }, { shareMs: 4_000 })
  const statuses = await Promise.all(
    brands.map(({ id }) => postgres.forBrand(id).one<{ status: string }>('store_connection_of')),
  )
  t.same(statuses.map(({ status }) => status).sort(), ['connected', 'refused'])
})
