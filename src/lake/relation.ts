/** What a row of a relation's Parquet files holds; `brand_id` and `tick` lead every row. */
export interface Relation {
  /** append: rows are final; versions: a row replaces the earlier one of its key. */
  kind: 'append' | 'versions'
  schemaVersion: number
  key: readonly string[]
  /** Sort order of a merged file. */
  order: readonly string[]
  /** Column → DuckDB type and meaning, without brand_id and tick. */
  columns: Readonly<Record<string, readonly [type: string, what: string]>>
  /** Columns that follow from the others, as SQL. Files of earlier schema versions than `since` lack them. */
  derived?: Readonly<Record<string, { since: number; as: string }>>
}

/** What files are sorted by first so that windows, which reach back from now, read no row group of what is older. */
export const quarterOf = (column: string) => `date_trunc('quarter', ${column})`

/** DuckDB type of an amount. */
export const MONEY = 'DECIMAL(18,2)'
/** Columns by what they hold. */
export const text = (what: string) => ['VARCHAR', what] as const
export const money = (what: string) => [MONEY, what] as const
export const time = (what: string) => ['TIMESTAMP', `${what} (UTC)`] as const
export const integer = (what: string) => ['INTEGER', what] as const
