import type { DuckDBConnection } from '@duckdb/node-api'
import { RELATIONS, type RelationName, sourceName } from '../lake/relations.ts'
import { columnTypes } from '../lake/sources.ts'

const relationNames = Object.keys(RELATIONS) as RelationName[]

/** Source views of a brand session; only staging models read them. */
export const SOURCES: readonly string[] = relationNames.map(sourceName)

/** The one-row relation that models take their parameters from. */
export const PARAMS = {
  as_of: ['TIMESTAMP', 'nothing later is counted (UTC)'],
  timezone: ['VARCHAR', 'zone of the brand, whose days are the days of orders'],
  currency_code: ['VARCHAR', 'currency of the brand'],
  brand_id: ['UUID', 'brand'],
} as const

/** Creates every source and `params` as empty tables: enough to describe or test models without a lake. */
export async function createEmptySources(connection: DuckDBConnection): Promise<void> {
  for (const relation of relationNames)
    await connection.run(`create table ${sourceName(relation)} (${columnTypes(relation)})`)
  const params = Object.entries(PARAMS).map(([name, [type]]) => `${name} ${type}`)
  await connection.run(`create table params (${params.join(', ')})`)
}
