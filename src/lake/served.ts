import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { keep } from '../access/remembered.ts'
import type { Published } from '../op.ts'
import { type Duck, openDuck } from '../store/duckdb.ts'
import { brandFolder } from '../store/lake.ts'
import { attachGeneration, type Generation, generationOf, pathsOf } from './generation.ts'
import { openLookUps } from './look-up.ts'
import type { Pipeline } from './pipeline.ts'
import { sortedViews } from './sorted.ts'

/** Open generations kept per process; each costs a DuckDB instance of a few megabytes. */
const KEPT = 64
const READER_MEMORY_MB = 256
/** A base of so many bytes is looked through by two threads: a sorted page of a million customers takes 15 ms, not 25. */
const LARGE_BYTES = 1 << 26
/** A join with so many rows finds the rows that it wants by their values, not by the least and the greatest. */
const PAGE_ROWS = 256
/** Statements of one connection that stay prepared. */
const KEPT_STATEMENTS = 32

/** A reader may still be in a request's hands when a newer file replaces it: longer than any request. */
const GRACE_MS = 60_000

export interface Served {
  /**
   * The brand's published results; null before its first refresh. Of an earlier generation, for a walk that began in
   * it, as long as it is kept; then of the newest. `newest`: its number, where that was read for the same call.
   */
  reader(brandId: string, generation?: number, newest?: number): Promise<Published | null>
  close(): Promise<void>
}

/** What is read of files that are open. */
interface Opened extends Omit<Published, 'generation'> {
  close(): Promise<void>
}

/** Reads the published generations of brands: one locked instance each, the least recently used are closed. */
export function openServed(pipeline: Pipeline): Served {
  /** The least recently used first. */
  const open = new Map<string, Promise<Opened>>()
  /** The most recent of them: to move it to the end with each read makes garbage that lasts until a full collection. */
  let last: string | undefined
  const leaving = new Map<Promise<Opened>, NodeJS.Timeout>()
  /** The newest generations that were read, by brand: what a number names never changes. */
  const known = new Map<string, Generation>()

  const close = (opened: Promise<Opened>) => {
    leaving.delete(opened)
    return opened.then((files) => files.close()).catch(() => {})
  }
  const leave = (key: string) => {
    const opened = open.get(key)
    open.delete(key)
    if (opened) leaving.set(opened, setTimeout(() => void close(opened), GRACE_MS).unref())
  }

  const find = async (brandId: string, wanted?: number, newest?: number) => {
    const last = known.get(brandId)
    if (wanted === undefined && newest !== undefined && last?.generation === newest) return last
    const found = await generationOf(pipeline, brandId, wanted)
    if (found && wanted === undefined) keep(known, KEPT, brandId, found)
    return found
  }

  return {
    async reader(brandId, wanted, newest) {
      const found = await find(brandId, wanted, newest)
      if (!found) return null
      const key = `${brandId} ${[...pathsOf(found)].join(' ')}`
      const opened = open.get(key) ?? openFiles(pipeline, brandId, found)
      if (last !== key || !open.has(key)) {
        open.delete(key)
        open.set(key, opened)
        last = key
      }
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
  const lookUps = await openLookUps(lakeDir, generation)
  let opened: Promise<Duck> | undefined
  // Most of what is read of a generation is looked up: its tables are opened for the first who asks them.
  const tables = () => {
    opened ??= openTables(lakeDir, brandId, generation)
    const duck = opened
    duck.catch(() => {
      if (opened === duck) opened = undefined
    })
    return duck
  }
  return {
    of: lookUps.of,
    rows: async (statement, values) => (await tables()).rows(statement, values),
    close: async () => {
      await lookUps.close()
      ;(await opened?.catch(() => undefined))?.close()
    },
  }
}

async function openTables(lakeDir: string, brandId: string, generation: Generation): Promise<Duck> {
  const { size } = await stat(join(lakeDir, generation.base_path))
  const duck = await openDuck({
    memoryMb: READER_MEMORY_MB,
    threads: size < LARGE_BYTES ? 1 : 2,
    tempDir: join(lakeDir, 'tmp', 'served'),
    keptStatements: KEPT_STATEMENTS,
  })
  try {
    const stored = await attachGeneration(duck, lakeDir, generation)
    await duck.run(REPLACED)
    const views = sortedViews('published', 'base.customers').filter(({ name }) => !stored.has(name))
    await duck.run(views.map(({ name, select }) => `create view published.${name} as ${select};`).join('\n'))
    await duck.run('use published')
    await duck.run(`set dynamic_or_filter_threshold = ${PAGE_ROWS}`)
    await duck.lock([join(lakeDir, brandFolder(brandId))])
    return duck
  } catch (error) {
    duck.close()
    throw error
  }
}
