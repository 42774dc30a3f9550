import { createHash } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { type Duck, literal } from '../store/duckdb.ts'
import { chunksOf } from '../store/hash.ts'
import { BLOCK_BYTES, type RowHeader, type RowTable } from './row-file.ts'

/** A table by customer, and what is looked up of it. */
export interface LookedUp {
  /** With its schema. */
  name: string
  select: string
}

/**
 * Writes the rows of tables in the order of customers, and where they are. `replaced`: a table of those whose rows
 * elsewhere they replace, if any. What is returned needs no database: it adds where the rows are, and gives the hash.
 */
export async function writeRows(
  duck: Duck,
  path: string,
  tables: readonly LookedUp[],
  replaced: string | null,
): Promise<() => Promise<Buffer>> {
  const columns = await columnsOf(duck, tables)
  const parts = tables.map((table, number) => partOf(number, table, columns.get(number) ?? []))
  const header: RowHeader = { tables: parts.map(({ name, columns }) => ({ name, columns })) }
  const first = `select -1 as customer, ${literal(JSON.stringify(header))} as line`
  const lines = [first, ...parts.map((part) => part.lines)].join(' union all ')
  // As they are: a character below the space does not stand in JSON. Forced quotes of no character spare the search for
  // what would need them, a seventh of the time.
  await duck.run(
    `copy (select line from (${lines}) order by customer) to ${literal(path)}
     (format csv, header false, quote '', escape '', force_quote *, delimiter '\x01')`,
  )
  const elsewhere = replaced === null ? [] : await customersIn(duck, replaced)
  return () => addIndex(path, elsewhere)
}

interface Part extends RowTable {
  lines: string
}

const asItIs = (column: string) => column

/** Columns as JSON has them: of all types that models may give one that operations read. */
const SHOWN: Readonly<Record<string, (column: string) => string>> = {
  TINYINT: asItIs,
  SMALLINT: asItIs,
  INTEGER: asItIs,
  BIGINT: asItIs,
  HUGEINT: asItIs,
  UTINYINT: asItIs,
  USMALLINT: asItIs,
  UINTEGER: asItIs,
  UBIGINT: asItIs,
  UHUGEINT: asItIs,
  FLOAT: asItIs,
  DOUBLE: asItIs,
  BOOLEAN: asItIs,
  VARCHAR: asItIs,
  'VARCHAR[]': asItIs,
  JSON: (column) => `${column}::varchar`,
  DECIMAL: (column) => `${column}::varchar`,
  TIMESTAMP: (column) => `epoch_ms(${column})`,
}

interface Column {
  number: number
  column: string
  type: string
}

/** The columns of all tables but `customer`, by the table's number. */
async function columnsOf(duck: Duck, tables: readonly LookedUp[]): Promise<Map<number, Column[]>> {
  if (tables.length === 0) return new Map()
  const described = tables.map(
    ({ select }, number) =>
      `select ${number} as number, column_name as column, column_type as type
       from (describe ${select}) where column_name <> 'customer'`,
  )
  return Map.groupBy(await duck.rows<Column>(described.join(' union all ')), ({ number }) => number)
}

function partOf(number: number, { name, select }: LookedUp, columns: readonly Column[]): Part {
  const values = columns.map(({ column, type }) => {
    const show = SHOWN[type.replace(/\(.*\)$/, '')]
    if (!show) throw new Error(`${name}.${column}: a ${type} cannot be looked up`)
    return show(`"${column}"`)
  })
  return {
    name,
    columns: columns.map(({ column, type }) => ({ name: column, isTime: type === 'TIMESTAMP' })),
    lines: `select customer, customer || ':${number}' || json_array(${values.join(', ')})::varchar
      from (${select}) where customer is not null`,
  }
}

async function customersIn(duck: Duck, table: string): Promise<number[]> {
  const result = await duck.connection.runAndReadAll(
    `select customer from ${table} where customer is not null order by customer`,
  )
  return (result.getColumnsJS()[0] ?? []) as number[]
}

/** Reads the lines once, for their hash and for where blocks of them begin, and appends that. */
async function addIndex(path: string, replaced: readonly number[]): Promise<Buffer> {
  const hash = createHash('sha256')
  const blocks = createBlocks()
  for await (const chunk of chunksOf(path)) {
    hash.update(chunk)
    blocks.take(chunk)
  }
  const { firsts, places } = blocks
  const index = Float64Array.from([...firsts, ...places, ...replaced, firsts.length, replaced.length])
  const bytes = Buffer.from(index.buffer)
  await appendFile(path, bytes)
  return hash.update(bytes).digest()
}

const NEWLINE = 10
const COLON = 58

/** Finds a block every few kilobytes without a look at the lines between. */
function createBlocks() {
  const firsts: number[] = []
  const places: number[] = []
  let held = Buffer.alloc(0)
  /** Where what is held begins. */
  let begins = 0

  /** Undefined where that part of the line has not come yet. */
  const customerAt = (data: Buffer, at: number): number | undefined => {
    const end = data.indexOf(COLON, at)
    return end < 0 ? undefined : Number(data.toString('latin1', at, end))
  }
  /** The first line from `least` on that is of another customer than the one before it. */
  const nextBlock = (data: Buffer, least: number): [customer: number, at: number] | undefined => {
    let end = data.indexOf(NEWLINE, least)
    if (end < 0) return undefined
    const before = customerAt(data, data.lastIndexOf(NEWLINE, end - 1) + 1)
    for (; end >= 0; end = data.indexOf(NEWLINE, end + 1)) {
      const customer = customerAt(data, end + 1)
      if (customer === undefined) return undefined
      if (customer !== before) return [customer, end + 1]
    }
    return undefined
  }
  const add = (customer: number, at: number) => {
    if (customer <= (firsts.at(-1) ?? -1)) throw new Error('rows are not in the order of customers')
    firsts.push(customer)
    places.push(at)
  }

  return {
    firsts,
    places,
    take(chunk: Buffer): void {
      const data = held.length ? Buffer.concat([held, chunk]) : chunk
      for (;;) {
        const last = places.at(-1)
        // Before the first block stands the header.
        const found = nextBlock(data, last === undefined ? 0 : last - begins + BLOCK_BYTES)
        if (!found) break
        const [customer, at] = found
        add(customer, begins + at)
      }
      const from = (places.at(-1) ?? 0) - begins
      held = Buffer.from(data.subarray(from))
      begins += from
    },
  }
}
