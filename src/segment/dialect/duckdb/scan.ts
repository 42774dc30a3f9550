import { rowsNamed } from '../../catalog.ts'
import type { Aggregation, Scan } from '../../pass.ts'
import type { Sql } from './parameter.ts'
import { answer, columns, type Place, placeOf, Since, testsSql } from './since.ts'
import { all, type Scope, spell } from './spell.ts'

/** One row per customer with rows in the longest window, one boolean per atom. */
export function scanSql(scan: Scan, asOf: Date, gathered?: string): Sql {
  const { row, line, from, ofMembers, customer, time } = placeOf(scan, gathered)
  const since = new Since(asOf)
  const scope = since.scope(row, line)
  const made = scan.aggregations.map((each, index) => aggregationSql(each, `m${index}`, scan, scope, time))
  const answers = scan.answers.map((each) => `${answerSql(scan, each, scope)} as ${answer(each.id)}`)
  const where = [
    ...(time === null ? [] : [`${time} > ${since.start(scan.days)}`, `${time} <= ${since.start(0)}`]),
    ...scan.only.map((test) => spell(test, scope)),
  ]
  const text = [
    ...(scan.level === 'matched' ? [`with ${matchedSql(scan, scope)}`] : []),
    `select ${columns(['customer', ...answers])}`,
    `from (\n  select ${columns([customer, ...made], '    ')}`,
    `  from ${from}${ofMembers}, params`,
    ...(where.length ? [`  where ${where.join('\n    and ')}`] : []),
    `  group by ${customer}\n), params`,
  ].join('\n')
  return { text, values: since.binding.values }
}

function aggregationSql(
  each: Aggregation,
  name: string,
  scan: Scan,
  scope: Scope,
  time: Place['time'],
): string {
  const { agg, field } = each.measure
  const tests = each.tests.map((test) => spell(test, scope))
  if (each.match !== undefined) tests.unshift(`matched.l${each.match}`)
  if (each.days < scan.days) tests.unshift(`${time} > ${scope.asOf(each.days)}`)
  const filter = tests.length ? ` filter (where ${tests.join(' and ')})` : ''
  const of = field ? spell(field.reads, scope) : '*'
  // bool_or and count_if of a condition take 2.0 and 2.4 s where count(*) filter takes 3.0 (20 conditions, 5M rows).
  switch (each.how) {
    case 'some':
      return `bool_or(${all(tests)}) as ${name}`
    case 'count':
      return `${tests.length ? `count_if(${all(tests)})` : 'count(*)'} as ${name}`
    case 'latest':
      return `max(${time}${each.keep === 1 ? '' : `, ${Math.trunc(each.keep)}`})${filter} as ${name}`
    case 'aggregate':
      if (agg === 'countDistinct') return `count(distinct ${of})${filter} as ${name}`
      if (agg === 'avg') return `sum(${of})${filter} as ${name}, count(${of})${filter} as ${name}n`
      return `${agg}(${of})${filter} as ${name}`
  }
}

function answerSql(scan: Scan, { aggregation, atom }: Scan['answers'][number], scope: Scope): string {
  const { how, keep, measure } = scan.aggregations[aggregation] as Aggregation
  const name = `m${aggregation}`
  const n = String(atom.atLeast)
  switch (how) {
    case 'some':
      return name
    case 'count':
      return `${name} >= ${scope.binding.value('integer', n)}`
    case 'latest':
      // The nth of the latest times lies in the window when n of them do.
      return `${keep === 1 ? name : `${name}[${scope.binding.value('integer', n)}]`} > ${scope.asOf(atom.days)}`
    case 'aggregate': {
      const total = measure.agg === 'sum' ? `coalesce(${name}, 0)` : name
      return spell(atom.holds, { ...scope, total, sum: name, count: `${name}n` })
    }
  }
}

/** One row per order: which sets of tests one of its lines satisfies. */
function matchedSql(scan: Scan, scope: Scope): string {
  const { lines, time } = rowsNamed(scan.source)
  if (!lines || !time) throw new Error(`${scan.source} has no lines`)
  const { alias, key, name } = lines
  const sets = scan.matches.map((tests, index) => `bool_or(${testsSql(tests, scope)}) as l${index}`)
  return [
    `matched as (\n  select ${columns([`${alias}.${key}`, ...sets], '    ')}`,
    `  from ${name} as ${alias}, params`,
    `  where ${alias}.${time} > ${scope.asOf(scan.days)} and ${alias}.${time} <= ${scope.asOf(0)}`,
    `  group by ${alias}.${key}\n)`,
  ].join('\n')
}
