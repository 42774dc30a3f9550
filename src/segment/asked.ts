import { RELATIONS, type RelationName, sourceName } from '../lake/relations.ts'
import { type Model, upstreamOf } from '../model/graph.ts'
import { type Duck, literal } from '../store/duckdb.ts'
import { rowsNamed } from './catalog.ts'
import { type AskedAtom, askedSql } from './dialect/duckdb/asked.ts'
import type { RowsAtom } from './formula.ts'
import type { Plan } from './plan.ts'
import { DATED_SOURCES, type DatedSource, passedBetween, slicesOfRows } from './slices.ts'

/*
 * Of a customer whose data changed most conditions are about other rows than those that did: their answers hold. Which
 * rows came, or were passed by time, is found once, and what each condition asks of one row is asked of these only.
 */

/** What changed, and since when time went on. */
export interface Moved {
  models: readonly Model[]
  /** Tick after which rows are new. */
  since: number
  from: Date
  asOf: Date
}

/** Conditions whose answers can be others than they were, by the table that says for whom. */
export interface AskedRows {
  /** Its columns: one for each condition, by id. */
  table: string
  ids: number[]
}

/** The events that came, as a staging model has them. */
export const addedOf = (relation: string) => `added_${relation}`
/** Those that time passed. */
const passedOf = (relation: string) => `passed_${relation}`
export const EVENTS = 'stg_events'

/**
 * Makes a table per staging model that conditions read: for whom their answers can be others. Conditions on anything
 * else are in none of them. Needs `changed_rows`.
 */
export async function openAskedRows(duck: Duck, { rows }: Plan, moved: Moved): Promise<AskedRows[]> {
  const isNew = [`tick > ${Math.trunc(moved.since)}`]
  await openEvents(duck, addedOf(EVENTS), EVENTS, moved.models, isNew)
  const found: AskedRows[] = []
  for (const [relation, atoms] of Map.groupBy(rows, ({ atom }) => rowsNamed(atom.source).relation.name)) {
    const asked = atoms.flatMap(({ id, atom }) => askedOf(id, atom, moved))
    const known =
      asked.length && moved.models.some(({ name, layer }) => name === relation && layer === 'staging')
    if (!known) continue
    const isEach = asked.every(isOfEvents)
    const spans = [...new Set(asked.flatMap(({ passed }) => passed.map(({ holds }) => holds)))]
    if (isEach) {
      await openEvents(duck, passedOf(relation), relation, moved.models, spans)
      if (relation !== EVENTS) await openEvents(duck, addedOf(relation), relation, moved.models, isNew)
    }
    const { text, values } = askedSql(
      asked,
      isEach
        ? { passed: passedOf(relation), added: addedOf(relation), changed: [] }
        : {
            passed: `(from ${relation} where ${['false', ...spans].join(' or ')})`,
            changed: changedOf(relation, asked, moved),
          },
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
  const passed = slices.map((slice) => ({ column: slice.column, holds: passedBetween(slice, from, asOf) }))
  return [{ id, atom, passed }]
}

/** Whether each row is an event, and time passes it by the time of the event. */
function isOfEvents({ atom, passed }: AskedAtom): boolean {
  const { events, time } = rowsNamed(atom.source)
  return events === 'each' && passed.every(({ column }) => column === time)
}

/**
 * A staging model over events that satisfy any of the tests. Files of events are of one time after the other: each is
 * read for few of the tests, and before anything is joined.
 */
async function openEvents(
  duck: Duck,
  view: string,
  relation: string,
  models: readonly Model[],
  tests: readonly string[],
): Promise<void> {
  const events = tests.map((test) => `from events where ${test}`).join(' union all ')
  const parts = upstreamOf([relation], models).map(({ name, sql, reads }) => {
    const own = reads.includes('events') ? `with events as (${events}) ` : ''
    return `${name} as (${own}select * from (\n${sql}\n))`
  })
  await duck.run(`create view ${view} as with ${parts.join(', ')} from ${relation}`)
}

/** SELECTs of customers whose rows of a relation may be others, since a row that they are made of is. */
function changedOf(relation: string, asked: readonly AskedAtom[], { models, from, asOf }: Moved): string[] {
  const read = new Set(upstreamOf([relation], models).flatMap(({ reads }) => reads))
  const sources = (Object.keys(RELATIONS) as RelationName[]).filter((one) => read.has(sourceName(one)))
  const types = asked.map(({ atom }) => rowsNamed(atom.source).events ?? 'each')
  const known = types.flatMap((events) => (events === 'each' ? [] : events))
  const ofTypes = types.includes('each') ? 'true' : `event_type in (${known.map(literal).join(', ')})`
  const whole = sources.filter((one) => one !== 'events')
  return [
    `select customer from changed_rows where relation in (${['', ...whole].map(literal).join(', ')})`,
    ...(sources.includes('events') ? [`select customer from ${addedOf(EVENTS)} where ${ofTypes}`] : []),
    ...sources.flatMap((source) => {
      if (!(source in DATED_SOURCES)) return []
      const slice = { relation: `stg_${source}`, column: DATED_SOURCES[source as DatedSource], lessDays: 0 }
      const tests = [passedBetween(slice, from, asOf), ...(source === 'events' ? [ofTypes] : [])]
      return [`select customer from ${slice.relation} where ${tests.join(' and ')}`]
    }),
  ]
}
