import { rowsNamed } from '../../catalog.ts'
import { columnsIn } from '../../expression.ts'
import type { Distinct, Pass, Scan } from '../../pass.ts'
import type { Sql } from './parameter.ts'
import { columns, placeOf, Since, testsSql } from './since.ts'
import { any, spell } from './spell.ts'

/** So many passes over the rows of one source are worth it to read these once, into memory. */
const PASSES_FROM = 3

/** The rows of one source that several passes read: of possible members, within the longest of the passes' windows. */
export interface Gathered extends Sql {
  name: string
  passes: ReadonlySet<Pass>
}

/** Lookups are no part of it: their windows are often longer, and the values that they look for find few rows. */
export function gatheredOf(passes: readonly Pass[], asOf: Date): Gathered[] {
  const read = passes.filter(
    (pass): pass is Scan | Distinct =>
      pass.is !== 'lookup' && pass.level === 'row' && rowsNamed(pass.source).time !== undefined,
  )
  return [...Map.groupBy(read, ({ source }) => source).values()].flatMap((group) =>
    group.length < PASSES_FROM ? [] : [gatheredFrom(group, asOf)],
  )
}

function gatheredFrom(passes: readonly (Scan | Distinct)[], asOf: Date): Gathered {
  const [first] = passes
  if (!first) throw new Error('an empty group')
  const { relation, time, only } = rowsNamed(first.source)
  const { row, from, ofMembers } = placeOf(first)
  const since = new Since(asOf)
  const scope = since.scope(row, row)
  const days = Math.max(...passes.map((pass) => pass.days))
  const read = new Set(['customer', time as string, ...columnsIn([passes, only]).map(({ name }) => name)])
  const ofEach = passes.map((pass) => (pass.is === 'scan' ? pass.only : []))
  const where = [
    `${row}.${time} > ${since.start(days)}`,
    `${row}.${time} <= ${since.start(0)}`,
    ...(only ? [spell(only, scope)] : []),
    ...(ofEach.every(({ length }) => length) ? [any(ofEach.map((tests) => testsSql(tests, scope)))] : []),
  ]
  const text = [
    `select ${columns([...read].map((name) => `${row}.${name}`))}`,
    `from ${from}${ofMembers}, params`,
    `where ${where.join('\n  and ')}`,
  ].join('\n')
  return {
    name: `segment_rows_of_${relation.name}`,
    passes: new Set(passes),
    text,
    values: since.binding.values,
  }
}
