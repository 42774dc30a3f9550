import { decimalOf } from '../event/exact.ts'
import { ATTRIBUTE_PREFIX, SOURCES, type SourceName } from './catalog.ts'
import { refusal, shown } from './complaint.ts'
import type { Walk } from './condition.ts'
import {
  and,
  column,
  contains,
  type Expr,
  element,
  equal,
  not,
  or,
  some,
  type Value,
  value,
} from './expression.ts'
import { opsFor, readOperator, refuseLeftOut } from './name.ts'
import { type FieldType, LIMITS, type Operator } from './operators.ts'
import { ROWS, type RowsTest, SOME } from './tree.ts'
import { leftOut } from './unsupported.ts'
import { givenTo, isDecimal, type Operand, readOperand, readString } from './value.ts'

/** What an attribute can be compared as: it has no type of its own, the value that it is compared with says which. */
const COMPARED = {
  string: { type: 'string', stored: 'text' },
  number: { type: 'number', stored: 'attribute' },
  time: { type: 'time', stored: 'time' },
  boolean: { type: 'boolean', stored: 'text' },
} as const satisfies Partial<Record<FieldType, Operand>>

/** What an attribute is compared as, said without a value. */
export const asNumber: Operand = COMPARED.number
export const asTime: Operand = COMPARED.time

const OPS = [...new Set((['number', 'string', 'boolean', 'time'] as const).flatMap(opsFor))]

/** Contact data identifies: rules read it where it is kept. */
const isContact = (name: string) => ['email', 'phone'].includes(name.toLowerCase())

/** Whether rules can ask of an attribute with this name. */
export const isRuleAttribute = (name: string): boolean =>
  name !== '' && leftOut(`${ATTRIBUTE_PREFIX}${name}`) === undefined && !isContact(name)

/** Whether a comparison looks at `attributes.<name>`. */
export const isAttribute = (node: Map<string, unknown>, source: SourceName): boolean => {
  const field = node.get('field')
  return (
    SOURCES[source].attributes === true && typeof field === 'string' && field.startsWith(ATTRIBUTE_PREFIX)
  )
}

/** Reads a comparison of an attribute: of the one row of this name that a customer may have. */
export function readAttribute(
  node: Map<string, unknown>,
  path: string,
  { isSaved = false }: Pick<Walk, 'isSaved'>,
): { negated: boolean; test: RowsTest } {
  const name = readName(node.get('field'), `${path}.field`, isSaved)
  const { operator, negated } = readOperator(node.get('op'), `${path}.op`, OPS)
  const json = givenTo(operator, node, path)
  const operand = operandOf(operator, json, `${path}.value`)
  const { values, days } = readOperand(operator, operand, json, `${path}.value`)
  return { negated, test: attributeTest(name, operator, operand, values, days) }
}

/** That the value of a customer's attribute compares like this; without an operand's value, that there is one. */
export function attributeTest(
  name: string,
  operator: Operator,
  operand: Operand,
  values: Value[],
  days: number,
): RowsTest {
  const means = (field: Expr, as = operand.type) => operator.means(field, values, days, as)
  const row = [equal(column('name'), value('text', name)), ...heldBy(operator, operand.type, means)]
  return { of: 'rows', source: 'attributes', days: LIMITS.maxDays, row, line: [], ...ONE }
}

const ONE = { measure: ROWS, holds: SOME }

function readName(json: unknown, path: string, isSaved: boolean): string {
  const field = readString(json, path)
  const name = field.slice(ATTRIBUTE_PREFIX.length)
  if (name === '') throw refusal(path, `must name an attribute, such as ${ATTRIBUTE_PREFIX}size`)
  if (!isSaved) refuseLeftOut(field, path)
  if (isContact(name))
    throw refusal(path, `contact data is no attribute: use ${name.toLowerCase()} of customer_profile`)
  return name
}

export function operandOf({ value: shape, takes }: Operator, json: unknown, path: string): Operand {
  const type = shape === 'days' ? 'time' : shape === 'none' ? 'string' : typeOf(json, takes)
  const operand: Operand = COMPARED[type]
  if (takes.includes(operand.type)) return operand
  const known = Object.keys(COMPARED).filter((each) => takes.includes(each as FieldType))
  throw refusal(path, `must be of type ${known.join(' or ')} here, not ${shown(json)}`)
}

/** Of a list, that of its first item; the others must be of the same. */
function typeOf(json: unknown, takes: readonly FieldType[]): keyof typeof COMPARED {
  const item: unknown = Array.isArray(json) ? json[0] : json
  if (typeof item === 'number' || decimalOf(item) !== undefined) return 'number'
  if (typeof item === 'boolean') return 'boolean'
  if (takes.includes('string')) return 'string'
  return takes.includes('number') && isDecimal(item) ? 'number' : 'time'
}

/** Of an attribute with several values one that satisfies the comparison is enough, but times are of single values; a list contains its elements. */
function heldBy(
  { value: shape }: Operator,
  type: FieldType,
  means: (field: Expr, as?: FieldType) => Expr,
): Expr[] {
  if (shape === 'none') return []
  if (type === 'number') return [some(column('numbers'), means(element))]
  if (type === 'time') return [means(column('moment'))]
  const elements = column('elements')
  const one = means(element)
  if (one.is !== 'contains') return [some(elements, one)]
  const isList = equal(column('kind'), value('text', 'list'))
  return [
    or(
      and(isList, some(elements, equal(element, one.part))),
      and(not(isList), some(elements, contains(element, one.part))),
    ),
  ]
}
