import { type Places, publishedRows } from '../lake/generation.ts'
import { filesOf } from '../lake/manifest.ts'
import type { Session } from '../lake/session.ts'
import { fileList } from '../lake/sources.ts'
import type { Duck } from '../store/duckdb.ts'
import { amongSegments } from './among.ts'
import { type Place, placeOf } from './dialect/duckdb/bits.ts'
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
  const isFresh = amongSegments(fresh)
  await session.duck.run(`
    create view member_before as
    select ${COLUMNS} from published.members where ${isFresh}
    union all
    select ${COLUMNS} from ${OF_LAKE} where not ${isFresh}`)
}

/**
 * Makes `touched_before`: `member_before` of the touched customers. What is published has no members who are gone: of
 * segments that are evaluated now, and were not by the last refresh, `stale`, such are still to leave; and whoever a
 * merge gave back since a tick comes back with the memberships that no evaluation has ended.
 */
export async function openTouchedMembers(
  duck: Duck,
  places: Places,
  { stale, since }: { stale: readonly SegmentRow[]; since: number },
): Promise<void> {
  const back = `select subject from subject_redirect_changed where deleted and tick > ${Math.trunc(since)}`
  const [anyone] = await duck.rows(`${back} limit 1`)
  const ofLake = anyone ? `(${amongSegments(stale)} or customer in (${back}))` : amongSegments(stale)
  await duck.run(`
    create table touched_before as
    select ${COLUMNS} from (${publishedRows(places, 'members', 'touched')}) where not ${ofLake}
    union all
    select ${COLUMNS} from ${OF_LAKE} semi join touched using (customer) where ${ofLake}`)
}

/**
 * Compares `evaluated` with `member_before`; when not `whole`, with `touched_before`. Leaves in the session the table
 * `member_diff (segment, customer, action)` and the view `members (segment, customer, joined_at)`, the members from
 * now on.
 */
export async function diffMembers(
  { duck, manifest }: Session,
  evaluated: readonly SegmentRow[],
  changedAt: Date,
  whole: boolean,
): Promise<MemberChanges> {
  const before = whole ? 'member_before' : 'touched_before'
  await openDiffering(duck, evaluated, before)
  // Segments that were not evaluated keep their members.
  // One join for both directions, by one key: two anti joins on segment and customer took twice as long.
  const keyed = (rows: string) =>
    `(select *, segment * 4294967296 + customer as key from ${rows} semi join members_differing using (customer))`
  await duck.run(
    `create table members_compared as
    select coalesce(now.segment, before.segment) as segment, coalesce(now.customer, before.customer) as customer,
      coalesce(before.joined_at, $1::timestamp) as joined_at, before.key is not null as was,
      now.key is not null or not ${amongSegments(evaluated, 'before.segment')} as stays
    from ${keyed('evaluated')} as now full join ${keyed(before)} as before using (key)`,
    [changedAt],
  )
  await duck.run(`
    create table member_diff as
    select segment, customer, case when stays then 'entered' else 'exited' end as action
    from members_compared where was != stays`)
  await duck.run(`
    create view members as
    select ${COLUMNS} from members_compared where stays
    union all
    select ${COLUMNS} from ${before} anti join members_differing using (customer)`)
  const moved = await duck.rows<{ segment: number; came: number; moved: number }>(`
    select segment, sum(case action when 'entered' then 1 else -1 end)::bigint as came, count(*) as moved
    from member_diff group by segment`)
  const changes = moved.reduce((sum, each) => sum + each.moved, 0)
  const counts = whole ? await countEvaluated(duck) : countMoved(evaluated, moved)
  const base = filesOf(manifest, 'members')
  const folded = Math.max(0, ...base.map(({ tick_hi }) => tick_hi))
  const deltas = filesOf(manifest, 'member_changes').filter(({ tick_hi }) => tick_hi > folded)
  const baseRows = base.reduce((sum, { rows }) => sum + rows, 0)
  const sinceRows = deltas.reduce((sum, { rows }) => sum + rows, 0) + changes
  const fold =
    whole && sinceRows > 0 && (deltas.length + 1 >= FOLD_FILES || sinceRows > FOLD_SHARE * baseRows)
  return { changes, counts, fold }
}

/**
 * `members_differing (customer)`: whose memberships of the evaluated segments are not what they were. Each is a bit of a
 * customer's words, there once before and once now where it holds: the rows of those who stay as they are, nearly all,
 * are grouped once and not joined, which took three times as long.
 */
async function openDiffering(duck: Duck, evaluated: readonly SegmentRow[], before: string): Promise<void> {
  if (evaluated.length === 0) {
    await duck.run('create table members_differing (customer integer)')
    return
  }
  const places = evaluated.map((_, n) => placeOf(n))
  const words = [...new Set(places.map(({ word }) => word))]
  const bits = evaluated.map(({ ordinal }, n) => {
    const { word, mask } = places[n] as Place
    return `(${[Math.trunc(ordinal), ...words.map((each) => (each === word ? mask : 0))].join(', ')})`
  })
  const names = words.map((word) => `word_${word}`)
  await duck.run(`
    create table members_differing as
    with bits (${['segment', ...names].join(', ')}) as (values ${bits.join(', ')})
    select customer
    from (select segment, customer from evaluated union all select segment, customer from ${before})
      join bits using (segment)
    group by customer
    having ${names.map((name) => `bit_xor(${name}::bigint) != 0`).join(' or ')}`)
}

/** Members of the evaluated segments, of everyone. */
async function countEvaluated(duck: Duck): Promise<Map<number, number>> {
  const rows = await duck.rows<{ segment: number; members: number }>(
    'select segment, count(*) as members from evaluated group by segment',
  )
  return new Map(rows.map(({ segment, members }) => [segment, members]))
}

/** What the last evaluation found, and who came and left since: to count all takes as long as to compare those. */
function countMoved(
  evaluated: readonly SegmentRow[],
  moved: readonly { segment: number; came: number }[],
): Map<number, number> {
  const counts = new Map(evaluated.map(({ ordinal, member_count }) => [ordinal, member_count]))
  for (const { segment, came } of moved) counts.set(segment, (counts.get(segment) ?? 0) + came)
  return counts
}
