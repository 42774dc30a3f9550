import type { Duck } from '../store/duckdb.ts'
import { tickOf } from './cadence.ts'
import { parseSaved } from './definition.ts'
import type { SegmentRow } from './evaluate.ts'
import { referencesOf } from './tree.ts'

/**
 * Why someone entered or left: the first that is true of rules (its own, or of a segment that it refers to), identity,
 * data; else time has passed. A segment that is evaluated for the first time had no members before, whatever else changed.
 * `isAnew`: results are made with something else than before, so that every rule means something else.
 */
export async function writeReasons(
  duck: Pick<Duck, 'run'>,
  evaluated: readonly SegmentRow[],
  refreshedTick: number,
  isAnew: boolean,
): Promise<void> {
  const changed = isAnew ? new Set(evaluated.map(({ id }) => id)) : redefined(evaluated)
  const rows = evaluated.map((segment) => {
    const { id, ordinal, evaluated_version } = segment
    const created = evaluated_version === null
    const reason = created ? `'segment_created'` : changed.has(id) ? `'definition_changed'` : 'null::varchar'
    return `(${Math.trunc(ordinal)}, ${reason}, ${tickOf(segment, refreshedTick)})`
  })
  await duck.run(
    `create table segment_reasons as from (values ${rows.join(', ')}) as reasons (segment, reason, since)`,
  )
  await duck.run(`
    create table member_reasons as
    select segment, member_diff.customer, action,
      coalesce(
        segment_reasons.reason,
        case
          when changed.merged then 'merged'
          when erased.subject is not null and action = 'exited' then 'erased'
          when changed.customer is not null then 'data_changed'
        end,
        'window_elapsed'
      ) as reason
    from member_diff
    join segment_reasons using (segment)
    left join changed_customers as changed
      on changed.customer = member_diff.customer and changed.since = segment_reasons.since
    left join customers_erased as erased on erased.subject = member_diff.customer`)
}

/** Segments with a new rule, and those that refer to them, over however many others: their members change by it. */
function redefined(evaluated: readonly SegmentRow[]): Set<string> {
  const found = new Set(
    evaluated.flatMap(({ id, version, evaluated_version }) =>
      evaluated_version === null || evaluated_version === version ? [] : [id],
    ),
  )
  if (found.size === 0) return found
  const others = evaluated.map((segment) => ({ id: segment.id, to: referencesOf(parseSaved(segment)) }))
  let before = 0
  while (found.size > before) {
    before = found.size
    for (const { id, to } of others) if (to.some(({ segmentId }) => found.has(segmentId))) found.add(id)
  }
  return found
}
