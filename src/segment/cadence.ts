import type { Pipeline } from '../lake/pipeline.ts'
import { isEdited } from './edited.ts'
import type { SegmentRow } from './evaluate.ts'

/** Half the time between two refreshes: a segment is evaluated in the one nearest to when its time has come. */
const SLACK_MS = 450_000

export interface Turns {
  /** Evaluated now. */
  due: SegmentRow[]
  /** Keep their members until their time comes. */
  waiting: SegmentRow[]
}

/**
 * Parts the segments of a brand by whose turn it is. `isAnew`: results are made with something else than data and time
 * that changed, so that earlier members say nothing. Otherwise those that `waits` is true of wait as well.
 */
export function turnsOf(
  segments: readonly SegmentRow[],
  asOf: Date,
  isAnew: boolean,
  waits: (segment: SegmentRow) => boolean = () => false,
): Turns {
  const turns: Turns = { due: [], waiting: [] }
  for (const segment of segments) {
    const at = dueAt(segment)
    const early = at !== null && asOf >= (segment.evaluated_at ?? asOf) && asOf.getTime() < at
    if ((early || waits(segment)) && !isAnew) turns.waiting.push(segment)
    else turns.due.push(segment)
  }
  return turns
}

/** Whose turn it is of a brand's active segments. */
export async function turnsNow(
  { postgres }: Pick<Pipeline, 'postgres'>,
  brandId: string,
  asOf: Date,
  isAnew: boolean,
  waits?: (segment: SegmentRow) => boolean,
): Promise<Turns> {
  const segments = await postgres.pipeline.many<SegmentRow>('segments_to_evaluate', [brandId])
  return turnsOf(segments, asOf, isAnew, waits)
}

/** When a segment's next turn comes, in milliseconds; null for those that are evaluated in every refresh. */
export const dueAt = ({
  every_minutes,
  evaluated_at,
}: Pick<SegmentRow, 'every_minutes' | 'evaluated_at'>): number | null =>
  every_minutes === null || evaluated_at === null
    ? null
    : evaluated_at.getTime() + every_minutes * 60_000 - SLACK_MS

/** Segments that the refresh of `asOf` left for a later one, with the instant from which it may come. */
export async function waitingAfter(
  { postgres }: Pick<Pipeline, 'postgres'>,
  brandId: string,
  asOf: Date,
): Promise<{ name: string; next_from: Date }[]> {
  const segments = await postgres.pipeline.many<
    Pick<SegmentRow, 'every_minutes' | 'evaluated_at'> & { name: string }
  >('segments_in_turn', [brandId])
  return segments.flatMap((segment) => {
    const at = dueAt(segment)
    const waits = at !== null && at > asOf.getTime() && (segment.evaluated_at ?? asOf) < asOf
    return waits ? [{ name: segment.name, next_from: new Date(at) }] : []
  })
}

/** Ticks and instants of the evaluations that the due segments go on from, the brand's last refresh first. */
export function goesOnFrom(
  brand: { refreshed_tick: number; as_of: Date | null },
  due: readonly SegmentRow[],
): { ticks: number[]; from: Date } {
  const seen = due.filter((segment) => !isEdited(segment))
  const ticks = seen.map((segment) => tickOf(segment, brand.refreshed_tick))
  const instants = seen.flatMap(({ evaluated_at }) => evaluated_at ?? [])
  return {
    ticks: [...new Set([brand.refreshed_tick, ...ticks])],
    from: new Date(Math.min(...[...instants, brand.as_of ?? Number.POSITIVE_INFINITY].map(Number))),
  }
}

/** The tick after which a segment has not seen the changes; where it is evaluated of everyone there are none. */
export const tickOf = (segment: SegmentRow, refreshed: number): number =>
  isEdited(segment) ? refreshed : Math.min(segment.evaluated_tick ?? refreshed, refreshed)

/** Whether a segment was evaluated by the brand's last refresh: what that published is what its members follow from. */
export const sawLast = (
  { evaluated_at, evaluated_tick }: SegmentRow,
  { refreshed_tick, as_of }: { refreshed_tick: number; as_of: Date | null },
): boolean =>
  evaluated_tick === refreshed_tick && evaluated_at !== null && as_of !== null && evaluated_at >= as_of
