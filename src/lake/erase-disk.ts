import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fail, isLockTimeout } from '../errors.ts'
import { brandFolder, STAGING_FOLDER } from '../store/lake.ts'
import { PAUSE_MINUTES } from './backup.ts'
import { requireOwnLake } from './owner.ts'
import type { Pipeline } from './pipeline.ts'
import { removeUnlisted } from './unlisted.ts'

export interface Patience {
  /** How long requests of servers may go on reading old files; longer than any. */
  readersMs: number
  /** How long work that was under way may leave files that nobody lists; longer than any job. */
  writersMs: number
}

export const PATIENCE: Patience = { readersMs: 60_000, writersMs: 20 * 60_000 }

export const REMOVAL_PAUSED = `A backup copies files of the lake: they go once none may need them, ${PAUSE_MINUTES} minutes after its end at most.`

/** Of an erasure that waits for a backup, as it should. */
export const isRemovalPaused = (error: unknown): boolean =>
  error instanceof Error && error.message === REMOVAL_PAUSED

/** The clock of the file system stands still for some milliseconds. */
const CLOCK_MS = 50

/**
 * Removes from disk what no reader needs any more: the files of a brand that were retired, and those that no manifest
 * lists. Work on the lake that is under way publishes nothing after it. The number of files removed.
 */
export async function removeErasedFiles(
  pipeline: Pipeline,
  brandId: string,
  patience: Patience,
): Promise<number> {
  const { postgres, lakeDir } = pipeline
  await requireOwnLake(pipeline)
  const fence = Date.now() - CLOCK_MS
  await outrunWriters(pipeline, brandId)
  const retired = await postgres.pipeline.many<{ id: number; path: string }>('lake_files_retired_of', [
    brandId,
  ])
  const readers = await postgres.pipeline.one<{ some: boolean }>('lake_readers')
  if (retired.length && readers.some) await pause(patience.readersMs)
  const { paused } = await postgres.pipeline.one<{ paused: boolean }>('lake_removal_paused')
  if (paused) throw fail('unavailable', REMOVAL_PAUSED)
  for (const { path } of retired) await rm(join(lakeDir, path), { force: true })
  await postgres.pipeline.run('lake_files_forget', [retired.map(({ id }) => id)])
  const unlisted = await removeUnlistedOf(pipeline, brandId, fence)
  return retired.length + unlisted + (await removeScratch(pipeline, brandId, patience.writersMs))
}

/** Whoever writes files of the brand, or shared ones, publishes none of them from here on. */
async function outrunWriters({ postgres }: Pipeline, brandId: string): Promise<void> {
  await postgres.pipeline.tx(async (tx) => {
    await tx.run('lake_removal_begin')
    await tx.run('lake_brand_erasures_count', [brandId])
  })
}

/** What work that was killed, or that took longer, left since: called until it can have left nothing more. */
export async function sweepAfterErasure(
  pipeline: Pipeline,
  brandId: string,
  { writersMs }: Patience,
): Promise<number> {
  await requireOwnLake(pipeline)
  const { paused } = await pipeline.postgres.pipeline.one<{ paused: boolean }>('lake_removal_paused')
  if (paused) return 0
  const before = Date.now() - writersMs
  if ((await unlistedIn(pipeline, brandId, before)).length) await outrunWriters(pipeline, brandId)
  const unlisted = await removeUnlistedOf(pipeline, brandId, before)
  return unlisted + (await removeScratch(pipeline, brandId, writersMs))
}

/** Times that somebody may publish for longer than a removal waits. */
const TRIES = 5

/** Of a brand, after its writers were outrun. */
async function removeUnlistedOf(pipeline: Pipeline, brandId: string, before: number): Promise<number> {
  let removed = 0
  const remove = async (path: string) => {
    await rm(join(pipeline.lakeDir, path), { force: true })
    removed++
  }
  for (let left = TRIES; ; ) {
    try {
      await removeUnlisted(pipeline, await unlistedIn(pipeline, brandId, before), remove)
      return removed
    } catch (error) {
      if (!isLockTimeout(error) || --left === 0) throw error
    }
  }
}

const ASKED_AT_ONCE = 1_000

/** Paths of files of a brand, and of shared ones, that no manifest lists and that are older than an instant. */
async function unlistedIn(
  { postgres, lakeDir }: Pipeline,
  brandId: string,
  before: number,
): Promise<string[]> {
  const old: string[] = []
  for (const folder of [brandFolder(brandId), STAGING_FOLDER])
    for (const entry of await entriesOf(join(lakeDir, folder))) {
      const path = join(folder, entry.name)
      if (entry.isFile() && (await changedAt(join(lakeDir, path))) <= before) old.push(path)
    }
  const listed = new Set<string>()
  for (let at = 0; at < old.length; at += ASKED_AT_ONCE) {
    const asked = [old.slice(at, at + ASKED_AT_ONCE)]
    for (const { path } of await postgres.pipeline.many<{ path: string }>('lake_paths_among', asked))
      listed.add(path)
  }
  return old.filter((path) => !listed.has(path))
}

/** Scratch folders, and what DuckDB spilled, of work that ended long ago without clearing up. */
async function removeScratch({ lakeDir }: Pipeline, brandId: string, writersMs: number): Promise<number> {
  const before = Date.now() - writersMs
  let removed = 0
  const shared = join(lakeDir, 'tmp')
  for (const folder of [shared, join(lakeDir, brandFolder(brandId), 'tmp')]) {
    for (const entry of await entriesOf(folder)) {
      // Files are locks, as old as the work that holds them, and name nobody.
      if (!entry.isDirectory()) continue
      const path = join(folder, entry.name)
      const newest = await Promise.all(
        [path, ...(await entriesOf(path)).map((one) => join(path, one.name))].map(changedAt),
      )
      if (Math.max(...newest) > before) continue
      await rm(path, { recursive: true, force: true })
      removed++
    }
  }
  return removed
}

const entriesOf = (folder: string) => readdir(folder, { withFileTypes: true }).catch(() => [])

/** The distant future for what is gone. */
const changedAt = (path: string) =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.POSITIVE_INFINITY,
  )
