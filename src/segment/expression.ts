import type { Comparison, Grid } from './decimal.ts'
import { fit } from './decimal.ts'

/** What a value is compared as. Each dialect maps it to a type of its engine. */
export type ValueType =
  | 'integer'
  | 'money'
  | 'integerSum'
  | 'moneySum'
  | 'average'
  | 'attribute'
  | 'time'
  | 'text'
  | 'boolean'

/** Room of the numeric types. Sums have room for 10^12 rows of the greatest amount. */
const GRIDS: Partial<Record<ValueType, Grid>> = {
  integer: { scale: 0, digits: 18 },
  money: { scale: 2, digits: 16 },
  integerSum: { scale: 0, digits: 36 },
  moneySum: { scale: 2, digits: 30 },
  // Multiplied by a count of rows it stays within 38 digits.
  average: { scale: 12, digits: 18 },
  // As many decimals as a double prints.
  attribute: { scale: 16, digits: 22, rounded: true },
}

export interface Value {
  is: 'value'
  type: ValueType
  /** Canonical text; null equals nothing. */
  value: string | null
}

/** A column of the current row, or of the current order line. */
export interface Column {
  is: 'column'
  of: 'row' | 'line'
  name: string
}

/**
 * The primitives: all that a condition can mean, and all that a dialect has to spell. A comparison with
 * something missing is neither true nor false; `not` is the exact complement of true, so it is true there.
 */
export type Expr =
  | Column
  /** The element of the list that `some` looks at. */
  | { is: 'element' }
  /** The aggregate of the condition; sums and counts over nothing are 0. */
  | { is: 'total' }
  /** Sum ÷ count, compared without rounding. */
  | { is: 'average' }
  | Value
  /** The evaluation time less N × 24 hours. */
  | { is: 'asOf'; lessDays: number }
  /** Whole 24-hour periods from a time to the evaluation time. */
  | { is: 'daysSince'; of: Expr }
  | { is: 'compare'; op: Comparison; left: Expr; right: Expr }
  | { is: 'oneOf'; of: Expr; values: Value[] }
  | { is: 'contains'; of: Expr; part: Expr }
  | { is: 'startsWith'; of: Expr; part: Expr }
  | { is: 'present'; of: Expr }
  /** A currency that is the brand's. */
  | { is: 'brandCurrency'; of: Expr }
  /** At least one element of the list satisfies `holds`. */
  | { is: 'some'; list: Expr; holds: Expr }
  | { is: 'and' | 'or'; parts: Expr[] }
  | { is: 'not'; part: Expr }

export const column = (name: string, of: 'row' | 'line' = 'row'): Expr => ({ is: 'column', of, name })
export const element: Expr = { is: 'element' }
export const total: Expr = { is: 'total' }
export const average: Expr = { is: 'average' }
export const value = (type: ValueType, text: string | null): Value => ({ is: 'value', type, value: text })
export const asOf = (lessDays = 0): Expr => ({ is: 'asOf', lessDays })
export const daysSince = (of: Expr): Expr => ({ is: 'daysSince', of })
export const contains = (of: Expr, part: Expr): Expr => ({ is: 'contains', of, part })
export const startsWith = (of: Expr, part: Expr): Expr => ({ is: 'startsWith', of, part })
export const present = (of: Expr): Expr => ({ is: 'present', of })
export const brandCurrency = (of: Expr): Expr => ({ is: 'brandCurrency', of })
export const some = (list: Expr, holds: Expr): Expr => ({ is: 'some', list, holds })
export const and = (...parts: Expr[]): Expr => joined('and', parts)
export const or = (...parts: Expr[]): Expr => joined('or', parts)
export const not = (part: Expr): Expr => (part.is === 'not' ? part.part : { is: 'not', part })

/** A comparison; a number is first fitted to what the left side can hold. */
export function compare(op: Comparison, left: Expr, right: Expr): Expr {
  if (right.is !== 'value' || right.value === null) return { is: 'compare', op, left, right }
  const grid = GRIDS[right.type]
  if (!grid) return { is: 'compare', op, left, right }
  const fitted = fit(op, right.value, grid)
  return { is: 'compare', op: fitted.op, left, right: value(right.type, fitted.value) }
}

export const equal = (left: Expr, right: Expr) => compare('=', left, right)
export const greater = (left: Expr, right: Expr) => compare('>', left, right)
export const atLeast = (left: Expr, right: Expr) => compare('>=', left, right)
export const less = (left: Expr, right: Expr) => compare('<', left, right)
export const atMost = (left: Expr, right: Expr) => compare('<=', left, right)

/** Equality with one of the values, whose order and repetition don't matter. */
export function oneOf(of: Expr, values: Value[]): Expr {
  const fitted = new Map<string, Value>()
  for (const each of values) {
    const grid = GRIDS[each.type]
    const text = grid && each.value !== null ? fit('=', each.value, grid).value : each.value
    fitted.set(JSON.stringify(text), value(each.type, text))
  }
  return { is: 'oneOf', of, values: [...fitted.entries()].sort(byKey).map(([, each]) => each) }
}

/** What a test looks at that is false of nothing; undefined for tests of other forms. */
export function testedBy(test: Expr): Expr | undefined {
  switch (test.is) {
    case 'compare':
      return test.left
    case 'oneOf':
    case 'contains':
    case 'startsWith':
    case 'present':
      return test.of
    default:
      return undefined
  }
}

/** Text that is equal for equal expressions. */
export const keyOf = (expr: Expr): string => JSON.stringify(expr)

/** The same conditions in one order, each once. */
export function sorted(parts: Expr[]): Expr[] {
  const byText = new Map(parts.map((part) => [keyOf(part), part]))
  return [...byText.entries()].sort(byKey).map(([, part]) => part)
}

const byKey = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : a > b ? 1 : 0)

function joined(is: 'and' | 'or', parts: Expr[]): Expr {
  const [only] = parts
  return parts.length === 1 && only ? only : { is, parts }
}

/** The columns that an expression, or anything made of expressions, looks at. */
export function columnsIn(part: unknown): Column[] {
  if (Array.isArray(part)) return part.flatMap(columnsIn)
  if (typeof part !== 'object' || part === null) return []
  if ('is' in part && part.is === 'column') return [part as unknown as Column]
  return Object.values(part).flatMap(columnsIn)
}
