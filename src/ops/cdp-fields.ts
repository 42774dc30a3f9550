import * as v from 'valibot'
import { Failure, fail, isUnavailable } from '../errors.ts'
import { queryInteger } from '../fields.ts'
import type { Ctx, Page, Reader } from '../op.ts'

/** What the lists of the customer-data host share. */

/** `offset` and `limit` together, and `totalSize`, reach no further. */
export const WINDOW = 10_000

export const LISTED: Page = { default: 25, max: 100, over: 'clamp' }

export const offsetPaging = ({ default: size, max, over }: Page) => ({
  limit: v.optional(queryInteger({ min: 1, max, over }), String(size)),
  offset: v.optional(queryInteger({ min: 0, max: Number.MAX_SAFE_INTEGER }), '0'),
})

/** Refuses a page that reaches beyond the window. */
export function checkWindow({ limit, offset }: { limit: number; offset: number }): void {
  if (offset + limit > WINDOW)
    throw fail('bad_request', `offset and limit together must be at most ${WINDOW.toLocaleString('en')}`)
}

/** The columns that profiles can be sorted by; no text of a caller is one. */
const SORTS = {
  'itemId.keyword': 'customer_id',
  'properties.firstVisit': 'created_at',
  'properties.lastVisit': 'last_event_at',
} as const

type SortField = keyof typeof SORTS
export type Sort = SortField | `${SortField}:${'asc' | 'desc'}`

const FIELDS = Object.keys(SORTS) as SortField[]
const OPTIONS = FIELDS.flatMap((field): Sort[] => [field, `${field}:asc`, `${field}:desc`])
export const sorting = v.optional(
  v.picklist(OPTIONS, `must be ${FIELDS.join(', ')}, with :asc or :desc`),
  'itemId.keyword:asc',
)

/** What to order by, ties by id; who has no such time comes last. */
export function orderSql(sort: Sort): string {
  const [field, way = 'asc'] = sort.split(':') as [SortField, ('asc' | 'desc')?]
  const column = SORTS[field]
  return column === 'customer_id' ? `customer_id ${way}` : `${column} ${way} nulls last, customer_id`
}

/** Rows of the newest sources; what DuckDB cannot evaluate is an `upstream_error`. */
export async function evaluated<Row>(
  ctx: Ctx,
  statement: string,
  values: readonly (string | null)[],
): Promise<Row[]> {
  return await answered(async () => (await ctx.lake.sources()).rows<Row>(statement, [...values]))
}

/** The published results of the newest refresh, or of the one that a walk began in; null before the first. */
export const resultsOf = (ctx: Ctx, generation?: number): Promise<Reader | null> =>
  answered(() => ctx.lake.served(generation))

/** Rows of published results, which the same holds for. */
export const published = <Row>(
  reader: Reader,
  statement: string,
  values: readonly unknown[],
): Promise<Row[]> => answered(() => reader.rows<Row>(statement, [...values]))

async function answered<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Failure || isUnavailable(cause)) throw cause
    throw fail('upstream_error', 'It could not be evaluated. Try again with backoff.', { cause })
  }
}
