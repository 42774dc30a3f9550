import t from 'tap'
import { isOneOf } from '../src/lake/one-of.ts'
import { openDuck } from '../src/store/duckdb.ts'

t.test('rows of some subjects are found however many these are', async (t) => {
  const duck = await openDuck({ memoryMb: 64, threads: 1, tempDir: t.testdir() })
  t.teardown(() => duck.close())
  await duck.run('create table events as select range as subject from range(5000)')
  for (const subjects of [0, 1, 2, 1_000, 1_001, 4_000]) {
    const of = Array.from({ length: subjects }, (_, n) => n)
    const [found] = await duck.rows(`select count(*) as n from events where ${isOneOf(of, 'subject')}`)
    t.same(found, { n: subjects }, `${subjects}`)
  }
})
