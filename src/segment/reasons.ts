import { laterFiles, type Manifest } from '../lake/manifest.ts'
import { tickOf } from './cadence.ts'
import { withReferrers } from './edited.ts'
import type { SegmentRow } from './evaluate.ts'

interface Since {
  refreshedTick: number
  /** Results are made with something else than before, so that every rule means something else. */
  isAnew: boolean
  manifest: Manifest
}

/**
 * Who entered and left as rows (segment, customer, action, reason), of `member_diff`. The reason is the first that is true
 * of rules (its own, or of a segment that it refers to), identity, data; else time has passed. A customer whom a browser was
 * found to belong to is no other for it. A segment that is evaluated for the first time had no members before, whatever
 * else changed.
 */
export function reasonsSql(
  evaluated: readonly SegmentRow[],
  { refreshedTick, isAnew, manifest }: Since,
): string {
  const changed = isAnew ? new Set(evaluated.map(({ id }) => id)) : redefined(evaluated)
  const rows = evaluated.map((segment) => {
    const { id, ordinal, evaluated_version } = segment
    const created = evaluated_version === null
    const reason = created ? `'segment_created'` : changed.has(id) ? `'definition_changed'` : 'null::varchar'
    return `(${Math.trunc(ordinal)}, ${reason}, ${tickOf(segment, refreshedTick)})`
  })
  const isRedirected = evaluated.some(
    (segment) => laterFiles(manifest, 'subject_redirect', tickOf(segment, refreshedTick)).length > 0,
  )
  return `
    select segment, member_diff.customer, action,
      coalesce(
        rules.reason,
        case
          ${isRedirected ? `when changed.redirected and joined.customer is null then 'merged'` : ''}
          when erased.subject is not null and action = 'exited' then 'erased'
          when changed.customer is not null then 'data_changed'
        end,
        'window_elapsed'
      ) as reason
    from member_diff
    join (values ${rows.join(', ')}) as rules (segment, reason, since) using (segment)
    left join changed_customers as changed
      on changed.customer = member_diff.customer and changed.since = rules.since
    ${isRedirected ? JOINED : ''}
    left join (from customers_gone where is_erased) as erased on erased.subject = member_diff.customer`
}

/** Whom visitors joined, and no customer, who was not joined to or taken from anybody either: they are who they were. */
const JOINED = `
    left join (
      select customer, since
      from (
        select since, unnest([
          { customer: moved.customer, is_visit: visitor.subject is not null and not moved.deleted },
          { customer: moved.subject, is_visit: false }
        ], recursive := true)
        from (select distinct since from changed_subjects where relation = 'subject_redirect') as spans
        join subject_redirect_changed as moved on moved.tick > spans.since
        left join (select subject from customers_source where provenance = 'pixel') as visitor using (subject)
      )
      group by customer, since
      having bool_and(is_visit)
    ) as joined on joined.customer = member_diff.customer and joined.since = rules.since`

/**
 * Segments with a new rule, and those that could not be evaluated the last time, since when what they refer to or are made
 * with may have changed; and those that refer to them: their members change by it.
 */
const redefined = (evaluated: readonly SegmentRow[]): Set<string> =>
  withReferrers(
    evaluated,
    ({ version, evaluated_version, failed }) => failed || evaluated_version !== version,
  )
