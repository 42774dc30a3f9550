import { join } from 'node:path'
import { log } from '../log.ts'
import { type Duck, isOutOfMemory } from '../store/duckdb.ts'
import { STAGING_FOLDER } from '../store/lake.ts'
import { type AwaitedRows, awaitedEvents, keepAwaited } from './awaited.ts'
import { type Batch, type TakenBatches, writeLines } from './batches.ts'
import { keepDead } from './dead-lines.ts'
import { withEventLog } from './event-log.ts'
import { exportRows } from './export-rows.ts'
import { addFiles, type NewFile, Outrun, publishFiles } from './manifest.ts'
import { refuseMoved } from './moved.ts'
import { asEvents } from './new-events.ts'
import { refuseNewerSchema } from './newer-schema.ts'
import type { Pipeline } from './pipeline.ts'
import { type PoisonLine, poisonIn } from './poison.ts'
import { type ErasedLine, type ReadEvents, readEvents } from './read-events.ts'
import { isRefusal, kindOf } from './refused-lines.ts'
import { RELATIONS, type RelationName } from './relations.ts'
import { stageRows, writeParquet } from './stage.ts'
import { TICK_BOUNDS, type TickBounds } from './tick-bounds.ts'
import { withWorkspace } from './workspace.ts'

export interface SnapshotReport {
  tick: number
  /** Every transaction below this id is in the lake now. */
  below: string
  /** False when nothing was waiting: no tick was made. */
  published: boolean
  /** Events of the log, and of these the ones that were repeats or could not become a row. */
  read: number
  repeats: number
  dead: number
  /** Events of erased customers from before the erasure. */
  erased: number
  rows: Partial<Record<RelationName, number>>
  /** Profiles that its events made or changed may be left for the next tick. */
  profiles: boolean
  /** More was waiting than one tick takes. */
  more: boolean
  ms: number
}

interface Cursor {
  tick: number
  exported_below: string
  erasures: number
  handed_on: number
  /** Of a tick that neither ended nor failed: who made it was killed, or makes it still. */
  attempted_bytes: number | null
  horizon: string
}

/**
 * One tick: everything that committed since the last one becomes lake files, published by a compare-and-set on the
 * tick. Throws Outrun when another worker published the same tick first. What is too much for the memory, had its process
 * killed, or fails otherwise than by a neighbour's fault, is halved until it is one transaction, of which the lines that
 * are refused stay behind: nobody's events may hold up those of all others.
 */
export async function snapshot(
  pipeline: Pipeline,
  bounds: TickBounds = TICK_BOUNDS,
): Promise<SnapshotReport> {
  let most = bounds
  let poison: PoisonLine[] = []
  for (;;) {
    let taken: TakenBatches = { batches: [], bytes: 0 }
    let tick: number | undefined
    try {
      return await snapshotOf(pipeline, most, poison, (batches, after) => {
        taken = batches
        tick = after
      })
    } catch (error) {
      const { batches, bytes } = taken as TakenBatches
      if (bytes) await pipeline.postgres.pipeline.run('lake_state_attempt', [tick, null]).catch(() => {})
      const isRefused = isRefusal(error)
      if (!isRefused && !isOutOfMemory(error)) throw error
      if (batches[0]?.xid !== batches.at(-1)?.xid) {
        most = bytes
          ? { ...most, bytes: Math.min(most.bytes, bytes) / 2 }
          : { ...most, batches: Math.ceil(batches.length / 2) }
        log('warn', 'tick_halved', { bytes, batches: batches.length, error: kindOf(error) })
        continue
      }
      if (!isRefused || poison.length || batches.length === 0) throw error
      poison = await poisonIn(pipeline, batches)
      if (poison.length === 0) throw error
    }
  }
}

async function snapshotOf(
  pipeline: Pipeline,
  bounds: TickBounds,
  poison: readonly PoisonLine[],
  onTaken: (taken: TakenBatches, after: number) => void,
): Promise<SnapshotReport> {
  const started = performance.now()
  const { postgres } = pipeline
  const cursor = await postgres.pipeline.one<Cursor>('lake_state_read')
  refuseMoved(cursor)
  // After it: rows of tables that are migrated later are past its horizon.
  await refuseNewerSchema(pipeline)
  const most = {
    ...bounds,
    bytes: Math.min(bounds.bytes, (cursor.attempted_bytes ?? Number.POSITIVE_INFINITY) / 2),
  }
  const waiting = await withEventLog(pipeline, (tx) =>
    tx.many<Batch>('export_batches', [
      cursor.exported_below,
      cursor.horizon,
      most.events,
      most.batches,
      most.compressedBytes,
    ]),
  )

  return await withWorkspace(pipeline, async (duck, folder) => {
    const path = join(folder, 'lines.ndjson')
    onTaken({ batches: waiting, bytes: 0 }, cursor.tick)
    const taken = await writeLines(pipeline, waiting, path, most)
    onTaken(taken, cursor.tick)
    const { batches } = taken
    if (batches.length) await postgres.pipeline.run('lake_state_attempt', [cursor.tick, taken.bytes])
    const below = await boundary(pipeline, cursor, batches)
    const span = { cursor, below, batches, poison, folder, path }
    const { files, rows, events, awaited } = await stageTick(pipeline, duck, span)
    const { repeats, dead, erased } = events ?? { repeats: 0, dead: null, erased: [] }
    const published = batches.length > 0 || files.length > 0
    // What half of it did, its double is tried with next: what kills would kill again.
    const attempted = most.bytes < bounds.bytes ? most.bytes * 4 : null
    if (published) await publish(pipeline, duck, cursor, { below, files, dead, erased, awaited, attempted })
    return {
      tick: cursor.tick + (published ? 1 : 0),
      below,
      published,
      read: batches.reduce((sum, batch) => sum + batch.event_count, 0),
      repeats,
      dead: dead?.lines.length ?? 0,
      erased: erased.length,
      rows,
      profiles: events?.profiles ?? false,
      more: below !== cursor.horizon,
      ms: Math.round(performance.now() - started),
    }
  })
}

/** What a tick takes: all that committed from the cursor on, until before a transaction. */
interface Span {
  cursor: Cursor
  below: string
  batches: readonly Batch[]
  poison: readonly PoisonLine[]
  folder: string
  /** The lines of the batches. */
  path: string
}

interface StagedTick {
  files: NewFile[]
  rows: SnapshotReport['rows']
  /** Null without batches. */
  events: ReadEvents | null
  awaited: AwaitedRows[]
}

/** Writes what a tick takes into files that nobody lists yet. */
async function stageTick(
  pipeline: Pipeline,
  duck: Duck,
  { cursor, below, batches, poison, folder, path }: Span,
): Promise<StagedTick> {
  const tick = cursor.tick + 1
  const staged: StagedTick = { files: [], rows: {}, events: null, awaited: [] }
  const stage = async (relation: RelationName, table: string, shown?: (rows: string) => string) => {
    const based = (brandIds: readonly string[]) => brandsWith(pipeline, relation, brandIds)
    const written = await stageRows(duck, pipeline.lakeDir, { relation, table, shown, tick, based })
    staged.files.push(...written)
    staged.rows[relation] = written.reduce((sum, file) => sum + file.rows, 0)
  }
  if (batches.length) {
    const subjects = pipeline.subjects.asOf(cursor)
    const events = await readEvents(pipeline, duck, path, batches, { tick, subjects, poison })
    staged.events = events
    if (events.rows) {
      await stage('events', 'new_lines', asEvents)
      staged.awaited = await awaitedEvents(pipeline, duck)
    }
    if (events.ids) staged.files.push(await writeSeenIds(pipeline, duck, tick))
  }
  // After the events: the profiles that they made are in the relations of the next tick at the latest.
  for (const relation of Object.keys(RELATIONS).filter((name) => name !== 'events') as RelationName[]) {
    const table = await exportRows(pipeline, duck, folder, relation, cursor.exported_below, below, tick)
    if (table) await stage(relation, table)
  }
  return staged
}

/** Of brands those that have rows of a relation already. */
async function brandsWith(
  { postgres }: Pipeline,
  relation: RelationName,
  brandIds: readonly string[],
): Promise<Set<string>> {
  const rows = await postgres.pipeline.many<{ brand_id: string }>('lake_brands_with', [relation, brandIds])
  return new Set(rows.map(({ brand_id }) => brand_id))
}

/** Where this tick ends: the horizon, or the first transaction that it leaves for the next one. */
async function boundary(pipeline: Pipeline, cursor: Cursor, batches: readonly Batch[]): Promise<string> {
  const last = batches.at(-1)
  if (!last) return cursor.horizon
  const next = await withEventLog(pipeline, (tx) =>
    tx.maybe<{ xid: string }>('export_next_batch', [last.xid, cursor.horizon]),
  )
  return next?.xid ?? cursor.horizon
}

async function writeSeenIds({ lakeDir }: Pipeline, duck: Duck, tick: number): Promise<NewFile> {
  const [count] = await duck.rows<{ rows: number }>('select count(*) as rows from new_ids')
  const file = await writeParquet(
    duck,
    { lakeDir },
    STAGING_FOLDER,
    'event_ids',
    'from new_ids order by id_hash',
  )
  const shared = {
    brand_id: null,
    relation: 'event_ids' as const,
    level: 0,
    occurred_lo: null,
    occurred_hi: null,
  }
  return { ...file, ...shared, rows: count?.rows ?? 0, tick_lo: tick, tick_hi: tick }
}

interface Tick {
  below: string
  files: readonly NewFile[]
  dead: ReadEvents['dead']
  erased: readonly ErasedLine[]
  awaited: readonly AwaitedRows[]
  /** Bytes of which the next tick takes half at most; null: no bound. */
  attempted: number | null
}

async function publish(
  pipeline: Pipeline,
  duck: Duck,
  { tick, erasures }: Cursor,
  { below, files, dead, erased, awaited, attempted }: Tick,
): Promise<void> {
  await publishFiles(pipeline, files, async (tx) => {
    if ((await tx.run('lake_state_advance', [tick, below, erasures, attempted])) === 0)
      throw new Outrun(`tick ${tick + 1}`)
    await addFiles(tx, files)
    const brands = new Set(
      files.flatMap((file) => [file.brand_id, ...(file.brands ?? []).map((row) => row.brand_id)]),
    )
    brands.delete(null)
    if (brands.size) await tx.run('lake_brands_changed', [tick + 1, [...brands]])
    if (dead) await keepDead(tx, dead.file, dead.lines)
    if (erased.length) {
      const places = [erased.map(({ batch_id }) => batch_id), erased.map(({ line }) => line)]
      await tx.run('erased_lines_add', places)
    }
    await keepAwaited(tx, duck, awaited)
  })
  if (dead) log('error', 'dead_events', { count: dead.lines.length, first_reason: dead.lines[0]?.reason })
}
