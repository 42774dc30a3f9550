import { join } from 'node:path'
import t from 'tap'
import { openDuck } from '../src/store/duckdb.ts'
import { makeTable } from '../src/store/duckdb-table.ts'
import { openTurns } from '../src/store/duckdb-turns.ts'

const COLUMNS = { n: 'INTEGER', tick: 'BIGINT', name: 'VARCHAR', brand: 'UUID', at: 'TIMESTAMP' } as const
const ROWS = [
  [1, 2 ** 40, 'é,\n', '0195f000-0000-7000-8000-000000000001', new Date('2026-01-31T23:59:59.123Z')],
  [-1, 0, '', '0195f000-0000-7000-8000-000000000002', new Date('1969-12-31T00:00:00Z')],
  [null, null, null, null, null],
]

const instance = (t: { testdir(): string }) => ({
  memoryMb: 256,
  threads: 1,
  tempDir: join(t.testdir(), 'tmp'),
})

t.test('a table is made of rows that the program has', async (t) => {
  const duck = await openDuck(instance(t))
  t.teardown(() => duck.close())
  await makeTable(duck, 'made', COLUMNS, ROWS)
  t.same(
    await duck.rows('from made'),
    ROWS.map(([n, tick, name, brand, at]) => ({ n, tick, name, brand, at })),
  )
  await makeTable(
    duck,
    'many',
    { n: 'BIGINT' },
    Array.from({ length: 300_000 }, (_, n) => [n]),
  )
  t.same(await duck.rows('select count(*) as rows, sum(n) as sum from many'), [
    { rows: 300_000, sum: (300_000 * 299_999) / 2 },
  ])
  await makeTable(duck, 'none', { n: 'BIGINT' }, [])
  t.same(await duck.rows('from none'), [])
})

t.test('it stands where other tables of the connection do', async (t) => {
  const folder = t.testdir()
  const turns = await openTurns({ ...instance(t), folder, settings: [] })
  t.teardown(() => turns.close())
  const turn = await turns.begin(undefined)
  await makeTable(turn, 'made', { n: 'INTEGER' }, [[1]])
  t.same(await turn.rows(`select n, table_catalog as at from made, information_schema.tables`), [
    { n: 1, at: 'turn' },
  ])
  await turn.end()
})
