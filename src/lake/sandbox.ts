import { copyFileSync, existsSync, linkSync, mkdirSync, rmdirSync, rmSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import type { Duck } from '../store/duckdb.ts'
import { openTurns, type Turns } from '../store/duckdb-turns.ts'
import { brandFolder, STAGING_FOLDER } from '../store/lake.ts'
import { hasNoLink } from '../store/no-link.ts'
import { createKept } from './kept.ts'
import type { LakeFile } from './manifest.ts'

/*
 * Where sessions of small brands take turns. To open a DuckDB instance, to close it and to have its memory faulted in
 * again is a sixth of such a refresh; but one that is locked to a brand's folder stays so. A sandbox is locked to a folder
 * of its own for good, in which whoever has the turn finds links to the files of its brand, and those of no other.
 */

/** Bytes of a block where rows are few; a short column takes one. */
export const SMALL_BLOCK = 16_384

/** Where a session is: a DuckDB of its own, or a turn in a sandbox. */
export interface Place {
  duck: Duck
  /** The lake as it is reached from there. */
  lakeDir: string
  /** From here on no file of another brand can be reached. Returns a connection whose statements wait for no other's, if there is one. */
  lock(): Promise<Pick<Duck, 'run' | 'rows'>>
  close(): Promise<void>
}

export interface Sandboxes {
  enter(brandId: string, files: readonly LakeFile[], signal: AbortSignal | undefined): Promise<Place>
  /** From here on whoever leaves one closes it. */
  close(): Promise<void>
}

/** Settings of DuckDB where sessions are. */
export const SETTINGS = [
  'set global parquet_metadata_cache = true',
  // Tables are made by all threads: half of the time. What needs an order says so.
  'set preserve_insertion_order = false',
  // What is divided by zero is missing. A NaN would be more than everything, and no JSON.
  'set global ieee_floating_point_ops = false',
]
/** For few rows: finding out how columns are compressed best takes two thirds of the time of writing 2,000 rows each. */
export const SMALL_SETTINGS = [
  ...SETTINGS,
  `set force_compression = 'uncompressed'`,
  // To look for parts of a plan that are the same takes a fiftieth of a refresh of few rows.
  `set global disabled_optimizers = 'common_subplan'`,
]

interface Sandbox {
  root: string
  turns: Turns
}

const remove = (path: string) => rmSync(path, { recursive: true, force: true })

/** Links files into the folders of a place. Returns the links. */
function linkAll(
  lakeDir: string,
  root: string,
  folders: readonly string[],
  files: readonly Pick<LakeFile, 'path'>[],
): string[] {
  for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o700 })
  return files.map(({ path }) => {
    const to = join(root, path)
    link(join(lakeDir, path), to)
    return to
  })
}

/** Removes what was linked into a folder, and the folder; to look what is in it takes as long again. */
function removeFolder(folder: string, links: readonly string[]): void {
  if (!existsSync(folder)) return
  try {
    for (const path of links) if (dirname(path) === folder) unlinkSync(path)
    rmdirSync(folder)
  } catch {
    // What a session that failed left unfinished.
    remove(folder)
  }
}

function link(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if (!hasNoLink(error)) throw error
    copyFileSync(from, to)
  }
}

/** As many as are entered at the same time, of one thread each. */
export function createSandboxes({ lakeDir, memoryMb }: { lakeDir: string; memoryMb: number }): Sandboxes {
  const open = async (): Promise<Sandbox> => {
    const root = join(lakeDir, 'tmp', uuidv7())
    const instance = { memoryMb, threads: 1, tempDir: join(root, 'spill'), blockBytes: SMALL_BLOCK }
    try {
      const turns = await openTurns({ ...instance, folder: root, settings: SMALL_SETTINGS })
      return { root, turns }
    } catch (error) {
      remove(root)
      throw error
    }
  }
  const close = async ({ root, turns }: Sandbox) => {
    turns.close()
    remove(root)
  }
  const sandboxes = createKept({ open, close, name: 'sandbox' })
  return {
    enter: async (brandId, files, signal) => {
      const { one, keep, end } = await sandboxes.take()
      const { root, turns } = one
      const [own, shared] = [join(root, brandFolder(brandId)), join(root, STAGING_FOLDER)]
      try {
        const links = linkAll(lakeDir, root, [own, shared], files)
        const duck = await turns.begin(signal)
        let left = false
        return {
          duck,
          lakeDir: root,
          lock: async () => {
            // Shared files hold rows of other brands, too.
            removeFolder(shared, links)
            return duck
          },
          close: async () => {
            if (left) return
            left = true
            try {
              await duck.end()
              for (const folder of [own, shared]) removeFolder(folder, links)
            } catch {
              // Interrupted, or broken: nobody enters it again.
              return await end()
            }
            await keep()
          },
        }
      } catch (error) {
        await end()
        throw error
      }
    },
    close: sandboxes.close,
  }
}
