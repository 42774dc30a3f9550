import { rowsNamed } from '../../catalog.ts'
import { columnsIn, type Expr } from '../../expression.ts'
import type { RowsAtom } from '../../formula.ts'
import { holdsWithoutLines } from '../../lines.ts'
import { anySet, maskOf, placeOf } from './bits.ts'
import type { Sql } from './parameter.ts'
import { columns, Since, testsSql } from './since.ts'
import { all, any } from './spell.ts'

/** A condition on rows of one relation, and between which times one of them is passed. */
export interface AskedAtom {
  id: number
  atom: RowsAtom
  passed: Passed[]
}

/** A time of a row, less days, and as SQL that says whether it was passed. */
export interface Passed {
  column: string
  lessDays: number
  holds: string
}

/** Where the rows come from that can change an answer; SQL of relations. */
export interface AskedSources {
  /** Rows that time passed, … */
  passed: string
  /** … with their lines, where conditions can be asked of these, … */
  lines?: string
  /** … those that were not there before, none where a row can take the place of another, … */
  came?: string
  /** … and customers (column `customer`) whose rows may be others than they were. */
  changed: string[]
}

const word = (n: number): string => `q${n}`

/** Whether the answer to one of the conditions, in their order, can be another; null for whom none can. */
export const isAsked = (table: string, n: number): string =>
  anySet((at) => `${table}.${word(at)}`, [placeOf(n)])

/**
 * One row per customer of whom a row came, was passed by time, or may have changed: a bit for each condition, whether
 * its answer can be another for that. What a condition asks of one row keeps all others out.
 */
export function askedSql(
  atoms: readonly AskedAtom[],
  { passed, lines, came, changed }: AskedSources,
  asOf: Date,
): Sql {
  const since = new Since(asOf)
  const scope = since.scope('rows', 'lines')
  const read = [...new Set(['customer', ...atoms.flatMap(columnsOf)])].join(', ')
  const sets = lines ? [...new Set(atoms.flatMap(({ atom }) => keyOfLines(atom) ?? []))] : []
  const matched = sets.map((_, n) => `, matched.l${n}`).join('')
  const parts = [
    `select ${read}${matched}, false as came from ${passed} as passed${matched && ` left join matched using (${keyOf(atoms)})`}`,
    ...(came ? [`select ${read}, true as came from ${came}`] : []),
    ...changed.map((customers) => `select customer, null as came from (${customers})`),
  ]
  const testsSqlOf = (atom: RowsAtom) => {
    const tests = staticTests(atom)
    const ofOneLine = sets.flatMap((set, n) => (set === keyOfLines(atom) ? matchSql(set, n) : []))
    return [...(tests.length ? [testsSql(tests, scope)] : []), ...ofOneLine]
  }
  const ofLines = sets.map((set, n) => `bool_or(${testsSql(linesIn(set), scope)}) as l${n}`)
  const words = askedWords(atoms, testsSqlOf).map((bits, n) => `bit_or(${bits}) as ${word(n)}`)
  const text = [
    'with',
    ...(sets.length
      ? [
          `matched as (\n  select ${columns([`lines.${keyOf(atoms)}`, ...ofLines], '    ')}`,
          `  from ${lines} as lines, params\n  group by lines.${keyOf(atoms)}\n),`,
        ]
      : []),
    `rows as (\n  ${parts.join('\n  union all by name ')}\n)`,
    `from (\n  select ${columns(['rows.customer', ...words], '    ')}`,
    '  from rows, params',
    '  where rows.customer is not null',
    '  group by rows.customer\n)',
    `where ${any(words.map((_, n) => `${word(n)} != 0`))}`,
  ].join('\n')
  return { text, values: since.binding.values }
}

/**
 * The bits of conditions of one row, a word each: of those whose tests it passes, those that it came for or was passed
 * for. What several ask, and a window of several, is a part of the word once: to plan 75 conditions takes 30 ms of CPU,
 * and took 56 with a window beside the tests of each.
 */
function askedWords(atoms: readonly AskedAtom[], testsSqlOf: (atom: RowsAtom) => string[]): string[] {
  const placed = atoms.map((each, n) => ({ ...each, ...placeOf(n) }))
  return [...Map.groupBy(placed, ({ word }) => word).values()].map((ofWord) => {
    const tested = [...Map.groupBy(ofWord, keyOfAsked).values()].map((same) => {
      const tests = same.slice(0, 1).flatMap(({ atom }) => testsSqlOf(atom))
      return tests.length ? chosen(all(tests), maskOf(same)) : bitsSql(maskOf(same))
    })
    const windows = Map.groupBy(ofWord, ({ passed }) => any(passed.map(({ holds }) => holds)))
    const passed = [...windows].map(([holds, these]) => chosen(holds, maskOf(these)))
    const moved = chosen('came', maskOf(ofWord), `(${passed.join(' | ')})`)
    return chosen('came is null', maskOf(ofWord), `(${tested.join(' | ')}) & ${moved}`)
  })
}

const bitsSql = (bits: bigint): string => `${bits}::bigint`

const chosen = (when: string, bits: bigint, otherwise = bitsSql(0n)): string =>
  `case when ${when} then ${bitsSql(bits)} else ${otherwise} end`

/** What is asked of one row, as a key: best in a row, since a test is made once a word. */
export const keyOfAsked = ({ atom }: Pick<AskedAtom, 'atom'>): string =>
  JSON.stringify([staticTests(atom), keyOfLines(atom) ?? null])

/** What is read of a row for a condition. */
export const columnsOf = ({ atom, passed }: AskedAtom): string[] => [
  ...columnsIn(staticTests(atom)).map(({ name }) => name),
  ...passed.map(({ column }) => column),
]

/** What a row is asked whatever the time: a test that moves says nothing of whom it moved past. */
const staticTests = ({ source, row }: RowsAtom): Expr[] => {
  const { only } = rowsNamed(source)
  return [...row.filter((test) => !isMoving(test)), ...(only ? [only] : [])]
}

/** The same of its lines, as a key; none where any line will do. */
const keyOfLines = ({ line }: RowsAtom): string | undefined => {
  const tests = line.filter((test) => !isMoving(test))
  return tests.length ? JSON.stringify(tests) : undefined
}

const linesIn = (key: string) => JSON.parse(key) as Expr[]

const matchSql = (key: string, n: number): string =>
  holdsWithoutLines(linesIn(key)) ? `coalesce(l${n}, true)` : `l${n}`

/** By what lines name their row. */
const keyOf = ([first]: readonly AskedAtom[]): string => {
  const lines = first && rowsNamed(first.atom.source).lines
  if (!lines) throw new Error('rows without lines')
  return lines.key
}

const isMoving = (part: unknown): boolean =>
  typeof part === 'object' &&
  part !== null &&
  (('is' in part && (part.is === 'asOf' || part.is === 'daysSince')) || Object.values(part).some(isMoving))
