import type { Reader } from '../op.ts'
import { byBytes } from '../store/duckdb-text.ts'

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

/**
 * Members in a range ($1 to $4) with their customers, to be ordered and limited. Positions find those of the base and
 * whom changes replaced: the views over both would look at all that changed.
 */
export const IN_RANGE = `
  from (
    from (select position, joined_at from base_members where segment = $1 and position between $3 and $4)
    join (from base.customers where position between $3 and $4) using (position)
    anti join (from replaced_positions where position between $3 and $4) using (position)
    union all by name
    from (select customer, joined_at from changes.members where segment = $1 and position between $3 and $4)
    join changes.customers using (customer)
  )
  where customer_id > $2`
export const BY_ID = 'order by position, customer_id'

export const rangeValues = ({ ordinal, after, from, to }: MemberRange) => [ordinal, after, from, to]

/** Whom a page begins after; the position, when it is known, saves looking for it in the generation that it is of. */
export interface MemberPlace {
  /** Customer id; '' for the beginning. */
  after: string
  position?: number | undefined
}

/** Where a walk goes on: its place in the generation that it began in, while that is kept, else after the same customer. */
export interface MemberPosition extends MemberPlace {
  generation: number
}

/** The place of a cursor in the generation that is read. */
export const placeIn = (served: Reader, from: MemberPosition | null): MemberPlace => ({
  after: from?.after ?? '',
  position: from?.generation === served.generation ? from.position : undefined,
})

export interface MemberRow {
  customer: number
  customer_id: string
  email: string | null
  phone: string | null
  joined_at: Date
  position: number
}

/** Up to `count` members of a segment in the order of their ids. */
export async function memberPage(
  served: Reader,
  asked: MemberPlace & { ordinal: number; count: number },
): Promise<MemberRow[]> {
  const [page] = await served.rows<Page>(PAGE, rangeValues(await memberRange(served, asked)))
  const columns = Object.entries(page ?? {}).map(([name, list]) => [name, JSON.parse(list ?? '[]')] as const)
  const { joined_at: joined, ...others } = Object.fromEntries(columns) as Columns
  const rows = joined.map((at, n) => ({
    customer: others.customer[n] as number,
    customer_id: others.customer_id[n] as string,
    email: others.email[n] ?? null,
    phone: others.phone[n] ?? null,
    joined_at: new Date(at),
    position: others.position[n] as number,
  }))
  return rows.sort(byId).slice(0, asked.count)
}

type Page = Record<keyof MemberRow, string | null>
type Columns = { [Name in keyof Omit<MemberRow, 'joined_at'>]: MemberRow[Name][] } & { joined_at: number[] }

/** As BY_ID orders. */
const byId = (one: MemberRow, other: MemberRow) =>
  one.position - other.position || byBytes(one.customer_id, other.customer_id)

/**
 * Column by column as JSON: to get each of 25,000 values from DuckDB takes Node as long as to find them. Most rows come
 * in order, so that Node orders them in a tenth of the time.
 */
const PAGE = `
  with page as (
    select customer, customer_id, email, phone, epoch_ms(joined_at) as joined_at, position ${IN_RANGE}
  )
  select ${['customer', 'customer_id', 'email', 'phone', 'joined_at', 'position']
    .map((name) => `to_json(list(${name}))::varchar as ${name}`)
    .join(', ')}
  from page`

/** Of a sparse segment each next look takes so many times more positions. */
const WIDER = 4

/**
 * The positions that hold the next `count` members after a customer id: a few blocks of the files, whatever the size of
 * the segment. Positions are places in the base by id; customers who are new since share that of the one before them.
 */
export async function memberRange(
  served: Reader,
  { ordinal, after, position, count }: MemberPlace & { ordinal: number; count: number },
): Promise<MemberRange> {
  const from = position ?? (after === '' ? 0 : await positionOf(served, after))
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
    anti join (from replaced_positions where position > $2 and position <= $3) using (position)
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
export async function positionOf(served: Reader, customerId: string): Promise<number> {
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
