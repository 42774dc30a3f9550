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
  items: ItemRecord[]
}

/** Properties of an event about a checkout. */
export const checkoutProperties = ({ external_id, total, currency_code, url, items }: CheckoutRow) =>
  without({ checkout_id: external_id, checkout_url: url, total, currency_code, ...itemsOf(items) })

/** Checkouts, of those named, that were completed after their shopper was messaged. */
export async function recoveries({ tx }: StoreWork, externalIds: readonly string[]): Promise<News[]> {
  if (externalIds.length === 0) return []
  const rows = await tx.many<CheckoutRow & { completed_at: Date }>('store_checkouts_recovered', [externalIds])
  return rows.map((row) => ({
    id: `checkout_recovered:${row.external_id}`,
    type: 'checkout_recovered',
    occurredAt: row.completed_at,
    subject: row.subject,
    properties: checkoutProperties(row),
  }))
}
