import { rowsNamed } from '../catalog.ts'
import { atomsOf, type Formula } from '../formula.ts'
import type { Pass } from '../pass.ts'
import type { Plan } from '../plan.ts'
import { distinctSql } from './duckdb/distinct.ts'
import { flagsSql } from './duckdb/flags.ts'
import { gatheredOf } from './duckdb/gather.ts'
import { lookupSql } from './duckdb/lookup.ts'
import type { MemberColumn } from './duckdb/member-columns.ts'
import { Parameters, type Sql } from './duckdb/parameter.ts'
import { scanSql } from './duckdb/scan.ts'
import { answer, columns, PROFILES, Since } from './duckdb/since.ts'
import { spell, UNIVERSE } from './duckdb/spell.ts'

export interface Statement extends Sql {
  /** The temporary table that it makes. */
  name: string
}

export interface Compiled {
  /** What all segments share, to be run in this order on one connection. */
  statements: Statement[]
  /** One after the other: between two, `segment_members (segment_id, customer)` takes up the members of the first. */
  levels: Level[]
}

export interface Level {
  ordinals: number[]
  statements: Statement[]
  /** Of tables that are there after the statements. */
  members: MemberColumn[]
}

/** Names of relations without rows. */
export type Hollow = Pick<ReadonlySet<string>, 'has'>

/**
 * A plan as temporary tables, as of an instant, which `params` has, too: who satisfies what, pass by pass, then each
 * segment over one row per customer.
 */
export function toDuckdb(
  { profile, passes, members, everyone, levels }: Plan,
  asOf: Date,
  hollow?: Hollow,
): Compiled {
  const hasRows = ({ source }: Pass) => !hollow?.has(rowsNamed(source).relation.name)
  const read = passes.filter(hasRows)
  const gathered = gatheredOf(read, asOf)
  const profiles = { ...made(PROFILES, profileSql(profile, asOf)), answers: profile.map(({ id }) => id) }
  const answered: Found[] = read.map((pass, index) => ({
    ...made(
      `segment_${pass.source}_${index + 1}`,
      passSql(pass, asOf, gathered.find((each) => each.passes.has(pass))?.name),
    ),
    answers: answersOf(pass),
  }))
  const never = new Set(passes.filter((pass) => !hasRows(pass)).flatMap(answersOf))
  const found = [profiles, ...answered]
  return {
    statements: [profiles, ...gathered.map(({ name, ...sql }) => made(name, sql)), ...answered],
    levels: [
      ...(everyone.length ? [everyoneSql(everyone)] : []),
      ...levels.map((segments, index) => {
        const known = segments.map((each) => ({ ...each, formula: withoutAtoms(each.formula, never) }))
        return levelSql(index, known, found, members)
      }),
    ],
  }
}

const everyoneSql = (ordinals: readonly number[]): Level => ({
  ordinals: [...ordinals],
  statements: [],
  members: ordinals.map((ordinal) => ({ ordinal: integer(ordinal), table: 'customers', holds: 'true' })),
})

interface Found extends Statement {
  /** Atoms that its columns answer. */
  answers: number[]
}

type Ruled = Plan['levels'][number]

/** The rows of one condition are its customers: only what is made of several needs a row of each customer. */
function levelSql(index: number, segments: Ruled, found: readonly Found[], members: Plan['members']): Level {
  const table = `segment_flags_${index + 1}`
  const several = segments.filter(({ formula }) => !columnOf(formula, found))
  return {
    ordinals: segments.map(({ ordinal }) => ordinal),
    statements: several.length ? flagsOf(index, table, several, found, members) : [],
    members: segments.map(({ ordinal, formula }) => ({
      ordinal: integer(ordinal),
      ...(columnOf(formula, found) ?? { table, holds: flag(ordinal) }),
    })),
  }
}

function flagsOf(
  index: number,
  table: string,
  segments: Ruled,
  found: readonly Found[],
  members: Plan['members'],
): Statement[] {
  const atoms = new Set(segments.flatMap(({ formula }) => atomsOf(formula)))
  const referred = members.filter(({ id }) => atoms.has(id))
  const before = referred.length
    ? [
        {
          ...made(`segment_referred_${index + 1}`, referredSql(referred)),
          answers: referred.map(({ id }) => id),
        },
      ]
    : []
  const flags = segments.map(({ ordinal, formula }) => ({ name: flag(ordinal), formula }))
  return [...before, made(table, { text: flagsSql(flags, [...found, ...before]), values: [] })]
}

/** One row per member of any of the segments that others refer to. */
function referredSql(members: Plan['members']): Sql {
  const binding = new Parameters({ shared: true })
  const ids = members.map(({ segmentId }) => binding.value('text', segmentId))
  const answers = members.map(({ id }, index) => `bool_or(segment_id = ${ids[index]}) as ${answer(id)}`)
  const text = `select ${columns(['customer', ...answers])}\nfrom segment_members\nwhere segment_id in (${ids.join(', ')})\ngroup by customer`
  return { text, values: binding.values }
}

/** Where a formula of one condition on the customers' rows is answered. */
function columnOf(
  formula: Formula,
  found: readonly Found[],
): Pick<MemberColumn, 'table' | 'holds'> | undefined {
  if (isNever(formula)) return { table: PROFILES, holds: 'false' }
  if (formula.is !== 'atom') return undefined
  const { id } = formula
  const place = found.find(({ answers }) => answers.includes(id))
  return place && { table: place.name, holds: answer(id) }
}

const made = (name: string, { text, values }: Sql): Statement => ({
  name,
  text: `create or replace temp table ${name} as\n${text}`,
  values,
})

const answersOf = (pass: Pass): number[] =>
  (pass.is === 'lookup' ? pass.entries : pass.answers).map(({ id }) => id)

const NEVER: Formula = { is: 'or', parts: [] }
const isNever = (formula: Formula): boolean => formula.is === 'or' && formula.parts.length === 0

/** A formula of which some atoms hold for nobody: conditions on rows that there are none of. */
function withoutAtoms(formula: Formula, never: ReadonlySet<number>): Formula {
  switch (formula.is) {
    case 'atom':
      return never.has(formula.id) ? NEVER : formula
    case 'not':
      return { is: 'not', part: withoutAtoms(formula.part, never) }
    default:
      return { is: formula.is, parts: formula.parts.map((part) => withoutAtoms(part, never)) }
  }
}

function passSql(pass: Pass, asOf: Date, gathered?: string): Sql {
  switch (pass.is) {
    case 'scan':
      return scanSql(pass, asOf, gathered)
    case 'lookup':
      return lookupSql(pass, asOf, gathered)
    case 'distinct':
      return distinctSql(pass, asOf, gathered)
  }
}

function profileSql(profile: Plan['profile'], asOf: Date): Sql {
  const since = new Since(asOf)
  const scope = since.scope('customers', 'customers')
  const answers = profile.map(({ id, holds }) => `${spell(holds, scope)} as ${answer(id)}`)
  const text = [
    `select ${columns(['customers.customer', ...answers])}`,
    'from customers, params',
    `where ${UNIVERSE}`,
  ].join('\n')
  return { text, values: since.binding.values }
}

const flag = (ordinal: number): string => `s${integer(ordinal)}`

function integer(ordinal: number): number {
  if (Number.isSafeInteger(ordinal) && ordinal >= 0) return ordinal
  throw new Error(`${ordinal} is no segment's ordinal`)
}
