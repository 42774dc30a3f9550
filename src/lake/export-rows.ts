import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline as pipe } from 'node:stream/promises'
import { log } from '../log.ts'
import { type Duck, literal } from '../store/duckdb.ts'
import { statement } from '../store/sqlfile.ts'
import { LINES_STRUCTURE } from './commerce-relations.ts'
import { columnsAsOf } from './file-rows.ts'
import { LineFile } from './line-file.ts'
import type { Pipeline } from './pipeline.ts'
import { isRefusal, refusedLines } from './refused-lines.ts'
import type { Relation } from './relation.ts'
import { columnsOf, RELATIONS, type RelationName } from './relations.ts'

/** A row longer than this is left out, and the lake keeps the version it has: it would hold up the ticks of all brands. */
const LONGEST_ROW = 32 << 20
const LONG_ROW = 4 << 20

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
  const path = join(folder, `${relation}.txt`)
  const select = statement('postgres', `export_${relation}`)
    .replaceAll('$1', digits(from))
    .replaceAll('$2', digits(below))
  const rows = await pipeline.postgres.sql.unsafe(`copy (${select}) to stdout`).readable()
  const kept = { rows: 0, longest: 0 }
  await pipe(rows, withoutTooLong(relation, kept), createWriteStream(path, { highWaterMark: 1 << 20 }))
  if (kept.rows === 0) return null

  const { columns, derived = {} } = RELATIONS[relation] as Relation
  const typed = Object.entries(columns).flatMap(([name, [type]]) =>
    name in derived ? [] : `${castFromText(name, type)} as ${name}`,
  )
  const table = `changed_${relation}`
  const line = 2 * Math.max(kept.longest, LONG_ROW)
  // Without quotes a line is a row, wherever the threads begin to read. CSV took twice the time, and failed where they
  // began within a value of several lines.
  const read = (from: string) =>
    duck.run(
      `create or replace table ${table} as
     select ${columnsAsOf(relation, 0)} from (
     select brand_id::uuid as brand_id, ${Math.trunc(tick)}::bigint as tick, ${typed.join(', ')}
     from (
       select ${textColumns(relation).map(unescaped).join(', ')}
       from read_csv(${literal(from)}, header = false, delim = '\t', quote = '', escape = '', nullstr = '\\N',
         strict_mode = true, auto_detect = false, columns = {${textColumns(relation)
           .map((name) => `${name}: 'VARCHAR'`)
           .join(', ')}}, max_line_size = ${line}, buffer_size = ${2 * line})
     ))`,
    )
  try {
    await read(path)
  } catch (error) {
    if (!isRefusal(error)) throw error
    await readWithoutRefused(relation, await LineFile.read(path), read)
  }
  return table
}

/** Reads the rows of a COPY but those that are refused by themselves: the lake keeps the versions of these that it has. */
async function readWithoutRefused(
  relation: RelationName,
  file: LineFile,
  read: (from: string) => Promise<void>,
): Promise<void> {
  const part = `${file.path}.part`
  const refused = await refusedLines(file.lines, async (low, high) => {
    await file.copy(part, low, high)
    try {
      await read(part)
      return true
    } catch (error) {
      if (isRefusal(error)) return false
      throw error
    }
  })
  await file.copy(part, 0, file.lines, refused, NOTHING)
  await read(part)
  for (const text of await file.texts([...refused]))
    log('error', 'row_refused', { relation, brand_id: text.toString('latin1', 0, 36) })
}

// COPY takes no parameters: transaction ids are checked to be digits before they become text of it.
function digits(xid: string): string {
  if (!/^\d+$/.test(xid)) throw new Error(`not a transaction id: ${xid}`)
  return `'${xid}'`
}

/** Passes on the lines of a COPY that are no longer than a row may be, and says what they are. */
function withoutTooLong(relation: RelationName, kept: { rows: number; longest: number }): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      for (const line of chunk.length > LONGEST_ROW ? linesOf(chunk) : [chunk]) {
        if (line.length > LONGEST_ROW) {
          const brand_id = line.toString('latin1', 0, 36)
          log('error', 'row_too_long', { relation, brand_id, bytes: line.length })
          continue
        }
        kept.rows++
        kept.longest = Math.max(kept.longest, line.length)
        this.push(line)
      }
      done()
    },
  })
}

/** Postgres sends one a message, but nothing says that the client hands on each by itself. */
function* linesOf(chunk: Buffer): Generator<Buffer> {
  for (let start = 0; start < chunk.length; ) {
    const end = chunk.indexOf('\n', start) + 1 || chunk.length
    yield chunk.subarray(start, end)
    start = end
  }
}

const NOTHING = Buffer.alloc(0)

const textColumns = (relation: RelationName) => {
  const { derived = {} } = RELATIONS[relation] as Relation
  return columnsOf(relation).filter((name) => name !== 'tick' && !(name in derived))
}

const ESCAPES = { n: 10, r: 13, t: 9, b: 8, f: 12, v: 11 }

/** What the text format of COPY stands for; no text of Postgres has the character U+0000. */
function unescaped(name: string): string {
  const plain = Object.entries(ESCAPES).reduce(
    (text, [letter, code]) => `replace(${text}, '\\${letter}', chr(${code}))`,
    `replace(${name}, '\\\\', chr(0))`,
  )
  return `case when contains(${name}, '\\') then replace(${plain}, chr(0), '\\') else ${name} end as ${name}`
}

function castFromText(name: string, type: string): string {
  if (type === 'BOOLEAN') return `(${name} = 't')`
  // Lists and structs come as JSON.
  if (type.startsWith('STRUCT')) return `from_json(${name}, ${literal(LINES_STRUCTURE)})`
  return type.endsWith('[]') ? `${name}::json::${type}` : `${name}::${type}`
}
