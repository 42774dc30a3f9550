import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { cutIdentity } from '../src/connect/erase/cut.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { backup } from '../src/lake/backup.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { restore } from '../src/lake/restore.ts'
import type { Brand } from '../src/op.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { goOnErasing } from './fixtures/erasing.ts'
import { lake, logBatch, tick } from './fixtures/lake.ts'
import { eventsOf } from './fixtures/store.ts'

/** Events of a host whose clock is ahead of that of Postgres, by which customers are erased. */
const AHEAD_MS = 60_000
const email = 'ada@example.com'
const db = await database(t)
const pipeline = await lake(t, db)

async function log(
  { id }: Brand,
  { to = pipeline, ...said }: { to?: Pipeline; event_id?: string; email?: string } = {},
) {
  const at = Date.now() + AHEAD_MS
  await logBatch(to.postgres.sql, [{ brand_id: id, email, received_at: at, occurred_at: at, ...said }])
}

async function cut({ id }: Brand) {
  const own = db.postgres.forBrand(id)
  const { erasureId } = await own.tx((tx) => requestErasure(tx, { email }, 'a test'))
  await cutIdentity(pipeline, { brand_id: id, id: erasureId })
}

const livingIn = ({ postgres }: Pipeline, { id }: Brand) =>
  postgres.sql`select email from customer where brand_id = ${id} and erased_at is null`

t.test('what committed before the cut stays out, also when its time is later', async (t) => {
  const brand = await newBrand(db)
  await log(brand)
  await cut(brand)
  await goOnErasing(pipeline, brand.id)
  t.same(await livingIn(pipeline, brand), [])
  t.same(await eventsOf(db, brand), [])
})

t.test('so does a repeat that the lake passed over before', async (t) => {
  const brand = await newBrand(db)
  await log(brand, { event_id: 'one' })
  await tick(pipeline)
  await log(brand, { event_id: 'one' })
  await tick(pipeline)
  await cut(brand)
  await goOnErasing(pipeline, brand.id)
  t.same(await eventsOf(db, brand), [])
})

t.test('what committed after the cut is of somebody new', async (t) => {
  const brand = await newBrand(db)
  await log(brand)
  await cut(brand)
  await log(brand)
  await goOnErasing(pipeline, brand.id)
  t.same(await livingIn(pipeline, brand), [{ email }])
})

t.test('others keep what they did before the cut', async (t) => {
  const brand = await newBrand(db)
  await log(brand, { email: 'bob@example.com' })
  await cut(brand)
  await goOnErasing(pipeline, brand.id)
  t.same(await livingIn(pipeline, brand), [{ email: 'bob@example.com' }])
})

/** Another service, with what this one has. */
async function restored(t: Test): Promise<Pipeline> {
  const folder = mkdtempSync(join(tmpdir(), 'recoup-backup-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await backup(pipeline, folder)
  const target = await database(t)
  const service = await lake(t, target)
  await restore(target.url, service.lakeDir, folder)
  return service
}

t.test('a restore keeps which events committed before a cut', async (t) => {
  const [gone, back] = [await newBrand(db), await newBrand(db)]
  for (const brand of [gone, back]) {
    await log(brand)
    await cut(brand)
  }
  await log(back)
  const after = await restored(t)
  await tick(after)
  t.same(await livingIn(after, gone), [])
  t.same(await livingIn(after, back), [{ email }])
})

t.test('and that all which the lake has did', async (t) => {
  const brand = await newBrand(db)
  for (const _ of ['first', 'repeat']) {
    await log(brand, { event_id: 'one' })
    await tick(pipeline)
  }
  await cut(brand)
  const after = await restored(t)
  await goOnErasing(after, brand.id)
  t.same(await eventsOf(after, brand), [])
})

t.test('what the lake has of after a cut does not come before it for the restore', async (t) => {
  const brand = await newBrand(db)
  await log(brand, { event_id: 'before' })
  await cut(brand)
  await log(brand, { event_id: 'after' })
  await tick(pipeline)
  await log(await newBrand(db))
  const after = await restored(t)
  await goOnErasing(after, brand.id)
  t.equal((await eventsOf(after, brand)).length, 1)
})
