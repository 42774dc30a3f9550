import postgres from 'postgres'
import t from 'tap'
import { eraseDue } from '../src/connect/erase/due.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { askErasure } from './fixtures/erasing.ts'
import { lake, logBatch, tick } from './fixtures/lake.ts'

const own = await database(t)
const pipeline = await lake(t, own)
const brand = await newBrand(pipeline)
const { sql } = pipeline.postgres
const owner = postgres(own.url, { max: 1 })
await owner`insert into schema_migrations (version) values ('99991231')`
await owner.end()

t.test('a worker of before a migration passes over nothing: it makes no tick', async (t) => {
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await t.rejects(tick(pipeline), { code: 'conflict', message: /99991231 is not known here/ })
  t.match(await sql`select tick from lake_state`, [{ tick: 0 }])
})

t.test('it takes no erasure: one that failed there would wait for longer', async (t) => {
  await askErasure(pipeline, brand.id, '7')
  await t.rejects(eraseDue(pipeline), { code: 'conflict', message: /99991231 is not known here/ })
  t.match(await sql`select erased_at, tried_at, failures from erasure`, [
    { erased_at: null, tried_at: null, failures: 0 },
  ])
})
