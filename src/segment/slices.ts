import { sourceName } from '../lake/relations.ts'
import { instant } from '../store/duckdb.ts'
import { rowsNamed, SOURCES } from './catalog.ts'
import type { Expr } from './expression.ts'
import type { RowsAtom } from './formula.ts'
import type { Plan } from './plan.ts'

/**
 * Where the mere passing of time changes an answer: as the evaluation time moves on from one instant to another, for
 * rows of `relation` whose `column` lies between the two, each less `lessDays` × 24 hours.
 */
export interface Slice {
  relation: string
  column: string
  lessDays: number
}

/** That a row was passed, as SQL. Written out, the times are compared by the scans themselves, before anything is joined. */
export function passedBetween({ column, lessDays }: Slice, from: Date, to: Date): string {
  return `(${column} > ${instant(from, lessDays)} and ${column} <= ${instant(to, lessDays)})`
}

/** Times by which the staging model of a source leaves out what comes after as_of; rules and marts read what is left. */
export const DATED_SOURCES = {
  events: 'occurred_at',
  orders: 'created_at',
  refunds: 'created_at',
  checkouts: 'created_at',
  subscriptions: 'started_at',
  messages: 'created_at',
} as const
export type DatedSource = keyof typeof DATED_SOURCES

/** Rows that are ahead: no staging model shows them, nor what becomes of a message later than the row. */
export const DATED: readonly Slice[] = [
  ...Object.entries(DATED_SOURCES).map(([source, column]) => ({
    relation: sourceName(source as DatedSource),
    column,
    lessDays: 0,
  })),
  ...['sent_at', 'delivered_at'].map((column) => ({ relation: sourceName('messages'), column, lessDays: 0 })),
]

/** All slices of the rules of a plan and of the sources of the models that they read. */
export function slicesOf({ profile, rows }: Pick<Plan, 'profile' | 'rows'>): Slice[] {
  return different([
    ...DATED,
    ...slicesOfProfiles(profile),
    ...rows.flatMap(({ atom }) => slicesOfRows(atom)),
  ])
}

const different = (slices: readonly Slice[]): Slice[] => [
  ...new Map(slices.map((slice) => [JSON.stringify(slice), slice])).values(),
]

/** Of conditions on the customer's own row. */
export const slicesOfProfiles = (profile: Plan['profile']): Slice[] =>
  different(profile.flatMap(({ holds }) => moving(holds, SOURCES.customer_profile.relation.name)))

/** Of one condition on the customer's rows. */
export function slicesOfRows({ source, days, row, line, measure, holds }: RowsAtom): Slice[] {
  const { relation, time, lines } = rowsNamed(source)
  const lineRelation = lines?.name ?? relation.name
  const measured = measure.level === 'line' ? lineRelation : relation.name
  return [
    ...(time === undefined ? [] : [days, 0]).map((lessDays) => ({
      ...{ relation: relation.name, column: time as string },
      lessDays,
    })),
    ...row.flatMap((test) => moving(test, relation.name)),
    ...line.flatMap((test) => moving(test, lineRelation)),
    ...moving(holds, measured, measure.field?.reads),
  ]
}

/** Comparisons of a column with the evaluation time. `total`: what an aggregate is taken of; a row's own for min and max. */
function moving(expr: Expr, relation: string, total?: Expr): Slice[] {
  switch (expr.is) {
    case 'compare':
      return compared(expr.left.is === 'total' ? (total ?? expr.left) : expr.left, expr.right, relation)
    case 'oneOf':
      return expr.values.flatMap((value) => compared(expr.of, value, relation))
    case 'and':
    case 'or':
      return expr.parts.flatMap((part) => moving(part, relation, total))
    case 'not':
      return moving(expr.part, relation, total)
    case 'some':
      return moving(expr.holds, relation)
    default:
      return []
  }
}

/** Between the first time and the last one that there can be: the years 1 to 9999. */
const CALENDAR_DAYS = 3_700_000

function compared(left: Expr, right: Expr, relation: string): Slice[] {
  if (right.is === 'asOf') {
    if (left.is !== 'column')
      throw new Error(`when a comparison of ${left.is} with a moving time changes is not known`)
    return [{ relation, column: left.name, lessDays: right.lessDays }]
  }
  if (left.is !== 'daysSince') return []
  if (left.of.is !== 'column') throw new Error(`when days since ${left.of.is} change is not known`)
  const { name } = left.of
  if (right.is !== 'value' || right.value === null) return []
  // n whole days begin n × 24 hours after the time and end a day later; of a time ahead, a day before.
  const n = Math.floor(Number(right.value))
  // Beyond the calendar no time is passed, and no interval reaches.
  if (Math.abs(n) > CALENDAR_DAYS) return []
  return [n - 1, n, n + 1].map((lessDays) => ({ relation, column: name, lessDays }))
}
