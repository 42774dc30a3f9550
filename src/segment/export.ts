import type { Reader } from '../op.ts'

/** A page of members as NDJSON. */
export interface ExportPage {
  lines: string
  /** Ordinal of the last one while there are more; else null. */
  next: number | null
}

export interface ExportAsked {
  /** Of the segment. */
  ordinal: number
  /** Ordinal of the customer after whom the page begins. */
  after: number
  limit: number
  shopDomain: string
}

/** Up to so many members of a segment in the order of their ordinals, one JSON object a line. */
export async function exportPage(
  served: Reader,
  { ordinal, after, limit, shopDomain }: ExportAsked,
): Promise<ExportPage> {
  const [page] = await served.rows<{ lines: string | null; last: number | null; more: boolean }>(EXPORT, [
    ordinal,
    after,
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
    select customer from members where segment = $1 and customer > $2::integer order by customer limit $3::bigint
  ),
  written as (
    select customer,
      concat(
        '{"id":', to_json(customer_id), ',"provenance":', to_json(provenance),
        ${member('email', 'to_json(email)')}, ${member('phoneNumber', 'to_json(phone)')},
        ${member('firstName', 'to_json(first_name)')}, ${member('lastName', 'to_json(last_name)')},
        case when store_customer_id is not null then ',"shopDomain":' || to_json($4::varchar) end,
        ${member('storeCustomerId', 'to_json(store_customer_id)')},
        case
          when coalesce(created_at, last_event_at) is not null
          then ',"properties":{' || ltrim(
            concat(${member('firstVisit', iso('created_at'))}, ${member('lastVisit', iso('last_event_at'))}), ','
          ) || '}'
        end,
        chr(125), chr(10)
      ) as line
    from page join customers using (customer)
  )
  select
    (select string_agg(line, '' order by customer) from written) as lines,
    (select max(customer) from page) as last,
    exists (
      select 1 from members where segment = $1 and customer > (select max(customer) from page)
    ) as more`
