import type { Formula } from '../formula.ts'
import type { Pass } from '../pass.ts'
import type { Plan } from '../plan.ts'
import { distinctSql } from './duckdb/distinct.ts'
import { lookupSql } from './duckdb/lookup.ts'
import type { Sql } from './duckdb/parameter.ts'
import { scanSql } from './duckdb/scan.ts'
import { answer, columns, PROFILES, Since } from './duckdb/since.ts'
import { all, any, spell, UNIVERSE } from './duckdb/spell.ts'

export interface Statement extends Sql {
  /** The temporary table that it makes. */
  name: string
}

export interface Compiled {
  /** To be run in this order on one connection. */
  statements: Statement[]
  /** `(segment INTEGER, customer INTEGER)`, after the statements. */
  members: Sql
}

const FLAGS = 'segment_flags'

/** A plan as temporary tables: who satisfies what, pass by pass, then each segment over one row per customer. */
export function toDuckdb({ profile, passes, segments }: Plan): Compiled {
  const found = passes.map((pass, index) => made(`segment_${pass.source}_${index + 1}`, passSql(pass)))
  const flags = segments.map(({ ordinal, formula }) => `${formulaSql(formula)} as ${flag(ordinal)}`)
  const composed = [
    `select ${columns([`${PROFILES}.customer`, ...flags])}`,
    `from ${PROFILES}`,
    ...found.map(({ name }) => `left join ${name} on ${name}.customer = ${PROFILES}.customer`),
  ].join('\n')
  const members = segments.map(
    ({ ordinal }) =>
      `select ${integer(ordinal)}::INTEGER as segment, customer from ${FLAGS} where ${flag(ordinal)}`,
  )
  const nobody = 'select 0::INTEGER as segment, 0::INTEGER as customer where false'
  return {
    statements: [made(PROFILES, profileSql(profile)), ...found, made(FLAGS, { text: composed, values: [] })],
    members: { text: members.join('\nunion all\n') || nobody, values: [] },
  }
}

const made = (name: string, { text, values }: Sql): Statement => ({
  name,
  text: `create or replace temp table ${name} as\n${text}`,
  values,
})

function passSql(pass: Pass): Sql {
  switch (pass.is) {
    case 'scan':
      return scanSql(pass)
    case 'lookup':
      return lookupSql(pass)
    case 'distinct':
      return distinctSql(pass)
  }
}

function profileSql(profile: Plan['profile']): Sql {
  const since = new Since()
  const scope = since.scope('customers', 'customers')
  const answers = profile.map(({ id, holds }) => `${spell(holds, scope)} as ${answer(id)}`)
  const text = [
    `with ${since.sql}`,
    `select ${columns(['customers.customer', ...answers])}`,
    'from customers, since',
    `where ${UNIVERSE}`,
  ].join('\n')
  return { text, values: since.binding.values }
}

/** Never NULL: who has no row has no answer, which is false. */
function formulaSql(formula: Formula): string {
  switch (formula.is) {
    case 'atom':
      return `coalesce(${answer(formula.id)}, false)`
    case 'not':
      return `not ${formulaSql(formula.part)}`
    case 'and':
      return all(formula.parts.map(formulaSql))
    case 'or':
      return any(formula.parts.map(formulaSql))
  }
}

const flag = (ordinal: number): string => `s${integer(ordinal)}`

function integer(ordinal: number): number {
  if (Number.isSafeInteger(ordinal) && ordinal >= 0) return ordinal
  throw new Error(`${ordinal} is no segment's ordinal`)
}
