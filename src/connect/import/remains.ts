import { identifier, literal } from '../../store/duckdb.ts'
import type { Column } from './read.ts'

/**
 * The values of a broken CSV row, counted from its first and from its last: a value too many or too few moves those behind
 * it. Open quotes swallow the lines that follow, each of which is looked at by itself.
 */
export function csvRemains(columns: readonly Column[]): string {
  const value = ({ name }: Column, at: number) =>
    `case when ${at + 1} + shift > 0 then fields[${at + 1} + shift] end as ${identifier(name)}`
  return `select n as __row, ${columns.map(value).join(', ')}
    from (
      select n, unnest([0, len(fields) - ${columns.length}]) as shift, list_transform(fields, lambda field:
        case when field ~ '^".+"$' then replace(field[2:-2], '""', '"') else field end) as fields
      from (
        select n, regexp_extract_all(delimiter || line, '[' || delimiter || ']("(?:[^"]|"")*"|[^' || delimiter || ']*)', 1) as fields
        from
          (select n, unnest(regexp_split_to_array(data, '[\\r\\n]+')) as line from broken),
          (select any_value(delimiter) as delimiter from reject_scans)
        where line <> ''
      )
    )`
}

const TEXT = '"(?:[^"\\\\]|\\\\.)*"'
const FIELD = `${TEXT}\\s*:\\s*(?:${TEXT}|-?\\d[0-9.eE+-]*|true|false|null)`

/** The plain values of a broken NDJSON line by their names, of each object if it holds several. */
export const ndjsonRemains = (structure: string): string => `select n as __row, object.*
  from (
    select n, json_transform('{' || array_to_string(list_filter(fields, lambda field: json_valid('{' || field || '}')), ',') || '}', ${structure}) as object
    from (
      select n, regexp_extract_all(unnest(regexp_split_to_array(data, '\\}\\s*\\{')), ${literal(FIELD)}) as fields
      from broken
    )
  )`
