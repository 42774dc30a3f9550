import postgres from 'postgres'
import t from 'tap'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, logBatch, tick } from './fixtures/lake.ts'

t.test('a worker of before a migration passes over nothing: it makes no tick', async (t) => {
  const own = await database(t)
  const pipeline = await lake(t, own)
  const brand = await newBrand(pipeline)
  const { sql } = pipeline.postgres
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  const owner = postgres(own.url, { max: 1 })
  await owner`insert into schema_migrations (version) values ('99991231')`
  await owner.end()
  await t.rejects(tick(pipeline), { code: 'conflict', message: /99991231 is not known here/ })
  t.match(await sql`select tick from lake_state`, [{ tick: 0 }])
})
