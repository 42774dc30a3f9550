import { read } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { lastUpTo } from './last-up-to.ts'

/**
 * Rows of single customers, found without a database: to plan a statement, however small, takes ten times as long as
 * all else of a look-up. Beside each file of tables by customer lies one of lines, in the order of the customers:
 *
 *   the header, JSON; then of each row  <customer>:<number of its table><its other values, a JSON array>
 *   then, as doubles: the first customer of each block of lines; where each block begins; whose rows elsewhere these
 *   replace, in order; how many blocks and how many replaced customers there are.
 *
 * All lines of a customer are in one block.
 */
export interface RowHeader {
  tables: RowTable[]
}

export interface RowTable {
  /** With its schema. */
  name: string
  /** But `customer`. */
  columns: RowColumn[]
}

export interface RowColumn {
  name: string
  /** Milliseconds. */
  isTime: boolean
}

/** Least size of a block but the last: few pages. */
export const BLOCK_BYTES = 8_192

export const rowFilePath = (served: string) => served.replace(/\.duckdb$/, '.rows')

/** Node reads it, DuckDB does not. */
export const isRowFile = (path: string): boolean => path.endsWith('.rows')

const DOUBLE = 8
const NEWLINE = 10
const BRACKET = 91
const HEADER_BYTES = 16_384

/** Columns by their names, `customer` among them; TIMESTAMP is a Date, DECIMAL a decimal string. */
type Row = Record<string, unknown>

/** The rows of one customer in a table. */
export type RowsOf = (table: string) => Row[]

export interface RowFile {
  has(table: string): boolean
  replaces(customer: number): boolean
  /** By one read. */
  rows(customer: number): Promise<RowsOf>
  close(): Promise<void>
}

export async function openRowFile(path: string): Promise<RowFile> {
  const file = await open(path, 'r')
  try {
    return reading(file, await indexOf(file))
  } catch (error) {
    await file.close()
    throw error
  }
}

interface Index {
  tables: ReadonlyMap<string, { number: string; columns: RowColumn[] }>
  /** First customers of blocks. */
  firsts: Float64Array
  /** Where each block begins. */
  places: Float64Array
  replaced: Float64Array
  /** Where the last block ends. */
  end: number
}

async function indexOf(file: FileHandle): Promise<Index> {
  const { size } = await file.stat()
  const doubles = async (count: number, before: number) => {
    const found = new Float64Array(count)
    await file.read(new Uint8Array(found.buffer), 0, count * DOUBLE, before - count * DOUBLE)
    return found
  }
  const [blocks = 0, replaced = 0] = await doubles(2, size)
  const count = 2 * blocks + replaced
  const index = await doubles(count, size - 2 * DOUBLE)
  const first = Buffer.alloc(Math.min(size, HEADER_BYTES))
  await file.read(first, 0, first.length, 0)
  const header = JSON.parse(first.toString('utf8', 0, first.indexOf(NEWLINE))) as RowHeader
  return {
    tables: new Map(header.tables.map(({ name, columns }, n) => [name, { number: String(n), columns }])),
    firsts: index.subarray(0, blocks),
    places: index.subarray(blocks, 2 * blocks),
    replaced: index.subarray(2 * blocks),
    end: size - (2 + count) * DOUBLE,
  }
}

/** Buffers of blocks that were read, for the next ones: collecting those of a page of customers takes 3 ms, at times 20. */
const spare: Buffer[] = []
const MOST_SPARE = 128
const SPARE_BYTES = 2 * BLOCK_BYTES

const takeBuffer = (bytes: number): Buffer =>
  bytes > SPARE_BYTES ? Buffer.allocUnsafeSlow(bytes) : (spare.pop() ?? Buffer.allocUnsafeSlow(SPARE_BYTES))

function giveBuffer(buffer: Buffer): void {
  if (buffer.length === SPARE_BYTES && spare.length < MOST_SPARE) spare.push(buffer)
}

function reading(file: FileHandle, { tables, firsts, places, replaced, end }: Index): RowFile {
  /** What is made of the block that would have a customer's lines, from the end of the line before it. */
  const inBlock = <T>(customer: number, make: (block: Buffer) => T): Promise<T> => {
    const n = lastUpTo(firsts, customer)
    const from = (places[n] ?? 1) - 1
    const bytes = n < 0 ? 0 : (places[n + 1] ?? end) - from
    const whole = takeBuffer(bytes)
    return new Promise((resolve, reject) =>
      read(file.fd, whole, 0, bytes, from, (error, found) => {
        if (error) return reject(error)
        try {
          resolve(make(whole.subarray(0, found)))
        } catch (failure) {
          reject(failure)
        }
        giveBuffer(whole)
      }),
    )
  }
  return {
    has: (table) => tables.has(table),
    replaces: (customer) => replaced[lastUpTo(replaced, customer)] === customer,
    rows: async (customer) => {
      const lines = await inBlock(customer, (block) => linesOf(block, customer))
      return (table) => {
        const { number, columns } = tables.get(table) ?? missing(table)
        return lines
          .filter((line) => line.number === number)
          .map(({ values }) => rowOf(customer, columns, JSON.parse(values)))
      }
    },
    close: () => file.close(),
  }
}

interface Line {
  number: string
  values: string
}

function linesOf(block: Buffer, customer: number): Line[] {
  const start = `\n${customer}:`
  const lines: Line[] = []
  for (let at = block.indexOf(start, 0, 'latin1'); at >= 0; ) {
    const values = block.indexOf(BRACKET, at)
    const end = block.indexOf(NEWLINE, values)
    const number = block.toString('latin1', at + start.length, values)
    lines.push({ number, values: block.toString('utf8', values, end) })
    at = block.toString('latin1', end, end + start.length) === start ? end : -1
  }
  return lines
}

function rowOf(customer: number, columns: readonly RowColumn[], values: readonly unknown[]): Row {
  const row: Row = { customer }
  columns.forEach(({ name, isTime }, n) => {
    const value = values[n]
    row[name] = isTime && value !== null ? new Date(value as number) : value
  })
  return row
}

function missing(table: string): never {
  throw new Error(`no rows of ${table} are published`)
}
