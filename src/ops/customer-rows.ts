import type { Ctx, Reader } from '../op.ts'
import { afterSql, orderSql, type Place, type RowOrder } from './keyset.ts'

/** Customers as the published models have them. */
export interface CustomerRow {
  customer: number
  customer_id: string
  store_customer_id: string | null
  email: string | null
  phone: string | null
  first_name: string | null
  last_name: string | null
  tags: string[]
  provenance: 'server' | 'pixel' | 'merged'
  total_spend: string
  orders_count: number
  average_order_value: string | null
  currency_code: string
  first_order_at: Date | null
  last_order_at: Date | null
  last_event_at: Date | null
  created_at: Date
  updated_at: Date
  /** JSON of what events set on the profile. */
  attributes: string
}

/** Whom a public id names, and what else is known of them in Postgres. */
export interface FoundCustomer {
  customer: number
  customer_id: string
  /** Ordinals of the profiles that were merged into this one, and its own. */
  subjects: number[]
  contact_id: string | null
}

/** The columns that customers can be sorted by, with their types. */
export const SORT_COLUMNS = {
  total_spend: 'decimal(18, 2)',
  orders_count: 'integer',
  created_at: 'timestamp',
  last_order_at: 'timestamp',
  last_event_at: 'timestamp',
} as const

/** Everybody but visitors of whom nobody but a browser said anything. */
export const BUCKETS = { customers: `provenance <> 'pixel'`, anonymous: `provenance = 'pixel'` } as const

/** A condition for the customers of a bucket, and of a search where a parameter has its text in lower case. */
export function wantedSql(bucket: keyof typeof BUCKETS, text: string | null): string {
  if (text === null) return BUCKETS[bucket]
  return bucket === 'customers'
    ? `customer in (select customer from customer_texts where contains(text, ${text}))`
    : `${BUCKETS[bucket]} and contains(customer_id, ${text})`
}

/** What events set, to be joined by customer. */
export const ATTRIBUTES = '(select customer, properties as attributes from profiles) as attributes'

/** Whole rows of the customers that a statement chooses, in no order. */
export const withAttributes = (page: string) => `
  select customers.*, attributes.attributes
  from (${page}) as page join customers using (customer) join ${ATTRIBUTES} using (customer)`

/** Fails with not_found; a merged profile's id finds its survivor, an erased customer's nobody. */
export const findCustomer = ({ db }: Pick<Ctx, 'db'>, id: string): Promise<FoundCustomer> =>
  db.one<FoundCustomer>('customer_found', [id, null])

export interface Asked {
  after: Place | null
  bucket?: keyof typeof BUCKETS
  limit: number
}

/**
 * Up to `limit` customers in an order that begins after a place, each with the value of that order's column as text.
 * The values alone are ordered first: ids of a million customers would take 30 ms to compare, those at the edge of a
 * page are few.
 */
export async function customersInOrder(
  reader: Reader,
  order: RowOrder,
  { after, bucket = 'customers', limit }: Asked,
): Promise<(CustomerRow & { value: string | null })[]> {
  const { column, type, descending } = order
  const wanted = `from customers where ${BUCKETS[bucket]}`
  const place = afterSql(order, after, 2)
  const [edge] = await reader.rows<{ rows: number; known: number; value: string | null }>(
    `select count(*) as rows, count(value) as known, ${descending ? 'min' : 'max'}(value)::varchar as value
     from (
       select ${column} as value ${wanted} and ${place.text}
       order by ${column} ${descending ? 'desc' : 'asc'} nulls last limit $1
     )`,
    [limit, ...place.values],
  )
  const isFull = edge?.rows === limit && edge.known === limit
  const bound = `${column} ${descending ? '>=' : '<='} $${place.values.length + 2}::${type}`
  return await reader.rows(
    `with page as (
       select customer, customer_id, ${column} as value ${wanted} and ${place.text} and ${isFull ? bound : 'true'}
       order by ${orderSql(order)} limit $1
     )
     select customers.*, attributes.attributes, page.value::varchar as value
     from page join customers using (customer) join ${ATTRIBUTES} using (customer)
     order by ${orderSql({ ...order, column: 'page.value', id: 'page.customer_id' })}`,
    [limit, ...place.values, ...(isFull ? [edge.value] : [])],
  )
}

/** Up to `limit` customers with a text, in whatever case, in their email, phone, name or ids: the first by id, mostly. */
export const customersLike = (reader: Reader, query: string, limit: number): Promise<CustomerRow[]> =>
  reader.rows<CustomerRow>(
    `${withAttributes('select customer from customer_texts where contains(text, $1) limit $2')} order by customer_id`,
    [query.toLowerCase(), limit],
  )

/** One customer by ordinal. */
export async function customerRow(reader: Reader, customer: number): Promise<CustomerRow | undefined> {
  const [row] = await reader.rows<CustomerRow>(
    `select customers.*, attributes.attributes
     from (from customers where customer = $1::integer) as customers
     join (from ${ATTRIBUTES} where customer = $1::integer) as attributes using (customer)`,
    [customer],
  )
  return row
}
