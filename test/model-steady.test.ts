import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { readSelect } from '../src/model/select.ts'

/** These answer alike at each read of the same rows, or tell of no value. */
const HARMLESS = [
  'error',
  'sleep_ms',
  'stats',
  'write_log',
  'in_search_path',
  ...['current_database', 'current_schema', 'current_schemas'],
]

const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
t.teardown(() => {
  connection.closeSync()
  instance.closeSync()
})

const functionsThat = async (condition: string) => {
  const reader = await connection.runAndReadAll(
    `select distinct function_name, len(parameters)::integer from duckdb_functions() where ${condition}`,
  )
  return reader
    .getRows()
    .map(([name, parameters]) => ({ name: String(name), parameters: Number(parameters) }))
}

const refused = (t: Test, { name, parameters }: { name: string; parameters: number }) =>
  t.rejects(
    readSelect(connection, 'a.sql', `select ${name}(${Array(parameters).fill('x').join(', ')}) from b`),
    { message: /depends on more than rows and params/ },
    name,
  )

t.test('what DuckDB calls no function of its arguments alone is refused in a model', async (t) => {
  const unsteady = await functionsThat("stability is distinct from 'CONSISTENT' and function_type = 'scalar'")
  t.ok(unsteady.length > 10)
  for (const each of unsteady) if (!HARMLESS.includes(each.name)) await refused(t, each)
})

t.test('a macro of the clock or of chance is refused in a model', async (t) => {
  const macros = await functionsThat(
    "function_type = 'macro' and regexp_matches(macro_definition, 'current_(time|date)|now\\(|today\\(|random\\(|uuid')",
  )
  t.ok(macros.length > 0)
  for (const each of macros) await refused(t, each)
})
