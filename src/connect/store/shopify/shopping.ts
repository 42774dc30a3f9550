import type { Fields } from '../fields.ts'
import { sum, times } from '../money.ts'
import type {
  CartRecord,
  CheckoutRecord,
  ItemRecord,
  ProductRecord,
  SubscriptionRecord,
  SubscriptionStatus,
} from '../record.ts'
import { personOf, type Sent, versionOf } from './order.ts'

export function readCheckout(fields: Fields, { triggeredAt, currency }: Sent): CheckoutRecord {
  const items = fields.list('line_items').map(itemOf)
  return {
    externalId: fields.id('id'),
    version: versionOf(fields, triggeredAt),
    person: personOf(fields),
    currencyCode: fields.currency('currency') ?? currency,
    total: fields.amountOrNull('total_price') ?? totalOf(items),
    items,
    url: fields.address('abandoned_checkout_url'),
    token: fields.idOrNull('token'),
    cartExternalId: fields.idOrNull('cart_token'),
    createdAt: fields.time('created_at'),
    completedAt: fields.timeOrNull('completed_at'),
  }
}

/** Carts carry no total of their own, and nobody's name unless the shopper is signed in. */
export function readCart(fields: Fields, triggeredAt: string): CartRecord {
  const items = fields.list('line_items').map(itemOf)
  return {
    externalId: fields.idOrNull('token') ?? fields.id('id'),
    version: versionOf(fields, triggeredAt),
    person: personOf(fields),
    currencyCode: fields.currency('currency'),
    total: fields.amountOrNull('total_price') ?? totalOf(items),
    items,
  }
}

const totalOf = (items: readonly ItemRecord[]) =>
  sum(items.map(({ quantity, price }) => times(quantity, price)))

const itemOf = (line: Fields): ItemRecord => ({
  product_id: line.idOrNull('product_id'),
  variant_id: line.idOrNull('variant_id'),
  product_title: line.text('title'),
  sku: line.text('sku'),
  quantity: line.whole('quantity') ?? 1,
  price: line.amountOrNull('price') ?? '0.00',
})

export function readProduct(fields: Fields, triggeredAt: string): ProductRecord {
  const externalId = fields.id('id')
  return {
    externalId,
    version: versionOf(fields, triggeredAt),
    title: fields.text('title') ?? externalId,
    status: fields.text('status')?.toLowerCase() ?? 'active',
    variants: fields.list('variants').map((variant) => ({
      id: variant.partId('id'),
      price: variant.amountOrNull('price'),
      sku: variant.text('sku'),
    })),
    images: fields.list('images').flatMap((image) => {
      const url = image.address('src')
      return url ? [{ id: image.partId('id'), url, alt_text: image.text('alt') }] : []
    }),
  }
}

const STATUSES: readonly SubscriptionStatus[] = ['active', 'paused', 'cancelled', 'expired', 'failed']
const INTERVALS = ['day', 'week', 'month', 'year'] as const

/** A contract as webhooks carry it: whose, how often and whether it runs, but neither product nor price. */
export function readSubscription(fields: Fields, triggeredAt: string, made: boolean): SubscriptionRecord {
  const policy = fields.object('billing_policy')
  const unit = policy?.choiceOrNull('interval', INTERVALS)
  const version = { ...versionOf(fields, triggeredAt), revision: revisionOf(fields) }
  return {
    externalId: fields.id('id'),
    version,
    changedAt: version.updatedAt,
    person: personOf(fields),
    status: fields.choice('status', STATUSES),
    intervalUnit: unit ?? undefined,
    intervalCount: policy?.whole('interval_count') ?? undefined,
    currencyCode: fields.currency('currency_code') ?? undefined,
    startedAt: fields.timeOrNull('created_at') ?? (made ? triggeredAt : undefined),
    nextBillingAt: fields.timeOrNull('next_billing_date') ?? undefined,
  }
}

/** Digits; 0 where the platform gives none. */
export function revisionOf(fields: Fields, name = 'revision_id'): string {
  const revision = fields.idOrNull(name)
  return revision !== null && /^\d{1,30}$/.test(revision) ? revision : '0'
}
