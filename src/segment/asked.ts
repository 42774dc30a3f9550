import { RELATIONS, type RelationName, sourceName } from '../lake/relations.ts'
import { type Model, upstreamOf } from '../model/graph.ts'
import { over } from '../model/over.ts'
import { type Duck, literal } from '../store/duckdb.ts'
import { cameOf, EVENTS, type Moved, openCameOf } from './came.ts'
import { rowsNamed } from './catalog.ts'
import { type AskedAtom, type AskedSources, askedSql, columnsOf } from './dialect/duckdb/asked.ts'
import type { Sql } from './dialect/duckdb/parameter.ts'
import type { RowsAtom } from './formula.ts'
import type { Plan } from './plan.ts'
import { DATED_SOURCES, type DatedSource, passedBetween, slicesOfRows } from './slices.ts'

/*
 * Of a customer whose data changed most conditions are about other rows than those that did: their answers hold. Which
 * rows came, or were passed by time, is found once, and what each condition asks of one row is asked of these only.
 */

/** Conditions whose answers can be others than they were, by the table that says for whom. */
export interface AskedRows {
  table: string
  /** In the order of its bits. */
  ids: number[]
}

/**
 * Makes a table per staging model that conditions read: for whom their answers can be others. Conditions on anything
 * else are in none of them. Needs `changed_rows`, and the events that came.
 */
export async function openAskedRows(duck: Duck, { rows }: Plan, moved: Moved): Promise<AskedRows[]> {
  const found: AskedRows[] = []
  for (const [relation, atoms] of Map.groupBy(rows, ({ atom }) => rowsNamed(atom.source).relation.name)) {
    const asked = atoms.flatMap(({ id, atom }) => askedOf(id, atom, moved))
    const known =
      asked.length && moved.models.some(({ name, layer }) => name === relation && layer === 'staging')
    if (!known) continue
    const isEach = asked.every(isOfEvents)
    const { text, values } = isEach
      ? await openEach(duck, relation, asked, moved.models)
      : askedSql(asked, {
          ...(await openPassed(duck, relation, asked, moved.models)),
          changed: changedOf(relation, asked, moved.models),
        })
    const table = `asked_${relation}`
    await duck.run(`create table ${table} as ${text}`, values)
    found.push({ table, ids: asked.map(({ id }) => id) })
  }
  return found
}

/** None where time passes rows of another relation: its answer is looked at whenever its customer is. */
function askedOf(id: number, atom: RowsAtom, { from, asOf }: Moved): AskedAtom[] {
  const { relation } = rowsNamed(atom.source)
  const slices = slicesOfRows(atom)
  if (slices.some((slice) => slice.relation !== relation.name)) return []
  const passed = slices.map((slice) => ({ ...slice, holds: passedBetween(slice, from, asOf) }))
  return [{ id, atom, passed }]
}

const spansOf = (asked: readonly AskedAtom[]) => [
  ...new Set(asked.flatMap(({ passed }) => passed.map(({ holds }) => holds))),
]

/** The rows that time passed, and their lines; these not where all rows of the relation are read. */
async function openPassed(
  duck: Duck,
  relation: string,
  asked: readonly AskedAtom[],
  models: readonly Model[],
): Promise<Pick<AskedSources, 'passed' | 'lines'>> {
  const source = sourcesDated.find((one) => relation === `stg_${one}`)
  const column = source && DATED_SOURCES[source]
  if (!source || !asked.every(({ passed }) => passed.every((each) => each.column === column)))
    return { passed: `(from ${relation} where ${['false', ...spansOf(asked)].join(' or ')})` }
  const passed = passedSql(relation, asked, models, source)
  const [{ lines } = {}] = asked.map(({ atom }) => rowsNamed(atom.source))
  if (!lines || asked.every(({ atom }) => atom.line.length === 0)) return { passed: `(${passed})` }
  // Both are of the same rows: what has lines is slow to read.
  const table = `passed_${relation}`
  const columns = new Set([...asked.flatMap(columnsOf), ...lines.madeOf])
  await duck.run(`create table ${table} as select ${[...columns].join(', ')} from (${passed})`)
  return { passed: table, lines: `(${over(models, lines.name, { [relation]: `from ${table}` })})` }
}

const sourcesDated = Object.keys(DATED_SOURCES) as DatedSource[]

/** Files are sorted by quarter: for each span few rows of a source are read that has the time by which they pass. */
function passedSql(
  relation: string,
  asked: readonly AskedAtom[],
  models: readonly Model[],
  source: DatedSource,
): string {
  const name = sourceName(source)
  const rows = ['false', ...spansOf(asked)].map((span) => `from ${name} where ${span}`)
  return over(models, relation, { [name]: rows.join(' union all ') })
}

/** Of rows each of which is an event: one that is no longer ahead has come. */
async function openEach(
  duck: Duck,
  relation: string,
  atoms: readonly AskedAtom[],
  models: readonly Model[],
): Promise<Sql> {
  if (relation !== EVENTS) await openCameOf(duck, relation, models)
  const asked = atoms.map((atom) => ({ ...atom, passed: atom.passed.filter(({ lessDays }) => lessDays > 0) }))
  const passed = `(${passedSql(relation, asked, models, 'events')})`
  return askedSql(asked, { passed, came: cameOf(relation), changed: [] })
}

/** Whether each row is an event, and time passes it by the time of the event. */
function isOfEvents({ atom, passed }: AskedAtom): boolean {
  const { events, time } = rowsNamed(atom.source)
  return events === 'each' && passed.every(({ column }) => column === time)
}

/** SELECTs of customers whose rows of a relation may be others, since a row that they are made of is. */
function changedOf(relation: string, asked: readonly AskedAtom[], models: readonly Model[]): string[] {
  const read = new Set(upstreamOf([relation], models).flatMap(({ reads }) => reads))
  const sources = (Object.keys(RELATIONS) as RelationName[]).filter((one) => read.has(sourceName(one)))
  const types = asked.map(({ atom }) => rowsNamed(atom.source).events ?? 'each')
  const known = types.flatMap((events) => (events === 'each' ? [] : events))
  const ofTypes = types.includes('each') ? 'true' : `event_type in (${known.map(literal).join(', ')})`
  const whole = sources.filter((one) => one !== 'events')
  return [
    ...['changed_rows', 'dated_rows'].map(
      (rows) => `select customer from ${rows} where relation in (${['', ...whole].map(literal).join(', ')})`,
    ),
    ...(sources.includes('events') ? [`select customer from ${cameOf(EVENTS)} where ${ofTypes}`] : []),
  ]
}
