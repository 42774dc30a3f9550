import t from 'tap'
import { undoMerge } from '../src/identity/merge.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import { segmentMemberOps } from '../src/ops/segment-members.ts'
import { segmentQuestionOps } from '../src/ops/segment-questions.ts'
import { segmentOps } from '../src/ops/segments.ts'
import { turnsOf, waitingAfter } from '../src/segment/cadence.ts'
import { parseDefinition } from '../src/segment/definition.ts'
import type { SegmentRow } from '../src/segment/evaluate.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { type Line, lake, lakeOf, logBatch } from './fixtures/lake.ts'

setLogLevel('error')

const pipeline = await lake(t)
const { sql } = pipeline.postgres
const lakeFor = lakeOf(t, pipeline)
const { call, signIn } = await api(t, pipeline, [...segmentOps, ...segmentMemberOps, ...segmentQuestionOps], {
  lake: lakeFor,
  now: () => new Date('2026-05-02T00:00:00Z'),
})

const NAMES = ['Visitors', 'Customers', 'Repeat Customers', 'Active Subscribers']
const BY_MODELS = ['High Value', 'At Risk', 'Churned']

const asOf = (time: string) => new Date(`2026-05-01T${time}Z`)

async function store() {
  const brand = await newBrand(pipeline, { features: ['cdp'], builtIns: true })
  const as = signIn(brand)
  const request = (route: string, body?: object) => call(route, { as, body })
  const { body } = await request('GET /v1/segments')
  const ids = new Map<string, string>(body.data.map(({ name, id }: never) => [name, id]))
  return {
    brand,
    request,
    id: (name: string) => ids.get(name) as string,
    async record(...lines: Omit<Line, 'brand_id'>[]) {
      await logBatch(
        sql,
        lines.map((line) => ({ ...line, brand_id: brand.id })),
      )
      await snapshotAll(pipeline)
    },
    refresh: (time: string) => refreshBrand(pipeline, brand.id, { asOf: asOf(time) }),
    /** Of what changed alone. */
    stepTo: (time: string) =>
      refreshBrand(pipeline, brand.id, { asOf: asOf(time), smallRows: 0, mostTouched: 9 }),
    async audience(name: string) {
      return (await request(`GET /v1/segments/${ids.get(name)}/audience`)).body
    },
  }
}

const EARLY = Date.parse('2026-04-30T00:00:00Z')
const seen = (who: Partial<Line>) => ({ ...who, occurred_at: EARLY, received_at: EARLY })

t.test('what a refresh leaves for a later one is named with the time from which that may come', async (t) => {
  const { brand, record, refresh } = await store()
  await record(seen({ email: 'ann@example.com' }))
  const waiting = (time: string) => waitingAfter(pipeline, brand.id, asOf(time))
  await refresh('10:00:00')
  t.same(await waiting('10:00:00'), [], 'at first all are evaluated')
  await record(seen({ email: 'bob@example.com' }))
  await refresh('10:15:00')
  const hourly = (await waiting('10:15:00')).filter(({ name }) => NAMES.includes(name))
  t.same(
    hourly.map(({ name, next_from }) => [name, next_from]).sort(),
    NAMES.map((name) => [name, asOf('10:52:30')]).sort(),
  )
})

t.test('every brand has its built-in segments, which nobody can change', async (t) => {
  const { request, id } = await store()
  const { body } = await request('GET /v1/segments')
  t.same(body.data.map(({ name }: { name: string }) => name).sort(), [...NAMES, ...BY_MODELS].sort())
  for (const name of [...NAMES, ...BY_MODELS]) {
    const { body } = await request(`GET /v1/segments/${id(name)}`)
    t.match(
      body,
      { created_by: 'built_in', version: 1, schema_version: 1, definition: { rule: Object } },
      name,
    )
    const rule = { source: 'customer_profile', rule: { field: 'orders_count', op: '>', value: 9 } }
    const changed = await request(`PATCH /v1/segments/${id(name)}`, { definition: rule })
    t.match(changed, { status: 409, body: { error: { code: 'conflict' } } })
    t.equal((await request(`POST /v1/segments/${id(name)}/archive`)).status, 409)
    const same = await request('POST /v1/segments', { name: ` ${name.toLowerCase()} `, definition: rule })
    t.equal(same.status, 409, `${name} is taken`)
  }
})

t.test('they came into being together, and a list that is walked has each of them once', async (t) => {
  const { request } = await store()
  for (const limit of [1, 3]) {
    const walked: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await request(`GET /v1/segments?limit=${limit}${cursor && `&cursor=${cursor}`}`)
      walked.push(...body.data.map(({ name }: { name: string }) => name))
      cursor = body.next_cursor
    }
    t.same(walked.sort(), [...NAMES, ...BY_MODELS].sort(), `${limit} at a time`)
  }
})

t.test('those that a rule can say have a definition that anyone may write', async (t) => {
  const { request, id } = await store()
  for (const name of ['Customers', 'Repeat Customers', 'Active Subscribers']) {
    const { definition } = (await request(`GET /v1/segments/${id(name)}`)).body
    const copy = await request('POST /v1/segments', { name: `My ${name}`, definition })
    t.equal(copy.status, 200, name)
  }
})

t.test('only the service says built_in', async (t) => {
  const { request, id } = await store()
  for (const name of ['Visitors', ...BY_MODELS]) {
    const { definition } = (await request(`GET /v1/segments/${id(name)}`)).body
    t.match(definition.rule, { field: 'built_in', op: '=' })
    const message = /^definition\.rule\.field: "built_in" is not a field of customer_profile/
    const wanted = { status: 400, body: { error: { message } } }
    t.match(await request('POST /v1/segments', { name: 'Mine', definition }), wanted)
    t.match(await request('POST /v1/segments/estimate', { definition }), wanted)
  }
})

t.test('Visitors are all profiles, of whom rules cover those who can be reached', async (t) => {
  const { id, record, refresh, request, audience } = await store()
  await record(seen({ anonymous_id: 'v1' }), seen({ anonymous_id: 'v2' }), seen({ email: 'a@example.com' }))
  const inside = await request('POST /v1/segments', {
    name: 'Visitors whom rules cover',
    definition: {
      source: 'customer_profile',
      rule: { op: 'member-of-segment', segmentId: id('Visitors') },
    },
  })
  await refresh('00:00:00')
  t.equal((await audience('Visitors')).member_count, 3)
  t.equal((await request(`GET /v1/segments/${id('Visitors')}/members`)).body.data.length, 3)
  t.equal((await request(`GET /v1/segments/${inside.body.id}/audience`)).body.member_count, 1)
  const estimate = await request('POST /v1/segments/estimate', { segment_id: id('Visitors') })
  t.match(estimate, { status: 200, body: { count: 3 } })
  t.match((await request(`GET /v1/segments/${id('Visitors')}/sql`)).body.sql, /from customers$/)
})

t.test('they are evaluated hourly and keep their members in between', async (t) => {
  const { brand, record, refresh, audience, request, id } = await store()
  const counts: number[] = []
  for (const [n, minute] of ['00:00', '00:15', '00:30', '00:45', '01:00', '01:15'].entries()) {
    await record(seen({ anonymous_id: `v${n}` }))
    await refresh(`${minute}:00`)
    const { member_count, evaluation_status } = await audience('Visitors')
    t.equal(evaluation_status, 'evaluated')
    counts.push(member_count)
  }
  t.same(counts, [1, 1, 1, 1, 5, 5])
  const { data } = (await request(`GET /v1/segments/${id('Visitors')}/history`)).body
  t.same([...new Set(data.slice(0, 4).map(({ reason }: { reason: string }) => reason))], ['data_changed'])
  const [row] = await sql`select next_change_at from lake_brand where brand_id = ${brand.id}`
  t.same(row?.next_change_at, new Date('2026-05-01T01:52:30Z'), 'the brand is looked at when its turn comes')
})

t.test('whoever is merged between two turns of one leaves it at the later', async (t) => {
  const { record, stepTo, audience, request, id } = await store()
  const guest = { email: 'a@example.com' }
  await record(seen(guest), seen({ store_customer_id: '9' }))
  await stepTo('00:00:00')
  t.equal((await audience('Visitors')).member_count, 2)
  await record(seen({ ...guest, store_customer_id: '9' }))
  t.notOk((await stepTo('00:15:00')).full)
  t.equal((await audience('Visitors')).member_count, 1, 'it waits, and shows nobody who is gone')
  await record(seen({ anonymous_id: 'v' }))
  t.notOk((await stepTo('01:15:00')).full)
  t.equal((await audience('Visitors')).member_count, 2, 'one left, one came')
  const { data } = (await request(`GET /v1/segments/${id('Visitors')}/history`)).body
  t.same(
    data
      .slice(0, 2)
      .map(({ action }: { action: string }) => action)
      .sort(),
    ['entered', 'exited'],
  )
})

t.test(
  'who is back by an undone merge is a member still, before the turn of the segment comes',
  async (t) => {
    const { brand, record, stepTo, id } = await store()
    const visitors = async () => {
      const reader = await lakeFor(brand).served()
      const [row] =
        await sql`select ordinal from segment where id = ${id('Visitors')} and brand_id = ${brand.id}`
      return await reader?.rows(`from members where segment = ${row?.ordinal} order by customer`)
    }
    await record(seen({ email: 'a@example.com' }), seen({ store_customer_id: '9' }))
    await stepTo('00:00:00')
    const before = await visitors()
    t.equal(before?.length, 2)
    await record(seen({ email: 'a@example.com', store_customer_id: '9' }))
    await stepTo('00:15:00')
    t.equal((await visitors())?.length, 1)
    const [merge] = await sql`select id from merge where brand_id = ${brand.id}`
    await undoMerge(pipeline.postgres.forBrand(brand.id), merge?.id, 'test')
    await snapshotAll(pipeline)
    t.notOk((await stepTo('00:30:00')).full)
    t.same(await visitors(), before)
  },
)

for (const way of ['refresh', 'stepTo'] as const)
  t.test(`a segment that refers to one keeps who is merged between two turns of that: ${way}`, async (t) => {
    const { brand, record, request, id, ...ways } = await store()
    const guest = { email: 'a@example.com' }
    await record(seen(guest), seen({ store_customer_id: '9' }))
    await sql`
      insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total,
        refunded_total, created_at, updated_at)
      select brand_id, 'o1', gen_random_uuid(), subject, 'complete', 'paid', 'USD', 10, 0, ${new Date(EARLY)}, now()
      from identifier where brand_id = ${brand.id} and kind = 'email'`
    await snapshotAll(pipeline)
    const rule = { op: 'member-of-segment', segmentId: id('Customers') }
    const definition = { source: 'customer_profile', rule }
    const { body: made } = await request('POST /v1/segments', { name: 'Among', definition })
    const history = async () => {
      const { data } = (await request(`GET /v1/segments/${made.id}/history`)).body
      return data.map(({ action, reason }: Record<string, string>) => `${action}: ${reason}`).reverse()
    }
    await ways[way]('00:00:00')
    const entered = await history()
    t.equal(entered.length, 1)
    await record(seen({ ...guest, store_customer_id: '9' }))
    await ways[way]('00:15:00')
    const merged = [...entered, ...(await history()).slice(1)]
    t.same([...merged.slice(1)].sort(), ['entered: merged', 'exited: merged'])
    for (const time of ['00:30:00', '00:45:00', '01:15:00', '01:30:00']) {
      await record({
        store_customer_id: '9',
        event_type: 'page_viewed',
        occurred_at: EARLY,
        received_at: EARLY,
      })
      await ways[way](time)
      t.same(await history(), merged, time)
    }
  })

t.test('in a quiet brand only those that saw its last refresh are as good as evaluated', async (t) => {
  const { brand, record, refresh, audience } = await store()
  await record(seen({ email: 'a@example.com' }))
  await refresh('00:00:00')
  const quiet = async () => {
    await sql`update lake_brand set next_change_at = 'infinity' where brand_id = ${brand.id}`
    const [clock] = await sql`select now() as now`
    await pipeline.postgres.pipeline.run('brands_to_refresh', [clock?.now, 60, null])
    return Date.parse((await audience('Visitors')).evaluated_at)
  }
  const bumped = await quiet()
  t.ok(bumped > Date.parse('2026-05-02T00:00:00Z'), 'nothing changed')
  const behind = new Date('2026-05-01T00:00:00Z')
  await sql`update segment set evaluated_at = ${behind} where brand_id = ${brand.id} and every_minutes is not null`
  await record(seen({ email: 'b@example.com' }))
  await refresh('00:15:00')
  t.equal(await quiet(), behind.getTime(), 'it waits for its turn, which is to come')
})

t.test('those of the models are who the models say, of those whom rules cover', async (t) => {
  const { brand, record, refresh, audience, request, id } = await store()
  // Customer n ordered n times, 10 days apart, the last time n × n days ago.
  const buyers = Array.from({ length: 12 }, (_, n) => n + 1)
  await record(...buyers.map((n) => seen({ store_customer_id: `${n}` })), seen({ anonymous_id: 'v1' }))
  const orders = buyers.flatMap((n) =>
    Array.from({ length: n }, (_, k) => ({ who: `${n}`, days: n * n + k * 10, total: n * 10 })),
  )
  for (const [n, { who, days, total }] of orders.entries())
    await sql`
      insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total,
        refunded_total, created_at, updated_at)
      select brand_id, ${`o${n}`}, gen_random_uuid(), subject, 'complete', 'paid', 'USD', ${total}, 0,
        ${new Date(EARLY - days * 86_400_000)}, now()
      from identifier where brand_id = ${brand.id} and kind = 'store_customer_id' and value = ${who}`
  await snapshotAll(pipeline)
  const { failed } = await refresh('00:00:00')
  t.same(failed, [])
  const served = await lakeFor(brand).served()
  const asked: Record<string, string> = {
    'High Value': `from rfm where tier in ('Champions', 'Loyal Customers')`,
    'At Risk': 'from churn where at_risk',
    Churned: 'from churn where at_risk_score >= 4',
  }
  const sizes: Record<string, number> = {}
  for (const [name, from] of Object.entries(asked)) {
    const wanted = await served?.rows<{ customer_id: string }>(
      `select customer_id ${from} order by customer_id`,
    )
    const { data } = (await request(`GET /v1/segments/${id(name)}/members`)).body
    t.same(
      data.map(({ customer_id }: { customer_id: string }) => customer_id),
      wanted?.map(({ customer_id }) => customer_id),
      name,
    )
    sizes[name] = data.length
    t.match(await audience(name), { evaluation_status: 'evaluated', member_count: data.length })
    const estimate = await request('POST /v1/segments/estimate', {
      segment_id: id(name),
      as_of: '2026-05-01T00:00:00Z',
    })
    t.match(estimate, { status: 200, body: { count: data.length } })
  }
  t.match(sizes, { 'At Risk': 8, Churned: 6 })
  const scores = await (await lakeFor(brand).sources()).rows<Record<'customer_id' | 'tier', string>>(
    'select customer_id, tier, at_risk, at_risk_score from rfm join churn using (customer_id) order by customer_id',
  )
  const explained = async (name: string) =>
    await Promise.all(
      scores.map(async ({ customer_id }) => {
        const { body } = await request(`GET /v1/segments/${id(name)}/explain?customer_id=${customer_id}`)
        return body.conditions.map(({ words, actual }: Record<string, unknown>) => [words, actual])
      }),
    )
  for (const [name, words, column] of [
    ['High Value', 'customers of the top RFM tiers', 'tier'],
    ['At Risk', 'customers who are at risk', 'at_risk'],
    ['Churned', 'customers whose at-risk score is 4 or more', 'at_risk_score'],
  ] as const)
    t.same(
      await explained(name),
      scores.map((score: Record<string, unknown>) => [[words, score[column]]]),
      `an explanation of ${name} says the score`,
    )
  t.ok((sizes['High Value'] ?? 0) > 0, 'someone is of a top tier')
})

t.test('whose turn it is', (t) => {
  const row = (minutes: number | null, evaluated: string | null): SegmentRow => ({
    ...{
      id: '',
      ordinal: 1,
      version: 1,
      evaluated_version: 1,
      member_count: 0,
      evaluated_count: 0,
      failed: false,
      definition: '{}',
      created_by: 'cli',
    },
    every_minutes: minutes,
    evaluated_at: evaluated === null ? null : new Date(evaluated),
    evaluated_tick: 1,
  })
  const due = (segment: SegmentRow, asOf: string, isAnew = false) =>
    turnsOf([segment], new Date(asOf), isAnew).due.length === 1
  t.ok(due(row(null, '2026-05-01T00:00:00Z'), '2026-05-01T00:00:01Z'), 'others always')
  t.ok(due(row(60, null), '2026-05-01T00:00:00Z'), 'at first')
  t.notOk(due(row(60, '2026-05-01T00:00:00Z'), '2026-05-01T00:45:00Z'), 'not before its hour')
  t.ok(due(row(60, '2026-05-01T00:00:00Z'), '2026-05-01T00:59:58Z'), 'a moment early as well')
  t.notOk(due(row(240, '2026-05-01T00:00:00Z'), '2026-05-01T03:45:00Z'), 'not before its four hours')
  t.ok(due(row(240, '2026-05-01T00:00:00Z'), '2026-05-01T04:00:00Z'))
  t.ok(due(row(240, '2026-05-01T00:00:00Z'), '2026-05-01T00:15:00Z', true), 'when all is made anew')
  t.ok(due(row(60, '2026-05-01T00:00:00Z'), '2026-04-30T00:00:00Z'), 'for the past')
  t.end()
})

t.test('what built_in is compared with is known', (t) => {
  const definition = { source: 'customer_profile', rule: { field: 'built_in', op: '=', value: 'at_rsk' } }
  t.throws(() => parseDefinition(definition, { isBuiltIn: true }), /Did you mean "at_risk"\?/)
  t.end()
})
