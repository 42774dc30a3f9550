import { rowsNamed } from './catalog.ts'
import { and, type Expr, keyOf, oneOf, or, testedBy, type Value } from './expression.ts'
import type { Atom, RowsAtom } from './formula.ts'
import { holdsWithoutLines, linesOf } from './lines.ts'
import {
  type Aggregation,
  type Distinct,
  type Lookup,
  type Pass,
  type Reading,
  type Scan,
  YEAR,
} from './pass.ts'

/*
 * Measured over 5M events of 1M customers, seconds of CPU (one 0.4 s scan and its grouping included):
 * 20 windows over one `where`: 2.1 as one aggregate each, 0.7 as the latest time (n = 1).
 * 10 counts in 7 windows: 0.41 as one aggregate each, 0.52 by the 16 latest times.
 * Equality with a product, 4 / 40 / 100 conditions: 1.2 / 5.8 / 9.8 as one aggregate each, 0.23 / 0.36 / 0.41 as a lookup.
 * 20 conditions on three kinds of event: 2.7 in one scan, 2.2 in one scan per kind.
 * 3 windows over different products: 2.1 as count(distinct …), 1.7 by way of the latest row of each.
 * `contains` on titles stays an aggregate: testing the different titles first took as long (4 s for 20).
 */
const LATEST_FROM = 3
const LOOKUP_FROM = 3
/** A longer list finds too large a part of the rows, each of which a lookup copies per condition. */
const LOOKUP_VALUES = 32
const KIND_FROM = 5
/** Bounds the text and the memory of one statement. */
const AGGREGATIONS_MOST = 64
const ENTRIES_MOST = 128

interface Asked {
  id: number
  atom: RowsAtom
}

/**
 * The passes that answer all atoms on rows, the cheapest correct form for each. `few`: of few rows, where that is one scan
 * of all, since to plan several takes longer.
 */
export function passesFor(atoms: readonly Atom[], few = false): Pass[] {
  const asked = atoms.flatMap(({ id, test }) => (test.of === 'rows' ? [{ id, atom: test }] : []))
  if (few)
    return groups(asked, ({ atom }) => JSON.stringify(readingOf(atom))).flatMap((group) =>
      scans(readingOf(first(group).atom), group, []),
    )
  return groups(asked, keyOfReading).flatMap((group) => {
    const reading = readingOf(first(group).atom)
    const lookups = groups(group, ({ atom }) => lookupOf(atom, reading)?.key ?? '').filter(
      (same) => same.length >= LOOKUP_FROM && lookupOf(first(same).atom, reading),
    )
    const others = group.filter((each) => !lookups.some((same) => same.includes(each)))
    const distinct = others.filter(
      ({ atom: { measure } }) =>
        measure.agg === 'countDistinct' && !measure.field?.each && reading.level !== 'matched',
    )
    return [
      ...lookups.flatMap((same) => chunks(same, ENTRIES_MOST).map((part) => lookup(reading, part))),
      ...groups(distinct, ({ atom: { measure } }) => JSON.stringify(measure)).map((same) =>
        distinctOf(reading, same),
      ),
      ...scansByKind(
        reading,
        others.filter((each) => !distinct.includes(each)),
      ),
    ]
  })
}

/** "At least one row with such a line" is "at least one such line": no need to go by way of the rows. */
function readingOf(atom: RowsAtom): Reading {
  const { source, row, line, measure, atLeast } = atom
  const isAnyLine = line.length > 0 && atLeast === 1 && !holdsWithoutLines(line)
  const isOfLines = measure.level === 'line' || isAnyLine
  const level = isOfLines ? 'line' : line.length > 0 ? 'matched' : 'row'
  return { source, level, lines: linesOf(atom), withRows: isOfLines && row.length > 0 }
}

/** Lines are parts of lists: to read these takes longer than to find out about all of them. */
function keyOfReading({ atom }: Asked): string {
  const reading = readingOf(atom)
  return JSON.stringify([reading, reading.level === 'row' && atom.days > YEAR])
}

const testsAt = (level: Reading['level'], { row, line }: RowsAtom): Expr[] =>
  level === 'line' ? [...row, ...line] : row

/** The first test of a counted atom that is equality with few values of a selective field. */
function lookupOf(atom: RowsAtom, { source, level }: Reading) {
  if (atom.atLeast === undefined || level === 'matched') return undefined
  const selective = Object.values(rowsNamed(source).fields).filter((field) => field.selective)
  for (const test of testsAt(level, atom)) {
    const [on, values] = equality(test)
    if (!on || values.length > LOOKUP_VALUES) continue
    const key = keyOf(on)
    if (selective.some(({ reads }) => keyOf(reads) === key))
      return { test, on, key, values: values.flatMap(({ value }) => (value === null ? [] : [value])) }
  }
  return undefined
}

function equality(test: Expr): [on: Expr | undefined, values: Value[]] {
  if (test.is === 'oneOf') return [test.of, test.values]
  if (test.is === 'compare' && test.op === '=' && test.right.is === 'value') return [test.left, [test.right]]
  return [undefined, []]
}

function lookup(reading: Reading, group: Asked[]): Lookup {
  const found = group.flatMap(({ id, atom }) => {
    const on = lookupOf(atom, reading)
    return on ? [{ id, atom, ...on }] : []
  })
  const entries = found.map(({ id, atom, test, values }) => {
    const rest = testsAt(reading.level, atom).filter((each) => each !== test)
    return { id, values, days: atom.days, times: atom.atLeast ?? 1, rest }
  })
  return { is: 'lookup', ...reading, on: first(found).on, entries }
}

function distinctOf(reading: Reading, asked: Asked[]): Distinct {
  const { field } = first(asked).atom.measure
  if (!field) throw new Error('different values of what?')
  const pass: Distinct = { is: 'distinct', ...reading, of: field.reads, days: 0, groups: [], answers: [] }
  for (const each of asked) {
    pass.days = Math.max(pass.days, each.atom.days)
    pass.answers.push({ ...each, group: indexOf(pass.groups, testsAt(reading.level, each.atom)) })
  }
  return pass
}

/** A scan for each kind of event that is asked for often, and one for the rest. */
function scansByKind(reading: Reading, asked: Asked[]): Scan[] {
  const { kind, fields } = rowsNamed(reading.source)
  const reads = kind === undefined ? undefined : fields[kind]?.reads
  const testOf = ({ atom: { row } }: Asked) =>
    row.find(
      (test) => test.is === 'compare' && reads && equality(test)[0] && keyOf(test.left) === keyOf(reads),
    )
  const keyOfKind = (each: Asked) => JSON.stringify(testOf(each) ?? null)
  const often = groups(asked, keyOfKind).filter((same) => same.length >= KIND_FROM && testOf(first(same)))
  const rest = asked.filter((each) => !often.some((same) => same.includes(each)))
  const kinds = rest.map((each) => equality(testOf(each) ?? { is: 'element' })[1])
  // All that is left is about some kinds: the others' rows need not be grouped.
  const only =
    reads && kinds.length && kinds.every(({ length }) => length) ? [oneOf(reads, kinds.flat())] : []
  return [
    ...often.flatMap((same) => scans(reading, same, [testOf(first(same)) as Expr])),
    ...scans(reading, rest, only),
  ]
}

/** `only` holds for every row that any of the atoms looks at; as a test of an atom it need not be repeated. */
function scans(reading: Reading, asked: Asked[], only: Expr[]): Scan[] {
  const result: Scan[] = []
  const same = groups(asked, ({ atom: { row, line, measure } }) => JSON.stringify([row, line, measure]))
  for (const group of same) {
    let scan = result.at(-1)
    if (!scan || scan.aggregations.length >= AGGREGATIONS_MOST) {
      scan = { is: 'scan', ...reading, days: 0, only: [...only], matches: [], aggregations: [], answers: [] }
      result.push(scan)
    }
    aggregate(scan, group)
  }
  const always = rowsNamed(reading.source).only
  for (const scan of result) scan.only.unshift(...narrowest(always, scan))
  return result
}

/** So many conditions at most are cheaper to test of each row than to group the rows that satisfy none. */
const NARROW_MOST = 4

/**
 * What holds for all rows that matter: `always`, or, when each of the atoms asks for more, one of what they ask for.
 */
function narrowest(always: Expr | undefined, { level, only, answers }: Scan): Expr[] {
  const unsaid = only.length === 0
  const asked = groups(answers, ({ atom }) => JSON.stringify(testsAt(level, atom))).map((same) =>
    testsAt(level, first(same).atom),
  )
  const isMore = (tests: readonly Expr[]) =>
    always ? tests.some((test) => implies(test, always)) : unsaid && tests.length > 0
  return asked.length <= NARROW_MOST && asked.every(isMore)
    ? [or(...asked.map((tests) => and(...tests)))]
    : always
      ? [always]
      : []
}

/** Whether a row that passes a test has a value that `always` asks for. */
function implies(test: Expr, always: Expr): boolean {
  const parts = always.is === 'or' ? always.parts : [always]
  const tested = testedBy(test)
  return (
    tested !== undefined && parts.some((part) => part.is === 'present' && keyOf(part.of) === keyOf(tested))
  )
}

/** Adds atoms that differ in window and threshold only. */
function aggregate(scan: Scan, same: Asked[]): void {
  const { atom } = first(same)
  const known = scan.only.map(keyOf)
  const tests = testsAt(scan.level, atom).filter((test) => !known.includes(keyOf(test)))
  const match = scan.level === 'matched' ? indexOf(scan.matches, atom.line) : undefined
  const add = (how: Aggregation['how'], days: number, group: Asked[]) => {
    scan.days = Math.max(scan.days, days)
    for (const each of group) scan.answers.push({ ...each, aggregation: scan.aggregations.length })
    scan.aggregations.push({ how, days, tests, measure: atom.measure, match })
  }

  const some = same.filter(({ atom: { atLeast } }) => atLeast === 1)
  const windows = new Set(some.map(({ atom: { days } }) => days))
  const latest = windows.size >= LATEST_FROM ? some : []
  if (latest.length) add('latest', Math.max(...windows), latest)
  const others = same.filter((each) => !latest.includes(each))
  for (const group of groups(others, ({ atom: { days, atLeast } }) => `${days} ${atLeast === undefined}`)) {
    const { days, atLeast } = first(group).atom
    if (atLeast === undefined) add('aggregate', days, group)
    else add(group.every(({ atom: { atLeast: n } }) => n === 1) ? 'some' : 'count', days, group)
  }
}

/** The place of equal tests in the list, which they join when they are new. */
function indexOf(list: Expr[][], tests: Expr[]): number {
  const key = JSON.stringify(tests)
  const index = list.findIndex((each) => JSON.stringify(each) === key)
  return index >= 0 ? index : list.push(tests) - 1
}

const groups = <T>(items: readonly T[], keyOfItem: (item: T) => string): T[][] => [
  ...Map.groupBy(items, keyOfItem).values(),
]

const chunks = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size))

function first<T>([item]: readonly T[]): T {
  if (item === undefined) throw new Error('an empty group')
  return item
}
