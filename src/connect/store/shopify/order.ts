import type { Fields } from '../fields.ts'
import { minus, sum, times } from '../money.ts'
import {
  type Batch,
  batchOf,
  FINANCIAL_STATUSES,
  FULFILLMENT_STATUSES,
  type FulfillmentRecord,
  type LineRecord,
  type OrderRecord,
  type Person,
  type RefundRecord,
  type Version,
} from '../record.ts'
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
  const order: OrderRecord = {
    externalId,
    version: versionOf(fields, triggeredAt),
    number: fields.text('name') ?? fields.text('order_number') ?? externalId,
    person,
    currencyCode,
    subtotal: moneyOf(fields, 'subtotal_price')?.amount ?? null,
    discountTotal: moneyOf(fields, 'total_discounts')?.amount ?? '0.00',
    total: moneyOf(fields, 'total_price')?.amount ?? fields.amount('total_price'),
    financialStatus: fields.choiceOrNull('financial_status', FINANCIAL_STATUSES) ?? 'pending',
    // Null says that nothing is on its way yet.
    fulfillmentStatus: fields.says('fulfillment_status')
      ? (fields.choiceOrNull('fulfillment_status', FULFILLMENT_STATUSES) ?? 'unfulfilled')
      : null,
    discountCodes: fields.list('discount_codes').flatMap((code) => code.text('code') ?? []),
    lines: fields.list('line_items').map(lineOf),
    test: fields.flag('test'),
    createdAt,
    paidAt: fields.timeOrNull('processed_at') ?? createdAt,
    cancelledAt: fields.timeOrNull('cancelled_at'),
    checkoutExternalId: fields.idOrNull('checkout_id'),
    checkoutToken: fields.idOrNull('checkout_token'),
    cartExternalId: fields.idOrNull('cart_token'),
  }
  const refunds = fields.list('refunds').map((refund) => ({
    ...refundOf(refund, sent, refunded(refund, currencyCode)),
    orderExternalId: externalId,
    person,
  }))
  const fulfillments = fields
    .list('fulfillments')
    .map((fulfillment) => ({ ...readFulfillment(fulfillment, triggeredAt), orderExternalId: externalId }))
  return batchOf({ orders: [order], refunds, fulfillments })
}

function lineOf(line: Fields): LineRecord {
  const quantity = line.whole('quantity') ?? 1
  const price = moneyOf(line, 'price')?.amount ?? '0.00'
  const discount = sum(
    line.list('discount_allocations').map((allocation) => moneyOf(allocation, 'amount')?.amount ?? '0.00'),
  )
  return {
    id: line.id('id'),
    product_id: line.idOrNull('product_id'),
    variant_id: line.idOrNull('variant_id'),
    title: line.text('title'),
    sku: line.text('sku'),
    quantity,
    price,
    total: minus(times(quantity, price), discount),
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
