import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Outrun } from '../src/lake/manifest.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import { removeUnlisted } from '../src/lake/unlisted.ts'
import { setLogLevel } from '../src/log.ts'
import { STAGING_FOLDER } from '../src/store/lake.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { eventually } from './fixtures/eventually.ts'
import { lake, logBatch, passed, sourceRows, tick } from './fixtures/lake.ts'

setLogLevel('error')

t.test('a tick whose file was removed before it is listed is made again', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { pipeline: db, sql } = pipeline.postgres
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await passed(pipeline)
  const staging = join(pipeline.lakeDir, STAGING_FOLDER)
  const removing: typeof db.tx = (work) => {
    const made = existsSync(staging) ? readdirSync(staging) : []
    for (const name of made) rmSync(join(staging, name))
    return db.tx(work)
  }
  await t.rejects(
    snapshot({ ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, tx: removing } } }),
    Outrun,
  )
  t.same(await db.many('lake_paths'), [])
  await tick(pipeline)
  t.match(await sourceRows(pipeline, brand, 'select count(*) as n from events'), [{ n: 1 }])
})

t.test('what is listed while it is about to be removed stays', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { pipeline: db, sql } = pipeline.postgres
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await passed(pipeline)
  const removed: string[] = []
  let removal: Promise<void> | undefined
  const meanwhile: typeof db.tx = (work) =>
    db.tx(async (tx) => {
      const result = await work(tx)
      const paths = (await tx.many<{ path: string }>('lake_paths')).map(({ path }) => path)
      if (paths.length === 0) return result
      removal = removeUnlisted(pipeline, paths, async (path) => void removed.push(path))
      await eventually(
        async () =>
          (await sql`select from pg_locks where not granted and relation = 'lake_file'::regclass`).count > 0,
      )
      return result
    })
  await snapshot({ ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, tx: meanwhile } } })
  await removal
  t.same(removed, [])
  t.ok(removal)
})
