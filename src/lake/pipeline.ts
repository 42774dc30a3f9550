import { createSubjectCache, type SubjectCache } from '../identity/cache.ts'
import type { Postgres } from '../store/postgres.ts'
import { createSandboxes, type Sandboxes } from './sandbox.ts'
import { createSlots, type Slots } from './slots.ts'
import { createWorkspaces, type Workspaces } from './workspace.ts'

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
  workspaces: Workspaces
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
  workspaces: createWorkspaces(),
  large: createSlots({ all: MOST_LARGE, past: MOST_LARGE }),
})

/** Closes what work that is over has left for the next. */
export async function closePipeline({ sandboxes, workspaces }: Pipeline): Promise<void> {
  await Promise.all([sandboxes.close(), workspaces.close()])
}
