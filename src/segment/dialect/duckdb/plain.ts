import { SCORES } from '../../built-in.ts'
import { type Lines, rowsNamed } from '../../catalog.ts'
import { type Expr, testedBy } from '../../expression.ts'
import { holdsWithoutLines, linesOf } from '../../lines.ts'
import {
  type Condition,
  isEveryone,
  type Measure,
  type MemberTest,
  type RowsTest,
  sparse,
  type Tree,
} from '../../tree.ts'
import { areMany, Joined } from './joined.ts'
import type { Binding } from './parameter.ts'
import { differentSql, type Scope, spell, UNIVERSE } from './spell.ts'

/** A segment as one SELECT that says what its definition says, condition by condition. */
export function plainSql(tree: Tree, binding: Binding, columns: readonly string[] = ['customer']): string {
  const selected = `select ${columns.map((name) => `customers.${name}`).join(', ')}`
  if (isEveryone(tree)) return `${selected}\nfrom customers`
  const { from, where } = customersWhere(tree, binding)
  return [selected, from, `where ${UNIVERSE}`, `  and ${where}`].join('\n')
}

/** Over all profiles, those that no segment can have included: how many satisfy the conditions. */
export function profileCountSql(tree: Tree, binding: Binding): string {
  const { from, where } = customersWhere(tree, binding)
  return ['select count(*) as count', from, `where ${where}`].join('\n')
}

/** The customers who satisfy conditions. */
export function customersWhere(tree: Tree, binding: Binding): { from: string; where: string } {
  const joined = areMany(tree) ? new Joined() : undefined
  const where = indented(treeSql(tree, conditionOn(binding, joined), false))
  const join = joined ? `\n${joined.join('customers.customer')}` : ''
  return { from: `from customers${indented(join)}, params`, where }
}

/** How a condition is spelt. `exact`: a NULL would matter here, below a `not`. */
export type Leaf = (condition: Condition, exact: boolean) => string

export function treeSql(tree: Tree, leaf: Leaf, exact: boolean): string {
  if (tree.is === 'condition') return leaf(tree, exact)
  if (tree.is === 'not') {
    const { node } = tree
    if (node.is === 'not') return treeSql(node.node, leaf, exact)
    if (node.is === 'condition') return leaf({ ...node, negated: !node.negated }, exact)
    return `not ${treeSql(node, leaf, true)}`
  }
  const [first, ...others] = tree.nodes
  if (first && others.length === 0) return treeSql(first, leaf, exact)
  const parts = tree.nodes.map((node) => indented(treeSql(node, leaf, exact)))
  return `(\n  ${parts.join(tree.is === 'all' ? '\n  and ' : '\n  or ')}\n)`
}

/** Conditions over the customers of the surrounding SELECT, which has `joined` where they are many. */
const conditionOn =
  (binding: Binding, joined?: Joined): Leaf =>
  ({ negated, test }, exact) => {
    if (test.of === 'everyone') return String(!negated)
    if (test.of === 'profile') {
      const scope = scopeOf('customers', 'customers', binding)
      const holds: Expr = negated ? { is: 'not', part: test.holds } : test.holds
      return exact && !negated ? `coalesce(${spell(holds, scope)}, false)` : spell(holds, scope)
    }
    const { of, flipped } = foundSql(test, binding)
    const isIn = negated === flipped
    if (joined) return `${isIn ? '' : 'not '}${joined.holds(JSON.stringify(test), of)}`
    return `customers.customer ${isIn ? 'in' : 'not in'} (${indented(`\n${of()}`)}\n)`
  }

/** The customers who satisfy a test, or with `flipped` those who do not; never NULL, so that `not in` is exact. */
function foundSql(test: RowsTest | MemberTest, binding: Binding): { of: () => string; flipped: boolean } {
  if (test.of === 'segment') {
    const members = 'select customer from segment_members where segment_id ='
    return { of: () => `${members} ${binding.value('text', test.segmentId)}`, flipped: false }
  }
  const { holds, flipped } = sparse(test)
  return { of: () => rowsSql({ ...test, holds }, binding), flipped }
}

export const scopeOf = (row: string, line: string, binding: Binding): Scope => ({
  row,
  line,
  binding,
  asOf: timeIn('params.as_of', binding),
  currency: 'params.currency_code',
})

/** The evaluation time, which `inParams` reads, less some days. */
const timeIn = (inParams: string, binding: Binding) => (days: number) => {
  const asOf = binding.asOf?.() ?? inParams
  return days === 0 ? asOf : `${asOf} - to_days(${binding.value('days', String(days))})`
}

/** The customers whose rows satisfy a test. */
function rowsSql(test: RowsTest, binding: Binding): string {
  if (binding.asOf && isOfLines(test)) return linesSql(test, binding)
  const { row, scope, from, where } = rowsOf(test, binding)
  const having = havingSql(test, scope)
  return [
    `select ${row}.customer`,
    from,
    `where ${where.map(indented).join('\n  and ')}`,
    ...(having ? [`group by ${row}.customer`, `having ${having}`] : []),
  ].join('\n')
}

const isAnyRow = ({ measure, holds }: RowsTest): boolean =>
  measure.agg === 'count' &&
  !measure.field &&
  holds.is === 'compare' &&
  holds.op === '>=' &&
  isOne(holds.right)

/** "At least one order with such a line" is "at least one such line": said so, orders need not be read. */
const isOfLines = (test: RowsTest): boolean =>
  isAnyRow(test) &&
  test.line.length > 0 &&
  test.row.length === 0 &&
  !holdsWithoutLines(test.line) &&
  !rowsNamed(test.source).only

function linesSql(test: RowsTest, binding: Binding): string {
  const { source, line: tests, days } = test
  const { time } = rowsNamed(source)
  const lines = linesOf(test)
  if (!lines || !time) throw new Error(`${source} has no lines`)
  const { name, alias } = lines
  const scope = scopeOf(alias, alias, binding)
  const where = [
    `${alias}.customer is not null`,
    `${alias}.${time} > ${scope.asOf(days)}`,
    `${alias}.${time} <= ${scope.asOf(0)}`,
    ...tests.map((each) => spell(each, scope)),
  ]
  return `select ${alias}.customer\nfrom ${name} as ${alias}, params\nwhere ${where.map(indented).join('\n  and ')}`
}

/** The rows, or lines, that a test counts or sums. */
function rowsOf(test: RowsTest, binding: Binding) {
  const { relation, time, only } = rowsNamed(test.source)
  const lines = linesOf(test)
  const row = relation.alias
  const line = lines?.alias ?? row
  const scope = scopeOf(row, line, binding)
  const from = [`from ${relation.name} as ${row}`]
  const where = [
    `${row}.customer is not null`,
    ...(time === undefined
      ? []
      : [`${row}.${time} > ${scope.asOf(test.days)}`, `${row}.${time} <= ${scope.asOf(0)}`]),
    ...[only, ...test.row].flatMap((each) => (each ? [spell(each, scope)] : [])),
  ]
  // A line has the time of its order: only where that is a value does it leave out any.
  const inTime = () =>
    time !== undefined && binding.asOf ? [`${line}.${time} > ${scope.asOf(test.days)}`] : []
  const lineTests = test.line.map((each) => spell(each, scope))
  if (lines && test.measure.level === 'line') {
    from.push(`join ${lines.name} as ${line} on ${line}.${lines.key} = ${row}.${lines.key}`)
    where.push(...inTime(), ...lineTests)
  } else if (lines && lineTests.length) {
    const sql = holdsWithoutLines(test.line) ? someOrNoneSql : someSql
    where.push(sql(lines, row, { inTime: inTime(), tests: lineTests }))
  }
  return { row, scope, from: `${from.join(' ')}, params`, where }
}

interface LineTests {
  inTime: readonly string[]
  tests: readonly string[]
}

/** That one of the lines of a row satisfies tests. */
function someSql({ name, alias, key }: Lines, row: string, { inTime, tests }: LineTests): string {
  const where = [`${alias}.${key} = ${row}.${key}`, ...inTime, ...tests].join('\n  and ')
  return `exists (${indented(`\nselect 1 from ${name} as ${alias}\nwhere ${where}`)}\n)`
}

/** The same, or that it has none: by OR between the two it took four times as long. */
function someOrNoneSql({ name, alias, key }: Lines, row: string, { inTime, tests }: LineTests): string {
  const failing = [
    `select ${alias}.${key}`,
    `from ${name} as ${alias}`,
    ...inTime.map((each) => `where ${each}`),
    `group by ${alias}.${key}`,
    `having not bool_or(${tests.join(' and ')})`,
  ]
  return `${row}.${key} not in (${indented(`\n${failing.join('\n')}`)}\n)`
}

function havingSql(test: RowsTest, scope: Scope): string | undefined {
  if (isAnyRow(test)) return undefined
  const { measure, holds } = test
  const of = measuredSql(measure, scope)
  const totals = { total: totalSql(measure, of), sum: `sum(${of})`, count: `count(${of})` }
  // Of a group only what is the same for all of its rows can be read.
  const asOf = timeIn('(select as_of from params)', scope.binding)
  return spell(holds, { ...scope, ...totals, asOf })
}

const measuredSql = ({ field }: Measure, scope: Scope) => (field ? spell(field.reads, scope) : '*')

const totalSql = (measure: Measure, of: string): string | undefined =>
  ({
    count: `count(${of})`,
    countDistinct: differentSql(of, measure),
    sum: `coalesce(sum(${of}), 0)`,
    avg: undefined,
    min: `min(${of})`,
    max: `max(${of})`,
  })[measure.agg]

/** What a condition compares, of one customer (by ordinal): one row with the column `actual`, of an attribute also its `kind`. */
export function actualSql({ test }: Condition, customer: number, binding: Binding): string {
  const owner = Math.trunc(customer)
  if (test.of === 'segment') {
    const id = binding.value('text', test.segmentId)
    return `select count(*) > 0 as actual from segment_members where segment_id = ${id} and customer = ${owner}`
  }
  if (test.of === 'everyone') return 'select true as actual'
  if (test.of === 'profile') {
    const actual = spell(comparedOf(test.holds), scopeOf('customers', 'customers', binding))
    return `select ${actual} as actual from customers, params where customers.customer = ${owner}`
  }
  if (SCORES.includes(test.source)) return scoredSql(test, owner, binding)
  // Of an attribute the row itself says what it is; the first test names it.
  const isAttribute = test.source === 'attributes'
  const { row, scope, from, where } = rowsOf(
    { ...test, row: isAttribute ? test.row.slice(0, 1) : test.row },
    binding,
  )
  const of = measuredSql(test.measure, scope)
  const ofOwner = `${from} where ${[...where, `${row}.customer = ${owner}`].join(' and ')}`
  if (isAttribute)
    return `select any_value(${row}.value) as actual, any_value(${row}.kind) as kind ${ofOwner}`
  return `select ${totalSql(test.measure, of) ?? averageSql(test.measure, of)} as actual ${ofOwner}`
}

/** Of a score, which a customer has one row of at most, what it is. */
function scoredSql({ source, row: tests }: RowsTest, owner: number, binding: Binding): string {
  const { name, alias } = rowsNamed(source).relation
  const scope = scopeOf(alias, alias, binding)
  const compared = tests.map((test) => spell(comparedOf(test), scope))
  return `select ${compared.join(', ')} as actual from ${name} as ${alias}, params where ${alias}.customer = ${owner}`
}

/** To six digits; an amount has two at least. */
function averageSql({ field }: Measure, of: string): string {
  const average = `sum(${of})::double / count(${of})`
  if (field?.type !== 'money') return `round(${average}, 6)`
  return `regexp_replace((${average})::decimal(28, 6)::varchar, '0{1,4}$', '')`
}

/** What a test on the customer's own row looks at. */
function comparedOf(expr: Expr): Expr {
  switch (expr.is) {
    case 'some':
      return expr.list
    case 'not':
      return comparedOf(expr.part)
    case 'and':
    case 'or':
      return expr.parts[0] ? comparedOf(expr.parts[0]) : expr
    default:
      return testedBy(expr) ?? expr
  }
}

const isOne = (expr: Expr) => expr.is === 'value' && expr.value === '1'

export const indented = (text: string) => text.replaceAll('\n', '\n  ')
