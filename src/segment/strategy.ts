import { SOURCES, type SourceName } from './catalog.ts'
import { and, type Expr, keyOf, type Value } from './expression.ts'
import type { Atom, RowsAtom } from './formula.ts'

/** How the rows of a source are read: rows, rows with what their lines match, or the lines themselves. */
export interface Reading {
  source: SourceName
  level: 'row' | 'matched' | 'line'
  /** Lines only: the rows that they belong to are joined. */
  withRows: boolean
}

/** What one aggregate of a scan computes per customer, over the rows that satisfy all of `tests`. */
export interface Aggregation {
  how: 'some' | 'count' | 'latest' | 'aggregate'
  days: number
  tests: Expr[]
  /** Number of the set of line tests that the row must match. */
  match?: number
  /** latest: how many times are kept. */
  keep: number
  /** aggregate: what and over which field. */
  measure: RowsAtom['measure']
}

/** One pass over a source: aggregates per customer, from which the atoms follow. */
export interface Scan extends Reading {
  is: 'scan'
  days: number
  /** Holds for every row that matters. */
  only: Expr[]
  /** Sets of tests that one line of a row has to satisfy. */
  matches: Expr[][]
  aggregations: Aggregation[]
  answers: { id: number; aggregation: number; atom: RowsAtom }[]
}

/** Equality with few of many values: a join of the rows with the values that any atom asks for. */
export interface Lookup extends Reading {
  is: 'lookup'
  on: Expr
  entries: { id: number; values: string[]; days: number; times: number; rest: Expr[] }[]
}

/*
 * Measured over 5M events of 1M customers, CPU seconds of both cores (test/segment-plan.test.ts builds the same shapes):
 * 20 windows over one `where`: 2.1 as one aggregate each, 0.7 as latest (n = 1), 1.1 (n ≤ 16).
 * Equality with a product, 4 / 40 / 100 conditions: 1.2 / 5.8 / 9.8 as one aggregate each, 0.23 / 0.36 / 0.41 as a lookup.
 * A scan costs 0.4 before its first condition, a condition 0.07–0.1 over all rows.
 */
const LATEST_FROM = 3
const LATEST_MOST = 16
const LOOKUP_FROM = 3
/** A longer list finds too large a part of the rows, each of which a lookup copies per condition. */
const LOOKUP_VALUES = 32
/** Conditions on one kind of event that are worth a scan of their own: 1.8 s for three kinds against 2.2 together. */
const KIND_FROM = 8
/** Bounds the text and the memory of one statement. */
const AGGREGATIONS_MOST = 64
const ENTRIES_MOST = 128

interface RowsEntry {
  id: number
  atom: RowsAtom
}

/** The passes that answer all atoms on rows, the cheapest correct form for each. */
export function passesFor(atoms: readonly Atom[]): (Scan | Lookup)[] {
  const entries = atoms.flatMap(({ id, test }) => (test.of === 'rows' ? [{ id, atom: test }] : []))
  const passes: (Scan | Lookup)[] = []
  for (const group of groups(entries, ({ atom }) => JSON.stringify(readingOf(atom)))) {
    const reading = readingOf(first(group).atom)
    const scanned: RowsEntry[] = []
    for (const same of groups(group, ({ atom }) => lookupKey(atom, reading))) {
      const on = lookupOf(first(same).atom, reading)
      if (on && same.length >= LOOKUP_FROM)
        for (const part of chunks(same, ENTRIES_MOST)) passes.push(lookup(reading, part))
      else scanned.push(...same)
    }
    const { kind } = SOURCES[reading.source]
    const rest: RowsEntry[] = []
    for (const same of groups(scanned, ({ atom }) => keyOf(kindTest(atom, kind) ?? and()))) {
      const test = kindTest(first(same).atom, kind)
      if (test && same.length >= KIND_FROM) passes.push(...scans(reading, same, test))
      else rest.push(...same)
    }
    passes.push(...scans(reading, rest))
  }
  return passes
}

/** "At least one row with such a line" is "at least one such line": no need to go by way of the rows. */
function readingOf({ source, row, line, measure, atLeast }: RowsAtom): Reading {
  const lines = measure.level === 'line' || (line.length > 0 && atLeast === 1)
  const level = lines ? 'line' : line.length > 0 ? 'matched' : 'row'
  return { source, level, withRows: lines && row.length > 0 }
}

const testsAt = (level: Reading['level'], { row, line }: RowsAtom): Expr[] =>
  level === 'line' ? [...row, ...line] : row

function kindTest({ row }: RowsAtom, kind: string | undefined): Expr | undefined {
  return row.find(
    (test) =>
      test.is === 'compare' && test.op === '=' && test.left.is === 'column' && test.left.name === kind,
  )
}

interface Found {
  test: Expr
  on: Expr
  values: string[]
}

/** The first test of a counted atom that is equality with few values of a selective field. */
function lookupOf(atom: RowsAtom, { source, level }: Reading): Found | undefined {
  if (atom.atLeast === undefined || level === 'matched') return undefined
  const selective = Object.values(SOURCES[source].fields).filter((field) => field.selective)
  for (const test of testsAt(level, atom)) {
    const [on, values] =
      test.is === 'compare' && test.op === '=' && test.right.is === 'value'
        ? [test.left, [test.right]]
        : test.is === 'oneOf'
          ? [test.of, test.values]
          : [undefined, []]
    if (!on || values.length > LOOKUP_VALUES) continue
    if (selective.some(({ reads }) => keyOf(reads) === keyOf(on))) return { test, on, values: texts(values) }
  }
  return undefined
}

const lookupKey = (atom: RowsAtom, reading: Reading): string => {
  const found = lookupOf(atom, reading)
  return found ? keyOf(found.on) : ''
}

const texts = (values: Value[]): string[] => values.flatMap(({ value }) => (value === null ? [] : [value]))

function lookup(reading: Reading, group: RowsEntry[]): Lookup {
  const entries = group.map(({ id, atom }) => {
    const { test, values } = found(atom, reading)
    const rest = testsAt(reading.level, atom).filter((each) => each !== test)
    return { id, values, days: atom.days, times: atom.atLeast ?? 1, rest }
  })
  return { is: 'lookup', ...reading, on: found(first(group).atom, reading).on, entries }
}

function found(atom: RowsAtom, reading: Reading): Found {
  const result = lookupOf(atom, reading)
  if (!result) throw new Error('not a lookup')
  return result
}

function scans(reading: Reading, group: RowsEntry[], kind?: Expr): Scan[] {
  const { only } = SOURCES[reading.source]
  const result: Scan[] = []
  let scan: Scan | undefined
  for (const same of groups(group, ({ atom: { row, line, measure } }) =>
    JSON.stringify([row, line, measure]),
  )) {
    if (!scan || scan.aggregations.length >= AGGREGATIONS_MOST) {
      const always = [only, kind].filter((each) => each !== undefined)
      scan = { is: 'scan', ...reading, days: 0, only: always, matches: [], aggregations: [], answers: [] }
      result.push(scan)
    }
    aggregate(scan, same, kind)
  }
  return result
}

/** Adds atoms that differ in window and threshold only. */
function aggregate(scan: Scan, same: RowsEntry[], kind: Expr | undefined): void {
  const { atom } = first(same)
  const tests = testsAt(scan.level, atom).filter(
    (test) => test !== kind && keyOf(test) !== (kind && keyOf(kind)),
  )
  const match = scan.level === 'matched' ? indexOf(scan.matches, atom.line) : undefined
  const shared = { tests, measure: atom.measure, match }
  const add = (how: Aggregation['how'], days: number, keep: number, group: RowsEntry[]) => {
    scan.days = Math.max(scan.days, days)
    for (const entry of group) scan.answers.push({ ...entry, aggregation: scan.aggregations.length })
    scan.aggregations.push({ how, days, keep, ...shared })
  }

  const early = same.filter(({ atom: { atLeast } }) => atLeast !== undefined && atLeast <= LATEST_MOST)
  const windows = new Set(early.map(({ atom: { days } }) => days))
  const latest = windows.size >= LATEST_FROM ? early : []
  if (latest.length)
    add(
      'latest',
      Math.max(...windows),
      Math.max(...latest.map(({ atom: { atLeast } }) => atLeast ?? 0)),
      latest,
    )
  const others = same.filter((entry) => !latest.includes(entry))
  for (const group of groups(others, ({ atom: { days, atLeast } }) => `${days} ${atLeast === undefined}`)) {
    const { days, atLeast } = first(group).atom
    if (atLeast === undefined) add('aggregate', days, 0, group)
    else add(group.every(({ atom: { atLeast: n } }) => n === 1) ? 'some' : 'count', days, 0, group)
  }
}

/** The place of equal tests in the list, which they join when they are new. */
function indexOf(list: Expr[][], tests: Expr[]): number {
  const key = JSON.stringify(tests)
  const index = list.findIndex((each) => JSON.stringify(each) === key)
  return index >= 0 ? index : list.push(tests) - 1
}

function groups<T>(items: readonly T[], keyOfItem: (item: T) => string): T[][] {
  return [...Map.groupBy(items, keyOfItem).values()]
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  )
}

function first<T>([item]: readonly T[]): T {
  if (item === undefined) throw new Error('an empty group')
  return item
}
