import { join } from 'node:path'
import t from 'tap'
import { storable } from '../src/connect/import/storable.ts'
import { openDuck } from '../src/store/duckdb.ts'

t.test('rows of events are refused together, however many', async (t) => {
  const duck = await openDuck({ memoryMb: 64, threads: 1, tempDir: join(t.testdir({}), 'spill') })
  t.teardown(duck.close)
  await duck.run('create table fault (n bigint, field varchar, value varchar, reason varchar)')
  let statements = 0
  const run: typeof duck.run = (...args) => {
    statements++
    return duck.run(...args)
  }
  const rows = Array.from({ length: 1_000 }, (_, n) => ({ n, properties: n % 2 ? '{"z":"\\u0000"}' : '{}' }))
  const good = await storable({ run, connection: duck.connection }, rows)
  t.same(
    good,
    rows.filter(({ n }) => n % 2 === 0),
  )
  const faults = await duck.rows('select n, field, value, reason from fault order by n')
  t.equal(faults.length, 500)
  t.match(faults[0], { n: 1, field: 'properties', value: '{"z":"\\u0000"}', reason: /^properties\.z: / })
  t.ok(statements <= 3, `${statements} statements`)
})
