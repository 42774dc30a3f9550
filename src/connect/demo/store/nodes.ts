import { amount, hundredthsOf } from '../../store/money.ts'
import { seconds } from './rest.ts'
import type { ShopCustomer, ShopLine, ShopOrder, ShopProduct, ShopState, ShopSubscription } from './state.ts'

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
  emailMarketingConsent: customer.emailConsent && {
    marketingState: customer.emailConsent.state.toUpperCase(),
    consentUpdatedAt: seconds(customer.emailConsent.at),
  },
  smsMarketingConsent: null,
})

export const productNode = (_: ShopState, product: ShopProduct) => ({
  id: gid('Product', product.id),
  title: product.title,
  status: product.status.toUpperCase(),
  updatedAt: seconds(product.updatedAt),
  variants: {
    nodes: [{ id: gid('ProductVariant', product.id + 1n), price: product.price, sku: `SKU-${product.id}` }],
  },
  images: {
    nodes: [
      {
        id: gid('ProductImage', product.id + 2n),
        url: `https://cdn.example/${product.id}.jpg`,
        altText: null,
      },
    ],
  },
})

export const lineNode = (state: ShopState, line: ShopLine) => ({
  id: gid('LineItem', line.id),
  quantity: line.quantity,
  sku: `SKU-${line.product.id}`,
  title: line.title,
  product: { id: gid('Product', line.product.id) },
  variant: { id: gid('ProductVariant', line.product.id + 1n) },
  originalUnitPriceSet: money(state, line.product.price),
  discountedTotalSet: money(state, amount(BigInt(line.quantity) * hundredthsOf(line.product.price))),
})

const LINES_A_PAGE = 50

/** A page of the lines of an order, behind so many. */
export const linesFrom = (state: ShopState, order: ShopOrder, from: number, first = LINES_A_PAGE) => ({
  pageInfo: {
    hasNextPage: from + first < order.lines.length,
    endCursor: String(Math.min(from + first, order.lines.length)),
  },
  nodes: order.lines.slice(from, from + first).map((line) => lineNode(state, line)),
})

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
  refunds: order.refunds.map((refund) => ({
    id: gid('Refund', refund.id),
    createdAt: seconds(refund.createdAt),
    transactions: {
      nodes: [{ kind: 'REFUND', status: refund.status.toUpperCase(), amountSet: money(state, refund.total) }],
    },
  })),
  fulfillments: order.fulfillments.map((fulfillment) => ({
    id: gid('Fulfillment', fulfillment.id),
    status: fulfillment.status.toUpperCase(),
    displayStatus: fulfillment.shipmentStatus?.toUpperCase() ?? null,
    createdAt: seconds(fulfillment.createdAt),
    updatedAt: seconds(fulfillment.updatedAt),
    trackingInfo: [{ company: 'Parcel Service', number: fulfillment.trackingNumber, url: null }],
  })),
  lineItems: linesFrom(state, order, 0),
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
