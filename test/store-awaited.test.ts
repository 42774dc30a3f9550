import t, { type Test } from 'tap'
import { startFakeStore } from '../src/connect/demo/store/server.ts'
import { ShopState } from '../src/connect/demo/store/state.ts'
import { reconcileAll } from '../src/connect/store/reconcile-all.ts'
import type { Brand } from '../src/op.ts'
import { statement } from '../src/store/sqlfile.ts'
import { openWatch } from '../src/store/watch.ts'
import { type CampaignStage, campaignStage } from './fixtures/campaign.ts'
import { type Database, database } from './fixtures/database.ts'
import { SEAL } from './fixtures/store.ts'
import { checkout, order } from './fixtures/store-bodies.ts'

t.capture(process.stderr, 'write')
const MINUTE_MS = 60_000

/** Whether somebody who begins to do the jobs is told that nobody did them, who was last seen so long ago. */
async function isBack({ postgres }: Database, seen: string | null): Promise<boolean> {
  await postgres.sql`update worker_watch set seen_at = now() - ${seen}::text::interval`
  return await openWatch(postgres)()
}

t.test('a service that begins its first day is not back', async (t) => {
  t.equal(await isBack(await database(t), null), false)
})

t.test('nor is one that was away for some minutes', async (t) => {
  t.equal(await isBack(await database(t), '9 minutes'), false)
})

t.test('one that was away for longer is, and whoever comes after it is not', async (t) => {
  const db = await database(t)
  t.equal(await isBack(db, '11 minutes'), true)
  t.equal(await openWatch(db.postgres)(), false)
})

t.test('whoever says so with an earlier time, but later, takes nothing back', async (t) => {
  const { postgres } = await database(t)
  await postgres.sql`update worker_watch set seen_at = now() - interval '1 day'`
  const resumed = () => postgres.sql`select resumed_at from worker_watch`
  await postgres.sql.begin(async (tx) => {
    await tx`select now()`
    t.equal(await openWatch(postgres)(), true)
    const before = [...(await resumed())]
    await tx.unsafe(statement('postgres', 'worker_seen'))
    t.same([...(await tx`select resumed_at from worker_watch`)], before)
  })
})

t.test('a machine that slept is back without a new process', async (t) => {
  const db = await database(t)
  let now = 0
  const watch = openWatch(db.postgres, () => now)
  await watch()
  await db.postgres.sql`update worker_watch set seen_at = now() - interval '1 day'`
  now += 86_400_000
  t.equal(await watch(), true)
})

t.test('a clock that was set back tells of no time without the service', async (t) => {
  const db = await database(t)
  await db.postgres.sql`update worker_watch set resumed_at = now() + interval '1 day'`
  await isBack(db, '-1 day')
  const [row] = await db.postgres.sql`select resumed_at from worker_watch`
  t.equal(row?.resumed_at, null)
})

interface Awaiting extends CampaignStage {
  shop: Brand
  state: ShopState
  /** Nobody listened until now. */
  back(): Promise<void>
  reconcile(): Promise<void>
  /** The states of all checkouts, the reasons of all steps, and what became of all messages. */
  seen(): Promise<{ checkouts: string[]; reasons: string[]; messages: string[] }>
}

/** A shop with a campaign for abandoned checkouts, an hour and a half after somebody began one. */
async function awaiting(t: Test): Promise<Awaiting> {
  const stage = await campaignStage(t, 2)
  const { clock, db } = stage
  const state = new ShopState()
  const store = await startFakeStore({ state, shopDomain: 'any', accessToken: 'shpat_test' })
  t.teardown(() => store.close())
  const shop = await stage.brand({ apiOrigin: store.origin })
  await db.postgres
    .forBrand(shop.id)
    .run('message_policy_put', ['00:00', '00:00', null, null, null, null, null])
  clock.to(new Date(Date.now() - 90 * MINUTE_MS))
  await stage.campaign(shop, { trigger_delay: { amount: 10, unit: 'minutes' } })
  clock.pass(1)
  const began = clock.now().toISOString()
  await stage.tell(shop, {
    topic: 'checkouts/create',
    body: checkout({ phone: '+12025550101', created_at: began, updated_at: began }),
  })
  return {
    ...stage,
    shop,
    state,
    back: async () => {
      await db.postgres.sql`update worker_watch set seen_at = now() - interval '1 day'`
      await openWatch(db.postgres)()
    },
    reconcile: () =>
      reconcileAll(
        {
          postgres: db.postgres,
          seal: SEAL,
          storePlatformDomain: 'myshopify.com',
          webhookUrl: 'https://hooks.example',
        },
        new AbortController().signal,
      ),
    async seen() {
      const { sql } = db.postgres
      const checkouts = await sql`select state from checkout order by external_id`
      const steps = await sql`select reason from run_step where reason is not null order by at, ordinal`
      const messages = await sql`select status from message order by created_at`
      return {
        checkouts: checkouts.map(({ state }) => state),
        reasons: steps.map(({ reason }) => reason),
        messages: messages.map(({ status }) => status),
      }
    },
  }
}

/** The clock is that of everybody. */
const toNow = ({ clock }: CampaignStage) => clock.to(new Date())

/** The same, whose checkout is abandoned by then. */
async function abandoned(t: Test): Promise<Awaiting> {
  const stage = await awaiting(t)
  stage.clock.pass(61)
  await stage.tick()
  return stage
}

/** Nobody listened until now, and what is due is looked at. */
async function backNow(stage: Awaiting): Promise<void> {
  toNow(stage)
  await stage.back()
  await stage.round()
}

t.test('no checkout is abandoned before the store was asked, and one that was bought is not', async (t) => {
  const stage = await awaiting(t)
  toNow(stage)
  await stage.back()
  await stage.tick()
  t.same((await stage.seen()).checkouts, ['open'])
  await stage.tell(stage.shop, { topic: 'orders/create', body: order({ checkout_id: 501 }) })
  await stage.reconcile()
  toNow(stage)
  await stage.tick()
  t.same((await stage.seen()).checkouts, ['completed'])
})

t.test('once the store was asked checkouts are abandoned as ever', async (t) => {
  const stage = await awaiting(t)
  toNow(stage)
  await stage.back()
  await stage.reconcile()
  await stage.tick()
  t.same((await stage.seen()).checkouts, ['abandoned'])
})

t.test('a message waits until the store was asked, and leaves then', async (t) => {
  const stage = await abandoned(t)
  await backNow(stage)
  t.same((await stage.seen()).reasons, ['started', 'store_awaited'])
  await stage.reconcile()
  toNow(stage)
  await stage.round()
  t.same((await stage.seen()).messages, ['sent'])
})

t.test('so does one that had been written', async (t) => {
  const stage = await written(t)
  await backNow(stage)
  t.same((await stage.seen()).messages, ['queued'])
  await stage.reconcile()
  toNow(stage)
  await stage.round()
  t.same((await stage.seen()).messages, ['sent'])
})

t.test('a store that cannot be asked keeps nobody waiting for more than an hour', async (t) => {
  const stage = await abandoned(t)
  await backNow(stage)
  await stage.pass(59)
  t.same((await stage.seen()).messages, [])
  await stage.pass(2)
  t.same((await stage.seen()).messages, ['sent'])
})

t.test('a store that refuses its token is not waited for', async (t) => {
  const stage = await awaiting(t)
  stage.clock.pass(61)
  await stage.db.postgres.sql`update store_connection set status = 'refused'`
  await stage.back()
  await stage.tick()
  t.same((await stage.seen()).checkouts, ['abandoned'])
})

t.test('what was to be said more than three days ago is not', async (t) => {
  const stage = await abandoned(t)
  stage.clock.pass(10 + 3 * 24 * 60)
  await stage.round()
  t.same((await stage.seen()).reasons, ['started', 'too_late'])
})

t.test('what was to be said nearly as long ago is', async (t) => {
  const stage = await abandoned(t)
  stage.clock.pass(8 + 3 * 24 * 60)
  await stage.round()
  t.same((await stage.seen()).messages, ['sent'])
})

/** A message that is written, and does not leave. */
async function written(t: Test): Promise<Awaiting> {
  const stage = await abandoned(t)
  stage.clock.pass(15)
  await stage.round()
  await stage.db.postgres.sql`
    update message set status = 'queued', sent_at = null, next_attempt_at = ${stage.clock.now()}`
  return stage
}

t.test('what was written more than three days ago, before an outage, is sent to nobody', async (t) => {
  const stage = await written(t)
  await stage.back()
  stage.clock.pass(3 * 24 * 60 + 1)
  await stage.round()
  t.same((await stage.seen()).reasons.at(-1), 'too_late')
  t.same((await stage.seen()).messages, ['failed'])
})

t.test('what a channel had no turn for in three days is sent', async (t) => {
  const stage = await written(t)
  stage.clock.pass(3 * 24 * 60 + 1)
  await stage.round()
  t.same((await stage.seen()).messages, ['sent'])
})

t.test('what waits for orders is due once these were read, whatever else cannot be', async (t) => {
  const stage = await abandoned(t)
  await backNow(stage)
  await stage.db.postgres.sql`
    insert into store_sync (brand_id, purpose, entity, since, total, started_at, finished_at)
    values (${stage.shop.id}, 'reconcile', 'orders', now(), 0, now(), now())`
  await stage.db.postgres.forBrand(stage.shop.id).run('store_awaited_over')
  toNow(stage)
  await stage.round()
  t.same((await stage.seen()).messages, ['sent'])
})
