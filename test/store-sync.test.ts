import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { ShopLife } from '../src/connect/demo/store/life.ts'
import { bodyOf, checkoutBody, orderBody } from '../src/connect/demo/store/rest.ts'
import { type FakeStore, type FakeStoreOptions, startFakeStore } from '../src/connect/demo/store/server.ts'
import { type ShopCheckout, ShopState } from '../src/connect/demo/store/state.ts'
import { catalogPage } from '../src/connect/store/catalog.ts'
import { connectionOf } from '../src/connect/store/connection.ts'
import { joined } from '../src/connect/store/record.ts'
import { type AdminApi, openAdminApi } from '../src/connect/store/shopify/client.ts'
import { readPage } from '../src/connect/store/shopify/pages.ts'
import { backfill, reconcile, type SyncOptions, syncStates } from '../src/connect/store/sync.ts'
import { fail } from '../src/errors.ts'
import type { Brand } from '../src/op.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { emptyFolder } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'
import { recoup } from './fixtures/recoup.ts'
import { connect, connectedBrand, eventsOf, SEAL, storeServer } from './fixtures/store.ts'
import { storeState } from './fixtures/store-state.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { send } = await storeServer(t, db)
const DAY_MS = 86_400_000
const ENTITIES = ['customers', 'products', 'orders', 'subscriptions'] as const
const STARTED = new Date(Date.now() - 20 * DAY_MS)

/** Time that passes only where somebody waits. */
function clock() {
  let ms = 0
  const waits: number[] = []
  const wait = async (more: number) => {
    waits.push(more)
    ms += more
  }
  return { now: () => ms, wait, waits }
}

interface Shop {
  brand: Brand
  life: ShopLife
  store: FakeStore
  time: ReturnType<typeof clock>
  options: Awaited<ReturnType<typeof optionsOf>>
}

async function optionsOf(brand: Brand, store: FakeStore, time: ReturnType<typeof clock>) {
  const forBrand = db.postgres.forBrand(brand.id)
  const connection = await connectionOf(forBrand, SEAL)
  if (!connection) throw new Error('not connected')
  const api = openAdminApi({ origin: store.origin, accessToken: 'shpat_test', clock: time, timeoutMs: 500 })
  return { db: forBrand, connection, storePlatformDomain: 'myshopify.com', api }
}

async function shop(
  t: Test,
  random: RandomSource,
  steps: number,
  more: Pick<FakeStoreOptions, 'points' | 'counted'> = {},
): Promise<Shop> {
  const life = lifeOf(random, steps)
  const time = clock()
  const brand = await connectedBrand(db, { connectedAt: life.now })
  const store = await storeOf(t, life, brand, { now: time.now, ...more })
  return { brand, life, store, time, options: await optionsOf(brand, store, time) }
}

function lifeOf(random: RandomSource, steps: number): ShopLife {
  const life = new ShopLife(new ShopState(), random, STARTED)
  life.open({ products: 6, customers: 12 })
  for (let step = 0; step < steps; step++) life.step()
  return life
}

async function storeOf(
  t: Test,
  { state }: ShopLife,
  { shop_domain: shopDomain }: Brand,
  more: Pick<FakeStoreOptions, 'now' | 'points' | 'counted'>,
): Promise<FakeStore> {
  const store = await startFakeStore({ state, shopDomain, accessToken: 'shpat_test', ...more })
  t.teardown(() => store.close())
  return store
}

t.test('a back-fill reads what webhooks would have told, and makes no events of it', async (t) => {
  const { brand, life, options } = await shop(t, randomSource(t), 40)
  const walked = await backfill(options)
  t.same(
    walked.map(({ entity, read }) => [entity, read]),
    ENTITIES.map((name) => [name, life.state[name].length]),
  )
  t.same(await eventsOf(db, brand), [])

  const told = await connectedBrand(db, { connectedAt: life.now })
  for (const message of life.messages()) await send(told, message)
  const [filled, wanted] = [await storeState(db, brand), await storeState(db, told)]
  for (const table of ['customer', 'product', 'refund']) t.strictSame(filled[table], wanted[table], table)
  t.strictSame(await orders(brand), await orders(told))
  t.same(
    (await backfill(options)).map(({ read }) => read),
    [0, 0, 0, 0],
    'another time it reads nothing',
  )
})

t.test('the history of another shop that a brand moves to is read, and is no news', async (t) => {
  const random = randomSource(t)
  const { brand, options, time } = await shop(t, random, 0)
  await backfill(options)
  await reconcile(options)
  const moved = { ...brand, shop_domain: `new-${brand.shop_domain}` }
  await db.postgres.sql`update brand set shop_domain = ${moved.shop_domain} where id = ${brand.id}`
  const life = lifeOf(random, 40)
  await connect(db, moved, { connectedAt: life.now, currency: 'EUR' })
  const store = await storeOf(t, life, moved, { now: time.now })
  const its = await optionsOf(moved, store, time)
  t.strictSame(
    (await backfill(its)).map(({ entity, read }) => [entity, read]),
    ENTITIES.map((name) => [name, life.state[name].length]),
  )
  await reconcile(its)
  t.same(await eventsOf(db, brand), [])
  t.equal(its.connection.currency, 'EUR')
})

t.test('without its currency another shop has that of the brand', async (t) => {
  const brand = await connectedBrand(db, { connectedAt: STARTED, currency: 'EUR' })
  const moved = { ...brand, shop_domain: `new-${brand.shop_domain}` }
  await db.postgres.sql`update brand set shop_domain = ${moved.shop_domain} where id = ${brand.id}`
  await connect(db, moved, { connectedAt: STARTED })
  t.equal((await connectionOf(db.postgres.forBrand(brand.id), SEAL))?.currency, 'USD')
})

const orders = async ({ id }: Brand) => [
  ...(await db.postgres.sql`
    select external_id, number, state, billing_status, currency_code, subtotal, discount_total, total, refunded_total, lines, test,
      created_at, cancelled_at
    from store_order where brand_id = ${id} and not deleted order by external_id`),
]

t.test('throttling, 429, outages and lost answers are waited out', async (t) => {
  const { store, time, options } = await shop(t, randomSource(t), 10)
  store.fail('503', 'garbage', 'cut', 'hang', '429', '503')
  const walked = await backfill(options)
  t.ok(walked.every(({ skipped }) => skipped === undefined))
  t.equal(store.counts.faults, 6)
  t.ok(time.waits.includes(2_000), 'as long as Retry-After says')
})

t.test('a throttled query waits until its points are back, and not again and again', async (t) => {
  const { store, time, options } = await shop(t, randomSource(t), 0, {
    points: { most: 700, perSecond: 50 },
  })
  for (let page = 0; page < 8; page++)
    await catalogPage(options.connection, { limit: 200, cursor: null }, options)
  t.equal(store.counts.answered, 8)
  t.ok(store.counts.throttled > 0 && store.counts.throttled <= 8)
  t.same(
    time.waits.filter((ms) => ms > 15_000),
    [],
  )
})

t.test('a query that the store finds too costly is asked for in smaller pages', async (t) => {
  const { life, options, brand } = await shop(t, randomSource(t), 600)
  t.ok(life.state.orders.length > 50)
  const wanted = { entity: 'orders', after: null, first: 100, since: null } as const
  const { records, first, next } = await readPage(options.api, wanted)
  t.equal(first, 50)
  t.equal(joined(records).orders.length, 50)
  t.ok(next)
  t.same(await orders(brand), [], 'reading writes nothing')
})

t.test('an order with more lines than a page has all of them', async (t) => {
  const { life, options, brand } = await shop(t, randomSource(t), 0)
  const { state } = life
  const [product] = state.products
  if (!product) throw new Error('no product')
  const lines = Array.from({ length: 320 }, () => state.line(product, 1))
  const order = state.addOrder(life.now, { customer: null, email: 'many@example.com', lines })
  await backfill(options)
  const [row] = await db.postgres.sql`
    select jsonb_array_length(lines) as lines, total from store_order where brand_id = ${brand.id}`
  t.strictSame({ ...row }, { lines: 320, total: order.total })
})

t.test('a record with longer lists than a page has all of them', async (t) => {
  const { brand, life, options } = await shop(t, randomSource(t), 0)
  const { state } = life
  const [product] = state.products
  if (!product) throw new Error('no product')
  product.variants = Array.from({ length: 380 }, () => state.id())
  product.images = Array.from({ length: 25 }, () => state.id())
  const order = state.addOrder(life.now, {
    customer: null,
    email: 'a@example.com',
    lines: [state.line(product, 90)],
  })
  for (let count = 0; count < 270; count++) {
    state.fulfill(order, life.now)
    state.settleRefund(order, state.refund(order, life.now, 0.01), life.now, 'success')
  }
  await backfill(options)
  const [counts] = await db.postgres.sql`
    select
      (select jsonb_array_length(variants) from product where brand_id = ${brand.id} and id = ${String(product.id)}) as variants,
      (select jsonb_array_length(images) from product where brand_id = ${brand.id} and id = ${String(product.id)}) as images,
      (select count(*)::integer from refund where brand_id = ${brand.id}) as refunds,
      (select count(*)::integer from fulfillment where brand_id = ${brand.id}) as fulfillments`
  t.strictSame({ ...counts }, { variants: 380, images: 25, refunds: 270, fulfillments: 270 })
})

t.test('money that moved at a late attempt of many counts, and when it did', async (t) => {
  const { life, options } = await shop(t, randomSource(t), 0)
  const { state } = life
  const [product] = state.products
  if (!product) throw new Error('no product')
  const paidAt = new Date(life.now.getTime() + 3_600_000)
  const lines = [state.line(product, 1)]
  const order = state.addOrder(
    life.now,
    { customer: null, email: 'a@example.com', lines },
    { paidAt, failures: 30 },
  )
  const refund = state.refund(order, paidAt, 1)
  refund.failures = 130
  state.settleRefund(order, refund, paidAt, 'success')
  const { records } = await readPage(options.api, { entity: 'orders', after: null, first: 1, since: null })
  const { refunds, orders } = joined(records)
  t.hasStrict(refunds, [{ total: order.total }])
  t.hasStrict(orders, [{ paidAt: new Date(Math.floor(paidAt.getTime() / 1000) * 1000).toISOString() }])
})

t.test('a record of which a later page of lines cannot be read costs no other record', async (t) => {
  const { brand, life, options } = await shop(t, randomSource(t), 0)
  const { state } = life
  const [product] = state.products
  if (!product) throw new Error('no product')
  for (const last of [1, 100_000, 1]) {
    const lines = Array.from({ length: 60 }, (_, at) => state.line(product, at === 59 ? last : 1))
    state.addOrder(life.now, { customer: null, email: 'a@example.com', lines })
  }
  await backfill(options)
  t.same(
    (await orders(brand)).map(({ number }) => number),
    ['#1001', '#1003'],
  )
})

t.test('a record that cannot be read is noted with its id and the reason, once', async (t) => {
  const { brand, life, options } = await shop(t, randomSource(t), 0)
  const { state } = life
  const [product] = state.products
  if (!product) throw new Error('no product')
  for (const quantity of [100_000, 1])
    state.addOrder(life.now, {
      customer: null,
      email: 'a@example.com',
      lines: [state.line(product, quantity)],
    })
  await backfill(options)
  await reconcile({ ...options, now: () => life.now })
  t.match(await dead(brand), [
    {
      topic: 'orders/backfill',
      webhook_id: new RegExp(`^${state.orders[0]?.id} `),
      reason: /quantity must be a whole number/,
      payload: null,
    },
  ])
})

/** Has Postgres answer with an error when an order is written. */
async function refuse(t: Test, brand: Brand, id: bigint, sqlState: string) {
  const owner = postgres(db.url, { max: 1, onnotice: () => {} })
  const mend = async () => {
    await owner`drop function if exists a_fault cascade`
  }
  t.teardown(async () => {
    await mend()
    await owner.end()
  })
  await owner.unsafe(`
    create function a_fault() returns trigger language plpgsql as $$ begin raise sqlstate '${sqlState}'; end $$;
    create trigger a_fault before insert on store_order for each row
    when (new.brand_id = '${brand.id}' and new.external_id = '${id}') execute function a_fault()`)
  return mend
}

const dead = async ({ id }: Brand) =>
  (
    await db.postgres.sql`
      select topic, webhook_id, reason, payload from store_delivery where brand_id = ${id} and outcome = 'dead'`
  ).map((row) => ({ ...row }))

t.test(
  'a record that Postgres refuses is left out with the reason, and the walk goes on behind it',
  async (t) => {
    const random = randomSource(t)
    const { brand, life, options } = await shop(t, random, 0)
    const { state } = life
    for (let count = 0; count < 60; count++)
      state.addOrder(life.now, { customer: null, email: 'a@example.com', lines: state.lines(random) })
    const [first, second] = state.orders
    if (!first || !second) throw new Error('no orders')
    const mend = await refuse(t, brand, second.id, '22003')
    const walked = await backfill(options)
    t.strictSame(
      walked.map(({ read }) => read),
      [state.customers.length, state.products.length, 60, 0],
    )
    const ids = async () => (await orders(brand)).map(({ external_id }) => BigInt(external_id))
    t.strictSame(
      await ids(),
      state.orders.map(({ id }) => id).filter((id) => id !== second.id),
    )
    t.match(await dead(brand), [
      {
        topic: 'orders/backfill',
        webhook_id: new RegExp(`^${second.id} `),
        reason: 'Postgres refuses it (22003)',
        payload: null,
      },
    ])
    await reconcile({ ...options, now: () => life.now })
    t.equal((await dead(brand)).length, 1, 'the same version is noted once')
    await mend()
    await backfill({ ...options, again: true })
    t.strictSame(
      await ids(),
      state.orders.map(({ id }) => id),
    )
  },
)

t.test('while Postgres cannot write, a walk stays where it is', async (t) => {
  const random = randomSource(t)
  const { brand, life, options } = await shop(t, random, 0)
  const { state } = life
  for (let count = 0; count < 3; count++)
    state.addOrder(life.now, { customer: null, email: 'a@example.com', lines: state.lines(random) })
  const mend = await refuse(t, brand, state.orders[1]?.id ?? 0n, '53100')
  await t.rejects(backfill(options), { code: '53100' })
  t.strictSame(await orders(brand), [])
  t.strictSame(await dead(brand), [])
  await mend()
  await backfill(options)
  t.equal((await orders(brand)).length, 3)
})

t.test('a store with 100,000 records of a kind is read', async (t) => {
  const { options } = await shop(t, randomSource(t), 0, { counted: 100_000 })
  t.notOk((await backfill(options)).some(({ skipped }) => skipped !== undefined))
  t.match(
    (await syncStates(options.db)).filter(({ entity }) => entity === 'customers'),
    [{ total: 100_000, finished_at: Date }],
  )
})

t.test('what a line comes to is after all its discounts, whoever tells of it', async (t) => {
  const { brand, life, options } = await shop(t, randomSource(t), 0)
  const { state } = life
  const product = state.addProduct(life.now, '20.00')
  const lines = [state.line(product, 2, '5.50')]
  const order = state.addOrder(life.now, { customer: null, email: 'a@example.com', lines })
  const told = await connectedBrand(db, { connectedAt: life.now })
  await send(told, { topic: 'orders/create', body: bodyOf(orderBody(state, order)) })
  await backfill(options)
  for (const source of [brand, told])
    t.hasStrict(await orders(source), [{ total: '34.50', lines: [{ price: '20.00', total: '34.50' }] }])
})

t.test('a back-fill read again brings what the store did not show before', async (t) => {
  const random = randomSource(t)
  const { brand, life, options } = await shop(t, random, 0)
  const { state } = life
  for (let count = 0; count < 5; count++)
    state.addOrder(life.now, { customer: null, email: 'a@example.com', lines: state.lines(random) })
  const older = state.orders.splice(0, 2)
  await backfill(options)
  state.orders.unshift(...older)
  await backfill(options)
  t.equal((await orders(brand)).length, 3)
  await backfill({ ...options, again: true })
  t.equal((await orders(brand)).length, 5)
})

async function shopOfOrders(t: Test, count: number): Promise<Shop> {
  const random = randomSource(t)
  const opened = await shop(t, random, 0)
  const { state, now } = opened.life
  for (let number = 0; number < count; number++)
    state.addOrder(now, { customer: null, email: 'a@example.com', lines: state.lines(random) })
  return opened
}

const ordersWalk = async ({ db }: Pick<SyncOptions, 'db'>) =>
  (await syncStates(db)).find(({ entity }) => entity === 'orders')

/** Stops a back-fill behind its first page of orders. Returns its place. */
async function stopInOrders(t: Test, options: SyncOptions & { again?: boolean }): Promise<string> {
  const cut = new AbortController()
  const onProgress = (entity: string) => (entity === 'orders' ? cut.abort() : undefined)
  await t.rejects(backfill({ ...options, signal: cut.signal, onProgress }))
  const position = (await ordersWalk(options))?.position
  if (!position) throw new Error('the back-fill was not in the middle of the orders')
  return position
}

t.test('a back-fill that is not finished goes on, also when it is to be read again', async (t) => {
  const { options } = await shopOfOrders(t, 60)
  await backfill(options)
  await stopInOrders(t, { ...options, again: true })
  t.same(
    (await backfill({ ...options, again: true })).map(({ read }) => read),
    [0, 0, 10, 0],
  )
})

/** The store, but for queries that it refuses. */
const refusing = (
  api: AdminApi,
  refuses: (text: string, after: unknown) => boolean,
  code: 'upstream_error' | 'forbidden' = 'upstream_error',
): AdminApi => ({
  query: async (text, variables = {}) => {
    if (refuses(text, variables.after)) throw fail(code, 'The store refuses the query')
    return await api.query(text, variables)
  },
})

t.test('a kind that the store gives no more keeps no other from being read again', async (t) => {
  const { life, options } = await shopOfOrders(t, 60)
  await stopInOrders(t, options)
  const api = refusing(options.api, (text) => text.includes('query orders'), 'forbidden')
  await backfill({ ...options, api })
  t.strictSame(await backfill({ ...options, api, again: true }), [
    { entity: 'customers', read: life.state.customers.length },
    { entity: 'products', read: life.state.products.length },
    { entity: 'orders', read: 0, skipped: 'The store refuses the query' },
    { entity: 'subscriptions', read: 0 },
  ])
  t.same(
    (await backfill(options)).map(({ read }) => read),
    [0, 0, 60, 0],
    'it is read from its beginning once the store gives it',
  )
})

t.test('a page that the store never gives keeps only the rest of its kind back', async (t) => {
  const random = randomSource(t)
  const { brand, life, options } = await shop(t, random, 0)
  life.state.addOrder(life.now, { customer: null, email: 'a@example.com', lines: life.state.lines(random) })
  const api = refusing(options.api, (text) => text.includes('query products'))
  await t.rejects(backfill({ ...options, api }), { code: 'upstream_error' })
  t.equal((await orders(brand)).length, 1)
  t.match(
    (await syncStates(options.db)).filter(({ finished_at }) => !finished_at).map(({ entity }) => entity),
    ['products'],
  )
})

t.test('a walk whose place the store has forgotten begins anew', async (t) => {
  const { brand, options } = await shopOfOrders(t, 60)
  const position = await stopInOrders(t, options)
  let refused = 0
  const api = refusing(options.api, (_, after) => after === position && refused++ === 0)
  t.same(
    (await backfill({ ...options, api })).map(({ read }) => read),
    [0, 0, 60, 0],
  )
  t.equal((await orders(brand)).length, 60)
})

t.test('a page that the store never gives is come to once more, and then waited for', async (t) => {
  const { options } = await shopOfOrders(t, 60)
  let first = 0
  const api = refusing(options.api, (text, after) => {
    if (text.includes('query orders') && after === null) first++
    return text.includes('query orders') && after !== null
  })
  for (let run = 0; run < 4; run++) await t.rejects(backfill({ ...options, api }), { code: 'upstream_error' })
  t.equal(first, 2)
})

t.test('a walk keeps its place where the store refuses all it is asked', async (t) => {
  const { options } = await shopOfOrders(t, 60)
  const position = await stopInOrders(t, options)
  const api = refusing(options.api, (text) => text.includes('query orders'))
  await t.rejects(backfill({ ...options, api }), { code: 'upstream_error' })
  t.hasStrict(await ordersWalk(options), { position, done: 50, began_anew_at: null })
})

t.test('a page that is too long is no place that the store has forgotten', async (t) => {
  const { options } = await shopOfOrders(t, 60)
  const position = await stopInOrders(t, options)
  const server = createServer((_request, response) => void response.end(Buffer.alloc(33 << 20, ' ')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  const { port } = server.address() as AddressInfo
  const long = openAdminApi({ origin: `http://127.0.0.1:${port}`, accessToken: 'x' })
  const query: AdminApi['query'] = (text, variables) =>
    (variables?.after === position ? long : options.api).query(text, variables)
  await t.rejects(backfill({ ...options, api: { query } }), { message: /too long/ })
  t.hasStrict(await ordersWalk(options), { position, done: 50, began_anew_at: null })
})

t.test('a walk that is stopped at one place and another begins anew once a day', async (t) => {
  const { options } = await shopOfOrders(t, 210)
  const asked: unknown[] = []
  // Each place is given when it is asked for the third time.
  const api = refusing(options.api, (text, after) => {
    if (!text.includes('query orders')) return false
    asked.push(after)
    return after !== null && asked.filter((other) => other === after).length < 3
  })
  const firsts = () => asked.filter((after) => after === null).length
  const at = async (days: number) => {
    const now = () => new Date(STARTED.getTime() + days * DAY_MS)
    await t.rejects(backfill({ ...options, api, now }), { code: 'upstream_error' })
    return firsts()
  }
  t.strictSame([await at(0), await at(0), await at(0.9)], [1, 2, 2])
  t.strictSame([await at(1), await at(1), await at(1)], [2, 3, 3])
})

t.test('a walk that is stopped where one before it lost its place begins anew, too', async (t) => {
  const { options } = await shopOfOrders(t, 60)
  for (const again of [false, true]) {
    const position = await stopInOrders(t, { ...options, again })
    let refused = 0
    const api = refusing(options.api, (_, after) => after === position && refused++ === 0)
    t.match((await backfill({ ...options, api }))[2], { entity: 'orders', read: 60 })
  }
})

t.test('a back-fill that is killed goes on behind its last page', async (t) => {
  const { brand, store, life, options } = await shop(t, randomSource(t), 600)
  const child = spawn(process.execPath, [join(import.meta.dirname, 'fixtures/backfill-killed.ts')], {
    env: { ...process.env, DATABASE: db.url, BRAND: brand.id, ORIGIN: store.origin },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  t.same(await once(child, 'exit'), [null, 'SIGKILL'])
  const before = (await syncStates(options.db)).find(({ entity }) => entity === 'orders')
  t.hasStrict(before, { done: 50, finished_at: null })
  t.ok(before?.position, 'in the middle of the orders')
  const asked = store.counts.answered
  const walked = await backfill(options)
  t.same(
    walked.map(({ entity, read }) => [entity, read]),
    [
      ['customers', 0],
      ['products', 0],
      ['orders', life.state.orders.length - 50],
      ['subscriptions', life.state.subscriptions.length],
    ],
  )
  t.ok(store.counts.answered - asked <= 4)
  t.equal((await orders(brand)).length, life.state.orders.length)
})

t.test('a reconcile brings what webhooks left out, with its events, once', async (t) => {
  const random = randomSource(t)
  const { brand, life, options } = await shop(t, random, 30)
  await backfill({ ...options, now: () => life.now })
  life.messages()
  // When one of these is paid only the Admin API says.
  const history = life.state.orders.map(({ id }) => `order_created:${id}`)
  for (let step = 0; step < 90; step++) life.step()
  const told = await connectedBrand(db, { connectedAt: options.connection.connectedAt })
  for (const message of life.messages()) {
    await send(told, message)
    // Most of them never come.
    if (random.chance(0.3)) await send(brand, message)
  }
  await reconcile({ ...options, now: () => life.now })
  const news = async (of: Brand) =>
    (await eventsOf(db, of))
      .map(({ event_id }) => event_id)
      .filter((id) => /^(order_created|refund_issued)/.test(id) && !history.includes(id))
      .sort()
  t.ok((await news(told)).length > 1)
  t.strictSame(await news(brand), await news(told))
  const all = await eventsOf(db, brand)
  const xids = async () => [
    ...(await db.postgres
      .sql`select external_id, xid::text from store_order where brand_id = ${brand.id} order by 1`),
  ]
  const written = await xids()
  await reconcile({ ...options, now: () => life.now })
  t.strictSame(await xids(), written, 'again it writes nothing')
  t.same(await eventsOf(db, brand), all)
})

t.test('what changed since a walk that began by a clock which was ahead is read', async (t) => {
  const { brand, life, options } = await shop(t, randomSource(t), 0)
  await reconcile(options)
  await db.postgres.sql`
    update store_sync set started_at = now() + interval '1 day' where brand_id = ${brand.id}`
  life.state.addOrder(life.now, {
    customer: null,
    email: 'a@example.com',
    lines: life.state.lines(randomSource(t)),
  })
  await reconcile(options)
  t.equal((await orders(brand)).length, 1)
})

t.test('a walk begins no later than by the clock of Postgres', async (t) => {
  const { options } = await shop(t, randomSource(t), 0)
  const ahead = new Date(Date.now() + DAY_MS)
  await reconcile({ ...options, now: () => ahead })
  t.ok(((await ordersWalk(options))?.started_at ?? ahead) < ahead)
})

t.test(
  'an order that only a reconcile tells of completes its checkout, whichever is known first',
  async (t) => {
    const { brand, life, options } = await shop(t, randomSource(t), 0)
    const { state } = life
    const checkouts = ['c1', 'c2'].map((cart) => {
      const checkout = state.addCheckout(
        life.now,
        cart,
        null,
        `${cart}@example.com`,
        state.lines(randomSource(t)),
      )
      state.addOrder(life.now, checkout, { checkout, financialStatus: 'paid' })
      return checkout
    })
    const tell = (checkout?: ShopCheckout) =>
      checkout && send(brand, { topic: 'checkouts/create', body: bodyOf(checkoutBody(state, checkout)) })
    await tell(checkouts[0])
    await reconcile(options)
    await tell(checkouts[1])
    const rows = await db.postgres.sql`
    select placed.external_id, started.state
    from store_order as placed
    join checkout as started
      on started.brand_id = placed.brand_id and started.external_id = placed.checkout_external_id
    where placed.brand_id = ${brand.id}
    order by placed.external_id`
    t.strictSame(
      rows.map((row) => ({ ...row })),
      state.orders.map(({ id }) => ({ external_id: String(id), state: 'completed' })),
    )
  },
)

t.test('webhooks and reconciles in any order end in the same checkouts, orders and refunds', async (t) => {
  const random = randomSource(t)
  const { brand, life, options } = await shop(t, random, 0)
  const told = await connectedBrand(db, { connectedAt: options.connection.connectedAt })
  life.messages()
  for (let round = 0; round < 4; round++) {
    for (let step = 0; step < 25; step++) life.step()
    const messages = life.messages()
    for (const message of messages) await send(told, message)
    const late = messages.filter(() => random.chance(0.5))
    for (const message of messages) if (!late.includes(message)) await send(brand, message)
    await reconcile({ ...options, now: () => life.now })
    for (const message of late.sort(() => random.below(3) - 1)) await send(brand, message)
  }
  const state = async ({ id }: Brand) => ({
    orders: [
      ...(await db.postgres.sql`
        select external_id, state, billing_status, refunded_total, checkout_external_id
        from store_order where brand_id = ${id} order by 1`),
    ],
    checkouts: [
      ...(await db.postgres.sql`
        select external_id, state from checkout where brand_id = ${id} and not deleted order by 1`),
    ],
    refunds: [
      ...(await db.postgres.sql`select external_id, total from refund where brand_id = ${id} order by 1`),
    ],
  })
  t.ok((await state(told)).refunds.length > 0)
  t.strictSame(await state(brand), await state(told))
})

t.test('a reconcile corrects what a refund came to', async (t) => {
  const { brand, life, options } = await shop(t, randomSource(t), 0)
  const { state } = life
  const [product] = state.products
  if (!product) throw new Error('no product')
  const from = { customer: null, email: 'back@example.com', lines: [state.line(product, 1)] }
  const order = state.addOrder(life.now, from, { financialStatus: 'paid' })
  const refund = state.refund(order, life.now, 0.5)
  const tell = () =>
    send(brand, {
      topic: 'orders/updated',
      body: bodyOf(orderBody(state, order)),
      triggeredAt: order.updatedAt,
    })
  const total = async () =>
    (await db.postgres.sql`select refunded_total from store_order where brand_id = ${brand.id}`)[0]
      ?.refunded_total
  await tell()
  t.equal(await total(), '0.00')
  state.settleRefund(order, refund, new Date(life.now.getTime() + 60_000), 'success')
  await reconcile({ ...options, now: () => life.now })
  t.equal(await total(), refund.total)
  await tell()
  // The money was taken back; the webhook of that is lost.
  state.settleRefund(order, refund, new Date(life.now.getTime() + 120_000), 'failure')
  await reconcile({ ...options, now: () => life.now })
  t.equal(await total(), '0.00')
})

t.test('a token that the store refuses is said', async (t) => {
  const { store, options } = await shop(t, randomSource(t), 0)
  const api = openAdminApi({ origin: store.origin, accessToken: 'shpat_other' })
  await t.rejects(backfill({ ...options, api }), { code: 'integration_not_connected' })
  const uninstalled = { ...options, connection: { ...options.connection, accessToken: null } }
  await t.rejects(backfill(uninstalled), { code: 'integration_not_connected' })
})

t.test('a catalog page is the live one, by the store’s own cursor, and says how long to wait', async (t) => {
  const { life, store, time, options } = await shop(t, randomSource(t), 0)
  const { connection, api } = options
  const { products, nextCursor } = await catalogPage(connection, { limit: 4, cursor: null }, { api })
  const rest = await catalogPage(connection, { limit: 4, cursor: nextCursor }, { api })
  t.same(
    [...products, ...rest.products].map(({ externalId }) => externalId),
    life.state.products.map(({ id }) => String(id)),
  )
  t.equal(rest.nextCursor, null)
  store.fail('429', '429', '429', '429')
  const impatient = openAdminApi({
    origin: store.origin,
    accessToken: 'shpat_test',
    patienceMs: 3_000,
    clock: time,
  })
  await t.rejects(catalogPage(connection, { limit: 4, cursor: null }, { api: impatient }), {
    code: 'rate_limited',
    message: /in 2 seconds/,
    headers: { 'retry-after': '2' },
  })
})

t.test('the time that the store takes to fail counts towards the patience of a query', async (t) => {
  const { store, time, options } = await shop(t, randomSource(t), 0)
  const api = openAdminApi({
    origin: store.origin,
    accessToken: 'shpat_test',
    patienceMs: 3_000,
    clock: { wait: time.wait, now: () => time.now() + store.counts.faults * 8_000 },
  })
  store.fail('503', '503', '503', '503')
  await t.rejects(catalogPage(options.connection, { limit: 4, cursor: null }, { api }), {
    code: 'upstream_unavailable',
  })
  t.equal(store.counts.faults, 1)
})

t.test('the commands connect a store, read its history and show how it is', async (t) => {
  const life = new ShopLife(new ShopState('EUR'), randomSource(t), STARTED)
  life.open({ products: 3, customers: 5 })
  for (let step = 0; step < 20; step++) life.step()
  const brand = await newBrand(db)
  const store = await startFakeStore({
    state: life.state,
    shopDomain: brand.shop_domain,
    accessToken: 'shpat_command',
  })
  t.teardown(() => store.close())
  const env = { DATABASE_URL: db.url, DATA_DIR: await emptyFolder(t) }
  const run = async (args: string[], stdin?: string) => {
    const ran = await recoup([...args, '--brand', brand.id, '--json'], { env, ...(stdin ? { stdin } : {}) })
    return { ...ran, said: ran.stdout ? JSON.parse(ran.stdout) : null }
  }
  // As a person may write it.
  const connect = ['store', 'connect', '--credentials', '-', '--api-origin', `${store.origin.toUpperCase()}/`]
  const refused = await run(connect, '{"access_token":"shpat_wrong","webhook_secret":"s3cret"}')
  t.match(refused, { code: 1, stderr: /refuses the access token/ })
  t.notOk(/shpat_wrong|s3cret/.test(refused.stderr))

  const credentials = '{"access_token":"shpat_command","webhook_secret":"s3cret"}'
  const { said } = await run([...connect, '--abandoned-after', '45'], credentials)
  t.match(said, {
    shop_domain: brand.shop_domain,
    currency_code: 'EUR',
    webhook_url: 'http://127.0.0.1:8080/store/shopify/webhooks',
    notes: [/currency is EUR, the brand's USD/, /last 60 days/],
  })
  t.match(await db.postgres.sql`select currency_code from store_connection where brand_id = ${brand.id}`, [
    { currency_code: 'EUR' },
  ])
  t.equal(store.subscribed.get('ORDERS_PAID'), said.webhook_url)
  t.notOk(store.subscribed.has('CUSTOMERS_REDACT'))
  t.hasStrict((await run(['store', 'backfill'])).said.data, [
    { read: life.state.customers.length },
    {},
    {},
    {},
  ])
  const status = (await run(['store', 'status'])).said
  t.hasStrict(status, { status: 'connected', abandoned_after_minutes: 45, dead: 0 })
  t.equal(status.walks.length, 4)
  const shown = (await recoup(['store', 'status', '--brand', brand.id], { env })).stdout
  t.match(shown, /^setting +value\n-/)
  t.match(shown, /^connected_at +\d{4}-\d\d-\d\dT[\d:.]+Z$/m, 'times are as in all other tables')
  t.match(shown, /^scopes +read_customers,/m)

  await db.postgres.sql`
    insert into store_delivery (brand_id, webhook_id, topic, triggered_at, received_at, outcome, reason, payload)
    values (${brand.id}, 'unread', 'orders/create', now(), now(), 'dead', 'unread', ${Buffer.from('[]')})`
  t.hasStrict(
    await run(['store', 'replay']),
    { code: 1, said: { applied: 0, dead: 1 } },
    'what could not be read again is no success',
  )
  const kept = await db.postgres.sql`select * from store_connection where brand_id = ${brand.id}`
  t.notOk(JSON.stringify(kept[0]).includes(Buffer.from('s3cret').toString('hex')), 'sealed')
})
