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
    ...readRefund(refund, { ...sent, currency: currencyCode }),
    orderExternalId: externalId,
    person,
  }))
  const fulfillments = fields
    .list('fulfillments')
    .map((fulfillment) => ({ ...readFulfillment(fulfillment, triggeredAt), orderExternalId: externalId }))
  return batchOf({ orders: [order], refunds, fulfillments })
}

/** The shop's money: `total_price_set.shop_money` where it is, since `total_price` can be the shopper's on some topics. */
function moneyOf(fields: Fields, name: string): { amount: string; currency: string | null } | null {
  const shop = fields.object(`${name}_set`)?.object('shop_money')
  if (shop?.has('amount')) return { amount: shop.amount('amount'), currency: shop.currency('currency_code') }
  const plain = fields.amountOrNull(name)
  return plain === null ? null : { amount: plain, currency: null }
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
export function readRefund(fields: Fields, { triggeredAt, currency }: Sent): RefundRecord {
  const { total, currencyCode } = refunded(fields, currency)
  return {
    externalId: fields.id('id'),
    version: { updatedAt: triggeredAt, triggeredAt },
    orderExternalId: fields.idOrNull('order_id'),
    person: personOf(fields),
    currencyCode,
    total,
    createdAt: fields.timeOrNull('processed_at') ?? fields.time('created_at'),
  }
}

/**
 * What came back to the shopper in the shop's money: the successful transactions, and nothing as long as there are none.
 * When they are in the shopper's currency, what the refund's lines and adjustments come to.
 */
function refunded(fields: Fields, shopCurrency: string): { total: string; currencyCode: string } {
  const transactions = fields
    .list('transactions')
    .filter((one) => one.text('kind') === 'refund' && (one.text('status') ?? 'success') === 'success')
    .map((one) => {
      const money = moneyOf(one, 'amount')
      return { amount: money?.amount ?? '0.00', currency: money?.currency ?? one.currency('currency') }
    })
  if (transactions.every((one) => (one.currency ?? shopCurrency) === shopCurrency))
    return { total: notBelowZero(sum(transactions.map((one) => one.amount))), currencyCode: shopCurrency }
  const ofLines = fields
    .list('refund_line_items')
    .flatMap((line) => [
      moneyOf(line, 'subtotal')?.amount ?? '0.00',
      moneyOf(line, 'total_tax')?.amount ?? '0.00',
    ])
  // Shipping that is given back comes as a negative adjustment, what the shop keeps as a positive one.
  const adjusted = fields
    .list('order_adjustments')
    .flatMap((one) => [
      moneyOf(one, 'amount')?.amount ?? '0.00',
      moneyOf(one, 'tax_amount')?.amount ?? '0.00',
    ])
  return { total: notBelowZero(minus(sum(ofLines), sum(adjusted))), currencyCode: shopCurrency }
}

const notBelowZero = (total: string) => (total.startsWith('-') ? '0.00' : total)

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
