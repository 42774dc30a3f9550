import { literal } from '../../store/duckdb.ts'
import { EXACT_BELOW, textOf } from './cast.ts'
import type { Mapped } from './mapping.ts'
import { PROPERTY, type Target } from './targets.ts'

/** The properties that a mapping sets one by one, as one JSON object. */
export const EXTRA = {
  target: 'extra_properties',
  type: 'object',
  what: 'properties that are set one by one',
} as const satisfies Target & { target: string }

/** Replaces every `properties.<name>` of a mapping by one column of all of them; absent values are left out. */
export function withExtra(mapped: readonly Mapped[]): Mapped[] {
  const named = mapped.flatMap((column) => {
    const name = PROPERTY.exec(column.target)?.[1]
    return name === undefined ? [] : [`${literal(name)}, ${jsonOf(column)}`]
  })
  const others = mapped.filter(({ target }) => !PROPERTY.test(target))
  if (named.length === 0) return others
  const expression = `json_merge_patch('{}', json_object(${named.join(', ')}))`
  return [...others, { target: EXTRA.target, expression, type: 'JSON' }]
}

function jsonOf({ expression, type }: Mapped): string {
  const value = `(${expression}\n)`
  if (type === 'BLOB') return `to_json(${textOf(value)})`
  if (!/^(DOUBLE|FLOAT)$/.test(type)) return `to_json(${value})`
  const isWhole = `${value} = trunc(${value}) and abs(${value}) < ${EXACT_BELOW}`
  return `case when isnan(${value}) then null when ${isWhole} then to_json(${value}::BIGINT) else to_json(${value}) end`
}
