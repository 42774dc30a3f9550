import { rowsNamed } from '../../catalog.ts'
import type { Distinct } from '../../pass.ts'
import type { Sql } from './parameter.ts'
import { answer, columns, placeOf, Since, testsSql } from './since.ts'
import { spell } from './spell.ts'

/** One row per customer: how many different values have their latest row inside each window. */
export function distinctSql(pass: Distinct, asOf: Date, gathered?: string): Sql {
  const { row, line, from, ofMembers, customer, time } = placeOf(pass, gathered)
  const since = new Since(asOf)
  const scope = since.scope(row, line)
  const of = spell(pass.of, scope)
  const { only } = rowsNamed(pass.source)
  const latest = pass.groups.map((tests, index) => {
    const filter = tests.length ? ` filter (where ${testsSql(tests, scope)})` : ''
    return `max(${time})${filter} as t${index}`
  })
  const counts = pass.answers.map(
    ({ id, group, atom }) => `count(*) filter (where t${group} > ${since.start(atom.days)}) as n${id}`,
  )
  const answers = pass.answers.map(
    ({ id, atom }) => `${spell(atom.holds, { ...scope, total: `n${id}` })} as ${answer(id)}`,
  )
  const where = [
    `${time} > ${since.start(pass.days)}`,
    `${time} <= ${since.start(0)}`,
    `${of} is not null`,
    ...(only ? [spell(only, scope)] : []),
  ]
  const text = [
    `with latest as (\n  select ${columns([customer, ...latest], '    ')}`,
    `  from ${from}${ofMembers}, params`,
    `  where ${where.join('\n    and ')}`,
    `  group by ${customer}, ${of}\n)`,
    `select ${columns(['customer', ...answers])}`,
    `from (select ${columns(['customer', ...counts])} from latest, params group by customer)`,
  ].join('\n')
  return { text, values: since.binding.values }
}
