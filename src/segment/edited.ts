import { parseSaved } from './definition.ts'
import type { SegmentRow } from './evaluate.ts'
import { referencesOf } from './tree.ts'

/**
 * Whether a segment is evaluated of everyone, since members before say nothing of those of now: its rule is another, the
 * last evaluation failed, or there was none that says what it read.
 */
export const isEdited = ({
  version,
  evaluated_version,
  failed,
  every_minutes,
  evaluated_tick,
}: SegmentRow): boolean =>
  version !== evaluated_version || failed || (every_minutes !== null && evaluated_tick === null)

/** With more of the segments edited, all of them together are quicker. */
const MOST_EDITED = 0.5

/**
 * Ids of the segments that are evaluated of everyone by themselves, while of the others only what changed is looked at: the
 * edited ones, and whoever refers to them. None where there are none, or too many.
 */
export function editedOf(due: readonly SegmentRow[]): ReadonlySet<string> {
  const edited = withReferrers(due, isEdited)
  return edited.size > MOST_EDITED * due.length ? new Set() : edited
}

/** Ids of the segments that something is true of, and of those that refer to such, over however many others. */
export function withReferrers(
  segments: readonly SegmentRow[],
  isTrueOf: (segment: SegmentRow) => boolean,
): Set<string> {
  const found = new Set(segments.flatMap((segment) => (isTrueOf(segment) ? segment.id : [])))
  if (found.size === 0) return found
  const others = segments.map((segment) => ({ id: segment.id, to: referredBy(segment) }))
  let before = 0
  while (found.size > before) {
    before = found.size
    for (const { id, to } of others) if (to.some((other) => found.has(other))) found.add(id)
  }
  return found
}

/** None where its definition cannot be read: then it fails, and shows it. */
function referredBy(segment: SegmentRow): string[] {
  try {
    return referencesOf(parseSaved(segment)).map(({ segmentId }) => segmentId)
  } catch {
    return []
  }
}
