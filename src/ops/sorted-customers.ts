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

/** Where a page ended. The position, when it is known, saves looking for it in the generation that it is of. */
export interface SortedPlace extends Place {
  position?: number | undefined
}

/** A row of a page: where the next one would begin. */
export type SortedCustomer = CustomerRow & { place: Required<SortedPlace> }

/** Rows of the base that are looked at for each one that is wanted: those who changed since are among them. */
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
  const keys = await sortedKeys(served, order, from, limit)
  if (keys.length < limit && from?.value != null && SORT_COLUMNS[order.column].isNullable)
    keys.push(...(await sortedKeys(served, order, NULLS, limit - keys.length)))
  const places = new Map(keys.map(({ customer, value, position }) => [customer, { value, position }]))
  const rows = await customersNamed(
    served,
    keys.map(({ customer }) => customer),
  )
  return rows.flatMap((row) => {
    const place = places.get(row.customer)
    return place ? { ...row, place: { ...place, id: row.customer_id } } : []
  })
}

/** Before the first of those without a value. */
const NULLS: Required<SortedPlace> = { value: null, id: '', position: -1 }

interface Key {
  customer: number
  value: string | null
  position: number
}

async function sortedKeys(
  served: Published,
  order: CustomerOrder,
  from: Required<SortedPlace> | null,
  limit: number,
): Promise<Key[]> {
  const statement = pageSql(order, from)
  const place = from ? [from.position, from.id, ...(from.value === null ? [] : [from.value])] : []
  for (let looked = LOOKED_AT * limit; ; looked *= FURTHER) {
    const rows = await served.rows<Key & { looked: number; customer: number | null }>(statement, [
      ...[looked, limit],
      ...place,
    ])
    const keys = rows.filter(({ customer }) => customer !== null)
    if (keys.length === limit || (rows[0]?.looked ?? 0) < looked) return keys
  }
}

/**
 * The base is ordered alone, by numbers: its positions are in the order of its ids, who is new since has the position of
 * the one before. Those who changed since are left out of what is on top, and come with their rows of now: to leave them
 * out of a million would take as long again. Values become texts at the end, or the optimizer makes a million of them.
 */
function pageSql({ column, descending }: CustomerOrder, from: SortedPlace | null): string {
  const direction = `${descending ? 'desc' : 'asc'} nulls last`
  const of = (bucket: string, isLater: string) =>
    `${bucket} and ${afterSql({ column, descending }, from, isLater)}`
  return `
    with looked_at as materialized (
      select customer, position, ${column} as value
      from base.customers
      where ${of(BUCKETS.customers, 'position > $3')}
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
        where ${of(BUCKETS.customers, '(position > $3 or position = $3 and customer_id > $4)')}
        order by ${column} ${direction}, position, customer_id
        limit $2
      )
    ),
    page as (from found order by value ${direction}, position, id limit $2)
    select looked, page.customer, page.position, page.value::varchar as value
    from (select count(*) as looked from looked_at) left join page on true
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
