import type { Duck } from '../../store/duckdb.ts'
import type { Mapped } from './mapping.ts'
import { LINE_TARGETS } from './targets.ts'

/** The keys of nested `lines` that no field of a line is named like, as `lines[].<key>`. */
export async function lineKeysUnread(duck: Duck, mapped: readonly Mapped[]): Promise<string[]> {
  if (!mapped.some(({ target }) => target === 'lines')) return []
  const rows = await duck.rows<{ key: string }>(
    `select distinct unnest(keys) as key
     from (select distinct json_keys(entry) as keys from element where json_type(entry) = 'OBJECT')
     order by key`,
  )
  return rows.filter(({ key }) => !Object.hasOwn(LINE_TARGETS, key)).map(({ key }) => `lines[].${key}`)
}
