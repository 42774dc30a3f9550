import {
  KNOWN,
  SORT_COLUMNS,
  SORT_MARK_EVERY,
  type SortColumn,
  sortedTable,
  sortMarksTable,
} from '../lake/sorted.ts'
import type { Published } from '../op.ts'
import { positionOf } from '../segment/member-page.ts'
import { type CustomerRow, customersNamed } from './customer-rows.ts'
import type { Place } from './keyset.ts'

export interface CustomerOrder {
  column: SortColumn
  descending: boolean
}

/** Where a page ended. */
export interface SortedPlace extends Place {
  /** When it is known, it saves looking for the id in the generation that it is of. */
  position?: number | undefined
}

/** A row of a page: where the next one would begin. */
export type SortedCustomer = CustomerRow & { place: SortedPlace }

/** Rows of the base that are looked at for each one that is wanted. Who changed since is among them. */
const LOOKED_AT = 4
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
  if (keys.length < limit && from?.value !== null && SORT_COLUMNS[order.column].isNullable)
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

/** A place in the generation that is read. */
type KnownPlace = SortedPlace & { position: number }

/** Before the first of those without a value. */
const NULLS: KnownPlace = { value: null, id: '', position: -1 }

interface Key {
  customer: number
  value: string | null
  position: number
}

/** Those after a place who have a value; from a place without one on, those who have none. */
async function sortedKeys(
  served: Published,
  order: CustomerOrder,
  from: KnownPlace | null,
  limit: number,
): Promise<Key[]> {
  const place = from ? [from.position, from.id, ...(from.value === null ? [] : [from.value])] : []
  const statement = pageSql(order, from)
  for (let looked = LOOKED_AT * limit; ; looked *= FURTHER) {
    const rows = await served.rows<Partial<Key> & { is_full: boolean }>(statement, [looked, limit, ...place])
    const keys = rows.filter((row): row is Key & typeof row => row.customer !== null)
    if (keys.length === limit || !rows[0]?.is_full) return keys
  }
}

/**
 * The base is looked at alone: its positions are in the order of its ids, who is new since has the position of the one
 * before. Those who changed since are left out of what was looked at, and come with their rows of now, up to the last
 * row that was looked at: what comes after it is not known (`is_full`). Values become texts at the end, or the optimizer
 * makes a million of them.
 */
function pageSql(order: CustomerOrder, from: SortedPlace | null): string {
  const { column, descending } = order
  const direction = `${descending ? 'desc' : 'asc'} nulls last`
  const byValue = from?.value === null ? '' : `value ${direction},`
  return `
    with looked_at as materialized (
      select customer, position, value
      from ${sortedTable(column)}
      where ${afterSql(order, from, 'position > $3')} ${withinSql(order, from)}
      order by ${byValue} position
      limit $1
    ),
    found as (
      select customer, position, '' as id, value
      from looked_at anti join changes.replaced using (customer)
      union all
      select customer, position, id, value
      from (select customer, position, customer_id as id, ${column} as value from changes.customers where ${KNOWN})
      where ${afterSql(order, from, '(position > $3 or position = $3 and id > $4)')}
    ),
    page as (from found order by ${byValue} position, id limit $2),
    known as (
      select count(*) > 0 as is_full, any_value(value) as last_value, any_value(position) as last_position
      from (from looked_at order by ${byValue} position limit 1 offset $1 - 1)
    )
    select is_full, page.customer, page.position, page.value::varchar as value
    from known
    left join page on not is_full
      or page.value ${descending ? '>' : '<'} last_value
      or page.value is not distinct from last_value and page.position <= last_position
    order by page.value ${direction}, page.position, page.id`
}

/** `isLater`: a condition for those of equal values. */
function afterSql({ column, descending }: CustomerOrder, from: SortedPlace | null, isLater: string): string {
  if (!from) return 'value is not null'
  if (from.value === null) return `value is null and ${isLater}`
  const value = `$5::${SORT_COLUMNS[column].type}`
  const beyond = descending ? '<' : '>'
  // The first half alone is a filter on one column, which whole row groups are passed over by.
  return `value ${beyond}= ${value} and (value ${beyond} ${value} or ${isLater})`
}

/**
 * As far as a mark that leaves $1 rows at least, or all there are. Downwards each of the rows that are stored together
 * would be the best one so far; upwards a second thread would look at the next ones. Between two of the marks lies what
 * is passed over of equal values.
 */
function withinSql({ column, descending }: CustomerOrder, from: SortedPlace | null): string {
  if (from?.value === null) return ''
  const [upTo, last, beyond] = descending ? ['>=', 'min', '<='] : ['<=', 'max', '>=']
  return `and value ${upTo} (
    select ${last}(value)
    from (
      select value from ${sortMarksTable(column)}
      where ${from ? `value ${beyond} $5::${SORT_COLUMNS[column].type}` : 'true'}
      order by value ${descending ? 'desc' : 'asc'}
      limit $1 // ${SORT_MARK_EVERY} + 3
    )
  )`
}
