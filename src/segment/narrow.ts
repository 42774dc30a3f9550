import { type Duck, literal } from '../store/duckdb.ts'
import { rowsNamed } from './catalog.ts'
import { columnsIn } from './expression.ts'
import type { Plan } from './plan.ts'

/** How the names of staging models begin; a plan reads marts too. */
const STAGED = 'stg_'

/**
 * Turns the staging models that a plan reads into tables of the rows that its windows show and the columns that it asks
 * for: worth it when each is restricted to few customers, who are then found once and not by each pass.
 */
export async function narrow(
  duck: Duck,
  plan: Plan,
  asOf: Date,
  restricted: (relation: string) => Promise<void>,
): Promise<void> {
  // All of them, since some read others, which may lose columns.
  const wanted = [...readsOf(plan)].filter(([relation]) => relation.startsWith(STAGED))
  for (const [relation, { columns, time, days }] of wanted) {
    await restricted(relation)
    // Written out, it keeps what is older from being read at all.
    const recent = time
      ? ` where ${time} > timestamp ${literal(asOf.toISOString())} - to_days(${Math.trunc(days)})`
      : ''
    await duck.run(
      `create table ${relation}_rows as select ${[...columns].join(', ')} from ${relation}${recent}`,
    )
  }
  for (const [relation] of wanted) {
    await duck.run(`drop view ${relation}`)
    await duck.run(`alter table ${relation}_rows rename to ${relation}`)
  }
}

/** Drops the tables, so that views can take their names again. */
export async function widen(duck: Duck): Promise<void> {
  const tables = await duck.rows<{ name: string }>(
    `select table_name as name from duckdb_tables()
     where schema_name = 'main' and not temporary and starts_with(table_name, '${STAGED}')`,
  )
  for (const { name } of tables) await duck.run(`drop table ${name}`)
}

interface Read {
  columns: Set<string>
  /** Column that windows look at, and the longest of them. */
  time: string | undefined
  days: number
}

/** What a plan reads, by relation. */
function readsOf({ rows }: Plan): Map<string, Read> {
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
    const ofLines = lines && (line.length || measure.level === 'line') ? add(lines.name) : ofRows
    for (const { of, name } of columnsIn([row, line, measure, holds, only]))
      (of === 'line' ? ofLines : ofRows).add(name)
  }
  return found
}
