import type { RowsName } from './catalog.ts'
import type { Comparison } from './decimal.ts'
import { compare, type Expr, not, total, value } from './expression.ts'
import type { AggregateName, FieldType } from './operators.ts'

/** A valid definition: groups of conditions. */
export type Tree = { is: 'all' | 'any'; nodes: Tree[] } | { is: 'not'; node: Tree } | Condition

export interface Condition {
  is: 'condition'
  /** Where it stands in the definition, such as `definition.rule.all[1]`. */
  path: string
  /** The operator is a negative one: the condition is the complement of `test`. */
  negated: boolean
  test: Test
}

export type Test = ProfileTest | RowsTest | MemberTest | EveryoneTest

/** Something of the customer's one row. */
export interface ProfileTest {
  of: 'profile'
  holds: Expr
}

/** Something of the customer's rows of one source: those of the last `days` that satisfy `row` and `line`. */
export interface RowsTest {
  of: 'rows'
  source: RowsName
  days: number
  /** All of these hold for the row … */
  row: Expr[]
  /** … and all of these for one and the same line of it. */
  line: Expr[]
  measure: Measure
  /** Over `total` or `average`. */
  holds: Expr
}

export interface Measure {
  agg: AggregateName
  /** Absent: rows are counted. */
  field?: { reads: Expr; type: FieldType; each?: true }
  /** line: the lines themselves are what is counted or summed. */
  level: 'row' | 'line'
}

/** Rows are counted, … */
export const ROWS: Measure = { agg: 'count', level: 'row' }
/** … and there is at least one. */
export const SOME: Expr = compare('>=', total, value('integer', '1'))

/** Membership of another segment, as of its latest update. */
export interface MemberTest {
  of: 'segment'
  segmentId: string
}

/** Every profile, those too whom no rule covers: the rule of a built-in segment, alone. */
export interface EveryoneTest {
  of: 'everyone'
}

/** A segment that a definition names, and where. */
export interface Reference {
  path: string
  segmentId: string
}

/** The conditions of a definition, in its order. */
export function conditionsOf(tree: Tree): Condition[] {
  switch (tree.is) {
    case 'all':
    case 'any':
      return tree.nodes.flatMap(conditionsOf)
    case 'not':
      return conditionsOf(tree.node)
    case 'condition':
      return [tree]
  }
}

/** Whether a definition is that of all profiles. */
export const isEveryone = (tree: Tree): boolean => tree.is === 'condition' && tree.test.of === 'everyone'

export const referencesOf = (tree: Tree): Reference[] =>
  conditionsOf(tree).flatMap(({ path, test }) =>
    test.of === 'segment' ? [{ path: `${path}.segmentId`, segmentId: test.segmentId }] : [],
  )

/**
 * A test put so that it is false for a customer without rows: where it holds over nothing (`count < 3`), its
 * complement, which `flipped` turns back. So whoever has no rows may be left out of what is computed.
 */
export function sparse({ holds, measure }: RowsTest): { holds: Expr; flipped: boolean } {
  const zero = measure.agg === 'sum' || measure.agg === 'count' || measure.agg === 'countDistinct'
  return zero && holdsAtZero(holds) ? { holds: complement(holds), flipped: true } : { holds, flipped: false }
}

function holdsAtZero(holds: Expr): boolean {
  switch (holds.is) {
    case 'compare': {
      if (holds.right.is !== 'value' || holds.right.value === null) return false
      const bound = Number(holds.right.value)
      return COMPARES[holds.op](bound)
    }
    case 'oneOf':
      return holds.values.some(({ value }) => value !== null && Number(value) === 0)
    case 'and':
      return holds.parts.every(holdsAtZero)
    case 'present':
      return true
    default:
      throw new Error(`nothing is known of ${holds.is} over no rows`)
  }
}

const COMPARES: Record<Comparison, (bound: number) => boolean> = {
  '=': (bound) => bound === 0,
  '>': (bound) => bound < 0,
  '>=': (bound) => bound <= 0,
  '<': (bound) => bound > 0,
  '<=': (bound) => bound >= 0,
}

const OPPOSITE: Partial<Record<Comparison, Comparison>> = { '>': '<=', '>=': '<', '<': '>=', '<=': '>' }

/** Of a comparison whose left side is never missing. */
function complement(holds: Expr): Expr {
  const op = holds.is === 'compare' ? OPPOSITE[holds.op] : undefined
  return holds.is === 'compare' && op ? { ...holds, op } : not(holds)
}
