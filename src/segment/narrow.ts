import type { Duck } from '../store/duckdb.ts'
import { rowsNamed } from './catalog.ts'
import { columnsIn } from './expression.ts'
import type { Plan } from './plan.ts'

/** How the names of staging models begin; a plan reads marts too. */
const STAGED = 'stg_'

/**
 * Turns the staging models that a plan reads into tables of the rows that they show and the columns that the plan asks
 * for: worth it when they are restricted to few customers, who are then found once and not by each pass.
 */
export async function narrow(duck: Duck, plan: Plan): Promise<void> {
  // All of them, since some read others, which may lose columns.
  const wanted = [...columnsOf(plan)].filter(([relation]) => relation.startsWith(STAGED))
  for (const [relation, columns] of wanted)
    await duck.run(`create table ${relation}_rows as select ${[...columns].join(', ')} from ${relation}`)
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

/** Columns that a plan reads, by relation. */
function columnsOf({ rows }: Plan): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  const add = (relation: string, ...names: string[]) => {
    const columns = found.get(relation) ?? new Set<string>()
    for (const name of names) columns.add(name)
    found.set(relation, columns)
  }
  for (const atom of rows) {
    const { relation, time, lines, only } = rowsNamed(atom.source)
    const key = [...(time ? [time] : []), ...(lines ? [lines.key] : [])]
    add(relation.name, 'customer', ...key)
    if (lines) add(lines.name, 'customer', ...key)
    const { row, line, measure, holds } = atom
    for (const { of, name } of columnsIn([row, line, measure, holds, only]))
      add(of === 'line' && lines ? lines.name : relation.name, name)
  }
  return found
}
