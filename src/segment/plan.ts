import { literals, Parameters, type Sql } from './dialect/duckdb/parameter.ts'
import { plainSql } from './dialect/duckdb/plain.ts'
import { type Compiled, toDuckdb } from './dialect/duckdb.ts'
import type { Expr } from './expression.ts'
import { Atoms, type Formula, formulaOf } from './formula.ts'
import type { Pass } from './pass.ts'
import { passesFor } from './strategy.ts'
import type { Tree } from './tree.ts'

export interface Planned {
  ordinal: number
  tree: Tree
}

/** How the members of many segments are found together. */
export interface Plan {
  /** Answered by the customer's own row. */
  profile: { id: number; holds: Expr }[]
  passes: Pass[]
  segments: { ordinal: number; formula: Formula }[]
}

/** Finds what the segments share and picks the cheapest correct form for each of their conditions. */
export function plan(segments: readonly Planned[]): Plan {
  const atoms = new Atoms()
  const formulas = segments.map(({ ordinal, tree }) => ({ ordinal, formula: formulaOf(tree, atoms) }))
  const profile = atoms.all.flatMap(({ id, test }) =>
    test.of === 'profile' ? [{ id, holds: test.holds }] : [],
  )
  return { profile, passes: passesFor(atoms.all), segments: formulas }
}

/** All segments of a brand in few scans: statements that make temporary tables, and the SELECT of all members. */
export const compileSegments = (segments: readonly Planned[]): Compiled => toDuckdb(plan(segments))

/** One segment as one SELECT of its customers (column `customer`). */
export function compileOne(tree: Tree): Sql {
  const binding = new Parameters({ shared: false })
  return { text: plainSql(tree, binding), values: binding.values }
}

/** The same with its values written out: it runs as it is in a DuckDB shell over the models. */
export const displayOne = (tree: Tree): string => `${plainSql(tree, literals, ['customer', 'customer_id'])};`
