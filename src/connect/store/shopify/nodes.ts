import type { Fields } from '../fields.ts'
import { sum } from '../money.ts'
import {
  type Batch,
  batchOf,
  type Channel,
  type ConsentRecord,
  EMPTIABLE,
  FINANCIAL_STATUSES,
  type FulfillmentRecord,
  type FulfillmentStatus,
  type Person,
  type ProductRecord,
  type SubscriptionRecord,
  type SubscriptionStatus,
  type Version,
} from '../record.ts'
import { consentState } from './customer.ts'
import { keptOf, type RefundWithin, type SaidLine, subtotalOf } from './edited.ts'
import { movedBy } from './refunded.ts'
import { revisionOf } from './shopping.ts'

/** A record as the Admin API answers it; `readAt` is when it was asked for. */
export type NodeReader = (node: Fields, readAt: string) => Batch

/**
 * What is read is newer than a webhook of the same second. Not without end: reading the same version again and again
 * must not make it newer each time.
 */
const SETTLED_MS = 60_000
function settledAt(updatedAt: string, readAt: string): string {
  const settled = new Date(Date.parse(updatedAt) + SETTLED_MS).toISOString()
  return readAt < settled ? readAt : settled
}

function versionOf(node: Fields, readAt: string): Version {
  const updatedAt = node.time('updatedAt')
  return { updatedAt, triggeredAt: settledAt(updatedAt, readAt) }
}

const shopMoney = (node: Fields, name: string) => node.object(name)?.object('shopMoney')
const amountIn = (node: Fields, name: string) => shopMoney(node, name)?.amountOrNull('amount') ?? '0.00'

/** Nodes of a connection such as `lineItems { nodes { … } }`. */
const nodesOf = (node: Fields, name: string) => node.object(name)?.list('nodes') ?? []

function personOf(node: Fields): Person {
  const customer = node.object('customer')
  return {
    storeCustomerId: customer?.idOrNull('id') ?? undefined,
    email: node.text('email') ?? customer?.text('email') ?? undefined,
    phone: node.text('phone') ?? customer?.text('phone') ?? undefined,
    firstName: customer?.text('firstName') ?? undefined,
    lastName: customer?.text('lastName') ?? undefined,
  }
}

const customerNode: NodeReader = (node, readAt) => {
  const externalId = node.id('id')
  const person: Person = {
    storeCustomerId: externalId,
    email: node.text('email') ?? undefined,
    phone: node.text('phone') ?? undefined,
    firstName: node.text('firstName') ?? undefined,
    lastName: node.text('lastName') ?? undefined,
  }
  const version = versionOf(node, readAt)
  const consent = (channel: Channel): ConsentRecord | never[] => {
    const said = node.object(`${channel}MarketingConsent`)
    const state = said?.text('marketingState')?.toLowerCase()
    if (!said || !state) return []
    const decidedAt = said.timeOrNull('consentUpdatedAt')
    return {
      storeCustomerId: externalId,
      person,
      channel,
      state: consentState(state),
      at: decidedAt ?? node.time('createdAt'),
      undatedAt: decidedAt === null ? version.updatedAt : null,
    }
  }
  return batchOf({
    customers: [
      {
        externalId,
        version,
        person,
        says: EMPTIABLE.filter((field) => node.says(field)),
        tags: node.says('tags') ? node.texts('tags') : null,
        createdAt: node.time('createdAt'),
      },
    ],
    consents: [consent('email'), consent('sms')].flat(),
  })
}

const productNode: NodeReader = (node, readAt) => batchOf({ products: [productOf(node, readAt)] })

/** Also of the catalog, which is read without being written. */
export function productOf(node: Fields, readAt: string): ProductRecord {
  const externalId = node.id('id')
  return {
    externalId,
    version: versionOf(node, readAt),
    title: node.text('title') ?? externalId,
    status: node.text('status')?.toLowerCase() ?? 'active',
    variants: nodesOf(node, 'variants').map((variant) => ({
      id: variant.partId('id'),
      price: variant.amountOrNull('price'),
      sku: variant.text('sku'),
    })),
    images: nodesOf(node, 'images').flatMap((image) => {
      const url = image.address('url')
      return url ? [{ id: image.partId('id'), url, alt_text: image.text('altText') }] : []
    }),
  }
}

function lineOf(line: Fields): SaidLine {
  return {
    id: line.partId('id'),
    product_id: line.object('product')?.idOrNull('id') ?? null,
    variant_id: line.object('variant')?.idOrNull('id') ?? null,
    title: line.text('title'),
    sku: line.text('sku'),
    quantity: line.whole('quantity') ?? 1,
    price: amountIn(line, 'originalUnitPriceSet'),
    current: line.whole('currentQuantity'),
    // The total that the API offers leaves out the discounts of codes and of the order as a whole.
    discount: sum(line.list('discountAllocations').map((one) => amountIn(one, 'allocatedAmountSet'))),
  }
}

function refundWithin(refund: Fields): RefundWithin {
  const transactions = nodesOf(refund, 'transactions')
    .filter((one) => wordOf(one, 'kind') === 'refund')
    .map((one) => ({ status: wordOf(one, 'status'), amount: amountIn(one, 'amountSet') }))
  return {
    ...movedBy(transactions),
    moves: transactions.length > 0,
    lines: nodesOf(refund, 'refundLineItems').map((line) => ({
      lineId: line.object('lineItem')?.idOrNull('id') ?? null,
      quantity: line.whole('quantity') ?? 0,
    })),
  }
}

const wordOf = (node: Fields, name: string) => node.text(name)?.toLowerCase() ?? ''

const orderNode: NodeReader = (node, readAt) => {
  const externalId = node.id('id')
  const version = versionOf(node, readAt)
  const person = personOf(node)
  const createdAt = node.time('createdAt')
  const currencyCode = shopMoney(node, 'totalPriceSet')?.currency('currencyCode') ?? 'USD'
  const financial = node.text('displayFinancialStatus')?.toLowerCase() ?? 'pending'
  const cancelledAt = node.timeOrNull('cancelledAt')
  const refunds = node.list('refunds').map((refund) => ({ refund, comesTo: refundWithin(refund) }))
  const said = {
    total: amountIn(node, 'totalPriceSet'),
    current: shopMoney(node, 'currentTotalPriceSet')?.amountOrNull('amount') ?? null,
    outstanding: shopMoney(node, 'totalOutstandingSet')?.amountOrNull('amount') ?? null,
    refunds: refunds.map(({ comesTo }) => comesTo),
    discount: amountIn(node, 'totalDiscountsSet'),
    isCancelled: cancelledAt !== null,
  }
  const { total, discount, lines } = keptOf(said, nodesOf(node, 'lineItems').map(lineOf))
  return batchOf({
    orders: [
      {
        externalId,
        version,
        number: node.text('name') ?? externalId,
        person,
        currencyCode,
        subtotal: subtotalOf(lines),
        discountTotal: discount,
        total,
        financialStatus: FINANCIAL_STATUSES.find((status) => status === financial) ?? 'pending',
        fulfillmentStatus: fulfillmentStatusOf(node.text('displayFulfillmentStatus')),
        discountCodes: node.texts('discountCodes'),
        lines,
        test: node.flag('test'),
        createdAt,
        paidAt: paidAt(node) ?? node.timeOrNull('processedAt') ?? createdAt,
        cancelledAt,
        checkoutExternalId: null,
        checkoutToken: node.idOrNull('checkoutToken'),
        cartExternalId: node.idOrNull('cartToken'),
      },
    ],
    refunds: refunds.map(({ refund, comesTo }) => ({
      externalId: refund.id('id'),
      version: { updatedAt: version.triggeredAt, triggeredAt: version.triggeredAt },
      orderExternalId: externalId,
      person,
      currencyCode,
      total: comesTo.total,
      createdAt: refund.time('createdAt'),
    })),
    fulfillments: node
      .list('fulfillments')
      .map((fulfillment) => fulfillmentOf(fulfillment, externalId, readAt)),
  })
}

const FULFILLED: Readonly<Record<string, FulfillmentStatus>> = {
  FULFILLED: 'fulfilled',
  PARTIALLY_FULFILLED: 'partial',
  RESTOCKED: 'restocked',
}

/** All other words, such as ON_HOLD, are of orders that are not on their way. */
const fulfillmentStatusOf = (said: string | null): FulfillmentStatus | null =>
  said === null ? null : (FULFILLED[said] ?? 'unfulfilled')

/** When the first payment went through, which a webhook does not say. */
const paidAt = (node: Fields): string | null =>
  node
    .list('transactions')
    .filter((one) => ['sale', 'capture'].includes(wordOf(one, 'kind')) && wordOf(one, 'status') === 'success')
    .flatMap((one) => one.timeOrNull('processedAt') ?? [])
    .sort()[0] ?? null

function fulfillmentOf(node: Fields, orderExternalId: string, readAt: string): FulfillmentRecord {
  const tracking = node.list('trackingInfo')
  return {
    externalId: node.id('id'),
    orderExternalId,
    version: versionOf(node, readAt),
    status: node.text('status')?.toLowerCase() ?? 'pending',
    shipmentStatus: node.text('displayStatus')?.toLowerCase() ?? null,
    trackingCompany: tracking[0]?.text('company') ?? null,
    trackingNumbers: tracking.flatMap((one) => one.text('number') ?? []),
    trackingUrls: tracking.flatMap((one) => one.address('url') ?? []),
    createdAt: node.time('createdAt'),
  }
}

const STATUSES: readonly SubscriptionStatus[] = ['active', 'paused', 'cancelled', 'expired', 'failed']
const INTERVALS = ['day', 'week', 'month', 'year'] as const

const subscriptionNode: NodeReader = (node, readAt) => {
  const policy = node.object('billingPolicy')
  const line = nodesOf(node, 'lines')[0]
  const changedAt = node.time('updatedAt')
  // Their webhooks carry no time of the revision, and less than this.
  const settled = settledAt(changedAt, readAt)
  const record: SubscriptionRecord = {
    externalId: node.id('id'),
    version: { revision: revisionOf(node, 'revisionId'), updatedAt: settled, triggeredAt: settled },
    changedAt,
    person: personOf(node),
    status: node.choice('status', STATUSES),
    productId: line?.idOrNull('productId') ?? null,
    title: line?.text('title') ?? null,
    intervalUnit: policy?.choiceOrNull('interval', INTERVALS) ?? null,
    intervalCount: policy?.whole('intervalCount') ?? null,
    price: line?.object('currentPrice')?.amountOrNull('amount') ?? null,
    currencyCode: node.currency('currencyCode'),
    startedAt: node.time('createdAt'),
    nextBillingAt: node.timeOrNull('nextBillingDate'),
  }
  return batchOf({ subscriptions: [record] })
}

export const NODES = {
  customers: customerNode,
  products: productNode,
  orders: orderNode,
  subscriptions: subscriptionNode,
} satisfies Record<string, NodeReader>

export type Entity = keyof typeof NODES
