import * as v from 'valibot'
import { parseStored } from '../event/exact.ts'
import { count, currencyCode, id, jsonObject, money, named, pathValue, texts, time } from '../fields.ts'
import type { Ctx, Page } from '../op.ts'
import { contactsOf } from './commerce-fields.ts'
import type { CustomerRow } from './customer-rows.ts'

/** Lists of customers and of what is a customer's. */
export const LISTED: Page = { default: 50, max: 200, over: 'refuse' }

const optional = v.nullable(v.string())

export const Customer = named('Customer', {
  id: v.string(),
  email: optional,
  phone: optional,
  first_name: optional,
  last_name: optional,
  provenance: v.picklist(['server', 'pixel', 'merged']),
  contact_id: v.nullable(id),
  store_customer_id: optional,
  tags: texts,
  attributes: jsonObject,
  total_spend: money,
  orders_count: count,
  average_order_value: v.nullable(money),
  currency_code: currencyCode,
  first_order_at: v.nullable(time),
  last_order_at: v.nullable(time),
  last_event_at: v.nullable(time),
  created_at: time,
  updated_at: time,
})

export const customerPath = v.strictObject({ id: pathValue })

/** A row as REST shows it. */
export const customerOf = (row: CustomerRow, contactId: string | null): v.InferOutput<typeof Customer> => ({
  id: row.customer_id,
  email: row.email,
  phone: row.phone,
  first_name: row.first_name,
  last_name: row.last_name,
  provenance: row.provenance,
  contact_id: contactId,
  store_customer_id: row.store_customer_id,
  tags: row.tags,
  attributes: parseStored(row.attributes) as Record<string, unknown>,
  total_spend: row.total_spend,
  orders_count: row.orders_count,
  average_order_value: row.average_order_value,
  currency_code: row.currency_code,
  first_order_at: isoOf(row.first_order_at),
  last_order_at: isoOf(row.last_order_at),
  last_event_at: isoOf(row.last_event_at),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const isoOf = (at: Date | null): string | null => at?.toISOString() ?? null

/** Rows as REST shows them, with their contacts. */
export async function customersOf({ db }: Pick<Ctx, 'db'>, rows: readonly CustomerRow[]) {
  const contacts = await contactsOf(db, rows)
  return rows.map((row) => customerOf(row, contacts.get(row.customer) ?? null))
}
