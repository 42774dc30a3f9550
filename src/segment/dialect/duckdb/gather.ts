import { rowsNamed } from '../../catalog.ts'
import { columnsIn, type Expr, oneOf, value } from '../../expression.ts'
import { type Pass, YEAR } from '../../pass.ts'
import type { Sql } from './parameter.ts'
import { columns, placeOf, Since, testsSql } from './since.ts'
import { any, spell } from './spell.ts'

/** So many passes over all rows of one source are worth it to read these once, into memory; lookups take few of them. */
const PASSES_FROM = 3

/** The rows of one source that several passes read: of possible members, within the longest of the passes' windows. */
export interface Gathered extends Sql {
  name: string
  passes: ReadonlySet<Pass>
}

/** Of more than a year they would be too many for it. */
export function gatheredOf(passes: readonly Pass[], asOf: Date): Gathered[] {
  const read = passes.filter(
    (pass) => pass.level === 'row' && daysOf(pass) <= YEAR && rowsNamed(pass.source).time !== undefined,
  )
  return [...Map.groupBy(read, ({ source }) => source).values()].flatMap((group) =>
    group.filter(({ is }) => is !== 'lookup').length < PASSES_FROM ? [] : [gatheredFrom(group, asOf)],
  )
}

const daysOf = (pass: Pass): number =>
  pass.is === 'lookup' ? Math.max(...pass.entries.map(({ days }) => days)) : pass.days

/** What holds for every row that a pass looks at. */
function neededBy(pass: Pass): Expr[] {
  if (pass.is === 'distinct') return []
  if (pass.is === 'scan') return pass.only
  const values = pass.entries.flatMap((entry) => entry.values)
  return [
    oneOf(
      pass.on,
      values.map((text) => value('text', text)),
    ),
  ]
}

function gatheredFrom(passes: readonly Pass[], asOf: Date): Gathered {
  const [first] = passes
  if (!first) throw new Error('an empty group')
  const { relation, time, only } = rowsNamed(first.source)
  const { row, from, ofMembers } = placeOf(first)
  const since = new Since(asOf)
  const scope = since.scope(row, row)
  const days = Math.max(...passes.map(daysOf))
  const read = new Set(['customer', time as string, ...columnsIn([passes, only]).map(({ name }) => name)])
  const ofEach = passes.map(neededBy)
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
