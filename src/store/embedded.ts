import { existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { log as defaultLog } from '../log.ts'
import { adminUrl, otherOwner, ownerUrl, readHome, removeCluster } from './embedded/home.ts'
import { keepRunning } from './embedded/keep.ts'
import { type Lock, takeLock } from './embedded/lock.ts'
import { findPostmaster, type StopMode, stopPostmaster } from './embedded/postmaster.ts'
import { ensureRunning } from './embedded/running.ts'
import { isFree, type Settings } from './embedded/server.ts'

export type { Settings, StopMode }

export interface EmbeddedOptions {
  dataDir: string
  log?: typeof defaultLog
  /** Postgres settings beside, or instead of, ours; they count when this call starts the server. */
  settings?: Settings
}

export interface Embedded {
  /** The database `recoup` as the role that owns it: no superuser, as on a managed Postgres. */
  readonly url: string
  /** The same cluster as its superuser, for what only tests and repairs do. */
  readonly adminUrl: string
  /** From now on until the release the server is started again when it has ended. */
  keepRunning(): void
  /** Ends this process's use; the last process out stops the server. Close pools first. */
  release(): Promise<void>
  /** Stops the server whoever uses it. */
  stop(mode: StopMode): Promise<void>
  /** Starts it again after a stop or a crash, on the same port unless that was taken meanwhile. */
  start(): Promise<void>
}

/** The folder of the embedded Postgres of a data folder; null before its first start. */
export const clusterOf = (dataDir: string): string | null => readHome(dataDir)?.cluster ?? null

/** Whether a data folder has an embedded Postgres, running or not. */
export const hasEmbedded = (dataDir: string): boolean => readHome(dataDir) !== null

/** Another process's start, with its crash recovery, is waited for this long. */
const PATIENCE_SECONDS = 660

/**
 * The Postgres that lives in a data folder: made when missing, started when it does not run, shared by all processes
 * that use the folder. Safe to call from many processes at once and after kill -9 of any of them.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { settings = {}, log = defaultLog } = options
  const folder = openFolder(options.dataDir)
  const start = () => ensureRunning({ dataDir: folder.dataDir, settings, log, unused: folder.unused })

  const { home, use } = await folder.starting(async () => {
    const home = await start()
    return { home, use: await folder.use() }
  })
  const over = new AbortController()
  const startAgain = async () => {
    // Another process was first, or this one left, while it waited for its turn.
    if (over.signal.aborted || findPostmaster(home.cluster)) return
    if (!hasEmbedded(folder.dataDir)) throw new Error(`The embedded Postgres of ${folder.dataDir} is gone.`)
    // Pools connect to the port that they know: it is waited for, no other one is taken.
    if (!(await isFree(home.port)))
      throw new Error(`Port ${home.port} of the embedded Postgres is taken by another program.`)
    await start()
    log('warn', 'postgres_started_again', { cluster: home.cluster, port: home.port })
  }
  let released: Promise<void> | undefined
  return {
    url: ownerUrl(home),
    adminUrl: adminUrl(home),
    keepRunning: () => {
      const runs = () => findPostmaster(home.cluster) !== null
      void keepRunning({ runs, start: () => folder.starting(startAgain), log, signal: over.signal })
    },
    release: () => {
      over.abort()
      released ??= folder.starting(async () => {
        use.release()
        if (await folder.unused()) await stopPostmaster(home.cluster, 'fast')
      })
      return released
    },
    stop: (mode) => folder.starting(() => stopPostmaster(home.cluster, mode)),
    start: () => folder.starting(async () => void (await start())),
  }
}

/** Marks this process as a user of a data folder whose Postgres is elsewhere, until the release: it is not removed meanwhile. */
export async function useFolder(path: string): Promise<Lock> {
  const folder = openFolder(path)
  return await folder.starting(() => folder.use(OTHERS))
}

/** Stops the Postgres of a data folder and removes its files; false, and nothing done, while a process uses the folder. */
export async function removeEmbedded(path: string): Promise<boolean> {
  if (!existsSync(path)) return true
  const folder = openFolder(path)
  return await folder.starting(async () => {
    if (!(await folder.unused()) || !(await folder.unused(OTHERS))) return false
    const home = readHome(folder.dataDir)
    if (home && otherOwner(folder.dataDir, home) === null) {
      await stopPostmaster(home.cluster, 'immediate')
      removeCluster(home)
    }
    for (const name of ['postgres.json', USERS, OTHERS, STARTING])
      rmSync(join(folder.dataDir, name), { force: true })
    return true
  })
}

interface Folder {
  dataDir: string
  /** Runs the work while no other process starts, leaves or removes the cluster. */
  starting<T>(work: () => Promise<T>): Promise<T>
  /** Marks this process as a user of the cluster. Kernel locks, not locks in Postgres: those are lost when it crashes. */
  use(users?: string): Promise<Lock>
  /** Whether no process uses the cluster; it stays so until `starting` ends. */
  unused(users?: string): Promise<boolean>
}

const STARTING = 'postgres.lock'
const USERS = 'postgres.users'
/** Who uses the folder, and not the cluster in it. */
const OTHERS = 'folder.users'

function openFolder(path: string): Folder {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const dataDir = realpathSync(path)
  const take = async (name: string, kind: 'shared' | 'exclusive') => {
    const lock = await takeLock(join(dataDir, name), kind, PATIENCE_SECONDS)
    if (!lock)
      throw new Error(`Another process has held ${join(dataDir, name)} for ${PATIENCE_SECONDS} seconds.`)
    return lock
  }
  return {
    dataDir,
    starting: async (work) => {
      const lock = await take(STARTING, 'exclusive')
      try {
        return await work()
      } finally {
        lock.release()
      }
    },
    use: (users = USERS) => take(users, 'shared'),
    unused: async (users = USERS) => {
      const lock = await takeLock(join(dataDir, users), 'exclusive', 0)
      lock?.release()
      return lock !== null
    },
  }
}
