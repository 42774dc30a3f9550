import t from 'tap'
import { workCampaigns } from '../src/campaign/round.ts'
import { policyCommands } from '../src/cli/policy.ts'
import type { Brand } from '../src/op.ts'
import { campaignStage } from './fixtures/campaign.ts'
import { runCommand } from './fixtures/command.ts'
import { checkout } from './fixtures/store-bodies.ts'

t.capture(process.stderr, 'write')
const stage = await campaignStage(t)
const { clock, app } = stage
const { sql } = stage.db.postgres
const MINUTE_MS = 60_000
const HOUR = 60

const timeIn = (minutes: number) => new Date(Date.now() + minutes * MINUTE_MS).toISOString().slice(11, 16)

const quiet = (brand: Brand, from: string, until: string) =>
  runCommand(app, policyCommands, 'policy set', { brand: brand.id, 'quiet-from': from, 'quiet-until': until })

/** Somebody in Iceland, where clocks show UTC, whose checkout is abandoned; a campaign is about to write to them. */
async function abandoned() {
  clock.to(new Date(Date.now() - 100 * MINUTE_MS))
  const brand = await stage.brand()
  await stage.campaign(brand)
  const at = clock.pass(1).toISOString()
  const body = checkout({ id: 7_001, phone: '+3545551001', created_at: at, updated_at: at })
  await stage.tell(brand, { topic: 'checkouts/create', triggeredAt: clock.now(), body })
  clock.pass(60)
  await stage.tick()
  await workCampaigns(stage.parts, clock.now)
  clock.to(new Date())
  return brand
}
const statusOf = async (brand: Brand) =>
  (await sql`select status from message where brand_id = ${brand.id}`).map(({ status }) => status)
const round = async () => {
  clock.to(new Date())
  await stage.round()
}
const stepsOf = async (brand: Brand) =>
  (await sql`select reason from run_step where brand_id = ${brand.id} order by ordinal`).map(
    ({ reason }) => reason,
  )

t.test('a run that waits for the end of quiet hours goes on once these are taken away', async (t) => {
  const brand = await abandoned()
  await quiet(brand, timeIn(-2 * HOUR), timeIn(3 * HOUR))
  await round()
  t.same(await statusOf(brand), [])
  await quiet(brand, '00:00', '00:00')
  await round()
  t.same(await statusOf(brand), ['sent'])
})

t.test('and waits on where it is quiet still', async (t) => {
  const brand = await abandoned()
  await quiet(brand, timeIn(-2 * HOUR), timeIn(3 * HOUR))
  await round()
  await quiet(brand, timeIn(-2 * HOUR), timeIn(2 * HOUR))
  await round()
  t.same(await statusOf(brand), [])
  const [{ minutes } = {}] = await sql`
    select extract(epoch from due_at - now()) / 60 as minutes from campaign_run where brand_id = ${brand.id}`
  t.ok(minutes > HOUR && minutes <= 2 * HOUR, `${minutes} minutes`)
})

t.test('a message that was written and waits for their end leaves once these are taken away', async (t) => {
  const brand = await abandoned()
  await quiet(brand, '00:00', '00:00')
  await workCampaigns(stage.parts, clock.now)
  await quiet(brand, timeIn(-2 * HOUR), timeIn(3 * HOUR))
  await round()
  t.same(await statusOf(brand), ['queued'])
  await quiet(brand, '00:00', '00:00')
  await round()
  t.same(await statusOf(brand), ['sent'])
})

t.test('a run that waits for its delay does so with other quiet hours', async (t) => {
  const brand = await abandoned()
  await sql`update campaign_run set due_at = now() + interval '1 day' where brand_id = ${brand.id}`
  await quiet(brand, '00:00', '00:00')
  await round()
  t.same(await stepsOf(brand), ['started', 'trigger_delay'])
})

t.test('a run that waits for the end of quiet hours stays so where only the cap is changed', async (t) => {
  const brand = await abandoned()
  await quiet(brand, timeIn(-2 * HOUR), timeIn(3 * HOUR))
  await round()
  const before = await stepsOf(brand)
  await runCommand(app, policyCommands, 'policy set', { brand: brand.id, 'cap-messages': '9' })
  await round()
  t.same(await stepsOf(brand), before)
})
