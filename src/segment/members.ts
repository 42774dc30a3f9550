import { type Places, publishedRows } from '../lake/generation.ts'
import { filesOf } from '../lake/manifest.ts'
import type { Session } from '../lake/session.ts'
import { fileList } from '../lake/sources.ts'
import type { Duck } from '../store/duckdb.ts'
import type { SegmentRow } from './evaluate.ts'

/** Members are folded into a new base when the changes since reach this share of it, or this many files. */
const FOLD_SHARE = 0.25
const FOLD_FILES = 24

export interface MemberChanges {
  /** Rows of table `member_diff (segment, customer, action)`. */
  changes: number
  counts: Map<number, number>
  /** The changes are many enough to write the members anew. */
  fold: boolean
}

/**
 * Opens the members of the last generation: `member_before (segment, customer, joined_at)`, and all changes that led
 * there, `member_history (generation, segment, customer, action, reason, changed_at)`. For many reads what changed
 * since the base becomes a `table`.
 */
export async function openMembers(
  { duck, manifest }: Session,
  lakeDir: string,
  since: 'table' | 'view',
  named = 'member_before',
): Promise<void> {
  const base = filesOf(manifest, 'members')
  const changes = filesOf(manifest, 'member_changes')
  const folded = Math.max(0, ...base.map(({ tick_hi }) => tick_hi))
  const deltas = changes.filter(({ tick_hi }) => tick_hi > folded)
  await duck.run(
    base.length
      ? `create view member_base as select segment, customer, joined_at from read_parquet(${fileList(lakeDir, base)})`
      : 'create table member_base (segment integer, customer integer, joined_at timestamp)',
  )
  const columns = 'segment, customer, action, reason, changed_at'
  await duck.run(
    changes.length
      ? `create view member_history as
         select tick as generation, ${columns} from read_parquet(${fileList(lakeDir, changes)})`
      : `create table member_history (generation bigint, segment integer, customer integer,
         action varchar, reason varchar, changed_at timestamp)`,
  )
  await duck.run(
    deltas.length
      ? `create ${since} member_since as
         select segment, customer, action, changed_at from read_parquet(${fileList(lakeDir, deltas)})
         where tick > ${folded} qualify row_number() over (partition by segment, customer order by tick desc) = 1`
      : 'create table member_since (segment integer, customer integer, action varchar, changed_at timestamp)',
  )
  await duck.run(`
    create view ${named} as
    select segment, customer, joined_at from member_base anti join member_since using (segment, customer)
    union all
    select segment, customer, changed_at as joined_at from member_since where action = 'entered'`)
}

/** Members of the lake, beside those of a generation that is attached. */
const OF_LAKE = 'member_lake'
const COLUMNS = 'segment, customer, joined_at'

/**
 * The same where a generation is attached, whose files are read in a fifth of the time. They have no members who are gone
 * since, merged ones say: of all segments but those that the last refresh evaluated, `fresh`, such are still to leave.
 */
export async function openPublishedMembers(
  session: Session,
  lakeDir: string,
  fresh: readonly SegmentRow[],
): Promise<void> {
  await openMembers(session, lakeDir, 'view', OF_LAKE)
  const isFresh = isAmong(fresh)
  await session.duck.run(`
    create view member_before as
    select ${COLUMNS} from published.members where ${isFresh}
    union all
    select ${COLUMNS} from ${OF_LAKE} where not ${isFresh}`)
}

/**
 * Makes `touched_before`: `member_before` of the touched customers; who is gone only of segments that are evaluated now,
 * and were not by the last refresh, `stale`.
 */
export const openTouchedMembers = (duck: Duck, places: Places, stale: readonly SegmentRow[]): Promise<void> =>
  duck.run(`
    create table touched_before as
    select ${COLUMNS} from (${publishedRows(places, 'members', 'touched')}) where not ${isAmong(stale)}
    union all
    select ${COLUMNS} from ${OF_LAKE} semi join touched using (customer) where ${isAmong(stale)}`)

const isAmong = (segments: readonly SegmentRow[]) =>
  segments.length
    ? `(segment in (${segments.map(({ ordinal }) => Math.trunc(ordinal)).join(', ')}))`
    : 'false'

/**
 * Compares `evaluated` with `member_before`; when not `whole`, with `touched_before`. Leaves two tables
 * in the session: `member_diff (segment, customer, action)` and `members (segment, customer, joined_at)`, the members
 * from now on.
 */
export async function diffMembers(
  { duck, manifest }: Session,
  evaluated: readonly SegmentRow[],
  changedAt: Date,
  whole: boolean,
): Promise<MemberChanges> {
  const before = whole ? 'member_before' : 'touched_before'
  // Segments that were not evaluated keep their members.
  const ordinals = evaluated.map(({ ordinal }) => Math.trunc(ordinal)).join(', ') || '-1'
  // One join for both directions, by one key: two anti joins on segment and customer took twice as long.
  const keyed = (rows: string) => `(select *, segment * 4294967296 + customer as key from ${rows})`
  await duck.run(
    `create table members_compared as
    select coalesce(now.segment, before.segment) as segment, coalesce(now.customer, before.customer) as customer,
      coalesce(before.joined_at, $1::timestamp) as joined_at, before.key is not null as was,
      now.key is not null or before.segment not in (${ordinals}) as stays
    from ${keyed('evaluated')} as now full join ${keyed(before)} as before using (key)`,
    [changedAt],
  )
  await duck.run(`
    create table member_diff as
    select segment, customer, case when stays then 'entered' else 'exited' end as action
    from members_compared where was != stays`)
  await duck.run(`
    create view members as
    select segment, customer, joined_at from members_compared where stays`)
  // What the last evaluation found, and who came and left since: to count all takes as long as to compare those.
  const known = whole ? [] : evaluated.map(({ ordinal, member_count }) => [ordinal, member_count] as const)
  const counted = await duck.rows<{ segment: number; members: number; moved: number }>(
    whole
      ? `select segment, count_if(stays) as members, count_if(was != stays) as moved
         from members_compared group by segment`
      : `select segment, sum(case action when 'entered' then 1 else -1 end)::bigint as members, count(*) as moved
         from member_diff group by segment`,
  )
  const counts = new Map<number, number>(known)
  for (const { segment, members } of counted) counts.set(segment, (counts.get(segment) ?? 0) + members)
  const changes = counted.reduce((sum, { moved }) => sum + moved, 0)
  const base = filesOf(manifest, 'members')
  const folded = Math.max(0, ...base.map(({ tick_hi }) => tick_hi))
  const deltas = filesOf(manifest, 'member_changes').filter(({ tick_hi }) => tick_hi > folded)
  const baseRows = base.reduce((sum, { rows }) => sum + rows, 0)
  const sinceRows = deltas.reduce((sum, { rows }) => sum + rows, 0) + changes
  const fold =
    whole && sinceRows > 0 && (deltas.length + 1 >= FOLD_FILES || sinceRows > FOLD_SHARE * baseRows)
  return { changes, counts, fold }
}
