import { join } from 'node:path'
import type { Published } from '../op.ts'
import { openDuck } from '../store/duckdb.ts'
import { brandFolder } from '../store/lake.ts'
import { attachGeneration, type Generation, generationOf, pathsOf } from './generation.ts'
import { openLookUps } from './look-up.ts'
import type { Pipeline } from './pipeline.ts'

/** Open generations kept per process; each costs a DuckDB instance of a few megabytes. */
const KEPT = 64
const READER_MEMORY_MB = 256
/** A join with so many rows finds the rows that it wants by their values, not by the least and the greatest. */
const PAGE_ROWS = 256
/** Statements of one connection that stay prepared. */
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

/** What is read of files that are open. */
interface Opened extends Omit<Published, 'generation'> {
  close(): void
}

/** Reads the published generations of brands: one locked instance each, the least recently used are closed. */
export function openServed(pipeline: Pipeline): Served {
  const open = new Map<string, Promise<Opened>>()
  const leaving = new Map<Promise<Opened>, NodeJS.Timeout>()

  const close = (opened: Promise<Opened>) => {
    leaving.delete(opened)
    return opened.then((files) => files.close()).catch(() => {})
  }
  const leave = (key: string) => {
    const opened = open.get(key)
    open.delete(key)
    if (opened) leaving.set(opened, setTimeout(() => void close(opened), GRACE_MS).unref())
  }

  return {
    async reader(brandId, wanted) {
      const found = await generationOf(pipeline, brandId, wanted)
      if (!found) return null
      const key = `${brandId} ${[...pathsOf(found)].join(' ')}`
      const opened = open.get(key) ?? openFiles(pipeline, brandId, found)
      // Moved to the end: the first of the map is the least recently used.
      open.delete(key)
      open.set(key, opened)
      if (open.size > KEPT) leave(open.keys().next().value as string)
      try {
        const { rows, of } = await opened
        return { generation: found.generation, rows, of }
      } catch (error) {
        open.delete(key)
        throw error
      }
    },
    async close() {
      for (const key of [...open.keys()]) leave(key)
      await Promise.all(
        [...leaving].map(([opened, timer]) => {
          clearTimeout(timer)
          return close(opened)
        }),
      )
    },
  }
}

/** Where those of the base are whose rows are not in it any more. */
const REPLACED = `
  create table published.replaced_positions as
  select position from base.customers semi join changes.replaced using (customer) order by position`

async function openFiles({ lakeDir }: Pipeline, brandId: string, generation: Generation): Promise<Opened> {
  const duck = await openDuck({
    memoryMb: READER_MEMORY_MB,
    threads: 1,
    tempDir: join(lakeDir, 'tmp', 'served'),
    keptStatements: KEPT_STATEMENTS,
  })
  try {
    const tables = await attachGeneration(duck, lakeDir, generation)
    await duck.run(REPLACED)
    await duck.run('use published')
    await duck.run(`set dynamic_or_filter_threshold = ${PAGE_ROWS}`)
    const of = await openLookUps(duck, tables)
    await duck.lock([join(lakeDir, brandFolder(brandId))])
    return { rows: duck.rows, of, close: duck.close }
  } catch (error) {
    duck.close()
    throw error
  }
}
