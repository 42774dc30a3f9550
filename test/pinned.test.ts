import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eraseDue } from '../src/connect/erase/due.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { compactStaging } from '../src/lake/compact-staging.ts'
import { type Open, openLakes } from '../src/lake/reader.ts'
import { RELATIONS, type RelationName, sourceName } from '../src/lake/relations.ts'
import { openServed } from '../src/lake/served.ts'
import { OWN_FILE_ROWS } from '../src/lake/stage.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Lake, Pin, Reader } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { openReading } from '../src/segment/reading.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, lakeOf, logBatch, tick } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { client, walk } from './fixtures/shop.ts'

setLogLevel('error')

const DAY = 86_400_000
const MINUTE = 60_000
const PEOPLE = 24
const STEPS = 6
const AS_OF = new Date(Date.now() - 10 * DAY)
const PAST = `GET /v1/insights/at-risk?as_of=${AS_OF.toISOString()}`

const random = randomSource(t)
const db = await database(t)
const pipeline = { ...(await lake(t, db)), threads: 1 }
const { sql } = db.postgres
const made = await api(t, db, OPS, { lake: lakeOf(t, pipeline, { freshMs: 0 }) })

/** Puts an order that may be there already: then it is another's, at another time. */
const putOrder = ({ id }: Brand, externalId: string, storeCustomerId: string, daysAgo: number) => sql`
  insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, cancelled_at,
    created_at, updated_at)
  values (${id}, ${externalId}, gen_random_uuid(),
    (select subject from identifier where brand_id = ${id} and kind = 'store_customer_id' and value = ${storeCustomerId}),
    ${random.pick(['complete', 'complete', 'cancelled'])}, 'paid', 'USD', ${1 + random.below(50)},
    ${new Date(AS_OF.getTime() + random.pick([-1, 1, 20]) * DAY)},
    ${new Date(AS_OF.getTime() - daysAgo * DAY)}, now())
  on conflict (brand_id, external_id) do update
  set subject = excluded.subject, state = excluded.state, total = excluded.total,
    cancelled_at = excluded.cancelled_at, created_at = excluded.created_at`

/** Orders of the past that come late or anew, a new visitor, and an address by which two profiles are one. */
async function change(brand: Brand): Promise<void> {
  for (let n = 6; n > 0; n--)
    await putOrder(brand, `o${random.below(3 * PEOPLE)}`, `${random.below(PEOPLE)}`, random.below(300))
  await logBatch(sql, [
    { brand_id: brand.id, anonymous_id: `v${random.below(1_000)}` },
    { brand_id: brand.id, email: `c${random.below(PEOPLE)}@example.com` },
    {
      brand_id: brand.id,
      store_customer_id: `${random.below(PEOPLE)}`,
      email: `c${random.below(PEOPLE)}@example.com`,
    },
  ])
  // Profiles and merges that one makes are in the lake with the next.
  await tick(pipeline)
  await tick(pipeline)
}

async function filledBrand(): Promise<Brand> {
  const brand = await makeBrand(db, { features: ['cdp'] })
  await logBatch(
    sql,
    Array.from({ length: PEOPLE }, (_, n) => ({ brand_id: brand.id, store_customer_id: `${n}` })),
  )
  await tick(pipeline)
  for (let n = 0; n < 2 * PEOPLE; n++) await putOrder(brand, `o${n}`, `${n % PEOPLE}`, 100 + random.below(50))
  await change(brand)
  return brand
}

const refreshed = async ({ id }: Brand): Promise<void> => {
  await refreshBrand(pipeline, id, { smallRows: 0 })
  await compactBrand(pipeline, id, true)
}

const SOURCES = (Object.keys(RELATIONS) as RelationName[]).map(sourceName)

/** Of all sources, and of what lists are made of. */
const rowsOf = (reader: Reader) =>
  Promise.all([...SOURCES, 'customers', 'churn'].map((name) => reader.rows(`from ${name} order by all`)))

t.test('pinned sources stay as they were, whatever comes and is compacted', async (t) => {
  const brand = await filledBrand()
  // Of a small brand mutable rows are copied, and nothing that is published is carried on.
  const [small, large] = [undefined, 0].map((smallRows) => {
    const open: Open = (one, asked) => openReading(pipeline, one, asked.past, { ...asked, smallRows })
    const lakes = openLakes(openServed(pipeline), open, { freshMs: 0 })
    t.teardown(() => lakes.close())
    return lakes.forBrand(brand)
  }) as [Lake, Lake]
  const seen: { pin: Pin; rows: unknown[] }[] = []
  for (let step = 0; step < STEPS; step++) {
    const reader = await random.pick([small, large]).sources(random.pick([undefined, AS_OF, new Date()]))
    seen.push({ pin: reader.pin as Pin, rows: await rowsOf(reader) })
    await change(brand)
    if (step === STEPS - 1 || (step > 1 && random.chance(0.6)))
      await refreshBrand(pipeline, brand.id, { smallRows: 0, asOf: new Date(Date.now() - MINUTE) })
    if (step === STEPS - 1 || random.chance(0.6)) await compactBrand(pipeline, brand.id, true)
    if (random.chance(0.3)) await compactStaging(pipeline)
    const earlier = random.pick(seen)
    for (const [size, its] of Object.entries({ small, large })) {
      const again = await its.pinned(earlier.pin)
      t.same(again.pin, earlier.pin)
      t.same(await rowsOf(again), earlier.rows, `tick ${earlier.pin.tick} after step ${step}, ${size}`)
    }
  }
  const [folds] = await sql<{ some: boolean }[]>`
    select count(*) > 0 as some from lake_file
    where brand_id = ${brand.id} and relation = 'orders' and retired_at is not null`
  t.ok(folds?.some, 'versions were folded away')
})

t.test('a pin holds when the first rows of a relation come after it, however many', async (t) => {
  const brand = await filledBrand()
  const lakes = openLakes(
    openServed(pipeline),
    (one, asked) => openReading(pipeline, one, asked.past, asked),
    {
      freshMs: 0,
    },
  )
  t.teardown(() => lakes.close())
  const pin = (await lakes.forBrand(brand).sources()).pin as Pin
  await sql`
    insert into refund (brand_id, external_id, id, currency_code, total, created_at)
    select ${brand.id}, n::text, gen_random_uuid(), 'USD', 1, now() from generate_series(1, ${OWN_FILE_ROWS}::int) as n`
  await tick(pipeline)
  t.match(
    await sql`select level, rows from lake_file where brand_id = ${brand.id} and relation = 'refunds'`,
    [{ level: 1, rows: OWN_FILE_ROWS }],
  )
  const again = await lakes.forBrand(brand).pinned(pin)
  t.same(again.pin, pin)
  t.same(await again.rows(`from ${sourceName('refunds')}`), [])
})

interface Row {
  customer_id: string
  at_risk_score: number
  ltv: string
  contact_id?: string | null
}

/** Contacts are those of now. */
const bare = (rows: readonly Row[]) => rows.map(({ contact_id: _, ...row }) => row)
const idsOf = (rows: readonly Row[]) => rows.map(({ customer_id }) => customer_id)

for (const [what, route, isRefreshed] of [
  ['as of a past instant', PAST, true],
  ['before the first refresh', 'GET /v1/insights/at-risk?', false],
] as const)
  t.test(`a walk ${what} gives the rows of its beginning once while orders and merges come`, async (t) => {
    const brand = await filledBrand()
    if (isRefreshed) await refreshed(brand)
    const ask = client(t, made, await made.key(brand, ['customers:read']))
    const expected = await walk<Row>(ask, `${route}&limit=100`)
    t.ok(expected.length > 6)
    const between = async (page: number) => {
      if (page > 2) return
      await change(brand)
      await refreshed(brand)
    }
    t.same(bare(await walk<Row>(ask, `${route}&limit=2`, { between })), bare(expected))
    t.strictNotSame(idsOf(await walk<Row>(ask, `${route}&limit=100`)), idsOf(expected), 'it would be another')
  })

/** A first page, and the cursor of the next as it would be with another position. */
async function begun(t: Test, brand: Brand) {
  const ask = client(t, made, await made.key(brand, ['customers:read']))
  const first = (await ask(`${PAST}&limit=2`)).body as { data: Row[]; next_cursor: string }
  const binding = { endpoint: 'list_at_risk_customers', brand: brand.id, filters: { as_of: AS_OF } }
  const position = made.cursors.open<{ pin: Pin }>(binding, first.next_cursor)
  const last = first.data[1] as Row
  const isBehind = (row: Row) =>
    last.at_risk_score - row.at_risk_score ||
    Number(last.ltv) - Number(row.ltv) ||
    (row.customer_id > last.customer_id ? 1 : -1)
  return {
    seal: (pin: Partial<Pin>) =>
      made.cursors.seal(binding, { ...position, pin: { ...position.pin, ...pin } }),
    rest: async (cursor = first.next_cursor) =>
      idsOf((await ask(`${PAST}&limit=100&cursor=${cursor}`)).body.data),
    /** What the newest list has behind the first page. */
    newest: async () => idsOf((await walk<Row>(ask, `${PAST}&limit=100`)).filter((row) => isBehind(row) > 0)),
  }
}

t.test('a walk of the past goes on in what is newest a day later, and where files are gone', async (t) => {
  const brand = await filledBrand()
  await refreshed(brand)
  const { rest, newest, seal } = await begun(t, brand)
  const expected = await rest()
  for (let n = 0; n < 4; n++) await change(brand)
  await refreshed(brand)
  const later = await newest()
  t.strictNotSame(later, expected)
  const ago = (hours: number) => seal({ at: new Date(Date.now() - hours * 3_600_000).toISOString() })
  t.same(await rest(ago(23)), expected)
  t.same(await rest(ago(25)), later)
  const retired = await sql<{ path: string }[]>`
    select path from lake_file where brand_id = ${brand.id} and relation = 'orders' and retired_at is not null`
  for (const { path } of retired) await rm(join(pipeline.lakeDir, path))
  t.same(await rest(), later, 'as in a lake that was restored')
})

t.test('a walk of the past shows nobody who was erased meanwhile', async (t) => {
  const brand = await filledBrand()
  await refreshed(brand)
  const { rest, newest } = await begun(t, brand)
  const [profileId = ''] = await rest()
  for (let n = 0; n < 4; n++) await change(brand)
  await refreshed(brand)
  await db.postgres.forBrand(brand.id).tx((tx) => requestErasure(tx, { profileId }, 'a test'))
  await eraseDue(pipeline, { brandId: brand.id, patience: { readersMs: 0, writersMs: 0 } })
  t.same(await rest(), await newest())
  t.notOk((await rest()).includes(profileId))
})
