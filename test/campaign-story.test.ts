import t from 'tap'
import { createKey } from '../src/access/key.ts'
import { attribute } from '../src/campaign/attribution.ts'
import { setLogLevel } from '../src/log.ts'
import { campaignStage, recoveredCheckout } from './fixtures/campaign.ts'
import { passed, tick } from './fixtures/lake.ts'
import { order } from './fixtures/store-bodies.ts'

setLogLevel('error')

const SCOPES = ['conversations:read', 'stats:read', 'campaigns:read', 'commerce:read', 'customers:read']

t.test('a recovered checkout is read in every place, and read again when it is refunded', async (t) => {
  const stage = await campaignStage(t)
  const { app, db, origin, clock } = stage
  const { brand, campaign, conversationId, message, at, orderId } = await recoveredCheckout(stage)
  const { plaintext } = await createKey(db.postgres.forBrand(brand.id), { scopes: SCOPES })
  const get = async (path: string) => {
    const response = await fetch(`${origin}/v1${path}`, { headers: { authorization: `Bearer ${plaintext}` } })
    t.equal(response.status, 200, path)
    // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came
    return (await response.json()) as any
  }
  const look = async () => {
    await passed(app.pipeline)
    const changed = await attribute(app.pipeline)
    await tick(app.pipeline)
    return changed
  }
  t.equal(await look(), 1)

  const conversation = await get(`/conversations/${conversationId}`)
  t.match(conversation, {
    ...{ id: conversationId, campaign_id: campaign.id, status: 'open', channel: 'sms' },
    checkout: { state: 'recovered', total: '75.00', currency_code: 'USD' },
    goal: { state: 'recovered', recovered_amount: '75.00' },
  })
  t.same((await get('/conversations')).data, [conversation])
  t.match((await get(`/conversations/${conversationId}/messages`)).data, [
    { id: message.id, direction: 'outbound', author: 'campaign', body: message.body, error: null },
  ])
  t.match((await get('/conversations/search?query=STOP')).data, [
    { id: conversationId, match: { message_id: message.id } },
  ])
  t.match(await get(`/commerce/orders/${orderId}`), {
    id: conversation.goal.order_id,
    recovered_at: at.order.toISOString(),
  })

  const days = `from=${clock.now().toISOString().slice(0, 10)}&to=${clock.now().toISOString().slice(0, 10)}`
  const all = 'recovered_sales,recovered_orders,recovery_rate,conversations_started,messages_sent,click_rate'
  const valuesOf = (stats: { name: string; current_value: string }[]) =>
    Object.fromEntries(stats.map(({ name, current_value }) => [name, current_value]))
  const wanted = {
    ...{ recovered_sales: '75.00', recovered_orders: '1', recovery_rate: '100.00' },
    ...{ conversations_started: '1', messages_sent: '1', click_rate: '100.00' },
  }
  t.same(valuesOf((await get(`/stats?stats=${all}&${days}&timezone=UTC`)).stats), wanted)
  const [compared] = (await get(`/campaigns/compare?stats=${all}&${days}&timezone=UTC`)).campaigns
  t.equal(compared.id, campaign.id)
  t.same(valuesOf(compared.stats), wanted)

  const journey = await get(`/events/journey?checkout_id=${conversation.checkout.id}`)
  t.match(journey, {
    source: { kind: 'checkout', checkout: { state: 'recovered', abandoned_at: at.abandoned.toISOString() } },
    campaigns: [{ campaign_id: campaign.id, outcome: 'converted' }],
    conversations: [{ conversation_id: conversationId, campaign_id: campaign.id }],
    outcome: {
      recovered: true,
      recovered_amount: { amount: '75.00', currency: 'USD' },
      goals: [
        {
          order_id: conversation.goal.order_id,
          attribution: 'click',
          recovered: true,
          billing_status: 'paid',
        },
      ],
    },
  })
  const steps = journey.campaigns[0].run as { step: string; reason: { code: string } | null; at: string }[]
  t.strictSame(
    steps.map(({ reason }) => reason?.code),
    ['started', 'trigger_delay', 'checked', 'message_queued', 'waiting', 'message_sent', 'bought'],
  )
  t.same(
    steps.map(({ at: time }) => time),
    steps.map(({ at: time }) => time).sort(),
  )
  const ofOrder = await get(`/events/journey?order_id=${orderId}`)
  t.same(ofOrder.outcome, journey.outcome)
  t.same(ofOrder.conversations, journey.conversations)

  const refunded = clock.pass(60)
  await stage.tell(brand, {
    topic: 'orders/updated',
    triggeredAt: refunded,
    body: order({
      checkout_id: 501,
      phone: '+3545550101',
      total_price: '75.00',
      financial_status: 'refunded',
      created_at: at.order.toISOString(),
      updated_at: refunded.toISOString(),
      processed_at: at.order.toISOString(),
    }),
  })
  t.equal(await look(), 1)
  t.match((await get(`/conversations/${conversationId}`)).goal, { state: 'pending', order_id: null })
  t.match(await get(`/commerce/orders/${orderId}`), { state: 'refunded', recovered_at: null })
  t.match((await get(`/events/journey?order_id=${orderId}`)).outcome, {
    recovered: false,
    recovered_amount: { amount: '0.00' },
    goals: [{ recovered: false, billing_status: 'refunded' }],
  })
})
