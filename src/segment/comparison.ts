import { refusal, shown, unknownName } from './complaint.ts'
import { OPERATORS, type Operator, positiveOf } from './operators.ts'
import { type Operand, readOperand } from './value.ts'

/** The comparison operators of conditions: those of rules, under the names that conditions know them by. */
export interface Comparison {
  id: string
  /** The operator of rules, or the one that it is the complement of. */
  op: string
  operator: Operator
  negated: boolean
  /** No operator of rules says it in one word: a rule puts it as `not`. */
  turned: boolean
  help: string
}

export const COMPARISONS: readonly Comparison[] = [
  ...Object.entries(OPERATORS).map(([op, row]) => ({
    id: row.alias ?? op,
    op,
    operator: positiveOf(row),
    negated: 'not' in row,
    turned: false,
    help: row.help,
  })),
  {
    id: 'notContains',
    op: 'contains',
    operator: positiveOf(OPERATORS.contains as Operator),
    negated: true,
    turned: true,
    help: 'does not contain the text, or is missing',
  },
]

interface ValueParameter {
  many: boolean
  /** Operands that it may be compared with; all unless said. */
  of?: readonly Operand['type'][]
  type: string
  help: string
}

const NUMBERS = ['number', 'money'] as const

/** Where a condition says what is compared with. */
export const VALUE_PARAMETERS: Readonly<Record<string, ValueParameter>> = {
  propertyValue: { many: false, type: 'any', help: 'a value of the type of the property' },
  propertyValueInteger: { many: false, of: NUMBERS, type: 'integer', help: 'a whole number' },
  propertyValueDouble: { many: false, of: NUMBERS, type: 'decimal', help: 'a number or a decimal string' },
  propertyValueDate: { many: false, of: ['time'], type: 'date', help: 'an ISO 8601 time' },
  propertyValues: { many: true, type: 'any', help: 'values of the type of the property' },
  propertyValuesInteger: { many: true, of: NUMBERS, type: 'integer', help: 'whole numbers' },
  propertyValuesDouble: { many: true, of: NUMBERS, type: 'decimal', help: 'numbers or decimal strings' },
  propertyValuesDate: { many: true, of: ['time'], type: 'date', help: 'ISO 8601 times' },
}

export function readComparison(json: unknown, path: string): Comparison {
  const found = COMPARISONS.find(({ id }) => id === json)
  if (found) return found
  throw unknownName(
    path,
    json,
    'a comparison operator',
    COMPARISONS.map(({ id }) => id),
  )
}

/** The value of a condition: under which parameter it was given, if the operator takes one. */
export interface Given {
  parameter: string
  json: unknown
}

/** The one value parameter that the operator takes; undefined for one that takes none. */
export function givenValue(
  parameters: ReadonlyMap<string, unknown>,
  { operator, id }: Comparison,
  path: string,
): Given | undefined {
  const given = Object.keys(VALUE_PARAMETERS).filter((name) => parameters.has(name))
  const many = operator.value === 'list' || operator.value === 'pair'
  const taken = operator.value === 'none' ? [] : namesOf(many)
  const wrong = given.find((name) => !taken.includes(name))
  const takes = taken.length ? `takes ${taken.join(' or ')}` : 'takes no value'
  if (wrong) throw refusal(`${path}.${wrong}`, `${id} ${takes}`)
  const [parameter, second] = given
  if (taken.length === 0) return undefined
  if (parameter === undefined) throw refusal(`${path}.${taken[0]}`, `is required: ${id} ${takes}`)
  if (second !== undefined) throw refusal(`${path}.${second}`, `must not stand beside ${parameter}`)
  return { parameter, json: parameters.get(parameter) }
}

const namesOf = (many: boolean) =>
  Object.keys(VALUE_PARAMETERS).filter((name) => VALUE_PARAMETERS[name]?.many === many)

/** Reads a given value as the operator takes it of an operand; throws a `bad_request` at the parameter. */
export function readGiven(
  comparison: Comparison,
  operand: Operand,
  given: Given | undefined,
  path: string,
): { values: ReturnType<typeof readOperand>['values']; days: number } {
  const { operator, id } = comparison
  if (!operator.takes.includes(operand.type))
    throw refusal(
      `${path}.comparisonOperator`,
      `${id} takes ${operator.takes.join(', ')}, not ${operand.type}`,
    )
  if (!given) return { values: [], days: 0 }
  const at = `${path}.${given.parameter}`
  const of = VALUE_PARAMETERS[given.parameter]?.of
  if (of && !of.includes(operand.type))
    throw refusal(at, `is for ${of.join(' and ')}; the property is ${operand.type}`)
  if (given.parameter.endsWith('Integer')) checkWhole(given.json, at)
  return readOperand(operator, operand, given.json, at)
}

function checkWhole(json: unknown, path: string): void {
  for (const [index, each] of [json].flat().entries())
    if (!/^[+-]?\d+$/.test(typeof each === 'string' ? each : shown(each)))
      throw refusal(
        Array.isArray(json) ? `${path}[${index}]` : path,
        `must be a whole number, not ${shown(each)}`,
      )
}
