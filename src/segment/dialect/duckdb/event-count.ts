import type { Condition, RowsTest, Tree } from '../../tree.ts'
import type { Binding } from './parameter.ts'
import { customersWhere, indented, scopeOf, treeSql } from './plain.ts'
import { spell } from './spell.ts'

/**
 * How many events satisfy the conditions: those on events look at the event itself, those on sessions at the one that it
 * belongs to, all others at its customer. An event of nobody satisfies no condition on a customer.
 */
export function eventCountSql(tree: Tree, binding: Binding): string {
  const leaf = (condition: Condition) => {
    const holds = eventConditionSql({ ...condition, negated: false }, binding)
    return condition.negated ? `not ${holds}` : holds
  }
  return [
    'select count(*) as count',
    'from stg_events as events, params',
    `where ${indented(treeSql(tree, leaf, true))}`,
  ].join('\n')
}

/** Never NULL. */
function eventConditionSql(condition: Condition, binding: Binding): string {
  const { test } = condition
  if (test.of === 'everyone') return 'true'
  if (test.of === 'rows' && test.source === 'any_event')
    return `coalesce(${testsSql(test, 'events', binding)}, false)`
  if (test.of === 'rows' && test.source === 'sessions') return sessionSql(test, binding)
  const { from, where } = customersWhere(condition, binding)
  const customers = ['select customers.customer', from, `where ${where}`].join('\n')
  return `coalesce(events.customer in (${indented(`\n${customers}`)}\n), false)`
}

const testsSql = ({ row }: RowsTest, alias: string, binding: Binding): string =>
  `(${row.map((test) => spell(test, scopeOf(alias, alias, binding))).join(' and ')})`

/** What names no session belongs to the one that pauses made of its visitor's pages at that time. */
function sessionSql(test: RowsTest, binding: Binding): string {
  const session = [
    'select 1 from stg_sessions as sessions',
    'where sessions.customer = events.customer',
    '  and coalesce(events.session_id, events.url, events.path) is not null',
    '  and sessions.by_pauses = (events.session_id is null)',
    '  and if(sessions.by_pauses, sessions.visitor = events.subject, sessions.session_id = events.session_id)',
    '  and events.occurred_at >= sessions.started_at and events.occurred_at <= sessions.ended_at',
    `  and ${testsSql(test, 'sessions', binding)}`,
  ].join('\n')
  return `exists (${indented(`\n${session}`)}\n)`
}
