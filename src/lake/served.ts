import { join } from 'node:path'
import type { Reader } from '../op.ts'
import { type Duck, literal, openDuck } from '../store/duckdb.ts'
import { brandFolder, type WrittenFile, writeLakeFile } from '../store/lake.ts'
import type { Pipeline } from './pipeline.ts'
import type { Session } from './session.ts'

/** Tables that single reads, sorted lists and member pages come from. */
export interface ServedTable {
  name: string
  select: string
  /** How the columns are stored, where that is not left to DuckDB. */
  columns?: string
}

/** Schemas of a file of changes: rows of touched customers, and tables that replace those of the base as a whole. */
const ROWS = 'main'
const WHOLE = 'whole'

/** Publishes tables of a session as one read-only DuckDB file: a cache that lake and models can rebuild. */
export async function writeServed(
  lakeDir: string,
  session: Session,
  tables: readonly ServedTable[],
): Promise<WrittenFile> {
  return await writeTables(lakeDir, session, { [ROWS]: tables })
}

/**
 * Publishes what differs from a base: of `rows`, tables with a column `customer`, the rows of the customers in the
 * session's table `replaced (customer)`; `whole` tables entirely.
 */
export async function writeChanges(
  lakeDir: string,
  session: Session,
  rows: readonly ServedTable[],
  whole: readonly ServedTable[],
): Promise<WrittenFile> {
  const replaced = { name: 'replaced', select: 'select customer from replaced order by customer' }
  return await writeTables(lakeDir, session, { [ROWS]: [replaced, ...rows], [WHOLE]: whole })
}

async function writeTables(
  lakeDir: string,
  { duck, manifest }: Session,
  schemas: Record<string, readonly ServedTable[]>,
): Promise<WrittenFile> {
  return await writeLakeFile(lakeDir, brandFolder(manifest.brandId), 'served', async (path) => {
    await duck.run(`attach ${literal(path)} as serving`)
    try {
      for (const [schema, tables] of Object.entries(schemas)) {
        await duck.run(`create schema if not exists serving.${schema}`)
        for (const { name, select, columns } of tables) {
          const table = `serving.${schema}.${name}`
          if (columns) await duck.run(`create table ${table} (${columns})`)
          await duck.run(columns ? `insert into ${table} ${select}` : `create table ${table} as ${select}`)
        }
      }
    } finally {
      await duck.run('detach serving')
    }
  })
}

/** The files of one generation, relative to the lake folder. */
export interface Generation {
  generation: number
  base_path: string
  changes_path: string | null
}

/** The newest generation of a brand, or the one asked for while cursors may still walk it; undefined before the first. */
export const generationOf = (
  { postgres }: Pick<Pipeline, 'postgres'>,
  brandId: string,
  wanted?: number,
): Promise<Generation | undefined> =>
  postgres.pipeline.maybe<Generation>('lake_served', [brandId, wanted ?? null])

/** To leave out those in a table of customers; rows of nobody when it has a null. */
export async function without(duck: Duck, table: string): Promise<string> {
  const [nobody] = await duck.rows(`select 1 from ${table} where customer is null limit 1`)
  return `anti join ${table} using (customer)${nobody ? ' where customer is not null' : ''}`
}

const PLACED = 'customers_placed'

/** What a generation without changes has of them: pages of members read both files. */
const NO_CHANGES = [
  'replaced as select customer from base.customers',
  'members as from base.members',
  'customers as from base.customers',
]

/**
 * Opens a generation's tables read-only, as tables and views of schema `published`. Customers have a position, their
 * place by customer id in the base: only `customers_placed` and members show it.
 */
export async function attachGeneration(
  duck: Duck,
  lakeDir: string,
  { base_path, changes_path }: Generation,
): Promise<void> {
  await duck.run(`attach ${literal(join(lakeDir, base_path))} as base (read_only)`)
  await duck.run(
    changes_path
      ? `attach ${literal(join(lakeDir, changes_path))} as changes (read_only)`
      : `attach ':memory:' as changes`,
  )
  const tables = await duck.rows<{ at: string; schema: string; name: string }>(
    `select database_name as at, schema_name as schema, table_name as name from duckdb_tables()
     where database_name in ('base', 'changes')`,
  )
  const has = (schema: string, name: string) =>
    tables.some((table) => table.at === 'changes' && table.schema === schema && table.name === name)
  const unchanged = has(ROWS, 'replaced') ? await without(duck, 'changes.replaced') : ''
  await duck.run('create schema published')
  for (const { at, name } of tables) {
    if (at !== 'base') continue
    const rows = has(WHOLE, name)
      ? `from changes.${WHOLE}.${name}`
      : has(ROWS, name)
        ? `from base.${name} ${unchanged} union all by name from changes.${name}`
        : `from base.${name}`
    await duck.run(`create view published.${name === 'customers' ? PLACED : name} as ${rows}`)
  }
  await duck.run(`create view published.customers as select * exclude (position) from published.${PLACED}`)
  if (!changes_path) for (const table of NO_CHANGES) await duck.run(`create table changes.${table} limit 0`)
}

/** Open generations kept per process; each costs a DuckDB instance of a few megabytes. */
const KEPT = 64
const READER_MEMORY_MB = 256

/** A reader may still be in a request's hands when a newer file replaces it: longer than any request. */
const GRACE_MS = 60_000

export interface Served {
  /**
   * The brand's published results; null before its first refresh. Of an earlier generation, for a walk that began in
   * it, as long as it is kept; then of the newest.
   */
  reader(brandId: string, generation?: number): Promise<Reader | null>
  close(): Promise<void>
}

/** Reads the published generations of brands: one locked instance each, the least recently used are closed. */
export function openServed(pipeline: Pipeline): Served {
  const open = new Map<string, Promise<Duck>>()
  const leaving = new Map<Promise<Duck>, NodeJS.Timeout>()

  const start = async (brandId: string, generation: Generation): Promise<Duck> => {
    const tempDir = join(pipeline.lakeDir, 'tmp', 'served')
    const duck = await openDuck({ memoryMb: READER_MEMORY_MB, threads: 1, tempDir })
    try {
      await attachGeneration(duck, pipeline.lakeDir, generation)
      await duck.run('use published')
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
  const leave = (key: string) => {
    const duck = open.get(key)
    open.delete(key)
    if (duck) leaving.set(duck, setTimeout(() => void close(duck), GRACE_MS).unref())
  }

  return {
    async reader(brandId, wanted) {
      const found = await generationOf(pipeline, brandId, wanted)
      if (!found) return null
      const key = `${brandId} ${found.base_path} ${found.changes_path}`
      const opened = open.get(key) ?? start(brandId, found)
      // Moved to the end: the first of the map is the least recently used.
      open.delete(key)
      open.set(key, opened)
      if (open.size > KEPT) leave(open.keys().next().value as string)
      try {
        const duck = await opened
        return { generation: found.generation, rows: (statement, values) => duck.rows(statement, values) }
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
