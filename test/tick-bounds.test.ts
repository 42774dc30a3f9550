import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createCampaign, setCampaignStatus } from '../src/campaign/saved.ts'
import { createSubjects } from '../src/identity/cache.ts'
import { firstLinesOf, placeOf } from '../src/lake/batches.ts'
import { LineFile } from '../src/lake/line-file.ts'
import { LineWeight } from '../src/lake/line-weight.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { readEvents } from '../src/lake/read-events.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import { TICK_BOUNDS, type TickBounds } from '../src/lake/tick-bounds.ts'
import { withWorkspace } from '../src/lake/workspace.ts'
import type { Brand } from '../src/op.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { failingAt } from './fixtures/killed.ts'
import { lake, logBatch, passed, sourceRows, tick } from './fixtures/lake.ts'

t.capture(process.stderr, 'write')

const event = ({ id }: Brand, pad: number, type = 'page_viewed') => ({
  brand_id: id,
  email: 'a@example.com',
  event_type: type,
  properties: { pad: 'x'.repeat(pad) },
})

/** So many events per tick, until nothing waits. */
async function ticks(pipeline: Pipeline, bounds: Partial<TickBounds> = {}): Promise<number[]> {
  await passed(pipeline)
  const read: number[] = []
  for (;;) {
    const report = await snapshot(pipeline, { ...TICK_BOUNDS, ...bounds })
    read.push(report.read)
    if (!report.more) return read
  }
}

t.test('a tick takes so many bytes of lines, however small they are in the log', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  for (let n = 0; n < 5; n++) await logBatch(sql, [event(brand, 9_000), event(brand, 1_000)])
  t.same(await ticks(pipeline, { bytes: 20_000 }), [4, 4, 2])
  t.equal((await sourceRows(pipeline, brand, 'from events')).length, 10)
})

t.test('a tick takes so many bytes of long lines, and more of others', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  for (let n = 0; n < 3; n++) await logBatch(sql, [event(brand, 20_000), event(brand, 9_000)])
  for (let n = 0; n < 9; n++) await logBatch(sql, [event(brand, 9_000)])
  t.same(await ticks(pipeline, { longBytes: 40_000 }), [4, 11])
  t.equal((await sourceRows(pipeline, brand, 'from events')).length, 15)
})

t.test('a transaction of more events, batches or bytes than a tick takes is one', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  const transaction = (batches: number) =>
    sql.begin(async (tx) => {
      for (let n = 0; n < batches; n++) await logBatch(tx as never, [event(brand, 10), event(brand, 10)])
    })
  for (const bounds of [{ events: 2 }, { batches: 1 }, { compressedBytes: 100 }]) {
    for (const batches of [4, 1, 4]) await transaction(batches)
    t.same(await ticks(pipeline, bounds), [8, 2, 8], JSON.stringify(bounds))
  }
})

t.test('a tick may have more batches than a call has room for arguments', async (t) => {
  const pipeline = await lake(t)
  const now = Date.now()
  const batches = Array.from({ length: 140_000 }, () => ({
    batch_id: randomUUID(),
    xid: '3',
    event_count: 1,
    received_at: new Date(now),
  }))
  const said = { ...event(await newBrand(pipeline), 1), received_at: now, occurred_at: now }
  const rows = await withWorkspace(pipeline, async (duck, folder) => {
    const path = join(folder, 'lines.ndjson')
    writeFileSync(
      path,
      batches.map(({ batch_id }) => `${JSON.stringify({ ...said, event_id: batch_id })}\n`).join(''),
    )
    return (await readEvents(pipeline, duck, path, batches, { tick: 0, subjects: createSubjects() })).rows
  })
  t.equal(rows, 140_000)
})

t.test('a transaction is never split', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await sql.begin(async (tx) => {
    for (let n = 0; n < 3; n++) await logBatch(tx as never, [event(brand, 9_000)])
  })
  await logBatch(sql, [event(brand, 10)])
  t.same(await ticks(pipeline, { bytes: 1_000 }), [3, 1])
})

t.test('a tick that is too much for the memory is halved until it fits', async (t) => {
  const pipeline = { ...(await lake(t)), memoryMb: 100 }
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  for (let n = 0; n < 12; n++) await logBatch(sql, Array(8).fill(event(brand, 255_000)))
  const read = await ticks(pipeline)
  t.ok(read.length > 1, `it was too much: ${read}`)
  t.equal((await sourceRows(pipeline, brand, 'from events')).length, 96)
})

t.test(
  'a tick that was killed is half of it when it is tried again, and one that failed is not',
  async (t) => {
    const pipeline = await lake(t)
    const { sql } = pipeline.postgres
    const brand = await newBrand(pipeline)
    const bounds = { bytes: 40_000 }
    const waiting = async () => {
      for (let n = 0; n < 8; n++) await logBatch(sql, [event(brand, 10_000)])
      await passed(pipeline)
    }
    await waiting()
    const failing = (staysAway: boolean) => {
      const read = [
        'lake_state_read',
        'schema_unknown',
        ...['event_log_hold', 'export_batches'],
        ...['event_log_hold', 'export_payloads'],
      ]
      const before = [...read, 'lake_state_attempt', ...['event_log_hold', 'export_next_batch']]
      return failingAt(pipeline, before.length + 1, { staysAway })
    }
    await t.rejects(snapshot(failing(false), { ...TICK_BOUNDS, ...bounds }), /no answer/)
    t.same(await ticks(pipeline, bounds), [4, 4])
    await waiting()
    await t.rejects(snapshot(failing(true), { ...TICK_BOUNDS, ...bounds }), /no answer/)
    t.same(await ticks(pipeline, bounds), [2, 4, 2])
    t.equal((await sourceRows(pipeline, brand, 'from events')).length, 16)
  },
)

t.test('what the lake refuses is kept with its text, however much it is', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  const nobody = (n: number) => JSON.stringify({ brand_id: brand.id, n, pad: 'x'.repeat(2_000) })
  const refused = Array.from({ length: 5_200 }, (_, n) => nobody(n))
  const torn = '{"brand_id": é'
  await logBatch(sql, [...refused.slice(0, 2_600), event(brand, 10), torn, ...refused.slice(2_600)])
  t.match(await tick(pipeline), { dead: 5_201, rows: { events: 1 } })
  const rows = await sql`select convert_from(payload, 'UTF8') as payload from dead_event order by line`
  t.same(
    rows.map(({ payload }) => payload),
    [...refused.slice(0, 2_600), torn, ...refused.slice(2_600)],
  )
  t.match(await sql`select reason from dead_event where line = 2601`, [{ reason: /not a JSON object/ }])
})

t.test('events that campaigns wait for are kept in their order, however much they are', async (t) => {
  const pipeline = await lake(t)
  const { postgres } = pipeline
  const brand = await newBrand(pipeline)
  const own = postgres.forBrand(brand.id)
  const definition = { trigger_event: 'checkout_abandoned', action_type: 'agent' } as const
  const { id } = await createCampaign(own, definition, 'test')
  await setCampaignStatus(own, id, 'active', new Date())
  const sent = Array.from({ length: 5_100 }, (_, n) => ({
    ...event(brand, n % 100 ? 10 : 200_000, 'checkout_abandoned'),
    event_id: String(n),
  }))
  await logBatch(postgres.sql, sent)
  await ticks(pipeline)
  const kept = await postgres.sql`
    select event_id, length(properties::text) as length from trigger_event order by event_id::int`
  t.same(
    kept.map(({ event_id, length }) => [event_id, length]),
    sent.map(({ event_id, properties }) => [event_id, JSON.stringify(properties).length]),
  )
})

t.test('of text, lines beyond 16 KB are long ones, in whatever parts it comes', async (t) => {
  const line = (length: number) => `${'x'.repeat(length - 1)}\n`
  const weigh = (...lengths: number[]) => {
    const text = Buffer.from(lengths.map(line).join(''))
    const [whole, ...others] = [text.length || 1, 1_000, 16_384, 50_001].map((bytes) => {
      const weight = new LineWeight()
      for (let at = 0; at < text.length; at += bytes) weight.add(text.subarray(at, at + bytes))
      return [weight.bytes, weight.longBytes]
    })
    for (const parts of others) t.same(parts, whole)
    return whole
  }
  t.same(weigh(), [0, 0])
  t.same(weigh(16_384, 16_384), [32_768, 0])
  t.same(weigh(16_385), [16_385, 16_385])
  t.same(weigh(1, 5_000, 20_000, 3, 100_000, 16_000, 16_000), [157_004, 120_000])
})

t.test('lines of a file are found by their numbers wherever its chunks end', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'recoup-lines-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'lines')
  const lines = [3, 0, 1_500_000, 2_000_000, 1, 70].map((length, n) => String(n).repeat(length))
  for (const end of ['\n', '']) {
    writeFileSync(path, `${lines.join('\n')}${end}`)
    const file = await LineFile.read(path)
    t.equal(file.lines, lines.length)
    t.same((await file.texts([5, 2, 1])).map(String), [lines[5], lines[2], lines[1]])
    await file.copy(`${path}.copy`, 1, 5, new Set([4, 2]))
    t.equal(readFileSync(`${path}.copy`, 'utf8'), ['', '{}', lines[3], '{}', ''].join('\n'))
  }
})

t.test('the batch of a line is found among a million by few looks', async (t) => {
  const batches = Array.from({ length: 1_000_000 }, (_, n) => ({
    batch_id: String(n),
    event_count: 1 + (n % 3),
  }))
  const firstLines = firstLinesOf(batches)
  let looks = 0
  const looked = new Proxy(firstLines, {
    get: (lines, key) => {
      looks++
      return Reflect.get(lines, key)
    },
  })
  t.same(placeOf(firstLines[7] ?? 0, batches, looked), { batch_id: '7', line: 0 })
  t.same(placeOf((firstLines[8] ?? 0) + 2, batches, looked), { batch_id: '8', line: 2 })
  t.same(placeOf(0, batches, looked), { batch_id: '0', line: 0 })
  t.ok(looks < 200, `${looks} looks`)
})
