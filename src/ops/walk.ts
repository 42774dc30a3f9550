import { fail } from '../errors.ts'
import type { Begun } from '../model/as-of.ts'
import type { CallCursors, Lake, Reader } from '../op.ts'

/** Lists of orders, subscriptions and customers at risk end here. */
const MOST_ROWS = 10_000

/** What the rows of a page come to at most, in bytes; the first is there however large it is. */
export const PAGE_BYTES = 1 << 20

/** Where a page begins: behind a row, and behind so many rows, of what the walk began in. */
interface Position<After> extends Begun {
  row: number
  after: After
}

export interface Walk<Row, After, From extends Reader = Reader> {
  cursors: CallCursors
  limit: number
  cursor: string | undefined
  filters: Readonly<Record<string, unknown>>
  /** What the rows come from; null: nothing yet. Later pages come from what the walk began in. */
  open(begun: Begun | null): Promise<From | null>
  rows(from: From, after: After | null, most: number): Promise<Part<Row>>
  /** What orders the rows, of this one. */
  keyOf(row: Row): After
}

/** Up to so many rows, and whether more come after them. */
export interface Part<Row> {
  rows: Row[]
  goesOn: boolean
}

/** Of `most` rows and the one behind them, as far as there are any. */
export const partOf = <Row>(found: readonly Row[], most: number): Part<Row> => ({
  rows: found.slice(0, most),
  goesOn: found.length > most,
})

/** Those of a page, and the last of them where more come after it. */
export function paged<Row>(found: readonly Row[], limit: number): { rows: Row[]; last: Row | undefined } {
  const { rows, goesOn } = partOf(found, limit)
  return { rows, last: goesOn ? rows.at(-1) : undefined }
}

export interface Walked<Row> {
  rows: Row[]
  next_cursor: string | null
}

/**
 * A page of a walk in a total order. It stays in the refresh or the sources in which it began while those are kept (24
 * hours), so that each row comes once; later it goes on behind the same row of the newest.
 */
export async function walked<Row, After, From extends Reader = Reader>(
  walk: Walk<Row, After, From>,
): Promise<Walked<Row>> {
  const { cursors, limit, cursor, filters } = walk
  const from = cursors.open<Position<After>>(cursor, filters)
  const done = from?.row ?? 0
  if (done >= MOST_ROWS)
    throw fail(
      'bad_request',
      `cursor is at or past row ${MOST_ROWS.toLocaleString('en')}, where this list ends: narrow it with filters`,
    )
  const reader = await walk.open(from)
  if (!reader) return { rows: [], next_cursor: null }
  const size = Math.min(limit, MOST_ROWS - done)
  const { rows, goesOn } = await walk.rows(reader, from?.after ?? null, size)
  const last = rows.at(-1)
  const row = done + rows.length
  const next = (): Position<After> => ({
    ...{ generation: reader.generation, pin: reader.pin },
    ...{ row, after: walk.keyOf(last as Row) },
  })
  return { rows, next_cursor: goesOn && last && row < MOST_ROWS ? cursors.seal(next(), filters) : null }
}

/** What a walk reads that is not as of an instant of the past. */
export const newest = (lake: Lake) => (begun: Begun | null) => lake.served(begun?.generation)
