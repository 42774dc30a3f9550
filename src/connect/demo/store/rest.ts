import { amount, hundredthsOf, times } from '../../store/money.ts'
import {
  discountsOf,
  type ShopCheckout,
  type ShopConsent,
  type ShopCustomer,
  type ShopFulfillment,
  type ShopLine,
  type ShopOrder,
  type ShopProduct,
  type ShopRefund,
  type ShopState,
  type ShopSubscription,
  totalOf,
} from './state.ts'

/** What TypeScript does not know of yet. */
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON

/** Integers with all their digits; times with seconds only, as the platform writes them. */
export const bodyOf = (payload: object): string =>
  JSON.stringify(payload, (_, value) => (typeof value === 'bigint' ? rawJson(String(value)) : value))

export const seconds = (at: Date) => `${at.toISOString().slice(0, 19)}Z`

/** An amount in the shop's currency and, at a rate of 0.5, in the shopper's. */
const moneySet = (state: ShopState, total: string) => ({
  shop_money: { amount: total, currency_code: state.currency },
  presentment_money: { amount: halfOf(total), currency_code: state.presentment },
})

const halfOf = (total: string) => amount(hundredthsOf(total) / 2n)

export const customerBody = (customer: ShopCustomer) => ({
  id: customer.id,
  email: customer.email,
  first_name: customer.firstName,
  last_name: customer.lastName,
  phone: customer.phone,
  tags: customer.tags.join(', '),
  created_at: seconds(customer.createdAt),
  updated_at: seconds(customer.updatedAt),
  email_marketing_consent: consentBody(customer.emailConsent),
  sms_marketing_consent: consentBody(customer.smsConsent),
})

const consentBody = (consent: ShopConsent | null) =>
  consent && {
    state: consent.state,
    opt_in_level: 'single_opt_in',
    consent_updated_at: consent.at && seconds(consent.at),
  }

const lineBody = (state: ShopState, line: ShopLine) => ({
  id: line.id,
  product_id: line.product.id,
  variant_id: line.product.variants[0],
  title: line.title,
  sku: `SKU-${line.product.id}`,
  quantity: line.quantity,
  price: line.product.price,
  price_set: moneySet(state, line.product.price),
  discount_allocations:
    line.discount === '0.00' ? [] : [{ amount: line.discount, amount_set: moneySet(state, line.discount) }],
})

/** Of a refund's transactions the last one alone moves money. */
export const statusesOf = ({ status, failures }: ShopRefund): ShopRefund['status'][] => [
  ...new Array(failures).fill('failure'),
  status,
]

/** Paid in the shopper's currency: the transactions say that, the lines say the shop's. */
export const refundBody = (state: ShopState, order: ShopOrder, refund: ShopRefund) => ({
  id: refund.id,
  order_id: order.id,
  created_at: seconds(refund.createdAt),
  processed_at: seconds(refund.createdAt),
  refund_line_items: [
    {
      id: refund.id + 1n,
      subtotal: refund.total,
      subtotal_set: moneySet(state, refund.total),
      total_tax: '0.00',
    },
  ],
  order_adjustments: [],
  transactions: statusesOf(refund).map((status) => ({
    id: refund.id,
    kind: 'refund',
    status,
    amount: halfOf(refund.total),
    currency: state.presentment,
  })),
})

export const fulfillmentBody = (order: ShopOrder, fulfillment: ShopFulfillment) => ({
  id: fulfillment.id,
  order_id: order.id,
  status: fulfillment.status,
  shipment_status: fulfillment.shipmentStatus,
  tracking_company: 'Parcel Service',
  tracking_number: fulfillment.trackingNumber,
  tracking_numbers: [fulfillment.trackingNumber],
  created_at: seconds(fulfillment.createdAt),
  updated_at: seconds(fulfillment.updatedAt),
})

export const orderBody = (state: ShopState, order: ShopOrder) => ({
  id: order.id,
  name: order.name,
  email: order.email,
  phone: null,
  currency: state.currency,
  presentment_currency: state.presentment,
  test: order.test,
  financial_status: order.financialStatus,
  total_price: order.total,
  total_price_set: moneySet(state, order.total),
  subtotal_price: order.total,
  subtotal_price_set: moneySet(state, order.total),
  total_discounts: discountsOf(order.lines),
  total_discounts_set: moneySet(state, discountsOf(order.lines)),
  discount_codes: [],
  checkout_id: order.checkout?.id ?? null,
  checkout_token: order.checkout?.token ?? null,
  cart_token: order.checkout?.cartToken ?? null,
  customer: order.customer && { id: order.customer.id, email: order.customer.email },
  line_items: order.lines.map((line) => lineBody(state, line)),
  refunds: order.refunds.map((refund) => refundBody(state, order, refund)),
  fulfillments: order.fulfillments.map((fulfillment) => fulfillmentBody(order, fulfillment)),
  created_at: seconds(order.createdAt),
  processed_at: seconds(order.createdAt),
  updated_at: seconds(order.updatedAt),
  cancelled_at: order.cancelledAt && seconds(order.cancelledAt),
})

export const checkoutBody = (state: ShopState, checkout: ShopCheckout) => ({
  id: checkout.id,
  token: checkout.token,
  cart_token: checkout.cartToken,
  email: checkout.email,
  customer: checkout.customer && { id: checkout.customer.id, email: checkout.customer.email },
  currency: state.currency,
  total_price: totalOf(checkout.lines),
  line_items: checkout.lines.map((line) => lineBody(state, line)),
  abandoned_checkout_url: `https://shop.example/checkouts/${checkout.token}/recover`,
  created_at: seconds(checkout.createdAt),
  updated_at: seconds(checkout.updatedAt),
  completed_at: checkout.completedAt && seconds(checkout.completedAt),
})

export const cartBody = (state: ShopState, token: string, lines: readonly ShopLine[], at: Date) => ({
  id: token,
  token,
  line_items: lines.map((line) => ({
    ...lineBody(state, line),
    line_price: times(line.quantity, line.product.price),
  })),
  created_at: seconds(at),
  updated_at: seconds(at),
})

export const productBody = (product: ShopProduct) => ({
  id: product.id,
  title: product.title,
  status: product.status,
  variants: product.variants.map((id) => ({ id, price: product.price, sku: `SKU-${id}` })),
  images: product.images.map((id) => ({ id, src: `https://cdn.example/${id}.jpg`, alt: null })),
  created_at: seconds(product.createdAt),
  updated_at: seconds(product.updatedAt),
})

export const subscriptionBody = (state: ShopState, subscription: ShopSubscription) => ({
  id: subscription.id,
  admin_graphql_api_id: `gid://shopify/SubscriptionContract/${subscription.id}`,
  billing_policy: { interval: 'month', interval_count: 1 },
  currency_code: state.currency,
  customer_id: subscription.customer.id,
  status: subscription.status,
  revision_id: subscription.revision,
})
