import { parseSaved } from './definition.ts'
import type { SegmentRow } from './evaluate.ts'
import { referencesOf } from './tree.ts'

/** Why the members of all customers are computed, although their marts can be carried on; null when they need not be. */
export function whyEveryone(segments: readonly SegmentRow[]): string | null {
  if (segments.some(({ version, evaluated_version }) => version !== evaluated_version)) return 'definitions'
  if (segments.some(({ failed }) => failed)) return 'failure'
  if (segments.some(({ every_minutes, evaluated_tick }) => every_minutes !== null && evaluated_tick === null))
    return 'built in'
  return null
}

/** With more of the segments edited, all of them together are quicker. */
const MOST_EDITED = 0.5

/**
 * Ids of the segments that are evaluated of everyone by themselves, while of the others only what changed is looked at:
 * those that members before say nothing of, and whoever refers to them. None where they are none, or too many.
 */
export function editedOf(due: readonly SegmentRow[]): ReadonlySet<string> {
  const edited = withReferrers(due, (segment) => whyEveryone([segment]) !== null)
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
