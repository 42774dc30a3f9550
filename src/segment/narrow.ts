import { type Duck, instant } from '../store/duckdb.ts'
import { rowsNamed } from './catalog.ts'
import { columnsIn } from './expression.ts'
import { linesOf } from './lines.ts'
import type { Plan } from './plan.ts'

/** How the names of staging models begin; a plan reads marts too. */
const STAGED = 'stg_'

export interface Narrowing {
  duck: Duck
  asOf: Date
  /** Restricts a staging model to customers whose answers need rows that are older than so many days. */
  restrict(relation: string, olderThan: number): Promise<void>
  /** Days of a relation that most customers need; all when it is not worth it to read older rows by themselves. */
  mostNeed(relation: string): number | undefined
}

/**
 * Turns the staging models that a plan reads into tables of the rows that its windows show and the columns that it asks
 * for: worth it when each is restricted to few customers, who are then found once and not by each pass.
 */
export async function narrow(narrowing: Narrowing, plan: Plan): Promise<void> {
  const { duck } = narrowing
  // All of them, since some read others, which may lose columns.
  const wanted = [...readsOf(plan)].filter(([relation]) => relation.startsWith(STAGED))
  for (const [relation, read] of wanted) await readRows(narrowing, relation, read)
  for (const [relation] of wanted) {
    await duck.run(`drop view ${relation}`)
    await duck.run(`alter table ${relation}_rows rename to ${relation}`)
  }
}

/** Fills `<relation>_rows`. */
async function readRows(
  { duck, asOf, restrict, mostNeed }: Narrowing,
  relation: string,
  read: Read,
): Promise<void> {
  const { time, days } = read
  const recent = (time && mostNeed(relation)) || days
  await restrict(relation, 0)
  await duck.run(`create table ${relation}_rows as ${narrowed(relation, { ...read, days: recent }, asOf)}`)
  if (!time || recent >= days) return
  await restrict(relation, recent)
  await duck.run(
    `insert into ${relation}_rows ${narrowed(relation, read, asOf)} and ${time} <= ${instant(asOf, recent)}`,
  )
}

/** Drops the tables, so that views can take their names again. */
export async function widen(duck: Duck): Promise<void> {
  const tables = await duck.rows<{ name: string }>(
    `select table_name as name from duckdb_tables()
     where schema_name = 'main' and not temporary and starts_with(table_name, '${STAGED}')`,
  )
  for (const { name } of tables) await duck.run(`drop table ${name}`)
}

export interface Read {
  columns: Set<string>
  /** Column that windows look at, and the longest of them. */
  time: string | undefined
  days: number
}

/** Of some rows only what is read. Written out, the time keeps what is older from being read at all. */
export function narrowed(rows: string, { columns, time, days }: Read, asOf: Date): string {
  const recent = time ? ` where ${time} > ${instant(asOf, days)}` : ''
  return `select ${[...columns].join(', ')} from ${rows}${recent}`
}

/** What a plan reads, by relation. */
export function readsOf({ rows }: Plan): Map<string, Read> {
  const found = new Map<string, Read>()
  for (const { atom } of rows) {
    const { relation, time, lines, only } = rowsNamed(atom.source)
    const { row, line, measure, holds } = atom
    const key = [...(time ? [time] : []), ...(lines ? [lines.key] : [])]
    const add = (name: string) => {
      const read = found.get(name) ?? { columns: new Set(['customer']), time, days: 0 }
      read.days = Math.max(read.days, atom.days)
      for (const column of key) read.columns.add(column)
      found.set(name, read)
      return read.columns
    }
    const ofRows = add(relation.name)
    const linesRead = linesOf(atom)
    const ofLines = linesRead ? add(linesRead.name) : ofRows
    for (const { of, name } of columnsIn([row, line, measure, holds, only]))
      (of === 'line' ? ofLines : ofRows).add(name)
  }
  return found
}
