import t from 'tap'
import { v7 } from 'uuid'
import { METRIC_NAMES } from '../src/campaign/metric.ts'
import { createCampaign, setCampaignStatus } from '../src/campaign/saved.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { statsOps } from '../src/ops/stats.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, lakeOf, tick } from './fixtures/lake.ts'
import { client } from './fixtures/shop.ts'

setLogLevel('error')

/** Half past ten in the evening of the 19th in New York. */
const NOW = new Date('2026-11-20T03:30:00Z')
const DAY = 86_400_000
const db = await database(t)
const { sql } = db.postgres
const pipeline = await lake(t, db)
const made = await api(t, db, statsOps, { lake: lakeOf(t, pipeline), now: () => NOW })
const brand = await newBrand(db)
await sql`update brand set timezone = 'America/New_York' where id = ${brand.id}`
const as = await made.key(brand, ['stats:read', 'campaigns:read'])
const own = db.postgres.forBrand(brand.id)

async function campaign(name: string, status: 'active' | 'paused' | 'archived' | null = 'active') {
  const sent = { name, trigger_event: 'checkout_abandoned', action_type: 'agent' as const }
  const { id } = await createCampaign(own, sent, 'test')
  if (status) await setCampaignStatus(own, id, 'active', NOW)
  if (status && status !== 'active') await setCampaignStatus(own, id, status, NOW)
  return id
}

/** A conversation with one message, so many days before now, and what it recovered. */
async function converse(of: Brand, campaign_id: string | null, daysAgo: number, recovered?: number) {
  const at = new Date(NOW.getTime() - daysAgo * DAY)
  const id = v7()
  await sql`insert into conversation ${sql({ brand_id: of.id, id, campaign_id, channel: 'sms', created_at: at })}`
  await sql`insert into message ${sql({
    ...{
      brand_id: of.id,
      id: v7(),
      conversation_id: id,
      idempotency_key: id,
      direction: 'outbound',
      body: 'Hi',
    },
    ...{ author: 'campaign', channel: 'sms', status: 'sent', created_at: at, sent_at: at },
  })}`
  if (recovered === undefined) return
  await sql`insert into attribution ${sql({
    ...{ brand_id: of.id, order_id: v7(), conversation_id: id, campaign_id, touch: 'message', touch_at: at },
    ...{ ordered_at: at, amount: recovered, currency_code: 'USD' },
  })}`
}

const [one, other, paused] = [
  await campaign('One'),
  await campaign('Other'),
  await campaign('Paused', 'paused'),
]
await converse(brand, one, 0, 30)
await converse(brand, one, 1)
await converse(brand, one, 29.9, 12.5)
await converse(brand, one, 31, 17)
await converse(brand, other, 2)
await converse(brand, null, 3)
await converse(brand, null, 40)
await tick(pipeline)

const ask = client(t, made, as)
const stats = async (query: string) => (await ask(`GET /v1/stats?${query}`)).body
const valuesOf = (body: {
  stats: { name: string; current_value: string; previous_value: string; progress: number }[]
}) =>
  body.stats.map(({ name, current_value, previous_value, progress }) => [
    ...[name, current_value, previous_value, progress],
  ])

t.test('a list of nothing is refused', async (t) => {
  const refused = await ask('GET /v1/stats?stats=,')
  t.match(refused, { status: 400, body: { error: { message: /^stats must not be empty/ } } })
})

t.test('metrics of the last thirty days against the thirty before, in the order asked for', async (t) => {
  const body = await stats(
    'stats=recovered_sales,profit,recovery_rate,conversations_started&stats=messages_sent&stats=margin',
  )
  t.same(valuesOf(body), [
    ['recovered_sales', '42.50', '17.00', 150],
    ['recovery_rate', '40.00', '50.00', -20],
    ['conversations_started', '5', '2', 150],
    ['messages_sent', '5', '2', 150],
  ])
  t.same(body.errors, ['profit', 'margin'])
  t.same(body.date_range, {
    ...{ from: '2026-10-21', to: '2026-11-19', compare_from: '2026-09-21', compare_to: '2026-10-20' },
  })
  t.equal(body.brand_id, brand.id)
  t.same(body.query, {
    stats: ['recovered_sales', 'profit', 'recovery_rate', 'conversations_started', 'messages_sent', 'margin'],
    ...{ campaign_id: null, timezone: 'America/New_York' },
  })
  const [sales] = body.stats
  t.equal(sales.chart.dates.length, 30)
  t.same([sales.chart.dates[0], sales.chart.values[0]], ['2026-10-21', 12.5])
  t.same([sales.chart.dates[29], sales.chart.values[29]], ['2026-11-19', 30])
  t.same(sales.comparison_chart.dates.at(-1), '2026-10-20')
  const told = await made.tool('get_performance_stats', { stats: ['recovered_sales', 'profit'] }, { as })
  t.match(told.body.result.structuredContent, { stats: [{ current_value: '42.50' }], errors: ['profit'] })
})

t.test('days are those of the time zone that is asked for', async (t) => {
  const of = (timezone: string) =>
    stats(`stats=conversations_started&from=2026-11-19&to=2026-11-20&timezone=${timezone}`)
  t.same((await of('America/New_York')).stats[0].chart.values, [1, 0])
  t.same((await of('UTC')).stats[0].chart.values, [1, 1])
  t.same((await of('Pacific/Auckland')).stats[0].chart.values, [1, 1])
  t.same((await stats('stats=conversations_started&timezone=Pacific/Auckland')).date_range.to, '2026-11-20')
  for (const wrong of [
    'timezone=Mars',
    'timezone=%2B02:00',
    'from=2026-02-30',
    'from=yesterday',
    'to=2026-11-20T00:00:00Z',
    'from=2026-11-20&to=2026-11-19',
    'from=2020-01-01',
  ])
    t.equal((await ask(`GET /v1/stats?stats=messages_sent&${wrong}`)).status, 400, wrong)
  t.equal((await ask('GET /v1/stats')).status, 400)
})

t.test('of one campaign, and of a brand to which nothing happened', async (t) => {
  const body = await stats(`stats=recovered_orders,average_recovered_order_value&campaign_id=${one}`)
  t.same(valuesOf(body), [
    ['recovered_orders', '2', '1', 100],
    ['average_recovered_order_value', '21.25', '17.00', 25],
  ])
  t.equal(body.query.campaign_id, one)
  t.equal((await ask(`GET /v1/stats?stats=messages_sent&campaign_id=${v7()}`)).status, 404)

  const quiet = await newBrand(db)
  const all = await client(
    t,
    made,
    await made.key(quiet, ['stats:read']),
  )(`GET /v1/stats?stats=${METRIC_NAMES.join(',')}`)
  t.equal(all.body.stats.length, METRIC_NAMES.length)
  for (const { name, current_value, progress } of all.body.stats)
    t.ok(['0', '0.00'].includes(current_value) && progress === 0, name)
})

t.test('campaigns are compared: the active ones, or those named', async (t) => {
  const compare = async (query: string) => (await ask(`GET /v1/campaigns/compare?${query}`)).body
  const active = await compare('stats=recovered_sales,profit')
  t.same(
    active.campaigns.map(({ id }: { id: string }) => id),
    [other, one],
  )
  const [, first] = active.campaigns
  t.same(first, {
    ...{ id: one, name: 'One', type: 'checkout_recovery', status: 'active', is_paused: false },
    stats: [
      {
        ...{ name: 'recovered_sales', title: 'Recovered sales' },
        ...{ current_value: '42.50', previous_value: '17.00', progress: 150 },
      },
    ],
    errors: [],
  })
  t.match(active, {
    brand_id: brand.id,
    date_range: { from: '2026-10-21', to: '2026-11-19' },
    stats: ['recovered_sales'],
    errors: ['profit'],
  })
  t.match(active.notes.join(' '), /America\/New_York.* USD/)

  const missing = v7()
  const named = await compare(`campaign_ids=${paused}&campaign_ids=${one},${missing}`)
  t.same(
    named.campaigns.map(({ id, stats: found }: { id: string; stats: unknown[] }) => [id, found.length]),
    [
      [paused, METRIC_NAMES.length],
      [one, METRIC_NAMES.length],
    ],
  )
  t.same(named.errors, [`There is no campaign ${missing}.`])
  const twice = await compare(`campaign_ids=${one},${one.toUpperCase()}`)
  t.same(
    twice.campaigns.map(({ id }: { id: string }) => id),
    [one],
    'an id counts once, however it is written',
  )
  t.equal((await ask('GET /v1/campaigns/compare?campaign_ids=x')).status, 400)
  const quiet = await client(
    t,
    made,
    await made.key(await newBrand(db), ['campaigns:read']),
  )('GET /v1/campaigns/compare')
  t.match(quiet.body, { campaigns: [], notes: [String, String, 'No campaign is active.'] })
})
