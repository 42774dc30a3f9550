import { type Expr, sorted } from './expression.ts'
import {
  type Condition,
  type MemberTest,
  type ProfileTest,
  ROWS,
  type RowsTest,
  SOME,
  sparse,
  type Tree,
} from './tree.ts'

/** One thing to find out about each customer, false without rows; computed once however many segments ask it. */
export interface Atom {
  id: number
  test: ProfileTest | RowsAtom | MemberTest
}

export interface RowsAtom extends RowsTest {
  /** Set when the test is `count >= atLeast`: the form that the quicker strategies answer. */
  atLeast?: number
}

/** A segment over atoms. `and` of nothing is true, `or` of nothing false. */
export type Formula =
  | { is: 'and' | 'or'; parts: Formula[] }
  | { is: 'not'; part: Formula }
  | { is: 'atom'; id: number }

/** The atoms of several segments, equal ones once. */
export class Atoms {
  readonly #byKey = new Map<string, Atom>()

  get all(): Atom[] {
    return [...this.#byKey.values()]
  }

  of(test: ProfileTest | RowsAtom | MemberTest): Formula {
    const key = JSON.stringify(test)
    const atom = this.#byKey.get(key) ?? { id: this.#byKey.size, test }
    this.#byKey.set(key, atom)
    return { is: 'atom', id: atom.id }
  }
}

/** Rewrites a tree into a formula over `atoms`, which it adds to. */
export function formulaOf(tree: Tree, atoms: Atoms): Formula {
  switch (tree.is) {
    case 'all':
    case 'any':
      return { is: tree.is === 'all' ? 'and' : 'or', parts: tree.nodes.map((node) => formulaOf(node, atoms)) }
    case 'not':
      return complement(formulaOf(tree.node, atoms))
    case 'condition':
      return tree.negated ? complement(ofCondition(tree, atoms)) : ofCondition(tree, atoms)
  }
}

/** The atoms that a formula is made of. */
export const atomsOf = (formula: Formula): number[] =>
  formula.is === 'atom'
    ? [formula.id]
    : formula.is === 'not'
      ? atomsOf(formula.part)
      : formula.parts.flatMap(atomsOf)

const complement = (part: Formula): Formula => (part.is === 'not' ? part.part : { is: 'not', part })

function ofCondition({ test: asked }: Condition, atoms: Atoms): Formula {
  if (asked.of === 'everyone') return { is: 'and', parts: [] }
  if (asked.of !== 'rows') return atoms.of(asked)
  const test = rowBeyond(asked) ?? asked
  if (test.measure.agg === 'count' && !test.measure.field) {
    const thresholds = ofCount(test.holds, test, atoms)
    if (thresholds) return thresholds
  }
  const { holds, flipped } = sparse(test)
  const atom = atoms.of({ ...test, holds })
  return flipped ? complement(atom) : atom
}

/** That the greatest is above a bound, or the least below one, as that a row is: there is one bit to keep of it. */
function rowBeyond(test: RowsTest): RowsTest | undefined {
  const { measure, holds } = test
  const { agg, field, level } = measure
  if (!field || holds.is !== 'compare' || holds.right.is !== 'value') return undefined
  const beyond = (agg === 'max' && holds.op.startsWith('>')) || (agg === 'min' && holds.op.startsWith('<'))
  if (!beyond) return undefined
  const list = level === 'line' ? 'line' : 'row'
  return {
    ...test,
    [list]: sorted([...test[list], { ...holds, left: field.reads }]),
    measure: ROWS,
    holds: SOME,
  }
}

/** A test of a count as thresholds, so that `= 3`, `< 4` and `>= 3` share their work; undefined for other forms. */
function ofCount(holds: Expr, test: RowsTest, atoms: Atoms): Formula | undefined {
  const atLeast = (n: number): Formula =>
    n <= 0
      ? { is: 'and', parts: [] }
      : atoms.of({ ...test, holds: { is: 'present', of: { is: 'total' } }, atLeast: n })
  if (holds.is === 'and') {
    const parts = holds.parts.map((part) => ofCount(part, test, atoms))
    return parts.every((part) => part !== undefined) ? { is: 'and', parts } : undefined
  }
  if (holds.is !== 'compare' || holds.right.is !== 'value') return undefined
  const n = Number(holds.right.value)
  // Beyond any count; a fitted null is false as well, and left to the general form.
  if (holds.right.value === null || !Number.isSafeInteger(n)) return undefined
  switch (holds.op) {
    case '>=':
      return atLeast(n)
    case '>':
      return atLeast(n + 1)
    case '<':
      return complement(atLeast(n))
    case '<=':
      return complement(atLeast(n + 1))
    case '=':
      return n < 0 ? { is: 'or', parts: [] } : { is: 'and', parts: [atLeast(n), complement(atLeast(n + 1))] }
  }
}
