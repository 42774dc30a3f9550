import t from 'tap'
import { erase } from '../jobs/erase.ts'
import { findPerson } from '../src/connect/erase/cut.ts'
import { eraseDue } from '../src/connect/erase/due.ts'
import { eraseRows } from '../src/connect/erase/tables.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { setLogLevel } from '../src/log.ts'
import { statements } from '../src/store/postgres.ts'
import { analyze } from './fixtures/analyze.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { controlled } from './fixtures/control.ts'
import { goOnErasing } from './fixtures/erasing.ts'
import { lake, logBatch } from './fixtures/lake.ts'
import { rowsRead } from './fixtures/rows-read.ts'

setLogLevel('error')
const pipeline = await lake(t)
const { sql } = pipeline.postgres

t.test('between two cuts the lake takes what waits of all brands', async (t) => {
  const [brand, other] = [await newBrand(pipeline), await newBrand(pipeline)]
  for (const email of ['one@example.com', 'two@example.com'])
    await pipeline.postgres.forBrand(brand.id).tx((tx) => requestErasure(tx, { email }, 'a test'))
  await logBatch(sql, [{ brand_id: other.id, anonymous_id: 'v' }])
  const onStep = (step: string) => {
    if (step === 'snapshot') throw new Error(step)
  }
  const events = async () => (await sql`select from lake_file where relation = 'events'`).count
  t.equal(await events(), 0)
  await t.rejects(eraseDue(pipeline, { brandId: brand.id, tickMs: 0, onStep }), { message: 'snapshot' })
  t.equal(await events(), 1)
})

/** As the pipeline is, but one request cannot be cut out of the tables. */
function failingAt(poison: string): typeof pipeline {
  const { pipeline: db } = pipeline.postgres
  const tx: typeof db.tx = (work) =>
    db.tx((within) => {
      const one: typeof within.one = async (name, args) => {
        if (name === 'erasure_hold' && args?.[1] === poison) throw new Error('no way')
        return await within.one(name, args)
      }
      return work({ ...within, one })
    })
  return { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, tx } } }
}

const patience = { readersMs: 0, writersMs: 0 }

async function ask(brandId: string, email: string): Promise<string> {
  const own = pipeline.postgres.forBrand(brandId)
  const { erasureId } = await own.tx((tx) => requestErasure(tx, { email }, 'a test'))
  return erasureId
}

t.test('who cannot be cut out of the tables keeps nobody else from being erased', async (t) => {
  const { id: brandId } = await newBrand(pipeline)
  await ask(brandId, 'a@example.com')
  const poison = await ask(brandId, 'b@example.com')
  await ask(brandId, 'c@example.com')
  await t.rejects(eraseDue(failingAt(poison), { brandId, patience }), { message: 'no way' })
  t.hasStrict(await sql`select state, error from erasure where brand_id = ${brandId} order by requested_at`, [
    { state: 'done', error: null },
    { state: 'failed', error: 'no way' },
    { state: 'done', error: null },
  ])
})

t.test('whose cut fails gets no certificate, also when it was made before', async (t) => {
  const { id: brandId } = await newBrand(pipeline)
  const again = await ask(brandId, 'a@example.com')
  await goOnErasing(pipeline, brandId, 'snapshot')
  await ask(brandId, 'b@example.com')
  await sql`update erasure set tried_at = null where brand_id = ${brandId}`
  await t.rejects(eraseDue(failingAt(again), { brandId, patience }), { message: 'no way' })
  t.hasStrict(await sql`select state from erasure where brand_id = ${brandId} order by requested_at`, [
    { state: 'failed' },
    { state: 'done' },
  ])
})

t.test('a brand whose erasures fail keeps no other from its turn', async (t) => {
  const [brand, other] = [await newBrand(pipeline), await newBrand(pipeline)]
  await sql`update erasure set tried_at = now() where state <> 'done'`
  const poison = await ask(brand.id, 'a@example.com')
  await ask(other.id, 'b@example.com')
  await t.rejects(erase.run(failingAt(poison), {}, controlled()), { message: 'no way' })
  t.hasStrict(
    await sql`select state from erasure where brand_id in (${brand.id}, ${other.id}) order by requested_at`,
    [{ state: 'failed' }, { state: 'done' }],
  )
})

t.test('who is erased is found without reading all of the brand', async (t) => {
  const people = 5_000
  const { id } = await newBrand(pipeline)
  await sql`
    insert into customer (brand_id, subject, id, provenance, email)
    select ${id}, n, n::text, 'server', n || '@example.com' from generate_series(1, ${people}::integer) as n`
  await sql`
    insert into identifier (brand_id, kind, value, subject)
    select brand_id, 'email', email, subject from customer where brand_id = ${id}`
  await sql`
    insert into contact (brand_id, id, email, subject)
    select brand_id, gen_random_uuid(), email, subject from customer where brand_id = ${id}`
  await sql`
    insert into conversation (brand_id, id, contact_id, subject, channel)
    select brand_id, gen_random_uuid(), id, subject, 'sms' from contact where brand_id = ${id}`
  await sql`
    insert into message (
      brand_id, id, conversation_id, contact_id, idempotency_key, direction, author, channel, body)
    select brand_id, gen_random_uuid(), id, contact_id, id, 'outbound', 'campaign', 'sms', ''
    from conversation where brand_id = ${id}`
  await sql`
    insert into checkout (brand_id, external_id, id, subject, state, currency_code, created_at, updated_at)
    select brand_id, id, gen_random_uuid(), subject, 'completed', 'USD', now(), now()
    from customer where brand_id = ${id}`
  await sql`
    insert into refund (brand_id, external_id, id, subject, currency_code, total, created_at)
    select brand_id, id, gen_random_uuid(), subject, 'USD', 1, now() from customer where brand_id = ${id}`
  await sql`
    insert into subscription (brand_id, external_id, id, subject, status)
    select brand_id, id, gen_random_uuid(), subject, 'active' from customer where brand_id = ${id}`
  // Of nobody: erased before.
  await sql`
    insert into store_order (
      brand_id, external_id, id, state, billing_status, currency_code, total, erased, created_at, updated_at)
    select ${id}, n::text, gen_random_uuid(), 'complete', 'paid', 'USD', 1, true, now(), now()
    from generate_series(1, ${people}::integer) as n`
  await analyze(sql)
  const read = await sql.begin((tx) =>
    rowsRead(tx, async () => {
      const within = statements((text, args) => tx.unsafe(text, args as never[]))
      const found = await findPerson(within, pipeline, id, { email: '7@example.com' })
      t.same(found.subjects, [7])
      const theirs = { ...found, brandId: id, erasedAt: new Date() }
      t.match(await eraseRows(within, theirs), { 'postgres.customer': 1, 'postgres.message': 1 })
    }),
  )
  t.ok(read < people / 10, `${read} rows`)
})
