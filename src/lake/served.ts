import { join } from 'node:path'
import type { Published } from '../op.ts'
import { type Duck, openDuck } from '../store/duckdb.ts'
import { brandFolder } from '../store/lake.ts'
import { attachGeneration, type Generation, generationOf, pathsOf } from './generation.ts'
import type { Pipeline } from './pipeline.ts'

/** Open generations kept per process; each costs a DuckDB instance of a few megabytes. */
const KEPT = 64
const READER_MEMORY_MB = 256
/** A join with so many rows finds the rows that it wants by their values, not by the least and the greatest. */
const PAGE_ROWS = 256
/** Statements of one instance that stay prepared. */
const KEPT_STATEMENTS = 32

/** A reader may still be in a request's hands when a newer file replaces it: longer than any request. */
const GRACE_MS = 60_000

export interface Served {
  /**
   * The brand's published results; null before its first refresh. Of an earlier generation, for a walk that began in
   * it, as long as it is kept; then of the newest.
   */
  reader(brandId: string, generation?: number): Promise<Published | null>
  close(): Promise<void>
}

/** Reads the published generations of brands: one locked instance each, the least recently used are closed. */
export function openServed(pipeline: Pipeline): Served {
  const open = new Map<string, Promise<Duck>>()
  /** What was loaded of a generation, as long as its files are open. */
  const loaded = new WeakMap<Promise<Duck>, Map<string, Promise<unknown>>>()
  const leaving = new Map<Promise<Duck>, NodeJS.Timeout>()

  const start = async (brandId: string, generation: Generation): Promise<Duck> => {
    const tempDir = join(pipeline.lakeDir, 'tmp', 'served')
    const duck = await openDuck({
      memoryMb: READER_MEMORY_MB,
      threads: 1,
      tempDir,
      keptStatements: KEPT_STATEMENTS,
    })
    try {
      await attachGeneration(duck, pipeline.lakeDir, generation)
      await duck.run('use published')
      await duck.run(`set dynamic_or_filter_threshold = ${PAGE_ROWS}`)
      await duck.lock([join(pipeline.lakeDir, brandFolder(brandId))])
      return duck
    } catch (error) {
      duck.close()
      throw error
    }
  }
  const kept = <T>(opened: Promise<Duck>, name: string, load: () => Promise<T>): Promise<T> => {
    const known = loaded.get(opened) ?? new Map<string, Promise<unknown>>()
    loaded.set(opened, known)
    const found = (known.get(name) as Promise<T> | undefined) ?? load()
    known.set(name, found)
    found.catch(() => known.delete(name))
    return found
  }
  const close = (duck: Promise<Duck>) => {
    leaving.delete(duck)
    return duck.then((opened) => opened.close()).catch(() => {})
  }
  const leave = (key: string) => {
    const duck = open.get(key)
    open.delete(key)
    if (duck) leaving.set(duck, setTimeout(() => void close(duck), GRACE_MS).unref())
  }

  return {
    async reader(brandId, wanted) {
      const found = await generationOf(pipeline, brandId, wanted)
      if (!found) return null
      const key = `${brandId} ${[...pathsOf(found)].join(' ')}`
      const opened = open.get(key) ?? start(brandId, found)
      // Moved to the end: the first of the map is the least recently used.
      open.delete(key)
      open.set(key, opened)
      if (open.size > KEPT) leave(open.keys().next().value as string)
      try {
        const duck = await opened
        return {
          generation: found.generation,
          rows: (statement, values) => duck.rows(statement, values),
          kept: (name, load) => kept(opened, name, load),
        }
      } catch (error) {
        open.delete(key)
        throw error
      }
    },
    async close() {
      for (const key of [...open.keys()]) leave(key)
      await Promise.all(
        [...leaving].map(([duck, timer]) => {
          clearTimeout(timer)
          return close(duck)
        }),
      )
    },
  }
}
