import type { Published } from '../op.ts'
import { positionOf } from '../segment/member-page.ts'
import { BUCKETS, type CustomerRow, customersNamed } from './customer-rows.ts'
import type { Place } from './keyset.ts'

/** The columns that customers can be sorted by: their types, and whether some have no value. */
export const SORT_COLUMNS = {
  total_spend: { type: 'decimal(18, 2)', isNullable: false },
  orders_count: { type: 'integer', isNullable: false },
  created_at: { type: 'timestamp', isNullable: false },
  last_order_at: { type: 'timestamp', isNullable: true },
  last_event_at: { type: 'timestamp', isNullable: true },
} as const

export interface CustomerOrder {
  column: keyof typeof SORT_COLUMNS
  descending: boolean
}

/** Where a page ended. */
export interface SortedPlace extends Place {
  /** When it is known, it saves looking for the id in the generation that it is of. */
  position?: number | undefined
  /** A value some pages on. To look no further takes a third of the time, and is enough for most pages. */
  edge?: string | null | undefined
}

/** A row of a page: where the next one would begin. */
export type SortedCustomer = CustomerRow & { place: SortedPlace }

/** Rows of the base that are looked at: so many at least, and for each one that is wanted. Who changed since is among them. */
const LEAST = 2_000
const LOOKED_AT = 8
/** When too few of them are left, so many times more. */
const FURTHER = 16

/** Up to `limit` customers, visitors left out, in an order that begins after a place: nulls last either way, ties by id. */
export async function sortedCustomers(
  served: Published,
  order: CustomerOrder,
  { after, limit }: { after: SortedPlace | null; limit: number },
): Promise<SortedCustomer[]> {
  const from = after && { ...after, position: after.position ?? (await positionOf(served, after.id)) }
  const { keys, edge } = await sortedKeys(served, order, from, limit)
  if (keys.length < limit && from?.value != null && SORT_COLUMNS[order.column].isNullable)
    keys.push(...(await sortedKeys(served, order, NULLS, limit - keys.length)).keys)
  const places = new Map(keys.map(({ customer, ...place }) => [customer, place]))
  const rows = await customersNamed(
    served,
    keys.map(({ customer }) => customer),
  )
  return rows.flatMap((row) => {
    const place = places.get(row.customer)
    return place ? { ...row, place: { ...place, edge, id: row.customer_id } } : []
  })
}

/** A place in the generation that is read. */
type KnownPlace = SortedPlace & { position: number }

/** Before the first of those without a value. */
const NULLS: KnownPlace = { value: null, id: '', position: -1 }

interface Key {
  customer: number
  value: string | null
  position: number
}

async function sortedKeys(
  served: Published,
  order: CustomerOrder,
  from: KnownPlace | null,
  limit: number,
): Promise<{ keys: Key[]; edge: string | null }> {
  const place = from ? [from.position, from.id, ...(from.value === null ? [] : [from.value])] : []
  let looked = Math.max(LEAST, LOOKED_AT * limit)
  if (from?.value != null && from.edge != null) {
    const { keys } = await keysOf(served, pageSql(order, from, true), [looked, limit, ...place, from.edge])
    if (keys.length === limit) return { keys, edge: from.edge }
  }
  const statement = pageSql(order, from)
  for (; ; looked *= FURTHER) {
    const { keys, edge, isFull } = await keysOf(served, statement, [looked, limit, ...place])
    if (keys.length === limit || !isFull) return { keys, edge: isFull ? edge : null }
  }
}

/** What a statement of `pageSql` found. `isFull`: there may be more; `edge`: the last value that it looked at. */
async function keysOf(served: Published, statement: string, values: unknown[]) {
  const rows = await served.rows<Partial<Key> & { is_full: boolean; edge: string | null }>(statement, values)
  return {
    keys: rows.filter((row): row is Key & typeof row => row.customer !== null),
    edge: rows[0]?.edge ?? null,
    isFull: rows[0]?.is_full ?? false,
  }
}

/**
 * The base is ordered alone, by numbers: its positions are in the order of its ids, who is new since has the position of
 * the one before. Those who changed since are left out of what is on top, and come with their rows of now: to leave them
 * out of a million would take as long again. Values become texts at the end, or the optimizer makes a million of them.
 */
function pageSql({ column, descending }: CustomerOrder, from: SortedPlace | null, isWithin = false): string {
  const direction = `${descending ? 'desc' : 'asc'} nulls last`
  const within = isWithin ? `and ${column} ${descending ? '>=' : '<='} $6::${SORT_COLUMNS[column].type}` : ''
  const wanted = (isLater: string) =>
    `${BUCKETS.customers} and ${afterSql({ column, descending }, from, isLater)} ${within}`
  return `
    with looked_at as materialized (
      select customer, position, ${column} as value
      from base.customers
      where ${wanted('position > $3')}
      order by ${column} ${direction}, position
      limit $1
    ),
    found as (
      select customer, position, '' as id, value
      from looked_at anti join changes.replaced using (customer)
      union all
      select customer, position, id, value
      from (
        select customer, position, customer_id as id, ${column} as value
        from changes.customers
        where ${wanted('(position > $3 or position = $3 and customer_id > $4)')}
        order by ${column} ${direction}, position, customer_id
        limit $2
      )
    ),
    page as (from found order by value ${direction}, position, id limit $2)
    select is_full, edge::varchar as edge, page.customer, page.position, page.value::varchar as value
    from (select count(*) = $1 as is_full, ${descending ? 'min' : 'max'}(value) as edge from looked_at)
    left join page on true
    order by page.value ${direction}, page.position, page.id`
}

/** `isLater`: a condition for those of equal values. */
function afterSql({ column, descending }: CustomerOrder, from: SortedPlace | null, isLater: string): string {
  if (!from) return 'true'
  if (from.value === null) return `${column} is null and ${isLater}`
  const value = `$5::${SORT_COLUMNS[column].type}`
  const beyond = descending ? '<' : '>'
  // The first half alone is a filter on one column, which whole row groups are passed over by.
  return `${column} ${beyond}= ${value} and (${column} ${beyond} ${value} or ${isLater})`
}
