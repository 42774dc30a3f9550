import type { Duck } from '../store/duckdb.ts'
import { tickOf } from './cadence.ts'
import type { SegmentRow } from './evaluate.ts'

/**
 * Why someone entered or left: the first that is true of rules, identity, data; else time has passed. A segment that
 * is evaluated for the first time had no members before, whatever else changed.
 */
export async function writeReasons(
  duck: Duck,
  evaluated: readonly SegmentRow[],
  refreshedTick: number,
): Promise<void> {
  const rows = evaluated.map((segment) => {
    const { ordinal, version, evaluated_version } = segment
    const created = evaluated_version === null
    const reason = created
      ? `'segment_created'`
      : evaluated_version === version
        ? 'null::varchar'
        : `'definition_changed'`
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
