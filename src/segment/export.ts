import type { Reader } from '../op.ts'
import { BY_ID, IN_RANGE, memberRange, rangeValues } from './member-page.ts'

/** A page of members as NDJSON. */
export interface ExportPage {
  lines: string
  /** Customer id of the last one while there are more; else null. */
  next: string | null
}

export interface ExportAsked {
  /** Of the segment. */
  ordinal: number
  /** Customer id after which the page begins; '' for the first page. */
  after: string
  limit: number
  shopDomain: string
}

/** Up to so many members of a segment in the order of their ids, one JSON object a line. */
export async function exportPage(
  served: Reader,
  { ordinal, after, limit, shopDomain }: ExportAsked,
): Promise<ExportPage> {
  const range = await memberRange(served, { ordinal, after, count: limit + 1 })
  const [page] = await served.rows<{ lines: string | null; last: string | null; more: boolean }>(EXPORT, [
    ...rangeValues(range),
    limit,
    shopDomain,
  ])
  return { lines: page?.lines ?? '', next: page?.more ? page.last : null }
}

/** `,"name":value`, or nothing for what is not known: concat leaves NULLs out. */
const member = (name: string, json: string) => `',"${name}":' || ${json}`
const iso = (column: string) => `strftime(${column}, '"%Y-%m-%dT%H:%M:%S.%gZ"')`

/** DuckDB writes the text of a page in one piece: as rows of columns, 10,000 lines would cost Node tens of milliseconds. */
const EXPORT = `
  with page as (
    select customers.*, row_number() over (${BY_ID}) as n ${IN_RANGE} ${BY_ID} limit $5::bigint + 1
  ),
  written as (
    select n, customer_id,
      concat(
        '{"id":', to_json(customer_id), ',"provenance":', to_json(provenance),
        ${member('email', 'to_json(email)')}, ${member('phoneNumber', 'to_json(phone)')},
        ${member('firstName', 'to_json(first_name)')}, ${member('lastName', 'to_json(last_name)')},
        case when store_customer_id is not null then ',"shopDomain":' || to_json($6::varchar) end,
        ${member('storeCustomerId', 'to_json(store_customer_id)')},
        case
          when coalesce(created_at, last_event_at) is not null
          then ',"properties":{' || ltrim(
            concat(${member('firstVisit', iso('created_at'))}, ${member('lastVisit', iso('last_event_at'))}), ','
          ) || '}'
        end,
        chr(125), chr(10)
      ) as line
    from page where n <= $5::bigint
  )
  select string_agg(line, '' order by n) as lines, arg_max(customer_id, n) as last,
    (select count(*) from page) > $5::bigint as more
  from written`
