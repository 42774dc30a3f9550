import { walk } from '../../event/walk.ts'
import type { Duck } from '../../store/duckdb.ts'
import { makeTable } from '../../store/duckdb-table.ts'

/** Properties are on the fourth level of a posted body; the same depth holds here. */
const PROPERTIES_LEVEL = 4

/** The rows whose properties a lake row can hold; the others are refused. */
export async function storable<Row extends { n: number; properties: string }>(
  duck: Pick<Duck, 'run' | 'connection'>,
  rows: readonly Row[],
): Promise<Row[]> {
  const good: Row[] = []
  const refused: [n: number, value: string, reason: string][] = []
  for (const row of rows) {
    const reason = refusal(row.properties)
    if (reason === null) good.push(row)
    else refused.push([row.n, row.properties.slice(0, 200), reason])
  }
  if (refused.length === 0) return good
  await makeTable(duck, 'refused', { n: 'BIGINT', value: 'VARCHAR', reason: 'VARCHAR' }, refused)
  await duck.run(
    `insert into fault (n, field, value, reason) select n, 'properties', value, reason from refused order by n`,
  )
  await duck.run('drop table refused')
  return good
}

function refusal(properties: string): string | null {
  let reason: string | null = null
  try {
    walk(
      JSON.parse(properties),
      'properties',
      PROPERTIES_LEVEL,
      properties.includes('\\u'),
      (path, message) => {
        reason ??= `${path}: ${message}`
      },
    )
  } catch (error) {
    reason = `is not valid JSON: ${(error as Error).message}`
  }
  return reason
}
