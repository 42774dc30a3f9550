import t from 'tap'
import { Fields } from '../src/connect/store/fields.ts'
import type { Batch } from '../src/connect/store/record.ts'
import { NODES } from '../src/connect/store/shopify/nodes.ts'
import { readOrder } from '../src/connect/store/shopify/order.ts'
import { ORDER } from './fixtures/store-bodies.ts'

const AT = '2026-11-20T15:00:00.000Z'

/** What a webhook tells of an order of a lamp for 60.00 and a chair for 40.00. */
function told(changes: object): Batch {
  const body = { ...ORDER, total_price: '100.00', refunds: [], line_items: [LAMP, CHAIR], ...changes }
  return readOrder(new Fields(JSON.parse(JSON.stringify(body))), {
    triggeredAt: AT,
    currency: 'USD',
    shopDomain: 'x',
  })
}
const LAMP = { id: 5, product_id: 9, title: 'Lamp', quantity: 1, current_quantity: 1, price: '60.00' }
const CHAIR = { id: 6, product_id: 8, title: 'Chair', quantity: 1, current_quantity: 1, price: '40.00' }
const GONE = { line_items: [LAMP, { ...CHAIR, current_quantity: 0 }] }

const refund = (...transactions: object[]) => ({
  id: 30,
  created_at: AT,
  refund_line_items: [{ id: 1, line_item_id: 6, quantity: 1, subtotal: '40.00' }],
  transactions: transactions.map((one) => ({ kind: 'refund', amount: '40.00', currency: 'USD', ...one })),
})

const figures = ({ orders: [order], refunds }: Batch) => [
  order?.total,
  refunds.map(({ total }) => total).join(' '),
  order?.lines.map(({ title, quantity }) => `${quantity} ${title}`).join(', '),
]
const BOTH = '1 Lamp, 1 Chair'
const REDUCED = { ...GONE, current_total_price: '60.00', total_outstanding: '0.00' }

t.test('what an edit took off before it was paid counts neither in the total nor in the lines', (t) => {
  const batch = told({ ...REDUCED, refunds: [refund()] })
  t.same(figures(batch), ['60.00', '0.00', '1 Lamp'])
  t.equal(batch.orders[0]?.subtotal, '60.00')
  t.end()
})

t.test('a part of a line that an edit took off takes its share of the discount with it', (t) => {
  const line = {
    ...LAMP,
    quantity: 4,
    current_quantity: 3,
    price: '25.00',
    discount_allocations: [{ amount: '10.00' }],
  }
  const edited = { current_total_price: '67.50', total_outstanding: '67.50' }
  const batch = told({ total_price: '90.00', ...edited, line_items: [line] })
  t.hasStrict(batch.orders, [{ total: '67.50', lines: [{ quantity: 3, total: '67.50' }] }])
  t.end()
})

t.test('what an edit took off takes its discount with it', (t) => {
  const discounted = { ...CHAIR, discount_allocations: [{ amount: '10.00' }] }
  const edited = (quantity: number, current: number, current_total_price: string) =>
    told({
      ...REDUCED,
      total_price: '90.00',
      total_discounts: '10.00',
      current_total_price,
      line_items: [
        LAMP,
        { ...discounted, quantity, current_quantity: current, price: quantity === 2 ? '20.00' : '40.00' },
      ],
    }).orders
  t.hasStrict(edited(1, 0, '60.00'), [{ total: '60.00', subtotal: '60.00', discountTotal: '0.00' }])
  t.hasStrict(edited(2, 1, '75.00'), [{ total: '75.00', subtotal: '80.00', discountTotal: '5.00' }])
  t.hasStrict(edited(1, 1, '90.00'), [{ total: '90.00', discountTotal: '10.00' }])
  t.end()
})

t.test('what is given back stays in the total, pending, failed or done', (t) => {
  for (const [status, came] of [
    ['success', '40.00'],
    ['pending', '0.00'],
    ['failure', '0.00'],
  ] as const)
    t.same(figures(told({ ...REDUCED, refunds: [refund({ status })] })), ['100.00', came, BOTH], status)
  t.end()
})

t.test('so does what was paid for and is owed to the shopper', (t) => {
  t.same(figures(told({ ...REDUCED, total_outstanding: '-40.00', refunds: [refund()] })), [
    '100.00',
    '0.00',
    BOTH,
  ])
  t.end()
})

t.test('money on its way is not counted twice as owed', (t) => {
  const more = { total_price: '120.00', current_total_price: '60.00', total_outstanding: '-40.00' }
  t.equal(told({ ...GONE, ...more, refunds: [refund({ status: 'pending' })] }).orders[0]?.total, '100.00')
  t.end()
})

t.test('an order of many lines with many that came back is read at once', (t) => {
  const each = <Entry>(entry: (at: number) => Entry) =>
    Array.from({ length: 5_000 }, (_, at) => entry(at + 1))
  const line_items = each((id) => ({ ...LAMP, id, quantity: 9, current_quantity: id % 2, price: '1.00' }))
  const back = {
    ...refund({ status: 'success', amount: '1.00' }),
    refund_line_items: each((id) => ({ line_item_id: id, quantity: 1 })),
  }
  const refunds = [1, 2, 3, 4].map((id) => ({ ...back, id }))
  const begun = performance.now()
  const [order] = told({
    total_price: '45000.00',
    current_total_price: '2500.00',
    total_outstanding: '0.00',
    line_items,
    refunds,
  }).orders
  t.ok(performance.now() - begun < 1_000)
  t.same([order?.lines.at(0)?.quantity, order?.lines.at(-1)?.quantity], [5, 4])
  t.end()
})

t.test('a full refund leaves the total', (t) => {
  const none = { current_total_price: '0.00', total_outstanding: '0.00', financial_status: 'refunded' }
  const refunds = [refund({ status: 'success', amount: '100.00' })]
  t.same(figures(told({ ...none, refunds })), ['100.00', '100.00', BOTH])
  t.end()
})

t.test('no edit takes off more than there was', (t) => {
  t.equal(told({ ...REDUCED, current_total_price: '-5.00' }).orders[0]?.total, '0.00')
  t.end()
})

t.test('a cancelled order keeps its total', (t) => {
  const cancelled = { current_total_price: '0.00', cancelled_at: AT }
  t.same(figures(told({ ...cancelled, refunds: [refund()] })), ['100.00', '0.00', BOTH])
  t.end()
})

t.test('a webhook without the transactions of a refund keeps the total', (t) => {
  const { transactions: _, ...silent } = refund()
  t.same(figures(told({ ...REDUCED, refunds: [refund(), silent] })), ['100.00', '0.00 0.00', BOTH])
  t.end()
})

t.test('a webhook that does not say what is owed still keeps the total', (t) => {
  const { total_outstanding: _, ...silent } = REDUCED
  t.same(figures(told({ ...silent, refunds: [refund()] })), ['100.00', '0.00', BOTH])
  t.end()
})

t.test('a webhook without the current total, or without the refunds, keeps the total', (t) => {
  t.same(figures(told({ ...GONE, refunds: [refund()] })), ['100.00', '0.00', BOTH])
  t.same(figures(told({ ...REDUCED, refunds: undefined })), ['100.00', '', BOTH])
  t.end()
})

const money = (amount: string) => ({ shopMoney: { amount, currencyCode: 'USD' } })
const line = (id: number, title: string, price: string, currentQuantity: number) => ({
  id: `gid://shopify/LineItem/${id}`,
  title,
  quantity: 1,
  currentQuantity,
  originalUnitPriceSet: money(price),
  discountAllocations: [],
})

/** What the Admin API tells of the same order after the chair is gone. */
function read(status: string | null, outstanding = '0.00'): Batch {
  const transactions = status ? [{ kind: 'REFUND', status, amountSet: money('40.00') }] : []
  const lines = [{ quantity: 1, lineItem: { id: 'gid://shopify/LineItem/6' } }]
  const node = {
    id: 'gid://shopify/Order/1001',
    createdAt: AT,
    updatedAt: AT,
    displayFinancialStatus: 'PAID',
    totalPriceSet: money('100.00'),
    currentTotalPriceSet: money('60.00'),
    totalOutstandingSet: money(outstanding),
    totalDiscountsSet: money('0.00'),
    lineItems: { nodes: [line(5, 'Lamp', '60.00', 1), line(6, 'Chair', '40.00', 0)] },
    refunds: [
      {
        id: 'gid://shopify/Refund/30',
        createdAt: AT,
        transactions: { nodes: transactions },
        refundLineItems: { nodes: lines },
      },
    ],
  }
  return NODES.orders(new Fields(node), AT)
}

t.test('a back-fill comes to the same', (t) => {
  for (const status of ['success', 'pending', 'failure'])
    t.same(
      figures(read(status.toUpperCase())),
      figures(told({ ...REDUCED, refunds: [refund({ status })] })),
      status,
    )
  t.same(figures(read(null)), ['60.00', '0.00', '1 Lamp'])
  t.same(figures(read(null, '-40.00')), ['100.00', '0.00', BOTH])
  t.end()
})

t.test('the subtotal is before discounts', (t) => {
  const subtotal = (changes: object) => told({ total_price: '90.00', ...changes }).orders[0]?.subtotal
  const discounted = { subtotal_price: '90.00', total_discounts: '10.00' }
  t.equal(subtotal({ ...discounted, total_line_items_price: '100.00' }), '100.00')
  t.equal(subtotal(discounted), '100.00')
  const shipping_lines = [{ price: '5.00', discount_allocations: [{ amount: '4.00' }] }]
  t.equal(subtotal({ ...discounted, shipping_lines }), '96.00', 'a discount of the shipping is none of it')
  t.equal(read('SUCCESS').orders[0]?.subtotal, '100.00', 'also in a back-fill')
  t.end()
})
