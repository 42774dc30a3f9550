import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import t from 'tap'
import { sweepAfterErasure } from '../src/lake/erase-disk.ts'
import { Outrun } from '../src/lake/manifest.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { retain } from '../src/lake/retention.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import { removeUnlisted } from '../src/lake/unlisted.ts'
import { setLogLevel } from '../src/log.ts'
import { STAGING_FOLDER } from '../src/store/lake.ts'
import { statements } from '../src/store/postgres.ts'
import { analyze } from './fixtures/analyze.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { lake, logBatch, passed, sourceRows, tick } from './fixtures/lake.ts'
import { rowsRead } from './fixtures/rows-read.ts'

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

const names = (count: number) => Array.from({ length: count }, (_, n) => `staging/${n}.parquet`)

/** Counts the transactions of a pipeline. */
function counting(pipeline: Pipeline): { pipeline: Pipeline; transactions: () => number } {
  let transactions = 0
  const { pipeline: db } = pipeline.postgres
  const tx: typeof db.tx = (work) => {
    transactions++
    return db.tx(work)
  }
  return {
    pipeline: { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, tx } } },
    transactions: () => transactions,
  }
}

t.test('whoever publishes waits while 50 files are removed, and no longer', async (t) => {
  const { pipeline, transactions } = counting(await lake(t))
  const removed: string[] = []
  await removeUnlisted(pipeline, names(120), async (path) => void removed.push(path))
  t.equal(transactions(), 3)
  t.same(removed, names(120))
})

t.test('slow removals are fewer at once', async (t) => {
  const { pipeline, transactions } = counting(await lake(t))
  const removed: string[] = []
  const atOnce = { files: 50, ms: 0 }
  await removeUnlisted(pipeline, names(3), async (path) => void removed.push(path), atOnce)
  t.equal(transactions(), 3)
  t.same(removed, names(3))
})

t.test('nothing is removed once the session that holds the list of files is lost', async (t) => {
  const own = await database(t)
  const pipeline = await lake(t, own)
  const owner = postgres(own.url, { max: 1 })
  t.teardown(() => owner.end())
  const removed: string[] = []
  const remove = async (path: string) => {
    removed.push(path)
    await owner`
      select pg_terminate_backend(pid, 5000) from pg_locks
      where relation = 'lake_file'::regclass and mode = 'ShareLock'`
  }
  const { pipeline: db } = pipeline.postgres
  let working: Promise<unknown> | undefined
  const tx: typeof db.tx = (work) =>
    db.tx((within) => {
      const its = work(within)
      working = its
      return its
    })
  const watched = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, tx } } }
  await t.rejects(removeUnlisted(watched, names(3), remove))
  await working?.catch(() => {})
  t.same(removed, names(1))
})

/** Somebody publishes until the end of the test, or until it is told to stop. */
async function publishing(t: { teardown(work: () => unknown): void }, { postgres: { sql } }: Pipeline) {
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const publish = sql.begin(async (tx) => {
    await tx`lock table lake_file in row exclusive mode`
    begun.resolve()
    await ended.promise
  })
  const stop = async () => {
    ended.resolve()
    await publish
  }
  t.teardown(stop)
  await begun.promise
  return stop
}

/** A file of two days ago that no manifest lists. */
function leftFile({ lakeDir }: Pipeline): string {
  const folder = join(lakeDir, STAGING_FOLDER)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'left.parquet')
  writeFileSync(path, '')
  utimesSync(path, Date.now() / 1000, Date.now() / 1000 - 172_800)
  return path
}

t.test('a removal waits for no long publish: others would wait behind it', async (t) => {
  const pipeline = await lake(t)
  await publishing(t, pipeline)
  await t.rejects(
    removeUnlisted(pipeline, names(1), async () => {}),
    { code: '55P03' },
  )
})

t.test('retention leaves its removals to its next run then', async (t) => {
  const pipeline = await lake(t)
  const stop = await publishing(t, pipeline)
  const path = leftFile(pipeline)
  t.match(await retain(pipeline), { orphans: 0 })
  t.ok(existsSync(path))
  await stop()
  t.match(await retain(pipeline), { orphans: 1 })
})

t.test('an erasure tries again', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const path = leftFile(pipeline)
  const stop = await publishing(t, pipeline)
  const { pipeline: db } = pipeline.postgres
  const tx: typeof db.tx = async (work) => {
    try {
      return await db.tx(work)
    } catch (error) {
      await stop()
      throw error
    }
  }
  const stopping = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, tx } } }
  t.equal(await sweepAfterErasure(stopping, brand.id, { readersMs: 0, writersMs: 0 }), 1)
  t.notOk(existsSync(path))
})

t.test('what an erasure left is found without reading the files of all brands', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const [brand, other] = [await newBrand(pipeline), await newBrand(pipeline)]
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await tick(pipeline)
  const path = leftFile(pipeline)
  await sql`
    insert into lake_file (brand_id, relation, path, level, schema_version, rows, bytes, tick_lo, tick_hi, sha256)
    select ${other.id}, 'events', n::text, 0, 1, 1, 1, 1, 1, '' from generate_series(1, 5000) as n`
  await analyze(sql)
  const read = await sql.begin((tx) =>
    rowsRead(tx, async () => {
      const within = statements((text, args) => tx.unsafe(text, args as never[]))
      const db = { ...within, tx: (work: (tx: typeof within) => unknown) => work(within) }
      const watched = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: db } } as Pipeline
      await sweepAfterErasure(watched, brand.id, { readersMs: 0, writersMs: 0 })
    }),
  )
  t.notOk(existsSync(path))
  t.ok(read < 500, `${read} rows`)
})
