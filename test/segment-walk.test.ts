import t from 'tap'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import { cdpSegmentOps } from '../src/ops/cdp-segments.ts'
import { segmentMemberOps } from '../src/ops/segment-members.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { createSegment, updateSegment } from '../src/segment/saved.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { lake, lakeOf, logBatch } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'

setLogLevel('error')

/** More members than some of DuckDB's vectors hold; `make test-deep` takes a million customers. */
const CUSTOMERS = Number(process.env.WALK_CUSTOMERS ?? 8_000)
/** Generations that come during a walk, each after this share of it. */
const GENERATIONS = 4
const DAYS = 20
const DAY = 86_400_000
const START = Date.parse('2026-03-01T00:00:00Z')

const random = randomSource(t)
const pipeline = await lake(t)
const { sql } = pipeline.postgres
const { call, key } = await api(t, pipeline, [...segmentMemberOps, ...cdpSegmentOps], {
  lake: lakeOf(t, pipeline),
})
const brand = await newBrand(pipeline, { features: ['cdp'] })
const as = await key(brand, ['segments:read'])
const db = pipeline.postgres.forBrand(brand.id)
const definition = { source: 'product_events', rule: { op: 'count-over-window', window: { days: DAYS / 2 } } }
const { id: segment } = await createSegment(db, { name: 'Lately', definition, createdBy: 'test' })

/** Views of a product by customers of the store, or by those who are merged into one. */
async function view(at: number, who: readonly object[]): Promise<void> {
  for (let from = 0; from < who.length; from += 50_000)
    await logBatch(
      sql,
      who.slice(from, from + 50_000).map((one) => ({
        ...{ brand_id: brand.id, event_type: 'product_viewed', occurred_at: at, received_at: at },
        ...one,
      })),
    )
}

let day = 0
/** The next day: some come for the first time, some stay, the longest gone leave for good, and two turn out to be one. */
async function nextDay(incremental: boolean): Promise<void> {
  const at = START + day * DAY
  const share = CUSTOMERS / DAYS
  const came = Array.from({ length: share }, (_, n) => ({ store_customer_id: `${day * share + n}` }))
  const stays = Math.min(day, DAYS / 2 - 1)
  const back = stays
    ? random.list(share / 4, share / 4, () => (day - stays) * share + random.below(stays * share))
    : []
  await view(at, [
    ...came,
    { email: `guest${day}@example.com` },
    ...back.map((n) => ({ store_customer_id: `${n}` })),
    ...(day
      ? [{ store_customer_id: `${random.below(day * share)}`, email: `guest${day - 1}@example.com` }]
      : []),
  ])
  day++
  if (incremental || day === DAYS / 2) await refresh(incremental)
}

async function refresh(incremental: boolean): Promise<void> {
  await snapshotAll(pipeline)
  // Every other day as after an edit of a rule: members of everyone, over customers that are carried on.
  const edited = incremental && day % 2 === 0
  if (edited) await updateSegment(db, { id: segment, definition, createdBy: 'test' })
  const { full } = await refreshBrand(pipeline, brand.id, {
    asOf: new Date(START + (day - 1) * DAY),
    ...(incremental ? { smallRows: 0, mostTouched: 9 } : {}),
    ...(edited ? { parts: ['segments'] } : {}),
  })
  if (full === (incremental && !edited)) throw new Error('the refresh went another way')
}

interface Page {
  ids: string[]
  cursor: string | null
  generation?: number
}

const restPage = async (limit: number, cursor: string): Promise<Page> => {
  const { status, body } = await call(`GET /v1/segments/${segment}/members?limit=${limit}${cursor}`, { as })
  if (status !== 200) throw new Error(JSON.stringify(body))
  const { data, next_cursor, generation } = body
  return { ids: data.map((row: { customer_id: string }) => row.customer_id), cursor: next_cursor, generation }
}

const exportPage = async (limit: number, cursor: string): Promise<Page> => {
  const { status, headers, text } = await call(
    `GET /cdp/segments/${segment}/export?limit=${2 * limit}${cursor}`,
    { as },
  )
  if (status !== 200) throw new Error(text)
  const lines = text.split('\n').slice(0, -1)
  return {
    ids: lines.map((line) => JSON.parse(line).id),
    cursor: (headers['x-next-cursor'] as string | undefined) ?? null,
  }
}

type Read = typeof restPage

/** All ids, page by page, each walk at its own pace. */
async function* walked(read: Read, limit: number): AsyncGenerator<string[]> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page = await read(limit, cursor && `&cursor=${cursor}`)
    yield page.ids
    cursor = page.cursor
  }
}

const LIMIT = Math.min(5_000, Math.ceil(CUSTOMERS / 40))

async function members(read: Read): Promise<string[]> {
  const all = []
  for await (const ids of walked(read, LIMIT)) all.push(...ids)
  return all
}

const READS: Record<string, Read> = { 'members over REST': restPage, 'the export': exportPage }

/** Every way to walk, in turns of a page each, while `between` is called after each turn. */
async function walks(between: (turn: number) => Promise<void>): Promise<Record<string, string[]>> {
  const open = Object.entries(READS).map(([name, read]) => ({
    name,
    seen: [] as string[],
    pages: walked(read, LIMIT),
  }))
  const waiting = new Set(open)
  for (let turn = 0; waiting.size > 0; turn++) {
    for (const walk of waiting) {
      const { value, done } = await walk.pages.next()
      if (done) waiting.delete(walk)
      else walk.seen.push(...value)
    }
    await between(turn)
  }
  return Object.fromEntries(open.map(({ name, seen }) => [name, seen]))
}

while (day < DAYS / 2) await nextDay(false)

t.test('a walk of all members sees each once', async (t) => {
  for (const [name, read] of Object.entries(READS)) {
    const ids = await members(read)
    t.equal(new Set(ids).size, ids.length, name)
    t.ok(ids.length > CUSTOMERS / 2 - DAYS, `${ids.length} members`)
  }
})

/** A new generation after every so many turns, while there are to be more. */
const changing = (after: (generation: number) => Promise<void> = async () => {}) => {
  let made = 0
  return async () => {
    if (made === GENERATIONS) return
    made++
    await nextDay(true)
    await after(made)
  }
}

t.test('a walk while generations change sees those of the one that it began in', async (t) => {
  const before = new Set(await members(restPage))
  const seen = await walks(changing())
  const after = new Set(await members(restPage))
  t.ok(
    [...before].some((id) => !after.has(id)) && [...after].some((id) => !before.has(id)),
    'some left, some came',
  )
  for (const [name, ids] of Object.entries(seen)) {
    t.equal(new Set(ids).size, ids.length, `${name}: none twice`)
    t.same([ids.length, ids.filter((id) => !before.has(id))], [before.size, []], name)
  }
})

t.test('a walk whose generation is gone sees each of both generations once', async (t) => {
  const before = new Set(await members(restPage))
  // Who leaves and comes back is no member of a generation in between, in which the walk may pass them.
  let stayed = before
  const seen = await walks(
    changing(async (generation) => {
      if (generation % 2)
        await sql`update served_generation set replaced_at = now() - interval '25 hours'
          where brand_id = ${brand.id} and replaced_at is not null`
      const now = new Set(await members(restPage))
      stayed = new Set([...stayed].filter((id) => now.has(id)))
    }),
  )
  t.ok(stayed.size > before.size / 2 && stayed.size < before.size, 'most stayed')
  for (const [name, ids] of Object.entries(seen)) {
    t.equal(new Set(ids).size, ids.length, `${name}: none twice`)
    const found = new Set(ids)
    t.same(
      [...stayed].filter((id) => !found.has(id)),
      [],
      `${name}: none who stayed is missing`,
    )
    t.ok(ids.length > before.size / 2, name)
  }
})
