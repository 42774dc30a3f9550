import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Duck, literal } from '../store/duckdb.ts'
import { statement } from '../store/sqlfile.ts'
import { type Batch, writeLines } from './batches.ts'
import { leaveOutErased } from './erased-lines.ts'
import { loadSubjects } from './load-subjects.ts'
import type { Pipeline } from './pipeline.ts'
import { EVENT_PROPERTIES } from './relations.ts'

/** A line of the log that could not become a lake row. */
export interface DeadLine {
  batch_id: string
  line: number
  brand_id: string | null
  reason: string
  payload: Buffer
}

/** A line of the log that tells of an erased customer from before the erasure. */
export interface ErasedLine {
  batch_id: string
  line: number
}

interface ReadEvents {
  rows: number
  ids: number
  repeats: number
  dead: DeadLine[]
  erased: ErasedLine[]
}

/**
 * Turns the lines of the batches into the tables `new_events` (columns of the relation) and `new_ids` (the sender's
 * event ids), without repeats. A line that fails stays behind with its reason and stops no other.
 */
export async function readEvents(
  pipeline: Pipeline,
  duck: Duck,
  folder: string,
  batches: readonly Batch[],
  tick: number,
): Promise<ReadEvents> {
  const path = join(folder, 'lines.ndjson')
  const firstLines = await writeLines(pipeline.postgres.sql, batches, path)
  const unreadable = await loadLines(duck, path)
  await loadBrands(pipeline, duck)

  const dead = await duck.rows<{ n: number; brand_id: string | null; reason: string }>(
    statement('duckdb', 'dead_lines'),
  )
  await duck.run('create table dead (n bigint)')
  if (dead.length) await duck.run(`insert into dead values ${dead.map(({ n }) => `(${n})`).join(', ')}`)
  await loadSeen(pipeline, duck)
  await duck.run(statement('duckdb', 'kept_lines'))
  const erased = await leaveOutErased(pipeline, duck)
  await loadSubjects(pipeline, duck)

  await duck.run('create table batches (first_line bigint, batch_id varchar)')
  const appender = await duck.connection.createAppender('batches')
  for (const [index, batch] of batches.entries()) {
    appender.appendBigInt(BigInt(firstLines[index] ?? 0))
    appender.appendVarchar(batch.batch_id)
    appender.endRow()
  }
  appender.closeSync()
  await duck.run(newEvents(tick))
  await duck.run(statement('duckdb', 'seen_ids'))

  const [counts] = await duck.rows<{ lines: number; gone: number; rows: number; ids: number }>(
    `select (select count(*) from lines) as lines, (select count(*) from lines where erased) as gone,
       (select count(*) from new_events) as rows, (select count(*) from new_ids) as ids`,
  )
  const { lines, gone, rows, ids } = counts ?? { lines: 0, gone: 0, rows: 0, ids: 0 }
  const promised = batches.reduce((sum, batch) => sum + batch.event_count, 0)
  if (lines !== promised) throw new Error(`${lines} lines in batches that promise ${promised}`)
  const deadLines = dead.length ? await withPayload(path, dead, unreadable, batches, firstLines) : []
  return {
    rows,
    ids,
    repeats: lines - gone - dead.length - erased.length - rows,
    dead: deadLines,
    erased: erased.map((n) => placeOf(n, batches, firstLines)),
  }
}

/** Reads the file into `lines`. Lines that DuckDB refuses are blanked, so that the others keep their numbers. */
async function loadLines(duck: Duck, path: string): Promise<Map<number, string>> {
  const load = (from: string) =>
    duck
      .run(`set variable lines_path = ${literal(from)}`)
      .then(() => duck.run(statement('duckdb', 'read_lines')))
  try {
    await load(path)
    return new Map()
  } catch {
    const unreadable = new Map<number, string>()
    const lines = (await readFile(path, 'utf8')).split('\n')
    if (lines.at(-1) === '') lines.pop()
    const refused = async (low: number, high: number): Promise<void> => {
      await writeFile(`${path}.part`, `${lines.slice(low, high).join('\n')}\n`)
      try {
        await load(`${path}.part`)
        await duck.run('drop table lines')
      } catch {
        if (high - low === 1) {
          unreadable.set(low, lines[low] ?? '')
          lines[low] = '{}'
          return
        }
        const middle = (low + high) >> 1
        await refused(low, middle)
        await refused(middle, high)
      }
    }
    await refused(0, lines.length)
    await writeFile(`${path}.mended`, `${lines.join('\n')}\n`)
    await load(`${path}.mended`)
    return unreadable
  }
}

async function loadBrands({ postgres }: Pipeline, duck: Duck): Promise<void> {
  const brands = await postgres.pipeline.many<{ id: string }>('brand_ids')
  await duck.run('create table brands (id uuid)')
  if (brands.length)
    await duck.run(`insert into brands values ${brands.map(({ id }) => `(${literal(id)})`).join(', ')}`)
}

async function loadSeen({ postgres, lakeDir }: Pipeline, duck: Duck): Promise<void> {
  const files = await postgres.pipeline.many<{ path: string }>('lake_shared_files', ['event_ids'])
  const list = files.map(({ path }) => literal(join(lakeDir, path))).join(', ')
  await duck.run(
    files.length
      ? `create view seen as from read_parquet([${list}])`
      : 'create table seen (id_hash ubigint, id_check ubigint, received_on date)',
  )
}

/** Property names whose values identify a person: they live in the customers relation only. */
const IDENTIFYING = [
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

function newEvents(tick: number): string {
  const typed = Object.entries(EVENT_PROPERTIES).map(([name, [type]]) =>
    type === 'VARCHAR' ? `given.${name}` : `try_cast(given.${name} as ${type}) as ${name}`,
  )
  const wanted = [...Object.keys(EVENT_PROPERTIES), ...IDENTIFYING]
  const structure = JSON.stringify(Object.fromEntries(wanted.map((name) => [name, 'VARCHAR'])))
  const patch = JSON.stringify(Object.fromEntries(IDENTIFYING.map((name) => [name, null])))
  // json_transform is twice as fast as a list of paths, and names the identifying ones in the same pass.
  return `
    create table new_events as
    with placed as (
      select lines.*, batches.batch_id, (n - first_line)::integer as line,
        json_transform(properties, ${literal(structure)}) as given
      from lines semi join kept using (n) asof join batches on lines.n >= batches.first_line
    )
    select
      brand_id, ${Math.trunc(tick)}::bigint as tick, batch_id::uuid as batch_id, line,
      coalesce(event_id, batch_id || '-' || line) as event_id, received_at, occurred_at, event_type,
      nullif(subject, 0) as subject, ${typed.join(', ')},
      case
        when coalesce(${IDENTIFYING.map((name) => `given.${name}`).join(', ')}) is not null
        then json_merge_patch(properties, ${literal(patch)})
        else properties
      end as properties, by_browser
    from placed join subjects using (identity)`
}

async function withPayload(
  path: string,
  dead: readonly { n: number; brand_id: string | null; reason: string }[],
  unreadable: ReadonlyMap<number, string>,
  batches: readonly Batch[],
  firstLines: readonly number[],
): Promise<DeadLine[]> {
  const lines = (await readFile(path, 'utf8')).split('\n')
  return dead.map(({ n, brand_id, reason }) => ({
    ...placeOf(n, batches, firstLines),
    brand_id,
    reason: unreadable.has(n) ? 'the line is not a JSON object that the lake can read' : reason,
    payload: Buffer.from(unreadable.get(n) ?? lines[n] ?? ''),
  }))
}

function placeOf(n: number, batches: readonly Batch[], firstLines: readonly number[]): ErasedLine {
  const index = firstLines.findLastIndex((first) => first <= n)
  return { batch_id: batches[index]?.batch_id ?? '', line: n - (firstLines[index] ?? 0) }
}
