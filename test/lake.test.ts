import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock } from 'node:test'
import postgres from 'postgres'
import t from 'tap'
import { openInvalidation } from '../src/access/invalidation.ts'
import type { LakeStatus } from '../src/cli/status.ts'
import { backup } from '../src/lake/backup.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { compactStaging } from '../src/lake/compact-staging.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { brandManifest, type LakeFile } from '../src/lake/manifest.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { restore } from '../src/lake/restore.ts'
import { retain } from '../src/lake/retention.ts'
import { openSession, type SessionOptions } from '../src/lake/session.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import { TICK_BOUNDS } from '../src/lake/tick-bounds.ts'
import { SESSION_OF } from '../src/store/postgres.ts'
import { statement } from '../src/store/sqlfile.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import type { Teardown } from './fixtures/cluster.ts'
import { type Database, database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { type Line, lake, logBatch, passed, sourceRows, tick } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'

t.test('committed events are in the sources of their brand after a tick', async (t) => {
  const pipeline = await lake(t)
  const one = await newBrand(pipeline)
  const other = await newBrand(pipeline)
  await logBatch(pipeline.postgres.sql, [
    {
      brand_id: one.id,
      event_id: 'a',
      email: 'ann@example.com',
      event_type: 'product_viewed',
      properties: { product_id: 'p1', price: '19.90' },
    },
    { brand_id: other.id, event_id: 'a', anonymous_id: 'v1' },
  ])
  const report = await tick(pipeline)
  t.match(report, { published: true, tick: 1, read: 2, dead: 0, repeats: 0 })
  t.match(
    await sourceRows(pipeline, one, 'select event_id, event_type, product_id, price, subject from events'),
    [{ event_id: 'a', event_type: 'product_viewed', product_id: 'p1', price: '19.90', subject: 1 }],
  )
  t.equal((await sourceRows(pipeline, other, 'from events')).length, 1)
})

t.test('an email that went from a removed customer to the next is remembered as of the next', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { sql } = pipeline.postgres
  const email = 'ann@example.com'
  const lines: Omit<Line, 'brand_id'>[] = [
    { store_customer_id: '1', email },
    { email },
    { store_customer_id: '2', email },
    { email },
  ]
  for (const [at, line] of lines.entries()) {
    if (at === 2) await sql`update customer set deleted = true where brand_id = ${brand.id}`
    await logBatch(sql, [{ brand_id: brand.id, event_id: `${at}`, ...line }])
    await tick(pipeline)
  }
  t.strictSame(await sourceRows(pipeline, brand, 'select subject from events order by event_id'), [
    { subject: 1 },
    { subject: 1 },
    { subject: 2 },
    { subject: 2 },
  ])
})

t.test('units of an event that are no whole number from 0 on are missing, and not rounded', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const sent = [
    2,
    '3',
    '2.0',
    1e3,
    0,
    1.5,
    '0.4',
    -1,
    '-0.2',
    'x',
    '',
    true,
    '2147483648',
    'nan',
    'inf',
    '1e308',
  ]
  await logBatch(
    pipeline.postgres.sql,
    sent.map((units, at) => ({
      brand_id: brand.id,
      event_id: String(at),
      anonymous_id: 'v',
      properties: { quantity: units, item_count: units },
    })),
  )
  t.match(await tick(pipeline), { dead: 0 })
  const rows = await sourceRows<{ quantity: number | null; item_count: number | null }>(
    pipeline,
    brand,
    'select quantity, item_count from events order by event_id::integer',
  )
  const known = [2, 3, 2, 1000, 0]
  const expected = sent.map((_, at) => known[at] ?? null)
  t.same(
    rows.map(({ quantity }) => quantity),
    expected,
  )
  t.same(
    rows.map(({ item_count }) => item_count),
    expected,
  )
})

t.test('an event without an id is named by its batch and line', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const batch = await logBatch(pipeline.postgres.sql, [
    { brand_id: brand.id, anonymous_id: 'v' },
    { brand_id: brand.id, anonymous_id: 'v' },
  ])
  await tick(pipeline)
  t.same(await sourceRows(pipeline, brand, 'select event_id, line from events order by line'), [
    { event_id: `${batch}-0`, line: 0 },
    { event_id: `${batch}-1`, line: 1 },
  ])
})

t.test('a batch that is damaged holds back those behind it, and loses none of them', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  const events = (name: string) =>
    [0, 1].map((n) => ({ brand_id: brand.id, event_id: `${name}${n}`, anonymous_id: 'v' }))
  await logBatch(sql, events('a'))
  const batch = await logBatch(sql, events('b'))
  await logBatch(sql, events('c'))
  const damage = async (payload: (whole: Buffer) => Buffer) => {
    const [row] = await sql`select payload from event_log where batch_id = ${batch}`
    await sql`update event_log set payload = ${payload(row?.payload)} where batch_id = ${batch}`
    await t.rejects(async () => {
      while ((await tick(pipeline)).published);
    })
    const rows = await sourceRows(pipeline, brand, 'select event_id from events order by event_id')
    t.same(rows, [{ event_id: 'a0' }, { event_id: 'a1' }])
    await sql`update event_log set payload = ${row?.payload} where batch_id = ${batch}`
  }
  await damage((whole) => whole.subarray(0, -3))
  await damage((whole) => Buffer.concat([whole, Buffer.from('more')]))
  await damage((whole) => Buffer.concat([Buffer.from('more'), whole]))
  while ((await tick(pipeline)).published);
  t.equal((await sourceRows(pipeline, brand, 'from events')).length, 6)
})

t.test('events are named by their batch and line whatever the sizes of the batches of a tick', async (t) => {
  const random = randomSource(t)
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const names: string[] = []
  const longest = random.pick([2, 40, 3_000])
  for (let n = 0; n < 30; n++) {
    const lines = random.chance(0.5) ? 1 : 1 + random.below(longest)
    const batch = await logBatch(
      pipeline.postgres.sql,
      Array.from({ length: lines }, () => ({ brand_id: brand.id, anonymous_id: 'v' })),
    )
    for (let line = 0; line < lines; line++) names.push(`${batch}-${line}`)
  }
  await tick(pipeline)
  const rows = await sourceRows<{ name: string; event_id: string }>(
    pipeline,
    brand,
    `select event_id, batch_id || '-' || line as name from events order by batch_id, line`,
  )
  t.same(
    rows.map(({ event_id }) => event_id),
    names,
  )
  t.same(
    rows.map(({ name }) => name),
    names,
  )
})

t.test('a repeated event id is kept once, within a tick and across ticks', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const event = { brand_id: brand.id, event_id: 'same', anonymous_id: 'v' }
  await logBatch(pipeline.postgres.sql, [event, event])
  t.match(await tick(pipeline), { repeats: 1 })
  await logBatch(pipeline.postgres.sql, [event, { ...event, event_id: 'new' }])
  t.match(await tick(pipeline), { repeats: 1 })
  t.same(await sourceRows(pipeline, brand, 'select event_id from events order by all'), [
    { event_id: 'new' },
    { event_id: 'same' },
  ])
})

t.test('batches of which nothing is left are passed as all others', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const gone = '{"erased":true}'
  await logBatch(pipeline.postgres.sql, [gone, gone])
  t.match(await tick(pipeline), { published: true, read: 2, erased: 0, repeats: 0 })
  await logBatch(pipeline.postgres.sql, [gone])
  await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await passed(pipeline)
  const bounds = { ...TICK_BOUNDS, events: 1 }
  t.match(await snapshot(pipeline, bounds), { more: true, rows: {} })
  t.match(await snapshot(pipeline, bounds), { more: false, rows: { events: 1 } })
  t.match(await tick(pipeline), { read: 0 })
})

t.test('an event never takes the place of one with the same id from elsewhere', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const id = 'order_created:1'
  const told = { brand_id: brand.id, store_customer_id: '1' }
  const made = [id, `browser:${id}`, `service:${id}`, `sender:${id}`, `sender:browser:${id}`]
  const given = [
    ...made.map((event_id) => ({ ...told, event_id })),
    { ...told, event_id: id, origin: 'browser' as const },
    { ...told, event_id: id, origin: 'service' as const },
  ]
  await logBatch(pipeline.postgres.sql, given)
  t.match(await tick(pipeline), { repeats: 0 })
  await logBatch(pipeline.postgres.sql, given)
  t.match(await tick(pipeline), { repeats: given.length })
  const rows = await sourceRows<{ event_id: string }>(
    pipeline,
    brand,
    'select event_id from events order by all',
  )
  t.same(
    rows.map(({ event_id }) => event_id),
    [
      `browser:${id}`,
      id,
      `sender:browser:${id}`,
      `sender:sender:${id}`,
      `sender:sender:browser:${id}`,
      `sender:service:${id}`,
      `service:${id}`,
    ].sort(),
  )
})

t.test('lines that cannot become rows are kept with a reason, and stop no neighbour', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const good = { brand_id: brand.id, anonymous_id: 'v' }
  const batch = await logBatch(pipeline.postgres.sql, [
    good,
    '{"brand_id": "not json',
    { ...good, brand_id: '0193f0a0-0000-7000-8000-000000000000' },
    { brand_id: brand.id },
    good,
  ])
  t.match(await tick(pipeline), { dead: 3, rows: { events: 2 } })
  const dead = await pipeline.postgres
    .sql`select line, reason, convert_from(payload, 'UTF8') as payload from dead_event where batch_id = ${batch} order by line`
  t.match(
    [...dead],
    [
      { line: 1, payload: '{"brand_id": "not json' },
      { line: 2, reason: 'there is no such brand' },
      { line: 3, reason: 'the event names nobody' },
    ],
  )
  t.equal((await sourceRows(pipeline, brand, 'from events')).length, 2)
})

t.test('two workers on the same tick: one publishes, the other changes nothing', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await passed(pipeline)
  const ran = await Promise.allSettled([snapshot(pipeline), snapshot(pipeline)])
  t.equal(ran.filter(({ status }) => status === 'fulfilled').length, 1)
  t.match(
    ran.find(({ status }) => status === 'rejected'),
    { reason: { name: 'Outrun' } },
  )
  t.equal((await sourceRows(pipeline, brand, 'from events')).length, 1)
})

t.test('a row that committed late is not passed over', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { sql } = pipeline.postgres
  await sql.begin(async (tx) => {
    await tx`select pg_current_xact_id()`
    await logBatch(sql, [{ brand_id: brand.id, event_id: 'committed first', anonymous_id: 'v' }])
    await snapshot(pipeline)
    t.equal((await sourceRows(pipeline, brand, 'from events')).length, 0, 'the open transaction is older')
    await logBatch(tx as never, [{ brand_id: brand.id, event_id: 'committed last', anonymous_id: 'v' }])
  })
  await snapshotAll(pipeline)
  t.equal((await sourceRows(pipeline, brand, 'from events')).length, 2)
})

t.test('what ended while a tick took its time holds nothing back', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { pipeline: db, sql } = pipeline.postgres
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  let reads = 0
  const one = async (name: string, args?: unknown[]) => {
    if (name === 'lake_state_read') await passed(pipeline)
    const row = await db.one<Record<string, unknown>>(name, args)
    const isEarly = name === 'lake_state_read' && reads++ === 0
    return isEarly ? { ...row, horizon: row.exported_below } : row
  }
  const slow = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, one: one as never } } }
  await snapshotAll(slow, { waitMs: -1 })
  t.equal((await sourceRows(pipeline, brand, 'from events')).length, 1)
})

t.test('how far the lake is behind is found without a look at what it holds', async (t) => {
  const { sql, pipeline: db } = (await lake(t)).postgres
  await sql`call event_log_days((now() at time zone 'UTC')::date - 3, (now() at time zone 'UTC')::date)`
  await sql`
    insert into event_log (received_at, batch_id, xid, event_count, payload)
    select now() - n * interval '5 seconds', gen_random_uuid(), (case when n > 30 then '3' else '5' end)::xid8, 1, '\\x00'
    from generate_series(1, 50000) as n`
  await sql`analyze event_log`
  await sql`update lake_state set exported_below = '4'`
  // The test takes its time, too.
  const isThat = (seconds: number) => seconds >= 150 && seconds < 1_000
  t.ok(isThat((await db.one<{ seconds: number }>('lake_lag')).seconds))
  const status = await db.one<LakeStatus>('status_lake')
  t.equal(status.waiting_events, 30)
  t.ok(isThat(status.export_lag_seconds))
  for (const name of ['lake_lag', 'event_log_awaited_day', 'event_ids_outdate', 'status_lake']) {
    const text = statement('postgres', name).replace('$1', '16')
    const [row] = await sql.unsafe(`explain (analyze, format json) ${text}`)
    const removed = [...JSON.stringify(row).matchAll(/"Rows Removed by Filter":(\d+)/g)]
    const passedOver = removed.reduce((sum, [, rows]) => sum + Number(rows), 0)
    t.ok(passedOver <= 30, `${name} passed over ${passedOver} batches`)
    const scans = [
      ...JSON.stringify(row).matchAll(/"Relation Name":"event_log[_\d][^{}]*?"Actual Rows":(\d+)/g),
    ]
    const read = scans.reduce((sum, [, rows]) => sum + Number(rows), 0)
    t.ok(read <= 30, `${name} read ${read} batches`)
  }
})

t.test('neither a tick nor the planner looks at all that was ever staged', async (t) => {
  const db = await database(t)
  const pipeline = await lake(t, db)
  const brand = await newBrand(pipeline)
  const { pipeline: own, sql } = pipeline.postgres
  await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  await tick(pipeline)
  const asked: string[] = []
  const many = (name: string, args?: unknown[]) => {
    asked.push(name)
    return own.many(name, args)
  }
  const watched = {
    ...pipeline,
    postgres: { ...pipeline.postgres, pipeline: { ...own, many: many as never } },
  }
  await logBatch(sql, [{ brand_id: brand.id, email: 'bob@example.com' }])
  t.match(await tick(watched), { rows: { events: 1, customers: 1 } })
  t.notOk(asked.includes('lake_brands_with'))

  const owner = postgres(db.url, { max: 1 })
  await owner`
    insert into brand (id, name, shop_domain, currency_code, timezone)
    select gen_random_uuid(), n, n || '.example.com', 'USD', 'UTC' from generate_series(1, 99) as n`
  await owner`
    insert into lake_file (relation, path, level, schema_version, rows, bytes, tick_lo, tick_hi, sha256, retired_at)
    select 'events', n, 0, 1, 100, 1, n, n, '', case when n > 5 then now() end from generate_series(1, 400) as n`
  await owner`
    insert into staged_rows (file_id, brand_id, rows)
    select lake_file.id, brand.id, 1 from lake_file, brand where path = tick_lo::text`
  await owner`insert into lake_brand (brand_id) select id from brand on conflict do nothing`
  await owner`analyze lake_file, staged_rows, lake_brand`
  await owner.end()
  const text = statement('postgres', 'brands_to_compact').replace('$1', '1').replace('$2', '4')
  const [row] = await sql.unsafe(`explain (analyze, format json) ${text.replaceAll('$3', "'{}'")}`)
  const plan = JSON.stringify(row)
  t.match(plan, /"Relation Name":"staged_rows"/)
  t.notMatch(plan, /"Node Type":"Seq Scan"[^{}]*"Relation Name":"staged_rows"/)
})

t.test('an event id is taken again more than two weeks after the first, and is kept no longer', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { sql } = pipeline.postgres
  const DAY = 86_400_000
  const come = async (days: number, ...event_ids: string[]) => {
    const received_at = Date.now() - days * DAY
    const lines = event_ids.map((event_id) => ({
      brand_id: brand.id,
      event_id,
      anonymous_id: 'v',
      received_at,
    }))
    await logBatch(sql, lines)
    await tick(pipeline)
  }
  const count = async () => (await sourceRows(pipeline, brand, 'from events')).length
  await come(17, 'long ago')
  await come(13, 'lately')
  t.equal(await count(), 2)
  await come(0, 'long ago', 'lately')
  t.equal(await count(), 3)
  const kept = async () => (await sharedFiles(pipeline, 'event_ids')).length
  await sql`update lake_file set created_at = created_at - interval '15 days' where relation = 'event_ids'`
  await compactStaging(pipeline)
  t.equal(await kept(), 3)
  await sql`update lake_file set created_at = created_at - interval '2 days' where relation = 'event_ids'`
  await compactStaging(pipeline)
  t.equal(await kept(), 0)
})

t.test('a refund that names no order is in the sources, under its customer', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { sql } = pipeline.postgres
  await logBatch(sql, [{ brand_id: brand.id, event_id: 'seen', store_customer_id: '7' }])
  await tick(pipeline)
  await sql`
    insert into refund (brand_id, external_id, id, subject, currency_code, total, created_at)
    values (${brand.id}, '900', gen_random_uuid(), 1, 'USD', '12.50', now() - interval '1 minute')`
  await snapshotAll(pipeline)
  t.same(
    await sourceRows(pipeline, brand, 'select external_id, order_external_id, subject, total from refunds'),
    [{ external_id: '900', order_external_id: null, subject: 1, total: '12.50' }],
  )
})

t.test('a changed order replaces its earlier version, staged, cut and folded', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { sql } = pipeline.postgres
  const put = (id: string, total: string) => sql`
    insert into store_order (brand_id, external_id, id, state, billing_status, currency_code, total, lines, created_at, updated_at)
    values (${brand.id}, ${id}, gen_random_uuid(), 'complete', 'paid', 'USD', ${total},
      '[{"id":"1","product_id":"p","title":"T \\"quoted\\"","quantity":2,"price":"5.00","total":"10.00"}]'::text::jsonb, now(), now())
    on conflict (brand_id, external_id) do update set total = excluded.total`
  const totals = () =>
    sourceRows(
      pipeline,
      brand,
      'select external_id, total, lines[1].title as title from orders_source order by external_id',
    )
  const title = 'T "quoted"'
  await put('1', '10.00')
  await put('2', '20.00')
  await snapshotAll(pipeline)
  t.same(await totals(), [
    { external_id: '1', total: '10.00', title },
    { external_id: '2', total: '20.00', title },
  ])
  await put('1', '11.00')
  await snapshotAll(pipeline)
  t.same((await totals())[0], { external_id: '1', total: '11.00', title })
  await compactBrand(pipeline, brand.id, true)
  await put('2', '22.00')
  await sql`update store_order set deleted = true where brand_id = ${brand.id} and external_id = '1'`
  await snapshotAll(pipeline)
  t.same(await totals(), [{ external_id: '2', total: '22.00', title }])
  await compactBrand(pipeline, brand.id, true)
  t.same(await totals(), [{ external_id: '2', total: '22.00', title }])
  const { files } = await brandManifest(pipeline.postgres, brand.id)
  t.equal(files.filter(({ relation }) => relation === 'orders').length, 1, 'folded into one base')
})

t.test('rows wait no longer to be cut for a merge of the files that they are in', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { sql } = pipeline.postgres
  do {
    await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
    await tick(pipeline)
    await sql`update lake_file set created_at = created_at - interval '30 minutes'`
  } while ((await compactStaging(pipeline)) === 0)
  await compactBrand(pipeline, brand.id)
  const { files } = await brandManifest(pipeline.postgres, brand.id)
  t.match(files.find(({ relation }) => relation === 'events') ?? null, { rows: Number })
})

t.test('files are merged once new events no longer come late', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { sql } = pipeline.postgres
  const record = (event_id: string) => logBatch(sql, [{ brand_id: brand.id, event_id, anonymous_id: 'v' }])
  const compacted = async () => {
    await compactBrand(pipeline, brand.id, true)
    const { files } = await brandManifest(pipeline.postgres, brand.id)
    return files.filter(({ relation }) => relation === 'events').length
  }
  for (let round = 1; round < 12; round++) {
    await record(`e${round}`)
    await tick(pipeline)
    t.equal(await compacted(), round)
  }
  await record('e12')
  await tick(pipeline)
  const late = await record('late')
  await sql`update event_log set received_at = received_at - interval '1 minute' where batch_id = ${late}`
  t.equal(await compacted(), 12)
  await tick(pipeline)
  t.equal(await compacted(), 2)
})

t.test('many ticks of many brands stay within 50 event files a brand, every event once', async (t) => {
  const pipeline = await lake(t)
  const brands = await Promise.all(Array.from({ length: 3 }, () => newBrand(pipeline)))
  for (let round = 0; round < 26; round++) {
    await logBatch(
      pipeline.postgres.sql,
      brands.map(({ id }) => ({ brand_id: id, event_id: `e${round}`, anonymous_id: `v${round % 3}` })),
    )
    await tick(pipeline)
    await compactStaging(pipeline)
    if (round % 3 === 0) for (const { id } of brands) await compactBrand(pipeline, id, true)
  }
  for (const brand of brands) {
    const { files, staged } = await brandManifest(pipeline.postgres, brand.id)
    const events = [...files, ...staged].filter(({ relation }) => relation === 'events')
    t.ok(events.length < 50, `${events.length} files`)
    t.same(
      await sourceRows(
        pipeline,
        brand,
        'select count(*) as rows, count(distinct event_id) as ids from events',
      ),
      [{ rows: 26, ids: 26 }],
    )
  }
})

/** Twelve ticks of so many events of so many bytes. */
async function twelveTicks(pipeline: Pipeline, brandId: string, events: number, bytes: number) {
  const pad = 'x'.repeat(bytes)
  for (let round = 0; round < 12; round++) {
    const lines = Array.from({ length: events }, (_, at) => ({
      brand_id: brandId,
      event_id: `e${round}-${at}`,
      anonymous_id: 'v',
      properties: { at: `${round}-${at}`, pad },
    }))
    await logBatch(pipeline.postgres.sql, lines)
    await tick(pipeline)
  }
}

const sharedFiles = async (pipeline: Pipeline, relation: string) =>
  await pipeline.postgres.pipeline.many<LakeFile>('lake_shared_files', [relation])

t.test(
  'of events that do not fit into memory together fewer files are merged and cut at a time',
  async (t) => {
    const roomy = await lake(t)
    const brand = await newBrand(roomy)
    await twelveTicks(roomy, brand.id, 30, 250_000)
    const pipeline = { ...roomy, memoryMb: 128 }
    await compactStaging(pipeline)
    const left = await sharedFiles(pipeline, 'events')
    t.ok(left.length > 1 && left.length < 12, `${left.length} files`)
    t.equal((await sharedFiles(pipeline, 'event_ids')).length, 1)
    await compactBrand(pipeline, brand.id, true)
    const { files, staged } = await brandManifest(pipeline.postgres, brand.id)
    t.same(
      staged.filter(({ relation }) => relation === 'events'),
      [],
    )
    t.ok(files.filter(({ relation }) => relation === 'events').length > 1)
    t.same(
      await sourceRows(roomy, brand, 'select count(*) as rows, count(distinct event_id) as ids from events'),
      [{ rows: 360, ids: 360 }],
    )
  },
)

t.test('staged files of one relation that cannot be merged hold up no other relation', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  await twelveTicks(pipeline, brand.id, 1, 1)
  const [first] = await sharedFiles(pipeline, 'events')
  rmSync(join(pipeline.lakeDir, String(first?.path)))
  await t.rejects(compactStaging(pipeline), /No files found/)
  t.equal((await sharedFiles(pipeline, 'events')).length, 12)
  t.equal((await sharedFiles(pipeline, 'event_ids')).length, 1)
})

t.test('a file of events holds what sets properties last, all by subject and time', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const now = Date.now()
  const seen = (anonymous_id: string, event_type: string, ago: number) => ({
    brand_id: brand.id,
    event_id: `${anonymous_id} ${event_type} ${ago}`,
    ...{ anonymous_id, event_type, occurred_at: now - ago },
  })
  await logBatch(pipeline.postgres.sql, [
    seen('a', 'updateProperties', 1),
    seen('b', 'page_viewed', 1),
    seen('b', 'updateProperties', 9),
    seen('a', 'page_viewed', 1),
    seen('a', 'video_played', 2),
  ])
  await tick(pipeline)
  await compactBrand(pipeline, brand.id, true)
  const [file] = (await brandManifest(pipeline.postgres, brand.id)).files.filter(
    ({ relation }) => relation === 'events',
  )
  t.equal(file?.rows, 5)
  t.same(
    (await sourceRows<{ event_id: string }>(pipeline, brand, 'from events')).map(({ event_id }) => event_id),
    [
      'a video_played 2',
      'a page_viewed 1',
      'b page_viewed 1',
      'a updateProperties 1',
      'b updateProperties 9',
    ],
  )
})

t.test('those sources are opened that are read, and those that changed', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  const { tick: published } = await tick(pipeline)
  const opened = async (options: SessionOptions) => {
    const session = await openSession(pipeline, brand, new Date(), {
      read: (isSmall) => (isSmall ? new Set(['customers', 'orders']) : undefined),
      ...options,
    })
    try {
      const [{ changed }] = (await session.duck.rows(
        'select list(distinct relation order by relation) as changed from changed_subjects',
      )) as [{ changed: string[] | null }]
      return { sources: [...session.sources].sort(), changed }
    } finally {
      await session.close()
    }
  }
  t.same(await opened({}), { sources: ['customers_source', 'orders_source'], changed: null })
  const since = [Number(published) - 1]
  t.same(await opened({ since }), {
    sources: ['customers_source', 'events', 'orders_source'],
    changed: ['events'],
  })
  t.ok((await opened({ smallRows: 0 })).sources.includes('merges'), 'where nothing is said, all')
})

t.test('a session reaches no file outside its brand', async (t) => {
  const pipeline = await lake(t)
  const [one, other] = await Promise.all([newBrand(pipeline), newBrand(pipeline)])
  for (const { id } of [one, other])
    await logBatch(pipeline.postgres.sql, [{ brand_id: id, anonymous_id: 'v' }])
  await tick(pipeline)
  await compactBrand(pipeline, other.id, true)
  const { files } = await brandManifest(pipeline.postgres, other.id)
  const session = await openSession(pipeline, one, new Date())
  t.teardown(() => session.close())
  const foreign = `${pipeline.lakeDir}/${files[0]?.path}`
  await t.rejects(session.duck.rows(`from read_parquet('${foreign}')`), /Permission/)
  await t.rejects(
    session.duck.rows(`from read_parquet('${session.lakeDir}/brands/${one.id}/../${other.id}/*.parquet')`),
    /Permission/,
  )
  await t.rejects(session.duck.rows(`from read_text('/etc/passwd')`), /Permission/)
  await t.rejects(session.duck.run('set enable_external_access = true'), /locked|configuration/)
})

/** Databases of tests are copies of one, with its id. */
async function anotherService(t: Teardown): Promise<Database> {
  const target = await database(t)
  await target.postgres.sql`update lake_state set service_id = gen_random_uuid()`
  return target
}

t.test('a lake that another service has is not restored into until its owner is removed', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, event_id: 'one', email: 'ann@example.com' }])
  await snapshotAll(pipeline)
  const folder = t.testdir()
  await backup(pipeline, folder)
  const target = await anotherService(t)
  const restored = { ...pipeline, postgres: target.postgres }
  const into = () => restore(target.url, pipeline.lakeDir, folder)
  await retain(pipeline)
  await t.rejects(into(), { code: 'conflict', message: /another service.* remove .*service-id/ })
  rmSync(join(pipeline.lakeDir, 'service-id'))
  await into()
  await retain(restored)
  t.same(await sourceRows(restored, brand, 'select event_id from events'), [{ event_id: 'one' }])
})

t.test('a backup into a folder that cannot be made is refused with the reason', async (t) => {
  const pipeline = await lake(t)
  const inTheWay = join(t.testdir({ file: '' }), 'file')
  for (const [folder, message] of [
    [inTheWay, `FOLDER: ${inTheWay} is a file, where a folder is needed.`],
    ['/proc/none/backup', 'FOLDER: the folder /proc/none cannot be made'],
  ] as const)
    await t.rejects(backup(pipeline, folder), { code: 'unavailable', message })
})

t.test('a service that has brands is not restored into, and it is said where to', async (t) => {
  const pipeline = await lake(t)
  const folder = t.testdir()
  await backup(pipeline, folder)
  const target = await anotherService(t)
  await newBrand(target)
  await t.rejects(restore(target.url, join(t.testdirName, 'lake'), folder), {
    code: 'conflict',
    message: /has brands: .* new DATA_DIR or another DATABASE_URL/,
  })
})

t.test('a service is not restored into while something runs on it, which is named', async (t) => {
  const pipeline = await lake(t)
  const folder = t.testdir()
  await backup(pipeline, folder)
  const target = await anotherService(t)
  const { sql } = target.postgres
  const into = () => restore(target.url, join(t.testdirName, 'lake'), folder)
  const refusal = (message: RegExp) => ({ code: 'conflict', message })

  await t.test('a server that was seen within two minutes', async (t) => {
    await sql`insert into server_process (id, seen_at) values (gen_random_uuid(), now() - interval '110 seconds')`
    await t.rejects(into(), refusal(/a server \(recoup serve/))
    await sql`delete from server_process`
  })
  await t.test('a server that is asked nothing', async (t) => {
    const invalidation = await openInvalidation(target.postgres)
    await sql`delete from server_process`
    await t.rejects(into(), refusal(/a server \(recoup serve/))
    await invalidation.close()
  })
  await t.test('a worker', async (t) => {
    const worker = target.postgres.pool({ max: 1, connection: { application_name: SESSION_OF.worker } })
    await worker`select`
    await t.rejects(into(), refusal(/runs a worker \(recoup work/))
    await worker.end()
  })
  await t.test('but into one on which something ran', async (t) => {
    await sql`insert into server_process (id, seen_at) values (gen_random_uuid(), now() - interval '130 seconds')`
    const isIdle = async () =>
      (
        await sql`select from pg_stat_activity where datname = current_database()
          and application_name in (${SESSION_OF.server}, ${SESSION_OF.worker})`
      ).length === 0
    await eventually(isIdle)
    await t.resolves(into())
  })
})

t.test('a service that is restored is another one than that of the backup', async (t) => {
  const pipeline = await lake(t)
  const folder = join(t.testdir(), 'backup')
  await backup(pipeline, folder)
  const target = await anotherService(t)
  const serviceOf = async ({ postgres: { sql } }: Pick<Pipeline, 'postgres'>) => [
    ...(await sql`select service_id from lake_state`),
  ]
  const own = await serviceOf(target)
  await restore(target.url, join(t.testdirName, 'lake'), folder)
  t.same(await serviceOf(target), own)
  t.notSame(await serviceOf(pipeline), own)
})

t.test(
  'removal of files waits for a backup however long it takes, and for another one beside it',
  async (t) => {
    const pipeline = await lake(t)
    const { pipeline: db } = pipeline.postgres
    const brand = await newBrand(pipeline)
    await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
    await tick(pipeline)
    const folder = mkdtempSync(join(tmpdir(), 'recoup-backup-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    let pauses = 0
    const run: typeof db.run = async (name, args) => {
      if (name === 'backup_pause_removal') pauses++
      return await db.run(name, args)
    }
    mock.timers.enable({ apis: ['setInterval'] })
    t.teardown(() => mock.timers.reset())
    const counted = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, run } } }
    await db.run('backup_pause_removal', [5])
    await backup(counted, folder, (done) => done === 1 && mock.timers.tick(180_000))
    t.equal(pauses, 4, 'at its start, and once a minute')
    mock.timers.tick(180_000)
    t.equal(pauses, 4)
    t.same(await db.one('lake_removal_paused'), { paused: true })
  },
)

t.test('a backup that fails says why, and leaves its folder as it was', async (t) => {
  const pipeline = await lake(t)
  const { pipeline: db } = pipeline.postgres
  await newBrand(pipeline)
  const folder = mkdtempSync(join(tmpdir(), 'recoup-backup-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const run: typeof db.run = async (name, args) => {
    if (name === 'backup_pause_removal') mkdirSync(join(folder, 'postgres', 'brand.copy.zst'))
    return await db.run(name, args)
  }
  const failing = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, run } } }
  await t.rejects(backup(failing, folder), { code: 'EISDIR' })
  t.same(readdirSync(folder), [])
  await backup(pipeline, folder)
  t.match(readdirSync(folder), ['backup.json', 'lake', 'postgres'])
})

t.test('a backup that is cut short leaves its folder as it was', async (t) => {
  const pipeline = await lake(t)
  const { pipeline: db } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await tick(pipeline)
  const folder = mkdtempSync(join(tmpdir(), 'recoup-backup-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const reason = new Error('cut short')
  for (const at of ['its start', 'its tables', 'its files'])
    await t.test(`at ${at}`, async (t) => {
      const cutting = new AbortController()
      const cut = () => cutting.abort(reason)
      const run: typeof db.run = async (name, args) => {
        if (at === 'its start') cut()
        if (at === 'its tables') watch(join(folder, 'postgres')).once('change', cut).unref()
        return await db.run(name, args)
      }
      const watched = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, run } } }
      const onFile = () => at === 'its files' && cut()
      await t.rejects(backup(watched, folder, onFile, cutting.signal), reason)
      t.same(readdirSync(folder), [])
    })
})

for (const [how, harm] of [
  ['missing', (path: string) => rmSync(path)],
  ['damaged', (path: string) => writeFileSync(path, readFileSync(path).reverse())],
] as const)
  t.test(`a backup says which file of the lake is ${how}, and leaves nothing`, async (t) => {
    const pipeline = await lake(t)
    const brand = await newBrand(pipeline)
    await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
    await snapshotAll(pipeline)
    const [file] = await pipeline.postgres.sql<{ path: string }[]>`select path from lake_file limit 1`
    const path = join(pipeline.lakeDir, file?.path ?? '')
    harm(path)
    const folder = join(t.testdir(), 'backup')
    const message = new RegExp(`^${path} is ${how}`)
    await t.rejects(backup(pipeline, folder), { code: 'conflict', message })
    t.same(readdirSync(folder), [])
  })

t.test('a restored backup has the same rows, and goes on from where it stopped', async (t) => {
  const { url, ...source } = await database(t)
  const pipeline = await lake(t, { url, ...source })
  const brand = await newBrand(pipeline)
  await logBatch(pipeline.postgres.sql, [
    { brand_id: brand.id, event_id: 'in the lake', email: 'ann@example.com' },
  ])
  await snapshotAll(pipeline)
  await logBatch(pipeline.postgres.sql, [
    { brand_id: brand.id, event_id: 'in the log only', email: 'bob@example.com' },
  ])
  await logBatch(pipeline.postgres.sql, [
    { brand_id: brand.id, event_id: 'in the log only, too', email: 'bob@example.com' },
  ])
  await pipeline.postgres
    .sql`insert into attribution_behind (brand_id, looked_below) values (${brand.id}, '9'::xid8)`
  await pipeline.postgres.sql`
    insert into served_generation (brand_id, generation, base_path, models_base_path, replaced_at)
    values (${brand.id}, 1, 'gone', 'gone', now()), (${brand.id}, 2, 'there', 'there', null)`
  const folder = mkdtempSync(join(tmpdir(), 'recoup-backup-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await backup(pipeline, folder)
  for (const part of ['postgres', 'lake'])
    t.equal(statSync(join(folder, part)).mode & 0o777, 0o700, 'nobody else reads customers there')

  const target = await database(t)
  const restored = await lake(t, target)
  await t.test('a damaged one, no restored backup, changes nothing', async (t) => {
    const refuses = async (path: string, change: (whole: Buffer) => Buffer, why: RegExp) => {
      const whole = readFileSync(join(folder, path))
      writeFileSync(join(folder, path), change(whole))
      await t.rejects(restore(target.url, restored.lakeDir, folder), { code: 'conflict', message: why }, path)
      writeFileSync(join(folder, path), whole)
      t.same(await target.postgres.sql`select from brand`, [])
    }
    const customers = 'postgres/customer.copy.zst'
    await refuses(
      customers,
      () => Buffer.alloc(0),
      /customer\.copy\.zst .* damaged: 0 of \d+ bytes are there/,
    )
    await refuses(
      customers,
      (whole) => whole.subarray(0, whole.length >> 1),
      /customer\.copy\.zst .* damaged/,
    )
    await refuses(
      customers,
      (whole) => whole.map((byte, at) => (at === whole.length - 9 ? byte ^ 1 : byte)) as Buffer,
      /customer\.copy\.zst .* damaged/,
    )
    await refuses('backup.json', (whole) => whole.subarray(0, -20), /backup\.json is damaged/)
    const document = JSON.parse(readFileSync(join(folder, 'backup.json'), 'utf8'))
    for (const damage of [
      ...Object.keys(document).map((name) => ({ ...document, [name]: undefined })),
      ...[{ tables: null }, { tables: ['brand'] }, { files: [{}] }].map((part) => ({ ...document, ...part })),
      ...[null, [], 'a'],
    ])
      await refuses('backup.json', () => Buffer.from(JSON.stringify(damage)), /backup\.json is damaged/)
    const [lost] = document.files as { path: string }[]
    const [at, away] = [join(folder, 'lake', lost?.path ?? ''), join(folder, 'away')]
    renameSync(at, away)
    const message = `${lost?.path} of the backup is damaged: it is not there.`
    await t.rejects(restore(target.url, restored.lakeDir, folder), { code: 'conflict', message })
    renameSync(away, at)
    for (const [migrations, why] of [
      [[...document.migrations, '99991231'], /The backup has the migration 99991231, this database has not/],
      [document.migrations.slice(1), /This database has the migration \d+, the backup has not/],
    ] as const)
      await refuses('backup.json', () => Buffer.from(JSON.stringify({ ...document, migrations })), why)
    const later = Buffer.from(JSON.stringify({ format: 2 }))
    await refuses('backup.json', () => later, /format 2 is not known here/)
  })
  t.test('within the lake none is made', (t) =>
    t.rejects(backup(pipeline, join(pipeline.lakeDir, 'backups', 'monday')), { code: 'conflict' }),
  )
  await retain(restored)
  await restore(target.url, restored.lakeDir, folder)
  t.match(await retain(restored), { orphans: 0 }, 'it is the lake of the restored service')
  t.same(
    await target.postgres.sql`select from attribution_behind`,
    [],
    'a transaction of the old cluster is no place here',
  )
  t.same(
    await target.postgres.sql`select generation::integer from served_generation`,
    [{ generation: 2 }],
    'files of those that were replaced are in no backup',
  )
  t.same(await sourceRows(restored, brand, 'select event_id from events'), [{ event_id: 'in the lake' }])
  const waiting = await target.postgres.sql`
    select count(distinct xid)::integer as transactions, max(xid) < pg_current_xact_id() as are_earlier
    from event_log where xid > '3'`
  t.same(
    waiting,
    [{ transactions: 2, are_earlier: true }],
    'a transaction of all that waits would be too much for a tick',
  )
  await snapshotAll(restored)
  t.same(await sourceRows(restored, brand, 'select event_id from events order by all'), [
    { event_id: 'in the lake' },
    { event_id: 'in the log only' },
    { event_id: 'in the log only, too' },
  ])
  t.same(await sourceRows(restored, brand, 'select email from customers_source order by all'), [
    { email: 'ann@example.com' },
    { email: 'bob@example.com' },
  ])
  await t.rejects(restore(target.url, restored.lakeDir, folder), /empty/)
})
