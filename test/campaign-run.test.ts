import connect from 'postgres'
import t from 'tap'
import { workCampaigns } from '../src/campaign/round.ts'
import { workDueRuns } from '../src/campaign/runner.ts'
import { startByEvents } from '../src/campaign/start-events.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { campaignStage, recoveredCheckout } from './fixtures/campaign.ts'
import { noting } from './fixtures/statements.ts'
import { checkout, order } from './fixtures/store-bodies.ts'

setLogLevel('error')
const stage = await campaignStage(t)
const { sql } = stage.db.postgres

const stepsOf = (runId: string) =>
  sql`select step, state, reason, at from run_step where run_id = ${runId} order by ordinal`

t.test('a checkout that is abandoned becomes a message, a click, an order and a converted run', async (t) => {
  const story = await recoveredCheckout(stage)
  const { brand, run, at, message, conversationId } = story
  t.match(
    message.body,
    /^Hi there, you left something at Test brand\. .* http:\/\/\S+\/t\/\w{12} Reply STOP to opt out\.$/,
  )
  t.equal(run.outcome, 'converted')
  t.same(await stepsOf(run.id), [
    { step: 'start', state: 'done', reason: 'started', at: at.abandoned },
    { step: 'delay', state: 'waiting', reason: 'trigger_delay', at: at.abandoned },
    { step: 'check', state: 'done', reason: 'checked', at: at.message },
    { step: 'message', state: 'done', reason: 'message_queued', at: at.message },
    { step: 'wait', state: 'waiting', reason: 'waiting', at: at.message },
    { step: 'message', state: 'done', reason: 'message_sent', at: at.message },
    { step: 'wait', state: 'done', reason: 'bought', at: stage.clock.now() },
  ])
  t.match(
    await sql`select status, sent_at, attempts, author, channel from message where id = ${message.id}`,
    [{ status: 'sent', sent_at: at.message, attempts: 1, author: 'campaign', channel: 'sms' }],
  )
  t.match(
    await sql`select checkout.external_id from conversation join checkout on checkout.id = checkout_id where conversation.id = ${conversationId}`,
    [{ external_id: story.checkoutId }],
  )
  t.match(await sql`select conversation_id, at from link_click where brand_id = ${brand.id}`, [
    { conversation_id: conversationId, at: at.click },
  ])
  t.match(await sql`select state from checkout where brand_id = ${brand.id}`, [{ state: 'recovered' }])
})

/** A guest whose orders said these numbers, and who typed another one in a checkout that is messaged about. */
async function guest(...orders: (string | null)[]) {
  const brand = await stage.brand()
  await stage.campaign(brand)
  const told = (at: Date, more: object) => ({
    ...{ customer: null, email: 'ann@example.com' },
    ...{ created_at: at.toISOString(), updated_at: at.toISOString(), processed_at: at.toISOString() },
    ...more,
  })
  for (const [n, phone] of orders.entries()) {
    const at = stage.clock.pass(10)
    await stage.tell(brand, {
      ...{ topic: 'orders/create', triggeredAt: at },
      body: order(told(at, { id: 1001 + n, phone })),
    })
  }
  const began = stage.clock.pass(60)
  const body = checkout(told(began, { phone: '+3545550202' }))
  await stage.tell(brand, { topic: 'checkouts/create', triggeredAt: began, body })
  stage.clock.pass(60)
  await stage.tick()
  await stage.pass(30)
  return {
    contacts: await sql`select email, phone from contact where brand_id = ${brand.id}`,
    messages: await sql`select channel, status from message where brand_id = ${brand.id}`,
  }
}

t.test('a shopper who was known by email gets an SMS at the number of a later checkout', async (t) => {
  const { contacts, messages } = await guest(null)
  t.same(contacts, [{ email: 'ann@example.com', phone: '+3545550202' }])
  t.match(messages, [{ channel: 'sms', status: 'sent' }])
})

t.test('an SMS about a checkout goes to its number, not to one of an older order', async (t) => {
  const { contacts, messages } = await guest(null, '+3545550101')
  t.same(contacts, [{ email: 'ann@example.com', phone: '+3545550202' }])
  t.match(messages, [{ channel: 'sms', status: 'sent' }])
})

t.test('a run whose statement takes too long is put off, and those beside it go on', async (t) => {
  stage.clock.noon()
  const brand = await stage.brand()
  await stage.campaign(brand)
  const at = stage.clock.pass(1)
  for (const n of [1, 2, 3]) {
    const times = { created_at: at.toISOString(), updated_at: at.toISOString() }
    const whose = { email: `slow${n}@example.com`, phone: `+354555030${n}`, customer: { id: 9300 + n } }
    const body = checkout({ id: 9300 + n, ...whose, ...times })
    await stage.tell(brand, { topic: 'checkouts/create', triggeredAt: at, body })
  }
  stage.clock.pass(60)
  await stage.tick()
  await stage.round()
  const [slow] = await sql`select id from campaign_run where brand_id = ${brand.id} order by id desc limit 1`
  const owner = connect(stage.db.url, { max: 1, onnotice: () => {} })
  t.teardown(async () => {
    await owner`drop function too_slow cascade`
    await owner.end()
  })
  await owner.unsafe(`
    create function too_slow() returns trigger language plpgsql as $$ begin
      raise exception 'canceling statement due to statement timeout' using errcode = '57014';
    end $$;
    create trigger too_slow before insert on run_step for each row when (new.run_id = '${slow?.id}' and new.step = 'message') execute function too_slow()`)
  stage.clock.pass(31)
  for (let round = 0; round < 3; round++) {
    await stage.round()
    stage.clock.pass(3)
  }
  t.same(
    [...(await sql`select status from message where brand_id = ${brand.id}`)],
    [{ status: 'sent' }, { status: 'sent' }],
  )
})

t.test('a brand for which every statement takes too long holds up no run of another brand', async (t) => {
  stage.clock.noon()
  const [slow, quick] = [await stage.brand(), await stage.brand()]
  const at = stage.clock.pass(1)
  const times = { created_at: at.toISOString(), updated_at: at.toISOString() }
  for (const brand of [slow, quick]) {
    await stage.campaign(brand)
    const body = checkout({ phone: '+3545550501', ...times })
    await stage.tell(brand, { topic: 'checkouts/create', triggeredAt: at, body })
  }
  stage.clock.pass(60)
  await stage.tick()
  await stage.round()
  stage.clock.pass(31)
  const { postgres } = stage.parts
  const forBrand: typeof postgres.forBrand = (brandId) => {
    const db = postgres.forBrand(brandId)
    const tx: typeof db.tx = async (work) => {
      if (brandId === slow.id) throw Object.assign(new Error('statement timeout'), { code: '57014' })
      return await db.tx(work)
    }
    return { ...db, tx }
  }
  await workDueRuns({ ...stage.parts, postgres: { ...postgres, forBrand } }, stage.clock.now())
  t.equal((await sql`select from message where brand_id = ${quick.id}`).count, 1)
})

t.test('a run that meets what another transaction made is worked on again at once', async (t) => {
  stage.clock.noon()
  const brand = await stage.brand()
  await stage.campaign(brand)
  const at = stage.clock.pass(1)
  const times = { created_at: at.toISOString(), updated_at: at.toISOString() }
  const body = checkout({ phone: '+3545550401', ...times })
  await stage.tell(brand, { topic: 'checkouts/create', triggeredAt: at, body })
  stage.clock.pass(60)
  await stage.tick()
  await stage.round()
  stage.clock.pass(31)
  const { postgres } = stage.parts
  let isOvertaken = false
  const forBrand: typeof postgres.forBrand = (brandId) => {
    const db = postgres.forBrand(brandId)
    const tx: typeof db.tx = async (work) => {
      if (brandId !== brand.id || isOvertaken) return await db.tx(work)
      isOvertaken = true
      throw Object.assign(new Error('duplicate key'), { code: '23505' })
    }
    return { ...db, tx }
  }
  await workDueRuns({ ...stage.parts, postgres: { ...postgres, forBrand } }, stage.clock.now())
  t.equal((await sql`select from message where brand_id = ${brand.id}`).count, 1)
})

/** Orders of long ago that came into the lake, and that start nothing. */
const oldOrders = (brand: Brand, count: number) => sql`
  insert into trigger_event (brand_id, event_id, event_type, occurred_at, properties)
  select ${brand.id}, 'old ' || n, 'order_created', timestamptz '2020-01-01' + n * interval '1 second', '{}'
  from generate_series(1, ${count}::integer) as n`
const waitingOf = async (brand: Brand) =>
  (await sql`select from trigger_event where brand_id = ${brand.id}`).count

t.test('events of a brand that has very many hold up those of no other brand', async (t) => {
  const [flooded, quiet] = [await stage.brand(), await stage.brand()]
  await stage.campaign(quiet, { trigger_event: 'order_created' })
  const at = stage.clock.pass(1)
  await oldOrders(flooded, 6_000)
  await sql`insert into trigger_event (brand_id, event_id, event_type, occurred_at, properties)
    values (${quiet.id}, 'paid', 'order_created', ${at}, '{"order_id": "o1"}')`
  await startByEvents(stage.parts.postgres, at)
  t.equal(await waitingOf(flooded), 1_000)
  t.equal((await sql`select from campaign_run where brand_id = ${quiet.id}`).count, 1)
  await stage.round()
})

t.test('nor runs that are due, and the rest of them comes next', async (t) => {
  stage.clock.noon()
  const [flooded, quiet] = [await stage.brand(), await stage.brand()]
  await stage.campaign(quiet)
  const at = stage.clock.pass(1).toISOString()
  const body = checkout({ phone: '+3545550601', created_at: at, updated_at: at })
  await stage.tell(quiet, { topic: 'checkouts/create', triggeredAt: stage.clock.now(), body })
  stage.clock.pass(60)
  await stage.tick()
  await stage.round()
  stage.clock.pass(31)
  await oldOrders(flooded, 6_000)
  const { postgres } = stage.parts
  const done: string[] = []
  const forBrand: typeof postgres.forBrand = (brandId) =>
    noting(postgres.forBrand(brandId), (name) => done.push(name))
  await workCampaigns({ ...stage.parts, postgres: { ...postgres, forBrand } }, stage.clock.now)
  t.ok(done.indexOf('runs_move') < done.lastIndexOf('trigger_events_done'), done.join(' '))
  t.equal(await waitingOf(flooded), 0)
})
