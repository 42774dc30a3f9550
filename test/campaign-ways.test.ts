import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { campaignResults } from '../jobs/campaign-results.ts'
import { campaigns } from '../jobs/campaigns.ts'
import { snapshot } from '../jobs/snapshot.ts'
import { createKey } from '../src/access/key.ts'
import { composerOptions } from '../src/campaign/composer.ts'
import { addDiscount, type NewDiscount, removeDiscount } from '../src/campaign/discount.ts'
import type { Occurrence } from '../src/campaign/occurrence.ts'
import { REASONS } from '../src/campaign/reason.ts'
import { setCampaignStatus, updateCampaign } from '../src/campaign/saved.ts'
import { startByResults } from '../src/campaign/start-results.ts'
import { startRuns } from '../src/campaign/starter.ts'
import { campaignCommands } from '../src/cli/campaign.ts'
import { createDefinition } from '../src/connect/custom/definitions.ts'
import { createProvider } from '../src/connect/custom/providers.ts'
import { signatureOf } from '../src/connect/custom/signature.ts'
import { startFakeStore } from '../src/connect/demo/store/server.ts'
import { ShopState } from '../src/connect/demo/store/state.ts'
import { importFile } from '../src/connect/import/import.ts'
import { parseExactly } from '../src/event/exact.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { createSegment } from '../src/segment/saved.ts'
import { POLL_SECONDS } from '../src/work.ts'
import { campaignStage } from './fixtures/campaign.ts'
import { runCampaigns } from './fixtures/campaign-round.ts'
import type { Teardown } from './fixtures/cluster.ts'
import { runCommand } from './fixtures/command.ts'
import { controlled } from './fixtures/control.ts'
import { passed } from './fixtures/lake.ts'
import { noting } from './fixtures/statements.ts'
import { SEAL } from './fixtures/store.ts'
import { checkout, order } from './fixtures/store-bodies.ts'
import { POINTS } from './fixtures/webhook.ts'

// Each way into a campaign, from what happened to the message in the outbox.

setLogLevel('error')
const stage = await campaignStage(t, 60)
const { clock, app, tell, db } = stage
const { sql } = db.postgres
const DAY_MINUTES = 1_440

const iso = (minutes = 0) => new Date(clock.now().getTime() + minutes * 60_000).toISOString()
const messagesOf = (brand: Brand) =>
  sql<{ body: string; status: string; phone: string | null; email: string | null }[]>`
    select body, message.status, phone, email from message
    join contact on contact.brand_id = message.brand_id and contact.id = message.contact_id
    where message.brand_id = ${brand.id} order by message.created_at, phone, email`
const endsOf = (brand: Brand) =>
  sql`select source_id, outcome, (array_agg(reason order by ordinal desc))[1] as reason
    from campaign_run as run join run_step on run_step.brand_id = run.brand_id and run_id = run.id
    where run.brand_id = ${brand.id} and run.outcome is not null group by run.id, source_id, outcome order by source_id`
const discount = (more: Partial<NewDiscount>): NewDiscount => ({
  name: 'Ten percent',
  type: 'percentage',
  value: '10',
  code: null,
  prefix: null,
  minimum_type: null,
  minimum_value: null,
  duration_days: null,
  ...more,
})

interface Shopper {
  /** Also of their checkout. */
  id: number
  tags?: string
  total_price?: string
}
const phoneOf = ({ id }: Shopper) => `+354555${String(1_000 + id)}`
const emailOf = ({ id }: Shopper) => `shopper${id}@example.com`
const person = (shopper: Shopper) => ({
  email: emailOf(shopper),
  phone: phoneOf(shopper),
  customer: { id: shopper.id, email: emailOf(shopper), phone: phoneOf(shopper) },
})

const bought = (brand: Brand, shopper: Shopper, id: number, minutes: number, more: object = {}) =>
  tell(brand, {
    topic: 'orders/create',
    triggeredAt: new Date(iso(minutes)),
    body: order({ id, ...person(shopper), ...times(minutes), processed_at: iso(minutes), ...more }),
  })
const tagged = (brand: Brand, shopper: Shopper, tags: string) =>
  tell(brand, {
    topic: 'customers/update',
    triggeredAt: clock.now(),
    body: JSON.stringify({ ...person(shopper).customer, tags, ...times(0) }),
  })
const left = (brand: Brand, shopper: Shopper) =>
  tell(brand, {
    topic: 'checkouts/create',
    triggeredAt: clock.now(),
    body: checkout({
      id: shopper.id,
      abandoned_checkout_url: `https://${brand.shop_domain}/checkouts/${shopper.id}`,
      ...person(shopper),
      ...(shopper.total_price && { total_price: shopper.total_price }),
      ...times(0),
    }),
  })
/** Shopper 1 leaves a checkout. */
const leaves = (brand: Brand, id: number) =>
  tell(brand, {
    topic: 'checkouts/create',
    triggeredAt: clock.now(),
    body: checkout({ id, ...person({ id: 1 }), ...times(0) }),
  })
const times = (minutes: number) => ({ created_at: iso(minutes), updated_at: iso(minutes) })

/** Nobody came back to the checkouts for an hour, and the campaign has started at that. */
async function abandoned() {
  clock.pass(60)
  await stage.tick()
  await stage.round()
}

t.test('a customer who becomes at risk is messaged, once for the order they last made', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const late = { id: 1 }
  const usual = { id: 2 }
  // Every ten days, the last one twenty days ago: one day more is more than twice as long.
  for (const [n, days] of [40, 30, 20].entries()) await bought(brand, late, 10 + n, -days * DAY_MINUTES)
  for (const [n, days] of [21, 11, 1].entries()) await bought(brand, usual, 20 + n, -days * DAY_MINUTES)
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.now() })
  await stage.campaign(brand, { trigger_event: 'customer_winback', wait: { amount: 1, unit: 'hours' } })
  const dayAfter = async () => {
    await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(DAY_MINUTES) })
    await startByResults(stage.parts, clock.now)
    await stage.pass(120)
  }
  await dayAfter()
  t.match(await messagesOf(brand), [{ phone: phoneOf(late), status: 'sent', body: /it has been a while/ }])
  await dayAfter()
  t.equal((await messagesOf(brand)).length, 1)
  t.match(await endsOf(brand), [{ outcome: 'completed', reason: 'completed' }])
})

t.test('who has ordered since in another currency is not won back', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  for (const id of [1, 2])
    for (const [n, days] of [40, 30, 20].entries())
      await bought(brand, { id }, 10 * id + n, -days * DAY_MINUTES)
  await bought(brand, { id: 1 }, 19, -60, { currency: 'EUR' })
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.now() })
  await stage.campaign(brand, { trigger_event: 'customer_winback' })
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(DAY_MINUTES) })
  await startByResults(stage.parts, clock.now)
  await stage.pass(60)
  t.match(await messagesOf(brand), [{ phone: phoneOf({ id: 2 }) }])
})

t.test('who became at risk while a campaign was paused is not messaged when it goes on', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  // One more day without an order is too much for the first, three more for the second.
  for (const [n, days] of [40, 30, 20].entries()) await bought(brand, { id: 1 }, 60 + n, -days * DAY_MINUTES)
  for (const [n, days] of [38, 28, 18].entries()) await bought(brand, { id: 2 }, 70 + n, -days * DAY_MINUTES)
  await stage.tick()
  const { id } = await stage.campaign(brand, { trigger_event: 'customer_winback' })
  const own = db.postgres.forBrand(brand.id)
  const refreshed = async () => {
    await refreshBrand(app.pipeline, brand.id, { asOf: clock.now() })
    await startByResults(stage.parts, clock.now)
  }
  clock.pass(60)
  await refreshed()
  await setCampaignStatus(own, id, 'paused', clock.now())
  clock.pass(2 * DAY_MINUTES)
  await setCampaignStatus(own, id, 'active', clock.now())
  clock.pass(60)
  await refreshed()
  await stage.round()
  t.equal((await sql`select from campaign_run where brand_id = ${brand.id}`).length, 0)
  clock.pass(DAY_MINUTES)
  await refreshed()
  await stage.pass(120)
  t.match(await messagesOf(brand), [{ phone: phoneOf({ id: 2 }) }])
})

/**
 * A brand with a winback campaign whose customers take thirty days between orders, until shopper 9 orders again: then
 * shopper 1 is at risk; shopper 3 is before.
 */
async function orderedMonthly() {
  clock.noon()
  const brand = await stage.brand()
  const orders: [shopper: number, days: number][] = [
    [1, 40],
    [3, 100],
    [4, 50],
    [4, 20],
    [9, 9],
  ]
  for (const [n, [id, days]] of orders.entries()) await bought(brand, { id }, 101 + n, -days * DAY_MINUTES)
  await stage.tick()
  const { id } = await stage.campaign(brand, { trigger_event: 'customer_winback' })
  const runs = async () => {
    await stage.tick()
    await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(15) })
    await startByResults(stage.parts, clock.now)
    return await sql`select from campaign_run where brand_id = ${brand.id}`
  }
  t.equal((await runs()).length, 0)
  return { brand, id, runs }
}

t.test('who becomes at risk since others order more often is messaged, who was before is not', async (t) => {
  const { brand, runs } = await orderedMonthly()
  await bought(brand, { id: 9 }, 110, 0)
  await runs()
  await stage.pass(60)
  t.match(await messagesOf(brand), [{ phone: phoneOf({ id: 1 }) }])
})

t.test('who becomes at risk as somebody orders twice for the first time is messaged', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  await bought(brand, { id: 1 }, 121, -90 * DAY_MINUTES)
  await bought(brand, { id: 9 }, 122, -20 * DAY_MINUTES)
  await stage.tick()
  await stage.campaign(brand, { trigger_event: 'customer_winback' })
  const search = async () => {
    await stage.tick()
    await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(15) })
    await startByResults(stage.parts, clock.now)
  }
  await search()
  await bought(brand, { id: 9 }, 123, 0)
  await search()
  await stage.pass(60)
  t.match(await messagesOf(brand), [{ phone: phoneOf({ id: 1 }) }])
})

t.test('who became at risk by orders of others while a campaign was paused does not start it', async (t) => {
  const { brand, id, runs } = await orderedMonthly()
  const own = db.postgres.forBrand(brand.id)
  await setCampaignStatus(own, id, 'paused', clock.now())
  await bought(brand, { id: 9 }, 110, 0)
  await stage.tick()
  clock.pass(15)
  await setCampaignStatus(own, id, 'active', clock.now())
  t.equal((await runs()).length, 0)
})

t.test('who buys is messaged about the order, unless they buy again', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  await stage.campaign(brand, { trigger_event: 'order_created' })
  const [once, twice] = [{ id: 1 }, { id: 2 }]
  clock.pass(10)
  // A store makes the order once it is paid.
  const paid = (shopper: Shopper, id: number, minutes: number) =>
    bought(brand, shopper, id, minutes, { processed_at: iso(minutes - 1 / 60) })
  await paid(once, 51, 0)
  await paid(twice, 52, -5)
  await paid(twice, 53, 0)
  await stage.tick()
  await stage.pass(30)
  t.match(
    (await messagesOf(brand)).map(({ phone }) => phone),
    [phoneOf(once), phoneOf(twice)],
  )
  t.match(await endsOf(brand), [{ source_id: '52', outcome: 'converted', reason: 'already_bought' }])
})

t.test('who enters the segment that a campaign names is messaged', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const { id: value } = await createSegment(db.postgres.forBrand(brand.id), {
    name: 'Regulars',
    definition: { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 2 } },
    createdBy: 'test',
  })
  const [regular, before, once] = [{ id: 1 }, { id: 2 }, { id: 3 }]
  for (const [n, shopper] of [regular, before, before, once].entries())
    await bought(brand, shopper, 30 + n, -DAY_MINUTES + n)
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.now() })
  clock.pass(1)
  await stage.campaign(brand, {
    trigger_event: 'segment_entered',
    filters: [{ field: 'event.segment_id', operator: '=', value }],
  })
  clock.pass(10)
  await bought(brand, regular, 40, -5)
  await stage.tick()
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.pass(15) })
  await startByResults(stage.parts, clock.now)
  await stage.pass(60)
  t.match(await messagesOf(brand), [{ phone: phoneOf(regular), status: 'sent' }])
  t.equal((await messagesOf(brand)).length, 1, 'neither who was a member before nor who is none')
})

t.test('who bought otherwise since they left a checkout is not messaged about it', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const [desk, before] = [{ id: 1 }, { id: 2 }]
  await stage.campaign(brand)
  clock.pass(5)
  await bought(brand, before, 31, -1)
  for (const shopper of [desk, before]) await left(brand, shopper)
  clock.pass(20)
  await bought(brand, desk, 30, 0)
  clock.pass(-20)
  await abandoned()
  await stage.pass(60)
  t.match(await endsOf(brand), [{ source_id: '1', outcome: 'converted', reason: 'already_bought' }])
  const messages = await messagesOf(brand)
  t.same(
    messages.map(({ phone }) => phone),
    [phoneOf(before)],
    'but who bought before is',
  )
})

t.test('so it is when the store touches that checkout again', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  await stage.campaign(brand)
  clock.pass(5)
  await left(brand, { id: 1 })
  await bought(brand, { id: 1 }, 30, 20)
  await abandoned()
  clock.pass(5)
  await left(brand, { id: 1, total_price: '80.00' })
  await stage.pass(60)
  t.same(await messagesOf(brand), [])
})

/** A campaign, half an hour after somebody entered a segment of tagged customers. */
async function enteringVips(brand: Brand) {
  await tagged(brand, { id: 1 }, 'early')
  await stage.tick()
  const { id: value } = await createSegment(db.postgres.forBrand(brand.id), {
    name: 'VIPs',
    definition: { source: 'customer_attributes', rule: { field: 'tags', op: 'contains', value: 'vip' } },
    createdBy: 'test',
  })
  await refreshBrand(app.pipeline, brand.id, { asOf: clock.now() })
  clock.pass(1)
  await stage.campaign(brand, {
    trigger_event: 'segment_entered',
    filters: [{ field: 'event.segment_id', operator: '=', value }],
    trigger_delay: { amount: 30, unit: 'minutes' },
  })
  return async (tags: string) => {
    clock.pass(5)
    await tagged(brand, { id: 1 }, tags)
    await stage.tick()
    await refreshBrand(app.pipeline, brand.id, { asOf: clock.now() })
    await startByResults(stage.parts, clock.now)
    await stage.round()
  }
}

t.test('who has left the segment again before the message is not messaged', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const become = await enteringVips(brand)
  await become('vip')
  t.same(await endsOf(brand), [], 'its run has begun')
  await become('early')
  await stage.pass(60)
  t.same(await messagesOf(brand), [])
  t.match(await endsOf(brand), [{ outcome: 'stopped', reason: 'filters_changed' }])
})

t.test('who enters a segment again before the message is messaged once', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const become = await enteringVips(brand)
  await become('vip')
  await become('early')
  await become('vip')
  await stage.pass(60)
  t.match(await messagesOf(brand), [{ phone: phoneOf({ id: 1 }), status: 'sent' }])
  t.equal((await messagesOf(brand)).length, 1)
  t.match(await endsOf(brand), [{ outcome: 'stopped', reason: 'superseded' }])
})

t.test(
  'who leaves another checkout long before the message about the first is messaged about that',
  async (t) => {
    clock.noon()
    const brand = await stage.brand()
    await stage.campaign(brand, { trigger_delay: { amount: 4, unit: 'hours' } })
    clock.pass(5)
    await leaves(brand, 1)
    await abandoned()
    clock.pass(120)
    await leaves(brand, 2)
    await abandoned()
    await stage.pass(90)
    t.match(await messagesOf(brand), [{ status: 'sent' }])
    await stage.pass(200)
    t.equal((await messagesOf(brand)).length, 1)
    t.match(await endsOf(brand), [{ source_id: '2', outcome: 'stopped', reason: 'superseded' }])
  },
)

t.test('each of two orders of a customer is told of', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  await stage.campaign(brand, { trigger_event: 'order_created', trigger_delay: { amount: 1, unit: 'hours' } })
  clock.pass(5)
  for (const id of [201, 202]) await bought(brand, { id: 1 }, id, 0)
  await stage.tick()
  await stage.pass(90)
  t.equal((await messagesOf(brand)).length, 2)
})

t.test('of checkouts that a customer left together the newest one is messaged about', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  await stage.campaign(brand)
  clock.pass(5)
  await leaves(brand, 1)
  clock.pass(0.5)
  await leaves(brand, 2)
  await abandoned()
  await stage.pass(60)
  t.equal((await messagesOf(brand)).length, 1)
  t.match(await endsOf(brand), [{ source_id: '1', outcome: 'stopped', reason: 'superseded' }])
})

for (const [when, minutes] of [
  ['at the same time', 30],
  ['later', 60],
] as const)
  t.test(`the frequency cap holds for a person with two contacts, messaged ${when}`, async (t) => {
    clock.noon()
    const brand = await stage.brand()
    const own = db.postgres.forBrand(brand.id)
    await own.run('message_policy_put', ['00:00', '00:00', 1, 7, null, null, null])
    await sql`
      insert into customer (brand_id, subject, id, provenance)
      values (${brand.id}, 1, 'phone', 'server'), (${brand.id}, 2, 'email', 'server')`
    await sql`insert into subject_redirect (brand_id, subject, customer) values (${brand.id}, 2, 1)`
    await sql`
      insert into contact (brand_id, id, subject, phone, email)
      values
        (${brand.id}, gen_random_uuid(), 1, ${phoneOf({ id: 1 })}, null),
        (${brand.id}, gen_random_uuid(), 2, null, ${emailOf({ id: 1 })})`
    await stage.campaign(brand, { trigger_delay: { amount: 30, unit: 'minutes' } })
    await stage.campaign(brand, {
      action_type: 'email',
      trigger_delay: { amount: minutes, unit: 'minutes' },
    })
    const occurrence: Occurrence = {
      ...{ trigger: 'checkout_abandoned', providerId: null, definitionId: null, eventId: null },
      ...{ key: 'left', source: { kind: 'checkout', id: 'left' }, subject: 1, at: clock.now(), facts: {} },
    }
    await own.tx((tx) => startRuns(tx, [occurrence], clock.now()))
    await stage.pass(90)
    t.equal((await messagesOf(brand)).length, 1)
    t.match(await endsOf(brand), [{ outcome: 'stopped', reason: 'frequency_cap' }])
  })

t.test('filters on the customer hold at the start, and again before the message', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const [vip, none, former] = [{ id: 1 }, { id: 2 }, { id: 3 }]
  await tagged(brand, vip, 'vip, early')
  await tagged(brand, none, 'early')
  await tagged(brand, former, 'vip')
  await stage.campaign(brand, {
    filters: [
      { field: 'customer_attributes.tags', operator: 'contains', value: 'vip' },
      { field: 'event.total', operator: '>=', value: '75.00' },
    ],
  })
  clock.pass(5)
  for (const shopper of [vip, none, former]) await left(brand, shopper)
  await abandoned()
  t.match(await endsOf(brand), [{ source_id: '2', outcome: 'not_started', reason: 'filters_not_met' }])
  clock.pass(5)
  await tagged(brand, former, 'early')
  await stage.tick()
  await stage.pass(30)
  t.match(await messagesOf(brand), [{ phone: phoneOf(vip), status: 'sent' }])
  t.match(await endsOf(brand), [
    { source_id: '2' },
    { source_id: '3', outcome: 'stopped', reason: 'filters_changed' },
  ])
})

/** What recoup campaign runs prints. */
const runsNow = (brand: Brand, campaign: string) =>
  runCommand<{ data: object[] }>(app, campaignCommands, 'campaign runs', {
    brand: brand.id,
    campaign,
    days: '365',
  })

t.test('campaign runs tells the branches of a split apart', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const branches = ['A', 'B'].map((name) => ({ name, weight: 1 }))
  await stage.campaign(brand, { name: 'Split', split: { branches } })
  clock.pass(5)
  for (let id = 1; id <= 20; id++) await left(brand, { id })
  await abandoned()
  await stage.pass(60)
  const { data } = (await runsNow(brand, 'Split')) as { data: { branch: string; runs: number }[] }
  const chosen = await sql`
    select branch, count(*)::integer as runs from campaign_run where brand_id = ${brand.id} group by branch order by branch`
  t.match(data, [...chosen])
  t.strictSame(
    data.map(({ branch }) => branch),
    ['A', 'B'],
  )
})

t.test('campaign runs says whom which rule kept from a message, of a campaign by its name', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const filters = [{ field: 'event.total', operator: '>=', value: '75.00' }]
  await stage.campaign(brand, { name: 'Large carts', filters })
  await stage.campaign(brand, { name: 'All carts' })
  clock.pass(5)
  for (const [id, total_price] of ['74.99', '10.00', '75.00'].entries())
    await left(brand, { id: 1 + id, total_price })
  await abandoned()
  const { rule } = REASONS.filters_not_met
  t.match((await runsNow(brand, 'Large carts')).data, [
    { campaign_name: 'Large carts', outcome: 'not_started', reason: 'filters_not_met', runs: 2, rule },
    { campaign_name: 'Large carts', outcome: 'in_progress', runs: 1 },
  ])
  t.match((await runsNow(brand, 'All carts')).data, [
    { campaign_name: 'All carts', outcome: 'in_progress', runs: 3 },
  ])
  await t.rejects(runsNow(brand, 'Nothing'), /--campaign: there is no campaign "Nothing".*"All carts"/)
})

const SOURCES = {
  'no file of the brand can be read': async () => {
    throw new Error('customers.sql: a mistake')
  },
  'none of its customers can be read': async () => ({
    ...{ generation: 0, asOf: clock.now() },
    rows: async () => {
      throw new Error('customers: no such column')
    },
  }),
}

/** A brand with a run that is due, of a campaign for which its customer is looked at. */
async function withDueVip() {
  clock.noon()
  const brand = await stage.brand()
  await tagged(brand, { id: 1 }, 'vip')
  await stage.campaign(brand, {
    filters: [{ field: 'customer_attributes.tags', operator: 'contains', value: 'vip' }],
  })
  clock.pass(5)
  await left(brand, { id: 1 })
  clock.pass(60)
  await stage.tick()
  return brand
}

for (const [what, sources] of Object.entries(SOURCES))
  t.test(`a run waits for as long as ${what}`, async (t) => {
    const brand = await withDueVip()
    for (let tries = 0; tries < 6; tries++) {
      await runCampaigns({ ...stage.parts, lake: () => ({ sources }) }, clock.now)
      clock.pass(61)
    }
    t.same(await endsOf(brand), [])
    await stage.pass(31)
    t.match(await messagesOf(brand), [{ phone: phoneOf({ id: 1 }), status: 'sent' }])
  })

t.test('runs of a brand that cannot be read wait ten minutes, and ask and say so once a look', async (t) => {
  const brand = await withDueVip()
  let asked = 0
  const sources = async () => {
    asked++
    throw new Error('customers.sql: a mistake')
  }
  const statements: string[] = []
  const forBrand = (id: string) => noting(stage.db.postgres.forBrand(id), (name) => statements.push(name))
  const postgres = { ...stage.db.postgres, forBrand }
  const look = () => runCampaigns({ ...stage.parts, postgres, lake: () => ({ sources }) }, clock.now)
  await look()
  await sql`
    insert into campaign_run
    select (jsonb_populate_record(run, jsonb_build_object('id', gen_random_uuid(), 'source_id', n, 'occurrence', n))).*
    from campaign_run as run cross join generate_series(1, 1999) as n where brand_id = ${brand.id}`
  clock.pass(9)
  t.match(await look(), { worked: 0 })
  clock.pass(1)
  asked = 0
  statements.length = 0
  const written = t.capture(process.stderr, 'write')
  t.match(await look(), { worked: 2_000 })
  const lines = written().map(({ args }) => JSON.parse(String(args[0])))
  t.match(lines, [
    { event: 'runs_put_off', brand_id: brand.id, count: 2_000, error: 'customers.sql: a mistake' },
  ])
  t.ok(asked <= 4, 'by those at the same time')
  t.equal(statements.filter((name) => name === 'runs_later').length, 8, 'one statement for 250 runs')
  t.same(await sql`select distinct attempts, due_at from campaign_run where brand_id = ${brand.id}`, [
    { attempts: 0, due_at: clock.pass(10) },
  ])
  await sql`delete from campaign_run where brand_id = ${brand.id}`
})

t.test('a statement that takes too long is no brand that cannot be read', async (t) => {
  const brand = await withDueVip()
  const sources = async () => {
    throw Object.assign(new Error('statement timeout'), { code: '57014' })
  }
  await runCampaigns({ ...stage.parts, lake: () => ({ sources }) }, clock.now)
  t.same(await sql`select attempts, due_at from campaign_run where brand_id = ${brand.id}`, [
    { attempts: 1, due_at: new Date(clock.now().getTime() + 30_000) },
  ])
  await sql`delete from campaign_run where brand_id = ${brand.id}`
})

t.test('filters look at what came in with the event that started the run', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  await stage.campaign(brand, {
    trigger_event: 'order_created',
    filters: [{ field: 'customer_attributes.tags', operator: 'contains', value: 'vip' }],
  })
  clock.pass(5)
  // At one instant, so that the second round may have the session of the first.
  for (const id of [1, 2]) {
    await tagged(brand, { id }, 'vip')
    await bought(brand, { id }, 80 + id, 0)
    await stage.tick()
    await stage.round()
  }
  t.same(await endsOf(brand), [])
})

t.test('a static discount gives everybody its code, in the text and in the link', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const saved = await addDiscount(db.postgres.forBrand(brand.id), discount({ code: 'SAVE10' }))
  await stage.campaign(brand, {
    discount_id: saved.id,
    messages: { sms: '{{discount.value}} with {{discount.code}}: {{cart.link}} Reply STOP to opt out.' },
  })
  clock.pass(5)
  const shoppers = [{ id: 1 }, { id: 2 }]
  for (const shopper of shoppers) await left(brand, shopper)
  await abandoned()
  await stage.pass(30)
  const messages = await messagesOf(brand)
  t.equal(messages.length, 2)
  for (const { body } of messages) {
    t.match(body, /^10% with SAVE10: http/)
    t.match(await stage.follow(body), { status: 302, location: /[?&]discount=SAVE10(&|$)/ })
  }
})

t.test('of another discount each contact gets a code that the store has made for them', async (t) => {
  const store = await startFakeStore({
    state: new ShopState(),
    shopDomain: 'any.myshopify.com',
    accessToken: 'shpat_test',
  })
  t.teardown(() => store.close())
  clock.noon()
  const brand = await stage.brand({ apiOrigin: store.origin })
  const saved = await addDiscount(
    db.postgres.forBrand(brand.id),
    discount({ prefix: 'BACK', duration_days: 7 }),
  )
  await stage.campaign(brand, {
    discount_id: saved.id,
    messages: { sms: 'Yours: {{discount.code}} {{cart.link}} Reply STOP to opt out.' },
  })
  clock.pass(5)
  const shoppers = [{ id: 1 }, { id: 2 }, { id: 3 }]
  for (const shopper of shoppers) await left(brand, shopper)
  await abandoned()
  await stage.pass(30)
  const messages = await messagesOf(brand)
  const codes = messages.map(({ body }) => /^Yours: (BACK-\w{8}) /.exec(body)?.[1])
  t.equal(new Set(codes).size, 3, 'a code of each one’s own')
  t.same([...store.discounts.keys()].sort(), codes.toSorted())
  for (const [n, { body }] of messages.entries())
    t.match(await stage.follow(body), { location: new RegExp(`discount=${codes[n]}`) })
})

t.test('who was started gets the discount of then, also when it was removed since', async (t) => {
  const brand = await stage.brand()
  const own = db.postgres.forBrand(brand.id)
  const saved = await addDiscount(own, discount({ code: 'SAVE10' }))
  const other = await addDiscount(own, discount({ name: 'Another', code: 'SAVE20' }))
  const messages = { sms: 'Yours: {{discount.code}} Reply STOP to opt out.' }
  const { id } = await stage.campaign(brand, { discount_id: saved.id, messages })
  clock.pass(5)
  await left(brand, { id: 1 })
  await abandoned()
  await stage.round()
  await updateCampaign(own, id, { discount_id: other.id }, { by: 'test', now: clock.now() })
  await removeDiscount(own, saved.id)
  await stage.pass(30)
  t.strictSame(
    (await messagesOf(brand)).map(({ body }) => body),
    ['Yours: SAVE10 Reply STOP to opt out.'],
  )
})

/** A store that is away, and how often it was asked. */
async function silentStore(
  t: Teardown,
  status = 503,
  headers: Record<string, string> = { 'retry-after': '60' },
): Promise<{ origin: string; asked: number }> {
  const away = createServer((_, response) => {
    store.asked++
    response.writeHead(status, headers).end()
  })
  await new Promise<void>((resolve) => away.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    away.closeAllConnections()
    away.close()
  })
  const store = { origin: `http://127.0.0.1:${(away.address() as AddressInfo).port}`, asked: 0 }
  return store
}

t.test(
  'a store that gives no answer is asked once for a round, and the other runs wait for the next',
  async (t) => {
    const store = await silentStore(t)
    clock.noon()
    const brand = await stage.brand({ apiOrigin: store.origin })
    const saved = await addDiscount(db.postgres.forBrand(brand.id), discount({ prefix: 'BACK' }))
    const { id } = await stage.campaign(brand, {
      discount_id: saved.id,
      messages: { sms: 'Yours: {{discount.code}} {{cart.link}} Reply STOP to opt out.' },
    })
    clock.pass(5)
    for (let shopper = 1; shopper <= 20; shopper++) await left(brand, { id: shopper })
    await abandoned()
    clock.pass(30)
    await stage.round()
    t.ok(store.asked >= 1 && store.asked <= 8, 'no more than are asked for at the same time')
    t.strictSame(
      (
        await sql`
        select attempts, count(*)::integer as runs, min(due_at) = ${new Date(clock.now().getTime() + 30_000)} as later
        from campaign_run where brand_id = ${brand.id} and state = 'waiting' group by attempts order by attempts`
      ).map((row) => ({ ...row })),
      [
        { attempts: 0, runs: 20 - store.asked, later: true },
        { attempts: 1, runs: store.asked, later: true },
      ],
    )
    await setCampaignStatus(db.postgres.forBrand(brand.id), id, 'archived', clock.now())
  },
)

t.test('a run whose store sends elsewhere waits for its code', async (t) => {
  const store = await silentStore(t, 302, { location: '/password' })
  clock.noon()
  const brand = await stage.brand({ apiOrigin: store.origin })
  const saved = await addDiscount(db.postgres.forBrand(brand.id), discount({ prefix: 'BACK' }))
  const { id } = await stage.campaign(brand, { discount_id: saved.id })
  clock.pass(5)
  await left(brand, { id: 1 })
  await abandoned()
  clock.pass(30)
  await stage.round()
  t.equal(store.asked, 1)
  t.match(await sql`select state, attempts from campaign_run where brand_id = ${brand.id}`, [
    { state: 'waiting', attempts: 1 },
  ])
  await setCampaignStatus(db.postgres.forBrand(brand.id), id, 'archived', clock.now())
})

t.test('a run with a code that is there already waits for no store', async (t) => {
  clock.noon()
  const brand = await stage.brand({ apiOrigin: (await silentStore(t)).origin })
  const offering = async (code: NewDiscount['code'], operator: string) => {
    const saved = await addDiscount(db.postgres.forBrand(brand.id), discount({ name: operator, code }))
    const messages = { sms: 'Yours: {{discount.code}} {{cart.link}} Reply STOP to opt out.' }
    const filters = [{ field: 'event.total', operator, value: '50.00' }]
    return await stage.campaign(brand, { discount_id: saved.id, messages, filters })
  }
  const made = await offering(null, '>=')
  await offering('SAVE10', '<')
  clock.pass(5)
  for (let shopper = 1; shopper <= 30; shopper++)
    await left(brand, { id: shopper, ...(shopper % 3 === 0 && { total_price: '20.00' }) })
  await abandoned()
  clock.pass(30)
  await stage.round()
  const bodies = (await messagesOf(brand)).map(({ body }) => body)
  t.equal(bodies.filter((body) => body.startsWith('Yours: SAVE10 ')).length, 10)
  await setCampaignStatus(db.postgres.forBrand(brand.id), made.id, 'archived', clock.now())
})

t.test('a message that offers a discount is not sent when the store makes no code', async (t) => {
  const store = await startFakeStore({
    state: new ShopState(),
    shopDomain: 'any.myshopify.com',
    accessToken: 'another token',
  })
  t.teardown(() => store.close())
  clock.noon()
  const brand = await stage.brand({ apiOrigin: store.origin })
  const saved = await addDiscount(db.postgres.forBrand(brand.id), discount({}))
  await stage.campaign(brand, {
    discount_id: saved.id,
    messages: { sms: '{{discount.code}} Reply STOP to opt out.' },
  })
  clock.pass(5)
  await left(brand, { id: 1 })
  await abandoned()
  await stage.pass(30)
  t.match(await endsOf(brand), [{ outcome: 'failed', reason: 'discount_failed' }])
  t.same(await messagesOf(brand), [])
})

t.test('without a store a code for each contact is sent by a demo alone', async (t) => {
  const offered = async (isDemo: boolean) => {
    clock.noon()
    const brand = await stage.brand()
    const saved = await addDiscount(db.postgres.forBrand(brand.id), discount({}))
    await stage.campaign(brand, { discount_id: saved.id })
    clock.pass(5)
    await left(brand, { id: 1 })
    await abandoned()
    await sql`delete from store_connection where brand_id = ${brand.id}`
    clock.pass(30)
    await runCampaigns({ ...stage.parts, isDemo: (id) => isDemo && id === brand.id }, clock.now)
    return brand
  }
  const real = await offered(false)
  t.match(await endsOf(real), [{ outcome: 'failed', reason: 'discount_failed' }])
  t.same(await messagesOf(real), [])
  t.match(await messagesOf(await offered(true)), [{ body: /with the code THANKS-\w{8}\./ }])
})

/** A webhook of a provider, with the id of what it tells of as its own. */
async function deliver(
  { webhook_url, webhook_secret }: { webhook_url: string; webhook_secret: string },
  type: string,
  data: { id: string; [name: string]: unknown },
) {
  const body = Buffer.from(JSON.stringify({ type, event_id: data.id, data }))
  const response = await fetch(webhook_url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-svc-signature': signatureOf(Buffer.from(webhook_secret), body),
      'x-svc-event-id': data.id,
      'x-svc-topic': type,
    },
    body,
  })
  return { status: response.status, body: (await response.json()) as { custom_event_id: string } }
}

t.test(
  'an event of a signed webhook starts the campaign of its provider, and its data is said',
  async (t) => {
    clock.noon()
    const brand = await stage.brand()
    const own = db.postgres.forBrand(brand.id)
    const options = { seal: SEAL, webhookUrl: stage.origin, withKey: false }
    const made = await createProvider(own, { name: 'Loyalty' }, options)
    await createDefinition(own, made.id, POINTS)
    await own.run('message_policy_put', ['00:00', '00:00', null, null, null, null, null])
    await stage.campaign(brand, {
      trigger_event: 'points_earned',
      provider_id: made.id,
      action_type: 'email',
      filters: [{ field: 'event.points', operator: '>=', value: 3 }],
      messages: { initial: 'You have {{event.points}} points. No more: {{opt_out.link}}' },
    })
    const send = (id: string, points: number, webhook_secret = made.webhook_secret) =>
      deliver({ ...made, webhook_secret }, 'points_earned', { id, points, email: `${id}@example.com` })
    const before = clock.now()
    t.teardown(() => clock.to(before))
    clock.to(new Date())
    t.equal((await send('forged', 9, 'another secret')).status, 401)
    const [enough, few] = [await send('ada', 4), await send('bob', 2)]
    t.match([enough, few], [{ status: 200 }, { status: 200 }])
    clock.to(new Date(Date.now() + 1_000))
    await stage.tick()
    await stage.round()
    await stage.pass(30)
    t.match(await messagesOf(brand), [{ email: 'ada@example.com', body: /^You have 4 points\. / }])
    t.match(
      new Map((await endsOf(brand)).map(({ source_id, reason }) => [source_id, reason])),
      new Map([[few.body.custom_event_id, 'filters_not_met']]),
    )
  },
)

t.test(
  'of an event the composer offers what comes with it, and nothing that says who somebody is',
  async (t) => {
    clock.noon()
    const brand = await stage.brand()
    const own = db.postgres.forBrand(brand.id)
    const options = { seal: SEAL, webhookUrl: stage.origin, withKey: false }
    const {
      id: provider_id,
      webhook_url,
      webhook_secret,
    } = await createProvider(own, { name: 'Club' }, options)
    const who = ['email', 'phone', 'phoneNumber', 'first_name', 'last_name', 'firstName', 'lastName', 'name']
    const names = ['id', 'plan', 'e_mail', 'mobile', 'address', ...who]
    await createDefinition(own, provider_id, {
      ...{ type: 'club_joined', name: 'Club joined' },
      payload_schema: {
        type: 'object',
        properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
      },
      identifier_mappings: { external_id_path: 'id', email_path: "$['e_mail']", phone_path: 'mobile' },
    })
    await own.run('message_policy_put', ['00:00', '00:00', null, null, null, null, null])
    const { filters } = await composerOptions(own, 'club_joined')
    const offered = filters.fields.filter(({ fact }) => fact === 'event').map(({ path }) => path)
    t.same(offered, ['id', 'plan'])
    const campaign = (said: readonly string[]) =>
      stage.campaign(brand, {
        ...{ trigger_event: 'club_joined', provider_id, action_type: 'email' },
        messages: { initial: `${said.map((name) => `{{event.${name}}}`).join(' ')} {{opt_out.link}}` },
      })
    for (const name of names.filter((name) => !offered.includes(name)))
      await t.rejects(campaign([name]), { code: 'bad_request' }, name)
    await campaign(offered)
    const before = clock.now()
    t.teardown(() => clock.to(before))
    clock.to(new Date())
    const data = {
      ...Object.fromEntries(names.map((name) => [name, `its-${name}`])),
      ...{ id: 'its-id', e_mail: 'ada@example.com', mobile: '+3545550177' },
    }
    const { status } = await deliver({ webhook_url, webhook_secret }, 'club_joined', data)
    t.equal(status, 200)
    clock.to(new Date(Date.now() + 1_000))
    await stage.tick()
    await stage.round()
    await stage.pass(30)
    t.match(await messagesOf(brand), [{ email: 'ada@example.com', body: /^its-id its-plan http/ }])
  },
)

t.test('whom a webhook names by address alone is called as the customer is', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const own = db.postgres.forBrand(brand.id)
  const file = t.testdir({ 'customers.ndjson': '{"email":"ada@example.com","first_name":"Ada"}\n' })
  await importFile({
    pipeline: app.pipeline,
    brand,
    kind: 'customers',
    file: join(file, 'customers.ndjson'),
  })
  const options = { seal: SEAL, webhookUrl: stage.origin, withKey: false }
  const provider = await createProvider(own, { name: 'Loyalty' }, options)
  await createDefinition(own, provider.id, POINTS)
  await own.run('message_policy_put', ['00:00', '00:00', null, null, null, null, null])
  await stage.campaign(brand, {
    ...{ trigger_event: 'points_earned', provider_id: provider.id, action_type: 'sms' },
    messages: { sms: 'Hi {{contact.first_name|there}}. Reply STOP to opt out.' },
  })
  const before = clock.now()
  t.teardown(() => clock.to(before))
  clock.to(new Date())
  const data = { id: 'a1', email: 'ada@example.com', member: { phone: '+3545550178' }, points: 4 }
  t.equal((await deliver(provider, 'points_earned', data)).status, 200)
  clock.to(new Date(Date.now() + 1_000))
  await stage.tick()
  await stage.round()
  await stage.pass(30)
  t.match(await messagesOf(brand), [{ phone: '+3545550178', body: /^Hi Ada\./ }])
})

t.test('integers beyond 2^53 keep every digit, in filters and in what is said', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const own = db.postgres.forBrand(brand.id)
  const options = { seal: SEAL, webhookUrl: stage.origin, withKey: false }
  const { id: provider_id } = await createProvider(own, { name: 'Loyalty' }, options)
  await createDefinition(own, provider_id, POINTS)
  await own.run('message_policy_put', ['00:00', '00:00', null, null, null, null, null])
  await stage.campaign(brand, {
    ...{ trigger_event: 'points_earned', provider_id, action_type: 'email' },
    filters: [{ field: 'event.points', operator: '=', value: parseExactly('9007199254740993') }],
    messages: { initial: 'You have {{event.points}} points. No more: {{opt_out.link}}' },
  })
  const { plaintext } = await createKey(own, { scopes: ['customers:read'] })
  const event = (id: string, points: string) =>
    `{"eventType":"points_earned","email":"${id}@example.com","properties":{"points":${points}}}`
  const before = clock.now()
  t.teardown(() => clock.to(before))
  clock.to(new Date())
  const { status } = await fetch(`${stage.origin}/cdp/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${plaintext}` },
    body: `{"events":[${event('ada', '9007199254740993')},${event('bob', '9007199254740992')}]}`,
  })
  t.equal(status, 200)
  clock.to(new Date(Date.now() + 1_000))
  await stage.tick()
  await stage.round()
  await stage.pass(30)
  t.match(await messagesOf(brand), [
    { email: 'ada@example.com', body: /^You have 9007199254740993 points\. / },
  ])
  t.match(await endsOf(brand), [{ reason: 'filters_not_met' }])
})

t.test('an accepted event has started its campaign within a minute, by the times of the jobs', async (t) => {
  clock.noon()
  const brand = await stage.brand()
  const own = db.postgres.forBrand(brand.id)
  const provider = await createProvider(
    own,
    { name: 'Loyalty' },
    { seal: SEAL, webhookUrl: stage.origin, withKey: false },
  )
  await createDefinition(own, provider.id, POINTS)
  await stage.campaign(brand, {
    trigger_event: 'points_earned',
    provider_id: provider.id,
    action_type: 'email',
  })
  const { plaintext } = await createKey(own, { scopes: ['customers:read'] })
  const event = { eventType: 'points_earned', eventId: 'p1', email: 'ada@example.com', properties: {} }
  const response = await fetch(`${stage.origin}/cdp/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${plaintext}`, 'content-type': 'application/json' },
    body: JSON.stringify({ events: [event] }),
  })
  t.equal(response.status, 200)
  await passed(app.pipeline)
  // Each job asks for its next turn itself: at worst the event came just after one had begun.
  const waits: number[] = []
  const waiting = (own: string) =>
    controlled({
      send: async (queue, _data, seconds = 0) => {
        if (queue === own) waits.push(seconds + POLL_SECONDS)
      },
    })
  await snapshot.run(app.pipeline, {}, waiting(snapshot.queue))
  await campaigns.run(stage.parts, {}, waiting(campaigns.queue))
  t.equal(waits.length, 2)
  const seconds = waits.reduce((sum, wait) => sum + wait, 0)
  t.ok(seconds <= 40, `${seconds} s, which leaves 20 s for the work itself`)
  t.match(await sql`select source_kind, source_id from campaign_run where brand_id = ${brand.id}`, [
    { source_kind: 'custom_event', source_id: 'p1' },
  ])
  t.equal(campaignResults.every, '* * * * *', 'what refreshes find starts within a minute of it, too')
})
