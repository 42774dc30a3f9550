import { isOneOf } from '../lake/one-of.ts'
import type { Reader } from '../op.ts'
import { ORDER_COLUMNS, type OrderRow } from './commerce-fields.ts'
import { afterSql, orderSql, type Place, type RowOrder } from './keyset.ts'

/** Pages of the published orders of a brand. */

const PLACED: RowOrder = { column: 'created_at', type: 'timestamp', descending: true, id: 'id' }

export interface OrderFilters {
  created_at_gte?: Date | undefined
  created_at_lte?: Date | undefined
  state?: string | undefined
  billing_status?: string | undefined
  /** Ordinals; absent: everybody's and nobody's. */
  customers?: readonly number[] | undefined
}

export interface ListedOrder extends OrderRow {
  /** When it was placed, to the microsecond. */
  value: string
}

/** So many orders behind a place, newest first. */
export async function ordersBehind(
  reader: Reader,
  filters: OrderFilters,
  after: Place | null,
  count: number,
): Promise<ListedOrder[]> {
  const { where, values } = conditionsOf(filters)
  // Somebody's orders are few.
  const least = filters.customers ? null : await leastTime(reader, { where, values }, after, count)
  const place = afterSql(PLACED, after, values.length + 1)
  const all = [...values, ...place.values]
  if (least) where.push(`created_at >= $${all.push(least)}::timestamp`)
  return await reader.rows<ListedOrder>(
    `select ${ORDER_COLUMNS}, created_at::varchar as value
     from orders where ${[...where, place.text].join(' and ')}
     order by ${orderSql(PLACED)} limit $${all.push(count)}`,
    all,
  )
}

interface Conditions {
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
