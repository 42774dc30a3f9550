import { type Duck, identifier, literal } from '../store/duckdb.ts'
import { beginLakeFile, beginLakeFileAt, brandFolder, type Reached, type WrittenFile } from '../store/lake.ts'
import { unfinished } from './manifest.ts'
import { rowFilePath } from './row-file.ts'
import { SMALL_BLOCK } from './sandbox.ts'
import type { Session } from './session.ts'
import { writeRows } from './write-rows.ts'

/** Tables that single reads, sorted lists and member pages come from. */
export interface ServedTable {
  name: string
  select: string
  /** Columns of texts that are stored as they are; of all others DuckDB finds out how they are compressed best. */
  plain?: readonly string[]
  /** What of it a view of its name shows from there on; default: there is none. */
  shown?: string
}

/** Schemas of a file of changes: rows of touched customers, and tables that replace those of the base as a whole. */
export const ROWS = 'main'
export const WHOLE = 'whole'

/** A file of results, and beside it the rows that are looked up of it, where there are any. */
export interface WrittenServed extends WrittenFile {
  beside: WrittenFile | null
}

/** A read-only DuckDB file of results under way: a cache that lake and models can rebuild. */
export interface Serving {
  /** Where tables of the file are read from until it is finished. */
  name: string
  /** Adds tables. Returns how many rows the last one has, where no view shows it. */
  add(tables: readonly ServedTable[], schema?: typeof ROWS | typeof WHOLE): Promise<number>
  finish(): Promise<WrittenServed>
  abandon(): Promise<void>
}

/** Begins a file in a session; one at a time. It is synced when it is finished, and of no use before: it needs no log. */
export async function openServing({ duck, manifest, isSmall, lake }: Session): Promise<Serving> {
  const file = await beginLakeFile(lake, brandFolder(manifest.brandId), 'served', 'duckdb')
  const name = 'serving'
  // Only this version of DuckDB reads it: the newest ways to compress are the quickest.
  const stored = `recovery_mode 'no_wal_writes', storage_version 'latest'`
  const blocks = isSmall ? `, block_size ${SMALL_BLOCK}` : ''
  await duck.run(`attach ${literal(file.path)} as ${name} (${stored}${blocks})`)
  const tables: Named[] = []
  const abandon = async () => {
    await duck.run(`detach ${name}`).catch(() => {})
    await file.abandon()
  }
  return {
    name,
    abandon,
    add: async (added, schema = ROWS) => {
      // One text: to plan few rows' statements one by one takes longer.
      const statements = schema === WHOLE ? [`create schema if not exists ${name}.${schema}`] : []
      for (const { name: table, select, plain = [], shown } of added) {
        const target = `${name}.${schema}.${table}`
        if (isSmall || plain.length === 0) statements.push(`create table ${target} as ${select}`)
        else {
          const columns = await columnsWith(duck, select, plain)
          statements.push(`create table ${target} (${columns})`, `insert into ${target} ${select}`)
        }
        if (shown) statements.push(`create or replace view ${table} as select ${shown} from ${target}`)
        tables.push({ schema, table })
      }
      const [last] = added.length ? await duck.rows<{ Count: number }>(statements.join('\n;\n')) : []
      return last?.Count ?? 0
    },
    finish: async () => {
      try {
        const finishBeside = await writeLookedUp(duck, lake, { name, path: file.final, tables })
        // Both are read once more for their hashes, each by a thread.
        const [written, beside] = await Promise.all([
          duck.run(`detach ${name}`).then(() => file.finish()),
          finishBeside?.() ?? null,
        ])
        return { ...written, beside }
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
    .map(
      ({ column_name: name, column_type: type }) =>
        `${identifier(name)} ${type}${plain.includes(name) ? PLAIN : ''}`,
    )
    .join(', ')
}

const PLAIN = ' using compression uncompressed'

/** Tables in which the rows of single customers are looked up, with the columns that operations read there. */
const LOOKED_UP: Readonly<Record<string, { what: string; by?: string }>> = {
  customers: {
    what: `customer, customer_id, store_customer_id, email, phone, first_name, last_name, tags, provenance, total_spend,
      orders_count, average_order_value, currency_code, first_order_at, last_order_at, last_event_at, created_at, updated_at`,
  },
  profile_properties: { what: 'customer, properties' },
  rfm: { what: 'customer, recency_score, frequency_score, monetary_score, tier' },
  churn: {
    what: 'customer, days_since_last_order, median_inter_order_days, brand_median_inter_order_days, at_risk_score, at_risk',
  },
  customer_products: {
    what: 'customer, product_id, title, quantity, order_count, customer_count, revenue, repeat_purchase_rate',
  },
  orders: { what: 'customer, count(*) as orders', by: 'customer' },
}

/** Of a file of changes: whose rows they replace. */
const REPLACED = 'replaced'

export const lookedUpTables = Object.keys(LOOKED_UP)

/** What is looked up of rows that are a table's. */
export function lookedUpSql(table: string, rows: string): string {
  const { what, by } = LOOKED_UP[table] ?? missing(table)
  return `select ${what} from ${rows}${by ? ` group by ${by}` : ''}`
}

function missing(table: string): never {
  throw new Error(`nothing is looked up of ${table}`)
}

interface Named {
  schema: string
  table: string
}

/** Writes the rows that are looked up of a file that is under way. What is returned finishes theirs. */
async function writeLookedUp(
  duck: Duck,
  lake: Reached,
  { name, path, tables }: { name: string; path: string; tables: readonly Named[] },
): Promise<(() => Promise<WrittenFile>) | null> {
  const replacing = tables.some(({ table }) => table === REPLACED)
  const lookedUp = tables
    .filter(({ table }) => table in LOOKED_UP)
    .map(({ schema, table }) => ({
      name: `${schema}.${table}`,
      select: lookedUpSql(table, `${name}.${schema}.${table}`),
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
  if (lookedUp.length === 0 && !replacing) return null
  const file = await beginLakeFileAt(lake, rowFilePath(path))
  const orAbandon = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      await file.abandon()
      throw error
    }
  }
  return await orAbandon(async () => {
    const replaced = replacing ? `${name}.${ROWS}.${REPLACED}` : null
    const addIndex = await writeRows(duck, file.path, lookedUp, replaced)
    return () => orAbandon(async () => await file.finish(await addIndex()))
  })
}

/**
 * Publishes what differs from a base: of `rows`, tables with a column `customer`, the rows of the customers in the
 * session's table `replaced (customer)`; `whole` tables entirely.
 */
export async function writeChanges(
  session: Session,
  rows: readonly ServedTable[],
  whole: readonly ServedTable[],
): Promise<WrittenServed> {
  const replaced = { name: REPLACED, select: 'select customer from replaced order by customer' }
  return await writeServing(session, async (serving) => {
    await serving.add([replaced, ...rows], ROWS)
    await serving.add(whole, WHOLE)
  })
}

/** Publishes what is added to one file. */
export async function writeServing(
  session: Session,
  fill: (serving: Serving) => Promise<void>,
): Promise<WrittenServed> {
  const serving = await openServing(session)
  try {
    await fill(serving)
  } catch (error) {
    await serving.abandon()
    throw error
  }
  return await serving.finish()
}
