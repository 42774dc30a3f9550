import t from 'tap'
import { receiveMessage } from '../src/campaign/receive.ts'
import { workCampaigns } from '../src/campaign/round.ts'
import { workDueRuns } from '../src/campaign/runner.ts'
import { sendMessages } from '../src/campaign/sending.ts'
import { startByEvents } from '../src/campaign/start-events.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Db } from '../src/op.ts'
import { atOnceIn } from './fixtures/at-once.ts'
import { campaignStage } from './fixtures/campaign.ts'
import { askErasure, goOnErasing } from './fixtures/erasing.ts'
import { checkout } from './fixtures/store-bodies.ts'

/** A customer is erased while something is written about them. */
setLogLevel('error')
const stage = await campaignStage(t)
const { clock, app, parts } = stage
const { postgres } = parts
const { sql } = postgres
const atOnce = atOnceIn(postgres)
const PHONE = '+3545550101'

/** A checkout of a customer is abandoned, and a campaign waits for that. */
async function abandonedBrand() {
  clock.noon()
  const brand = await stage.brand()
  await stage.campaign(brand, { messages: { agent_reply: 'Here it is: {{cart.link}}' } })
  const at = clock.pass(1).toISOString()
  const body = checkout({
    phone: PHONE,
    customer: { id: 7 },
    abandoned_checkout_url: `https://${brand.shop_domain}/checkouts/501`,
    created_at: at,
    updated_at: at,
  })
  await stage.tell(brand, { topic: 'checkouts/create', triggeredAt: clock.now(), body })
  clock.pass(60)
  await stage.tick()
  return brand
}

/** The campaign's message is due. */
async function dueBrand() {
  const brand = await abandonedBrand()
  await workCampaigns(parts, clock.now)
  clock.pass(31)
  return brand
}

const say = (brand: Brand, db: Db, gatewayId: string) =>
  receiveMessage(
    { db, brandId: brand.id, storePlatformDomain: app.config.storePlatformDomain },
    { channel: 'sms', gatewayId, from: PHONE, text: 'Do you ship to Peru?', at: clock.now() },
  )

async function messagedBrand() {
  const brand = await dueBrand()
  await workCampaigns(parts, clock.now)
  await sendMessages(parts, clock.now)
  return brand
}

const workOn = (db: Db) =>
  workDueRuns({ ...parts, postgres: { ...postgres, forBrand: () => db } }, clock.now())

/** Both are done; the erasure was asked for before. */
async function whileErased(brand: Brand, statement: string, first: (db: Db) => Promise<unknown>) {
  await askErasure(app.pipeline, brand.id, '7')
  const erase = () => goOnErasing(app.pipeline, brand.id)
  const done = await atOnce(postgres.forBrand(brand.id), statement, first, erase)
  for (const one of done) if (one.status === 'rejected') throw one.reason
}

const saidIn = (brand: Brand) => sql`
  select body from message where brand_id = ${brand.id} and body <> ''
  union all select url from short_link where brand_id = ${brand.id} and url is not null`

t.test('a message that is written while its customer is erased is erased, too', async (t) => {
  const brand = await dueBrand()
  await whileErased(brand, 'runs_move', workOn)
  t.same(await saidIn(brand), [])
  t.match(
    await sql`select state, reason from run_step where brand_id = ${brand.id} order by ordinal desc limit 1`,
    [{ state: 'stopped', reason: 'contact_erased' }],
  )
})

t.test('so is a reply, with its links', async (t) => {
  const brand = await messagedBrand()
  await say(brand, postgres.forBrand(brand.id), 'in_1')
  await whileErased(brand, 'runs_move', workOn)
  t.equal((await sql`select from message where brand_id = ${brand.id}`).length, 3)
  t.same(await saidIn(brand), [])
})

t.test('so is what they write', async (t) => {
  const brand = await messagedBrand()
  await whileErased(brand, 'conversations_touch', (db) => say(brand, db, 'in_1'))
  t.equal((await sql`select from message where brand_id = ${brand.id}`).length, 2)
  t.same(await saidIn(brand), [])
})

t.test('so is what becomes of a message that is being sent', async (t) => {
  const brand = await dueBrand()
  await workCampaigns(parts, clock.now)
  const send = (db: Db) =>
    sendMessages({ ...parts, postgres: { ...postgres, forBrand: () => db } }, clock.now)
  await whileErased(brand, 'runs_of_messages', send)
  t.same(await saidIn(brand), [])
})

t.test('of events that are started one by one those of who is erased meanwhile start nothing', async (t) => {
  t.capture(process.stderr, 'write')
  const brand = await abandonedBrand()
  await askErasure(app.pipeline, brand.id, '7')
  const db = postgres.forBrand(brand.id)
  const steps: Db['tx'][] = [
    async () => {
      throw new Error('not all at once')
    },
    async (work) => {
      const listed = await db.tx(work)
      await goOnErasing(app.pipeline, brand.id)
      return listed
    },
  ]
  const tx: Db['tx'] = (work) => (steps.shift() ?? db.tx)(work)
  const { made } = await startByEvents({ ...postgres, forBrand: () => ({ ...db, tx }) }, clock.now())
  t.equal(made, 0)
  t.same(await sql`select from campaign_run where brand_id = ${brand.id}`, [])
})
