import t from 'tap'
import { openDuck } from '../src/store/duckdb.ts'

t.test(
  'a statement that runs when its instance is closed ends, and those that wait are not begun',
  async (t) => {
    const duck = await openDuck({ memoryMb: 100, threads: 1, tempDir: t.testdir() })
    const long = duck.run('select sum(a.range * b.range) from range(10000000) as a, range(10000000) as b')
    const next = duck.run('select 1')
    await Promise.resolve()
    duck.close()
    await t.rejects(long, /INTERRUPT/)
    await t.rejects(next, /the connection was closed/)
  },
)
