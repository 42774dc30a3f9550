import { DuckDBInstance } from '@duckdb/node-api'
import type { Model } from './graph.ts'
import { runModels } from './run.ts'
import { createEmptySources } from './source.ts'

export type Columns = [name: string, type: string][]

const described = new WeakMap<readonly Model[], Promise<Map<string, Columns>>>()

/** Columns of models in dependency order, by DuckDB's own answer; worked out once for a list of models. */
export function columnsOfModels(models: readonly Model[]): Promise<Map<string, Columns>> {
  const known = described.get(models)
  if (known) return known
  const now = describe(models)
  described.set(models, now)
  // What failed may not fail again: there may have been no memory for an instance.
  now.catch(() => described.delete(models))
  return now
}

async function describe(models: readonly Model[]): Promise<Map<string, Columns>> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  try {
    await createEmptySources(connection)
    await runModels(connection, models, { materialize: () => 'view' })
    const columns = new Map<string, Columns>()
    for (const { name } of models) {
      const rows = (await connection.runAndReadAll(`describe ${name}`)).getRows()
      columns.set(
        name,
        rows.map(([column, type]) => [String(column), String(type)]),
      )
    }
    return columns
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}
