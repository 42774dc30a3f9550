import { type Duck, literal } from '../store/duckdb.ts'
import { beginLakeFile, brandFolder, type WrittenFile } from '../store/lake.ts'
import { unfinished } from './manifest.ts'
import type { Session } from './session.ts'

/** Tables that single reads, sorted lists and member pages come from. */
export interface ServedTable {
  name: string
  select: string
  /** Columns of texts that are stored as they are; of all others DuckDB finds out how they are compressed best. */
  plain?: readonly string[]
}

/** Schemas of a file of changes: rows of touched customers, and tables that replace those of the base as a whole. */
export const ROWS = 'main'
export const WHOLE = 'whole'

/** Bytes of a block; a short column takes one. */
const SMALL_BLOCK = 16_384

/** A read-only DuckDB file of results under way: a cache that lake and models can rebuild. */
export interface Serving {
  /** Where tables of the file are read from until it is finished. */
  name: string
  /** Returns how many rows the table has. */
  add(table: ServedTable, schema?: typeof ROWS | typeof WHOLE): Promise<number>
  finish(): Promise<WrittenFile>
  abandon(): Promise<void>
}

/** Begins a file in a session; one at a time. It is synced when it is finished, and of no use before: it needs no log. */
export async function openServing(lakeDir: string, { duck, manifest, isSmall }: Session): Promise<Serving> {
  const file = await beginLakeFile(lakeDir, brandFolder(manifest.brandId), 'served')
  const name = 'serving'
  // Only this version of DuckDB reads it: the newest ways to compress are the quickest.
  const stored = `recovery_mode 'no_wal_writes', storage_version 'latest'`
  const blocks = isSmall ? `, block_size ${SMALL_BLOCK}` : ''
  await duck.run(`attach ${literal(file.path)} as ${name} (${stored}${blocks})`)
  const abandon = async () => {
    await duck.run(`detach ${name}`).catch(() => {})
    await file.abandon()
  }
  return {
    name,
    abandon,
    add: async ({ name: table, select, plain = [] }, schema = ROWS) => {
      const target = `${name}.${schema}.${table}`
      if (schema === WHOLE) await duck.run(`create schema if not exists ${name}.${schema}`)
      const declared = !isSmall && plain.length > 0
      if (declared) await duck.run(`create table ${target} (${await columnsWith(duck, select, plain)})`)
      const [made] = await duck.rows<{ Count: number }>(
        declared ? `insert into ${target} ${select}` : `create table ${target} as ${select}`,
      )
      return made?.Count ?? 0
    },
    finish: async () => {
      try {
        if (!isSmall) await indexCustomers(duck, name)
        await duck.run(`detach ${name}`)
        return await file.finish()
      } catch (error) {
        await abandon()
        throw unfinished(error, 'refresh')
      }
    },
  }
}

/** The columns of a SELECT, of which some are stored as they are. */
async function columnsWith(duck: Duck, select: string, plain: readonly string[]): Promise<string> {
  const columns = await duck.rows<{ column_name: string; column_type: string }>(`describe ${select}`)
  return columns
    .map(({ column_name: name, column_type: type }) => `${name} ${type}${plain.includes(name) ? PLAIN : ''}`)
    .join(', ')
}

const PLAIN = ' using compression uncompressed'

/** Tables in which the rows of single customers are looked up. */
export const LOOKED_UP: ReadonlySet<string> = new Set([
  'customers',
  'profile_properties',
  'rfm',
  'churn',
  'customer_products',
])

/** Without an index a column is read for each row that is found: of a million customers 1 to 5 ms. */
async function indexCustomers(duck: Duck, file: string): Promise<void> {
  const tables = await duck.rows<{ name: string }>(
    `select schema_name || '.' || table_name as name from duckdb_tables()
     where database_name = ${literal(file)} and table_name in (${[...LOOKED_UP].map(literal).join(', ')})`,
  )
  for (const [n, { name }] of tables.entries())
    await duck.run(`create index by_customer_${n} on ${file}.${name} (customer)`)
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
