import * as v from 'valibot'
import { currencyCode, id, money, named, texts, time } from '../fields.ts'
import type { Db, Published } from '../op.ts'

/** Orders, subscriptions and products as REST shows them. */

const someText = v.nullable(v.string())
const someTime = v.nullable(time)
const someMoney = v.nullable(money)

const OrderLine = named('OrderLine', {
  id: someText,
  product_id: someText,
  variant_id: someText,
  title: someText,
  sku: someText,
  quantity: v.nullable(v.pipe(v.number(), v.integer())),
  price: someMoney,
  total: someMoney,
})

export const STATES = ['complete', 'pending', 'cancelled', 'refunded'] as const
export const BILLING_STATUSES = ['pending', 'paid', 'partially_refunded', 'refunded', 'voided'] as const

export const Order = named('Order', {
  id,
  external_id: v.string(),
  number: v.string(),
  state: v.picklist(STATES),
  billing_status: v.picklist(BILLING_STATUSES),
  total: money,
  subtotal: someMoney,
  discount_total: money,
  refunded_total: money,
  currency_code: currencyCode,
  discount_codes: texts,
  customer_id: someText,
  customer: v.object({ contact_id: v.nullable(id), email: someText, phone: someText }),
  lines: v.array(OrderLine),
  created_at: time,
  recovered_at: someTime,
  cancelled_at: someTime,
  updated_at: time,
})

/** The texts of a line. */
export const LINE_TEXTS = ['id', 'product_id', 'variant_id', 'title', 'sku'] as const

/** A row of the mart `orders`. */
export interface OrderRow {
  id: string
  external_id: string
  number: string | null
  state: (typeof STATES)[number]
  billing_status: (typeof BILLING_STATUSES)[number]
  total: string
  subtotal: string | null
  discount_total: string
  refunded_total: string
  currency_code: string
  discount_codes: string[]
  customer: number | null
  customer_id: string | null
  lines: v.InferOutput<typeof OrderLine>[]
  created_at: Date
  recovered_at: Date | null
  cancelled_at: Date | null
  updated_at: Date
}

export const ORDER_COLUMNS = `id, external_id, number, state, billing_status, total, subtotal, discount_total,
  refunded_total, currency_code, discount_codes, customer, customer_id, lines, created_at, recovered_at, cancelled_at,
  updated_at`

/** `contacts` by customer, as `contactsOf` finds them; an order of whom the store removed is of nobody, and has none. */
export const orderOf = (
  { customer, email, phone, number, ...row }: OrderRow & Reachable,
  contacts: ReadonlyMap<number, string>,
): v.InferOutput<typeof Order> => ({
  ...row,
  number: number ?? row.external_id,
  customer: {
    contact_id: (customer !== null && row.customer_id && contacts.get(customer)) || null,
    email,
    phone,
  },
  created_at: row.created_at.toISOString(),
  recovered_at: row.recovered_at?.toISOString() ?? null,
  cancelled_at: row.cancelled_at?.toISOString() ?? null,
  updated_at: row.updated_at.toISOString(),
})

export interface Reachable {
  customer: number | null
  email: string | null
  phone: string | null
}

/** Published rows with the email and phone of whom each is about. */
export async function reachable<Row extends Pick<Reachable, 'customer'>>(
  served: Published,
  rows: readonly Row[],
): Promise<(Row & Reachable)[]> {
  const customers = [...new Set(rows.flatMap(({ customer }) => customer ?? []))]
  const found = await served.of(customers, ['customers'])
  const channels = new Map(customers.map((customer, n) => [customer, found[n]?.<Reachable>('customers')[0]]))
  return rows.map((row) => {
    const { email = null, phone = null } = (row.customer !== null && channels.get(row.customer)) || {}
    return { ...row, email, phone }
  })
}

/** Contact ids by customer. */
export async function contactsOf(
  db: Pick<Db, 'many'>,
  rows: readonly Reachable[],
): Promise<Map<number, string>> {
  const known = rows.filter(({ customer }) => customer !== null)
  if (known.length === 0) return new Map()
  const found = await db.many<{ customer: number; id: string }>('contacts_of_customers', [
    known.map(({ customer }) => customer),
    known.map(({ email }) => email),
    known.map(({ phone }) => phone),
  ])
  return new Map(found.map(({ customer, id: contactId }) => [customer, contactId]))
}

export const Subscription = named('Subscription', {
  id,
  external_id: v.string(),
  status: v.string(),
  customer_id: someText,
  product_id: someText,
  title: someText,
  interval: v.nullable(v.object({ unit: v.string(), count: v.pipe(v.number(), v.integer()) })),
  price: someMoney,
  currency_code: v.nullable(currencyCode),
  started_at: someTime,
  next_billing_at: someTime,
  cancelled_at: someTime,
})

/** A row of the mart `subscriptions`. */
export interface SubscriptionRow {
  id: string
  external_id: string
  status: string
  customer_id: string | null
  product_id: string | null
  title: string | null
  interval_unit: string | null
  interval_count: number | null
  price: string | null
  currency_code: string | null
  started_at: Date | null
  next_billing_at: Date | null
  cancelled_at: Date | null
}

export const SUBSCRIPTION_COLUMNS = `id, external_id, status, customer_id, product_id, title, interval_unit,
  interval_count, price, currency_code, started_at, next_billing_at, cancelled_at`

export const subscriptionOf = ({
  interval_unit: unit,
  interval_count: every,
  ...row
}: SubscriptionRow): v.InferOutput<typeof Subscription> => ({
  ...row,
  interval: unit === null ? null : { unit, count: every ?? 1 },
  started_at: row.started_at?.toISOString() ?? null,
  next_billing_at: row.next_billing_at?.toISOString() ?? null,
  cancelled_at: row.cancelled_at?.toISOString() ?? null,
})

export const Product = named('Product', {
  id: v.string(),
  title: v.string(),
  status: v.string(),
  variants: v.array(v.object({ id: v.string(), price: someMoney, sku: someText })),
  images: v.array(v.object({ id: v.string(), url: v.string(), alt_text: someText })),
})
