/** Rows as aligned text columns; numbers to the right. */
export function table(header: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => row.map(cell))
  const widths = header.map((name, column) =>
    Math.max(name.length, ...cells.map((row) => row[column]?.length ?? 0)),
  )
  const line = (row: readonly string[], right: readonly boolean[]) =>
    row
      .map((value, column) =>
        right[column] ? value.padStart(widths[column] ?? 0) : value.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  const numeric = header.map((_, column) => rows.length > 0 && rows.every((row) => isNumber(row[column])))
  return [
    line([...header], numeric),
    line(
      widths.map((width) => '-'.repeat(width)),
      numeric,
    ),
    ...cells.map((row) => line(row, numeric)),
  ].join('\n')
}

const isNumber = (value: unknown) =>
  value === null || typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value))

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
