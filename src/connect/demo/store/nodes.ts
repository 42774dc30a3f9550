import { seconds } from './rest.ts'
import type {
  ShopConsent,
  ShopCustomer,
  ShopFulfillment,
  ShopLine,
  ShopOrder,
  ShopProduct,
  ShopRefund,
  ShopState,
  ShopSubscription,
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

export const productNode = (state: ShopState, product: ShopProduct) => ({
  id: gid('Product', product.id),
  title: product.title,
  status: product.status.toUpperCase(),
  updatedAt: seconds(product.updatedAt),
  variants: listOf(state, product, 'variants'),
  images: listOf(state, product, 'images'),
})

export const lineNode = (state: ShopState, line: ShopLine) => ({
  id: gid('LineItem', line.id),
  quantity: line.quantity,
  sku: `SKU-${line.product.id}`,
  title: line.title,
  product: { id: gid('Product', line.product.id) },
  variant: { id: gid('ProductVariant', line.product.variants[0] ?? 0n) },
  originalUnitPriceSet: money(state, line.product.price),
  discountAllocations: line.discount === '0.00' ? [] : [{ allocatedAmountSet: money(state, line.discount) }],
})

const refundNode = (state: ShopState, refund: ShopRefund) => ({
  id: gid('Refund', refund.id),
  createdAt: seconds(refund.createdAt),
  transactions: {
    nodes: [{ kind: 'REFUND', status: refund.status.toUpperCase(), amountSet: money(state, refund.total) }],
  },
})

const fulfillmentNode = (_: ShopState, fulfillment: ShopFulfillment) => ({
  id: gid('Fulfillment', fulfillment.id),
  status: fulfillment.status.toUpperCase(),
  displayStatus: fulfillment.shipmentStatus?.toUpperCase() ?? null,
  createdAt: seconds(fulfillment.createdAt),
  updatedAt: seconds(fulfillment.updatedAt),
  trackingInfo: [{ company: 'Parcel Service', number: fulfillment.trackingNumber, url: null }],
})

/** Lists within a record: those with pages, and those that are just cut. */
const LISTS = {
  lineItems: {
    begins: 50,
    entries: (state: ShopState, { lines }: ShopOrder) => lines.map((one) => lineNode(state, one)),
  },
  variants: {
    begins: 100,
    entries: (_: ShopState, { variants, price }: ShopProduct) =>
      variants.map((id) => ({ id: gid('ProductVariant', id), price, sku: `SKU-${id}` })),
  },
  images: {
    begins: 20,
    entries: (_: ShopState, { images }: ShopProduct) =>
      images.map((id) => ({
        id: gid('ProductImage', id),
        url: `https://cdn.example/${id}.jpg`,
        altText: null,
      })),
  },
  refunds: {
    cut: true,
    begins: 5,
    entries: (state: ShopState, { refunds }: ShopOrder) => refunds.map((one) => refundNode(state, one)),
  },
  fulfillments: {
    cut: true,
    begins: 20,
    entries: (state: ShopState, { fulfillments }: ShopOrder) =>
      fulfillments.map((one) => fulfillmentNode(state, one)),
  },
}

/** A list of a record behind so many; as many as a page of records brings unless `first` says it. */
export function listOf(
  state: ShopState,
  record: ShopOrder | ShopProduct,
  name: keyof typeof LISTS,
  { from = 0, first }: { from?: number; first?: number | undefined } = {},
) {
  const { begins, entries, cut } = LISTS[name] as {
    begins: number
    entries(state: ShopState, record: object): object[]
    cut?: true
  }
  const all = entries(state, record)
  const end = from + (first ?? begins)
  const nodes = all.slice(from, end)
  return cut ? nodes : { pageInfo: { hasNextPage: end < all.length, endCursor: String(end) }, nodes }
}

export const orderNode = (state: ShopState, order: ShopOrder) => ({
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
  subtotalPriceSet: money(state, order.total),
  totalDiscountsSet: money(state, '0.00'),
  totalPriceSet: money(state, order.total),
  customer: order.customer && { id: gid('Customer', order.customer.id), email: order.customer.email },
  transactions: order.paidAt ? [{ kind: 'SALE', status: 'SUCCESS', processedAt: seconds(order.paidAt) }] : [],
  refunds: listOf(state, order, 'refunds'),
  fulfillments: listOf(state, order, 'fulfillments'),
  lineItems: listOf(state, order, 'lineItems'),
})

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
