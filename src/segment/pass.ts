import type { Lines, RowsName } from './catalog.ts'
import type { Expr } from './expression.ts'
import type { RowsAtom } from './formula.ts'

/**
 * Of a history of years few conditions look at all: those on the last year are found by themselves, in its rows.
 * 16 aggregates of windows to 365 days and one of 1,095: 1.0 s in one scan of 2.8M orders, 0.4 and 0.2 s in two.
 */
export const YEAR = 366

/** One reading of a source that answers some atoms: what a dialect spells as one statement. */
export type Pass = Scan | Lookup | Distinct

/** How the rows of a source are read: rows, rows with what their lines match, or the lines themselves. */
export interface Reading {
  source: RowsName
  level: 'row' | 'matched' | 'line'
  /** What lines are read of; undefined of rows. */
  lines: Lines | undefined
  /** Lines only: the rows that they belong to are joined. */
  withRows: boolean
}

/** Aggregates per customer, from which the atoms follow. */
export interface Scan extends Reading {
  is: 'scan'
  /** The longest window. */
  days: number
  /** Holds for every row that matters. */
  only: Expr[]
  /** Sets of tests that one line of a row has to satisfy. */
  matches: Expr[][]
  aggregations: Aggregation[]
  answers: { id: number; aggregation: number; atom: RowsAtom }[]
}

/** What one aggregate of a scan computes, over the rows that satisfy all of `tests`. */
export interface Aggregation {
  how: 'some' | 'count' | 'latest' | 'aggregate'
  days: number
  tests: Expr[]
  /** Number of the set of line tests that the row must match. */
  match?: number
  /** aggregate: what, and over which field. */
  measure: RowsAtom['measure']
}

/** Equality with few of many values: a join of the rows with the values that any atom asks for. */
export interface Lookup extends Reading {
  is: 'lookup'
  on: Expr
  entries: { id: number; values: string[]; days: number; times: number; rest: Expr[] }[]
}

/** Different values of one field: the latest row of each, then how many lie within a window. */
export interface Distinct extends Reading {
  is: 'distinct'
  of: Expr
  days: number
  groups: Expr[][]
  answers: { id: number; group: number; atom: RowsAtom }[]
}
