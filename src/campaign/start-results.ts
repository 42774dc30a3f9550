import { errorFields, log } from '../log.ts'
import type { Reader } from '../op.ts'
import { statement } from '../store/sqlfile.ts'
import { messageBrand } from './message-brand.ts'
import type { Occurrence } from './occurrence.ts'
import type { RunnerParts } from './runner.ts'
import { campaignsTriggered, isOfSegment, startRuns } from './starter.ts'

interface DueBrand {
  brand_id: string
  generation: number
  as_of: Date
  /** Its members were searched until this one. */
  searched_generation: number
  /** When the first of its campaigns began to wait. */
  awaited_since: Date
  /** What follows from the passing of time was searched until then, or nobody waited for it. */
  since: Date
  /** The brand's median days between orders then. */
  usual_days: number | null
}

/** Runs of one transaction. */
const MOST = 2_000
/** Entries of segments that are read at once: some 30 MB. After an import there are millions. */
const PAGE_ROWS = 100_000
/** Usual days of a brand of which nobody has ordered twice. */
const NOBODY_AT_RISK = Number.POSITIVE_INFINITY
/** Somebody who looked at a product and did nothing more for so long is gone. */
const AWAY_MINUTES = 60

export interface ResultParts extends Pick<RunnerParts, 'postgres' | 'lake'> {
  pageRows?: number
}

/**
 * Starts the campaigns that wait for what refreshes find: products that were looked at and left, customers who become at
 * risk, members of segments. What was searched before is not searched again. Resolves with how many runs were made.
 */
export async function startByResults(
  { postgres, lake, pageRows = PAGE_ROWS }: ResultParts,
  now: () => Date,
  signal?: AbortSignal,
): Promise<number> {
  let made = 0
  for (const due of await postgres.pipeline.many<DueBrand>('trigger_results_due')) {
    if (signal?.aborted) break
    try {
      const db = postgres.forBrand(due.brand_id)
      const { brand } = await messageBrand(db)
      const reader = await lake(brand).sources(due.as_of, due.generation)
      const awaited = await awaitedOf(postgres, due)
      for await (const found of occurrencesOf(reader, due, awaited, pageRows))
        made += await db.tx((tx) => startRuns(tx, found, now()))
      const [usual] = await reader.rows<{ days: number | null }>(statement('duckdb', 'usual_days'))
      // Last: a worker that dies before it finds the same occurrences again, which start nothing twice.
      await db.run('trigger_cursor_advance', [due.generation, due.as_of, usual?.days ?? NOBODY_AT_RISK])
    } catch (error) {
      if (signal?.aborted) throw error
      log('error', 'triggers_failed', { brand_id: due.brand_id, ...errorFields(error) })
    }
  }
  return made
}

/** What refreshes find out. */
export const RESULT_TRIGGERS = ['segment_entered', 'customer_winback', 'browse_abandoned'] as const

/** What active campaigns wait for: all else is not searched. */
interface Awaited {
  /** Ids of the segments that they name. */
  segments: string[]
  winbacks: boolean
  browsed: boolean
}

async function awaitedOf(
  postgres: RunnerParts['postgres'],
  { brand_id: brandId, as_of: at }: DueBrand,
): Promise<Awaited> {
  const campaigns = await campaignsTriggered(postgres.forBrand(brandId), RESULT_TRIGGERS)
  const [ofSegments = [], ofWinbacks = [], ofBrowsed = []] = RESULT_TRIGGERS.map((trigger) =>
    campaigns.filter(
      ({ trigger_event, formerly }) =>
        trigger_event === trigger || formerly.some(({ type }) => type === trigger),
    ),
  )
  const segments =
    ofSegments.length > 0 ? await postgres.pipeline.many<{ id: string }>('segment_ordinals', [brandId]) : []
  const isNamed = (segment_id: string) =>
    ofSegments.some((campaign) => isOfSegment(campaign, { segment_id }, at))
  return {
    segments: segments.map(({ id }) => id).filter(isNamed),
    winbacks: ofWinbacks.length > 0,
    browsed: ofBrowsed.length > 0,
  }
}

/** As many at a time as one transaction takes. */
async function* occurrencesOf(
  reader: Reader,
  due: DueBrand,
  awaited: Awaited,
  pageRows: number,
): AsyncGenerator<Occurrence[]> {
  if (awaited.segments.length > 0) yield* segmentsEntered(reader, due, awaited.segments, pageRows)
  if (awaited.winbacks) yield* winbacks(reader, due)
  if (awaited.browsed) yield* browsed(reader, due)
}

function* inParts<Row>(
  rows: readonly Row[],
  occurrenceOf: (row: Row) => Occurrence,
): Generator<Occurrence[]> {
  for (let at = 0; at < rows.length; at += MOST) yield rows.slice(at, at + MOST).map(occurrenceOf)
}

interface Found {
  customer: number
  customer_id: string
  at: Date
}

const told = (trigger: string, { customer, at }: Pick<Found, 'customer' | 'at'>) => ({
  trigger,
  providerId: null,
  definitionId: null,
  eventId: null,
  subject: customer,
  at,
})

interface Entered extends Found {
  /** Who entered; `customer` is who they are now. */
  subject: number
  segment_id: string
  generation: number
}

const BEFORE_ALL: Pick<Entered, 'subject' | 'segment_id' | 'generation'> = {
  ...{ subject: -1, segment_id: '', generation: 0 },
}

async function* segmentsEntered(
  reader: Reader,
  due: DueBrand,
  segments: readonly string[],
  pageRows: number,
): AsyncGenerator<Occurrence[]> {
  const window = [due.searched_generation, due.generation, due.awaited_since, due.since]
  for (let last: typeof BEFORE_ALL | undefined = BEFORE_ALL; last; ) {
    const { subject, segment_id, generation }: typeof BEFORE_ALL = last
    const rows: Entered[] = await reader.rows<Entered>(statement('duckdb', 'trigger_segments'), [
      ...[...window, JSON.stringify(segments)],
      ...[subject, segment_id, generation, pageRows],
    ])
    yield* inParts(rows, entered)
    last = rows.length < pageRows ? undefined : rows.at(-1)
  }
}

const entered = (row: Entered): Occurrence => ({
  ...told('segment_entered', row),
  key: `segment_entered:${row.segment_id}:${row.customer_id}:${row.generation}`,
  source: { kind: 'segment', id: row.segment_id },
  facts: { segment_id: row.segment_id },
})

async function* winbacks(reader: Reader, { since, usual_days }: DueBrand): AsyncGenerator<Occurrence[]> {
  const rows = await reader.rows<
    Found & { days_since_last_order: number; at_risk_score: number; last_order_day: string }
  >(statement('duckdb', 'trigger_winback'), [since, usual_days])
  yield* inParts(rows, (row) => ({
    ...told('customer_winback', row),
    key: `customer_winback:${row.customer_id}:${row.last_order_day}`,
    source: { kind: 'customer', id: row.customer_id },
    facts: { days_since_last_order: row.days_since_last_order, at_risk_score: row.at_risk_score },
  }))
}

interface Viewed extends Found {
  day: string
  product_id: string
  /** As the catalog has it. */
  title: string | null
}

async function* browsed(reader: Reader, { since, as_of }: DueBrand): AsyncGenerator<Occurrence[]> {
  const rows = await reader.rows<Viewed & Record<string, string | null>>(
    statement('duckdb', 'trigger_browse'),
    [since, as_of, AWAY_MINUTES],
  )
  yield* inParts(rows, ({ customer, customer_id, at, day, title, ...said }) => ({
    ...told('browse_abandoned', { customer, at }),
    key: `browse_abandoned:${customer_id}:${said.product_id}:${day}`,
    source: { kind: 'customer', id: customer_id },
    facts: {
      ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null)),
      ...(title !== null && { product_title: title }),
      in_catalog: title !== null,
    },
  }))
}
