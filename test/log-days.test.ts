import { join } from 'node:path'
import t from 'tap'
import { backup } from '../src/lake/backup.ts'
import { eraseNotedLines } from '../src/lake/erase-log.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { retain } from '../src/lake/retention.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import { setLogLevel } from '../src/log.ts'
import type { Sql } from '../src/store/postgres.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { eventually } from './fixtures/eventually.ts'
import { lake, logBatch, passed, sourceRows, tick } from './fixtures/lake.ts'

setLogLevel('error')
const TODAY = "(now() at time zone 'UTC')::date"

/** What is received goes into the default partition. */
const withoutDays = (sql: Sql) => sql`call event_log_drop_before(${sql.unsafe(TODAY)} + 8)`

/** Moves the batches of today to the partition of their day, which others see once a piece of work waits for it. */
async function movedBefore<T>(sql: Sql, work: () => Promise<T>): Promise<T> {
  const [moving, moved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const mover = sql.begin(async (tx) => {
    await tx`call event_log_days(${tx.unsafe(TODAY)}, ${tx.unsafe(TODAY)})`
    moving.resolve()
    await moved.promise
  })
  await moving.promise
  const done = work()
  await eventually(
    async () =>
      (await sql`select from pg_locks where not granted and relation = 'event_log_default'::regclass`).count >
      0,
  )
  moved.resolve()
  await mover
  return await done
}

t.test('events whose batch moves to the partition of its day meanwhile are in the lake', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await withoutDays(sql)
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await sql`insert into product (brand_id, id, title) values (${brand.id}, 'p', 'Towel')`
  await passed(pipeline)
  await movedBefore(sql, () => snapshot(pipeline))
  await tick(pipeline)
  t.match(await sourceRows(pipeline, brand, 'select count(*) as n from events'), [{ n: 1 }])
})

t.test('noted lines of a batch that moves meanwhile are looked for where it is then', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await withoutDays(sql)
  const batch = await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await sql`insert into erased_line (batch_id, line) values (${batch}, 0)`
  t.match(await movedBefore(sql, () => eraseNotedLines(pipeline)), { batches: 1 })
})

t.test('a batch that comes into an old day as that day is dropped is in the lake before', async (t) => {
  const pipeline = await lake(t)
  const { sql, pipeline: db } = pipeline.postgres
  const brand = await newBrand(pipeline)
  const old = sql.unsafe(`${TODAY} - 10`)
  await sql`call event_log_days(${old}, ${old})`
  await sql`
    insert into event_log_day (day, in_lake_since)
    select day, day from generate_series(${sql.unsafe(TODAY)} - 60, ${sql.unsafe(TODAY)} - 8, interval '1 day') as day`
  const batches = async () => (await sql`select from event_log`).count
  const run: typeof db.run = async (name, args) => {
    if (name === 'event_log_drop_days') {
      await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
      await sql`update event_log set received_at = (${old})::timestamp at time zone 'UTC'`
    }
    return await db.run(name, args)
  }
  await retain({ ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, run } } })
  t.equal(await batches(), 1)
  await tick(pipeline)
  t.match(await sourceRows(pipeline, brand, 'select count(*) as n from events'), [{ n: 1 }])
  await retain(pipeline)
  t.equal(await batches(), 0)
})

t.test('of a Postgres whose transactions count anew no batch passes for exported', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  const old = sql.unsafe(`${TODAY} - 10`)
  await sql`call event_log_days(${old}, ${old})`
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await sql`update event_log set received_at = (${old})::timestamp at time zone 'UTC'`
  await sql`
    insert into event_log_day (day, in_lake_since)
    select day, day from generate_series(${sql.unsafe(TODAY)} - 60, ${sql.unsafe(TODAY)} - 8, interval '1 day') as day`
  await sql`
    update lake_state
    set exported_below = (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000)::text::xid8`
  const refused = { code: 'unavailable', message: /^The lake has what came before transaction \d+, and/ }
  await t.rejects(snapshotAll(pipeline, { waitMs: 0 }), refused)
  await t.rejects(retain(pipeline), refused)
  await t.rejects(backup(pipeline, join(t.testdir(), 'backup')), refused)
  t.equal((await sql`select from event_log`).count, 1)
})
