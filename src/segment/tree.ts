import type { AggregateName, FieldType, SourceName } from './catalog.ts'
import type { Expr } from './expression.ts'

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

export type Test = ProfileTest | RowsTest | MemberTest

/** Something of the customer's one row. */
export interface ProfileTest {
  of: 'profile'
  holds: Expr
}

/** Something of the customer's rows of one source: those of the last `days` that satisfy `row` and `line`. */
export interface RowsTest {
  of: 'rows'
  source: SourceName
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
  field?: { reads: Expr; type: FieldType }
  /** line: the lines themselves are what is counted or summed. */
  level: 'row' | 'line'
  /** Only rows in the brand's currency count. */
  brandCurrency: boolean
}

/** Membership of another segment. Evaluated in dependency order, once references are allowed. */
export interface MemberTest {
  of: 'segment'
  segmentId: string
}
