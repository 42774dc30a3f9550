import type { DuckDBConnection } from '@duckdb/node-api'
import { RELATIONS, type RelationName, sourceName } from '../lake/relations.ts'

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

const columnList = (columns: Readonly<Record<string, readonly [type: string, what: string]>>) =>
  Object.entries(columns)
    .map(([name, [type]]) => `${name} ${type}`)
    .join(', ')

/** Creates every source and `params` as empty tables: enough to describe or test models without a lake. */
export async function createEmptySources(connection: DuckDBConnection): Promise<void> {
  for (const relation of relationNames)
    await connection.run(`create table ${sourceName(relation)} (${columnList(RELATIONS[relation].columns)})`)
  await connection.run(`create table params (${columnList(PARAMS)})`)
}
