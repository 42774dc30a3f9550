import { RELATIONS, type RelationName, sourceName } from '../lake/relations.ts'
import type { Session } from '../lake/session.ts'
import { type Model, upstreamOf } from '../model/graph.ts'
import { over } from '../model/over.ts'
import { isEdited } from '../model/shipped.ts'
import { literal } from '../store/duckdb.ts'
import { cameOf, EVENTS, type Moved, openCameOf } from './came.ts'
import { type Lines, rowsNamed } from './catalog.ts'
import { type AskedAtom, type AskedSources, askedSql, columnsOf, keyOfAsked } from './dialect/duckdb/asked.ts'
import type { Sql } from './dialect/duckdb/parameter.ts'
import type { RowsAtom } from './formula.ts'
import { linesOf } from './lines.ts'
import { openPassed, type Passing } from './passed.ts'
import type { Plan } from './plan.ts'
import { copiesIn } from './recent.ts'
import { DATED_SOURCES, type DatedSource, passedBetween, type Slice, slicesOfRows } from './slices.ts'

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
export async function openAskedRows(session: Session, { rows }: Plan, moved: Moved): Promise<AskedRows[]> {
  const { duck } = session
  const passing = { session, ...moved, copies: await copiesIn(duck) }
  const found: AskedRows[] = []
  for (const [relation, atoms] of Map.groupBy(rows, ({ atom }) => rowsNamed(atom.source).relation.name)) {
    const each = atoms.flatMap(({ id, atom }) => askedOf(id, atom, moved))
    const asked = [...Map.groupBy(each, keyOfAsked).values()].flat()
    const known =
      asked.length && moved.models.some(({ name, layer }) => name === relation && layer === 'staging')
    if (!known) continue
    const isEach = asked.every(isOfEvents)
    const { text, values } = isEach
      ? await openEach(passing, relation, asked)
      : askedSql(
          asked,
          {
            ...(await passedOf(passing, relation, asked)),
            changed: changedOf(relation, asked, moved.models),
          },
          moved.asOf,
        )
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

const slicesIn = (asked: readonly AskedAtom[]) => [
  ...new Map(asked.flatMap(({ passed }) => passed.map((each) => [each.holds, each]))).values(),
]

/** The rows that time passed, and their lines; these not where all rows of the relation are read. */
async function passedOf(
  passing: Passing,
  relation: string,
  asked: readonly AskedAtom[],
): Promise<Pick<AskedSources, 'passed' | 'lines'>> {
  const slices = slicesIn(asked)
  const source = sourcesDated.find((one) => relation === `stg_${one}`)
  if (!source || slices.some(({ column }) => column !== DATED_SOURCES[source]))
    return {
      passed: `(from ${relation} where ${['false', ...slices.map(({ holds }) => holds)].join(' or ')})`,
    }
  const ofLines = widestOf(asked)
  // Both are of the same rows: what has lines is slow to read.
  const columns = [...asked.flatMap(columnsOf), ...(ofLines ? madeOf(ofLines, passing.models, relation) : [])]
  const passed = await openPassed(passing, slices.map(of(relation)), { relation, source, columns })
  if (!ofLines) return { passed }
  return { passed, lines: `(${over(passing.models, ofLines.name, { [relation]: `from ${passed}` })})` }
}

/** Columns of rows that their lines follow from: any, where somebody edited the model. */
const madeOf = (lines: Lines, models: readonly Model[], relation: string): readonly string[] =>
  models.some((model) => model.name === lines.name && isEdited(model))
    ? models.flatMap(({ name, columns }) => (name === relation ? columns.map(([column]) => column) : []))
    : lines.madeOf

/** The lines that have all that is asked of one; undefined where nothing is. */
function widestOf(asked: readonly AskedAtom[]): Lines | undefined {
  const ofLines = asked.flatMap(({ atom }) => (atom.line.length > 0 ? atom : []))
  const read = ofLines.flatMap((atom) => linesOf(atom) ?? [])
  return read.find((lines) => ofLines.some(({ source }) => lines === rowsNamed(source).lines)) ?? read[0]
}

const of = (relation: string) => (slice: Omit<Slice, 'relation'>) => ({ ...slice, relation })

const sourcesDated = Object.keys(DATED_SOURCES) as DatedSource[]

/** Of rows each of which is an event: one that is no longer ahead has come. */
async function openEach(passing: Passing, relation: string, atoms: readonly AskedAtom[]): Promise<Sql> {
  if (relation !== EVENTS) await openCameOf(passing.session.duck, relation, passing.models)
  const asked = atoms.map((atom) => ({ ...atom, passed: atom.passed.filter(({ lessDays }) => lessDays > 0) }))
  const columns = asked.flatMap(columnsOf)
  const slices = slicesIn(asked).map(of(relation))
  const passed = await openPassed(passing, slices, { relation, source: 'events', columns })
  return askedSql(asked, { passed, came: cameOf(relation), changed: [] }, passing.session.asOf)
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
