import type { Fields } from '../fields.ts'
import { minus, sum } from '../money.ts'
import {
  type Batch,
  batchOf,
  FINANCIAL_STATUSES,
  FULFILLMENT_STATUSES,
  type FulfillmentRecord,
  type OrderRecord,
  type Person,
  type RefundRecord,
  type Version,
} from '../record.ts'
import { keptOf, type RefundWithin, type SaidLine, subtotalOf } from './edited.ts'
import { type Refunded, readings, refunded } from './refunded.ts'
import { moneyOf } from './shop-money.ts'

/** Beside the body. */
export interface Sent {
  triggeredAt: string
  /** The shop's currency, where the body does not say it. */
  currency: string
  /** Of the connection whose secret signed it. */
  shopDomain: string
}

/** An order as webhooks carry it, with the refunds and fulfillments inside it. */
export function readOrder(fields: Fields, sent: Sent): Batch {
  const { triggeredAt, currency } = sent
  const externalId = fields.id('id')
  const person = personOf(fields)
  const currencyCode = fields.currency('currency') ?? moneyOf(fields, 'total_price')?.currency ?? currency
  const createdAt = fields.time('created_at')
  const cancelledAt = fields.timeOrNull('cancelled_at')
  const refunds = fields
    .list('refunds')
    .map((refund) => ({ refund, comesTo: refunded(refund, currencyCode) }))
  const said = {
    total: moneyOf(fields, 'total_price')?.amount ?? fields.amount('total_price'),
    current: saysRefunds(fields) ? (moneyOf(fields, 'current_total_price')?.amount ?? null) : null,
    outstanding: moneyOf(fields, 'total_outstanding')?.amount ?? null,
    refunds: refunds.map(({ refund, comesTo }) => refundWithin(refund, comesTo)),
    discount: moneyOf(fields, 'total_discounts')?.amount ?? '0.00',
    isCancelled: cancelledAt !== null,
  }
  const { total, discount, lines } = keptOf(said, fields.list('line_items').map(lineOf))
  const order: OrderRecord = {
    externalId,
    version: versionOf(fields, triggeredAt),
    number: fields.text('name') ?? fields.text('order_number') ?? externalId,
    person,
    currencyCode,
    subtotal: total === said.total ? grossOf(fields) : subtotalOf(lines),
    discountTotal: discount,
    total,
    financialStatus: fields.choiceOrNull('financial_status', FINANCIAL_STATUSES) ?? 'pending',
    // Null says that nothing is on its way yet.
    fulfillmentStatus: fields.says('fulfillment_status')
      ? (fields.choiceOrNull('fulfillment_status', FULFILLMENT_STATUSES) ?? 'unfulfilled')
      : null,
    discountCodes: fields.list('discount_codes').flatMap((code) => code.text('code') ?? []),
    lines,
    test: fields.flag('test'),
    createdAt,
    paidAt: fields.timeOrNull('processed_at') ?? createdAt,
    cancelledAt,
    checkoutExternalId: fields.idOrNull('checkout_id'),
    checkoutToken: fields.idOrNull('checkout_token'),
    cartExternalId: fields.idOrNull('cart_token'),
  }
  const fulfillments = fields
    .list('fulfillments')
    .map((fulfillment) => ({ ...readFulfillment(fulfillment, triggeredAt), orderExternalId: externalId }))
  return batchOf({
    orders: [order],
    refunds: refunds.map(({ refund, comesTo }) => ({
      ...refundOf(refund, sent, comesTo),
      orderExternalId: externalId,
      person,
    })),
    fulfillments,
  })
}

/** Also whether they move money: without its transactions a refund is no different from the note of an edit. */
const saysRefunds = (fields: Fields): boolean =>
  fields.says('refunds') && fields.list('refunds').every((refund) => refund.says('transactions'))

function lineOf(line: Fields): SaidLine {
  return {
    id: line.partId('id'),
    product_id: line.idOrNull('product_id'),
    variant_id: line.idOrNull('variant_id'),
    title: line.text('title'),
    sku: line.text('sku'),
    quantity: line.whole('quantity') ?? 1,
    price: moneyOf(line, 'price')?.amount ?? '0.00',
    current: line.whole('current_quantity'),
    discount: discountOf(line),
  }
}

const discountOf = (of: Fields): string =>
  sum(of.list('discount_allocations').map((allocation) => moneyOf(allocation, 'amount')?.amount ?? '0.00'))

/** Before the discounts of its lines; the platform's own subtotal is after them. */
function grossOf(fields: Fields): string | null {
  const lines = moneyOf(fields, 'total_line_items_price')
  if (lines) return lines.amount
  const subtotal = moneyOf(fields, 'subtotal_price')
  if (!subtotal) return null
  const ofShipping = sum(fields.list('shipping_lines').map(discountOf))
  return sum([subtotal.amount, minus(moneyOf(fields, 'total_discounts')?.amount ?? '0.00', ofShipping)])
}

function refundWithin(refund: Fields, { total, asked }: Refunded): RefundWithin {
  return {
    total,
    asked,
    moves: refund.list('transactions').some((one) => one.text('kind') === 'refund'),
    lines: refund
      .list('refund_line_items')
      .map((line) => ({ lineId: line.idOrNull('line_item_id'), quantity: line.whole('quantity') ?? 0 })),
  }
}

/** A refund as `refunds/create` carries it. It has no time of its changes: the newest word of it counts. */
export function readRefund(fields: Fields, sent: Sent): RefundRecord {
  const [first, otherwise] = readings(fields, sent.currency)
  return { ...refundOf(fields, sent, first), ...(otherwise && { otherwise }) }
}

const refundOf = (
  fields: Fields,
  { triggeredAt }: Sent,
  { total, currencyCode }: Refunded,
): RefundRecord => ({
  externalId: fields.id('id'),
  version: { updatedAt: triggeredAt, triggeredAt },
  orderExternalId: fields.idOrNull('order_id'),
  person: personOf(fields),
  currencyCode,
  total,
  createdAt: fields.timeOrNull('processed_at') ?? fields.time('created_at'),
})

export function readFulfillment(fields: Fields, triggeredAt: string): FulfillmentRecord {
  return {
    externalId: fields.id('id'),
    orderExternalId: fields.idOrNull('order_id') ?? '',
    version: versionOf(fields, triggeredAt),
    status: fields.text('status') ?? 'pending',
    shipmentStatus: fields.text('shipment_status'),
    trackingCompany: fields.text('tracking_company'),
    trackingNumbers: [
      ...new Set([...fields.texts('tracking_numbers'), fields.text('tracking_number') ?? []].flat()),
    ],
    trackingUrls: [
      ...new Set([...fields.addresses('tracking_urls'), fields.address('tracking_url') ?? []].flat()),
    ],
    createdAt: fields.time('created_at'),
  }
}

/** `updated_at` has seconds only; the time of the trigger tells the versions of one second apart. */
export function versionOf(fields: Fields, triggeredAt: string): Version {
  const updatedAt = fields.timeOrNull('updated_at') ?? fields.timeOrNull('created_at')
  return updatedAt === null
    ? { updatedAt: triggeredAt, triggeredAt, undated: true }
    : { updatedAt, triggeredAt }
}

/** Whom an order, a checkout or a cart names: its own address, else that of the customer in it. */
export function personOf(fields: Fields): Person {
  const customer = fields.object('customer')
  return {
    storeCustomerId: customer?.idOrNull('id') ?? fields.idOrNull('customer_id') ?? undefined,
    email: fields.text('email') ?? customer?.text('email') ?? undefined,
    phone: fields.text('phone') ?? customer?.text('phone') ?? undefined,
    firstName: customer?.text('first_name') ?? undefined,
    lastName: customer?.text('last_name') ?? undefined,
  }
}
