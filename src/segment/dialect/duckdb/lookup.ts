import { rowsNamed } from '../../catalog.ts'
import type { Lookup } from '../../pass.ts'
import type { Sql } from './parameter.ts'
import { answer, columns, PROFILES, placeOf, Since, testsSql } from './since.ts'
import { spell } from './spell.ts'

/**
 * The values that are wanted come in as a relation (entry, value, days, times); rows that have one of them are
 * counted per customer and entry. What else an entry tests is asked of the rows that its value found, and whether they
 * are a possible member's after that: asked of all rows first, it took half as long again.
 */
export function lookupSql(pass: Lookup, asOf: Date, gathered?: string): Sql {
  const { row, line, from, customer, time } = placeOf(pass, gathered)
  const since = new Since(asOf)
  const scope = since.scope(row, line)
  const { entries } = pass
  const wanted = entries.flatMap(({ values, days, times }, entry) =>
    values.map((value) => ({ entry: String(entry), value, days: String(days), times: String(times) })),
  )
  const list = (type: 'days' | 'text' | 'integer', key: 'entry' | 'value' | 'days' | 'times') => {
    const items = wanted.map((each) => each[key])
    return `unnest(${since.binding.list(type, items)}) as ${key}`
  }
  const cases = entries.map(({ rest }, entry) => `when ${entry} then ${testsSql(rest, scope)}`)
  const { only } = rowsNamed(pass.source)
  const where = [
    ...(only ? [spell(only, scope)] : []),
    ...(entries.some(({ rest }) => rest.length) ? [`case wanted.entry ${cases.join(' ')} end`] : []),
  ]
  const text = [
    'with wanted as (\n  select entry, value, times, as_of - to_days(days) as since, as_of',
    `  from (select ${columns(
      [list('days', 'entry'), list('text', 'value'), list('days', 'days'), list('integer', 'times')],
      '    ',
    )}), params\n),`,
    `found as (\n  select ${customer}, wanted.entry, wanted.times`,
    `  from ${from}`,
    `  join wanted on wanted.value = ${spell(pass.on, scope)}`,
    `    and ${time} > wanted.since and ${time} <= wanted.as_of, params`,
    ...(where.length ? [`  where ${where.join('\n    and ')}`] : []),
    `),\ncounted as (\n  select customer, entry\n  from found${gathered ? '' : ` semi join ${PROFILES} using (customer)`}`,
    '  group by customer, entry\n  having count(*) >= any_value(times)\n)',
    `select ${columns(['customer', ...entries.map(({ id }, entry) => `bool_or(entry = ${entry}) as ${answer(id)}`)])}`,
    'from counted\ngroup by customer',
  ].join('\n')
  return { text, values: since.binding.values }
}
