import type { Expr } from '../../expression.ts'
import type { Measure } from '../../tree.ts'
import type { Binding } from './parameter.ts'

/** Where an expression stands: what its columns, times and aggregate are called there. */
export interface Scope {
  row: string
  line: string
  binding: Binding
  /** The evaluation time less N × 24 hours. */
  asOf(lessDays: number): string
  currency: string
  total?: string
  /** Of `average`. */
  sum?: string
  count?: string
}

/** DuckDB's SQL of a primitive. A comparison with something missing is NULL, which counts as false. */
export function spell(expr: Expr, scope: Scope): string {
  const of = (part: Expr) => spell(part, scope)
  switch (expr.is) {
    case 'column':
      return `${expr.of === 'line' ? scope.line : scope.row}.${expr.name}`
    case 'element':
      return 'element'
    case 'total':
      return known(scope.total)
    case 'average':
      throw new Error('an average stands only on the left of a comparison')
    case 'value':
      return scope.binding.value(expr.type, expr.value)
    case 'asOf':
      return scope.asOf(expr.lessDays)
    case 'daysSince':
      return `date_sub('day', ${of(expr.of)}, ${scope.asOf(0)})`
    case 'compare':
      // sum ÷ count = value without the rounding of a division.
      return expr.left.is === 'average'
        ? `${known(scope.sum)} ${expr.op} ${of(expr.right)} * ${known(scope.count)}`
        : `${operand(expr.left, scope)} ${expr.op} ${of(expr.right)}`
    case 'oneOf':
      if (expr.of.is === 'average') {
        const average = expr.of
        return any(expr.values.map((each) => of({ is: 'compare', op: '=', left: average, right: each })))
      }
      return scope.binding.oneOf(
        of(expr.of),
        expr.values[0]?.type ?? 'text',
        expr.values.map(({ value }) => value),
      )
    case 'contains':
      return `contains(${of(expr.of)}, ${of(expr.part)})`
    case 'startsWith':
      return `starts_with(${of(expr.of)}, ${of(expr.part)})`
    case 'present':
      return expr.of.is === 'average' ? `${known(scope.count)} > 0` : `${of(expr.of)} is not null`
    case 'brandCurrency':
      return `${of(expr.of)} = ${scope.currency}`
    case 'some':
      return `coalesce(len(list_filter(${of(expr.list)}, lambda element: ${of(expr.holds)})), 0) > 0`
    case 'and':
      return all(expr.parts.map(of))
    case 'or':
      return any(expr.parts.map(of))
    case 'not':
      if (expr.part.is === 'present' && expr.part.of.is !== 'average') return `${of(expr.part.of)} is null`
      return neverNull(expr.part) ? `not (${of(expr.part)})` : `not coalesce(${of(expr.part)}, false)`
  }
}

/** All of the conditions; true when there is none. */
export const all = (parts: readonly string[]): string =>
  parts.length === 0 ? 'true' : parts.length === 1 ? String(parts[0]) : `(${parts.join(' and ')})`

/** Any of the conditions; false when there is none. */
export const any = (parts: readonly string[]): string =>
  parts.length === 0 ? 'false' : parts.length === 1 ? String(parts[0]) : `(${parts.join(' or ')})`

const neverNull = (expr: Expr): boolean =>
  expr.is === 'present' ||
  expr.is === 'not' ||
  expr.is === 'some' ||
  ((expr.is === 'and' || expr.is === 'or') && expr.parts.every(neverNull))

const operand = (expr: Expr, scope: Scope) =>
  expr.is === 'present' ? `(${spell(expr, scope)})` : spell(expr, scope)

function known(text: string | undefined): string {
  if (text === undefined) throw new Error('no aggregate here')
  return text
}

/** How many different values rows have; of lists, elements. */
export const differentSql = (of: string, { field }: Measure, filter = ''): string =>
  field?.each
    ? `coalesce(len(list_distinct(flatten(list(${of})${filter}))), 0)`
    : `count(distinct ${of})${filter}`

/** Who can be a member: profiles with a way to be reached or a store record. */
export const universe = (of: string): string =>
  `(${of}.email is not null or ${of}.phone is not null or ${of}.store_customer_id is not null)`
export const UNIVERSE = universe('customers')
