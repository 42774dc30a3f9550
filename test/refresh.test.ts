import { randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import postgresDriver from 'postgres'
import t, { type Test } from 'tap'
import { compactBrand } from '../src/lake/compact.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { listedFiles } from '../src/lake/lost.ts'
import { brandManifest, Outrun } from '../src/lake/manifest.ts'
import { retain } from '../src/lake/retention.ts'
import { openServed } from '../src/lake/served.ts'
import { openServing } from '../src/lake/serving.ts'
import { openSession, SMALL_ROWS } from '../src/lake/session.ts'
import { createSlots } from '../src/lake/slots.ts'
import { setLogLevel } from '../src/log.ts'
import { loadModels } from '../src/model/graph.ts'
import { runModels } from '../src/model/run.ts'
import type { Brand } from '../src/op.ts'
import { evaluateSegments, type SegmentRow } from '../src/segment/evaluate.ts'
import { computeMarts, openStaging } from '../src/segment/marts.ts'
import { openMembers } from '../src/segment/members.ts'
import { BOTH } from '../src/segment/part.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { audienceOf, type SegmentWithDefinition, updateSegment } from '../src/segment/saved.ts'
import { migrate } from '../src/store/migrate.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { cluster } from './fixtures/cluster.ts'
import { lake, logBatch } from './fixtures/lake.ts'
import { memberChanges } from './fixtures/published.ts'
import { databaseUrl } from './fixtures/shared.ts'
import { at, store, viewedWithin } from './fixtures/viewed-store.ts'

setLogLevel('error')

const DAY = 86_400_000

const shared = await lake(t)
const { sql } = shared.postgres

async function servedRows(t: Test, brandId: string) {
  const served = openServed(shared)
  t.teardown(() => served.close())
  return async (text: string) => await (await served.reader(brandId))?.rows(text)
}

t.test('an event of a known customer makes it a member with the next refresh', async (t) => {
  const { view, viewed, refresh, members } = await store(shared)
  await view(at('2026-01-01T00:00:00'), 'ann', 'bob')
  await viewed('this week', 7)
  await refresh(at('2026-02-01T00:00:00'))
  t.same(await members('this week'), [])
  await view(at('2026-02-01T12:00:00'), 'ann')
  await refresh(at('2026-02-02T00:00:00'))
  t.same(await members('this week'), ['ann'])
})

for (const [size, smallRows] of [
  ['small', SMALL_ROWS],
  ['large', 0],
] as const)
  t.test(`a ${size} brand that sold nothing has members of rules about sales`, async (t) => {
    const { brand, view, save, members } = await store(shared)
    const ordered = { source: 'commerce_orders', op: 'count-over-window' }
    const lines = { ...ordered, where: [{ field: 'product_id', op: '=', value: 'p' }] }
    await save('ordered', { source: 'customer_profile', rule: { any: [ordered, lines] } })
    await save('did not', { source: 'customer_profile', rule: { not: { any: [ordered, lines] } } })
    const subscribed = { source: 'subscription_contracts', field: 'status', op: '=', value: 'active' }
    await save('no subscriber', { source: 'customer_profile', rule: { not: subscribed } })
    await view(at('2026-01-01T00:00:00'), 'ann')
    for (const parts of [undefined, ['models'], ['segments']] as const)
      await refreshBrand(shared, brand.id, {
        asOf: at('2026-02-01T00:00:00'),
        smallRows,
        ...(parts && { parts }),
      })
    t.same(
      [await members('ordered'), await members('did not'), await members('no subscriber')],
      [[], ['ann'], ['ann']],
    )
  })

t.test('a refresh of a large brand says when it waits for room, which is no time of it', async (t) => {
  const { brand, view } = await store(shared)
  await view(at('2026-01-01T00:00:00'), 'ann')
  const large = createSlots({ all: 1, past: 1 })
  const leave = await large.take({ brandId: randomUUID(), past: false }, new AbortController().signal)
  const waits: [waits: boolean, at: number][] = []
  const { promise: waiting, resolve } = Promise.withResolvers<void>()
  const onWait = (each: boolean) => {
    waits.push([each, performance.now()])
    resolve()
  }
  const started = performance.now()
  const refreshed = refreshBrand({ ...shared, large }, brand.id, { smallRows: 0, onWait })
  await waiting
  await view(at('2026-01-02T00:00:00'), 'bob')
  leave()
  await refreshed
  const [row] = await sql<{ ms: number }[]>`
    select refresh_ms::float8 as ms from lake_brand where brand_id = ${brand.id}`
  t.same(
    waits.map(([each]) => each),
    [true, false],
  )
  const waited = (waits[1]?.[1] ?? 0) - (waits[0]?.[1] ?? 0)
  t.ok(Number(row?.ms) <= performance.now() - started - waited + 1, `${row?.ms} ms without ${waited}`)
})

t.test('a refresh of a large brand that waited for room counts what came meanwhile', async (t) => {
  const { brand, view, save, members } = await store(shared)
  await save('viewers', {
    source: 'product_events',
    rule: { field: 'event_kind', op: '=', value: 'product_viewed' },
  })
  const large = createSlots({ all: 1, past: 1 })
  const leave = await large.take({ brandId: randomUUID(), past: false }, new AbortController().signal)
  const { promise: waiting, resolve } = Promise.withResolvers<void>()
  const refreshed = refreshBrand({ ...shared, large }, brand.id, { smallRows: 0, onWait: () => resolve() })
  await waiting
  await view(new Date(), 'ann')
  leave()
  await refreshed
  t.same(await members('viewers'), ['ann'])
})

t.test('a write transaction in another database of the cluster', async (t) => {
  const own = await cluster(t, { max_prepared_transactions: '1' })
  await migrate(own.url)
  const postgres = openPostgres(own.url)
  const pipeline = await lake(t, { url: own.url, postgres })
  const pool = postgresDriver(databaseUrl(own.adminUrl, 'postgres'), { max: 1 })
  t.teardown(() => Promise.all([postgres.close(), pool.end()]))
  const { brand, viewed, refresh, members } = await store(pipeline)
  await viewed('ever', 365)
  const event = { brand_id: brand.id, event_type: 'product_viewed', properties: { product_id: 'p' } }
  /** Until `end`: a transaction of another user that has written something. */
  const held = async () => {
    const writing = await pool.reserve()
    await writing`begin`
    const [row] = await writing<{ pid: number }[]>`select pg_backend_pid() as pid, pg_current_xact_id()`
    const end = async (how = 'commit') => {
      await writing.unsafe(how)
      writing.release()
    }
    return { pid: row?.pid, end }
  }

  await t.test('delays a refresh until it ends, and nothing is lost', async (t) => {
    const { end } = await held()
    let waits = 0
    await logBatch(postgres.sql, [{ ...event, store_customer_id: 'ann' }])
    t.equal(await snapshotAll(pipeline, { onWait: () => ++waits === 5 && void end() }), 1)
    t.ok(waits >= 5)
    await refresh()
    t.same(await members('ever'), ['ann'])
  })

  await t.test('that never ends is named with its process and database', async (t) => {
    const { pid, end } = await held()
    await logBatch(postgres.sql, [{ ...event, store_customer_id: 'bob' }])
    await t.rejects(snapshotAll(pipeline, { waitMs: 100 }), {
      code: 'unavailable',
      message: new RegExp(`process ${pid} in database "postgres"`),
    })
    await end("prepare transaction 'forgotten'")
    await t.rejects(snapshotAll(pipeline, { waitMs: 100 }), {
      message: /the prepared transaction "forgotten" in database "postgres" .* for \d+ s\. End it/,
    })
    await pool`rollback prepared 'forgotten'`
  })
})

t.test('a segment that fails keeps its members, says why, and stops no other', async (t) => {
  const { brand, view, viewed, refresh, published, audience } = await store(shared)
  const first = await viewed('first', 3)
  const second = await viewed('second', 3)
  await view(at('2026-03-01T00:00:00'), 'ann')
  await refresh(at('2026-03-02T00:00:00'))
  await sql`update segment_version set definition = '{"source":"moon","rule":{}}' where segment_id = ${first.id}`
  await view(at('2026-03-04T00:00:00'), 'bob')
  const report = await refresh(at('2026-03-06T00:00:00'))
  t.match(report, { failed: [{ segment_id: first.id, error: /^definition\.source: "moon"/ }] })
  const after = await published()
  t.same(Object.keys(after.served.first ?? {}), ['ann'])
  t.same(Object.keys(after.served.second ?? {}), ['bob'])
  t.same(after.served, after.lake)
  t.match(await audience(first.id), {
    evaluation_status: 'failed',
    member_count: 1,
    generation: 1,
    evaluated_at: '2026-03-02T00:00:00.000Z',
    last_run_at: '2026-03-06T00:00:00.000Z',
  })
  t.match(await audience(second.id), { evaluation_status: 'evaluated', generation: 2, member_count: 1 })

  await sql`update segment_version set definition = ${sql.json(viewedWithin(3))} where segment_id = ${first.id}`
  await refresh(at('2026-03-06T00:00:00'))
  t.match(await audience(first.id), { evaluation_status: 'evaluated', member_count: 1 })
  t.same((await published()).served.first, { bob: '2026-03-06T00:00:00Z' }, brand.name)
})

t.test('a segment that failed has failed until its next version is evaluated', async (t) => {
  const { brand, db, viewed, view, refresh } = await store(shared)
  const { id } = await viewed('lately', 3)
  const shown = async () => {
    const row = await db.one<SegmentWithDefinition>('segment_by_id', [id])
    const { evaluation_status, current_version_evaluated } = audienceOf(row)
    return [evaluation_status, current_version_evaluated, row.error]
  }
  const edit = (days: number) => updateSegment(db, { id, definition: viewedWithin(days), createdBy: 'test' })
  await view(at('2026-03-01T00:00:00'), 'ann')
  await refresh(at('2026-03-02T00:00:00'))
  await sql`update segment_version set definition = '{"source":"moon","rule":{}}' where segment_id = ${id}`
  await view(at('2026-03-02T00:00:00'), 'bob')
  await refresh(at('2026-03-03T00:00:00'))
  t.match(await shown(), ['failed', true, /moon/])
  await edit(4)
  t.match(await shown(), ['failed', false, /^Before version 2: .*moon/])
  await edit(5)
  t.match(await shown(), ['failed', false, /^Before version 2: .*moon/], 'after another one, too')
  await refresh(at('2026-03-04T00:00:00'))
  t.same(await shown(), ['evaluated', true, null])

  await t.test('what ends to fail after the next one was made is not said of it', async (t) => {
    const [failed, version] = ['It broke', 1]
    await shared.postgres.pipeline.run('segments_failed', [brand.id, new Date(), [id], [failed], [version]])
    t.same(await shown(), ['evaluated', true, null])
  })

  await t.test('so does one of a brand that is set aside', async (t) => {
    for (let count = 0; count < 3; count++)
      await shared.postgres.pipeline.run('lake_brand_failed', [brand.id, 'It broke', null, 0])
    await edit(6)
    t.same(await shown(), ['failed', false, 'It broke'])
    const made = await viewed('made since', 3)
    const row = await db.one<SegmentWithDefinition>('segment_by_id', [made.id])
    t.equal(audienceOf(row).evaluation_status, 'not_evaluated', 'one made since has not')
  })
})

t.test('the segments that a shared statement fails for are found, the others are evaluated', async (t) => {
  const { brand, save, viewed, view } = await store(shared)
  await view(at('2026-03-01T00:00:00'), 'ann')
  await viewed('unreadable', 30)
  await save('readable', { source: 'customer_profile', rule: { field: 'orders_count', op: '=', value: 0 } })
  const session = await openSession(shared, brand, at('2026-03-02T00:00:00'))
  t.teardown(() => session.close())
  await runModels(session.duck.connection, await loadModels())
  await openMembers(session, 'table')
  await session.duck.run('drop view stg_product_events')
  const segments = await shared.postgres.pipeline.many<SegmentRow>('segments_to_evaluate', [brand.id])
  const { evaluated, failed } = await evaluateSegments(session, segments)
  t.match(evaluated, [{ ordinal: 2 }])
  t.match(failed, [{ segment: { ordinal: 1 }, error: /stg_product_events/ }])
  t.same(await session.duck.rows('select segment, count(*) as members from evaluated group by all'), [
    { segment: 2, members: 1 },
  ])
})

t.test('a model that fails names its file, and so does that of customers', async (t) => {
  const { brand, view, refresh } = await store(shared)
  await view(at('2026-01-01T00:00:00'), 'ann')
  await refresh(at('2026-02-01T00:00:00'))
  for (const smallRows of [SMALL_ROWS, 0])
    for (const broken of ['customers', 'ltv_buckets']) {
      const session = await openSession(shared, brand, at('2026-02-01T00:00:00'), { smallRows })
      t.teardown(session.close)
      const models = (await loadModels()).map((model) =>
        model.name === broken
          ? { ...model, sql: `select *, error('no rate') as rate from (${model.sql})` }
          : model,
      )
      await openStaging(session, { models, narrow: new Map(), hollow: new Map() })
      const serving = await openServing(session)
      t.teardown(serving.abandon)
      await t.rejects(computeMarts(session, { models, parts: BOTH, hollow: new Map() }, serving), {
        message: new RegExp(`^models/${broken}.sql: .*no rate`, 's'),
      })
    }
})

t.test('a generation', async (t) => {
  const { brand, view, viewed, refresh, published } = await store(shared)
  const names = Array.from({ length: 20 }, (_, index) => `c${index + 10}`)
  await viewed('lately', 3)
  await view(at('2026-04-01T00:00:00'), ...names)
  t.match(await refresh(at('2026-04-02T00:00:00')), { generation: 1, published: true })

  await t.test('is new when a member came, and those who stay keep their time', async (t) => {
    await view(at('2026-04-02T12:00:00'), 'dora', 'c10')
    t.match(await refresh(at('2026-04-03T00:00:00')), { generation: 2, published: true })
    const { served, lake, audience } = await published()
    t.same(served.lately, {
      ...Object.fromEntries(names.map((name) => [name, '2026-04-02T00:00:00Z'])),
      dora: '2026-04-03T00:00:00Z',
    })
    t.same(served, lake)
    t.same(audience, { lately: { members: 21, generation: 2 } })
  })

  await t.test('is new when members left because time went by', async (t) => {
    t.match(await refresh(at('2026-04-04T12:00:00')), { generation: 3 })
    const { served, lake } = await published()
    t.same(served.lately, { c10: '2026-04-02T00:00:00Z', dora: '2026-04-03T00:00:00Z' })
    t.same(served, lake)
  })

  await t.test('gives who comes back a new time', async (t) => {
    await view(at('2026-04-05T00:00:00'), 'c11', 'c10')
    t.match(await refresh(at('2026-04-05T06:00:00')), { generation: 4 })
    const { served, lake } = await published()
    t.same(served.lately, {
      c10: '2026-04-02T00:00:00Z',
      c11: '2026-04-05T06:00:00Z',
      dora: '2026-04-03T00:00:00Z',
    })
    t.same(served, lake)
  })

  await t.test('follows an earlier instant that was asked for, too', async (t) => {
    t.match(await refresh(at('2026-04-02T00:00:00')), { generation: 5 })
    const { served, lake } = await published()
    t.equal(Object.keys(served.lately ?? {}).length, 20)
    t.same(served, lake)
  })

  await t.test('is new after a past instant, although neither members nor data changed', async (t) => {
    await sql`update segment set status = 'archived' where brand_id = ${brand.id}`
    await refresh(at('2026-04-01T00:00:00'))
    t.match(await refresh(), { generation: 7, published: true })
    const rows = await servedRows(t, brand.id)
    t.same(await rows('select last_event_at from customers order by all desc limit 1'), [
      { last_event_at: at('2026-04-05T00:00:00') },
    ])
  })

  await t.test('stays when nothing changed', async (t) => {
    t.match(await refresh(), { generation: 7, published: false })
    t.equal((await published()).generation, 7)
  })

  await t.test('is new when a setting changed that the models read', async (t) => {
    await sql`update brand set timezone = 'Europe/Berlin' where id = ${brand.id}`
    t.match(await refresh(), { generation: 8, published: true })
    t.match(await refresh(), { generation: 8, published: false })
  })

  await t.test('is new when an order came, although no member changed', async (t) => {
    await sql`
      insert into store_order (brand_id, external_id, id, state, billing_status, currency_code, total, created_at, updated_at)
      values (${brand.id}, '1', gen_random_uuid(), 'complete', 'paid', 'USD', 10, now(), now())`
    await snapshotAll(shared)
    t.match(await refresh(), { generation: 9, published: true })
  })

  await t.test('is new when the time of a row that was dated ahead has come', async (t) => {
    const ahead = new Date(Date.now() + DAY)
    await sql`update store_order set created_at = ${ahead}, subject = 1 where brand_id = ${brand.id}`
    await snapshotAll(shared)
    t.match(await refresh(), { generation: 10 })
    t.match(await refresh(), { generation: 10, published: false })
    await sql`update lake_brand set as_of = ${new Date(ahead.getTime() - 2 * DAY)} where brand_id = ${brand.id}`
    await sql`update store_order set created_at = now() - interval '1 hour' where brand_id = ${brand.id}`
    await snapshotAll(shared)
    await sql`update lake_brand set changed_tick = refreshed_tick where brand_id = ${brand.id}`
    t.match(await refresh(), { generation: 11, published: true })
  })

  await t.test('is new when the time of a refund has passed', async (t) => {
    const refunded = new Date(Date.now() - DAY)
    await sql`
      insert into refund (brand_id, id, external_id, subject, currency_code, total, created_at)
      values (${brand.id}, gen_random_uuid(), 'r1', 1, 'USD', 3, ${refunded})`
    await snapshotAll(shared)
    await refresh(new Date(refunded.getTime() - 1))
    t.match(await refresh(new Date(refunded.getTime() + 1)), { generation: 13, published: true })
  })
})

t.test('a brand is looked at again when the time of a row that is dated ahead has come', async (t) => {
  const { brand, view, refresh } = await store(shared)
  await view(new Date(), 'ann')
  const ahead = new Date(Date.now() + 600_000)
  await sql`
    insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
    values (${brand.id}, '1', gen_random_uuid(), 1, 'complete', 'paid', 'USD', 10, ${ahead}, now())`
  await snapshotAll(shared)
  await refresh()
  const [row] = await sql`select next_change_at from lake_brand where brand_id = ${brand.id}`
  t.same(row?.next_change_at, new Date(ahead.getTime() + 1))
})

t.test('a brand is looked at again as its next day begins, whatever the clocks do at midnight', async (t) => {
  const { brand, view, refresh } = await store(shared)
  await view(at('2026-02-01T00:00:00'), 'ann')
  await sql`
    insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
    values (${brand.id}, '1', gen_random_uuid(), 1, 'complete', 'paid', 'USD', 10, '2026-02-01', '2026-02-01')`
  await snapshotAll(shared)
  for (const { zone, asOf, next } of [
    { zone: 'America/Nuuk', asOf: '2026-03-28T20:00:00', next: '2026-03-29T01:00:00' },
    { zone: 'Asia/Beirut', asOf: '2026-03-28T20:00:00', next: '2026-03-28T22:00:00' },
    { zone: 'Atlantic/Azores', asOf: '2026-10-24T20:00:00', next: '2026-10-25T00:00:00' },
    { zone: 'America/Havana', asOf: '2026-10-31T20:00:00', next: '2026-11-01T04:00:00' },
  ]) {
    await sql`update brand set timezone = ${zone} where id = ${brand.id}`
    await refresh(at(asOf))
    const [row] = await sql`select next_change_at from lake_brand where brand_id = ${brand.id}`
    t.same(row?.next_change_at, new Date(at(next).getTime() + 1), zone)
  }
})

t.test('a brand waits for no row that is dated at the end of all times', async (t) => {
  const { brand, save, view, refresh } = await store(shared)
  await save('carts', { source: 'carts', rule: { op: 'count-over-window' } })
  await view(at('2026-05-01T00:00:00'), 'ann')
  await sql`
    insert into checkout (brand_id, external_id, id, state, currency_code, created_at, updated_at)
    values (${brand.id}, '1', gen_random_uuid(), 'open', 'USD', '9999-12-31T23:59:59.999Z', now())`
  await snapshotAll(shared)
  await refresh(at('2030-05-01T00:00:00'))
  const [row] = await sql`select next_change_at::text from lake_brand where brand_id = ${brand.id}`
  t.same(row?.next_change_at, 'infinity')
})

const DELIVERED = {
  source: 'engagement_events',
  rule: {
    op: 'count-over-window',
    where: [{ field: 'event_kind', op: '=', value: 'message_delivered' }],
  },
}

/** A text message to the first customer of a brand, in the lake. */
async function deliver({ id }: Brand, times: { created: Date; delivered: Date }): Promise<void> {
  await sql`
    with talk as (
      insert into conversation (brand_id, id, subject, channel, created_at)
      values (${id}, gen_random_uuid(), 1, 'sms', ${at('2026-05-01T11:00:00')})
      returning *
    )
    insert into message (brand_id, id, conversation_id, idempotency_key, direction, author, channel, body, status, created_at, delivered_at)
    select brand_id, gen_random_uuid(), id, 'm', 'outbound', 'agent', 'sms', '', 'sent', ${times.created}, ${times.delivered}
    from talk`
  await snapshotAll(shared)
}

t.test(
  'a message that is dated ahead counts when its time comes, with what is dated before it',
  async (t) => {
    const { brand, save, view, refresh, members } = await store(shared)
    await save('reached', DELIVERED)
    await view(at('2026-05-01T11:00:00'), 'ann', 'bob')
    await deliver(brand, { created: at('2026-05-01T12:05:00'), delivered: at('2026-05-01T11:30:00') })
    await refresh(at('2026-05-01T12:00:00'))
    const later = { asOf: at('2026-05-01T12:10:00'), smallRows: 0, mostTouched: 9 }
    t.match(await refreshBrand(shared, brand.id, later), { full: false })
    t.same(await members('reached'), ['ann'])
  },
)

t.test('what a browser says of messages is no engagement', async (t) => {
  const { brand, save, refresh, members } = await store(shared)
  await save('reached', DELIVERED)
  const time = at('2026-05-01T11:00:00').getTime()
  const event = { brand_id: brand.id, event_type: 'message_delivered', received_at: time, occurred_at: time }
  const ann = { store_customer_id: 'ann', email: 'ann@example.com' }
  await logBatch(sql, [
    { ...event, event_id: '1', event_type: 'page_viewed', ...ann },
    { ...event, event_id: '2', origin: 'browser', email: ann.email },
    { ...event, event_id: '3', store_customer_id: 'bob' },
  ])
  await snapshotAll(shared)
  await refresh(at('2026-05-01T12:00:00'))
  t.same(await members('reached'), ['bob'])
})

t.test('segments that are refreshed alone need no source that no rule reads', async (t) => {
  const { brand, view, viewed, refresh, members } = await store(shared)
  await viewed('lately', 1)
  await view(at('2026-05-01T11:00:00'), 'ann')
  await refresh(at('2026-05-01T12:00:00'))
  await view(at('2026-05-01T12:05:00'), 'bob')
  // Of a source that nothing reads otherwise.
  await deliver(brand, { created: at('2026-05-01T11:00:00'), delivered: at('2026-05-01T12:05:00') })
  const later = { asOf: at('2026-05-01T12:10:00'), smallRows: 0, mostTouched: 9 }
  for (const part of ['segments', 'models'] as const)
    t.match(await refreshBrand(shared, brand.id, { ...later, parts: [part] }), { full: false }, part)
  t.same(await members('lately'), ['ann', 'bob'])
  const still = { ...later, asOf: at('2026-05-02T11:30:00'), parts: ['segments'] as const }
  t.match(await refreshBrand(shared, brand.id, still), { full: false })
  t.same(await members('lately'), ['bob'], 'time goes on where nothing came')
})

t.test('a brand is looked at again when a delivery that is dated ahead has come', async (t) => {
  const { brand, save, view, refresh, members } = await store(shared)
  await save('reached', DELIVERED)
  await view(at('2026-05-01T11:00:00'), 'ann')
  await deliver(brand, { created: at('2026-05-01T11:00:00'), delivered: at('2026-05-01T12:05:00') })
  await refresh(at('2026-05-01T12:00:00'))
  t.same(await members('reached'), [])
  const [row] = await sql`select next_change_at::text from lake_brand where brand_id = ${brand.id}`
  t.same(row?.next_change_at, '2026-05-01 12:05:00.001+00')
})

t.test('a member change says why: a new segment, its data, its definition, or time', async (t) => {
  const { brand, view, viewed, refresh, published } = await store(shared)
  const segment = await viewed('lately', 1)
  await view(at('2026-05-01T12:00:00'), 'ann')
  await refresh(at('2026-05-02T00:00:00'))
  await view(at('2026-05-03T12:00:00'), 'bob')
  await refresh(at('2026-05-04T00:00:00'))
  await sql`
    insert into segment_version (brand_id, segment_id, version, id, definition, created_by)
    values (${brand.id}, ${segment.id}, 2, gen_random_uuid(), ${sql.json(viewedWithin(5))}, 'test')`
  await sql`update segment set version = 2 where id = ${segment.id}`
  t.match(await pickAudience(brand, segment.id), {
    current_version_evaluated: false,
    evaluation_status: 'evaluated',
  })
  await refresh(at('2026-05-04T06:00:00'))
  t.match(await pickAudience(brand, segment.id), { current_version_evaluated: true })
  const changes = await memberChanges(shared, brand.id)
  t.same(
    changes.map(({ tick, action, reason, customer, changed_at }) => [
      tick,
      action,
      reason,
      customer,
      changed_at,
    ]),
    [
      [1, 'entered', 'segment_created', 1, '2026-05-02T00:00:00Z'],
      [2, 'exited', 'window_elapsed', 1, '2026-05-04T00:00:00Z'],
      [2, 'entered', 'data_changed', 2, '2026-05-04T00:00:00Z'],
      [3, 'entered', 'definition_changed', 1, '2026-05-04T06:00:00Z'],
    ],
  )

  await t.test('an archived segment is not evaluated', async (t) => {
    await sql`update segment set status = 'archived' where id = ${segment.id}`
    t.match(await refresh(at('2026-07-01T00:00:00')), { generation: 4, failed: [] })
    t.equal((await memberChanges(shared, brand.id)).length, changes.length)
    t.match((await published()).audience.lately, { generation: 3 })
  })
})

t.test(
  'of a setting that rules depend on, a member change says that what the rule means has changed',
  async (t) => {
    const { brand, save, view, refresh } = await store(shared)
    await save('spent', { source: 'customer_profile', rule: { field: 'total_spend', op: '>=', value: 10 } })
    const order = async (subject: number) => {
      await sql`
      insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
      values (${brand.id}, ${subject}, gen_random_uuid(), ${subject}, 'complete', 'paid', 'EUR', 10, '2026-05-01', now())`
      await snapshotAll(shared)
    }
    await view(at('2026-05-01T12:00:00'), 'ann', 'bob')
    await order(1)
    await refresh(at('2026-05-02T00:00:00'))
    t.same(await memberChanges(shared, brand.id), [])
    await sql`update brand set currency_code = 'EUR' where id = ${brand.id}`
    await order(2)
    await refresh(at('2026-05-03T00:00:00'))
    t.match(await memberChanges(shared, brand.id), [
      { customer: 1, action: 'entered', reason: 'definition_changed' },
      { customer: 2, action: 'entered', reason: 'definition_changed' },
    ])
  },
)

t.test('of a segment that had failed, who moves when it no longer does did not do it', async (t) => {
  const { brand, db, save, view, viewed, refresh } = await store(shared)
  const other = (segmentId: string) => ({
    source: 'customer_profile',
    rule: { op: 'member-of-segment', segmentId },
  })
  const edited = await viewed('edited', 3)
  const fails = await save('fails', other(edited.id))
  const above = await save('above', other(fails.id))
  const define = (definition: object) =>
    sql`update segment_version set definition = ${sql.json(definition as never)} where segment_id = ${fails.id}`
  const ordinals = await sql<{ id: string; ordinal: number }[]>`
    select id, ordinal from segment where brand_id = ${brand.id}`
  const moved = async () =>
    (await memberChanges(shared, brand.id)).map(({ tick, segment, action, reason }) => [
      tick,
      ordinals.find(({ ordinal }) => ordinal === segment)?.id,
      action,
      reason,
    ])
  await view(at('2026-03-01T00:00:00'), 'ann')
  await define({ source: 'moon', rule: {} })
  await refresh(at('2026-03-02T00:00:00'))
  await define(other(edited.id))
  await refresh(at('2026-03-02T01:00:00'))
  t.same(
    await moved(),
    [
      [1, edited.id, 'entered', 'segment_created'],
      [2, fails.id, 'entered', 'segment_created'],
      [2, above.id, 'entered', 'definition_changed'],
    ],
    'for the first time',
  )

  await view(at('2026-02-20T00:00:00'), 'bob')
  await updateSegment(db, { id: edited.id, definition: viewedWithin(30), createdBy: 'test' })
  await define({ source: 'moon', rule: {} })
  await refresh(at('2026-03-02T02:00:00'))
  await refresh(at('2026-03-02T03:00:00'))
  await define(other(edited.id))
  await refresh(at('2026-03-02T04:00:00'))
  t.same(
    (await moved()).slice(3),
    [
      [3, edited.id, 'entered', 'definition_changed'],
      [5, fails.id, 'entered', 'definition_changed'],
      [5, above.id, 'entered', 'definition_changed'],
    ],
    'after an edit of the other one',
  )
  await view(at('2026-03-02T04:30:00'), 'cleo')
  await refresh(at('2026-03-02T05:00:00'))
  t.same(
    [...new Set((await moved()).slice(6).map(([, , , reason]) => reason))],
    ['data_changed'],
    'and no longer',
  )
})

const pickAudience = async ({ id }: Brand, segment: string) =>
  audienceOf(await shared.postgres.forBrand(id).one<SegmentWithDefinition>('segment_by_id', [segment]))

/** Two refreshes of it go on when both have asked for their manifest. */
function withManifestsTogether(): typeof shared {
  const { pipeline } = shared.postgres
  const both = Promise.withResolvers<void>()
  let asked = 0
  const one: typeof pipeline.one = async (name, args) => {
    const found = await pipeline.one(name, args)
    if (name === 'lake_brand_manifest') {
      if (++asked === 2) both.resolve()
      await both.promise
    }
    return found as never
  }
  return { ...shared, postgres: { ...shared.postgres, pipeline: { ...pipeline, one } } }
}

t.test('of two refreshes at once one publishes, the other is outrun', async (t) => {
  const { brand, view, viewed, published, audience } = await store(shared)
  const { id } = await viewed('lately', 3)
  await view(at('2026-05-01T00:00:00'), 'ann')
  for (const [round, again] of [true, false].entries()) {
    const asOf = again ? at('2026-05-02T00:00:00') : at('2026-05-09T00:00:00')
    const together = withManifestsTogether()
    const ran = await Promise.allSettled([1, 2].map(() => refreshBrand(together, brand.id, { asOf })))
    t.match(ran.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    t.match(
      ran.find(({ status }) => status === 'rejected'),
      { reason: { name: 'Outrun' } },
    )
    const { generation, served, lake } = await published()
    t.equal(generation, round + 1)
    t.same(served, lake)
    t.match(await audience(id), { evaluation_status: 'evaluated', generation: round + 1 })
  }
})

t.test('a refresh is outrun by one that publishes before it looks what is published', async (t) => {
  const { brand, view, viewed, refresh, published } = await store(shared)
  await viewed('lately', 3)
  await view(at('2026-05-01T00:00:00'), 'ann')
  await refresh(at('2026-05-02T00:00:00'))
  const { pipeline } = shared.postgres
  let isFirst = true
  const maybe: typeof pipeline.maybe = async (name, args) => {
    if (name === 'lake_served' && isFirst) {
      isFirst = false
      await view(at('2026-05-02T12:00:00'), 'bob')
      await refresh(at('2026-05-03T00:00:00'))
    }
    return await pipeline.maybe(name, args)
  }
  const slower = { ...shared, postgres: { ...shared.postgres, pipeline: { ...pipeline, maybe } } }
  const asOf = at('2026-05-04T00:00:00')
  await t.rejects(refreshBrand(slower, brand.id, { asOf }), { name: 'Outrun' })
  t.equal((await published()).generation, 2)
})

/** `work` is done when a refresh of it asks for its manifest first. */
function withManifestAfter(work: () => Promise<unknown>): typeof shared {
  const { pipeline } = shared.postgres
  let isFirst = true
  const one: typeof pipeline.one = async (name, args) => {
    if (name === 'lake_brand_manifest' && isFirst) {
      isFirst = false
      await work()
    }
    return await pipeline.one(name, args)
  }
  return { ...shared, postgres: { ...shared.postgres, pipeline: { ...pipeline, one } } }
}

t.test('a change that comes between a brand and its manifest is published', async (t) => {
  const { brand, view, viewed, refresh } = await store(shared)
  await viewed('lately', 3)
  await view(new Date(Date.now() - 1_000), 'ann')
  await refresh()
  const slower = withManifestAfter(async () => {
    await sql`update customer set first_name = 'Ann' where brand_id = ${brand.id}`
    await snapshotAll(shared)
  })
  t.match(await refreshBrand(slower, brand.id), { published: true, generation: 2 })
  t.match(await refresh(), { published: false, generation: 2 })
})

t.test('a refresh is outrun by an erasure that comes between a brand and its manifest', async (t) => {
  const { brand, view, viewed, refresh } = await store(shared)
  await viewed('lately', 3)
  await view(at('2026-05-01T00:00:00'), 'ann')
  await refresh(at('2026-05-02T00:00:00'))
  const slower = withManifestAfter(
    () => sql`update lake_brand set erasures = erasures + 1 where brand_id = ${brand.id}`,
  )
  const asOf = at('2026-05-03T00:00:00')
  await t.rejects(refreshBrand(slower, brand.id, { asOf }), { name: 'Outrun' })
  t.match(await refresh(asOf), { published: true, full: true })
})

t.test('a segment is evaluating while its lease lasts, and no longer', async (t) => {
  const { viewed, refresh, audience } = await store(shared)
  const { id } = await viewed('lately', 3)
  const lease = (until: Date) => sql`update segment set evaluating_until = ${until} where id = ${id}`
  t.match(await audience(id), {
    evaluation_status: 'not_evaluated',
    member_count: 0,
    generation: 0,
    last_run_at: null,
  })
  await lease(new Date(Date.now() + DAY))
  t.match(await audience(id), { evaluation_status: 'evaluating', evaluated_at: null })
  await lease(new Date(Date.now() - 1))
  t.match(await audience(id), { evaluation_status: 'not_evaluated' })
  await lease(new Date(Date.now() + DAY))
  await refresh()
  t.match(await audience(id), { evaluation_status: 'evaluated' })
})

t.test('a refresh that fails leaves the leases of others', async (t) => {
  const { brand, viewed, refresh, audience } = await store(shared)
  const mine = await viewed('mine', 3)
  const other = await viewed('other', 3)
  await refresh()
  await sql`update segment set every_minutes = 60, evaluating_until = ${new Date(Date.now() + DAY)} where id = ${other.id}`
  const onStep = () => {
    throw new Error('It broke')
  }
  await t.rejects(refreshBrand(shared, brand.id, { onStep }), { message: 'It broke' })
  t.match(await audience(mine.id), { evaluation_status: 'evaluated' })
  t.match(await audience(other.id), { evaluation_status: 'evaluating' })
})

t.test('a brand that is set aside says why in its segments, until a refresh succeeds', async (t) => {
  const { brand, db, viewed, refresh } = await store(shared)
  const { id } = await viewed('lately', 3)
  const gone = await viewed('gone', 3)
  await sql`update segment set status = 'archived' where id = ${gone.id}`
  await refresh()
  const shown = async (segment = id) => {
    const row = await db.one<SegmentWithDefinition>('segment_by_id', [segment])
    const listed = await db.many<SegmentWithDefinition>('segments_page', ['all', null, null, null])
    const { error, last_run_at } = listed.find((each) => each.id === segment) ?? row
    t.same([error, last_run_at], [row.error, row.last_run_at])
    return [audienceOf(row).evaluation_status, row.error]
  }
  const fails = () => shared.postgres.pipeline.run('lake_brand_failed', [brand.id, 'It broke', null, 0])
  await fails()
  await fails()
  t.same(await shown(), ['evaluated', null], 'it is tried again')
  await fails()
  t.same(await shown(), ['failed', 'It broke'])
  const { last_run_at, evaluated_at } = audienceOf(await db.one<SegmentWithDefinition>('segment_by_id', [id]))
  const [{ failed_at } = {}] = await sql`select failed_at from lake_brand where brand_id = ${brand.id}`
  t.equal(last_run_at, failed_at.toISOString(), 'its last run is the one that failed')
  t.not(evaluated_at, last_run_at)
  t.same(await shown(gone.id), ['not_evaluated', null], 'whose evaluation has ended')
  await refresh()
  t.same(await shown(), ['evaluated', null])
})

t.test('compaction keeps whom a row was about until the next refresh', async (t) => {
  const { brand, save, view, refresh } = await store(shared)
  await save('buyers', { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 1 } })
  await view(at('2026-05-01T00:00:00'), 'ann', 'bob')
  const order = async (subject: number) => {
    await sql`
      insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
      values (${brand.id}, '1', gen_random_uuid(), ${subject}, 'complete', 'paid', 'USD', 10, '2026-05-01', now())
      on conflict (brand_id, external_id) do update set subject = excluded.subject`
    await snapshotAll(shared)
    await compactBrand(shared, brand.id, true)
  }
  const orders = async () => {
    const { files } = await brandManifest(shared.postgres, brand.id)
    return files.filter(({ relation }) => relation === 'orders').map(({ level }) => level)
  }
  await order(1)
  await refresh(at('2026-05-02T00:00:00'))
  t.same(await orders(), [1])
  await order(2)
  await order(1)
  await order(2)
  t.same(await orders(), [1, 0, 0, 0], 'no version is folded that a refresh has not seen')
  await refresh(at('2026-05-03T00:00:00'))
  const changes = await memberChanges(shared, brand.id)
  t.same(
    changes.slice(1).map(({ customer, action, reason }) => [customer, action, reason]),
    [
      [1, 'exited', 'data_changed'],
      [2, 'entered', 'data_changed'],
    ],
  )
  await compactBrand(shared, brand.id, true)
  t.same(await orders(), [1])
})

t.test('what killed work left is removed after 26 hours, what is published stays', async (t) => {
  const { brand, view, viewed, refresh, published } = await store(shared)
  await viewed('lately', 3)
  await view(at('2026-08-01T00:00:00'), 'ann')
  await refresh(at('2026-08-02T00:00:00'))
  const before = await published()
  const folder = join(shared.lakeDir, 'brands', brand.id)
  const scratch = join(folder, 'tmp', randomUUID())
  mkdirSync(scratch, { recursive: true })
  const left = [join(scratch, 'spilled'), join(folder, `events-${randomUUID()}.parquet`)]
  for (const path of left) writeFileSync(path, 'x')
  const hoursAgo = (hours: number) => {
    for (const path of [...left, scratch, ...readdirSync(folder).map((name) => join(folder, name))]) {
      const time = new Date(Date.now() - hours * 3_600_000)
      utimesSync(path, time, time)
    }
  }
  hoursAgo(25)
  await retain(shared)
  for (const path of [...left, scratch]) t.ok(existsSync(path))
  hoursAgo(27)
  await retain(shared)
  for (const path of [...left, scratch]) t.notOk(existsSync(path))
  t.same(await published(), before)
})

t.test(
  'a refresh whose files an erasure removed was outrun, and is not the fault of its brand',
  async (t) => {
    const { brand, view, viewed } = await store(shared)
    await viewed('this week', 7)
    await view(at('2026-08-01T00:00:00'), 'ann')
    await compactBrand(shared, brand.id, true)
    const folder = join(shared.lakeDir, 'brands', brand.id)
    let erased: Promise<unknown> | undefined
    const onStep = () => {
      for (const name of readdirSync(folder)) if (name.endsWith('.parquet')) rmSync(join(folder, name))
      erased ??= sql`update lake_brand set erasures = erasures + 1 where brand_id = ${brand.id}`.execute()
    }
    const { pipeline: db } = shared.postgres
    const maybe: typeof db.maybe = async (name, args) => {
      await erased
      return await db.maybe(name, args)
    }
    const erasing = { ...shared, postgres: { ...shared.postgres, pipeline: { ...db, maybe } } }
    await t.rejects(refreshBrand(erasing, brand.id, { smallRows: 0, onStep }), {
      name: 'Outrun',
      cause: { message: /IO Error/ },
    })
  },
)

for (const [size, smallRows, lose] of [
  ['a small brand that are gone', SMALL_ROWS, (path: string) => rmSync(path)],
  ['a large brand that are gone', 0, (path: string) => rmSync(path)],
  ['a large brand that are cut off', 0, (path: string) => truncateSync(path, 100)],
] as const)
  t.test(`published files of ${size} are made anew by the next refresh`, async (t) => {
    const { brand, view, viewed, published, audience } = await store(shared)
    const { id } = await viewed('ever', 1000)
    const refresh = () => refreshBrand(shared, brand.id, { smallRows })
    await view(at('2026-01-01T00:00:00'), 'ann', 'bob')
    await refresh()
    const before = await published()
    await view(at('2026-01-02T00:00:00'), 'ann')
    for (const { relation, path } of await listedFiles(shared, brand.id))
      if (relation === 'served') lose(join(shared.lakeDir, path))
    await t.rejects(refresh(), Outrun, 'who asked tries again')
    await refresh()
    t.same((await published()).served, before.served)
    t.match(await audience(id), { member_count: 2, evaluation_status: 'evaluated' })
    t.same(await sql`select failures from lake_brand where brand_id = ${brand.id}`, [{ failures: 0 }])
  })

t.test('published files are not given up while files of the sources are lost, too', async (t) => {
  const { brand, view, refresh } = await store(shared)
  await view(at('2026-01-01T00:00:00'), 'ann')
  await refresh()
  await compactBrand(shared, brand.id, true)
  const files = await listedFiles(shared, brand.id)
  for (const { path } of files) renameSync(join(shared.lakeDir, path), join(shared.lakeDir, `${path}.away`))
  await view(at('2026-01-02T00:00:00'), 'ann')
  await t.rejects(refresh(), { code: 'ENOENT' })
  for (const { path } of files) renameSync(join(shared.lakeDir, `${path}.away`), join(shared.lakeDir, path))
  await refresh()
})
