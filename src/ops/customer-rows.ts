import { type Failure, fail } from '../errors.ts'
import { emailOf } from '../event/email.ts'
import { phoneAlone } from '../identity/channel.ts'
import { folded } from '../lake/folded.ts'
import { KNOWN } from '../lake/sorted.ts'
import type { Brand, Ctx, CustomerRows, Published, Reader } from '../op.ts'
import { byBytes } from '../store/duckdb-text.ts'

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
  /** The newest of published results, when they were found; 0 before the first. */
  generation: number
}

/** The newest visitors that a profile was. */
export interface FoundVisitors {
  visitor_ids: string[]
}

export const BUCKETS = { customers: KNOWN, anonymous: `provenance = 'pixel'` } as const

const ASCII = /^[\0-\x7f]*$/

/**
 * What a search looks for: its text, the same as addresses are stored where that may be another one, folded, and the
 * number that it means where it is a phone as people write them.
 */
export function textsOf(
  query: string,
  { default_phone_region: region }: Pick<Brand, 'default_phone_region'>,
): string[] {
  const phone = phoneAlone(query, region)
  if (phone !== undefined && !phone.includes(query)) return [query, phone]
  const lowered = query.toLowerCase()
  return lowered === query || ASCII.test(query) ? [query] : [query, lowered]
}

/** That one of these texts, which parameters from this one on have, is in a column. */
const hasOne = (column: string, texts: readonly string[], parameter: number) =>
  `(${texts.map((_, n) => `contains(${column}, ${folded(`$${parameter + n}`)})`).join(' or ')})`

/** A condition for the customers of a bucket, and of a search for texts, which parameters from this one on have. */
export function wantedSql(
  bucket: keyof typeof BUCKETS,
  texts: readonly string[] | undefined,
  parameter: number,
): string {
  if (texts === undefined) return BUCKETS[bucket]
  return bucket === 'customers'
    ? `customer in (select customer from customer_texts where ${hasOne('text', texts, parameter)})`
    : `${BUCKETS[bucket]} and ${hasOne(folded('customer_id'), texts, parameter)}`
}

/** Whom the public id or the sender's own means: a merged profile's finds its survivor, an erased customer's nobody. */
export const maybeCustomer = ({ db }: Pick<Ctx, 'db'>, id: string): Promise<FoundCustomer | undefined> =>
  db.maybe<FoundCustomer>('customer_found', [id, false])

/** The same; fails with not_found. */
export async function findCustomer(ctx: Pick<Ctx, 'db'>, id: string): Promise<FoundCustomer> {
  const found = await maybeCustomer(ctx, id)
  if (found) return found
  throw noSuchCustomer()
}

export const noSuchCustomer = (): Failure =>
  fail(
    'not_found',
    'There is no such customer. search_customers (GET /v1/customers/search) finds ids by email, phone or name.',
  )

/** The same, with what the profile goes by. */
export const findProfile = ({ db }: Pick<Ctx, 'db'>, id: string): Promise<FoundCustomer & FoundVisitors> =>
  db.one<FoundCustomer & FoundVisitors>('customer_found', [id, true])

/**
 * Up to `limit` customers with a text, folded, in their email, phone, name or ids, or in those of profiles merged
 * into them: the first by id; of those who came between the same two since the base was written, the first who came.
 *
 * By position: once so many are found, DuckDB passes over texts that come later. A limit alone has a thread end as soon as
 * it found so many by itself, and leave all others to the other one.
 */
async function customersLike(
  served: Published,
  texts: readonly string[],
  limit: number,
): Promise<CustomerRow[]> {
  const found = await served.rows<{ customer: number }>(
    `select customer from customer_texts where ${hasOne('text', texts, 2)} order by position, customer limit $1`,
    [limit, ...texts],
  )
  const rows = await customersNamed(
    served,
    found.map(({ customer }) => customer),
  )
  return rows.sort((a, b) => byBytes(a.customer_id, b.customer_id))
}

/**
 * The same, and whoever an email or a phone identifies that stands in no text of theirs any more, as `/cdp/customers` finds
 * them: a newer one took its place.
 */
export async function customersFound(
  { db, brand }: Pick<Ctx, 'db' | 'brand'>,
  served: Published,
  query: string,
  limit: number,
): Promise<CustomerRow[]> {
  const texts = textsOf(query, brand)
  const rows = await customersLike(served, texts, limit)
  const email = emailOf(query)
  const phone = phoneAlone(query, brand.default_phone_region)
  if (email === undefined && phone === undefined) return rows
  const { customer } = await db.one<{ customer: number | null }>('party_found', [
    ...(email === undefined ? ['phone', phone] : ['email', email]),
  ])
  if (customer === null || rows.some((row) => row.customer === customer)) return rows
  const named = await customersNamed(served, [customer])
  return [...named, ...rows].slice(0, limit).sort((a, b) => byBytes(a.customer_id, b.customer_id))
}

/** Rows of published customers, in the order in which they are named. */
export async function customersNamed(
  served: Published,
  customers: readonly number[],
): Promise<CustomerRow[]> {
  const found = await served.of(customers, ['customers', 'profile_properties'])
  return found.flatMap((rows) => {
    const [row] = rows<Omit<CustomerRow, 'attributes'>>('customers')
    const [set] = rows<{ properties: string }>('profile_properties')
    return row ? { ...row, attributes: set?.properties ?? '{}' } : []
  })
}

/** Published, or among the sources of now. */
export async function customerRow(reader: Reader, customer: number): Promise<CustomerRow | undefined> {
  if (isPublished(reader)) return (await customersNamed(reader, [customer]))[0]
  const [row] = await reader.rows<CustomerRow>(
    `select customers.*, coalesce(set_by_events.properties, json('{}')) as attributes
     from (from customers where customer = $1::integer) as customers
     left join (from profile_properties where customer = $1::integer) as set_by_events using (customer)`,
    [customer],
  )
  return row
}

/** Rows of one customer in marts: looked up where they are published, else computed. */
export async function rowsOf(
  marts: Reader,
  customer: number,
  names: readonly string[],
): Promise<CustomerRows | undefined> {
  if (isPublished(marts)) return (await marts.of([customer], names))[0]
  const found = new Map<string, unknown[]>()
  for (const name of names)
    found.set(name, await marts.rows(`from ${name} where customer = $1::integer`, [customer]))
  return <Row>(name: string) => (found.get(name) ?? []) as Row[]
}

/** Whether rows come from published results. */
const isPublished = (reader: Reader): reader is Published => 'of' in reader
