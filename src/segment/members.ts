import { fileList } from '../lake/file-rows.ts'
import { type Places, publishedRows } from '../lake/generation.ts'
import { filesOf, type Manifest } from '../lake/manifest.ts'
import type { Session } from '../lake/session.ts'
import type { Duck } from '../store/duckdb.ts'
import { makeTable } from '../store/duckdb-table.ts'
import { amongSegments } from './among.ts'
import type { SegmentRow } from './evaluate.ts'

const COLUMNS = 'segment, customer, joined_at'

/**
 * Opens the members of the last generation: `member_before (segment, customer, joined_at)`. For many reads what changed
 * since the base becomes a `table`.
 */
export async function openMembers(
  { duck, manifest, lakeDir }: Session,
  since: 'table' | 'view',
  named = 'member_before',
): Promise<void> {
  const { base, folded, deltas } = memberFiles(manifest)
  await duck.run(
    [
      base.length
        ? `create view member_base as select ${COLUMNS} from read_parquet(${fileList(lakeDir, base)})`
        : 'create table member_base (segment integer, customer integer, joined_at timestamp)',
      deltas.length
        ? `create ${since} member_since as
           select segment, customer, action, changed_at from read_parquet(${fileList(lakeDir, deltas)})
           where tick > ${folded} qualify row_number() over (partition by segment, customer order by tick desc) = 1`
        : 'create table member_since (segment integer, customer integer, action varchar, changed_at timestamp)',
      `create view ${named} as
       select ${COLUMNS} from member_base anti join member_since using (segment, customer)
       union all
       select segment, customer, changed_at as joined_at from member_since where action = 'entered'`,
    ].join(';\n'),
  )
}

/** Opens all changes that led there: `member_history (generation, segment, customer, action, reason, changed_at)`. */
export async function openHistory({ duck, manifest, lakeDir }: Session): Promise<void> {
  const { changes } = memberFiles(manifest)
  const columns = 'segment, customer, action, reason, changed_at'
  await duck.run(
    changes.length
      ? `create view member_history as
         select tick as generation, ${columns} from read_parquet(${fileList(lakeDir, changes)})`
      : `create table member_history (generation bigint, segment integer, customer integer,
         action varchar, reason varchar, changed_at timestamp)`,
  )
}

function memberFiles(manifest: Manifest) {
  const base = filesOf(manifest, 'members')
  const changes = filesOf(manifest, 'member_changes')
  const folded = Math.max(0, ...base.map(({ tick_hi }) => tick_hi))
  return { base, folded, changes, deltas: changes.filter(({ tick_hi }) => tick_hi > folded) }
}

/** Members of the lake, beside those of a generation that is attached. */
export const OF_LAKE = 'member_lake'
/** The greatest customer who is, or was since the base, a member there. */
const GREATEST = 'member_greatest'

/**
 * The same where a generation is attached, whose files are read in a fifth of the time. They have no members who are gone
 * since, merged ones say: of all segments but those that the last refresh evaluated, `fresh`, such are still to leave.
 */
export async function openPublishedMembers(session: Session, fresh: readonly SegmentRow[]): Promise<void> {
  await openMembers(session, 'view', OF_LAKE)
  const { base, deltas } = memberFiles(session.manifest)
  // Of a file by itself the statistics have it.
  const files = [...base.map((file) => [file]), ...(deltas.length ? [deltas] : [])]
  const greatest = files.map(
    (each) => `select max(customer) as customer from read_parquet(${fileList(session.lakeDir, each)})`,
  )
  await session.duck.run(
    `create view ${GREATEST} as
     select max(customer) as customer from (${['select null::integer as customer', ...greatest].join(' union all ')})`,
  )
  const isFresh = amongSegments(fresh)
  await session.duck.run(`
    create view member_before as
    select ${COLUMNS} from published.members where ${isFresh}
    union all
    select ${COLUMNS} from ${OF_LAKE} where not ${isFresh}`)
}

/**
 * Makes `touched_before`: `member_before` of the touched customers. What is published has no members who are gone: of
 * segments that are evaluated now, and were not by the last refresh, `stale`, such are still to leave; and whoever is
 * there again, whom a merge or the store gave back, has the memberships that no evaluation has ended. Needs
 * `customers` of the touched, and `customers_before`.
 */
export async function openTouchedMembers(
  duck: Pick<Duck, 'run' | 'rows'>,
  places: Places,
  stale: readonly SegmentRow[],
): Promise<void> {
  const back = 'select customer from customers anti join customers_before using (customer)'
  const [added] = await duck.rows<{ first: number | null }>(`select min(customer) as first from (${back})`)
  const first = added?.first ?? null
  // Subjects are numbered as they come: whoever is new comes after all members.
  const [anyone] =
    first === null ? [] : await duck.rows(`from ${GREATEST} where customer >= ${Math.trunc(first)}`)
  const ofLake = anyone ? `(${amongSegments(stale)} or customer in (${back}))` : amongSegments(stale)
  await duck.run(`
    create table touched_before as
    select ${COLUMNS} from (${publishedRows(places, 'members', 'touched')}) where not ${ofLake}
    union all
    select ${COLUMNS} from ${OF_LAKE} semi join touched using (customer) where ${ofLake}`)
}

/** Makes `segment_ids (segment, segment_id)`. */
export const openSegmentIds = (
  duck: Pick<Duck, 'run' | 'connection'>,
  segments: readonly { ordinal: number; id: string }[],
): Promise<void> =>
  makeTable(
    duck,
    'segment_ids',
    { segment: 'INTEGER', segment_id: 'VARCHAR' },
    segments.map(({ ordinal, id }) => [ordinal, id]),
  )
