import type { Reader } from '../op.ts'

/** Part of a segment: its members whose position is in a range, those up to `after` left out. */
export interface MemberRange {
  /** Of the segment. */
  ordinal: number
  /** Customer id; '' for the beginning. */
  after: string
  from: number
  to: number
}

const LAST = 2_147_483_647

/** What of `members` and `customers_placed` makes a page of a range ($1 to $4), to be ordered and limited. */
export const IN_RANGE = `
  from (select position, customer, joined_at from members where segment = $1 and position between $3 and $4) as members
  join (from customers_placed where position between $3 and $4) as customers using (customer)
  where customer_id > $2`
export const BY_ID = 'order by members.position, customer_id'

export const rangeValues = ({ ordinal, after, from, to }: MemberRange) => [ordinal, after, from, to]

/** Of a sparse segment each next look takes so many times more positions. */
const WIDER = 4

/**
 * The positions that hold the next `count` members after a customer id: a few blocks of the files, whatever the size of
 * the segment. Positions are places in the base by id; customers who are new since share that of the one before them.
 */
export async function memberRange(
  served: Reader,
  { ordinal, after, count }: { ordinal: number; after: string; count: number },
): Promise<MemberRange> {
  const from = after === '' ? 0 : await positionOf(served, after)
  let [begun, start, missing, span] = [after as string | null, from, count, 2 * count]
  for (;;) {
    const [found] = await served.rows<{ members: number; nth: number | null; ended: boolean }>(BOUNDS, [
      ...[ordinal, start, Math.min(start + span, LAST), begun, missing - 1],
    ])
    if (!found || found.nth !== null || found.ended) return { ordinal, after, from, to: found?.nth ?? LAST }
    begun = null
    missing -= found.members
    start += span
    span *= WIDER
  }
}

/** Members of the base who hold still and what changed since; at the first position only those after an id. */
const BOUNDS = `
  with found as (
    select position
    from (from base_members where segment = $1 and position > $2 and position <= $3)
    anti join changes.replaced using (customer)
    union all
    select members.position
    from (from changes.members where segment = $1 and position >= $2 and position <= $3) as members
    join changes.customers using (customer)
    where members.position > $2 or customer_id > $4
  )
  select count(*) as members, (select position from found order by position limit 1 offset $5) as nth,
    $3 > (select coalesce(max(position), 0) from customer_marks) + 1024 as ended
  from found`

/** Place of the last customer of the base whose id is not greater. */
async function positionOf(served: Reader, customerId: string): Promise<number> {
  const [mark] = await served.rows<{ first: number; next: number }>(
    `select coalesce(max(position) filter (where customer_id <= $1), 0) as first,
       coalesce(min(position) filter (where customer_id > $1), ${LAST}) as next
     from customer_marks`,
    [customerId],
  )
  const [place] = await served.rows<{ position: number }>(
    `select coalesce(max(position), 0) as position from base.customers
     where position >= $1 and position < $2 and customer_id <= $3`,
    [mark?.first ?? 0, mark?.next ?? LAST, customerId],
  )
  return place?.position ?? 0
}
