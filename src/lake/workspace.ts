import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import type { Duck } from '../store/duckdb.ts'
import { openTurns, type Turn, type Turns } from '../store/duckdb-turns.ts'
import { type LockedFolder, lockedFolder, removeUnlocked } from '../store/locked-folder.ts'
import { createKept, type Kept } from './kept.ts'
import { requireOwnLake } from './owner.ts'
import type { Pipeline } from './pipeline.ts'

/*
 * Where the cross-brand work on the lake takes turns: to lock a folder, to open a DuckDB instance and to close it takes
 * longer than most ticks.
 */

/** A trusted DuckDB, and a locked folder. */
interface Workspace {
  root: LockedFolder
  turns: Turns
}

/** Where it is, and of what size. */
type Asked = Pick<Pipeline, 'lakeDir' | 'memoryMb' | 'threads'>

export interface Workspaces {
  /** Those that are alike. */
  of(asked: Asked): Kept<Workspace>
  close(): Promise<void>
}

// What is read once is not worth keeping.
const SETTINGS = ['set global enable_external_file_cache = false']

export function createWorkspaces(): Workspaces {
  const kept = new Map<string, Kept<Workspace>>()
  return {
    of: ({ lakeDir, memoryMb, threads }) => {
      const key = JSON.stringify([lakeDir, memoryMb, threads])
      const known = kept.get(key)
      if (known) return known
      const made = createKept({
        open: () => openWorkspace({ lakeDir, memoryMb, threads }),
        close: closeWorkspace,
        isWhole: ({ root }) => existsSync(root.path),
        name: 'workspace',
      })
      kept.set(key, made)
      return made
    },
    close: async () => {
      await Promise.all([...kept.values()].map((each) => each.close()))
    },
  }
}

async function openWorkspace({ lakeDir, ...size }: Asked): Promise<Workspace> {
  const root = await lockedFolder(join(lakeDir, 'tmp'), uuidv7())
  try {
    const tempDir = join(root.path, 'spill')
    return { root, turns: await openTurns({ ...size, tempDir, settings: SETTINGS }) }
  } catch (error) {
    await root.remove()
    throw error
  }
}

async function closeWorkspace({ root, turns }: Workspace): Promise<void> {
  turns.close()
  await root.remove()
}

/**
 * A trusted DuckDB with a scratch folder; what was made in both is gone after the work. Work that can wait takes one
 * thread. Throws where nothing is written to the lake.
 */
export async function withWorkspace<T>(
  pipeline: Pipeline,
  work: (duck: Duck, folder: string) => Promise<T>,
  { threads = pipeline.threads }: { threads?: number } = {},
): Promise<T> {
  await requireOwnLake(pipeline)
  const { one, keep, end } = await pipeline.workspaces.of({ ...pipeline, threads }).take()
  const folder = join(one.root.path, uuidv7())
  let isCleared = false
  try {
    await mkdir(folder, { mode: 0o700 })
    const duck = await one.turns.begin(undefined)
    try {
      return await work(duck, folder)
    } finally {
      isCleared = await cleared(duck, folder)
    }
  } finally {
    await (isCleared ? keep() : end())
  }
}

/** False of what nobody can use again. */
const cleared = (duck: Turn, folder: string): Promise<boolean> =>
  Promise.all([duck.end(), rm(folder, { recursive: true, force: true })]).then(
    () => true,
    () => false,
  )

/** Only these have locks: a session or a place of some is not told apart from those of killed processes. */
const WORKSPACE_LOCK = /^([0-9a-f-]{36})\.lock$/

/** Scratch folders of work that was killed: of a tick it is as much as its lines, and the next one may be killed, too. */
export const removeKilledWorkspaces = ({ lakeDir }: Pick<Pipeline, 'lakeDir'>): Promise<void> =>
  removeUnlocked(join(lakeDir, 'tmp'), WORKSPACE_LOCK)
