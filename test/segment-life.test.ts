import t, { type Test } from 'tap'
import { eraseDue } from '../src/connect/erase/due.ts'
import { upsertContact } from '../src/identity/contact.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import { segmentMemberOps } from '../src/ops/segment-members.ts'
import { segmentQuestionOps } from '../src/ops/segment-questions.ts'
import { segmentOps } from '../src/ops/segments.ts'
import { openReading } from '../src/segment/reading.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { type Line, lake, lakeOf, logBatch } from './fixtures/lake.ts'
import { memberChanges } from './fixtures/published.ts'

setLogLevel('error')

const pipeline = await lake(t)
const lakeFor = lakeOf(t, pipeline)
const clock = { now: new Date('2026-05-01T00:00:00Z') }
const { call, tool, signIn } = await api(
  t,
  pipeline,
  [...segmentOps, ...segmentMemberOps, ...segmentQuestionOps],
  { lake: lakeFor, now: () => clock.now },
)

const viewed = (days: number) => ({
  source: 'product_events',
  rule: { op: 'count-over-window', window: { days }, where: [field('event_kind', '=', 'product_viewed')] },
})
const field = (name: string, op: string, value: unknown) => ({ field: name, op, value })
const member = (segmentId: string) => ({ op: 'member-of-segment', segmentId })
const profile = (rule: object) => ({ source: 'customer_profile', rule })
const anyone = profile(field('orders_count', '>=', 0))

/** A brand with a signed-in user. */
async function store() {
  const brand = await newBrand(pipeline, { features: ['cdp'] })
  const as = signIn(brand)
  const request = (route: string, body?: object) => call(route, { as, body })
  /** Views of a product at a time, in the lake. */
  const record = async (time: string, ...viewers: Omit<Line, 'brand_id'>[]) => {
    const [occurred_at, received_at] = [Date.parse(time), Date.parse(time)]
    await logBatch(
      pipeline.postgres.sql,
      viewers.map((who) => ({
        ...{ brand_id: brand.id, event_type: 'product_viewed', occurred_at, received_at },
        ...who,
      })),
    )
    await snapshotAll(pipeline)
  }
  return {
    brand,
    as,
    request,
    async save(name: string, definition: object): Promise<string> {
      const { status, body } = await request('POST /v1/segments', { name, definition })
      if (status !== 200) throw new Error(JSON.stringify(body))
      return body.id
    },
    record,
    view: (time: string, ...customers: string[]) =>
      record(time, ...customers.map((store_customer_id) => ({ store_customer_id }))),
    refresh: (time: string) => refreshBrand(pipeline, brand.id, { asOf: new Date(time) }),
    async members(id: string) {
      const { body } = await request(`GET /v1/segments/${id}/members`)
      return body.data.map((row: { customer_id: string }) => row.customer_id.split(':').at(-1))
    },
  }
}

const conflict = (message: string | RegExp) => ({
  status: 409,
  body: { error: { code: 'conflict', message } },
})
const invalid = (message: string | RegExp) => ({
  status: 400,
  body: { error: { code: 'bad_request', message } },
})

for (const [how, options] of Object.entries({ whole: {}, 'in steps': { smallRows: 0, mostTouched: 1 } }))
  t.test(`an archived segment says who left it, merged or erased; refreshed ${how}`, async (t) => {
    // An erasure is of now.
    t.intercept(clock, 'now', { value: new Date(Date.now() + 60_000) })
    const { brand, request, save, record } = await store()
    const come = async (...who: Omit<Line, 'brand_id'>[]) => {
      await record(new Date().toISOString(), ...who)
      await refreshBrand(pipeline, brand.id, options)
    }
    const id = await save('Gone', anyone)
    const kept = await save('Kept', anyone)
    const hidden = `myshopify:${brand.shop_domain.split('.')[0]}:11`
    const [ann, bob, eve] = [
      { store_customer_id: '9' },
      { store_customer_id: '10' },
      { store_customer_id: '11' },
    ]
    const guest = { email: 'ann@example.com' }
    await come(guest, ann, bob, eve)
    await request(`POST /v1/segments/${id}/archive`)
    const state = async () => {
      const { body } = await request(`GET /v1/segments/${id}`)
      const members = (await request(`GET /v1/segments/${id}/members`)).body.data
      const changes = await memberChanges(pipeline, brand.id)
      const left = changes.filter(({ segment, action }) => segment === 1 && action === 'exited')
      const session = await openReading(pipeline, brand)
      const [sql] = await session.duck
        .rows<{ n: number }>('select count(*) as n from segment_members where segment_id = $1', [id])
        .finally(() => session.close())
      t.equal(body.audience.member_count, sql?.n, 'SQL says the same')
      return [body.audience.member_count, members.length, left.map(({ reason }) => reason)]
    }
    await come({ ...ann, ...guest })
    t.same(await state(), [3, 3, ['merged']])
    const hide = (deleted: boolean) => pipeline.postgres.sql`
      update customer set deleted = ${deleted} where brand_id = ${brand.id} and store_customer_id = '11'`
    await hide(true)
    await come(ann)
    t.same(await state(), [2, 2, ['merged']], 'whom the store hides has not left, and is not counted')
    const { data } = (await request(`GET /v1/segments/${kept}/history?customer_id=${hidden}`)).body
    t.match(
      data.map((entry: Record<string, unknown>) => [
        entry.action,
        entry.customer_id,
        entry.current_customer_id,
      ]),
      [
        ['exited', hidden, hidden],
        ['entered', hidden, hidden],
      ],
      'and the history of the others names them',
    )
    await hide(false)
    await come(ann)
    t.same(await state(), [3, 3, ['merged']])
    const whom = { storeCustomerId: '10' }
    await pipeline.postgres.forBrand(brand.id).tx((tx) => requestErasure(tx, whom, 'a test'))
    while (await eraseDue(pipeline, { brandId: brand.id }));
    await refreshBrand(pipeline, brand.id, options)
    t.same(await state(), [2, 2, ['merged', 'erased']])
    await come(eve)
    t.same(await state(), [2, 2, ['merged', 'erased']], 'and that once')
  })

for (const [how, options] of Object.entries({ whole: {}, 'in steps': { smallRows: 0, mostTouched: 1 } }))
  t.test(`who is merged while a segment fails leaves it when archived; refreshed ${how}`, async (t) => {
    const { brand, request, save, record } = await store()
    const come = async (...who: Omit<Line, 'brand_id'>[]) => {
      await record(new Date().toISOString(), ...who)
      await refreshBrand(pipeline, brand.id, options)
    }
    const id = await save('Gone', anyone)
    await save('Kept', anyone)
    const [guest, ann] = [{ email: 'ann@example.com' }, { store_customer_id: '9' }]
    await come(guest, ann, { store_customer_id: '10' })
    await pipeline.postgres.sql`
      update segment_version set definition = '{"source":"nowhere","rule":{}}' where segment_id = ${id}`
    await come({ ...ann, ...guest })
    await request(`POST /v1/segments/${id}/archive`)
    const left = async () =>
      (await memberChanges(pipeline, brand.id)).flatMap(({ segment, action, reason }) =>
        segment === 1 && action === 'exited' ? [reason] : [],
      )
    t.same(await left(), [])
    t.match(await refreshBrand(pipeline, brand.id, options), { full: how === 'whole' })
    t.same(await left(), ['merged'])
    const { body } = await request(`GET /v1/segments/${id}`)
    t.equal(body.audience.member_count, 2)
  })

t.test('a changed rule is the next version, evaluated with the next refresh', async (t) => {
  const { request, save, view, refresh, members } = await store()
  const id = await save('Viewers', viewed(10))
  await view('2026-04-01T00:00:00Z', 'ann', 'bob')
  await view('2026-04-20T00:00:00Z', 'bob')
  await refresh('2026-04-05T00:00:00Z')
  const before = (await request(`GET /v1/segments/${id}`)).body
  const changed = await request(`PATCH /v1/segments/${id}`, { definition: viewed(2) })
  t.match(changed, { status: 200, body: { version: 2, name: 'Viewers', definition: viewed(2) } })
  t.match(changed.body.audience, {
    evaluation_status: 'evaluated',
    member_count: 2,
    current_version_evaluated: false,
  })
  t.not(changed.body.current_version_id, before.current_version_id)
  await refresh('2026-04-05T00:00:01Z')
  t.same(await members(id), [])
  t.match((await request(`GET /v1/segments/${id}/audience`)).body, { current_version_evaluated: true })
  const versions = await pipeline.postgres.sql`
    select version, definition from segment_version where segment_id = ${id} order by version`
  t.same(
    versions.map(({ definition }) => definition),
    [viewed(10), viewed(2)],
  )
  t.match(await request(`PATCH /v1/segments/${id}`, { definition: {} }), invalid(/^definition/))
  t.match(await request(`PATCH /v1/segments/${id}`, { name: 'x' }), invalid(/definition is required|"name"/))
})

t.test('an archived segment', async (t) => {
  const { as, request, save, view, refresh } = await store()
  const id = await save('Gone', anyone)
  await view('2026-04-01T00:00:00Z', 'ann')
  await refresh('2026-04-02T00:00:00Z')
  const { status, body } = await request(`POST /v1/segments/${id}/archive`)
  t.match({ status, body }, { status: 200, body: { id, status: 'archived', audience: { member_count: 1 } } })
  t.notOk('definition' in body || 'version' in body || 'schema_version' in body)

  await t.test('cannot be changed or archived again', async (t) => {
    t.match(await request(`POST /v1/segments/${id}/archive`, {}), conflict('"Gone" is archived.'))
    t.match(
      await request(`PATCH /v1/segments/${id}`, { definition: anyone }),
      conflict('"Gone" is archived.'),
    )
  })
  await t.test('stays readable and leaves its name free', async (t) => {
    t.match(await request(`GET /v1/segments/${id}`), { status: 200, body: { definition: anyone } })
    t.equal((await request(`GET /v1/segments/${id}/history`)).body.data.length, 1)
    t.equal((await request('GET /v1/segments')).body.data.length, 0)
    t.equal((await request('GET /v1/segments?status=archived')).body.data.length, 1)
    t.ok(await save('gone', anyone))
  })
  await t.test('is not named in a rule', async (t) => {
    const answer = await request('POST /v1/segments', { name: 'New', definition: profile(member(id)) })
    t.match(answer, invalid('definition.rule.segmentId: "Gone" is archived'))
  })
  await t.test('is estimated still when the one that it refers to was archived after it', async (t) => {
    const base = await save('Base', anyone)
    const other = await save('Refers', profile(member(base)))
    await refresh('2026-04-03T00:00:00Z')
    for (const each of [other, base]) await request(`POST /v1/segments/${each}/archive`)
    t.match(await request('POST /v1/segments/estimate', { segment_id: other }), {
      status: 200,
      body: { count: 1 },
    })
  })
  await t.test('takes no fields, by tool either', async (t) => {
    const other = await save('Other', anyone)
    t.match(await request(`POST /v1/segments/${other}/archive`, { force: true }), invalid(/^"force"/))
    const { body } = await tool('archive_segment', { segment_id: other }, { as })
    t.match(body.result.structuredContent, { id: other, status: 'archived' })
  })
})

t.test('the members of a session', async (t) => {
  const { brand, save, view, refresh } = await store()
  await save('Lately', viewed(5))
  await view('2026-04-09T00:00:00Z', 'ann')
  await refresh('2026-04-10T00:00:00Z')
  await view('2026-04-19T00:00:00Z', 'bob')
  await refresh('2026-04-20T00:00:00Z')
  const read = async <Row>(instant: string, text: string) => {
    const session = await openReading(pipeline, brand, new Date(instant))
    return await session.duck.rows<Row>(text).finally(session.close)
  }
  const [before, after] = ['2026-04-11T00:00:00Z', '2026-04-21T00:00:00Z']

  for (const [instant, member] of [
    [before, 'ann'],
    [after, 'bob'],
  ] as const)
    await t.test(`at ${instant} are those of the generation valid then`, async (t) => {
      const text = 'select store_customer_id as member from segment_members join customers using (customer)'
      t.same(await read(instant, text), [{ member }])
    })
  await t.test('after the last change are not played again from the history', async (t) => {
    const planOf = async (instant: string) =>
      JSON.stringify(await read(instant, 'explain (format json) from segment_members'))
    t.match(await planOf(before), /arg_max/)
    t.notMatch(await planOf(after), /arg_max/)
  })
})

t.test('a segment over members of another', async (t) => {
  const { request, save, view, refresh, members } = await store()
  const lately = await save('Lately', viewed(5))
  const twice = await save('Both', profile({ all: [member(lately), field('email', 'missing', undefined)] }))
  const others = await save('Others', profile({ not: member(twice) }))
  await view('2026-04-01T00:00:00Z', 'ann')
  await view('2026-04-09T00:00:00Z', 'bob')
  await refresh('2026-04-10T00:00:00Z')

  await t.test('is evaluated after it, in one refresh', async (t) => {
    t.same(await members(twice), ['bob'])
    t.same(await members(others), ['ann'])
  })
  await t.test('keeps it from being archived', async (t) => {
    t.match(
      await request(`POST /v1/segments/${lately}/archive`),
      conflict('"Lately" is used by "Both": take it out of there first.'),
    )
  })
  await t.test('must not lead back to itself', async (t) => {
    const answer = await request(`PATCH /v1/segments/${lately}`, { definition: profile(member(others)) })
    t.match(answer, invalid('definition.rule.segmentId: leads back to this segment: Others → Both → Lately'))
    const own = await request(`PATCH /v1/segments/${lately}`, { definition: profile(member(lately)) })
    t.match(own, invalid('definition.rule.segmentId: leads back to this segment: Lately'))
  })
  await t.test('counts the members of the latest update, or of a past instant', async (t) => {
    const estimate = async (more: object) =>
      (await request('POST /v1/segments/estimate', { segment_id: others, ...more })).body
    t.match(await estimate({}), { count: 1 })
    await view('2026-04-20T00:00:00Z', 'ann')
    await refresh('2026-04-20T12:00:00Z')
    t.match(await estimate({}), { count: 1 })
    t.same(await members(others), ['bob'])
    t.match(await estimate({ as_of: '2026-04-11T00:00:00Z' }), { count: 1 })
    const before = await estimate({ as_of: '2026-04-09T12:00:00Z' })
    t.match(before.error.message, /segmentId: "Both" had no members yet at 2026-04-09T12:00:00.000Z$/)
  })
  await t.test('changes by the new rule of the other one, which its history says', async (t) => {
    const changed = await request(`PATCH /v1/segments/${lately}`, { definition: viewed(15) })
    t.equal(changed.status, 200)
    await refresh('2026-04-20T18:00:00Z')
    for (const [id, action] of [
      [twice, 'entered'],
      [others, 'exited'],
    ]) {
      const { body } = await request(`GET /v1/segments/${id}/history?limit=1`)
      t.match(body.data, [{ customer_id: /:bob$/, action, reason: 'definition_changed', generation: 3 }])
    }
  })
  await t.test('names a segment that there is', async (t) => {
    const { save: foreignSave } = await store()
    const foreign = await foreignSave('Foreign', anyone)
    const random = '01890a5d-ac96-774b-bcce-b302099a8057'
    for (const id of [foreign, random]) {
      const answer = await request('POST /v1/segments', { name: 'x', definition: profile(member(id)) })
      t.match(answer, invalid('definition.rule.segmentId: there is no segment of this id'))
    }
  })
})

t.test('when a rule fails, the segments over it go by its last members', async (t) => {
  const { save, view, refresh, members } = await store()
  const base = await save('Base', viewed(5))
  const above = await save('Above', profile(member(base)))
  await view('2026-04-09T00:00:00Z', 'bob')
  await refresh('2026-04-10T00:00:00Z')
  await pipeline.postgres.sql`
    update segment_version set definition = '{"source":"nowhere","rule":{}}' where segment_id = ${base}`
  await view('2026-04-10T00:00:00Z', 'ann')
  const { failed } = await refresh('2026-04-11T00:00:00Z')
  t.match(failed, [{ segment_id: base }])
  t.same(await members(above), ['bob'])
})

t.test('the history of a segment', async (t) => {
  const { brand, request, save, view, refresh } = await store()
  const id = await save('Viewers', viewed(5))
  await view('2026-04-01T00:00:00Z', 'ann', 'bob')
  await refresh('2026-04-02T00:00:00Z')
  await refresh('2026-04-10T00:00:00Z')
  await view('2026-04-10T00:00:00Z', 'bob')
  await refresh('2026-04-11T00:00:00Z')
  const history = async (query = '') => (await request(`GET /v1/segments/${id}/history${query}`)).body
  const brief = ({ data }: { data: { customer_id: string; action: string; generation: number }[] }) =>
    data.map((row) => `${row.customer_id.split(':').at(-1)} ${row.action} ${row.generation}`)

  await t.test('says who entered and left, newest updates first', async (t) => {
    const all = await history()
    t.same(brief(all), ['bob entered 3', 'ann exited 2', 'bob exited 2', 'ann entered 1', 'bob entered 1'])
    t.same(all.data[0], {
      customer_id: `myshopify:${brand.shop_domain.split('.')[0]}:bob`,
      email: null,
      phone: null,
      current_customer_id: `myshopify:${brand.shop_domain.split('.')[0]}:bob`,
      action: 'entered',
      reason: 'data_changed',
      generation: 3,
      changed_at: '2026-04-11T00:00:00.000Z',
    })
    t.equal(all.next_cursor, null)
  })
  await t.test('is walked page by page, each entry once', async (t) => {
    const seen: string[] = []
    for (let next: string | null = ''; next !== null; ) {
      const page: Awaited<ReturnType<typeof history>> = await history(
        `?limit=2${next ? `&cursor=${next}` : ''}`,
      )
      seen.push(...brief(page))
      next = page.next_cursor
    }
    t.same(seen, brief(await history()))
  })
  await t.test('is asked for one customer', async (t) => {
    const [first] = (await history()).data
    t.same(brief(await history(`?customer_id=${first.customer_id}`)), [
      'bob entered 3',
      'bob exited 2',
      'bob entered 1',
    ])
    t.same(brief(await history('?customer_id=nobody')), [])
  })
  await t.test('of one customer has that of the profiles merged into it', async (t) => {
    const { brand, request, save, record, refresh } = await store()
    const id = await save('Everyone', anyone)
    const guest = { email: 'ann@example.com' }
    await record('2026-04-01T00:00:00Z', guest, { store_customer_id: '9' }, { store_customer_id: '10' })
    await refresh('2026-04-02T00:00:00Z')
    await record('2026-04-03T00:00:00Z', { store_customer_id: '9', ...guest })
    await refresh('2026-04-04T00:00:00Z')
    const of = async (customer: string) =>
      (await request(`GET /v1/segments/${id}/history?customer_id=${customer}`)).body.data
    const survivor = `myshopify:${brand.shop_domain.split('.')[0]}:9`
    const linked = await of(survivor)
    const retired = linked[0].customer_id
    t.not(retired, survivor)
    const said = linked.map(({ customer_id, current_customer_id, action, reason }: never) => [
      customer_id === retired,
      current_customer_id === survivor,
      ...[action, reason],
    ])
    t.same(said[0], [true, true, 'exited', 'merged'])
    t.same(said.slice(1).sort(), [
      [false, true, 'entered', 'segment_created'],
      [true, true, 'entered', 'segment_created'],
    ])
    t.same(await of(retired), linked)
    const { body } = await request(`GET /v1/segments/${id}/explain?customer_id=${retired}`)
    t.match(
      body,
      { customer_id: survivor, member: true },
      'an explanation by the retired id is of the survivor',
    )
  })
  await t.test('says of a customer whom a visitor turned out to be that data changed', async (t) => {
    const { request, save, record, refresh } = await store()
    const id = await save('Viewers', viewed(10))
    await record('2026-04-01T00:00:00Z', { anonymous_id: 'v1' })
    await record('2026-04-01T00:00:00Z', { store_customer_id: '9', event_type: 'page_viewed' })
    await refresh('2026-04-02T00:00:00Z')
    await record('2026-04-03T00:00:00Z', {
      ...{ store_customer_id: '9', anonymous_id: 'v1', event_type: 'page_viewed' },
    })
    await refresh('2026-04-04T00:00:00Z')
    const { body } = await request(`GET /v1/segments/${id}/history`)
    t.match(body.data, [{ customer_id: /:9$/, action: 'entered', reason: 'data_changed' }])
    t.equal(body.data.length, 1)
  })
  await t.test('shows a customer with what merged profiles say, as members are', async (t) => {
    const { request, save, record, refresh } = await store()
    const id = await save('Everyone', anyone)
    const guest = { email: 'ann@example.com', phone: '+12125550100' }
    await record('2026-04-01T00:00:00Z', guest, { store_customer_id: '9', phone: guest.phone })
    await refresh('2026-04-02T00:00:00Z')
    const read = async (name: string) => (await request(`GET /v1/segments/${id}/${name}`)).body.data
    t.match(await read('members'), [guest])
    t.match(await read('history'), [{ ...guest, action: 'entered' }])
  })
  await t.test('goes back 180 days', async (t) => {
    clock.now = new Date('2026-10-05T00:00:00Z')
    t.teardown(() => {
      clock.now = new Date('2026-05-01T00:00:00Z')
    })
    t.same(brief(await history()), ['bob entered 3', 'ann exited 2', 'bob exited 2'])
  })
})

t.test('a preview counts who would enter, leave and stay, and saves nothing', async (t) => {
  const { request, save, view, refresh } = await store()
  const id = await save('Viewers', viewed(5))
  await view('2026-04-01T00:00:00Z', 'ann')
  await view('2026-04-09T00:00:00Z', 'bob', 'cy')
  await refresh('2026-04-10T00:00:00Z')
  const wanted = profile({ field: 'last_event_at', op: '<=', value: '2026-04-01T00:00:00Z' })
  const both = profile({ any: [wanted.rule, { source: 'customer_profile', ...member(id) }] })
  t.match((await request('POST /v1/segments/preview', { segment_id: id, definition: wanted })).body, {
    segment_id: id,
    version: 1,
    generation: 1,
    entering: 1,
    leaving: 2,
    staying: 0,
  })
  const looped = await request('POST /v1/segments/preview', { segment_id: id, definition: both })
  t.match(looped, invalid(/leads back to this segment/))
  t.match((await request(`GET /v1/segments/${id}`)).body, { version: 1, definition: viewed(5) })
})

t.test('what is computed on request knows the members of the last refresh at once', async (t) => {
  const { request, save, view, refresh } = await store()
  const id = await save('Viewers', viewed(5))
  const preview = async () =>
    (await request('POST /v1/segments/preview', { segment_id: id, definition: anyone })).body
  const estimate = async () =>
    (await request('POST /v1/segments/estimate', { definition: profile(member(id)) })).body
  await view('2026-04-09T00:00:00Z', 'ann')
  t.match(await preview(), { generation: 0, entering: 1, staying: 0 })
  t.match(await estimate(), { count: 0 })
  await refresh('2026-04-10T00:00:00Z')
  t.match(await preview(), { generation: 1, entering: 0, staying: 1 })
  t.match(await estimate(), { count: 1 })
  t.match((await request(`GET /v1/segments/${id}/history`)).body.data, [{ generation: 1 }])
  await refresh('2026-04-20T00:00:00Z')
  t.match((await request(`GET /v1/segments/${id}/history`)).body.data, [{ generation: 2 }, { generation: 1 }])
  t.match(await estimate(), { count: 0 })
})

t.test('what is computed on request says the instant that it was computed for', async (t) => {
  const { brand, request, save, view, refresh } = await store()
  const id = await save('Anyone', anyone)
  await view('2026-04-10T00:00:00Z', 'ann')
  await refresh('2026-04-11T00:00:00Z')
  const { asOf } = await lakeFor(brand).sources()
  const answers = await Promise.all([
    request('POST /v1/segments/estimate', { segment_id: id }),
    request('POST /v1/segments/preview', { segment_id: id, definition: anyone }),
    request(`GET /v1/segments/${id}/explain?customer_id=${await anyId(request, id)}`),
  ])
  t.same(
    answers.map(({ body }) => body.estimated_at ?? body.explained_at),
    answers.map(() => asOf.toISOString()),
  )
})

const anyId = async (request: Awaited<ReturnType<typeof store>>['request'], id: string) =>
  (await request(`GET /v1/segments/${id}/members`)).body.data[0].customer_id

t.test('a member who can be messaged is shown with the contact', async (t) => {
  const { brand, request, save, refresh } = await store()
  const id = await save('Everyone', anyone)
  const line = {
    brand_id: brand.id,
    event_type: 'page_viewed',
    occurred_at: Date.parse('2026-04-01T00:00:00Z'),
  }
  await logBatch(pipeline.postgres.sql, [
    { ...line, store_customer_id: '1' },
    { ...line, store_customer_id: '2', email: 'bob@example.com' },
  ])
  await snapshotAll(pipeline)
  await refresh('2026-04-02T00:00:00Z')
  const db = pipeline.postgres.forBrand(brand.id)
  const nobody = { subject: null, email: null, phone: null, firstName: null, lastName: null }
  const made = await db.tx((tx) => upsertContact(tx, { ...nobody, email: 'bob@example.com' }))
  const { body } = await request(`GET /v1/segments/${id}/members`)
  t.match(made, { contactId: String })
  t.match(body.data, [
    { email: null, svc_contact_id: null },
    { email: 'bob@example.com', svc_contact_id: 'contactId' in made && made.contactId },
  ])
})

t.test('an explanation shows what each condition saw', async (t) => {
  const { brand, request, save, view, refresh } = await store()
  const base = await save('Base', viewed(1095))
  const definition = profile({
    all: [
      {
        source: 'product_events',
        op: 'count-over-window',
        window: { days: 1095 },
        times: { op: '>=', n: 3 },
      },
      field('total_spend', '<', '10.50'),
      { not: member(base) },
      { source: 'commerce_orders', agg: 'avg', field: 'total', op: '>', value: 1 },
    ],
  })
  const id = await save('Explained', definition)
  await view('2026-04-01T00:00:00Z', 'ann')
  await view('2026-04-02T00:00:00Z', 'ann')
  await refresh('2026-04-10T00:00:00Z')
  const customer = `myshopify:${brand.shop_domain.split('.')[0]}:ann`
  const { body } = await request(`GET /v1/segments/${id}/explain?customer_id=${customer}`)
  t.equal(body.member, false)
  const at = (step: string) => `definition.rule.${step}`
  t.same(body.conditions, [
    {
      path: at('all[0]'),
      words: 'count(product_events in 1095 days) >= 3',
      turned: false,
      actual: 2,
      holds: false,
      decides: false,
    },
    {
      path: at('all[1]'),
      words: 'customer_profile.total_spend < 10.50',
      turned: false,
      actual: '0.00',
      holds: true,
      decides: false,
    },
    {
      path: at('all[2].not'),
      words: `not member of segment ${base}`,
      turned: true,
      actual: true,
      holds: true,
      decides: false,
    },
    {
      path: at('all[3]'),
      words: 'avg(commerce_orders.total in 1095 days) > 1',
      turned: false,
      actual: null,
      holds: false,
      decides: false,
    },
  ])
  t.equal((await request(`GET /v1/segments/${base}/explain?customer_id=${customer}`)).body.member, true)
  t.equal((await request(`GET /v1/segments/${id}/explain?customer_id=nobody`)).status, 404)
})

t.test('an explanation has amounts as decimal texts, and attributes as they were sent', async (t) => {
  const { brand, request, save, record, refresh } = await store()
  const attribute = (name: string, value: unknown) => ({
    source: 'customer_attributes',
    ...field(`attributes.${name}`, '=', value),
  })
  const id = await save(
    'Averages',
    profile({
      all: [
        { source: 'product_events', agg: 'avg', field: 'price', op: '>', value: 1 },
        attribute('seats', 5),
        attribute('vip', true),
        attribute('plan', 'gold'),
      ],
    }),
  )
  const priced = (price: string) => ({
    ...{ store_customer_id: 'ann', event_type: 'product_viewed', properties: { product_id: 'p', price } },
  })
  const properties = { seats: 5, vip: true, plan: 'gold' }
  await record('2026-04-01T00:00:00Z', priced('10.00'), priced('10.00'), priced('10.01'), {
    ...{ store_customer_id: 'ann', event_type: 'updateProperties', properties },
  })
  await refresh('2026-04-10T00:00:00Z')
  const customer = `myshopify:${brand.shop_domain.split('.')[0]}:ann`
  const { body } = await request(`GET /v1/segments/${id}/explain?customer_id=${customer}`)
  t.same(
    body.conditions.map(({ actual }: { actual: unknown }) => actual),
    ['10.003333', 5, true, 'gold'],
  )
})

t.test('an explanation of who cannot be reached says what holds, and that nothing decides', async (t) => {
  const { brand, request, save, record, refresh } = await store()
  const id = await save(
    'Viewers',
    profile({ any: [{ source: 'product_events', ...viewed(1095).rule }, field('total_spend', '>', 1)] }),
  )
  await record('2026-04-01T00:00:00Z', { anonymous_id: 'v1' })
  await refresh('2026-04-10T00:00:00Z')
  const [visitor] = await (await lakeFor(brand).sources()).rows<{ customer_id: string }>('from customers')
  const { body } = await request(`GET /v1/segments/${id}/explain?customer_id=${visitor?.customer_id}`)
  t.match(body, {
    member: false,
    conditions: [
      { holds: true, decides: false },
      { holds: false, decides: false },
    ],
  })
})

t.test('the SQL of a segment runs over the models and finds its members', async (t: Test) => {
  const { brand, request, save, view, refresh } = await store()
  const base = await save('Base', viewed(5))
  const id = await save('Shown', profile({ any: [member(base), field('total_spend', '>', 10)] }))
  await view('2026-04-09T00:00:00Z', 'bob')
  await refresh('2026-04-10T00:00:00Z')
  const { body } = await request(`GET /v1/segments/${id}/sql`)
  t.match(body, { segment_id: id, version: 1, sql: /^select customers\.customer, customers\.customer_id\n/ })
  const sources = await lakeFor(brand).sources()
  const rows = await sources.rows<{ customer_id: string }>(body.sql)
  t.same(
    rows.map(({ customer_id }) => customer_id.split(':').at(-1)),
    ['bob'],
  )
})
