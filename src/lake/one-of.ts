/**
 * A condition for rows of these subjects or customers, written out. DuckDB has IN pass over whole row groups only, and
 * reads all columns of the others; the second half is looked at first, so that other columns are read of what it finds.
 */
export function isOneOf(of: readonly number[], column: 'customer' | 'subject' = 'customer'): string {
  const list = of.map(Math.trunc).join(', ') || 'null'
  return of.length === 1
    ? `${column} = ${list}`
    : `(${column} in (${list}) and list_contains([${list}], ${column}))`
}
