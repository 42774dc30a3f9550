import type { Published } from '../op.ts'
import type { Duck } from '../store/duckdb.ts'
import type { Places } from './generation.ts'

/** Connections that single rows are looked up over. */
const CONNECTIONS = 2

type Rows = Duck['rows']
type Found<Row> = Row & { customer: number }

/**
 * Looks up rows of customers where they are: the views over a base and its changes would look at all that changed each
 * time (50,000 customers: 3 to 5 ms).
 */
export async function openLookUps(duck: Duck, tables: Places): Promise<Published['of']> {
  const replaced = new Map<string, Int32Array>()
  for (const { changes } of tables.values())
    if (changes && !replaced.has(changes.replaced))
      replaced.set(changes.replaced, await customersIn(duck, changes.replaced))
  const find = together(await Promise.all(Array.from({ length: CONNECTIONS }, () => duck.beside())))

  return async <Row>(table: string, customers: readonly number[], what = '*', which = '') => {
    const { everyone, changes } = tables.get(table) ?? missing(table)
    const moved = changes && replaced.get(changes.replaced)
    const isMoved = (customer: number) => moved !== undefined && has(moved, customer)
    const select = (from: string) => ({ select: `select ${what} from ${from}`, which })
    const base = customers.filter((customer) => !isMoved(customer))
    const [theirs, others] = await Promise.all([
      base.length ? find<Row>(select(everyone), base) : [],
      changes && base.length < customers.length
        ? find<Row>(select(changes.rows), customers.filter(isMoved))
        : [],
    ])
    return others.length ? [...theirs, ...others] : theirs
  }
}

interface Statement {
  select: string
  which: string
}

/** One statement that waits, for all who ask the same of other customers meanwhile. */
interface Batch {
  statement: Statement
  customers: Set<number>
  found: PromiseWithResolvers<Map<number, Found<object>[]>>
}

/**
 * Who comes while all connections are taken shares a statement with those who ask the same: to plan one takes most of
 * its time, so that the more there is to do the less each takes.
 */
function together(connections: readonly { rows: Rows }[]) {
  const idle = connections.map(({ rows }) => rows)
  const waiting = new Map<string, Batch>()

  const work = async (rows: Rows) => {
    for (const [key, batch] of waiting) {
      waiting.delete(key)
      await run(rows, batch)
    }
    idle.push(rows)
  }
  return async <Row>(statement: Statement, customers: readonly number[]): Promise<Row[]> => {
    const key = `${statement.select} ${statement.which}`
    const batch = waiting.get(key) ?? { statement, customers: new Set(), found: Promise.withResolvers() }
    waiting.set(key, batch)
    for (const customer of customers) batch.customers.add(customer)
    const rows = idle.pop()
    if (rows) void work(rows)
    const found = await batch.found.promise
    return customers.flatMap((customer) => (found.get(customer) ?? []) as Row[])
  }
}

/** Of one customer a statement that stays prepared; of several they are written out: that way each is looked up. */
async function run(rows: Rows, { statement, customers, found }: Batch): Promise<void> {
  const { select, which } = statement
  const several = `in (${[...customers].map(Math.trunc).join(', ')})`
  try {
    const all = await (customers.size === 1
      ? rows<Found<object>>(`${select} where customer = $1::integer ${which}`, [...customers])
      : rows<Found<object>>(`${select} where customer ${several} ${which}`))
    found.resolve(Map.groupBy(all, ({ customer }) => customer))
  } catch (error) {
    found.reject(error)
  }
}

/** In ascending order. */
async function customersIn(duck: Duck, table: string): Promise<Int32Array> {
  const result = await duck.connection.runAndReadAll(
    `select customer from ${table} where customer is not null`,
  )
  return Int32Array.from((result.getColumnsJS()[0] ?? []) as number[]).sort()
}

function has(sorted: Int32Array, customer: number): boolean {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as number) < customer) low = middle + 1
    else high = middle
  }
  return sorted[low] === customer
}

function missing(table: string): never {
  throw new Error(`nothing is published of ${table}`)
}
