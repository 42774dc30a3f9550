import t from 'tap'
import { v7 } from 'uuid'
import { createKey } from '../src/access/key.ts'
import { versionsOf } from '../src/campaign/held-run.ts'
import { occurrenceOf } from '../src/campaign/occurrence.ts'
import { renameEventInCampaigns } from '../src/campaign/rename-event.ts'
import { updateCampaign } from '../src/campaign/saved.ts'
import { startByResults } from '../src/campaign/start-results.ts'
import { createDefinition, updateDefinition } from '../src/connect/custom/definitions.ts'
import { createProvider } from '../src/connect/custom/providers.ts'
import { listMerges, undoMerge } from '../src/identity/merge.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Lake } from '../src/op.ts'
import { currentResults } from '../src/segment/recipe.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { createSegment } from '../src/segment/saved.ts'
import { statement } from '../src/store/sqlfile.ts'
import { campaignStage } from './fixtures/campaign.ts'
import { askErasure, goOnErasing } from './fixtures/erasing.ts'
import { type Line, logBatch } from './fixtures/lake.ts'
import { noting } from './fixtures/statements.ts'
import { SEAL } from './fixtures/store.ts'
import { order } from './fixtures/store-bodies.ts'
import { POINTS } from './fixtures/webhook.ts'

setLogLevel('error')
const stage = await campaignStage(t)
const { clock, app, tell } = stage
const { sql } = stage.db.postgres
const MINUTE_MS = 60_000

const runsOf = (brand: Brand) =>
  sql`select occurrence, trigger_event, source_kind, source_id, triggered_at, facts from campaign_run
    where brand_id = ${brand.id} order by triggered_at, occurrence`
const iso = (minutes = 0) => new Date(clock.now().getTime() + minutes * MINUTE_MS).toISOString()

const LOOKED_LATELY = {
  name: 'Looked lately',
  definition: {
    source: 'product_events',
    rule: { op: 'count-over-window', window: { days: 30 }, times: { op: '>=', n: 1 } },
  },
  createdBy: 'test',
}

t.test('an order that is paid starts once, a test order or one from before the campaign never', async (t) => {
  const brand = await stage.brand()
  const paid = (id: number, more: object = {}) =>
    tell(brand, {
      topic: 'orders/paid',
      body: order({ id, created_at: iso(-60), updated_at: iso(), ...more }),
    })
  await paid(1, { processed_at: iso(-60) })
  clock.pass(10)
  await stage.campaign(brand, { trigger_event: 'order_created' })
  clock.pass(10)
  await paid(2, { processed_at: iso() })
  await paid(2, { processed_at: iso(), note: 'again', updated_at: iso(1) })
  await paid(3, { processed_at: iso(), test: true })
  await stage.tick()
  await stage.round()
  await stage.tick()
  await stage.round()
  t.match(await runsOf(brand), [
    { occurrence: 'order_created:2', source_kind: 'order', source_id: '2', facts: { order_number: /./ } },
  ])
})

t.test('an order starts once, also where a server names it as the store’s own API does', async (t) => {
  const brand = await stage.brand()
  await stage.campaign(brand, { trigger_event: 'order_created' })
  clock.pass(10)
  await tell(brand, {
    topic: 'orders/paid',
    body: order({ id: 5001, processed_at: iso(), updated_at: iso() }),
  })
  await logBatch(sql, [
    {
      ...{ brand_id: brand.id, email: 'ada@example.com', occurred_at: clock.now().getTime() },
      ...{
        event_id: 'paid',
        event_type: 'order_created',
        properties: { order_id: 'gid://shopify/Order/5001' },
      },
    },
  ])
  await stage.tick()
  await stage.round()
  t.same(
    (await runsOf(brand)).map(({ occurrence }) => occurrence),
    ['order_created:5001'],
  )
})

t.test('no event that a server names so starts what refreshes find', async (t) => {
  const brand = await stage.brand()
  const { id } = await createSegment(stage.db.postgres.forBrand(brand.id), LOOKED_LATELY)
  const filters = [{ field: 'event.segment_id', operator: '=', value: id }]
  for (const trigger_event of ['segment_entered', 'customer_winback', 'browse_abandoned'])
    await stage.campaign(brand, {
      trigger_event,
      ...(trigger_event === 'segment_entered' && { filters }),
    })
  clock.pass(10)
  const told = ['segment_entered', 'customer_winback', 'browse_abandoned'].map((event_type) => ({
    ...{ brand_id: brand.id, email: 'ada@example.com', occurred_at: clock.now().getTime() },
    ...{ event_id: event_type, event_type, properties: { segment_id: id } },
  }))
  await logBatch(sql, told)
  await stage.tick()
  t.same(await sql`select event_type from trigger_event where brand_id = ${brand.id}`, [])
  await stage.round()
  t.same(await runsOf(brand), [])
})

t.test('what was taken into the lake before as such an event starts nothing', async (t) => {
  const told = { event_id: 'e', event_type: 'segment_entered', subject: 1, occurred_at: clock.now() }
  const nothing = () => undefined
  const beside = { hasRecord: () => false, order: nothing, subscription: nothing, delivery: nothing }
  t.equal(occurrenceOf({ ...told, properties: {} }, beside), null)
})

t.test('an order starts as fulfilled when all that was sent of it is on its way', async (t) => {
  const brand = await stage.brand()
  await stage.campaign(brand, { trigger_event: 'order_fulfilled' })
  const sent = (id: number, status: string, minutes: number) => {
    const at = iso(minutes)
    const body = { id, order_id: 1001, status, created_at: at, updated_at: at, tracking_company: 'Post' }
    return tell(brand, { topic: 'fulfillments/update', body: JSON.stringify(body) })
  }
  clock.pass(10)
  await tell(brand, { topic: 'orders/paid', body: order({ created_at: iso(), updated_at: iso() }) })
  await sent(40, 'success', 1)
  await sent(41, 'pending', 1)
  clock.pass(5)
  await stage.tick()
  await stage.round()
  t.same(await runsOf(brand), [])
  await sent(41, 'success', 2)
  clock.pass(5)
  await stage.tick()
  await stage.round()
  t.match(await runsOf(brand), [
    { occurrence: 'order_fulfilled:1001', facts: { order_number: '#1001', tracking_company: 'Post' } },
  ])
})

t.test('of a store that says what became of an order its word counts, whenever it comes', async (t) => {
  const brand = await stage.brand()
  await stage.campaign(brand, { trigger_event: 'order_fulfilled' })
  const parcel = (id: number, orderId: number, minutes: number) => ({
    ...{ id, order_id: orderId, status: 'success', tracking_company: 'Post' },
    ...{ created_at: iso(minutes), updated_at: iso(minutes) },
  })
  const is = (id: number, fulfillment_status: string | null, minutes: number, ...fulfillments: object[]) => {
    const body = order({
      id,
      fulfillment_status,
      fulfillments,
      created_at: iso(-5),
      updated_at: iso(minutes),
    })
    return tell(brand, { topic: 'orders/updated', triggeredAt: new Date(iso(minutes)), body })
  }
  const send = (one: object) => tell(brand, { topic: 'fulfillments/create', body: JSON.stringify(one) })
  const starts = async () => {
    clock.pass(1)
    await stage.tick()
    await stage.round()
    return (await runsOf(brand)).map(({ source_id }) => source_id)
  }
  clock.pass(10)
  // Sent off in two parcels, of which the store makes the second one later.
  await is(2001, null, 0)
  await send(parcel(50, 2001, 0))
  t.same(await starts(), [], 'before the store has said so')
  await is(2001, 'partial', 0, parcel(50, 2001, -1))
  t.same(await starts(), [], 'a part of it')
  await send(parcel(51, 2001, 0))
  t.same(await starts(), [], 'the word of the store is still the old one')
  await is(2001, 'fulfilled', 0, parcel(50, 2001, -2), parcel(51, 2001, -1))
  t.same(await starts(), ['2001'])
  await is(2001, 'fulfilled', 1, parcel(50, 2001, -3), parcel(51, 2001, -2))
  t.same(await starts(), ['2001'], 'once')
  t.match((await runsOf(brand))[0]?.facts, { tracking_company: 'Post', order_number: '#1001' })
  // The order first, then its parcel.
  await is(2002, 'fulfilled', 0, parcel(60, 2002, 0))
  await send(parcel(60, 2002, 0))
  t.same(await starts(), ['2001', '2002'])
})

t.test(
  'of an order of which no store says what became of it a server may say that all is on its way',
  async (t) => {
    const brand = await stage.brand()
    await stage.campaign(brand, { trigger_event: 'order_fulfilled' })
    await tell(brand, {
      topic: 'orders/paid',
      body: order({ id: 3001, created_at: iso(), updated_at: iso() }),
    })
    const held = order({ id: 3002, fulfillment_status: 'partial', created_at: iso(), updated_at: iso() })
    await tell(brand, { topic: 'orders/updated', body: held })
    clock.pass(5)
    const say = (event_id: string, order_id: string, status: string) => ({
      ...{ brand_id: brand.id, email: 'ada@example.com', occurred_at: clock.now().getTime() },
      ...{ event_id, event_type: 'fulfillment_updated', properties: { order_id, status } },
    })
    await logBatch(sql, [
      say('sent', '3001', 'success'),
      say('all', '3001', 'fulfilled'),
      say('held', '3002', 'fulfilled'),
      say('unknown', 'o9', 'fulfilled'),
    ])
    await stage.tick()
    await stage.round()
    t.match(await runsOf(brand), [
      { occurrence: 'order_fulfilled:3001', source_kind: 'order', facts: { order_number: '#1001' } },
      { occurrence: 'order_fulfilled:o9', source_kind: 'custom_event', facts: { order_number: 'o9' } },
    ])
  },
)

t.test('a subscription that stops starts once for each stop', async (t) => {
  const brand = await stage.brand()
  await stage.campaign(brand, { trigger_event: 'subscription_cancelled' })
  const is = (status: string, revision: number) => {
    clock.pass(5)
    const body = {
      id: 60,
      customer_id: 77,
      email: 'ann@example.com',
      status,
      revision_id: revision,
      created_at: iso(),
      updated_at: iso(),
    }
    return tell(brand, {
      topic: 'subscription_contracts/update',
      triggeredAt: clock.now(),
      body: JSON.stringify(body),
    })
  }
  await is('active', 1)
  await is('cancelled', 2)
  await is('active', 3)
  await is('cancelled', 4)
  await stage.tick()
  await stage.round()
  t.match(await runsOf(brand), [
    {
      occurrence: 'subscription_changed:60:1',
      source_kind: 'subscription_event',
      source_id: 'subscription_changed:60:1',
    },
    { occurrence: 'subscription_changed:60:3' },
  ])
})

t.test(
  'an event of the brand’s own starts, from its provider or a server, and never from a browser',
  async (t) => {
    const brand = await stage.brand()
    const own = stage.db.postgres.forBrand(brand.id)
    const options = { seal: SEAL, webhookUrl: 'https://hooks.example', withKey: false }
    const provider = await createProvider(own, { name: 'Loyalty' }, options)
    const definition = await createDefinition(own, provider.id, POINTS)
    await stage.campaign(brand, {
      trigger_event: 'points_earned',
      provider_id: provider.id,
      action_type: 'email',
    })
    clock.pass(5)
    const at = clock.now().getTime()
    const record = v7()
    const base = {
      brand_id: brand.id,
      event_type: 'points_earned',
      occurred_at: at,
      properties: { points: 4 },
    }
    const told = (id: string) => ({
      ...base,
      event_id: `${provider.id}:${id}`,
      email: 'ada@example.com',
      origin: 'service' as const,
    })
    await sql`insert into custom_delivery (brand_id, provider_id, event_id, definition_id, custom_event_id)
    values (${brand.id}, ${provider.id}, 'e1', ${v7()}, ${record})`
    await logBatch(sql, [
      told('e1'),
      told('e1'),
      told('e2'),
      { ...base, event_id: 's1', email: 'bob@example.com' },
      { ...base, event_id: 'b1', email: 'eve@example.com', origin: 'browser' },
      { ...base, event_id: 's2', email: 'old@example.com', occurred_at: at - 60 * MINUTE_MS },
      { ...told('e3'), event_id: `${v7()}:e3` },
    ])
    await stage.tick()
    await stage.round()
    t.match(await runsOf(brand), [
      {
        occurrence: `points_earned:${provider.id}:e1`,
        source_kind: 'custom_event',
        source_id: record,
        facts: { points: 4 },
      },
      { occurrence: `points_earned:${provider.id}:e2`, source_id: `${provider.id}:e2` },
      { occurrence: 'points_earned:s1', source_id: 's1' },
    ])
    const waits = () =>
      sql`select trigger_event from campaign_run where brand_id = ${brand.id} and state = 'waiting'`
    t.equal((await waits()).length, 3)
    const place = { providerId: provider.id, id: definition.id, by: 'test' }
    await updateDefinition(own, place, { type: 'points_won' }, [renameEventInCampaigns])
    t.same([...new Set((await waits()).map(({ trigger_event }) => trigger_event))], ['points_won'])
  },
)

t.test(
  'what was accepted under the old name of a type starts the campaign that follows the new one',
  async (t) => {
    const brand = await stage.brand()
    const own = stage.db.postgres.forBrand(brand.id)
    const options = { seal: SEAL, webhookUrl: 'https://hooks.example', withKey: false }
    const provider = await createProvider(own, { name: 'Loyalty' }, options)
    const { id } = await createDefinition(own, provider.id, POINTS)
    const campaign = {
      trigger_event: 'points_earned',
      provider_id: provider.id,
      action_type: 'email' as const,
    }
    await stage.campaign(brand, campaign)
    clock.pass(5)
    const told = (eventId: string, of: string, definition: string) => ({
      brand_id: brand.id,
      event_type: 'points_earned',
      occurred_at: clock.now().getTime(),
      email: `${eventId}@example.com`,
      origin: 'service' as const,
      event_id: `${of}:${eventId}`,
      definition,
    })
    const byServer = (eventId: string) => {
      const { definition: _, origin: __, ...event } = told(eventId, provider.id, id)
      return { ...event, event_id: eventId }
    }
    const log = async (...events: ReturnType<typeof told>[]) => {
      for (const { event_id, definition } of events)
        await sql`insert into custom_delivery (brand_id, provider_id, event_id, definition_id)
        values (${brand.id}, ${event_id.slice(0, 36)}, ${event_id.slice(37)}, ${definition}) on conflict do nothing`
      await logBatch(
        sql,
        events.map(({ definition: _, ...event }) => event),
      )
    }
    await log(told('before', provider.id, id))
    await logBatch(sql, [byServer('server')])
    const rename = (type: string) =>
      updateDefinition(own, { providerId: provider.id, id, by: 'test' }, { type }, [renameEventInCampaigns])
    await rename('points_won')
    // A new definition takes the old name: what it tells of is another thing.
    const other = await createDefinition(own, provider.id, POINTS)
    await log(told('other', provider.id, other.id))
    await stage.tick()
    await rename('points_got')
    await stage.round()
    const runs = async () =>
      (await runsOf(brand)).map(({ source_id, trigger_event }) => [trigger_event, source_id])
    t.same((await runs()).sort(), [
      ['points_got', `${provider.id}:before`],
      ['points_got', 'server'],
    ])
    const before = clock.now()
    clock.to(new Date(Date.now() + MINUTE_MS))
    await logBatch(sql, [byServer('late')])
    await stage.tick()
    await stage.round()
    t.equal((await runs()).length, 2, 'who says the old name now does not mean it')
    clock.to(before)
  },
)

t.test('a checkout or an order that only an event tells of is explained by that event', async (t) => {
  const brand = await stage.brand()
  const names = [await stage.campaign(brand), await stage.campaign(brand, { trigger_event: 'order_created' })]
  clock.pass(5)
  const base = { brand_id: brand.id, email: 'ada@example.com', occurred_at: clock.now().getTime() }
  await logBatch(sql, [
    { ...base, event_id: 'left', event_type: 'checkout_abandoned' },
    { ...base, event_id: 'known', event_type: 'checkout_abandoned', properties: { checkout_id: 'c9' } },
    {
      ...base,
      event_id: 'again',
      occurred_at: base.occurred_at + 1,
      event_type: 'checkout_abandoned',
      properties: { checkout_id: 'c9' },
    },
    { ...base, event_id: 'paid', event_type: 'order_created', properties: { order_id: 'o9' } },
    { ...base, event_id: 'seen', event_type: 'page_viewed' },
  ])
  await stage.tick()
  await stage.round()
  t.equal((await runsOf(brand)).length, 3)
  const { plaintext } = await createKey(stage.db.postgres.forBrand(brand.id), { scopes: ['campaigns:read'] })
  const journey = async (query: string) => {
    const headers = { authorization: `Bearer ${plaintext}` }
    const response = await fetch(`${stage.origin}/v1/events/journey?${query}`, { headers })
    return { status: response.status, body: await response.json() }
  }
  for (const [id, type, campaign] of [
    ['left', 'checkout_abandoned', names[0]],
    ['known', 'checkout_abandoned', names[0]],
    ['paid', 'order_created', names[1]],
  ] as const)
    t.match(await journey(`custom_event_id=${id}`), {
      status: 200,
      body: {
        source: { kind: 'custom_event', custom_event: { id, type } },
        campaigns: [{ campaign_id: campaign?.id, run: [{ event_id: id, event_type: type }] }],
      },
    })
  for (const query of ['custom_event_id=seen', 'custom_event_id=again', 'checkout_id=c9'])
    t.equal((await journey(query)).status, 404, query)
})

t.test('what started for somebody who was erased since starts nothing again', async (t) => {
  const brand = await stage.brand()
  await stage.campaign(brand, { trigger_event: 'order_created' })
  clock.pass(5)
  const paid = (id: string) => ({
    ...{ brand_id: brand.id, event_id: v7(), event_type: 'order_created' },
    ...{ store_customer_id: '7', occurred_at: clock.now().getTime(), properties: { order_id: id } },
  })
  await logBatch(sql, [paid('o1 of ann@example.com')])
  await stage.tick()
  await stage.round()
  await askErasure(app.pipeline, brand.id, '7')
  await goOnErasing(app.pipeline, brand.id)
  const before = clock.now()
  t.teardown(() => clock.to(before))
  clock.to(new Date(Date.now() + 1_000))
  await logBatch(sql, [paid('o1 of ann@example.com'), paid('o2')])
  clock.pass(1)
  await stage.tick()
  await stage.round()
  t.match(
    (await runsOf(brand)).map(({ occurrence }) => occurrence),
    [/^erased:[0-9a-f]{64}$/, 'order_created:o2'],
  )
})

t.test('an order that only an event of a server tells of ends what waits for its customer', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  await stage.campaign(brand)
  await stage.campaign(brand, { trigger_event: 'order_created' })
  clock.pass(5)
  const tells = (who: number, event_type: string, minutes: number, more: Partial<Line> = {}) => ({
    brand_id: brand.id,
    ...{ event_id: `${event_type} ${who} ${minutes}`, event_type, phone: `+354555010${who}` },
    occurred_at: clock.now().getTime() + minutes * MINUTE_MS,
    ...more,
  })
  const left = (who: number) =>
    tells(who, 'checkout_abandoned', 0, { properties: { checkout_id: `c${who}` } })
  const paid = (who: number, minutes: number, more: Partial<Line> = {}) =>
    tells(who, 'order_created', minutes, { properties: { order_id: `o${who}` }, ...more })
  await logBatch(sql, [left(1), left(2), left(3)])
  await stage.tick()
  await stage.round()
  clock.pass(10)
  // Of the same order twice; of one from before; of one that anyone can forge.
  await logBatch(sql, [paid(1, 0), paid(1, 1), paid(2, -20), paid(3, 0, { origin: 'browser' })])
  clock.pass(5)
  await stage.tick()
  await stage.pass(40)
  t.same(
    (
      await sql`select occurrence, coalesce(outcome, step) as stands from campaign_run
        where brand_id = ${brand.id} order by occurrence`
    ).map(({ occurrence, stands }) => [occurrence, stands]),
    [
      ['checkout_abandoned:c1', 'converted'],
      ['checkout_abandoned:c2', 'wait'],
      ['checkout_abandoned:c3', 'wait'],
      ['order_created:o1', 'wait'],
    ],
  )
  clock.pass(5)
  await logBatch(sql, [paid(2, 0, { event_id: 'later' })])
  clock.pass(1)
  await stage.tick()
  await stage.round()
  t.match(
    await sql`select outcome from campaign_run where brand_id = ${brand.id} and occurrence = 'checkout_abandoned:c2'`,
    [{ outcome: 'converted' }],
    'also one that waits after its message',
  )
})

t.test('what a refresh finds starts once: a product that was left, a segment that was entered', async (t) => {
  const brand = await stage.brand()
  const own = stage.db.postgres.forBrand(brand.id)
  const segment = await createSegment(own, LOOKED_LATELY)
  const view = (who: string, minutes: number, event_type = 'product_viewed') => ({
    brand_id: brand.id,
    event_type,
    email: `${who}@example.com`,
    occurred_at: clock.now().getTime() + minutes * MINUTE_MS,
    properties: { product_id: `p-${who}`, product_title: 'Mug', variant_id: '7' },
  })
  await logBatch(sql, [view('early', -10)])
  // What events make of customers is in the lake a tick later.
  await stage.tick()
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(0) })
  clock.pass(1)
  await stage.campaign(brand, { trigger_event: 'browse_abandoned' })
  await stage.campaign(brand, {
    trigger_event: 'segment_entered',
    filters: [{ field: 'event.segment_id', operator: '=', value: segment.id }],
  })
  await logBatch(sql, [
    view('left', 5),
    view('bought', 5),
    view('bought', 6, 'checkout_completed'),
    view('carted', 7, 'product_added_to_cart'),
    view('carted', 6),
    view('busy', 70),
  ])
  await stage.tick()
  await stage.tick()
  for (const minutes of [20, 70, 15]) {
    await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(minutes) })
    await startByResults(stage.parts, clock.now)
  }
  const runs = await runsOf(brand)
  const of = (trigger: string) => runs.filter(({ trigger_event }) => trigger_event === trigger)
  t.strictSame(
    of('browse_abandoned').map(({ facts }) => facts.product_id),
    ['p-left'],
  )
  t.same(new Set(of('segment_entered').map(({ source_id }) => source_id)), new Set([segment.id]))
  t.equal(of('segment_entered').length, 4, 'all but who was a member before')
})

t.test('who entered a segment by a refresh of an instant that was searched before starts, too', async (t) => {
  const brand = await stage.brand()
  const { id } = await createSegment(stage.db.postgres.forBrand(brand.id), LOOKED_LATELY)
  const view = async (who: string) => {
    const line = {
      event_type: 'product_viewed',
      email: `${who}@example.com`,
      properties: { product_id: 'p' },
    }
    await logBatch(sql, [{ brand_id: brand.id, occurred_at: clock.now().getTime(), ...line }])
    await stage.tick()
    await stage.tick()
  }
  const refresh = async (minutes: number, verify = false) => {
    await refreshBrand(app.pipeline, brand.id, { asOf: new Date(iso(minutes)), verify })
    await startByResults(stage.parts, clock.now)
  }
  const started = async () => (await runsOf(brand)).length
  await view('first')
  await refresh(0)
  clock.pass(1)
  await stage.campaign(brand, {
    trigger_event: 'segment_entered',
    filters: [{ field: 'event.segment_id', operator: '=', value: id }],
  })
  clock.pass(1)
  await view('second')
  await refresh(0)
  t.equal(await started(), 1)
  await view('third')
  await refresh(0, true)
  t.equal(await started(), 2, 'by the check of the refresh before it')

  await refresh(10)
  await view('fourth')
  await refresh(5)
  t.equal(await started(), 3, 'by one that ended after one of a later instant')
  await refresh(15)
  t.equal(await started(), 3, 'once')
})

/** What is read of the lake meanwhile: by which of the searches, and the rows of each time. */
function searches() {
  const read: { search: string; rows: unknown[] }[] = []
  const names = ['trigger_segments', 'trigger_winback', 'trigger_browse']
  const lake = (brand: Brand): Pick<Lake, 'sources'> => ({
    sources: async (...asked) => {
      const reader = await stage.parts.lake(brand).sources(...asked)
      const rows: typeof reader.rows = async <Row>(text: string, values?: unknown[]) => {
        const found = await reader.rows<Row>(text, values)
        const search = names.find((name) => statement('duckdb', name) === text)
        if (search) read.push({ search, rows: found })
        return found
      }
      return { ...reader, rows }
    },
  })
  return { read, parts: { ...stage.parts, lake } }
}

/** A brand with a campaign for a segment that these enter, and another segment that they enter as well. */
async function entering(...people: string[]) {
  const brand = await stage.brand()
  const own = stage.db.postgres.forBrand(brand.id)
  const { id } = await createSegment(own, LOOKED_LATELY)
  await createSegment(own, { ...LOOKED_LATELY, name: 'Of no campaign' })
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.now() })
  clock.pass(1)
  await stage.campaign(brand, {
    trigger_event: 'segment_entered',
    filters: [{ field: 'event.segment_id', operator: '=', value: id }],
  })
  const occurred_at = clock.pass(1).getTime()
  const viewed = (name: string) => ({
    ...{ brand_id: brand.id, event_type: 'product_viewed', email: `${name}@example.com`, occurred_at },
    properties: { product_id: 'p' },
  })
  await logBatch(sql, people.map(viewed))
  await stage.tick()
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(10) })
  return { brand, segment: id }
}

t.test('only what active campaigns wait for is searched', async (t) => {
  await entering('ann')
  const { read, parts } = searches()
  await startByResults(parts, clock.now)
  t.strictSame([...new Set(read.map(({ search }) => search))], ['trigger_segments'])
})

t.test('of segments that no active campaign names nothing is read', async (t) => {
  const { segment } = await entering('ann', 'bob')
  const { read, parts } = searches()
  await startByResults(parts, clock.now)
  const rows = read.flatMap((one) => one.rows as { segment_id: string }[])
  t.strictSame(
    rows.map(({ segment_id }) => segment_id),
    [segment, segment],
  )
})

t.test('entries of segments are read page by page, and each starts', async (t) => {
  const { brand } = await entering('ann', 'bob', 'cat', 'dan', 'eve')
  const { read, parts } = searches()
  t.equal(await startByResults({ ...parts, pageRows: 2 }, clock.now), 5)
  t.strictSame(
    read.map(({ rows }) => rows.length),
    [2, 2, 1],
  )
  t.equal((await runsOf(brand)).length, 5)
})

t.test('who becomes a member with a merge enters the segment, unless one of them was a member', async (t) => {
  const brand = await stage.brand()
  const { id } = await createSegment(stage.db.postgres.forBrand(brand.id), LOOKED_LATELY)
  const log = async (...lines: Omit<Line, 'brand_id'>[]) => {
    const occurred_at = clock.now().getTime()
    if (lines.length)
      await logBatch(
        sql,
        lines.map((line) => ({ brand_id: brand.id, occurred_at, ...line })),
      )
    await stage.tick()
    await stage.tick()
    await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(10) })
    await startByResults(stage.parts, clock.now)
  }
  const [ann, bob] = ['ann', 'bob'].map((name) => ({ email: `${name}@example.com` }))
  const view = { event_type: 'product_viewed', properties: { product_id: 'p-1' } }
  await log({ store_customer_id: '1' }, { store_customer_id: '2' }, { ...ann }, { ...bob, ...view })
  await stage.campaign(brand, {
    trigger_event: 'segment_entered',
    filters: [{ field: 'event.segment_id', operator: '=', value: id }],
  })
  clock.pass(1)
  await log({ store_customer_id: '1', ...ann, ...view }, { store_customer_id: '2', ...bob, ...view })
  t.match(await runsOf(brand), [{ trigger_event: 'segment_entered' }])
  t.equal((await runsOf(brand)).length, 1, 'not for who was a member before')

  const own = stage.db.postgres.forBrand(brand.id)
  await log({ ...ann, anonymous_id: 'v', ...view })
  const merges = (await listMerges(own, 10)).filter(({ evidence }) => evidence.kind === 'email')
  t.equal(merges.length, 2)
  for (const merge of merges) await undoMerge(own, merge.id, 'test')
  await log()
  t.equal((await runsOf(brand)).length, 1, 'nor for who is a customer again')
})

t.test('of a product that was left its last view alone tells', async (t) => {
  const brand = await stage.brand()
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.now() })
  clock.pass(1)
  await stage.campaign(brand, { trigger_event: 'browse_abandoned' })
  const view = (event_id: string, minutes: number, properties: Record<string, unknown>) => ({
    ...{ brand_id: brand.id, event_id, event_type: 'product_viewed', email: 'ada@example.com' },
    ...{ occurred_at: clock.now().getTime() + minutes * MINUTE_MS, properties },
  })
  await logBatch(sql, [
    view('1', 5, { product_id: 'cup', product_title: 'Cup', variant_id: '7', price: 12.5 }),
    view('2', 6, { product_id: 'jug', product_title: 'Jug' }),
    view('3', 6, { product_id: 'pot' }),
  ])
  await stage.tick()
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(90) })
  await startByResults(stage.parts, clock.now)
  t.same(
    (await runsOf(brand)).map(({ facts }) => facts),
    [{ product_id: 'pot', in_catalog: false }],
  )
})

t.test(
  'of a product that was left the title is that of the catalog, and filters go by what a page said, link or not',
  async (t) => {
    const brand = await stage.brand()
    await sql`insert into product (brand_id, id, title) values (${brand.id}, 'st.andrews-1', 'St.Andrews towel')`
    await stage.tick()
    await refreshBrand(app.pipeline, brand.id, { asOf: clock.now() })
    clock.pass(1)
    await stage.campaign(brand, {
      trigger_event: 'browse_abandoned',
      filters: [
        { field: 'event.product_id', operator: '!=', value: 'gid://shopify/Product/123' },
        { field: 'event.product_id', operator: '!=', value: '7' },
      ],
    })
    const occurred_at = clock.pass(5).getTime()
    const view = (who: string, properties: Record<string, string>): Line[] => [
      { brand_id: brand.id, email: `${who}@example.com`, anonymous_id: who, occurred_at },
      {
        ...{
          brand_id: brand.id,
          event_type: 'product_viewed',
          origin: 'browser' as const,
          anonymous_id: who,
        },
        ...{ email: `${who}@example.com`, occurred_at: occurred_at + MINUTE_MS, properties },
      },
    ]
    await logBatch(sql, [
      ...view('a', { product_id: 'st.andrews-1', product_title: 'Pay at evil.example' }),
      ...view('b', { product_id: '7', product_title: 'your parcel? Pay at https://evil.example/pay' }),
      ...view('c', { product_id: 'shirt.red.m', product_title: 'Mug', currency_code: 'evil.example' }),
      ...view('d', { product_id: 'gid://shopify/Product/123' }),
    ])
    await stage.tick()
    await stage.tick()
    await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(90) })
    await startByResults(stage.parts, clock.now)
    const facts = (await runsOf(brand)).map((run) => run.facts)
    t.same(
      facts.toSorted((a, b) => a.product_id.localeCompare(b.product_id)),
      [
        { product_id: '7', product_title: 'your parcel? Pay at https://evil.example/pay', in_catalog: false },
        { product_id: 'gid://shopify/Product/123', in_catalog: false },
        { product_id: 'shirt.red.m', product_title: 'Mug', currency_code: 'evil.example', in_catalog: false },
        { product_id: 'st.andrews-1', product_title: 'St.Andrews towel', in_catalog: true },
      ],
    )
    await stage.round()
    t.same(
      await sql`select facts->>'product_id' as product, reason
        from campaign_run as run join run_step on run_step.brand_id = run.brand_id and run_id = run.id
        where run.brand_id = ${brand.id} order by 1`,
      [
        { product: '7', reason: 'filters_not_met' },
        { product: 'gid://shopify/Product/123', reason: 'filters_not_met' },
        { product: 'shirt.red.m', reason: 'phone_missing' },
        { product: 'st.andrews-1', reason: 'phone_missing' },
      ],
    )
  },
)

/** A brand with a campaign that has been on since a refresh. */
async function campaigning(sent: Parameters<typeof stage.campaign>[1], brand?: Brand): Promise<Brand> {
  const its = brand ?? (await stage.brand())
  await stage.tick()
  await refreshBrand(app.pipeline, its.id, { asOf: clock.now() })
  clock.pass(1)
  await stage.campaign(its, sent)
  return its
}

/** Each looks at a product and is gone when the next refresh comes. */
async function look(brand: Brand, ...people: Omit<Line, 'brand_id'>[]) {
  const occurred_at = clock.pass(5).getTime()
  const view = { event_type: 'product_viewed', occurred_at, properties: { product_id: 'cup' } }
  await logBatch(
    sql,
    people.map((who) => ({ brand_id: brand.id, ...view, ...who })),
  )
  await stage.tick()
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(90) })
  await startByResults(stage.parts, clock.now)
}

t.test('a product whose view comes in hours late starts once, an hour after it came', async (t) => {
  const brand = await campaigning({ trigger_event: 'browse_abandoned' })
  const searched = async (minutes: number) => {
    await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(minutes) })
    await startByResults(stage.parts, clock.now)
    return (await runsOf(brand)).map(({ facts }) => facts.product_id)
  }
  await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  await stage.tick()
  await stage.tick()
  await searched(240)
  const searchedAt = clock.now().getTime()
  const late = (product_id: string, hours: number) => ({
    ...{ brand_id: brand.id, event_type: 'product_viewed', email: 'ann@example.com' },
    ...{ occurred_at: searchedAt - hours * 60 * MINUTE_MS, received_at: searchedAt + MINUTE_MS },
    properties: { product_id },
  })
  await logBatch(sql, [late('cup', 3.5), late('jug', 3)])
  await stage.tick()
  await stage.tick()
  t.strictSame(await searched(15), [], 'by a clock that is behind they may be there still')
  t.strictSame(await searched(60), ['jug'])
  t.strictSame(await searched(15), ['jug'])
})

const VISITOR = { anonymous_id: 'v', origin: 'browser' } as const

t.test('a product that a visitor whom nobody knows looked at starts nothing', async (t) => {
  const brand = await campaigning({ trigger_event: 'browse_abandoned' })
  await look(brand, VISITOR)
  t.same(await runsOf(brand), [])
})

t.test('a product that a customer without email and phone left starts, with nobody to message', async (t) => {
  const brand = await campaigning({ trigger_event: 'browse_abandoned' })
  await look(brand, { store_customer_id: '7' })
  await stage.round()
  t.same(await sql`select reason from run_step where brand_id = ${brand.id}`, [{ reason: 'contact_missing' }])
})

t.test('a visitor whom nobody knows enters Visitors and starts nothing', async (t) => {
  const brand = await stage.brand({ builtIns: true })
  const [visitors] = await sql`select id from segment where brand_id = ${brand.id} and name = 'Visitors'`
  const filters = [{ field: 'event.segment_id', operator: '=', value: visitors?.id }]
  await campaigning({ trigger_event: 'segment_entered', filters }, brand)
  await look(brand, VISITOR, { email: 'ann@example.com' })
  const [ann] = await sql`select id from customer where brand_id = ${brand.id} and email is not null`
  t.strictSame(
    (await runsOf(brand)).map(({ occurrence }) => occurrence.split(':')[2]),
    [ann?.id],
  )
})

t.test('what happened before a campaign got its trigger starts nothing', async (t) => {
  const brand = await stage.brand()
  const { id } = await stage.campaign(brand)
  const retriggered = (trigger_event: string) =>
    updateCampaign(
      stage.db.postgres.forBrand(brand.id),
      id,
      { trigger_event },
      { by: 'test', now: clock.now() },
    )
  const viewed = (who: string) => ({
    brand_id: brand.id,
    event_type: 'product_viewed',
    email: `${who}@example.com`,
    occurred_at: clock.now().getTime(),
    properties: { product_id: who },
  })
  const paid = (id: number) =>
    tell(brand, {
      topic: 'orders/paid',
      body: order({ id, created_at: iso(), processed_at: iso(), updated_at: iso() }),
    })
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.now() })
  clock.pass(10)
  await logBatch(sql, [viewed('early')])
  clock.pass(10)
  await retriggered('browse_abandoned')
  clock.pass(10)
  await logBatch(sql, [viewed('late')])
  await stage.tick()
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(90) })
  await startByResults(stage.parts, clock.now)
  await paid(61)
  clock.pass(10)
  await retriggered('order_created')
  clock.pass(10)
  await paid(62)
  await stage.tick()
  await stage.round()
  t.match(
    (await runsOf(brand)).map(({ facts, source_id }) => facts.product_id ?? source_id),
    ['late', '62'],
  )
})

t.test(
  'a brand whose campaign waits for products that were left has turns for an hour after its news',
  async (t) => {
    const [brand, other] = [await stage.brand(), await stage.brand()]
    await stage.campaign(brand, { trigger_event: 'browse_abandoned' })
    for (const { id } of [brand, other])
      await logBatch(sql, [{ brand_id: id, event_type: 'product_viewed', email: 'ann@example.com' }])
    await stage.tick()
    await stage.tick()
    for (const { id } of [brand, other]) await refreshBrand(app.pipeline, id)
    await sql`update lake_brand set next_change_at = 'infinity'`
    const due = async () => {
      await sql`update lake_brand set refresh_planned_at = null`
      const asked = [new Date(), 60, await currentResults()]
      const rows = await stage.db.postgres.pipeline.many<{ brand_id: string }>('brands_to_refresh', asked)
      return rows.map(({ brand_id }) => brand_id).filter((id) => id === brand.id || id === other.id)
    }
    t.same(await due(), [brand.id])
    await sql`update lake_brand set changed_at = changed_at - interval '61 minutes'`
    t.same(await due(), [])
  },
)

t.test('of versions that runs are on, event types of providers are read once', async (t) => {
  const brand = await stage.brand()
  const own = stage.db.postgres.forBrand(brand.id)
  const options = { seal: SEAL, webhookUrl: 'https://hooks.example', withKey: false }
  const provider = await createProvider(own, { name: 'Loyalty' }, options)
  await createDefinition(own, provider.id, POINTS)
  const started = { trigger_event: 'points_earned', provider_id: provider.id, action_type: 'email' as const }
  const campaigns = [await stage.campaign(brand, started), await stage.campaign(brand, started)]
  const asked: string[] = []
  await versionsOf(
    noting(own, (name) => asked.push(name)),
    campaigns.map(({ id: campaign_id, version }) => ({
      ...{ campaign_id, version, trigger_event: 'points_earned' },
      ...{ source_kind: 'custom_event', source_id: v7() },
    })),
  )
  t.same(asked, ['campaign_versions', 'campaign_custom_events'])
})
