import type { ServedTable } from './serving.ts'

/** Whom lists of customers show: everybody but visitors of whom nobody but a browser said anything. */
export const KNOWN = `provenance <> 'pixel'`

/** The columns that customers can be sorted by: their types, and whether some have no value. */
export const SORT_COLUMNS = {
  total_spend: { type: 'decimal(18, 2)', isNullable: false },
  orders_count: { type: 'integer', isNullable: false },
  created_at: { type: 'timestamp', isNullable: false },
  last_order_at: { type: 'timestamp', isNullable: true },
  last_event_at: { type: 'timestamp', isNullable: true },
} as const

export type SortColumn = keyof typeof SORT_COLUMNS
export const SORTED_BY = Object.keys(SORT_COLUMNS) as SortColumn[]

/** Known customers of the base (value, position, customer), by value, nulls last, and position. */
export const sortedTable = (column: SortColumn) => `customers_by_${column}`

/** The different values (value) that rows of such a table have, so many rows apart, the least and the greatest among them. */
export const sortMarksTable = (column: SortColumn) => `${sortedTable(column)}_marks`
export const SORT_MARK_EVERY = 1024

const rowsSql = (column: SortColumn, customers: string) =>
  `select ${column} as value, position, customer from ${customers} where ${KNOWN}`

/** What sorted pages of many customers are found by; `schema` has their rows, and gets these tables. */
export const sortedTables = (schema: string): ServedTable[] =>
  SORTED_BY.flatMap((column) => [
    {
      name: sortedTable(column),
      select: `${rowsSql(column, `${schema}.customers`)} order by value nulls last, position`,
    },
    {
      name: sortMarksTable(column),
      select: `
        select value
        from (
          select value from ${schema}.${sortedTable(column)} where rowid % ${SORT_MARK_EVERY} = 0
          union
          select max(value) from ${schema}.${sortedTable(column)}
        )
        where value is not null
        order by value`,
    },
  ])

/** The same of few customers, as views: to look through their rows takes less than to store them once more. */
export const sortedViews = (schema: string, customers: string): ServedTable[] =>
  SORTED_BY.flatMap((column) => [
    { name: sortedTable(column), select: rowsSql(column, customers) },
    {
      name: sortMarksTable(column),
      select: `select unnest([min(value), max(value)]) as value from ${schema}.${sortedTable(column)}`,
    },
  ])

export const SORTED_TABLES: readonly string[] = sortedTables('').map(({ name }) => name)
