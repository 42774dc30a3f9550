import { isOneOf } from '../lake/one-of.ts'
import type { Reader } from '../op.ts'
import { LINE_TEXTS, ORDER_COLUMNS, type OrderRow } from './commerce-fields.ts'
import { afterSql, orderSql, type Place, type RowOrder } from './keyset.ts'
import { PAGE_BYTES, type Part } from './walk.ts'

/** Pages of the published orders of a brand. */

export const PLACED: RowOrder = { column: 'created_at', type: 'timestamp', descending: true, id: 'id' }

export interface OrderFilters {
  created_at_gte?: Date | undefined
  created_at_lte?: Date | undefined
  state?: string | undefined
  billing_status?: string | undefined
  /** Ordinals; absent: everybody's and nobody's. */
  customers?: readonly number[] | undefined
}

export interface OrderPlace {
  id: string
  /** When it was placed, to the microsecond. */
  value: string
}

export type ListedOrder = OrderRow & OrderPlace

/** Up to so many orders behind a place, newest first, fewer where these are large. */
export async function ordersBehind(
  reader: Reader,
  filters: OrderFilters,
  after: Place | null,
  most: number,
): Promise<Part<ListedOrder>> {
  const { where, values } = conditionsOf(filters)
  // Somebody's orders are few.
  const least = filters.customers ? null : await leastTime(reader, { where, values }, after, most + 1)
  const place = afterSql(PLACED, after, values.length + 1)
  const all = [...values, ...place.values]
  const behind = [...where, place.text]
  if (least) behind.push(`created_at >= $${all.push(least)}::timestamp`)
  const places = await reader.rows<OrderPlace>(
    `select id, created_at::varchar as value
     from orders where ${behind.join(' and ')}
     order by ${orderSql(PLACED)} limit $${all.push(most + 1)}`,
    all,
  )
  return await ordersAt(reader, places, most, { where, values })
}

/** Of a line as JSON, beside its texts. */
const LINE_BYTES = 110
const ORDER_BYTES = `coalesce(list_sum(list_transform(lines, lambda line:
  ${[LINE_BYTES, ...LINE_TEXTS.map((text) => `coalesce(strlen(line.${text}), 0)`)].join(' + ')})), 0)::double`

/** Of that many the lines are read at once, of 2 MB each at most; of more where they are smaller. */
const AT_ONCE = 25

/**
 * The orders at the first `most` of these places, as far as a page has room. Lines are read of some at a time: those of
 * 100 orders may come to 200 MB.
 */
export async function ordersAt(
  reader: Reader,
  places: readonly OrderPlace[],
  most: number,
  conditions: Conditions,
): Promise<Part<ListedOrder>> {
  const asked = places.slice(0, most)
  const rows: ListedOrder[] = []
  let sum = 0
  for (let at = 0, count = AT_ONCE; at < asked.length; ) {
    for (const { bytes, ...row } of await read(reader, asked.slice(at, at + count), conditions)) {
      sum += bytes
      if (rows.length > 0 && sum > PAGE_BYTES) return { rows, goesOn: true }
      rows.push(row)
    }
    at += count
    count = Math.max(1, Math.floor((PAGE_BYTES / (sum + 1) - 1) * rows.length))
  }
  return { rows, goesOn: places.length > asked.length }
}

function read(
  reader: Reader,
  places: readonly OrderPlace[],
  { where, values }: Conditions,
): Promise<(ListedOrder & { bytes: number })[]> {
  const all = [...values]
  const bind = (value: unknown) => `$${all.push(value)}`
  const [first, last] = [places[0], places.at(-1)].map((place) => `${bind(place?.value)}::timestamp`)
  const ids = bind(JSON.stringify(places.map(({ id }) => id)))
  const theirs = [
    ...where,
    `created_at between ${last} and ${first}`,
    `list_contains(${ids}::json::varchar[], id)`,
  ]
  return reader.rows(
    `select ${ORDER_COLUMNS}, created_at::varchar as value, ${ORDER_BYTES} as bytes
     from orders where ${theirs.join(' and ')} order by ${orderSql(PLACED)}`,
    all,
  )
}

export interface Conditions {
  where: string[]
  values: unknown[]
}

function conditionsOf({ customers, ...filters }: OrderFilters): Conditions {
  const values: unknown[] = []
  const where: string[] = []
  const add = (value: unknown, condition: (bound: string) => string) => {
    if (value !== undefined) where.push(condition(`$${values.push(value)}`))
  }
  add(filters.created_at_gte, (bound) => `created_at >= ${bound}::timestamp`)
  // To the millisecond, as orders show it: the lake has microseconds.
  add(filters.created_at_lte, (bound) => `created_at < ${bound}::timestamp + interval 1 millisecond`)
  add(filters.state, (bound) => `state = ${bound}`)
  add(filters.billing_status, (bound) => `billing_status = ${bound}`)
  if (customers) where.push(isOneOf(customers))
  return { where, values }
}

/**
 * A time that the page does not go back beyond; null: none is known. To look at one column of all orders takes a
 * thirtieth of the time of sorting all by time and id (3M orders).
 */
async function leastTime(
  reader: Reader,
  { where, values }: Conditions,
  after: Place | null,
  count: number,
): Promise<string | null> {
  const bound = [...values]
  const earlier = after ? [`created_at < $${bound.push(after.value)}::timestamp`] : []
  const all = [...where, ...earlier, 'true'].join(' and ')
  const [found] = await reader.rows<{ least: string; rows: number }>(
    `select min(created_at)::varchar as least, count(*) as rows
     from (select created_at from orders where ${all} order by created_at desc limit $${bound.push(count)})`,
    bound,
  )
  return found && found.rows === count ? found.least : null
}
