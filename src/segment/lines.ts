import { type Lines, rowsNamed } from './catalog.ts'
import { columnsIn, type Expr, keyOf, testedBy } from './expression.ts'
import type { RowsTest } from './tree.ts'

/** Whether a row without lines satisfies tests of one and the same line: as if it had one that says nothing. */
export const holdsWithoutLines = (line: readonly Expr[]): boolean =>
  line.length > 0 && line.every(({ is }) => is === 'not')

/** What a condition that looks at lines of rows reads of them: their products alone where it asks for no more. */
export function linesOf({ source, line, measure }: RowsTest): Lines | undefined {
  const { lines } = rowsNamed(source)
  const isOfRows = line.length === 0 && measure.level === 'row'
  if (!lines || isOfRows) return undefined
  const { products } = lines
  const columns = columnsIn(line)
  // How many lines have a product is not kept, nor whether one has none.
  const asksForProducts =
    measure.level === 'row' &&
    columns.every(({ name }) => name === products.column) &&
    line.some((test) => columns.some((column) => keyOf(testedBy(test) ?? test) === keyOf(column)))
  return asksForProducts ? products : lines
}
