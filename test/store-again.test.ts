import t from 'tap'
import { createReceiver } from '../src/connect/store/receive.ts'
import type { Brand } from '../src/op.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { connectedBrand, eventsOf, SEAL, storeServer } from './fixtures/store.ts'
import { order } from './fixtures/store-bodies.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { sql } = db.postgres
const { send } = await storeServer(t, db)
const shop = () => connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })
const paid = (body: string) => ({ topic: 'orders/paid', body, webhookId: 'w1' })
const UNREADABLE = order({ total_price: 'much' })

const deliveries = async ({ id }: Brand) => [
  ...(await sql`select outcome, reason, payload from store_delivery where brand_id = ${id}`),
]
const typesOf = async (brand: Brand) => (await eventsOf(db, brand)).map(({ event_type }) => event_type)
const APPLIED = [{ outcome: 'applied', reason: null, payload: null }]

const replayed = async (brand: Brand) => {
  const receiver = createReceiver({ postgres: db.postgres, seal: SEAL, storePlatformDomain: 'myshopify.com' })
  const connection = await receiver.find('shopify', brand.shop_domain)
  if (!connection) throw new Error('not connected')
  return await receiver.replay(connection)
}
/** A delivery is kept as unreadable, though a later version of the service reads it. */
const kept = async ({ id }: Brand, body: string) =>
  await sql`
    insert into store_delivery (brand_id, webhook_id, topic, triggered_at, outcome, reason, payload)
    values (${id}, 'w1', 'orders/paid', now(), 'dead', 'unread', ${Buffer.from(body)})`

t.test('a dead webhook that is sent again mended is taken', async (t) => {
  const brand = await shop()
  t.match(await send(brand, paid(UNREADABLE)), { body: { reason: 'dead_letter' } })
  t.same((await send(brand, paid(order()))).body, { ok: true })
  t.same(await typesOf(brand), ['order_created'])
  t.same(await deliveries(brand), APPLIED)
})

t.test('a dead webhook whose body is no longer kept is taken as well', async (t) => {
  const brand = await shop()
  await send(brand, paid(UNREADABLE))
  await sql`update store_delivery set payload = null where brand_id = ${brand.id}`
  t.same((await send(brand, paid(order()))).body, { ok: true })
  t.same(await typesOf(brand), ['order_created'])
})

t.test('a dead webhook that is sent again and still cannot be read is kept as it is now', async (t) => {
  const brand = await shop()
  await send(brand, paid('no json'))
  t.match(await send(brand, paid(UNREADABLE)), {
    body: { reason: 'dead_letter', message: /^total_price must be/ },
  })
  t.match(await deliveries(brand), [
    { outcome: 'dead', reason: /^total_price must be/, payload: Buffer.from(UNREADABLE) },
  ])
})

t.test('what was taken stays so, whatever comes under its id', async (t) => {
  const brand = await shop()
  await send(brand, paid(order()))
  t.same((await send(brand, paid(UNREADABLE))).body, { ok: true, deduplicated: true })
  t.same(await deliveries(brand), APPLIED)
})

t.test('a mended webhook that comes many times at once while the dead are tried again is one', async (t) => {
  for (let round = 0; round < 5; round++) {
    const brand = await shop()
    await kept(brand, order())
    const [again, ...answers] = await Promise.all([
      replayed(brand),
      ...Array.from({ length: 10 }, () => send(brand, paid(order()))),
    ])
    const taken = answers.filter(({ body }) => body.ok && !body.deduplicated).length
    t.equal(taken + again.applied, 1)
    t.same(await typesOf(brand), ['order_created'])
    t.same(await deliveries(brand), APPLIED)
  }
})

t.test('a replay that read a body before a newer one came leaves the newer one', async (t) => {
  const brand = await shop()
  await kept(brand, order())
  const holder = await sql.reserve()
  await holder`begin`
  await holder`
    update store_delivery set payload = ${Buffer.from('no json')}, received_at = clock_timestamp()
    where brand_id = ${brand.id}`
  const again = replayed(brand)
  await eventually(async () => {
    const [waiting] = await sql`select 1 from pg_locks where locktype = 'transactionid' and not granted`
    return waiting !== undefined
  })
  await holder`commit`
  holder.release()
  t.same(await again, { applied: 0, dead: 1 })
  t.match(await deliveries(brand), [{ outcome: 'dead', payload: Buffer.from('no json') }])
  t.same(await typesOf(brand), [])
})
