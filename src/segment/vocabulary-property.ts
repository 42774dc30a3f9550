import { parseExactly } from '../event/exact.ts'
import { writtenOut } from '../event/written-out.ts'
import { asNumber, asTime, attributeTest, isRuleAttribute, operandOf } from './attribute.ts'
import { ATTRIBUTE_PREFIX, type RowsName } from './catalog.ts'
import { type Comparison, type Given, givenValue, readComparison, readGiven } from './comparison.ts'
import { refusal, unknownName } from './complaint.ts'
import { type Expr, element, some, sorted } from './expression.ts'
import { refuseLeftOut } from './name.ts'
import { LIMITS, type Operator } from './operators.ts'
import { inRules, PREFIX, type Property, propertiesOf, propertyNames, type Target } from './property.ts'
import { ROWS, type RowsTest, SOME } from './tree.ts'
import { type Operand, readString, STORED } from './value.ts'
import type { Meant, Parameters } from './vocabulary-node.ts'
import { isTenantProperty, refuseTenantProperty } from './vocabulary-tenancy.ts'

/** At least one row of the last 1,095 days satisfies all of these. */
export const anyRow = (source: RowsName, row: Expr[], days: number = LIMITS.maxDays): RowsTest => ({
  of: 'rows',
  source,
  days,
  row: sorted(row),
  line: [],
  measure: ROWS,
  holds: SOME,
})

/** Of `profilePropertyCondition` and `sessionPropertyCondition`. */
export function readProperty(target: Target, parameters: Parameters, path: string): Meant {
  const at = `${path}.propertyName`
  const name = parameters.get('propertyName')
  const named = typeof name === 'string' ? name : ''
  refuseTenantProperty(named, at)
  const comparison = readComparison(parameters.get('comparisonOperator'), `${path}.comparisonOperator`)
  const given = givenValue(parameters, comparison, path)
  const property = propertiesOf(target).find(({ propertyName }) => propertyName === name)
  if (property) return builtIn(property, comparison, given, path)
  const attribute = target === 'profiles' ? attributeOf(named) : undefined
  if (attribute !== undefined) return adHoc(attribute, comparison, given, path)
  throw unknownName(at, name, `a property of ${target}`, propertyNames(target))
}

/** Whether conditions can ask of a property that events set. */
export const isAsked = (propertyName: string): boolean =>
  !isTenantProperty(propertyName) && attributeOf(propertyName) !== undefined

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
      if (!property.rule || !inRules(property)) throw onlyCounts(propertyName, `${path}.propertyName`)
      return ruleOf(property.rule, comparison, given)
    },
  }
}

/** A property that events set: an attribute of rules. The value, or its parameter, says as what it is compared. */
function adHoc(name: string, comparison: Comparison, given: Given | undefined, path: string): Meant {
  const { operator } = comparison
  const operand = operandFor(operator, given, path)
  const { values, days } = readGiven(comparison, operand, given, path)
  return {
    negated: comparison.negated,
    test: attributeTest(name, operator, operand, values, days),
    rule: () => {
      const at = `${path}.propertyName`
      const field = readString(`${ATTRIBUTE_PREFIX}${name}`, at)
      refuseLeftOut(field, at)
      if (!isRuleAttribute(name)) throw onlyCounts(`${PREFIX}${name}`, at)
      const said = given && { ...given, json: operand === asNumber ? numbersOf(given.json) : given.json }
      if (said && operandOf(operator, said.json, path).type !== operand.type)
        throw refusal(
          `${path}.${said.parameter}`,
          `rules compare this as text: segments cannot be made of it`,
        )
      return ruleOf({ source: 'customer_attributes', field }, comparison, said)
    },
  }
}

const onlyCounts = (propertyName: string, path: string) =>
  refusal(path, `segments cannot be made of ${propertyName}, only counts`)

function operandFor(operator: Operator, given: Given | undefined, path: string): Operand {
  const parameter = given?.parameter ?? ''
  if (/(Integer|Double)$/.test(parameter)) return asNumber
  if (parameter.endsWith('Date')) return asTime
  return operandOf(operator, given?.json, `${path}.${parameter}`)
}

/** Rules know a number from a text by what it is in JSON, where it keeps every digit. */
const numbersOf = (json: unknown): unknown => {
  if (Array.isArray(json)) return json.map(numbersOf)
  return typeof json === 'string' ? parseExactly(writtenOut(json.replace(/^\+/, ''))) : json
}

const ruleOf = (
  field: { source: string; field: string },
  { op, turned }: Comparison,
  given: Given | undefined,
): object => {
  const condition = { ...field, op, ...(given && { value: given.json }) }
  return turned ? { not: condition } : condition
}
