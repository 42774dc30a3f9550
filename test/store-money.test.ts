import t from 'tap'
import { database } from './fixtures/database.ts'
import { connectedBrand, eventsOf, storeServer } from './fixtures/store.ts'
import { order, refund } from './fixtures/store-bodies.ts'

const db = await database(t)
const { send } = await storeServer(t, db)
const CONNECTED_AT = new Date('2026-11-20T00:00:00Z')

const shop = (currency?: string) =>
  connectedBrand(db, { connectedAt: CONNECTED_AT, ...(currency ? { currency } : {}) })
type Brand = Awaited<ReturnType<typeof shop>>

const orderOf = async ({ id }: Brand) => {
  const [row] = await db.postgres.sql`
    select total, subtotal, refunded_total, billing_status, lines from store_order where brand_id = ${id}`
  return row
}
const refundOf = async ({ id }: Brand) => {
  const [row] = await db.postgres.sql`select total, currency_code from refund where brand_id = ${id}`
  return row
}

/** An amount in the shop's money and in the shopper's. */
const set = (usd: string, eur: string) => ({
  shop_money: { amount: usd, currency_code: 'USD' },
  presentment_money: { amount: eur, currency_code: 'EUR' },
})
const paid = (amount: string, currency = 'EUR', status = 'success') => ({
  kind: 'refund',
  status,
  amount,
  currency,
})
const EUROS = order({ total_price: '100.00', currency: 'EUR' })
const THIRTY = refund({ transactions: [paid('30.00')] })

t.test('a refund counts in the currency of its order, which need not be the brand’s', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'orders/paid', body: EUROS })
  const refunds = [JSON.parse(THIRTY)]
  const updated = order({
    total_price: '100.00',
    currency: 'EUR',
    updated_at: '2026-11-20T15:00:00Z',
    refunds,
  })
  await send(brand, { topic: 'orders/updated', body: updated, triggeredAt: new Date('2026-11-20T15:00:01Z') })
  await send(brand, { topic: 'refunds/create', body: THIRTY, triggeredAt: new Date('2026-11-20T15:00:02Z') })
  t.match(await refundOf(brand), { total: '30.00', currency_code: 'EUR' })
  t.match(await orderOf(brand), { refunded_total: '30.00' })
  t.hasStrict(
    (await eventsOf(db, brand)).filter(({ event_type }) => event_type === 'refund_issued'),
    [{ properties: { total: '30.00', currency_code: 'EUR' } }],
  )
})

t.test('a refund of an unknown order comes to what its transactions say', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'refunds/create', body: THIRTY })
  t.match(await refundOf(brand), { total: '30.00', currency_code: 'EUR' })
})

t.test('a refund’s lines without sets are in the currency of the order', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'orders/paid', body: EUROS })
  const body = refund({ transactions: [paid('30.00')], refund_line_items: [{ id: 1, subtotal: '30.00' }] })
  await send(brand, { topic: 'refunds/create', body })
  t.match(await refundOf(brand), { total: '30.00', currency_code: 'EUR' })
})

t.test('a refund without a currency of its own is in the shop’s', async (t) => {
  const brand = await shop('EUR')
  const body = refund({ transactions: [{ kind: 'refund', status: 'success', amount: '30.00' }] })
  await send(brand, { topic: 'refunds/create', body })
  t.match(await refundOf(brand), { total: '30.00', currency_code: 'EUR' })
})

t.test('a refund without a currency of its own is in that of its order', async (t) => {
  const brand = await shop('USD')
  await send(brand, { topic: 'orders/paid', body: EUROS })
  const body = refund({ transactions: [{ kind: 'refund', status: 'success', amount: '30.00' }] })
  await send(brand, { topic: 'refunds/create', body })
  t.match(await refundOf(brand), { total: '30.00', currency_code: 'EUR' })
  t.match(await orderOf(brand), { refunded_total: '30.00' })
})

t.test('a shop whose currency is not known has that of the first order that it tells of', async (t) => {
  const brand = await shop()
  const currency = async () => {
    const [row] = await db.postgres
      .sql`select currency_code from store_connection where brand_id = ${brand.id}`
    return row?.currency_code
  }
  t.equal(await currency(), null)
  await send(brand, { topic: 'orders/paid', body: EUROS })
  t.equal(await currency(), 'EUR')
  await send(brand, { topic: 'orders/paid', body: order({ id: 1002, currency: 'GBP' }) })
  t.equal(await currency(), 'EUR', 'and keeps it')
})

/** What a refund of an order in USD comes to that was paid in EUR. */
const comesTo = async (changes: object) => {
  const brand = await shop()
  await send(brand, { topic: 'orders/paid', body: order() })
  await send(brand, { topic: 'refunds/create', body: refund(changes) })
  const row = await refundOf(brand)
  return `${row?.total} ${row?.currency_code}`
}
const LINE = { id: 1, subtotal: '50.00', subtotal_set: set('50.00', '45.00') }
const SHIPPING = { id: 2, subtotal_amount_set: set('5.00', '4.50') }

t.test('shipping that is given back counts in the shop’s money', async (t) => {
  const both = { refund_line_items: [LINE], refund_shipping_lines: [SHIPPING] }
  t.equal(await comesTo({ ...both, transactions: [paid('49.50')] }), '55.00 USD')
  t.equal(await comesTo({ refund_shipping_lines: [SHIPPING], transactions: [paid('4.50')] }), '5.00 USD')
})

t.test('shipping counts without the shopper’s money of it, and once beside its adjustment', async (t) => {
  const shipping = [{ id: 2, subtotal_amount_set: { shop_money: set('5.00', '').shop_money } }]
  const adjustment = { id: 3, kind: 'shipping_refund', amount: '-5.00' }
  const given = { refund_shipping_lines: shipping, order_adjustments: [adjustment] }
  t.equal(await comesTo({ ...given, transactions: [paid('4.50')] }), '5.00 USD')
})

t.test('duties that are given back count in the shop’s money', async (t) => {
  const given = { total_duties_set: set('10.00', '9.00') }
  t.equal(await comesTo({ ...given, transactions: [paid('9.00')] }), '10.00 USD')
})

t.test('tax within the price of a refunded line counts once', async (t) => {
  const line = { ...LINE, total_tax: '8.33', total_tax_set: set('8.33', '7.50') }
  t.equal(await comesTo({ refund_line_items: [line], transactions: [paid('45.00')] }), '50.00 USD')
  t.equal(
    await comesTo({ refund_line_items: [line], transactions: [paid('52.50')] }),
    '58.33 USD',
    'and beside the price it is added',
  )
})

t.test('a refund that its rate makes larger than any amount is refused', async (t) => {
  const line = { id: 1, subtotal_set: set('99999999999.00', '0.01') }
  const body = refund({ refund_line_items: [line], transactions: [paid('99999999999.00')] })
  const brand = await shop()
  await send(brand, { topic: 'orders/paid', body: order() })
  const reason = "transactions must come to an amount in the shop's currency"
  t.match(await send(brand, { topic: 'refunds/create', body }), { body: { message: reason } })
})

t.test('of a refund that is pending in part the successful share counts', async (t) => {
  const transactions = [paid('18.00'), paid('27.00', 'EUR', 'pending')]
  t.equal(await comesTo({ refund_line_items: [LINE], transactions }), '20.00 USD')
  const line = { id: 1, subtotal: '50.00' }
  t.equal(await comesTo({ refund_line_items: [line], transactions }), '20.00 USD', 'also without sets')
})

t.test('a refund that comes before its order leaves the total as it was', async (t) => {
  const brand = await shop()
  const body = refund({ transactions: [paid('40.00', 'USD')] })
  await send(brand, { topic: 'refunds/create', body })
  const current = { total_price: '100.00', current_total_price: '60.00', total_outstanding: '0.00' }
  const updated = order({ ...current, refunds: [JSON.parse(body)] })
  for (const topic of ['orders/paid', 'orders/updated']) {
    await send(brand, { topic, body: updated })
    t.match(await orderOf(brand), { total: '100.00', refunded_total: '40.00' }, topic)
  }
})

t.test('a refund whose order says no transactions of it is taken off once', async (t) => {
  const brand = await shop()
  const { transactions: _, ...silent } = JSON.parse(refund())
  const current = { total_price: '100.00', current_total_price: '70.00', total_outstanding: '0.00' }
  const refunds = [{ ...silent, refund_line_items: [{ id: 1, line_item_id: 5, quantity: 1 }] }]
  await send(brand, { topic: 'orders/updated', body: order({ ...current, refunds }) })
  const body = refund({ transactions: [paid('30.00', 'USD')] })
  await send(brand, { topic: 'refunds/create', body })
  t.match(await orderOf(brand), { total: '100.00', refunded_total: '30.00' })
})
