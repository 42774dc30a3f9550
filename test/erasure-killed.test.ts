import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { erase } from '../jobs/erase.ts'
import { cutIdentity } from '../src/connect/erase/cut.ts'
import { eraseDue, eraseLate } from '../src/connect/erase/due.ts'
import { linesOf } from '../src/event/erase-lines.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { compactStaging } from '../src/lake/compact-staging.ts'
import { eraseNotedLines } from '../src/lake/erase-log.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { Outrun } from '../src/lake/manifest.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { STAGING_FOLDER } from '../src/store/lake.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { type Canary, canaryOf, fillWithCanary } from './fixtures/canary.ts'
import { controlled } from './fixtures/control.ts'
import { eventually } from './fixtures/eventually.ts'
import { failingAt, killable } from './fixtures/killed.ts'
import { lake, logBatch, passed, sourceRows, tick } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { everythingStored, placesOf } from './fixtures/search.ts'

setLogLevel('error')
const AT_ONCE = { patience: { readersMs: 0, writersMs: 0 } }
const pipeline = await lake(t)
const { sql } = pipeline.postgres

/** A brand with a canary whose erasure was asked for. */
async function asked(
  mark: string,
  phone: string,
): Promise<{ brand: Brand; canary: Canary; others: object[] }> {
  const brand = await newBrand(pipeline)
  const canary = canaryOf(mark, phone)
  await fillWithCanary(t, pipeline, brand, canary, { compacted: false })
  const others = await othersOf(brand)
  await pipeline.postgres
    .forBrand(brand.id)
    .tx((tx) => requestErasure(tx, { storeCustomerId: canary.storeId }, 'a test'))
  return { brand, canary, others }
}

const othersOf = (brand: Brand) =>
  sourceRows(
    pipeline,
    brand,
    `select customers_source.*, (select count(*) from events where events.subject = customers_source.subject)::integer as events
     from customers_source where email like 'other%' order by email`,
  ).then((rows) => rows.map(({ tick: _, ...row }) => row))

/** Nothing of the canary is left, and everything of the others. */
async function isErased(t: Test, { brand, canary, others }: Awaited<ReturnType<typeof asked>>) {
  const publicId = `myshopify:${brand.shop_domain.split('.')[0]}:${canary.storeId}`
  t.same(placesOf(await everythingStored(pipeline), canary.texts, [publicId]), {})
  t.same(await othersOf(brand), others)
}

t.test('an erasure that fails at any step goes on where it was', async (t) => {
  const one = await asked('1kill', '+12025550171')
  const steps: string[] = []
  let more = true
  for (let statement = 12; more; statement += 9) {
    await sql`update erasure set tried_at = null`
    const failing = failingAt(pipeline, statement)
    more = await eraseDue(failing, AT_ONCE).then(
      () => false,
      () => true,
    )
    if (more) steps.push(failing.ran[statement - 1] ?? '')
  }
  t.ok(steps.length > 5, steps.join(', '))
  await isErased(t, one)
})

t.test('an erasure whose process is killed is finished by the next one', async (t) => {
  const random = randomSource(t)
  const two = await asked('2kill', '+12025550172')
  const erasers = Array.from({ length: 3 }, () => killable(t, 'erasure-killed.ts', pipeline))
  for (const killedAfter of erasers) {
    await sql`update erasure set tried_at = null`
    await killedAfter(50 + random.below(700))
  }
  await sql`update erasure set tried_at = null`
  await eraseDue(pipeline, AT_ONCE)
  await isErased(t, two)
})

t.test('erasures at the same time take no files from each other', async (t) => {
  const one = await asked('4both', '+12025550174')
  const other = await asked('5both', '+12025550175')
  const { pipeline: db } = pipeline.postgres
  const unlisted = async () => {
    const listed = new Set((await db.many<{ path: string }>('lake_paths')).map(({ path }) => path))
    const staged = await readdir(join(pipeline.lakeDir, STAGING_FOLDER))
    return staged.filter((name) => name.endsWith('.parquet') && !listed.has(join(STAGING_FOLDER, name)))
  }
  let before: number | undefined
  let between = 0
  const many: typeof db.many = async (name, args) => {
    if (name === 'lake_shared_files_of') before ??= (await unlisted()).length
    return await db.many(name, args)
  }
  const tx: typeof db.tx = async (work) => {
    if (between === 0 && before !== undefined && (await unlisted()).length > before) {
      between++
      await eraseDue(pipeline, { brandId: other.brand.id, ...AT_ONCE })
    }
    return await db.tx(work)
  }
  const interrupted = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, many, tx } } }
  await eraseDue(interrupted, { brandId: one.brand.id, ...AT_ONCE })
  t.equal(between, 1)
  await isErased(t, one)
  await isErased(t, other)
})

/** A batch whose first line is noted. */
async function noted(brand: Brand): Promise<string> {
  const batch = await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await sql`insert into erased_line (batch_id, line) values (${batch}, 0)`
  return batch
}
const stillNoted = async () =>
  (await sql`select batch_id from erased_line order by batch_id`).map(({ batch_id }) => batch_id)

t.test('what fails of earlier erasures holds up neither the rest of them nor those that wait', async (t) => {
  t.capture(process.stderr, 'write')
  const brand = await newBrand(pipeline)
  const { pipeline: db } = pipeline.postgres
  await sql`
    insert into erasure (brand_id, id, state, requested_by, completed_at)
    values (${brand.id}, gen_random_uuid(), 'done', 'a test', now())`
  const [one] = [await noted(brand), await noted(brand)]
  const failing = new Set(['lines', 'files'])
  const tx: typeof db.tx = (work) =>
    db.tx((tx) => {
      const maybe: typeof tx.maybe = async (name, args) => {
        if (name === 'log_batch_hold' && failing.delete('lines')) throw new Error('no lines')
        return await tx.maybe(name, args)
      }
      return work({ ...tx, maybe })
    })
  const many: typeof db.many = async (name, args) => {
    if (name === 'lake_paths_among' && failing.delete('files')) throw new Error('no files')
    return await db.many(name, args)
  }
  const faulty = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, tx, many } } }
  await t.rejects(eraseLate(faulty, AT_ONCE.patience), { message: 'no files' })
  t.same([...failing], [])
  t.same(await stillNoted(), [one])

  const { id } = await db.one<{ id: string }>('erasure_request', [
    ...[brand.id, randomUUID(), '{"email": "waits@example.com"}', 'a test'],
  ])
  failing.add('lines')
  await t.rejects(erase.run(faulty, {}, controlled()), { message: 'no lines' })
  t.match(await sql`select state from erasure where id = ${id}`, [{ state: 'done' }])
  t.same(await stillNoted(), [])
})

t.test('a noted line goes though its batch moves to the partition of its day meanwhile', async (t) => {
  const brand = await newBrand(pipeline)
  const batch = await noted(brand)
  const day = "(now() at time zone 'UTC')::date - 20"
  const place = sql.unsafe(day)
  await sql`
    with moved as (delete from event_log where batch_id = ${batch} returning *)
    insert into event_log (received_at, batch_id, event_count, payload)
    select (${place})::timestamp at time zone 'UTC', batch_id, event_count, payload from moved`
  const [moving, moved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { pipeline: db } = pipeline.postgres
  let transactions = 0
  const tx: typeof db.tx = async (work) => {
    // The first looks where the batch stands.
    if (transactions++ === 0) return await db.tx(work)
    const mover = sql.begin(async (other) => {
      await other`call event_log_days(${place}, ${place})`
      moving.resolve()
      await moved.promise
    })
    await moving.promise
    const done = db.tx(work)
    await eventually(async () => (await sql`select from pg_locks where not granted`).count > 0)
    moved.resolve()
    await mover
    return await done
  }
  const { batches } = await eraseNotedLines({
    ...pipeline,
    postgres: { ...pipeline.postgres, pipeline: { ...db, tx: tx as typeof db.tx } },
  })
  t.equal(batches, 1)
})

t.test('an event of an erased customer that is sent again leaves the log', async (t) => {
  const brand = await newBrand(pipeline)
  const line = { brand_id: brand.id, event_id: 'again', email: 'again@example.com', occurred_at: Date.now() }
  await logBatch(sql, [line])
  await tick(pipeline)
  const { id } = await pipeline.postgres.pipeline.one<{ id: string }>('erasure_request', [
    ...[brand.id, randomUUID(), '{"email": "again@example.com"}', 'a test'],
  ])
  await eraseDue(pipeline, { erasureId: id, ...AT_ONCE })
  const batch = await logBatch(sql, [line, { brand_id: brand.id, anonymous_id: 'v' }, line])
  t.match(await tick(pipeline), { erased: 2, repeats: 0, rows: { events: 1 } })
  await eraseLate(pipeline, AT_ONCE.patience)
  const [{ payload } = {}] = await sql`select payload from event_log where batch_id = ${batch}`
  t.match(await linesOf(payload), ['{"erased":true}', /"v"/, '{"erased":true}'])
})

t.test('a tick that knew somebody from before an erasure tells no later one', async (t) => {
  const brand = await newBrand(pipeline)
  const line = (event_id: string) => ({ brand_id: brand.id, event_id, email: 'back@example.com' })
  await logBatch(sql, [line('before')])
  await passed(pipeline)
  const { pipeline: db } = pipeline.postgres
  const erasureId = randomUUID()
  const run: typeof db.run = async (name, args) => {
    if (name === 'contacts_of_named') {
      await db.run('erasure_request', [brand.id, erasureId, '{"email": "back@example.com"}', 'a test'])
      await cutIdentity(pipeline, { brand_id: brand.id, id: erasureId })
      await tick(pipeline)
    }
    return await db.run(name, args)
  }
  const slow = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, run } } }
  await t.rejects(snapshot(slow), Outrun)
  await logBatch(sql, [line('after')])
  await tick(pipeline)
  t.match(
    await sql`select erased_at is null as living from customer where brand_id = ${brand.id} order by subject`,
    [{ living: false }, { living: true }],
  )
  await eraseDue(pipeline, { erasureId, ...AT_ONCE })
})

t.test('snapshots, compactions and refreshes that run meanwhile bring nothing back', async (t) => {
  const three = await asked('3race', '+12025550173')
  const { id } = three.brand
  let running = true
  const again = async (work: () => Promise<unknown>) => {
    while (running) {
      await work().catch((error: unknown) => {
        if (!(error instanceof Outrun)) throw error
      })
    }
  }
  const visit = { brand_id: id, store_customer_id: three.canary.storeId, occurred_at: Date.now() - 1_000 }
  const racing = Promise.all([
    again(async () => {
      await logBatch(sql, [visit, { brand_id: id, anonymous_id: 'visitor' }])
      await snapshot(pipeline)
    }),
    again(() => compactBrand(pipeline, id, true)),
    again(() => compactStaging(pipeline)),
    again(() => refreshBrand(pipeline, id)),
  ])
  await eraseDue(pipeline, { patience: { readersMs: 5_000, writersMs: 60_000 } })
  running = false
  await racing
  await snapshotAll(pipeline)
  await eraseLate(pipeline, AT_ONCE.patience)
  await isErased(t, three)
})
