import { SOURCES } from '../../catalog.ts'
import type { Expr } from '../../expression.ts'
import { type Condition, type RowsTest, sparse, type Tree } from '../../tree.ts'
import type { Binding } from './parameter.ts'
import { type Scope, spell, UNIVERSE } from './spell.ts'

/** A segment as one SELECT that says what its definition says, condition by condition. */
export function plainSql(tree: Tree, binding: Binding, columns: readonly string[] = ['customer']): string {
  return [
    `select ${columns.map((name) => `customers.${name}`).join(', ')}`,
    'from customers, params',
    `where ${UNIVERSE}`,
    `  and ${indented(nodeSql(tree, binding, false))}`,
  ].join('\n')
}

/** `exact`: a NULL would matter here, below a `not`. */
function nodeSql(tree: Tree, binding: Binding, exact: boolean): string {
  if (tree.is === 'condition') return conditionSql(tree, binding, exact)
  if (tree.is === 'not') {
    const { node } = tree
    if (node.is === 'not') return nodeSql(node.node, binding, exact)
    if (node.is === 'condition') return conditionSql({ ...node, negated: !node.negated }, binding, exact)
    return `not ${nodeSql(node, binding, true)}`
  }
  const [first, ...others] = tree.nodes
  if (first && others.length === 0) return nodeSql(first, binding, exact)
  const parts = tree.nodes.map((node) => indented(nodeSql(node, binding, exact)))
  return `(\n  ${parts.join(tree.is === 'all' ? '\n  and ' : '\n  or ')}\n)`
}

function conditionSql({ path, negated, test }: Condition, binding: Binding, exact: boolean): string {
  if (test.of === 'segment') throw new Error(`${path}: membership of a segment has no SQL yet`)
  if (test.of === 'profile') {
    const scope = scopeOf('customers', 'customers', binding)
    const holds: Expr = negated ? { is: 'not', part: test.holds } : test.holds
    return exact && !negated ? `coalesce(${spell(holds, scope)}, false)` : spell(holds, scope)
  }
  const { holds, flipped } = sparse(test)
  const member = negated === flipped ? 'in' : 'not in'
  return `customers.customer ${member} (${indented(`\n${rowsSql({ ...test, holds }, binding)}`)}\n)`
}

const scopeOf = (row: string, line: string, binding: Binding): Scope => ({
  row,
  line,
  binding,
  asOf: (days) =>
    days === 0 ? 'params.as_of' : `params.as_of - to_days(${binding.value('days', String(days))})`,
  currency: 'params.currency_code',
})

/** The customers whose rows satisfy a test; never NULL, so that `not in` is exact. */
function rowsSql(test: RowsTest, binding: Binding): string {
  const { relation, time, lines, only } = SOURCES[test.source]
  const row = relation.alias
  const line = lines?.alias ?? row
  const scope = scopeOf(row, line, binding)
  const from = [`from ${relation.name} as ${row}`]
  const where = [
    `${row}.customer is not null`,
    `${row}.${time} > ${scope.asOf(test.days)}`,
    `${row}.${time} <= ${scope.asOf(0)}`,
    ...[only, ...test.row].flatMap((each) => (each ? [spell(each, scope)] : [])),
  ]
  const lineTests = test.line.map((each) => spell(each, scope))
  if (lines && test.measure.level === 'line') {
    from.push(`join ${lines.name} as ${line} on ${line}.${lines.key} = ${row}.${lines.key}`)
    where.push(...lineTests)
  } else if (lines && lineTests.length) {
    const same = `${line}.${lines.key} = ${row}.${lines.key}`
    const matching = `select 1 from ${lines.name} as ${line}\nwhere ${[same, ...lineTests].join('\n  and ')}`
    where.push(`exists (${indented(`\n${matching}`)}\n)`)
  }
  const having = havingSql(test, scope)
  return [
    `select ${row}.customer`,
    `${from.join(' ')}, params`,
    `where ${where.map(indented).join('\n  and ')}`,
    ...(having ? [`group by ${row}.customer`, `having ${having}`] : []),
  ].join('\n')
}

function havingSql({ measure: { agg, field }, holds }: RowsTest, scope: Scope): string | undefined {
  const of = field ? spell(field.reads, scope) : '*'
  const anyRow =
    agg === 'count' && !field && holds.is === 'compare' && holds.op === '>=' && isOne(holds.right)
  if (anyRow) return undefined
  const total = {
    count: `count(${of})`,
    countDistinct: `count(distinct ${of})`,
    sum: `coalesce(sum(${of}), 0)`,
    avg: undefined,
    min: `min(${of})`,
    max: `max(${of})`,
  }[agg]
  return spell(holds, { ...scope, total, sum: `sum(${of})`, count: `count(${of})` })
}

const isOne = (expr: Expr) => expr.is === 'value' && expr.value === '1'

const indented = (text: string) => text.replaceAll('\n', '\n  ')
