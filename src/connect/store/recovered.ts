import type { StoreWork } from './apply.ts'
import { itemsOf, type News, without } from './news.ts'
import type { ItemRecord } from './record.ts'

/** A checkout as its events tell of it. */
export interface CheckoutRow {
  external_id: string
  subject: number
  total: string
  currency_code: string
  url: string | null
  cart_id: string | null
  items: ItemRecord[]
}

/** Properties of an event about a checkout. */
export const checkoutProperties = (row: CheckoutRow) => {
  const { external_id, url, cart_id, total, currency_code, items } = row
  return without({
    checkout_id: external_id,
    checkout_url: url,
    cart_id,
    total,
    currency_code,
    ...itemsOf(items),
  })
}

/** A checkout that is completed, with its order where that came already. */
interface RecoveredRow extends CheckoutRow {
  completed_at: Date
  order_id: string | null
  order_number: string | null
  discount_code: string | null
}

/** Checkouts, of those named, that were completed after their shopper was messaged. */
export async function recoveries({ tx }: StoreWork, externalIds: readonly string[]): Promise<News[]> {
  if (externalIds.length === 0) return []
  const rows = await tx.many<RecoveredRow>('store_checkouts_recovered', [externalIds])
  return rows.map(({ order_id, order_number, discount_code, ...row }) => ({
    id: `checkout_recovered:${row.external_id}`,
    type: 'checkout_recovered',
    occurredAt: row.completed_at,
    subject: row.subject,
    properties: { ...checkoutProperties(row), ...without({ order_id, order_number, discount_code }) },
  }))
}
