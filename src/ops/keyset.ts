/** A total order of rows: by one column, nulls last either way, ties by ascending id. Columns are of the program's own. */
export interface RowOrder {
  column: string
  /** DuckDB type of the column. */
  type: string
  descending: boolean
  id: string
}

/** Where a page ended: the last row's value as text, exactly, and its id. */
export interface Place {
  value: string | null
  id: string
}

export const orderSql = ({ column, descending, id }: RowOrder) =>
  `${column} ${descending ? 'desc' : 'asc'} nulls last, ${id}`

/** A condition for the rows that come after a place, with its values; `first` is the number of its first parameter. */
export function afterSql(
  { column, type, descending, id }: RowOrder,
  place: Place | null,
  first = 1,
): { text: string; values: string[] } {
  if (!place) return { text: 'true', values: [] }
  if (place.value === null) return { text: `${column} is null and ${id} > $${first}`, values: [place.id] }
  const value = `$${first}::${type}`
  // The first half alone is a filter on one column, which whole row groups are passed over by.
  return {
    text: `(${column} ${descending ? '<=' : '>='} ${value} or ${column} is null)
      and (${column} is distinct from ${value} or ${id} > $${first + 1})`,
    values: [place.value, place.id],
  }
}
