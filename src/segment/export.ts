import { isTooMuch } from '../lake/too-much.ts'
import type { Db, Reader } from '../op.ts'
import { BY_ID, IN_RANGE, type MemberPlace, memberRange, rangeValues } from './member-page.ts'

/** A page of members as NDJSON. */
export interface ExportPage {
  lines: string
  /** The last one while there are more; else null. */
  next: MemberPlace | null
}

export interface ExportAsked extends MemberPlace {
  /** Of the segment. */
  ordinal: number
  limit: number
  shopDomain: string
}

/** Up to so many members of a segment in the order of their ids, one JSON object a line. */
export async function exportPage(
  served: Reader,
  db: Pick<Db, 'many'>,
  asked: ExportAsked,
): Promise<ExportPage> {
  const page = await writtenPage(served, asked)
  return {
    lines: await withMergeIdentifiers(page?.lines ?? '', db),
    next: page?.more ? { after: page.after, position: page.position } : null,
  }
}

/** Half as many where what events set on them takes more memory than a request may have: anybody can send much. */
async function writtenPage(
  served: Reader,
  { limit, shopDomain, ...asked }: ExportAsked,
): Promise<Written | undefined> {
  for (let lines = limit; ; lines = Math.ceil(lines / 2)) {
    // Outside: what opening the generation takes no shorter page spares.
    const range = await memberRange(served, { ...asked, count: lines + 1 })
    try {
      const [page] = await served.rows<Written>(EXPORT, [...rangeValues(range), lines, shopDomain])
      return page
    } catch (error) {
      if (lines === 1 || !isTooMuch(error)) throw error
    }
  }
}

/** No text can look like it: in JSON a quote is written with a backslash. */
const MERGED = /,"mergeIdentifier":(\d+)/g

/** What profiles were merged by is in Postgres; lines are written with the ordinal of the customer in its place. */
async function withMergeIdentifiers(lines: string, db: Pick<Db, 'many'>): Promise<string> {
  const merged = Array.from(lines.matchAll(MERGED), ([, customer]) => Number(customer))
  if (merged.length === 0) return lines
  const found = await db.many<{ customer: number; value: string }>('merge_identifiers', [merged])
  const values = new Map(found.map(({ customer, value }) => [customer, value]))
  return lines.replace(MERGED, (_, customer) => {
    const value = values.get(Number(customer))
    return value === undefined ? '' : `,"mergeIdentifier":${JSON.stringify(value)}`
  })
}

interface Written {
  lines: string | null
  after: string
  position: number
  more: boolean
}

/** `,"name":value`, or nothing for what is not known: concat leaves NULLs out. */
const member = (name: string, json: string) => `',"${name}":' || ${json}`
const iso = (column: string) => `strftime(${column}, '"%Y-%m-%dT%H:%M:%S.%gZ"')`

/** Where somebody lives, as events set it on the profile. */
const PLACE = ['city', 'countryName', 'zipCode']
/** Characters of each: no name of a place is longer. */
const MOST_SHOWN = 200
const paths = `[${PLACE.map((name) => `'$.${name}'`).join(', ')}]`

/** DuckDB writes the text of a page in one piece: as rows of columns, 10,000 lines would cost Node tens of milliseconds. */
const EXPORT = `
  with page as (
    select *, row_number() over (${BY_ID}) as n ${IN_RANGE} ${BY_ID} limit $5::bigint + 1
  ),
  place as (
    select customer, list_transform(
      ${paths}, lambda path: case when json_type(properties, path) not in ('ARRAY', 'OBJECT') then left(properties ->> path, ${MOST_SHOWN}) end
    ) as place
    from page join profile_properties using (customer)
  ),
  written as (
    select n, customer_id, position,
      concat(
        '{"id":', to_json(customer_id), ',"provenance":', to_json(provenance),
        ${member('email', 'to_json(email)')}, ${member('phoneNumber', 'to_json(phone)')},
        ${member('firstName', 'to_json(first_name)')}, ${member('lastName', 'to_json(last_name)')},
        ${PLACE.map((name, n) => member(name, `to_json(place[${n + 1}])`)).join(', ')},
        case when store_customer_id is not null then ',"shopDomain":' || to_json($6::varchar) end,
        ${member('storeCustomerId', 'to_json(store_customer_id)')},
        ${member('mergeIdentifier', "case when provenance = 'merged' then customer end")},
        case
          when coalesce(created_at, last_event_at) is not null
          then ',"properties":{' || ltrim(
            concat(${member('firstVisit', iso('created_at'))}, ${member('lastVisit', iso('last_event_at'))}), ','
          ) || '}'
        end,
        chr(125), chr(10)
      ) as line
    from page left join place using (customer) where n <= $5::bigint
  )
  select string_agg(line, '' order by n) as lines, arg_max(customer_id, n) as after, max(position) as position,
    (select count(*) from page) > $5::bigint as more
  from written`
