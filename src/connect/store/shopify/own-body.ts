import { type Fields, Unreadable } from '../fields.ts'
import type { Sent } from './order.ts'

/**
 * The platform signs the body alone, not the topic beside it: whoever has one body can send it again as any topic. So what
 * ends, removes or erases takes no body but its own, and none of another shop.
 */
export type Own = (fields: Fields, sent: Sent) => void

/** Every other body has one of these, or no id. A customer's removal has lists and consents beside the id. */
const OF_RECORDS = [
  ...['created_at', 'updated_at', 'email', 'line_items', 'variants', 'status', 'customer_id', 'order_id'],
  ...['revision_id', 'shop_domain', 'domain', 'myshopify_domain'],
]
const CONSENTS = ['sms_marketing_consent', 'email_marketing_consent']

export const ownOfRemoval: Own = (fields) => {
  without(fields, OF_RECORDS)
  // The body of a consent topic is one of these, an id and a phone.
  if (CONSENTS.some((name) => fields.says(name)) && !fields.says('addresses'))
    throw new Unreadable('a consent is not of the body of this topic')
}

export const ownOfUninstall: Own = (fields, { shopDomain }) => {
  const names = ['myshopify_domain', 'domain'].map((name) => fields.text(name)?.toLowerCase())
  if (!names.includes(shopDomain.toLowerCase()))
    throw new Unreadable('myshopify_domain must be the shop that is connected')
}

const compliance =
  (...others: string[]): Own =>
  (fields, { shopDomain }) => {
    if (fields.text('shop_domain')?.toLowerCase() !== shopDomain.toLowerCase())
      throw new Unreadable('shop_domain must be the shop that is connected')
    without(fields, ['id', 'created_at', 'updated_at', 'line_items', ...others])
  }

export const ownOfShopRedact: Own = (fields, sent) => {
  fields.id('shop_id')
  compliance('customer', 'orders_to_redact', 'orders_requested', 'data_request')(fields, sent)
}
export const ownOfRedact = compliance('orders_requested', 'data_request')
export const ownOfDataRequest = compliance('orders_to_redact')

function without(fields: Fields, names: readonly string[]): void {
  const found = names.find((name) => fields.has(name))
  if (found) throw new Unreadable(`${fields.at(found)} is not of the body of this topic`)
}
