import { eventCountSql } from './dialect/duckdb/event-count.ts'
import { literals, Parameters, type Sql } from './dialect/duckdb/parameter.ts'
import { actualSql, plainSql, profileCountSql } from './dialect/duckdb/plain.ts'
import { type Compiled, type Hollow, toDuckdb } from './dialect/duckdb.ts'
import type { Expr } from './expression.ts'
import { Atoms, type Formula, formulaOf, type RowsAtom } from './formula.ts'
import type { Pass } from './pass.ts'
import { passesFor } from './strategy.ts'
import { type Condition, isEveryone, referencesOf, type Tree } from './tree.ts'

export interface Planned {
  ordinal: number
  /** By which definitions of the others refer to it. */
  id?: string
  tree: Tree
}

/** How the members of many segments are found together. */
export interface Plan {
  /** Answered by the customer's own row. */
  profile: { id: number; holds: Expr }[]
  /** Answered by the customer's rows, pass by pass. */
  rows: { id: number; atom: RowsAtom }[]
  passes: Pass[]
  /** Answered by the members of another segment. */
  members: { id: number; segmentId: string }[]
  /** Segments of all profiles: known before the others. */
  everyone: number[]
  /** Segments that refer to none of those planned here; then those that refer to these only; and so on. */
  levels: { ordinal: number; formula: Formula }[][]
}

/** Finds what the segments share and picks the cheapest correct form for each of their conditions; of `few` rows another. */
export function plan(segments: readonly Planned[], few = false): Plan {
  const atoms = new Atoms()
  const [everyone, ruled] = parted(segments, ({ tree }) => isEveryone(tree))
  const levels = inLevels(ruled).map((level) =>
    level.map(({ ordinal, tree }) => ({ ordinal, formula: formulaOf(tree, atoms) })),
  )
  const profile = atoms.all.flatMap(({ id, test }) =>
    test.of === 'profile' ? [{ id, holds: test.holds }] : [],
  )
  const members = atoms.all.flatMap(({ id, test }) =>
    test.of === 'segment' ? [{ id, segmentId: test.segmentId }] : [],
  )
  const rows = atoms.all.flatMap(({ id, test }) => (test.of === 'rows' ? [{ id, atom: test }] : []))
  return {
    profile,
    rows,
    passes: passesFor(atoms.all, few),
    members,
    everyone: everyone.map(({ ordinal }) => ordinal),
    levels,
  }
}

export const parted = <T>(items: readonly T[], is: (item: T) => boolean): [T[], T[]] => [
  items.filter(is),
  items.filter((item) => !is(item)),
]

/** Segments by how many others must be known before them. Throws when they refer to each other in a circle. */
export function inLevels<Segment extends Planned>(segments: readonly Segment[]): Segment[][] {
  const levels: Segment[][] = []
  const ids = new Set(segments.map(({ id }) => id))
  const before = new Map(
    segments.map((each) => [
      each,
      referencesOf(each.tree).flatMap(({ segmentId }) => (ids.has(segmentId) ? segmentId : [])),
    ]),
  )
  const known = new Set<string | undefined>()
  while (before.size) {
    const level = [...before].flatMap(([each, needs]) => (needs.every((id) => known.has(id)) ? each : []))
    if (level.length === 0) throw new Error('segments refer to each other in a circle')
    for (const each of level) {
      before.delete(each)
      known.add(each.id)
    }
    levels.push(level)
  }
  return levels
}

export interface CompileOptions {
  /** The rows that segments are about are few. */
  few?: boolean
  /** Relations that have none. */
  hollow?: Hollow | undefined
}

/**
 * All segments of a brand in few scans, in a session that is as of `asOf`: statements that make temporary tables, and
 * the SELECTs of their members.
 */
export const compileSegments = (
  segments: readonly Planned[],
  asOf: Date,
  { few, hollow }: CompileOptions = {},
): Compiled => toDuckdb(plan(segments, few), asOf, hollow)

/** One segment as one SELECT of its customers (column `customer`), in a session that is as of `asOf`. */
export function compileOne(tree: Tree, asOf?: Date): Sql {
  const binding = new Parameters({ shared: false, ...(asOf && { asOf }) })
  return { text: plainSql(tree, binding), values: binding.values }
}

/** How many profiles, or events, satisfy conditions: one row with the column `count`. */
export function compileCount(tree: Tree, item: 'profile' | 'event'): Sql {
  const binding = new Parameters({ shared: false })
  const text = (item === 'profile' ? profileCountSql : eventCountSql)(tree, binding)
  return { text, values: binding.values }
}

/** What a condition compares of one customer, as a SELECT of one row with the column `actual`. */
export function compileActual(condition: Condition, customer: number): Sql {
  const binding = new Parameters({ shared: false })
  return { text: actualSql(condition, customer, binding), values: binding.values }
}

/** A segment as compileOne has it, with its values written out: it runs as it is in a DuckDB shell over the models. */
export const displayOne = (tree: Tree): string => plainSql(tree, literals, ['customer', 'customer_id'])
