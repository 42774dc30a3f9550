import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { createSubjectCache, type SubjectCache } from '../identity/cache.ts'
import { type Duck, openDuck } from '../store/duckdb.ts'
import type { Postgres } from '../store/postgres.ts'
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

/** A trusted DuckDB with a scratch folder; both are gone after the work. Work that can wait takes one thread. */
export async function withWorkspace<T>(
  { lakeDir, memoryMb, threads: most }: Pipeline,
  work: (duck: Duck, folder: string) => Promise<T>,
  { threads = most }: { threads?: number } = {},
): Promise<T> {
  const folder = join(lakeDir, 'tmp', uuidv7())
  const duck = await openDuck({ memoryMb, threads, tempDir: folder })
  try {
    return await work(duck, folder)
  } finally {
    duck.close()
    await rm(folder, { recursive: true, force: true })
  }
}
