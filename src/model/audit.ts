import type { DuckDBConnection } from '@duckdb/node-api'
import { identifier } from '../store/duckdb.ts'
import type { Model } from './graph.ts'

/** Checks a model's grain in a session where it was run: nothing when it holds, else what breaks it, in words. */
export async function auditGrain(connection: DuckDBConnection, model: Model): Promise<string[]> {
  const columns = model.grain.join(', ')
  const named = model.grain.map(identifier)
  const whole = named.map((column) => `${column} is not null`).join(' and ')
  const reader = await connection.runAndReadAll(`
    select
        (count(*) - count(*) filter (${whole}))::integer,
        (count(*) filter (${whole}) - count(distinct (${named.join(', ')})) filter (${whole}))::integer
    from ${model.name}`)
  const [nulls, repeated] = (reader.getRows()[0] ?? []).map(Number)
  return [
    ...(nulls ? [`${model.name}: ${nulls} rows without a value of ${columns}`] : []),
    ...(repeated ? [`${model.name}: ${repeated} rows repeat a value of ${columns}`] : []),
  ]
}
