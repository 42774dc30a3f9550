import t from 'tap'
import { v7 } from 'uuid'
import { createSeal } from '../src/access/seal.ts'
import { createCampaign } from '../src/campaign/saved.ts'
import { createProvider } from '../src/connect/custom/providers.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { journeyOps } from '../src/ops/journey.ts'
import { api, SEAL_KEY, WEBHOOK_ORIGIN } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, lakeOf, logBatch, tick } from './fixtures/lake.ts'
import { client } from './fixtures/shop.ts'

setLogLevel('error')

const db = await database(t)
const { sql } = db.postgres
const pipeline = await lake(t, db)
const made = await api(t, db, journeyOps, { lake: lakeOf(t, pipeline) })
const brand = await newBrand(db)
const as = await made.key(brand, ['campaigns:read'])
const AT = new Date('2026-11-20T12:00:00Z')
const minutes = (n: number) => new Date(AT.getTime() + n * 60_000)

async function campaign(of: Brand, name: string): Promise<string> {
  const sent = { name, trigger_event: 'checkout_abandoned', action_type: 'agent' as const }
  return (await createCampaign(db.postgres.forBrand(of.id), sent, 'test')).id
}

interface Source {
  kind: string
  id: string
  trigger: string
  eventId?: string
}

type Done = { step: string; state?: string; reason?: string; error?: string; conversation_id?: string }

/** A journey with its steps, one a minute. */
async function run(of: Brand, campaignId: string, source: Source, outcome: string | null, steps: Done[]) {
  const id = v7()
  const state = outcome === null ? 'waiting' : 'ended'
  await sql`insert into campaign_run ${sql({
    ...{ brand_id: of.id, id, campaign_id: campaignId, version: 1, occurrence: v7(), state, outcome },
    ...{ trigger_event: source.trigger, event_id: source.eventId ?? null, triggered_at: AT },
    ...{ source_kind: source.kind, source_id: source.id, step: 'end', due_at: AT },
  })}`
  for (const [ordinal, done] of steps.entries()) {
    const step = { brand_id: of.id, run_id: id, ordinal, id: v7(), at: minutes(ordinal), state: 'done' }
    await sql`insert into run_step ${sql({ ...step, ...done })}`
  }
  return id
}

async function order(of: Brand, externalId: string, more: Record<string, unknown> = {}): Promise<string> {
  const id = v7()
  await sql`insert into store_order ${sql({
    ...{
      brand_id: of.id,
      id,
      external_id: externalId,
      number: '1047',
      state: 'complete',
      billing_status: 'paid',
    },
    ...{ currency_code: 'USD', total: 80, created_at: minutes(50), updated_at: minutes(50), ...more },
  })}`
  return id
}

async function checkout(of: Brand, externalId: string): Promise<string> {
  const id = v7()
  await sql`insert into checkout ${sql({
    ...{
      brand_id: of.id,
      id,
      external_id: externalId,
      state: 'abandoned',
      currency_code: 'USD',
      total: 84.5,
    },
    ...{ created_at: minutes(-90), updated_at: minutes(-60), abandoned_at: AT },
  })}`
  return id
}

async function attributed(
  of: Brand,
  orderId: string,
  conversation: string,
  more: Record<string, unknown> = {},
) {
  const row = {
    brand_id: of.id,
    order_id: orderId,
    conversation_id: conversation,
    touch: 'click',
    amount: 79.5,
  }
  await sql`insert into attribution ${sql({
    ...{ ...row, currency_code: 'USD', touch_at: minutes(40), ordered_at: minutes(50), ...more },
  })}`
}

t.test(
  'a checkout shows its campaigns step by step, its conversations, and what was recovered',
  async (t) => {
    const ask = client(t, made, as)
    const [recovery, other] = [await campaign(brand, 'Recovery'), await campaign(brand, 'Other')]
    const checkoutId = await checkout(brand, 'k1')
    const conversation_id = v7()
    const source = {
      kind: 'checkout',
      id: 'k1',
      trigger: 'checkout_abandoned',
      eventId: 'service:checkout_abandoned:k1',
    }
    const runId = await run(brand, recovery, source, 'converted', [
      { step: 'start', reason: 'started' },
      { step: 'check', state: 'waiting', reason: 'quiet_hours' },
    ])
    await sql`insert into conversation ${sql({
      ...{ brand_id: brand.id, id: conversation_id, campaign_id: recovery, run_id: runId, channel: 'sms' },
      ...{ created_at: minutes(2), checkout_id: checkoutId },
    })}`
    const message = {
      brand_id: brand.id,
      run_id: runId,
      ordinal: 2,
      id: v7(),
      at: minutes(2),
      state: 'failed',
    }
    await sql`insert into run_step ${sql({
      ...{ ...message, step: 'message', conversation_id, reason: 'send_failed', error: 'no such number' },
    })}`
    await run(brand, other, source, null, [])
    const orderId = await order(brand, 'o1')
    await attributed(brand, orderId, conversation_id, { campaign_id: recovery })
    await attributed(
      brand,
      await order(brand, 'o2', { state: 'refunded', billing_status: 'refunded' }),
      conversation_id,
      {
        ...{ campaign_id: recovery, recovered: false, ordered_at: minutes(51), amount: 0, touch: 'message' },
      },
    )

    const { status, body } = await ask(`GET /v1/events/journey?checkout_id=${checkoutId}`)
    t.equal(status, 200)
    t.same(body.source, {
      kind: 'checkout',
      checkout: {
        ...{ id: checkoutId, state: 'abandoned', total: { amount: '84.50', currency: 'USD' } },
        ...{ created_at: minutes(-90).toISOString(), abandoned_at: AT.toISOString(), completed_at: null },
      },
    })
    const [first, second] = body.campaigns
    t.match(first, { campaign_id: recovery, campaign_name: 'Recovery', outcome: 'converted' })
    t.same(second, { campaign_id: other, campaign_name: 'Other', outcome: 'in_progress', run: [] })
    t.same(
      first.run.map(({ step, state }: { step: string; state: string }) => [step, state]),
      [
        ['start', 'done'],
        ['check', 'waiting'],
        ['message', 'failed'],
      ],
    )
    const { step_id, ...failed } = first.run[2]
    t.match(step_id, /^[\da-f-]{36}$/)
    t.same(failed, {
      ...{ at: minutes(2).toISOString(), state: 'failed', step: 'message', event_type: 'checkout_abandoned' },
      ...{ event_id: 'service:checkout_abandoned:k1', campaign_id: recovery, campaign_name: 'Recovery' },
      ...{ conversation_id, contact_id: null, error: 'no such number' },
      reason: {
        ...{ code: 'send_failed', label: 'Message failed', level: 'error' },
        rule: 'The channel refused the message, or could not take it however often it was tried.',
      },
    })
    t.same(body.conversations, [
      {
        ...{ conversation_id, campaign_id: recovery, campaign_name: 'Recovery' },
        created_at: minutes(2).toISOString(),
      },
    ])
    const goal = { conversation_id, campaign_id: recovery, order_number: '1047' }
    t.match(body.outcome, {
      recovered: true,
      recovered_amount: { amount: '79.50', currency: 'USD' },
      goals: [
        {
          ...{ ...goal, at: minutes(50).toISOString(), order_id: orderId, attribution: 'click' },
          ...{ amount: { amount: '79.50', currency: 'USD' }, billing_status: 'paid', recovered: true },
        },
        { ...goal, attribution: 'message', billing_status: 'refunded', recovered: false },
      ],
    })
    t.same((await ask('GET /v1/events/journey?checkout_id=k1')).body, body, 'by the id of the store as well')

    const ofOrder = (await ask('GET /v1/events/journey?order_id=o1')).body
    t.same(ofOrder.source, {
      kind: 'order',
      order: {
        ...{ id: orderId, number: '1047', total: { amount: '80.00', currency: 'USD' } },
        created_at: minutes(50).toISOString(),
      },
    })
    t.same(ofOrder.campaigns, [], 'it started none')
    t.same(ofOrder.conversations, body.conversations, 'it followed one')
    t.same(
      ofOrder.outcome.goals.map(({ order_id }: { order_id: string }) => order_id),
      [orderId],
      'of the order alone',
    )
    const told = await made.tool('get_event_journey', { order_id: orderId }, { as })
    t.same(told.body.result.structuredContent, ofOrder)
  },
)

t.test('nothing recovered is an amount of nothing, in the currency of the brand', async (t) => {
  const own = await newBrand(db, { currency_code: 'EUR' })
  const ask = client(t, made, await made.key(own, ['campaigns:read']))
  const id = await checkout(own, 'k1')
  t.match((await ask(`GET /v1/events/journey?checkout_id=${id}`)).body, {
    campaigns: [],
    conversations: [],
    outcome: { recovered: false, recovered_amount: { amount: '0.00', currency: 'EUR' }, goals: [] },
  })
})

t.test('a record that a webhook told of, and an event of the brand’s own type', async (t) => {
  const ask = client(t, made, as)
  const making = { seal: createSeal(SEAL_KEY), webhookUrl: WEBHOOK_ORIGIN, withKey: false }
  const own = db.postgres.forBrand(brand.id)
  const provider = await createProvider(own, { name: 'Loyalty club' }, making)
  const [definition_id, contact_id, id] = [v7(), v7(), v7()]
  await sql`
    insert into event_definition (brand_id, id, provider_id, type, name, payload_schema, identifier_mappings)
    values (${brand.id}, ${definition_id}, ${provider.id}, 'points_earned', 'Points earned', '{}', '{}')`
  await sql`insert into contact (brand_id, id, email) values (${brand.id}, ${contact_id}, 'ada@example.com')`
  await sql`insert into custom_event ${sql({
    ...{ brand_id: brand.id, id, provider_id: provider.id, definition_id, contact_id, external_id: 'e1' },
    ...{ event_id: 'd1', data: '{}', updated_at: AT },
  })}`
  const started = await campaign(brand, 'Points')
  await run(brand, started, { kind: 'custom_event', id, trigger: 'points_earned' }, 'not_started', [
    { step: 'start', state: 'stopped', reason: 'phone_missing' },
  ])
  const { body } = await ask(`GET /v1/events/journey?custom_event_id=${id}`)
  t.same(body.source, {
    kind: 'custom_event',
    custom_event: {
      ...{ id, type: 'points_earned', name: 'Points earned', source: provider.key },
      ...{ external_event_id: 'd1', received_at: AT.toISOString() },
    },
  })
  t.match(body.campaigns, [
    {
      campaign_name: 'Points',
      outcome: 'not_started',
      run: [{ reason: { code: 'phone_missing', level: 'warning' } }],
    },
  ])

  await sql`insert into custom_delivery ${sql({
    ...{ brand_id: brand.id, provider_id: provider.id, event_id: 'd1', definition_id, custom_event_id: id },
  })}`
  const line = {
    brand_id: brand.id,
    email: 'ada@example.com',
    occurred_at: AT.getTime(),
    received_at: AT.getTime(),
  }
  await logBatch(sql, [
    { ...line, event_type: 'quiz_done', event_id: 'quiz 1' },
    { ...line, event_type: 'page_viewed', event_id: 'page 1' },
    { ...line, event_type: 'quiz_done', event_id: 'browser:quiz 2' },
    { ...line, event_type: 'quiz_done', event_id: 'quiz 3', origin: 'browser' as const },
    { ...line, event_type: 'points_earned', event_id: `${provider.id}:d1`, origin: 'service' as const },
    {
      ...line,
      event_type: 'points_earned',
      event_id: `${provider.id}:forgotten`,
      origin: 'service' as const,
    },
    {
      ...{
        ...line,
        event_type: 'subscription_changed',
        event_id: 'subscription_changed:s1:2',
        origin: 'service' as const,
      },
      properties: { subscription_id: 's1', change: 'stopped' },
    },
  ])
  await tick(pipeline)
  for (const told of [`${provider.id}:d1`, `service:${provider.id}:d1`])
    t.same(
      (await ask(`GET /v1/events/journey?custom_event_id=${told}`)).body,
      body,
      'an event that a webhook told of, as steps and timelines name it, is its record’s',
    )
  const bySender = 'GET /v1/events/journey?custom_event_id=d1'
  t.same((await ask(bySender)).body, body, 'and so is one by the id that its sender gave it')
  const another = await createProvider(own, { name: 'Another club' }, making)
  await sql`insert into custom_delivery ${sql({
    ...{ brand_id: brand.id, provider_id: another.id, event_id: 'd1', definition_id },
  })}`
  t.equal((await ask(bySender)).status, 404, 'unless two providers have sent that')
  t.match((await ask(`GET /v1/events/journey?custom_event_id=${provider.id}:forgotten`)).body, {
    source: { custom_event: { id: `${provider.id}:forgotten`, type: 'points_earned' } },
    campaigns: [],
  })
  await run(brand, started, { kind: 'custom_event', id: 'quiz 1', trigger: 'quiz_done' }, 'completed', [])
  const ofQuiz = (await ask('GET /v1/events/journey?custom_event_id=quiz%201')).body
  t.same(ofQuiz.source, {
    kind: 'custom_event',
    custom_event: {
      ...{
        id: 'quiz 1',
        type: 'quiz_done',
        name: 'quiz_done',
        source: 'events',
        external_event_id: 'quiz 1',
      },
      received_at: AT.toISOString(),
    },
  })
  t.match(ofQuiz.campaigns, [{ campaign_name: 'Points', outcome: 'completed' }])

  for (const [id, sentAs] of [
    ['browser:quiz 2', 'browser:quiz 2'],
    ['quiz 3', 'quiz 3'],
    [`${provider.id}:forgotten`, 'forgotten'],
  ] as const)
    t.equal(
      (await ask(`GET /v1/events/journey?custom_event_id=${encodeURIComponent(id)}`)).body.source
        ?.custom_event.external_event_id,
      sentAs,
      'an event is named as its sender named it, whatever the lake calls it',
    )

  const stopped = {
    kind: 'subscription_event',
    id: 'subscription_changed:s1:2',
    trigger: 'subscription_cancelled',
  }
  await run(brand, started, stopped, 'stopped', [{ step: 'check', state: 'stopped', reason: 'opted_out' }])
  const ofSubscription = (await ask('GET /v1/events/journey?subscription_event_id=subscription_changed:s1:2'))
    .body
  t.same(
    (await ask('GET /v1/events/journey?subscription_event_id=service:subscription_changed:s1:2')).body,
    ofSubscription,
    'the same one has the same id, however it is asked about',
  )
  t.same(ofSubscription.source, {
    kind: 'subscription_event',
    subscription_event: {
      ...{ id: 'subscription_changed:s1:2', type: 'subscription_changed', triggered_at: AT.toISOString() },
    },
  })
  t.match(ofSubscription.campaigns, [{ outcome: 'stopped', run: [{ reason: { code: 'opted_out' } }] }])
  for (const missing of [
    'custom_event_id=page%201',
    'custom_event_id=subscription_changed:s1:2',
    'subscription_event_id=quiz%201',
    `custom_event_id=${v7()}`,
    'checkout_id=o1',
    'order_id=k1',
  ])
    t.equal((await ask(`GET /v1/events/journey?${missing}`)).status, 404, missing)
})

t.test('an event is found whenever its id says that it was made', async (t) => {
  const own = await newBrand(db)
  const ask = client(t, made, await made.key(own, ['campaigns:read']))
  const line = { brand_id: own.id, email: 'ada@example.com', event_type: 'quiz_done' }
  const times = { occurred_at: AT.getTime(), received_at: AT.getTime() }
  const idOf = (hours: number) => v7({ msecs: minutes(60 * hours).getTime() })
  const [late, early, earliest] = [idOf(-500), idOf(23), idOf(500)]
  await logBatch(
    sql,
    [late, early, earliest].map((event_id) => ({ ...line, ...times, event_id })),
  )
  await tick(pipeline)
  const statusOf = async (id: string) => (await ask(`GET /v1/events/journey?custom_event_id=${id}`)).status
  t.equal(await statusOf(late), 200, 'it may be told of long after')
  t.equal(await statusOf(early), 200, 'by a clock that is ahead')
  t.equal(await statusOf(earliest), 200, 'by one that is weeks ahead')
  t.equal(await statusOf('ffffffff-ffff-7fff-bfff-ffffffffffff'), 404, 'of the year 10889')
})

t.test('exactly one id is asked about', async (t) => {
  const ask = client(t, made, as)
  for (const query of ['', '?checkout_id=1&order_id=2', '?order_id=']) {
    const { status, body } = await ask(`GET /v1/events/journey${query}`)
    t.equal(status, 400)
    t.match(
      body.error.message,
      query === '?order_id=' ? /must not be empty/ : /^Exactly one of custom_event_id/,
    )
  }
})
