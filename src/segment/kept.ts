import type { Duck } from '../store/duckdb.ts'
import { amongSome } from './among.ts'
import { OF_LAKE } from './members.ts'
import type { Way } from './way.ts'

/** A segment that was not evaluated, and so keeps its members. */
export interface Kept {
  ordinal: number
  /** Who was shown so far. */
  member_count: number
}

/**
 * How many members are shown of each of these segments: of what they keep not those who are gone, merged ones say, but whoever is
 * there again, whom a merge or the store gave back. Needs `members`; where not everyone's were computed, `touched_before`.
 */
export async function countKept(
  duck: Pick<Duck, 'rows'>,
  kept: readonly Kept[],
  { whole, carries }: Pick<Way, 'whole' | 'carries'>,
): Promise<Map<number, number>> {
  if (kept.length === 0) return new Map()
  const isKept = amongSome(kept)
  const isCounted = whole && !carries
  const rows = await duck.rows<{ segment: number; members: number }>(
    isCounted
      ? `select segment, count(*) as members from members semi join customers using (customer)
         where ${isKept} group by segment`
      : `select segment, sum(came)::bigint as members
         from ${carries ? OF_LAKE : 'touched_before'} join (${carries ? MOVED_OF_EVERYONE : MOVED}) using (customer)
         where ${isKept} group by segment`,
  )
  const found = new Map(rows.map(({ segment, members }) => [segment, members]))
  return new Map(
    kept.map(({ ordinal, member_count }) => [
      ordinal,
      (isCounted ? 0 : member_count) + (found.get(ordinal) ?? 0),
    ]),
  )
}

/** Touched customers who are there now and were not, 1, and who were and are not, -1. */
const moved = (now: string, before: string) => `
  select customer, 1 as came from ${now} anti join ${before} using (customer)
  union all
  select customer, -1 as came from ${before} anti join ${now} using (customer)`

const MOVED = moved('customers', 'customers_before')
const MOVED_OF_EVERYONE = moved(
  'customers_touched',
  '(from published.customers semi join touched using (customer))',
)
