import type { ConsentChannel, ConsentState } from '../../identity/contact.ts'

/** What a store says of its records, whatever platform and way it came: all that `apply` needs. Times are ISO 8601. */

/** Whom a record names. */
export interface Person {
  storeCustomerId?: string
  email?: string
  phone?: string
  firstName?: string
  lastName?: string
}

/** When what does not say when was said: before anything else. */
export const OLDEST = new Date(0)

/** Tells two versions of a record apart: the later one wins, compared in this order. */
export interface Version {
  /** A number of the platform's that grows with each version; where it has none, 0. */
  revision?: string
  updatedAt: string
  /** When the store sent it or we asked for it. */
  triggeredAt: string
  /** The record does not say when it was written: `updatedAt` is that of the trigger, and only orders versions. */
  undated?: true
}

interface Versioned {
  externalId: string
  version: Version
}

export interface LineRecord {
  id: string
  product_id: string | null
  variant_id: string | null
  title: string | null
  sku: string | null
  quantity: number
  /** Decimal string, like every amount here: money of the shop, not of the shopper. */
  price: string
  total: string
}

export interface OrderRecord extends Versioned {
  number: string
  person: Person
  currencyCode: string
  subtotal: string | null
  discountTotal: string
  total: string
  financialStatus: FinancialStatus
  /** Null: the store says nothing of it. */
  fulfillmentStatus: FulfillmentStatus | null
  discountCodes: string[]
  lines: LineRecord[]
  test: boolean
  createdAt: string
  /** When the payment was taken, as exactly as the platform says it. */
  paidAt: string
  cancelledAt: string | null
  checkoutExternalId: string | null
  /** Names the checkout, too. */
  checkoutToken: string | null
  cartExternalId: string | null
  /** Of a customer who was erased since. */
  erased?: true
}

export const FINANCIAL_STATUSES = [
  'pending',
  'authorized',
  'partially_paid',
  'paid',
  'partially_refunded',
  'refunded',
  'voided',
  'expired',
] as const
export type FinancialStatus = (typeof FINANCIAL_STATUSES)[number]

/** `fulfilled`: all of the order is on its way. */
export const FULFILLMENT_STATUSES = ['unfulfilled', 'partial', 'fulfilled', 'restocked'] as const
export type FulfillmentStatus = (typeof FULFILLMENT_STATUSES)[number]

export interface RefundRecord extends Versioned {
  /** Null: it names no order, and counts against the person. */
  orderExternalId: string | null
  person: Person
  currencyCode: string
  /** What came back until now; a transaction can succeed or fail later. */
  total: string
  /** What it is should its order be in that currency, null for any: the store leaves open which one is the shop's. */
  otherwise?: { currencyCode: string | null; total: string }
  createdAt: string
}

export interface FulfillmentRecord extends Versioned {
  orderExternalId: string
  status: string
  shipmentStatus: string | null
  trackingCompany: string | null
  trackingNumbers: string[]
  trackingUrls: string[]
  createdAt: string
}

/** Fields of a customer that can be emptied. */
export const EMPTIABLE = ['email', 'phone', 'firstName', 'lastName'] as const satisfies (keyof Person)[]
export type Emptiable = (typeof EMPTIABLE)[number]

export interface CustomerRecord extends Versioned {
  person: Person
  /** What the version speaks of, if only to say that there is none. */
  says: Emptiable[]
  /** Null: it does not speak of them. */
  tags: string[] | null
  createdAt: string
}

export type Channel = ConsentChannel
export type { ConsentState }

/** One word on consent; each of them is kept. */
export interface ConsentRecord {
  storeCustomerId: string
  person: Person
  channel: Channel
  state: ConsentState
  /** When the shopper decided; where the store does not say, when the customer was made, for the event only. */
  at: string
  /** The version that says so without saying since when. */
  undatedAt: string | null
  /** Nor does it say when it was written itself. */
  undated?: true
}

export interface ItemRecord {
  product_id: string | null
  variant_id: string | null
  product_title: string | null
  sku: string | null
  quantity: number
  price: string
}

export interface CheckoutRecord extends Versioned {
  person: Person
  currencyCode: string
  total: string
  items: ItemRecord[]
  url: string | null
  token: string | null
  cartExternalId: string | null
  createdAt: string
  completedAt: string | null
  /** Of a customer who was erased since. */
  erased?: true
}

export interface CartRecord extends Versioned {
  person: Person
  currencyCode: string | null
  total: string | null
  items: ItemRecord[]
}

export interface ProductRecord extends Versioned {
  title: string
  status: string
  variants: { id: string; price: string | null; sku: string | null }[]
  images: { id: string; url: string; alt_text: string | null }[]
}

export type SubscriptionStatus = 'active' | 'paused' | 'cancelled' | 'expired' | 'failed'

/** What is undefined the store did not say; what is known of it stays. */
export interface SubscriptionRecord extends Versioned {
  person: Person
  status: SubscriptionStatus
  productId?: string | null
  title?: string | null
  intervalUnit?: string | null
  intervalCount?: number | null
  price?: string | null
  currencyCode?: string | null
  /** When it was made, where the store says so. */
  startedAt?: string
  /** When this revision was made. */
  changedAt: string
  nextBillingAt?: string | null
}

/** Something that the store removed for ever. */
export interface Removal {
  kind: 'order' | 'customer' | 'checkout' | 'cart' | 'product'
  externalId: string
  version: Version
}

export interface Batch {
  orders: OrderRecord[]
  refunds: RefundRecord[]
  fulfillments: FulfillmentRecord[]
  customers: CustomerRecord[]
  consents: ConsentRecord[]
  checkouts: CheckoutRecord[]
  carts: CartRecord[]
  products: ProductRecord[]
  subscriptions: SubscriptionRecord[]
  removals: Removal[]
}

/** A batch of the given records and nothing else. */
export const batchOf = (some: Partial<Batch>): Batch => ({
  orders: [],
  refunds: [],
  fulfillments: [],
  customers: [],
  consents: [],
  checkouts: [],
  carts: [],
  products: [],
  subscriptions: [],
  removals: [],
  ...some,
})

/** What several batches tell, in one. */
export function joined(batches: readonly Batch[]): Batch {
  const all = batchOf({})
  for (const batch of batches)
    for (const name of Object.keys(all) as (keyof Batch)[]) (all[name] as unknown[]).push(...batch[name])
  return all
}
