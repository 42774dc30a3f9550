import type { Ctx, Published, Reader } from '../op.ts'
import {
  isOneOf,
  isPublished,
  type Key,
  PLACED,
  type Placed,
  PROPERTIES,
  placeOf,
  rowsOf,
} from './customer-place.ts'
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
  served: Published,
  order: RowOrder,
  { after, bucket = 'customers', limit }: Asked,
): Promise<(CustomerRow & { value: string | null })[]> {
  const { column, type, descending } = order
  const wanted = `from customers where ${BUCKETS[bucket]}`
  const place = afterSql(order, after, 2)
  const [edge] = await served.rows<{ rows: number; known: number; value: string | null }>(
    `select count(*) as rows, count(value) as known, ${descending ? 'min' : 'max'}(value)::varchar as value
     from (
       select ${column} as value ${wanted} and ${place.text}
       order by ${column} ${descending ? 'desc' : 'asc'} nulls last limit $1
     )`,
    [limit, ...place.values],
  )
  const isFull = edge?.rows === limit && edge.known === limit
  const bound = `${column} ${descending ? '>=' : '<='} $${place.values.length + 2}::${type}`
  const keys = await served.rows<Placed & { value: string | null }>(
    `select customer, row, ${column}::varchar as value
     from ${PLACED} as placed where ${BUCKETS[bucket]} and ${place.text} and ${isFull ? bound : 'true'}
     order by ${orderSql({ ...order, column: `placed.${column}` })} limit $1`,
    [limit, ...place.values, ...(isFull ? [edge.value] : [])],
  )
  const values = new Map(keys.map((key) => [key.customer, key.value]))
  const rows = await rowsOf<CustomerRow>(served, keys)
  return rows.map((row) => ({ ...row, value: values.get(row.customer) ?? null }))
}

/** Up to `limit` customers with a text, in whatever case, in their email, phone, name or ids: the first by id, mostly. */
export async function customersLike(served: Published, query: string, limit: number): Promise<CustomerRow[]> {
  const found = await served.rows<{ customer: number }>(
    'select customer from customer_texts where contains(text, $1) limit $2',
    [query.toLowerCase(), limit],
  )
  if (found.length === 0) return []
  const them = isOneOf(found.map(({ customer }) => customer))
  const keys = await served.rows<Placed>(
    `select customer, row from ${PLACED} where ${them} order by customer_id`,
  )
  return await rowsOf(served, keys)
}

/** Published, or among the sources of now. */
export async function customerRow(
  reader: Reader,
  { customer, customer_id }: Key,
): Promise<CustomerRow | undefined> {
  const place = isPublished(reader) ? await placeOf(reader, customer_id) : null
  const [row] = await reader.rows<CustomerRow>(
    `select customers.*, ${PROPERTIES}
     from (${customerAt(place !== null)}) as customers
     left join (from profile_properties where customer = $1::integer) as set_by_events using (customer)`,
    [customer, ...(place ? [place.from, place.to] : [])],
  )
  return row
}

/** The row of a customer ($1): of published ones by their place ($2 to $3). */
export const customerAt = (placed: boolean) =>
  placed
    ? `select * exclude (position) from customers_placed
       where position between $2::integer and $3::integer and customer = $1::integer`
    : 'from customers where customer = $1::integer'
