import { join } from 'node:path'
import type { Reader } from '../op.ts'
import { type Duck, literal, openDuck } from '../store/duckdb.ts'
import { brandFolder, type WrittenFile, writeLakeFile } from '../store/lake.ts'
import type { Pipeline } from './pipeline.ts'
import type { Session } from './session.ts'

/** Tables that single reads, sorted lists and member pages come from, with the column that each is looked up by. */
export interface ServedTable {
  name: string
  select: string
  index?: string
}

/** Publishes tables of a session as one read-only DuckDB file: a cache that lake and models can rebuild. */
export async function writeServed(
  lakeDir: string,
  session: Session,
  tables: readonly ServedTable[],
): Promise<WrittenFile> {
  const { duck, manifest } = session
  return await writeLakeFile(lakeDir, brandFolder(manifest.brandId), 'served', async (path) => {
    await duck.run(`attach ${literal(path)} as served`)
    try {
      for (const { name, select, index } of tables) {
        await duck.run(`create table served.${name} as ${select}`)
        if (index) await duck.run(`create index ${name}_${index} on served.${name} (${index})`)
      }
    } finally {
      await duck.run('detach served')
    }
  })
}

/** Open files kept per process; each costs a DuckDB instance of a few megabytes. */
const KEPT = 64
const READER_MEMORY_MB = 256

/** A reader may still be in a request's hands when a newer file replaces it: longer than any request. */
const GRACE_MS = 60_000

export interface Served {
  /** The brand's published results; null before its first refresh. */
  reader(brandId: string): Promise<Reader | null>
  close(): Promise<void>
}

/** Reads the published files of brands: one locked instance each, the least recently used are closed. */
export function openServed(pipeline: Pipeline): Served {
  const open = new Map<string, { path: string; duck: Promise<Duck> }>()
  const leaving = new Map<Promise<Duck>, NodeJS.Timeout>()

  const start = async (brandId: string, path: string): Promise<Duck> => {
    const tempDir = join(pipeline.lakeDir, 'tmp', 'served')
    const duck = await openDuck({ memoryMb: READER_MEMORY_MB, threads: 1, tempDir })
    try {
      await duck.run(`attach ${literal(join(pipeline.lakeDir, path))} as served (read_only)`)
      await duck.run('use served')
      await duck.lock([join(pipeline.lakeDir, brandFolder(brandId))])
      return duck
    } catch (error) {
      duck.close()
      throw error
    }
  }
  const close = (duck: Promise<Duck>) => {
    leaving.delete(duck)
    return duck.then((opened) => opened.close()).catch(() => {})
  }
  const leave = (brandId: string) => {
    const duck = open.get(brandId)?.duck
    open.delete(brandId)
    if (duck) leaving.set(duck, setTimeout(() => void close(duck), GRACE_MS).unref())
  }

  return {
    async reader(brandId) {
      const state = await pipeline.postgres.pipeline.maybe<ServedState>('lake_served', [brandId])
      if (!state?.served_path) return null
      const path = state.served_path
      if (open.get(brandId)?.path !== path) leave(brandId)
      const entry = open.get(brandId) ?? { path, duck: start(brandId, path) }
      // Moved to the end: the first of the map is the least recently used.
      open.delete(brandId)
      open.set(brandId, entry)
      if (open.size > KEPT) leave(open.keys().next().value as string)
      try {
        const duck = await entry.duck
        return { generation: state.generation, rows: (statement, values) => duck.rows(statement, values) }
      } catch (error) {
        open.delete(brandId)
        throw error
      }
    },
    async close() {
      for (const brandId of [...open.keys()]) leave(brandId)
      await Promise.all(
        [...leaving].map(([duck, timer]) => {
          clearTimeout(timer)
          return close(duck)
        }),
      )
    },
  }
}

interface ServedState {
  generation: number
  served_path: string | null
}
