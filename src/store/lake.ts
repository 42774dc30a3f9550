import { rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { makeFolders, sync } from './folder.ts'
import { hashOf } from './hash.ts'

/** A lake file that is on disk for good: synced with its folder, named for this attempt only. */
export interface WrittenFile {
  /** Relative to the lake folder. */
  path: string
  bytes: number
  sha256: Buffer
}

/** The folder of a brand's own files; its DuckDB sessions can reach those of no other. */
export const brandFolder = (brandId: string) => join('brands', brandId)
export const STAGING_FOLDER = 'staging'

/** A lake file under way. */
export interface Unfinished {
  /** Absolute, and nobody's yet. */
  path: string
  /** Its unique name once it is finished, relative to the lake folder. */
  final: string
  /** Syncs, hashes (where the writer did not) and renames it. */
  finish(sha256?: Buffer): Promise<WrittenFile>
  abandon(): Promise<void>
}

/** The lake folder, and as what its writer reaches it. */
export interface Reached {
  lakeDir: string
  from?: string
}

/** Begins one lake file, which a writer fills. A crash leaves an orphan that no manifest names. */
export const beginLakeFile = (
  lake: Reached,
  folder: string,
  name: string,
  ending: 'parquet' | 'duckdb',
): Promise<Unfinished> => beginLakeFileAt(lake, join(folder, `${name}-${uuidv7()}.${ending}`))

/** The same at a path whose name is unique. */
export async function beginLakeFileAt(
  { lakeDir, from = lakeDir }: Reached,
  path: string,
): Promise<Unfinished> {
  const target = join(lakeDir, path)
  const unfinished = `${join(from, path)}.tmp`
  await makeFolders(dirname(target))
  return {
    path: unfinished,
    final: path,
    finish: async (known) => {
      const { size } = await stat(unfinished)
      const [sha256] = await Promise.all([known ?? hashOf(unfinished, size), sync(unfinished)])
      await rename(unfinished, target)
      await sync(dirname(target))
      return { path, bytes: size, sha256 }
    },
    abandon: () => rm(unfinished, { force: true }),
  }
}

/** Writes one Parquet file: `write` gets an absolute path that nobody uses yet. */
export async function writeLakeFile(
  lake: Reached,
  folder: string,
  name: string,
  write: (path: string) => Promise<void>,
): Promise<WrittenFile> {
  const file = await beginLakeFile(lake, folder, name, 'parquet')
  try {
    await write(file.path)
    return await file.finish()
  } catch (error) {
    await file.abandon()
    throw error
  }
}
