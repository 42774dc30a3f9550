import type { Dirent } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { LAKE_FOLDERS } from '../config.ts'
import { isLockTimeout } from '../errors.ts'
import { errorFields, log } from '../log.ts'
import { withEventLog } from './event-log.ts'
import { positionOf, refuseMoved } from './moved.ts'
import { requireOwnLake } from './owner.ts'
import type { Pipeline } from './pipeline.ts'
import { removeUnlisted } from './unlisted.ts'

/** Longer than the longest cursor, so that a walk which began on a file can end on it. */
const KEEP_HOURS = 26
/** Days that event_log keeps batches after they reached the lake. */
const LOG_DAYS = 7
const DAYS_AHEAD = 7
const FILES_AT_ONCE = 10_000
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export interface RetentionReport {
  removed: number
  orphans: number
}

/**
 * Removes retired and orphaned files, makes event_log days ahead and drops those that the lake has held for 7 days. What
 * fails stops none of the others, and is thrown after them.
 */
export async function retain(pipeline: Pipeline, filesAtOnce = FILES_AT_ONCE): Promise<RetentionReport> {
  const [report, days] = await Promise.allSettled([removeFiles(pipeline, filesAtOnce), moveLogDays(pipeline)])
  if (days.status === 'rejected') throw days.reason
  if (report.status === 'rejected') throw report.reason
  return report.value
}

async function moveLogDays(pipeline: Pipeline): Promise<void> {
  const { pipeline: db } = pipeline.postgres
  const missing = await db.many<{ day: string }>('event_log_days_missing', [DAYS_AHEAD])
  // One by one: whoever adds to the log waits while a day's batches move.
  for (const { day } of missing) await unlessLocked('log_is_read', () => db.run('event_log_make_days', [day]))
  refuseMoved(await positionOf(pipeline))
  const { day: awaited } = await withEventLog(pipeline, (tx) =>
    tx.one<{ day: string }>('event_log_awaited_day'),
  )
  await db.run('event_log_days_note', [awaited])
  const { first_kept } = await db.one<{ first_kept: string }>('event_log_oldest_kept', [awaited, LOG_DAYS])
  await unlessLocked('log_is_read', () => db.run('event_log_drop_days', [first_kept]))
}

/**
 * A backup reads the log, and a large tick publishes, for as long as it takes, and what waits for them has all others wait
 * who write there: next hour, then.
 */
async function unlessLocked(event: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    log('info', event, errorFields(error))
  }
}

async function removeFiles({ postgres, lakeDir }: Pipeline, filesAtOnce: number): Promise<RetentionReport> {
  await requireOwnLake({ postgres, lakeDir })
  const { paused } = await postgres.pipeline.one<{ paused: boolean }>('lake_removal_paused')
  if (paused) return { removed: 0, orphans: 0 }

  const removal = newRemoval(lakeDir)
  let removed = 0
  const stay: number[] = []
  for (let left = true; left; ) {
    const retired = await postgres.pipeline.many<{ id: number; path: string }>('lake_files_removable', [
      KEEP_HOURS,
      filesAtOnce,
      stay,
    ])
    const gone: number[] = []
    for (const { id, path } of retired) ((await removal.remove(path)) ? gone : stay).push(id)
    // Rows go after their files: a crash between leaves rows whose removal is tried again.
    await postgres.pipeline.run('lake_files_forget', [gone])
    removed += gone.length
    left = retired.length === filesAtOnce
  }
  await postgres.pipeline.run('served_generations_forget', [KEEP_HOURS])
  const orphans = await removeOrphans({ postgres, lakeDir }, removal)
  removal.end()
  return { removed, orphans }
}

interface Removal {
  /** Whether it is gone now. */
  remove(path: string, options?: { recursive: boolean }): Promise<boolean>
  /** Tells of what is still there, and throws why. */
  end(): void
}

/** Of files of the lake: one that cannot be removed keeps none of the others. */
function newRemoval(lakeDir: string): Removal {
  const failures: { path: string; error: unknown }[] = []
  return {
    async remove(path, options) {
      try {
        await rm(join(lakeDir, path), { force: true, ...options })
        return true
      } catch (error) {
        failures.push({ path, error })
        return false
      }
    },
    end() {
      const [first] = failures
      if (!first) return
      const { path, error } = first
      log('error', 'lake_files_not_removed', { files: failures.length, path, ...errorFields(error) })
      throw error
    },
  }
}

/** Files that no manifest names, and scratch folders of killed work, that are too old to belong to work under way. */
async function removeOrphans(
  { postgres, lakeDir }: Pick<Pipeline, 'postgres' | 'lakeDir'>,
  removal: Removal,
): Promise<number> {
  const before = Date.now() - KEEP_HOURS * 3_600_000
  const listed = await postgres.pipeline.many<{ path: string }>('lake_paths')
  const known = new Set(listed.map(({ path }) => path))
  let orphans = 0
  const unlisted: string[] = []
  for await (const entry of lakeEntries(lakeDir)) {
    if (!entry.isFile() && !isScratch(entry)) continue
    const absolute = join(entry.parentPath, entry.name)
    const path = absolute.slice(lakeDir.length + 1)
    if (known.has(path)) continue
    const info = await stat(absolute).catch(() => null)
    if (!info || info.mtimeMs > before) continue
    if (!isScratch(entry)) unlisted.push(path)
    else if (await removal.remove(path, { recursive: true })) orphans++
  }
  await unlessLocked('lake_is_published', () =>
    removeUnlisted({ postgres }, unlisted, async (path) => {
      if (await removal.remove(path)) orphans++
    }),
  )
  return orphans
}

/** Of the folders that are the lake's own: LAKE_DIR may hold what is somebody else's. */
async function* lakeEntries(lakeDir: string): AsyncGenerator<Dirent> {
  for (const folder of LAKE_FOLDERS) yield* entriesUnder(join(lakeDir, folder))
}

/** A folder of one piece of work. */
const isScratch = (entry: Dirent): boolean =>
  entry.isDirectory() && basename(entry.parentPath) === 'tmp' && UUID.test(entry.name)

/**
 * Everything in a folder but what is in scratch folders: these go as a whole, and what is in them may be links to files
 * that are older than the work. Folders that are gone meanwhile are empty.
 */
async function* entriesUnder(folder: string): AsyncGenerator<Dirent> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    yield entry
    if (entry.isDirectory() && !isScratch(entry)) yield* entriesUnder(join(folder, entry.name))
  }
}
