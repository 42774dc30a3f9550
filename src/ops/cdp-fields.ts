import * as v from 'valibot'
import { Failure, fail, isPassing } from '../errors.ts'
import { queryInteger } from '../fields.ts'
import { martsOf } from '../model/as-of.ts'
import type { Ctx, Page, Published, Reader } from '../op.ts'
import { INSIGHT_RATE } from './insights.ts'

/** What the lists of the customer-data host share. */

/** `offset` and `limit` together, and `totalSize`, reach no further. */
export const WINDOW = 10_000

export const LISTED: Page = { default: 25, max: 100, over: 'clamp' }

const OFFSETS = { min: 0, max: Number.MAX_SAFE_INTEGER }
const offset = queryInteger(OFFSETS)

export const offsetPaging = ({ default: size, max, over }: Page) => ({
  limit: v.optional(queryInteger({ min: 1, max, over }), String(size)),
  offset: v.optional(offset, '0'),
})

/** An offset beside a cursor, which has it ignored whatever it is; without one `offsetOf` reads it. */
export const offsetUnread = v.optional(
  v.pipe(
    v.string(),
    v.metadata({ jsonSchema: { type: 'integer', minimum: OFFSETS.min, maximum: OFFSETS.max } }),
  ),
  '0',
)

export function offsetOf(unread: string): number {
  const read = v.safeParse(offset, unread, { abortPipeEarly: true })
  if (read.success) return read.output
  throw fail('bad_request', `offset ${read.issues[0].message}`)
}

/** Refuses a page that reaches beyond the window. */
export function checkWindow({ limit, offset }: { limit: number; offset: number }): void {
  if (offset + limit > WINDOW)
    throw fail('bad_request', `offset and limit together must be at most ${WINDOW.toLocaleString('en')}`)
}

/** What a list can be sorted by: the names of the fields with their columns; no text of a caller is one. */
export interface Sorting {
  schema: v.GenericSchema<string | undefined, string>
  /** What to order by, ties by id; who has no value comes last. */
  sql(sort: string): string
}

/** `id` is the column of the ids; the first field is the one that is sorted by unless said, in the way of `otherwise`. */
export function sorting(
  columns: Readonly<Record<string, string>>,
  id: string,
  otherwise: 'asc' | 'desc' = 'asc',
): Sorting {
  const fields = Object.keys(columns)
  const options = fields.flatMap((field) => [field, `${field}:asc`, `${field}:desc`])
  return {
    schema: v.optional(
      v.picklist(options, `must be ${fields.join(', ')}, with :asc or :desc`),
      `${fields[0]}:${otherwise}`,
    ),
    sql(sort) {
      const [field = '', way = 'asc'] = sort.split(':')
      return columns[field] === id ? `${id} ${way}` : `${columns[field]} ${way} nulls last, ${id}`
    },
  }
}

export const PROFILES = sorting(
  {
    'itemId.keyword': 'customer_id',
    'properties.firstVisit': 'created_at',
    'properties.lastVisit': 'last_event_at',
  },
  'customer_id',
)

/** The sort that a list of profiles can be walked in by cursors. */
export const isById = (sort: string) => sort === 'itemId.keyword' || sort === 'itemId.keyword:asc'

/** The newest sources and models; what DuckDB cannot evaluate is an `upstream_error`. */
export const sourcesOf = async (ctx: Ctx): Promise<Reader> =>
  guarded(await answered(() => ctx.lake.sources()))

/**
 * The published results of the newest refresh, or of the one that a walk began in, which the same holds for; null
 * before the first.
 */
export async function resultsOf(ctx: Ctx, generation?: number, newest?: number): Promise<Published | null> {
  const served = await answered(() => ctx.lake.served(generation, newest))
  return (
    served && {
      ...guarded(served),
      of: (...asked) => answered(() => served.of(...asked)),
    }
  )
}

/** For the description of an insight. */
export const PAST_COUNTED = 'Of a brand ten a second are computed as of past instants.'

/** The marts of insights, for which the same holds. Of a past instant they are counted, as the insights of REST are. */
export const cdpMartsOf = async (ctx: Ctx, asOf: Date | undefined): Promise<Reader> => {
  if (asOf) await ctx.limit('insights of the past', INSIGHT_RATE)
  return guarded(await answered(() => martsOf(ctx, asOf)))
}

const guarded = ({ generation, rows }: Reader): Reader => ({
  generation,
  rows: (statement, values) => answered(() => rows(statement, values)),
})

async function answered<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Failure || isPassing(cause)) throw cause
    throw fail('upstream_error', 'It could not be evaluated. Try again with backoff.', { cause })
  }
}
