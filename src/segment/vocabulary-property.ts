import { type Comparison, type Given, givenValue, readComparison, readGiven } from './comparison.ts'
import { refusal, unknownName } from './complaint.ts'
import { column, compare, type Expr, element, equal, some, sorted, total, value } from './expression.ts'
import type { AnySource } from './inner-source.ts'
import { LIMITS } from './operators.ts'
import { inRules, type Property, propertiesOf, type Target } from './property.ts'
import type { Measure, RowsTest } from './tree.ts'
import { type Operand, STORED } from './value.ts'
import type { Meant, Parameters } from './vocabulary-node.ts'
import { refuseTenantProperty } from './vocabulary-tenancy.ts'

const ROWS: Measure = { agg: 'count', level: 'row' }

/** At least one row of the last 1,095 days satisfies all of these. */
export const anyRow = (source: AnySource, row: Expr[], days: number = LIMITS.maxDays): RowsTest => ({
  of: 'rows',
  source,
  days,
  row: sorted(row),
  line: [],
  measure: ROWS,
  holds: compare('>=', total, value('integer', '1')),
})

/** Of `profilePropertyCondition` and `sessionPropertyCondition`. */
export function readProperty(target: Target, parameters: Parameters, path: string): Meant {
  const at = `${path}.propertyName`
  const name = parameters.get('propertyName')
  const named = typeof name === 'string' ? name : ''
  refuseTenantProperty(named, at)
  const comparison = readComparison(parameters.get('comparisonOperator'), `${path}.comparisonOperator`)
  const given = givenValue(parameters, comparison, path)
  const known = propertiesOf(target)
  const property = known.find(({ propertyName }) => propertyName === name)
  if (property) return builtIn(property, comparison, given, path)
  const attribute = target === 'profiles' ? attributeOf(named) : undefined
  if (attribute !== undefined) return adHoc(attribute, comparison, given, path)
  const names = known.map(({ propertyName }) => propertyName)
  throw unknownName(at, name, `a property of ${target}`, target === 'profiles' ? [...names, ANY] : names)
}

const PREFIX = 'properties.'
const ANY = 'properties.<any name that events set>'

function attributeOf(name: string): string | undefined {
  const attribute = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : ''
  return attribute !== '' && attribute.length <= LIMITS.textLength ? attribute : undefined
}

function builtIn(property: Property, comparison: Comparison, given: Given | undefined, path: string): Meant {
  const { field, target, propertyName } = property
  const operand = { type: field.type, stored: STORED[field.type], oneOf: field.oneOf }
  const { values, days } = readGiven(comparison, operand, given, path)
  const compared = comparison.operator.means(field.each ? element : field.reads, values, days, field.type)
  const holds = field.each ? some(field.reads, compared) : compared
  return {
    negated: comparison.negated,
    test: target === 'profiles' ? { of: 'profile', holds } : anyRow('sessions', [holds]),
    rule: () => {
      if (!property.rule || !inRules(property))
        throw refusal(`${path}.propertyName`, `segments cannot be made of ${propertyName}, only counts`)
      return ruleOf(property.rule, comparison, given)
    },
  }
}

/** A property that events set. The value says as what it is compared: number, time or text. */
function adHoc(name: string, comparison: Comparison, given: Given | undefined, path: string): Meant {
  const operand = operandOf(comparison, given)
  const text = given && operand.type === 'string' ? { ...given, json: textOf(given.json) } : given
  const { values, days } = readGiven(comparison, operand, text, path)
  const isNamed = equal(column('name'), value('text', name))
  const { operator } = comparison
  const holds =
    operator.value === 'none'
      ? []
      : operand.type === 'string'
        ? [some(column('elements'), operator.means(element, values, days, 'string'))]
        : [operator.means(column(operand.type === 'time' ? 'moment' : 'number'), values, days, operand.type)]
  return {
    negated: comparison.negated,
    test: anyRow('attributes', [isNamed, ...holds]),
    rule: () => ruleOf({ source: 'customer_attributes', field: `attributes.${name}` }, comparison, given),
  }
}

function operandOf({ operator }: Comparison, given: Given | undefined): Operand {
  const [first] = [given?.json].flat()
  const timely = !operator.takes.includes('string') && !operator.takes.includes('number')
  if (operator.value === 'days' || timely || given?.parameter.endsWith('Date'))
    return { type: 'time', stored: 'time' }
  if (typeof first === 'number' || /(Integer|Double)$/.test(given?.parameter ?? ''))
    return { type: 'number', stored: 'average' }
  return { type: 'string', stored: 'text' }
}

/** true and false are texts among the properties that events set. */
const textOf = (json: unknown): unknown =>
  Array.isArray(json) ? json.map(textOf) : typeof json === 'boolean' ? String(json) : json

const ruleOf = (
  field: { source: string; field: string },
  { op, turned }: Comparison,
  given: Given | undefined,
): object => {
  const condition = { ...field, op, ...(given && { value: given.json }) }
  return turned ? { not: condition } : condition
}
