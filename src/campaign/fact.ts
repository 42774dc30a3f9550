import { writtenOut } from '../event/written-out.ts'
import { refusal } from '../segment/complaint.ts'
import { parseDecimal } from '../segment/decimal.ts'
import { column, type Expr, type Value } from '../segment/expression.ts'
import { opsFor, readOperator } from '../segment/name.ts'
import { readOperand, readTime, STORED } from '../segment/value.ts'
import { DAY_MS } from '../time.ts'
import type { Fact } from './trigger.ts'

/** A filter on something that the trigger carried. */
export interface FactTest {
  name: string
  fact: Fact
  negated: boolean
  /** Over the column `fact`, in the primitives of the segment catalog. */
  holds: Expr
  /** The values as texts. */
  texts: string[]
}

const FACT = column('fact')

/** Reads the operator and value of a filter on a fact. Throws `bad_request` that begins with the path. */
export function readFact(
  name: string,
  fact: Fact,
  { operator: given, value }: { operator: string; value?: unknown },
  path: string,
): FactTest {
  const { type } = fact
  const { operator, negated } = readOperator(given, `${path}.operator`, opsFor(type))
  if (operator.value === 'none' && value !== undefined)
    throw refusal(`${path}.value`, 'this operator takes no value')
  if (operator.value !== 'none' && value === undefined) throw refusal(`${path}.value`, 'is required')
  // Numbers of events have decimals, those of rules have none.
  const stored = type === 'number' ? 'average' : STORED[type]
  const { values, days } = readOperand(operator, { type, stored }, value, `${path}.value`)
  const texts = values.flatMap((each) => each.value ?? [])
  return { name, fact, negated, holds: operator.means(FACT, values, days, type), texts }
}

/** Whether a filter holds for what a trigger carried; absent data as in rules: false, and its complement true. */
export function factHolds(
  { name, fact, negated, holds }: FactTest,
  facts: Readonly<Record<string, unknown>>,
  at: Date,
): boolean {
  const cells = carried(name, fact, facts).map((cell) => cellOf(cell, fact))
  return cells.some((cell) => isTrue(holds, cell, at)) !== negated
}

/** The values of a fact: what lists of items carry stands in each item. */
export function carried(name: string, { each }: Fact, facts: Readonly<Record<string, unknown>>): unknown[] {
  const own = Object.hasOwn(facts, name) ? facts[name] : undefined
  if (!each || own !== undefined) return Array.isArray(own) && each ? own : [own]
  return Array.isArray(facts.items)
    ? facts.items.map((item) => (item as Record<string, unknown>)?.[name])
    : []
}

/** As it is compared; null for what is missing or not of the type. */
function cellOf(given: unknown, { type }: Fact): string | null {
  if (given === undefined || given === null || typeof given === 'object') return null
  const text = String(given)
  switch (type) {
    case 'number':
    case 'money':
      return parseDecimal(text) ? text : null
    case 'boolean':
      return text === 'true' || text === 'false' ? text : null
    case 'time':
      return timeOf(text)
    case 'email':
      return text.trim().toLowerCase()
    default:
      return typeof given === 'number' ? writtenOut(text) : text
  }
}

function timeOf(text: string): string | null {
  try {
    return readTime(text, '')
  } catch {
    return null
  }
}

function isTrue(expr: Expr, cell: string | null, at: Date): boolean {
  switch (expr.is) {
    case 'compare': {
      const right = operandOf(expr.right, at)
      if (cell === null || right === null) return false
      const order = ordered(cell, right)
      if (expr.op === '=') return order === 0
      if (expr.op.startsWith('>')) return order > 0 || (order === 0 && expr.op === '>=')
      return order < 0 || (order === 0 && expr.op === '<=')
    }
    case 'oneOf':
      return cell !== null && expr.values.some((each) => each.value !== null && ordered(cell, each) === 0)
    case 'contains':
    case 'startsWith': {
      const part = operandOf(expr.part, at)?.value
      if (cell === null || !part) return false
      return expr.is === 'contains' ? cell.includes(part) : cell.startsWith(part)
    }
    case 'present':
      return cell !== null
    case 'and':
      return expr.parts.every((part) => isTrue(part, cell, at))
    case 'or':
      return expr.parts.some((part) => isTrue(part, cell, at))
    case 'not':
      return !isTrue(expr.part, cell, at)
    default:
      throw new Error(`a fact cannot be compared by ${expr.is}`)
  }
}

function operandOf(expr: Expr, at: Date): Value | null {
  if (expr.is === 'value') return expr.value === null ? null : expr
  if (expr.is !== 'asOf') throw new Error(`a fact cannot be compared with ${expr.is}`)
  const time = new Date(at.getTime() - expr.lessDays * DAY_MS)
  return { is: 'value', type: 'time', value: readTime(time.toISOString(), '') }
}

const NUMERIC: ReadonlySet<string> = new Set(['integer', 'money', 'integerSum', 'moneySum', 'average'])

/** Numbers by their value, all else by its text, in which times are in order. */
function ordered(cell: string, { type, value }: Value): number {
  const right = value ?? ''
  if (!NUMERIC.has(type)) return cell < right ? -1 : cell > right ? 1 : 0
  const [a, b] = [parseDecimal(cell), parseDecimal(right)]
  if (!a || !b) return Number.NaN
  const [x, y] = [a.units * 10n ** BigInt(b.scale), b.units * 10n ** BigInt(a.scale)]
  return x < y ? -1 : x > y ? 1 : 0
}
