import type { Asked } from './asked.ts'
import { seconds, statusesOf } from './rest.ts'
import {
  discountsOf,
  type ShopConsent,
  type ShopCustomer,
  type ShopFulfillment,
  type ShopLine,
  type ShopOrder,
  type ShopProduct,
  type ShopRefund,
  type ShopState,
  type ShopSubscription,
} from './state.ts'

/** Records of a fake store as its Admin API answers them. */

const gid = (type: string, id: bigint) => `gid://shopify/${type}/${id}`
const money = (state: ShopState, total: string) => ({
  shopMoney: { amount: total, currencyCode: state.currency },
})

export const customerNode = (_: ShopState, customer: ShopCustomer) => ({
  id: gid('Customer', customer.id),
  email: customer.email,
  phone: customer.phone,
  firstName: customer.firstName,
  lastName: customer.lastName,
  tags: customer.tags,
  createdAt: seconds(customer.createdAt),
  updatedAt: seconds(customer.updatedAt),
  emailMarketingConsent: consentNode(customer.emailConsent),
  smsMarketingConsent: consentNode(customer.smsConsent),
})

const consentNode = (consent: ShopConsent | null) =>
  consent && {
    marketingState: consent.state.toUpperCase(),
    consentUpdatedAt: consent.at && seconds(consent.at),
  }

export const productNode = (state: ShopState, product: ShopProduct, asked: Asked) => ({
  id: gid('Product', product.id),
  title: product.title,
  status: product.status.toUpperCase(),
  updatedAt: seconds(product.updatedAt),
  variants: listOf(state, product, 'variants', { first: asked.get('variants') }),
  images: listOf(state, product, 'images', { first: asked.get('images') }),
})

const lineNode = (state: ShopState, line: ShopLine) => ({
  id: gid('LineItem', line.id),
  quantity: line.quantity,
  sku: `SKU-${line.product.id}`,
  title: line.title,
  product: { id: gid('Product', line.product.id) },
  variant: { id: gid('ProductVariant', line.product.variants[0] ?? 0n) },
  originalUnitPriceSet: money(state, line.product.price),
  discountAllocations: line.discount === '0.00' ? [] : [{ allocatedAmountSet: money(state, line.discount) }],
})

const refundNode = (state: ShopState, refund: ShopRefund, asked: Asked) => ({
  id: gid('Refund', refund.id),
  createdAt: seconds(refund.createdAt),
  transactions: listOf(state, refund, 'transactions', { first: asked.get('refunds.transactions') }),
})

const fulfillmentNode = (_: ShopState, fulfillment: ShopFulfillment) => ({
  id: gid('Fulfillment', fulfillment.id),
  status: fulfillment.status.toUpperCase(),
  displayStatus: fulfillment.shipmentStatus?.toUpperCase() ?? null,
  createdAt: seconds(fulfillment.createdAt),
  updatedAt: seconds(fulfillment.updatedAt),
  trackingInfo: [{ company: 'Parcel Service', number: fulfillment.trackingNumber, url: null }],
})

/** Lists with pages within a record. */
const LISTS = {
  lineItems: (state: ShopState, { lines }: ShopOrder) => lines.map((one) => lineNode(state, one)),
  variants: (_: ShopState, { variants, price }: ShopProduct) =>
    variants.map((id) => ({ id: gid('ProductVariant', id), price, sku: `SKU-${id}` })),
  images: (_: ShopState, { images }: ShopProduct) =>
    images.map((id) => ({
      id: gid('ProductImage', id),
      url: `https://cdn.example/${id}.jpg`,
      altText: null,
    })),
  transactions: (state: ShopState, refund: ShopRefund) =>
    statusesOf(refund).map((status) => ({
      kind: 'REFUND',
      status: status.toUpperCase(),
      amountSet: money(state, refund.total),
    })),
}

/** A list of a record behind so many. */
export function listOf(
  state: ShopState,
  record: ShopOrder | ShopProduct | ShopRefund,
  name: keyof typeof LISTS,
  { from = 0, first }: { from?: number; first: number | undefined },
) {
  const entries = LISTS[name] as (state: ShopState, record: object) => object[]
  const all = entries(state, record)
  const end = first === undefined ? all.length : from + first
  return {
    pageInfo: { hasNextPage: end < all.length, endCursor: String(end) },
    nodes: all.slice(from, end),
  }
}

export const orderNode = (state: ShopState, order: ShopOrder, asked: Asked) => ({
  id: gid('Order', order.id),
  name: order.name,
  email: order.email,
  phone: null,
  test: order.test,
  createdAt: seconds(order.createdAt),
  processedAt: seconds(order.createdAt),
  updatedAt: seconds(order.updatedAt),
  cancelledAt: order.cancelledAt && seconds(order.cancelledAt),
  displayFinancialStatus: order.financialStatus.toUpperCase(),
  currencyCode: state.currency,
  cartToken: order.checkout?.cartToken ?? null,
  checkoutToken: order.checkout?.token ?? null,
  discountCodes: [],
  totalDiscountsSet: money(state, discountsOf(order.lines)),
  totalPriceSet: money(state, order.total),
  customer: order.customer && { id: gid('Customer', order.customer.id), email: order.customer.email },
  // Without pages: cut without a word.
  transactions: paymentsOf(order).slice(0, asked.get('transactions')),
  refunds: order.refunds.slice(0, asked.get('refunds')).map((one) => refundNode(state, one, asked)),
  fulfillments: order.fulfillments
    .slice(0, asked.get('fulfillments'))
    .map((one) => fulfillmentNode(state, one)),
  lineItems: listOf(state, order, 'lineItems', { first: asked.get('lineItems') }),
})

function paymentsOf({ paidAt, createdAt, failures }: ShopOrder) {
  const payment = (status: string, at: Date) => ({ kind: 'SALE', status, processedAt: seconds(at) })
  const failed = Array.from({ length: failures }, () => payment('FAILURE', createdAt))
  return paidAt ? [...failed, payment('SUCCESS', paidAt)] : failed
}

export const subscriptionNode = (state: ShopState, subscription: ShopSubscription) => ({
  id: gid('SubscriptionContract', subscription.id),
  status: subscription.status.toUpperCase(),
  revisionId: String(subscription.revision),
  createdAt: seconds(subscription.createdAt),
  updatedAt: seconds(subscription.updatedAt),
  nextBillingDate: null,
  currencyCode: state.currency,
  customer: { id: gid('Customer', subscription.customer.id), email: subscription.customer.email },
  billingPolicy: { interval: 'MONTH', intervalCount: 1 },
  lines: {
    nodes: [
      {
        title: subscription.product.title,
        productId: gid('Product', subscription.product.id),
        currentPrice: { amount: subscription.product.price },
      },
    ],
  },
})
