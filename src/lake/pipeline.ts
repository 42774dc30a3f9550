import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { createSubjectCache, type SubjectCache } from '../identity/cache.ts'
import { type Duck, openDuck } from '../store/duckdb.ts'
import { lockedFolder, removeUnlocked } from '../store/locked-folder.ts'
import type { Postgres } from '../store/postgres.ts'
import { requireOwnLake } from './owner.ts'
import { createSandboxes, type Sandboxes } from './sandbox.ts'
import { createSlots, type Slots } from './slots.ts'

/** What the cross-brand work on the lake needs. */
export interface Pipeline {
  postgres: Postgres
  /** Absolute path. */
  lakeDir: string
  storePlatformDomain: string
  subjects: SubjectCache
  /** Of each DuckDB instance that the work opens. */
  memoryMb: number
  threads: number
  sandboxes: Sandboxes
  /** Room for sessions of large brands that end soon. */
  large: Slots
}

/** More large brands refreshed at once would take their memory, and gain no time. */
const MOST_LARGE = 3

export const createPipeline = (
  options: Pick<Pipeline, 'postgres' | 'lakeDir' | 'storePlatformDomain' | 'memoryMb' | 'threads'>,
): Pipeline => ({
  ...options,
  subjects: createSubjectCache(),
  sandboxes: createSandboxes(options),
  large: createSlots({ all: MOST_LARGE, past: MOST_LARGE }),
})

/**
 * A trusted DuckDB with a scratch folder; both are gone after the work. Work that can wait takes one thread. Throws where
 * nothing is written to the lake.
 */
export async function withWorkspace<T>(
  { postgres, lakeDir, memoryMb, threads: most }: Pipeline,
  work: (duck: Duck, folder: string) => Promise<T>,
  { threads = most }: { threads?: number } = {},
): Promise<T> {
  await requireOwnLake({ postgres, lakeDir })
  const folder = await lockedFolder(join(lakeDir, 'tmp'), uuidv7())
  try {
    const duck = await openDuck({ memoryMb, threads, tempDir: folder.path })
    try {
      return await work(duck, folder.path)
    } finally {
      duck.close()
    }
  } finally {
    await folder.remove()
  }
}

/** Only these have locks: a session or a place of some is not told apart from those of killed processes. */
const WORKSPACE_LOCK = /^([0-9a-f-]{36})\.lock$/

/** Scratch folders of work that was killed: of a tick it is as much as its lines, and the next one may be killed, too. */
export const removeKilledWorkspaces = ({ lakeDir }: Pick<Pipeline, 'lakeDir'>): Promise<void> =>
  removeUnlocked(join(lakeDir, 'tmp'), WORKSPACE_LOCK)
