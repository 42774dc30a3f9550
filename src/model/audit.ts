import type { DuckDBConnection } from '@duckdb/node-api'
import { identifier } from '../store/duckdb.ts'
import type { Model } from './graph.ts'

/** Throws an error that names the file and what breaks its grain, when one of the models does, in a session where they were run. */
export async function checkGrains(
  connection: DuckDBConnection,
  models: readonly Pick<Model, 'name' | 'file' | 'grain'>[],
): Promise<void> {
  for (const { name, file, grain } of models) {
    const columns = grain.map(identifier)
    const whole = columns.map((column) => `${column} is not null`).join(' and ')
    const reader = await connection.runAndReadAll(`
      select
        coalesce(sum(rows) filter (not whole), 0),
        coalesce(sum(rows - 1) filter (whole), 0)
      from (select ${whole} as whole, count(*) as rows from ${name} group by ${columns.join(', ')})`)
    const [without, repeated] = (reader.getRows()[0] ?? []).map(Number)
    const broken = [
      ...(without ? [`rows without a value: ${without}`] : []),
      ...(repeated ? [`rows that repeat one: ${repeated}`] : []),
    ]
    if (broken.length)
      throw new Error(`${file}: is not one row per ${grain.join(', ')}, its grain: ${broken.join(', ')}`)
  }
}
