import { join } from 'node:path'
import type { Published } from '../op.ts'
import { type Duck, literal, openDuck } from '../store/duckdb.ts'
import { beginLakeFile, brandFolder, type WrittenFile } from '../store/lake.ts'
import { Outrun } from './manifest.ts'
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

/** Bytes of a block; a short column takes one. */
const SMALL_BLOCK = 16_384

/** A read-only DuckDB file of results under way: a cache that lake and models can rebuild. */
export interface Serving {
  /** Where tables of the file are read from until it is finished. */
  name: string
  add(table: ServedTable, schema?: typeof ROWS | typeof WHOLE): Promise<void>
  finish(): Promise<WrittenFile>
  abandon(): Promise<void>
}

/** Begins a file in a session; one at a time. It is synced when it is finished, and of no use before: it needs no log. */
export async function openServing(lakeDir: string, { duck, manifest, isSmall }: Session): Promise<Serving> {
  const file = await beginLakeFile(lakeDir, brandFolder(manifest.brandId), 'served')
  const name = 'serving'
  const blocks = isSmall ? `, block_size ${SMALL_BLOCK}` : ''
  await duck.run(`attach ${literal(file.path)} as ${name} (recovery_mode 'no_wal_writes'${blocks})`)
  const abandon = async () => {
    await duck.run(`detach ${name}`).catch(() => {})
    await file.abandon()
  }
  return {
    name,
    abandon,
    add: async ({ name: table, select, columns }, schema = ROWS) => {
      const target = `${name}.${schema}.${table}`
      if (schema === WHOLE) await duck.run(`create schema if not exists ${name}.${schema}`)
      if (columns) await duck.run(`create table ${target} (${columns})`)
      await duck.run(columns ? `insert into ${target} ${select}` : `create table ${target} as ${select}`)
    },
    finish: async () => {
      try {
        await duck.run(`detach ${name}`)
        return await file.finish()
      } catch (error) {
        await abandon()
        // An erasure removes what is under way: it would hold the erased, and could not be published any more.
        throw (error as { code?: unknown }).code === 'ENOENT' ? new Outrun('refresh') : error
      }
    },
  }
}

/** Publishes tables of a session as one file. */
export async function writeServed(
  lakeDir: string,
  session: Session,
  tables: readonly ServedTable[],
): Promise<WrittenFile> {
  return await written(lakeDir, session, { [ROWS]: tables })
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
  return await written(lakeDir, session, { [ROWS]: [replaced, ...rows], [WHOLE]: whole })
}

async function written(
  lakeDir: string,
  session: Session,
  tables: Partial<Record<typeof ROWS | typeof WHOLE, readonly ServedTable[]>>,
): Promise<WrittenFile> {
  const serving = await openServing(lakeDir, session)
  try {
    for (const table of tables[ROWS] ?? []) await serving.add(table, ROWS)
    for (const table of tables[WHOLE] ?? []) await serving.add(table, WHOLE)
  } catch (error) {
    await serving.abandon()
    throw error
  }
  return await serving.finish()
}

/** The files of one generation, relative to the lake folder; those of models may be of an earlier refresh. */
export interface Generation {
  generation: number
  base_path: string
  changes_path: string | null
  /** Members of everyone whose row is of the base, when they are newer than it. */
  members_path?: string | null
  /** Not named: those above hold the marts as well. */
  models_base_path?: string
  models_changes_path?: string | null
  /** Marts of everyone, when they are newer than the base. */
  models_sums_path?: string | null
}

export const pathsOf = (generation: Omit<Generation, 'generation'>): Set<string> =>
  new Set(
    [
      generation.base_path,
      generation.changes_path,
      generation.members_path,
      generation.models_base_path,
      generation.models_changes_path,
      generation.models_sums_path,
    ].flatMap((path) => path ?? []),
  )

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

/** What the files of segments hold; all else is of models. */
const OF_SEGMENTS: ReadonlySet<string> = new Set(['customers', 'customer_marks', 'customer_texts', 'members'])

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
export async function attachGeneration(duck: Duck, lakeDir: string, generation: Generation): Promise<void> {
  const { base_path, changes_path, models_base_path = base_path, models_sums_path } = generation
  const models_changes_path =
    generation.models_base_path === undefined ? changes_path : generation.models_changes_path
  const attached = new Map<string, string>()
  const attach = async (path: string | null | undefined, as: string): Promise<string | null> => {
    if (!path) return null
    const known = attached.get(path)
    if (known) return known
    await duck.run(`attach ${literal(join(lakeDir, path))} as ${as} (read_only)`)
    attached.set(path, as)
    return as
  }
  const segments = { base: await attach(base_path, 'base'), changes: await attach(changes_path, 'changes') }
  const models = {
    base: await attach(models_base_path, 'models_base'),
    changes: await attach(models_changes_path, 'models_changes'),
  }
  const members = (await attach(generation.members_path, 'members_base')) ?? segments.base
  const sums = await attach(models_sums_path, 'models_sums')
  if (!changes_path) await duck.run(`attach ':memory:' as changes`)

  const tables = await duck.rows<{ at: string; schema: string; name: string }>(
    `select database_name as at, schema_name as schema, table_name as name from duckdb_tables()
     where database_name in ('base', 'changes', 'models_base', 'models_changes', 'models_sums')`,
  )
  const has = (at: string | null, schema: string, name: string) =>
    tables.some((table) => table.at === at && table.schema === schema && table.name === name)
  await duck.run('create schema published')
  for (const { part, isOurs } of [
    { part: segments, isOurs: (name: string) => OF_SEGMENTS.has(name) },
    { part: models, isOurs: (name: string) => !OF_SEGMENTS.has(name) },
  ]) {
    const { base, changes } = part
    const unchanged = has(changes, ROWS, 'replaced') ? await without(duck, `${changes}.replaced`) : ''
    for (const { at, name } of tables) {
      if (at !== base || !isOurs(name)) continue
      const everyone = `from ${name === 'members' ? members : base}.${name}`
      const rows = has(changes, WHOLE, name)
        ? `from ${changes}.${WHOLE}.${name}`
        : has(sums, ROWS, name)
          ? `from ${sums}.${name}`
          : has(changes, ROWS, name)
            ? `${everyone} ${unchanged} union all by name from ${changes}.${name}`
            : everyone
      await duck.run(`create view published.${name === 'customers' ? PLACED : name} as ${rows}`)
    }
  }
  await duck.run(`create view published.customers as select * exclude (position) from published.${PLACED}`)
  await duck.run(`create view published.base_members as from ${members}.members`)
  if (!changes_path) for (const table of NO_CHANGES) await duck.run(`create table changes.${table} limit 0`)
}

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
