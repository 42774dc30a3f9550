import { isAttribute, readAttribute } from './attribute.ts'
import { BUILT_IN_FIELD, BUILT_IN_NAMES, builtIn } from './built-in.ts'
import { type Field, SOURCES, type SourceName } from './catalog.ts'
import { refusal, shown, unknownName } from './complaint.ts'
import {
  average,
  brandCurrency,
  column,
  type Expr,
  element,
  not,
  present,
  some,
  sorted,
  total,
  value,
} from './expression.ts'
import {
  COUNT,
  checkMany,
  checkOperator,
  MEMBER,
  opsFor,
  readField,
  readOperator,
  readSource,
} from './name.ts'
import { AGGREGATES, type AggregateName, LIMITS, type Operator, TIMES_OPS } from './operators.ts'
import {
  type Condition,
  type EveryoneTest,
  type Measure,
  type MemberTest,
  ROWS,
  type RowsTest,
  SOME,
  type Test,
} from './tree.ts'
import { givenTo, type Operand, readDays, readInteger, readObject, readOperand, STORED } from './value.ts'

/** What reading a definition carries along. */
export interface Walk {
  conditions: number
  /** `built_in` is a field. */
  isBuiltIn: boolean
  /** It was accepted once: names of attributes that rules leave out since then are as they were. */
  isSaved?: boolean
}

type Read = { negated: boolean; test: Test }
type Node = Map<string, unknown>

const KEYS = {
  comparison: ['source', 'field', 'op', 'value'],
  count: ['source', 'op', 'window', 'times', 'where'],
  aggregate: ['source', 'agg', 'field', 'op', 'value', 'where', 'window'],
  member: ['source', 'op', 'segmentId'],
} as const

/** Keys of all forms. */
export const CONDITION_KEYS: readonly string[] = [...new Set(Object.values(KEYS).flat())]

/** Reads a comparison, a count over a window or an aggregate, on the source of its own or the nearest around it. */
export function readCondition(json: object, path: string, outer: SourceName, walk: Walk): Condition {
  counted(path, walk)
  const op: unknown = Object.hasOwn(json, 'op') ? (json as { op: unknown }).op : undefined
  checkOperator(op, `${path}.op`)
  const form =
    op === MEMBER
      ? 'member'
      : op === COUNT
        ? 'count'
        : Object.hasOwn(json, 'agg')
          ? 'aggregate'
          : 'comparison'
  const node = readObject(json, path, KEYS[form])
  const source = node.has('source') ? readSource(node.get('source'), `${path}.source`) : outer
  if (walk.isBuiltIn && node.get('field') === BUILT_IN_FIELD)
    return { is: 'condition', path, negated: false, test: readBuiltIn(node, path) }
  if (form === 'member') return { is: 'condition', path, negated: false, test: readMember(node, path) }
  if (form === 'count') return { is: 'condition', path, ...readCount(node, path, source, walk) }
  if (form === 'aggregate') return { is: 'condition', path, ...readAggregate(node, path, source, walk) }
  return {
    is: 'condition',
    path,
    ...(isAttribute(node, source) ? readAttribute(node, path, walk) : readComparison(node, path, source)),
  }
}

function counted(path: string, walk: Walk): void {
  walk.conditions++
  if (walk.conditions > LIMITS.conditions)
    throw refusal(path, `a definition may have ${LIMITS.conditions} conditions, those inside where included`)
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** That there is such a segment is for whoever saves the definition to check. */
function readMember(node: Node, path: string): MemberTest {
  const id = node.get('segmentId')
  if (typeof id !== 'string' || !UUID.test(id))
    throw refusal(`${path}.segmentId`, `must be the id of a segment, not ${shown(id)}`)
  return { of: 'segment', segmentId: id.toLowerCase() }
}

/** Only the service writes these definitions, so there is one form. */
function readBuiltIn(node: Node, path: string): RowsTest | EveryoneTest {
  const name = node.get('value')
  if (typeof name !== 'string' || !BUILT_IN_NAMES.includes(name))
    throw unknownName(`${path}.value`, name, 'a built-in segment', BUILT_IN_NAMES)
  const { scored } = builtIn(name)
  if (!scored) return { of: 'everyone' }
  const { source, holds } = scored
  return { of: 'rows', source, days: LIMITS.maxDays, row: [holds], line: [], measure: ROWS, holds: SOME }
}

function readComparison(node: Node, path: string, source: SourceName): Read {
  const { negated, holds, field } = readRowTest(node, path, source)
  if (SOURCES[source].rows === 'one') return { negated, test: { of: 'profile', holds } }
  // At least one row satisfies it; of a line's field, at least one line.
  const [row, line] = field.line ? [[], [holds]] : [[holds], []]
  return {
    negated,
    test: { of: 'rows', source, days: LIMITS.maxDays, row, line, measure: ROWS, holds: SOME },
  }
}

function readCount(node: Node, path: string, source: SourceName, walk: Walk): Read {
  checkMany(source, `${path}.op`, COUNT)
  const times = node.has('times')
    ? readTimes(node.get('times'), `${path}.times`)
    : { negated: false, holds: SOME }
  const test: RowsTest = {
    of: 'rows',
    source,
    days: readWindow(node, path),
    ...readWhere(node, path, source, walk),
    measure: ROWS,
    holds: times.holds,
  }
  return { negated: times.negated, test }
}

function readTimes(json: unknown, path: string): { negated: boolean; holds: Expr } {
  const times = readObject(json, path, ['op', 'n'])
  const { operator, negated } = readOperator(times.get('op'), `${path}.op`, TIMES_OPS)
  const n = readInteger(times.get('n'), `${path}.n`, 0, LIMITS.maxTimes)
  return { negated, holds: operator.means(total, [value('integer', String(n))], 0, 'number') }
}

function readAggregate(node: Node, path: string, source: SourceName, walk: Walk): Read {
  const name = node.get('agg')
  if (typeof name !== 'string' || !Object.hasOwn(AGGREGATES, name))
    throw unknownName(`${path}.agg`, name, 'an aggregate', Object.keys(AGGREGATES))
  const agg = name as AggregateName
  const aggregate = AGGREGATES[agg]
  checkMany(source, `${path}.agg`, 'an aggregate')
  const field =
    node.has('field') || aggregate.of.length
      ? readField(node.get('field'), `${path}.field`, source)
      : undefined
  if (field && aggregate.of.length && !aggregate.of.includes(field.type))
    throw refusal(
      `${path}.agg`,
      `${agg} takes ${aggregate.of.join(', ')}; ${shown(node.get('field'))} is ${field.type}`,
    )

  const operand = aggregateOperand(agg, field)
  const { operator, negated } = readOperator(node.get('op'), `${path}.op`, opsFor(operand.type))
  const left = aggregate.gives === 'average' ? average : total
  const { values, days } = valuesOf(operator, operand, node, path)
  const { row, line } = readWhere(node, path, source, walk)
  const { currency } = SOURCES[source]
  if (aggregate.brandCurrency && field?.type === 'money' && currency)
    row.push(brandCurrency(column(currency)))
  // Rows have a list by one element.
  if (agg === 'count' && field?.each) row.push(some(field.reads, present(element)))
  const measure = measureOf(agg, field)
  const holds = operator.means(left, values, days, operand.type)
  return { negated, test: { of: 'rows', source, days: readWindow(node, path), row, line, measure, holds } }
}

function measureOf(agg: AggregateName, field: Field | undefined): Measure {
  if (!field || (agg === 'count' && field.each)) return { agg, level: 'row' }
  const { reads, type, each, line } = field
  return { agg, field: { reads, type, ...(each && { each }) }, level: line ? 'line' : 'row' }
}

function aggregateOperand(agg: AggregateName, field: Field | undefined): Operand {
  const { gives } = AGGREGATES[agg]
  if (gives === 'number' || !field) return { type: 'number', stored: 'integer' }
  if (gives === 'average') return { type: field.type, stored: 'average' }
  if (agg === 'sum') return { type: field.type, stored: field.type === 'money' ? 'moneySum' : 'integerSum' }
  return { type: field.type, stored: STORED[field.type] }
}

const readWindow = (node: Node, path: string): number =>
  node.has('window') ? readDays(node.get('window'), `${path}.window`, LIMITS.maxDays) : LIMITS.maxDays

/** The conditions on one row. Those on an order's line all look at one and the same line. */
function readWhere(node: Node, path: string, source: SourceName, walk: Walk): { row: Expr[]; line: Expr[] } {
  const row: Expr[] = []
  const line: Expr[] = []
  const where = node.get('where')
  if (!node.has('where')) return { row, line }
  if (!Array.isArray(where))
    throw refusal(`${path}.where`, `must be a list of comparisons, not ${shown(where)}`)
  for (const [index, json] of where.entries()) {
    const at = `${path}.where[${index}]`
    counted(at, walk)
    const test = readObject(json, at, ['source', 'field', 'op', 'value'])
    if (test.has('source') && test.get('source') !== source)
      throw refusal(
        `${at}.source`,
        `must be "${source}", whose rows are looked at, not ${shown(test.get('source'))}`,
      )
    const { negated, holds, field } = readRowTest(test, at, source)
    const list = field.line ? line : row
    list.push(negated ? not(holds) : holds)
  }
  return { row: sorted(row), line: sorted(line) }
}

function readRowTest(
  node: Node,
  path: string,
  source: SourceName,
): { negated: boolean; holds: Expr; field: Field } {
  const field = readField(node.get('field'), `${path}.field`, source)
  const { operator, negated } = readOperator(node.get('op'), `${path}.op`, opsFor(field.type))
  const operand = { type: field.type, stored: STORED[field.type], oneOf: field.oneOf }
  const { values, days } = valuesOf(operator, operand, node, path)
  const holds = operator.means(field.each ? element : field.reads, values, days, field.type)
  return { negated, holds: field.each ? some(field.reads, holds) : holds, field }
}

const valuesOf = (operator: Operator, operand: Operand, node: Node, path: string) =>
  readOperand(operator, operand, givenTo(operator, node, path), `${path}.value`)
