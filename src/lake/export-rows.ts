import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline as pipe } from 'node:stream/promises'
import { type Duck, literal } from '../store/duckdb.ts'
import { statement } from '../store/sqlfile.ts'
import { LINES_STRUCTURE } from './commerce-relations.ts'
import type { Pipeline } from './pipeline.ts'
import { columnsOf, RELATIONS, type RelationName } from './relations.ts'

/**
 * The rows of a mutable relation that changed in [from, below) as a DuckDB table with the relation's columns;
 * null when none did. A row that changed again since carries a later xid and comes with a later tick.
 */
export async function exportRows(
  pipeline: Pipeline,
  duck: Duck,
  folder: string,
  relation: RelationName,
  from: string,
  below: string,
  tick: number,
): Promise<string | null> {
  const path = join(folder, `${relation}.csv`)
  const select = statement('postgres', `export_${relation}`)
    .replaceAll('$1', digits(from))
    .replaceAll('$2', digits(below))
  const rows = await pipeline.postgres.sql.unsafe(`copy (${select}) to stdout (format csv)`).readable()
  await pipe(rows, createWriteStream(path, { highWaterMark: 1 << 20 }))

  const { columns } = RELATIONS[relation] as { columns: Record<string, readonly [string, string]> }
  const typed = Object.entries(columns).map(([name, [type]]) => `${castFromText(name, type)} as ${name}`)
  const table = `changed_${relation}`
  if ((await stat(path)).size === 0) return null
  await duck.run(
    `create table ${table} as
     select brand_id::uuid as brand_id, ${Math.trunc(tick)}::bigint as tick, ${typed.join(', ')}
     from read_csv(${literal(path)}, header = false, delim = ',', quote = '"', escape = '"', nullstr = '',
       allow_quoted_nulls = false, strict_mode = true, auto_detect = false, columns = {${csvColumns(relation)}}, max_line_size = 8388608, buffer_size = 16777216)`,
  )
  return table
}

// COPY takes no parameters: transaction ids are checked to be digits before they become text of it.
function digits(xid: string): string {
  if (!/^\d+$/.test(xid)) throw new Error(`not a transaction id: ${xid}`)
  return `'${xid}'`
}

const csvColumns = (relation: RelationName) =>
  columnsOf(relation)
    .filter((name) => name !== 'tick')
    .map((name) => `${name}: 'VARCHAR'`)
    .join(', ')

function castFromText(name: string, type: string): string {
  if (type === 'BOOLEAN') return `(${name} = 't')`
  // Lists and structs come as JSON.
  if (type.startsWith('STRUCT')) return `from_json(${name}, ${literal(LINES_STRUCTURE)})`
  return type.endsWith('[]') ? `${name}::json::${type}` : `${name}::${type}`
}
