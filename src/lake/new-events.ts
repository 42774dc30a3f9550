import { literal } from '../store/duckdb.ts'
import { EVENT_PROPERTIES } from './relations.ts'

/**
 * The lines that become events as table `new_lines`, with the relation's columns but those of EVENT_PROPERTIES.
 * `bucketBits`: as `places` has them. A cast of the ids of each line took a tenth of the time, an asof join with the
 * batches a quarter.
 */
export const newLines = (tick: number, bucketBits: number): string => `
  create table new_lines as
  with named as (
    -- An identity begins with its brand.
    select identity, left(identity, 36)::uuid as brand, nullif(subject, 0) as subject from subjects
  ),
  batches as (select * replace (batch_id::uuid as batch_id) from places)
  select
    brand as brand_id, ${Math.trunc(tick)}::bigint as tick, batch_id, (n - first_line)::integer as line,
    coalesce(event_id, batch_id || '-' || (n - first_line)) as event_id, received_at, occurred_at, event_type, subject,
    properties, by_browser
  from kept
  join batches on bucket = n >> ${Math.trunc(bucketBits)} and n >= first_line and n <= last_line
  join named using (identity)`

/** Property names whose values identify a person: they live in the customers relation only. */
export const IDENTIFYING: readonly string[] = [
  'email',
  'phone',
  'phoneNumber',
  'first_name',
  'last_name',
  'firstName',
  'lastName',
  'name',
  'address',
]
const WANTED = [...Object.keys(EVENT_PROPERTIES), ...IDENTIFYING]
const STRUCTURE = JSON.stringify(Object.fromEntries(WANTED.map((name) => [name, 'VARCHAR'])))
const PATCH = JSON.stringify(Object.fromEntries(IDENTIFYING.map((name) => [name, null])))

const castSql = (value: string, type: string) => `try_cast(${value} as ${type})`

/** Units are whole numbers, as their published types say, and not rounded: 1.5 and -1 are missing as `x` is. */
const wholeSql = (value: string, type: string) =>
  `case when try_cast(${value} as double) >= 0 and try_cast(${value} as double) % 1 = 0 then ${castSql(value, type)} end`

/**
 * Rows of `new_lines`, in their order, as rows of the relation. Rows are sorted and copied without their properties'
 * columns, which are mostly NULL: with them both took a quarter longer, and four times the memory.
 */
export function asEvents(rows: string): string {
  const typed = Object.entries(EVENT_PROPERTIES).map(([name, [type]]) =>
    type === 'VARCHAR'
      ? `given.${name}`
      : `${(type === 'INTEGER' ? wholeSql : castSql)(`given.${name}`, type)} as ${name}`,
  )
  // json_transform is twice as fast as a list of paths, and names the identifying ones in the same pass.
  return `
    select
      * exclude (given, properties), ${typed.join(', ')},
      case
        when coalesce(${IDENTIFYING.map((name) => `given.${name}`).join(', ')}) is not null
        then json_merge_patch(properties, ${literal(PATCH)})
        else properties
      end as properties
    from (select *, json_transform(properties, ${literal(STRUCTURE)}) as given from ${rows})`
}
