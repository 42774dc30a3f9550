import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import t from 'tap'
import { currentModels, plan } from '../jobs/plan.ts'
import { refresh } from '../jobs/refresh.ts'
import { type App, openApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { retain } from '../src/lake/retention.ts'
import { setLogLevel } from '../src/log.ts'
import { startWorker } from '../src/work.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import type { Teardown } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { lake, logBatch, tick } from './fixtures/lake.ts'

setLogLevel('error')

async function app(t: Teardown): Promise<App> {
  const { url } = await database(t)
  const dataDir = mkdtempSync(`${tmpdir()}/recoup-jobs-`)
  const opened = await openApp(
    readConfig({ DATABASE_URL: url, DATA_DIR: dataDir, REFRESH_CRON: '* * * * *' }),
  )
  t.teardown(async () => {
    await opened.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  return opened
}

interface Brand {
  changed_tick: number
  refreshed_tick: number
  generation: number
}

t.test('a worker brings events into the lake and refreshes their brand without being asked', async (t) => {
  const running = await app(t)
  const { sql } = running.postgres
  const brand = await newBrand(running)
  await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  const worker = await startWorker(running)
  const row = () =>
    sql<Brand[]>`select changed_tick, refreshed_tick, generation from lake_brand where brand_id = ${brand.id}`
  try {
    await eventually(async () => (await row()).find(({ changed_tick }) => changed_tick > 0))
    t.pass('snapshot ran')
    await eventually(async () => (await row()).find(({ generation }) => generation > 0))
    t.pass('refresh ran')
  } finally {
    await worker.stop()
  }
})

t.test(
  'a brand without segments is refreshed when only a model, its currency or its time zone changed',
  async (t) => {
    const { pipeline, postgres } = await app(t)
    const { sql } = postgres
    const brand = await newBrand({ postgres })
    const failing = await newBrand({ postgres })
    await logBatch(
      sql,
      [brand, failing].map(({ id }) => ({ brand_id: id, email: 'ann@example.com' })),
    )
    await tick(pipeline)
    const planned = async () => {
      await sql`update lake_brand set refresh_planned_at = null, refreshed_at = refreshed_at - interval '1 hour'`
      const due: string[] = []
      const send = async (_queue: string, { brands = [] }: { brands?: string[] } = {}) =>
        void due.push(...brands)
      const control = { signal: AbortSignal.timeout(60_000), send: send as never }
      await plan.run({ ...pipeline, refreshCron: '* * * * *' }, {}, control)
      await refresh.run(pipeline, { brands: due }, control)
      return due.sort()
    }
    const recipe = (id: string, made: string) =>
      sql`update lake_brand set results = ${sql.json({ recipe: made })} where brand_id = ${id}`
    const fail = async (models: string | null) => {
      for (let at = 0; at < 3; at++)
        await postgres.pipeline.run('lake_brand_failed', [failing.id, 'It broke', models])
    }

    t.same(await planned(), [brand.id, failing.id].sort(), 'there are events')
    t.same(await planned(), [], 'nothing changed')
    await recipe(brand.id, 'older UTC USD')
    t.same(await planned(), [brand.id], 'another model')
    t.same(await planned(), [])
    await sql`update brand set currency_code = 'EUR' where id = ${brand.id}`
    t.same(await planned(), [brand.id], 'another currency')
    await sql`update brand set timezone = 'Europe/Berlin' where id = ${brand.id}`
    t.same(await planned(), [brand.id], 'another time zone')
    t.same(await planned(), [])

    await recipe(failing.id, 'older UTC USD')
    await fail(await currentModels())
    t.same(await planned(), [], 'the models that it failed with three times')
    await fail('broken')
    t.same(await planned(), [failing.id], 'mended models')
  },
)

t.test('a log day goes when the lake has held all of it for a week, and never before', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  const old = new Date(Date.now() - 10 * 86_400_000)
  await sql`call event_log_days(${old.toISOString().slice(0, 10)}::date, ${old.toISOString().slice(0, 10)}::date)`
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await sql`update event_log set received_at = ${old}`
  const left = async () => (await sql`select from event_log`).count
  await retain(pipeline)
  t.equal(await left(), 1, 'the lake does not hold it yet')
  await tick(pipeline)
  await retain(pipeline)
  t.equal(await left(), 0)
})

t.test('retired lake files are removed after 26 hours, live ones stay', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await tick(pipeline)
  t.match(await retain(pipeline), { removed: 0, orphans: 0 })
  await sql`update lake_file set retired_at = now() - interval '25 hours' where relation = 'events'`
  t.match(await retain(pipeline), { removed: 0 })
  await sql`update lake_file set retired_at = now() - interval '27 hours' where relation = 'events'`
  t.match(await retain(pipeline), { removed: 1 })
  t.equal((await sql`select from lake_file where relation = 'events'`).count, 0)
})
