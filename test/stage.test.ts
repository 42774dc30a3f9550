import { join } from 'node:path'
import t from 'tap'
import { columnTypes } from '../src/lake/sources.ts'
import { stageRows } from '../src/lake/stage.ts'
import { literal, openDuck } from '../src/store/duckdb.ts'

const BRANDS = 100
const ROWS = 20_000

t.test('of a file that brands share a brand reads few of the rows', async (t) => {
  const lakeDir = t.testdir()
  const duck = await openDuck({ memoryMb: 256, threads: 2, tempDir: join(lakeDir, 'tmp') })
  t.teardown(() => duck.close())
  await duck.run(`create table new_visitors (${columnTypes('visitors')})`)
  await duck.run(`
    insert into new_visitors by name
    select md5((n % ${BRANDS})::varchar)::uuid as brand_id, 1 as tick, n::integer as subject from range(${ROWS}) as rows (n)`)
  const based = async () => new Set<string>()
  const staged = { relation: 'visitors', table: 'new_visitors', tick: 1, based } as const
  const [file, ...others] = await stageRows(duck, lakeDir, staged)
  t.match(file, { brand_id: null, rows: ROWS })
  t.same(others, [])
  const groups = await duck.rows<{ rows: number; low: string; high: string }>(`
    select row_group_num_rows as rows, stats_min as low, stats_max as high
    from parquet_metadata(${literal(join(lakeDir, String(file?.path)))}) where path_in_schema = 'brand_id'`)
  const total = groups.reduce((sum, { rows }) => sum + rows, 0)
  t.equal(total, ROWS)
  for (const { brand_id } of file?.brands ?? []) {
    const read = groups.filter(({ low, high }) => low <= brand_id && brand_id <= high)
    const rows = read.reduce((sum, each) => sum + each.rows, 0)
    t.ok(rows > 0 && rows <= ROWS / 2, `${brand_id} reads ${rows} rows`)
  }
})
