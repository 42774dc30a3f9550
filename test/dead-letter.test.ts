import postgres from 'postgres'
import t from 'tap'
import { deadLetterCommands } from '../src/cli/dead-letter.ts'
import { eraseDue } from '../src/connect/erase/due.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import type { Brand } from '../src/op.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, logBatch, passed, sourceRows } from './fixtures/lake.ts'
import { eventsOf } from './fixtures/store.ts'
import { hooks } from './fixtures/webhook.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { sql } = db.postgres
const owner = postgres(db.url, { max: 1, onnotice: () => {} })
t.teardown(() => owner.end())
const pipeline = await lake(t, db)
const { send, source, cli } = await hooks(t, db)

interface Dead {
  kind: string
  id: string
  type: string | null
  event_id: string | null
  attempts: number
  reason: string
}
const run = <Result>(name: string, { id }: Brand, given: string[] = [], more = {}) =>
  cli<Result>(deadLetterCommands, `dead-letter ${name}`, given, { brand: id, ...more })
const list = async (brand: Brand, more = {}) => (await run<{ data: Dead[] }>('list', brand, [], more)).data
const outcomes = async (brand: Brand, given: string[] = [], more = {}) =>
  (await run<{ data: { outcome: string }[] }>('replay', brand, given, more)).data.map(
    ({ outcome }) => outcome,
  )

/** A rule of the table that no check at the door knows of, until it is mended. */
const breakIt = () =>
  owner`alter table custom_event add constraint a_fault check (external_id not like 'unfit%') not valid`
const mendIt = () => owner`alter table custom_event drop constraint a_fault`
const data = (id: string, email = 'ada@example.com') => JSON.stringify({ id, email, points: 1 })

t.test(
  'what is right and cannot be stored is kept with the reason, and stored when it is replayed',
  async (t) => {
    const one = await source()
    const { brand } = one
    await breakIt()
    const raw = `{"type": "points_earned",\n "event_id": "e1", "data": ${data('unfit')}}`
    const kept = { status: 200, body: { ok: false, reason: 'dead_letter', message: /e1/ } }
    t.match(await send(one, { raw, eventId: 'e1' }), kept)
    t.match(await send(one, { raw, eventId: 'e1' }), kept, 'a sender that goes on is answered the same')
    t.match(await send(one, { eventId: 'e2', data: data('fit') }), { body: { ok: true } })
    t.equal((await eventsOf(db, brand)).length, 1)

    const [letter, ...others] = await list(brand)
    t.same(others, [])
    t.match(letter, { kind: 'delivery', type: 'points_earned', event_id: 'e1', attempts: 2, reason: /23514/ })
    const id = letter?.id ?? ''
    t.match(await run('show', brand, [id]), { id, body: raw, event_id: 'e1', reason: /SQLSTATE 23514/ })
    t.match(await outcomes(brand, [id]), [/^failed: .*23514/])
    t.match(await list(brand), [{ attempts: 3 }])

    await mendIt()
    t.same(await outcomes(brand, [], { all: true }), ['stored'])
    t.same(await outcomes(brand, [id]), ['stored already'])
    t.same(await list(brand), [])
    t.match(await run('show', brand, [id]), { body: '', resolved_at: Date })
    t.match(await send(one, { raw, eventId: 'e1' }), { status: 200, body: { deduplicated: true } })
    t.match(await sql`select external_id from custom_event where brand_id = ${brand.id} order by 1`, [
      { external_id: 'fit' },
      { external_id: 'unfit' },
    ])
    t.equal((await eventsOf(db, brand)).length, 2)
  },
)

t.test('a delivery that comes again when the fault is over is stored, and its letter is done', async (t) => {
  const one = await source()
  await breakIt()
  await send(one, { eventId: 'e', data: data('unfit') })
  await mendIt()
  const [letter] = await list(one.brand)
  t.match(await send(one, { eventId: 'e', data: data('unfit') }), { body: { ok: true } })
  t.same(await list(one.brand), [])
  t.same(await outcomes(one.brand, [letter?.id ?? '']), ['stored already'])
  t.equal((await eventsOf(db, one.brand)).length, 1)
})

t.test('a replay is refused as a delivery is, and says why', async (t) => {
  const one = await source()
  await breakIt()
  await send(one, { eventId: 'e', data: data('unfit') })
  await mendIt()
  await sql`update event_definition set is_enabled = false where brand_id = ${one.brand.id}`
  t.match(await outcomes(one.brand, [], { all: true }), [/^failed: unknown_event_type/])
  const other = await makeBrand(db)
  const [letter] = await list(one.brand)
  await t.rejects(outcomes(other, [letter?.id ?? '']), { code: 'not_found' })
  await t.rejects(outcomes(other), { message: /an ID or --all is needed/ })
})

t.test('a letter is replayed by what its definition is called now', async (t) => {
  const one = await source()
  await breakIt()
  await send(one, { eventId: 'e', data: data('unfit') })
  await mendIt()
  await sql`update event_definition set type = 'points_given' where brand_id = ${one.brand.id}`
  await send(one, { eventId: 'new', type: 'points_given', data: data('fit') })
  t.match(await send(one, { eventId: 'old', data: data('fit') }), { status: 404 })
  t.same(await outcomes(one.brand, [], { all: true }), ['stored'])
  t.match(await eventsOf(db, one.brand), [{ event_type: 'points_given' }, { event_type: 'points_given' }])
})

t.test('many are listed page by page, at most so many as asked for', async (t) => {
  const brand = await makeBrand(db)
  await sql`
    insert into dead_letter (brand_id, id, provider_id, event_id, event_type, reason, body)
    select ${brand.id}, gen_random_uuid(), gen_random_uuid(), n::text, 'a', 'full', ''
    from generate_series(1, 1203) as n`
  t.equal(new Set((await list(brand, { limit: '2000' })).map(({ id }) => id)).size, 1203)
  t.equal((await list(brand)).length, 100)
})

t.test('of deliveries that could not be stored a brand keeps the newest 5,000', async (t) => {
  const one = await source()
  const { brand } = one
  await sql`
    insert into dead_letter (brand_id, id, provider_id, event_id, event_type, reason, body, failed_at)
    select ${brand.id}, gen_random_uuid(), gen_random_uuid(), 'old' || n, 'a', 'full', 'x', now() - n * interval '1 second'
    from generate_series(1, 5000) as n`
  await breakIt()
  await send(one, { eventId: 'e', data: data('unfit') })
  await mendIt()
  t.match(await sql`select event_id, reason from dead_letter where brand_id = ${brand.id} and body = ''`, [
    { event_id: 'old5000', reason: /^full; its body is no longer kept/ },
  ])
})

t.test('what is no longer kept is taken off the list by a replay, which says so', async (t) => {
  const brand = await makeBrand(db)
  await sql`
    insert into dead_letter (brand_id, id, provider_id, event_id, event_type, reason, body)
    values (${brand.id}, gen_random_uuid(), gen_random_uuid(), 'e', 'a', 'full', '')`
  t.equal((await list(brand)).length, 1)
  t.same(await outcomes(brand, [], { all: true }), ['no longer kept'])
  t.same(await list(brand), [])
})

t.test('a letter from before an erasure brings nobody back', async (t) => {
  const one = await source()
  const { brand } = one
  const email = 'gone@example.com'
  await db.postgres.forBrand(brand.id).tx((tx) => requestErasure(tx, { email }, 'a test'))
  await eraseDue(pipeline, { patience: { readersMs: 0, writersMs: 0 } })
  await breakIt()
  await send(one, { eventId: 'e', data: data('unfit', email) })
  await mendIt()
  await sql`update dead_letter set received_at = now() - interval '1 day' where brand_id = ${brand.id}`
  t.same(await outcomes(brand, [], { all: true }), ['of somebody who was erased'])
  t.same(await sql`select from dead_letter where brand_id = ${brand.id}`, [])
  t.same(await sql`select from contact where brand_id = ${brand.id}`, [])
  t.match(await send(one, { eventId: 'e', data: data('a', email) }), { body: { deduplicated: true } })
  t.match(await send(one, { eventId: 'f', data: data('a', email) }), { body: { ok: true } }, 'who comes back')
})

t.test('lines that the lake refused are listed and replayed too', async (t) => {
  const brand = await makeBrand(db)
  const line = { brand_id: brand.id, received_at: Date.now(), occurred_at: Date.now(), properties: { a: 1 } }
  await logBatch(sql, [JSON.stringify(line), JSON.stringify(line)])
  const snapshot = async () => {
    await passed(pipeline)
    await snapshotAll(pipeline)
  }
  await snapshot()
  const dead = await list(brand)
  t.match(dead, [{ kind: 'event' }, { kind: 'event' }])
  const [{ id }] = dead as [Dead, Dead]
  t.match(await run('show', brand, [id]), { id, body: JSON.stringify(line) })
  t.same(await outcomes(brand, [id]), ['in the event log again'])
  t.equal((await list(brand)).length, 1)
  await snapshot()
  t.equal((await list(brand)).length, 2, 'still refused')
  const mended = Buffer.from(JSON.stringify({ ...line, event_type: 'view', anonymous_id: 'v' }))
  await sql`update dead_event set payload = ${mended} where brand_id = ${brand.id}`
  await outcomes(brand, [], { all: true })
  await snapshot()
  t.same(await list(brand), [])
  t.match(await sourceRows(pipeline, brand, 'select event_type from events'), [
    { event_type: 'view' },
    { event_type: 'view' },
  ])
  await t.rejects(outcomes(brand, [id]), { code: 'not_found' })
  await t.rejects(outcomes(brand, ['nonsense']), { code: 'not_found' })
})
