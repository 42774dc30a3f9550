import { join } from 'node:path'
import { validate as isUuid } from 'uuid'
import type { Subjects } from '../identity/cache.ts'
import { type Duck, isBroken, isOutOfMemory, literal } from '../store/duckdb.ts'
import { makeTable } from '../store/duckdb-table.ts'
import { statement } from '../store/sqlfile.ts'
import { type Batch, firstLinesOf, placeOf } from './batches.ts'
import { putBeforeCuts } from './cuts.ts'
import type { DeadLine } from './dead-lines.ts'
import { leaveOutErased } from './erased-lines.ts'
import { LineFile } from './line-file.ts'
import { loadSubjects } from './load-subjects.ts'
import { newLines } from './new-events.ts'
import type { Pipeline } from './pipeline.ts'
import type { PoisonLine } from './poison.ts'
import { refusedLines } from './refused-lines.ts'
import { isSeen } from './seen.ts'

/** A line of the log that tells of an erased customer from before the erasure. */
export interface ErasedLine {
  batch_id: string
  line: number
}

export interface ReadEvents {
  rows: number
  ids: number
  repeats: number
  /** In the file of the lines, which is read only when there are any. */
  dead: { file: LineFile; lines: DeadLine[] } | null
  erased: ErasedLine[]
  /** Profiles were made or changed, or may have been. */
  profiles: boolean
}

interface Tick {
  tick: number
  /** Under the erasures that the tick knows of. */
  subjects: Subjects
  poison?: readonly PoisonLine[]
}

/**
 * Turns the lines of the batches, which the file has, into the tables `new_lines` (see asEvents) and `new_ids` (the
 * sender's event ids), without repeats. A line that fails, or is said to, stays behind with its reason and stops no other.
 */
export async function readEvents(
  pipeline: Pipeline,
  duck: Duck,
  path: string,
  batches: readonly Omit<Batch, 'bytes'>[],
  { tick, subjects, poison = [] }: Tick,
): Promise<ReadEvents> {
  const firstLines = firstLinesOf(batches)
  const blanked = await loadLines(duck, path, numbered(poison, batches, firstLines))
  await loadBrands(pipeline, duck)
  await putBeforeCuts(pipeline, duck, batches, firstLines)

  const dead = await duck.rows<{ n: number; brand_id: string | null; reason: string }>(
    statement('duckdb', 'dead_lines'),
  )
  await makeTable(
    duck,
    'dead',
    { n: 'BIGINT' },
    dead.map(({ n }) => [n]),
  )
  await loadSeen(pipeline, duck, batches)
  await duck.run(statement('duckdb', 'kept_lines'))
  const erased = await leaveOutErased(pipeline, duck)
  const profiles = await loadSubjects(pipeline, duck, subjects)

  await duck.run(newLines(tick, await loadPlaces(duck, batches, firstLines)))
  await duck.run(statement('duckdb', 'seen_ids'))

  const [counts] = await duck.rows<{ lines: number; gone: number; rows: number; ids: number }>(
    `select (select count(*) from lines) as lines, (select count(*) from lines where erased) as gone,
       (select count(*) from new_lines) as rows, (select count(*) from new_ids) as ids`,
  )
  const { lines, gone, rows, ids } = counts ?? { lines: 0, gone: 0, rows: 0, ids: 0 }
  const promised = batches.reduce((sum, batch) => sum + batch.event_count, 0)
  if (lines !== promised) throw new Error(`${lines} lines in batches that promise ${promised}`)
  const deadLines = dead.map(({ n, brand_id, reason }) => ({
    ...placeOf(n, batches, firstLines),
    ...(blanked.get(n) ?? { brand_id, reason }),
    n,
  }))
  return {
    rows,
    ids,
    repeats: lines - gone - dead.length - erased.length - rows,
    dead: dead.length ? { file: await LineFile.read(path), lines: deadLines } : null,
    erased: erased.map((n) => placeOf(n, batches, firstLines)),
    profiles,
  }
}

/**
 * Makes `places (bucket, first_line, last_line, batch_id)`: which batches have lines in each so many that follow each
 * other, as many as a batch has on average. Returns in how many bits a line counts within its bucket.
 */
async function loadPlaces(
  duck: Duck,
  batches: readonly Pick<Batch, 'batch_id' | 'event_count'>[],
  firstLines: readonly number[],
): Promise<number> {
  const lines = batches.reduce((sum, { event_count }) => sum + event_count, 0)
  const bits = Math.round(Math.log2(Math.max(1, lines / batches.length)))
  await makeTable(duck, 'places', PLACES, placesOf(batches, firstLines, bits))
  return bits
}

const PLACES = {
  bucket: 'INTEGER',
  first_line: 'INTEGER',
  last_line: 'INTEGER',
  batch_id: 'VARCHAR',
} as const

function* placesOf(
  batches: readonly Pick<Batch, 'batch_id' | 'event_count'>[],
  firstLines: readonly number[],
  bits: number,
) {
  for (const [index, { batch_id, event_count }] of batches.entries()) {
    const first = firstLines[index] ?? 0
    const last = first + event_count - 1
    for (let bucket = first >> bits; bucket <= last >> bits; bucket++) yield [bucket, first, last, batch_id]
  }
}

/** Why a line is left out, and whose it is where that is known. */
interface Blanked {
  brand_id: string | null
  reason: string
}

/** Lines that the file has, by their numbers there. */
function numbered(
  poison: readonly PoisonLine[],
  batches: readonly Pick<Batch, 'batch_id'>[],
  firstLines: readonly number[],
): Map<number, string> {
  const first = new Map(batches.map(({ batch_id }, at) => [batch_id, firstLines[at] ?? 0]))
  return new Map(
    poison.flatMap(({ batch_id, line, reason }) => {
      const from = first.get(batch_id)
      return from === undefined ? [] : [[from + line, reason] as const]
    }),
  )
}

/**
 * Reads the file into `lines`. Poison, and lines that DuckDB refuses, are blanked, so that the others keep their numbers;
 * returns which. That memory is short, or the instance at its end, says nothing of a line.
 */
async function loadLines(
  duck: Duck,
  path: string,
  poison: ReadonlyMap<number, string>,
): Promise<ReadonlyMap<number, Blanked>> {
  const load = async (from: string): Promise<void> => {
    await duck.run(`set variable lines_path = ${literal(from)}`)
    await duck.run(statement('duckdb', 'read_lines'))
  }
  const isRead = async (from: string): Promise<boolean> => {
    try {
      await load(from)
      return true
    } catch (error) {
      if (isOutOfMemory(error) || isBroken(error)) throw error
      return false
    }
  }
  const blanked = new Map<number, Blanked>()
  if (poison.size === 0 && (await isRead(path))) return blanked
  const file = await LineFile.read(path)
  const unreadable = await refusedLines(file.lines, async (low, high) => {
    await file.copy(`${path}.part`, low, high, new Set(poison.keys()))
    return await isRead(`${path}.part`)
  })
  for (const n of unreadable) blanked.set(n, { brand_id: null, reason: UNREADABLE })
  const texts = await file.texts([...poison.keys()])
  for (const [at, [n, reason]] of [...poison].entries())
    blanked.set(n, { brand_id: brandOf(texts[at]), reason })
  await file.copy(`${path}.mended`, 0, file.lines, new Set(blanked.keys()))
  await load(`${path}.mended`)
  return blanked
}

const UNREADABLE = 'the line is not a JSON object that the lake can read'

/** Of a line whose text is JSON and names one. */
export function brandOf(line: Buffer | undefined): string | null {
  try {
    const { brand_id } = JSON.parse(String(line))
    return isUuid(brand_id) ? brand_id : null
  } catch {
    return null
  }
}

async function loadBrands({ postgres }: Pipeline, duck: Duck): Promise<void> {
  const brands = await postgres.pipeline.many<{ id: string }>('brand_ids')
  await makeTable(
    duck,
    'brands',
    { id: 'VARCHAR' },
    brands.map(({ id }) => [id]),
  )
}

async function loadSeen(
  { postgres, lakeDir }: Pipeline,
  duck: Duck,
  batches: readonly Pick<Batch, 'received_at'>[],
): Promise<void> {
  const oldest = batches.reduce(
    (least, { received_at }) => Math.min(least, Number(received_at)),
    Number.POSITIVE_INFINITY,
  )
  const day = new Date(oldest).toISOString().slice(0, 10)
  const files = await postgres.pipeline.many<{ path: string }>('lake_shared_files', ['event_ids'])
  const list = files.map(({ path }) => literal(join(lakeDir, path))).join(', ')
  await duck.run(
    files.length
      ? `create view seen as from read_parquet([${list}]) where ${isSeen(day)}`
      : 'create table seen (id_hash ubigint, id_check ubigint, received_on date)',
  )
}
