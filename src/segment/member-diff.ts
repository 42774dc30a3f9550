import { filesOf } from '../lake/manifest.ts'
import type { Session } from '../lake/session.ts'
import { type Duck, instant } from '../store/duckdb.ts'
import { amongSegments } from './among.ts'
import { memberCounts, memberRows, memberWords } from './dialect/duckdb/member-columns.ts'
import type { Evaluation, SegmentRow } from './evaluate.ts'
import { layoutOf, nameOf, type PublishedMembers, publishedWords, rowWords } from './member-words.ts'
import { OF_LAKE } from './members.ts'

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
 * Compares the members that were evaluated with `member_before`; when not `whole`, with `touched_before`. Leaves in the
 * session the table `member_diff (segment, customer, action)` and the view `members (segment, customer, joined_at)`, the
 * members from now on: segments that were not evaluated keep theirs.
 */
export async function diffMembers(
  { duck, manifest, isSmall }: Pick<Session, 'duck' | 'manifest' | 'isSmall'>,
  { evaluated, members }: Pick<Evaluation, 'evaluated' | 'members'>,
  changedAt: Date,
  whole: { published: PublishedMembers | null } | false,
): Promise<MemberChanges> {
  const before = whole ? 'member_before' : 'touched_before'
  const few = isSmall && whole ? members : null
  if (!few) await openMoved(duck, { evaluated, members }, before, whole ? whole.published : null)
  await duck.run(
    [
      ...(few
        ? differenceOfRows(memberRows(few), before, evaluated)
        : [
            `create table member_diff as
             select segment, customer, case when before.customer is null then 'entered' else 'exited' end as action
             from memberships_moved left join ${before} as before using (segment, customer)`,
          ]),
      `create view members as
       select segment, customer, joined_at from ${before} anti join member_diff using (segment, customer)
       union all
       select segment, customer, ${instant(changedAt)} as joined_at
       from member_diff where action = 'entered'`,
    ].join(';\n'),
  )
  const moved = await duck.rows<{ segment: number; came: number; moved: number }>(`
    select segment, sum(case action when 'entered' then 1 else -1 end)::bigint as came, count(*) as moved
    from member_diff group by segment`)
  const changes = moved.reduce((sum, each) => sum + each.moved, 0)
  const counts = whole
    ? await countMembers(duck, few ? countOf(NOW) : members ? memberCounts(members) : countOf('evaluated'))
    : countMoved(evaluated, moved)
  const base = filesOf(manifest, 'members')
  const folded = Math.max(0, ...base.map(({ tick_hi }) => tick_hi))
  const deltas = filesOf(manifest, 'member_changes').filter(({ tick_hi }) => tick_hi > folded)
  const baseRows = base.reduce((sum, { rows }) => sum + rows, 0)
  const sinceRows = deltas.reduce((sum, { rows }) => sum + rows, 0) + changes
  const fold =
    whole !== false && sinceRows > 0 && (deltas.length + 1 >= FOLD_FILES || sinceRows > FOLD_SHARE * baseRows)
  return { changes, counts, fold }
}

/**
 * `memberships_moved (segment, customer)`: memberships of the evaluated segments that are not what they were. Each is a bit
 * of its customer's words, there once before and once now where it holds, so that the words of both together have those
 * that moved: nearly all are grouped once and not joined, which took three times as long.
 */
async function openMoved(
  duck: Duck,
  { evaluated, members }: Pick<Evaluation, 'evaluated' | 'members'>,
  before: string,
  published: PublishedMembers | null,
): Promise<void> {
  if (evaluated.length === 0) {
    await duck.run('create table memberships_moved (segment integer, customer integer)')
    return
  }
  const ofPublished = published && (await publishedWords(duck, published, OF_LAKE, evaluated))
  const layout = ofPublished?.layout ?? layoutOf(evaluated)
  const words = [
    ...(ofPublished?.parts ?? [rowWords(before, layout)]),
    ...(members ? memberWords(members, layout) : [rowWords('evaluated', layout)]),
  ]
  const names = layout.words.map(nameOf)
  await duck.run(`
    create table members_differing as
    with words (${['customer', ...names].join(', ')}) as materialized (
      ${words.join('\n      union all\n      ')}
    )
    select customer, ${names.map((name) => `bit_xor(${name}) as ${name}`).join(', ')}
    from words
    group by customer
    having ${names.map((name) => `bit_xor(${name}) != 0`).join(' or ')}`)
  const moved = layout.words.map((word) => {
    const places = [...layout.places].flatMap(([ordinal, place]) =>
      place.word === word ? `(${Math.trunc(ordinal)}, ${place.mask})` : [],
    )
    return `select segment, customer
      from members_differing, (values ${places.join(', ')}) as places (segment, mask)
      where ${nameOf(word)} & mask != 0`
  })
  await duck.run(`create table memberships_moved as ${moved.join('\n    union all\n    ')}`)
}

/** Members of few rows. */
const NOW = 'members_found'

/** Of few rows a table of them is made and compared in half of the time that words take to be planned. */
const differenceOfRows = (rows: string, before: string, evaluated: readonly SegmentRow[]): string[] => [
  `create table ${NOW} as ${rows}`,
  `create table member_diff as
   select segment, customer, case when is_now then 'entered' else 'exited' end as action
   from (select *, true as is_now from ${NOW})
   full join (from ${before} where ${amongSegments(evaluated)}) as before using (segment, customer)
   where is_now is null or joined_at is null`,
]

const countOf = (rows: string): string => `select segment, count(*) as members from ${rows} group by segment`

/** Members by segment. */
async function countMembers(duck: Duck, counts: string): Promise<Map<number, number>> {
  const rows = await duck.rows<{ segment: number; members: number }>(counts)
  return new Map(rows.map(({ segment, members }) => [segment, members]))
}

/** What the last evaluation found, and who came and left since: to count all takes as long as to compare those. */
function countMoved(
  evaluated: readonly SegmentRow[],
  moved: readonly { segment: number; came: number }[],
): Map<number, number> {
  const counts = new Map(evaluated.map(({ ordinal, evaluated_count }) => [ordinal, evaluated_count]))
  for (const { segment, came } of moved) counts.set(segment, (counts.get(segment) ?? 0) + came)
  return counts
}
