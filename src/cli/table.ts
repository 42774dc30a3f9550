/** Rows as aligned text columns; numbers to the right. */
export function table(header: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.flatMap((row) => linesOf(row.map(cell)))
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

/** The lines of a row: as many as its longest cell has. */
function linesOf(row: readonly string[]): string[][] {
  const split = row.map((text) => text.split('\n'))
  const height = Math.max(0, ...split.map(({ length }) => length))
  return Array.from({ length: height }, (_, at) => split.map((lines) => lines[at] ?? ''))
}

/** What steers a terminal, all but line breaks: values come from whoever sends events. */
const CONTROL = /[\0-\t\v-\x1f\x7f-\x9f]/g
const escaped = (one: string) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString()
  return (typeof value === 'object' ? JSON.stringify(value) : String(value)).replace(CONTROL, escaped)
}
