import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { compactBrand } from '../src/lake/compact.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { listedFiles } from '../src/lake/lost.ts'
import { publishFiles } from '../src/lake/manifest.ts'
import { lakeProblem } from '../src/lake/owner.ts'
import { retain } from '../src/lake/retention.ts'
import { noteFailed } from '../src/segment/failed.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { away } from './fixtures/away.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { lake, logBatch, sourceRows } from './fixtures/lake.ts'

t.test(
  'nothing is written where the disk of the lake is not mounted, and what came goes on after',
  async (t) => {
    const pipeline = await lake(t)
    const brand = await newBrand(pipeline)
    const add = (event_id: string) =>
      logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, event_id, email: 'ann@example.com' }])
    await add('one')
    await snapshotAll(pipeline)
    const back = away(pipeline)
    try {
      await add('two')
      const refused = { code: 'unavailable', message: /has none of the files of this service.* mounted/ }
      await t.rejects(snapshotAll(pipeline), refused)
      await t.rejects(compactBrand(pipeline, brand.id, true), refused)
      await t.rejects(refreshBrand(pipeline, brand.id), refused)
      await t.rejects(retain(pipeline), refused)
      await t.rejects(
        publishFiles(pipeline, [], async () => void t.fail('published')),
        refused,
      )
      await noteFailed(pipeline, brand.id, new Error('away'), { results: null, ms: 1 })
      t.same(readdirSync(pipeline.lakeDir), [])
    } finally {
      back()
    }
    t.equal(await lakeProblem(pipeline), null)
    await snapshotAll(pipeline)
    const events = await sourceRows(pipeline, brand, 'select event_id from events order by all')
    t.same(events, [{ event_id: 'one' }, { event_id: 'two' }])
    const { sql } = pipeline.postgres
    t.same(await sql`select failures from lake_brand where brand_id = ${brand.id}`, [{ failures: 0 }])
  },
)

t.test('a lake without an owner is taken when it has most of the files, not for a few', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const add = async () => {
    await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
    await snapshotAll(pipeline)
  }
  await add()
  rmSync(join(pipeline.lakeDir, 'service-id'))
  await add()
  t.ok(existsSync(join(pipeline.lakeDir, 'service-id')), 'as after an upgrade')
  const [file] = await listedFiles(pipeline, null)
  const back = away(pipeline)
  try {
    mkdirSync(join(pipeline.lakeDir, 'staging'))
    writeFileSync(join(pipeline.lakeDir, file?.path ?? ''), '')
    t.match(await lakeProblem(pipeline), /has no service-id, and 1 of \d+ files of this service/)
    await t.rejects(add(), { code: 'unavailable' })
    t.notOk(existsSync(join(pipeline.lakeDir, 'service-id')))
  } finally {
    back()
  }
})
