import t from 'tap'
import { setLogLevel } from '../src/log.ts'
import { campaignStage, writtenMessage } from './fixtures/campaign.ts'

/** What a worker whose clock was ahead claimed, once that is set back. */
setLogLevel('error')
const stage = await campaignStage(t)
const { clock, parts } = stage
const { sql, pipeline } = parts.postgres
const brand = await stage.brand()
await stage.campaign(brand, {})
await writtenMessage(stage, brand)
await sql`update campaign_run set due_at = ${clock.now()} where state = 'waiting'`
await sql`
  insert into trigger_event (brand_id, event_id, event_type, occurred_at, properties, due_at)
  values (${brand.id}, 'e', 'order_created', now(), '{}', now() + interval '1 day')`

const claim = (within: string) => sql`
  with runs as (update campaign_run set claim = gen_random_uuid(), claimed_until = now() + ${within}::interval)
  update message set claim = gen_random_uuid(), claimed_until = now() + ${within}::interval`

const longest = async (table: 'campaign_run' | 'message') =>
  (await sql`select max(claimed_until) <= now() + interval '5 minutes' as ends from ${sql(table)}`)[0]?.ends

t.test('a run that is claimed for longer than any claim lasts is soon anybody’s', async (t) => {
  await claim('1 day')
  await pipeline.run('set_back_brands')
  t.equal(await longest('campaign_run'), true)
})

t.test('so is a message', async (t) => {
  await claim('1 day')
  await pipeline.run('set_back_brands')
  t.equal(await longest('message'), true)
})

t.test('other claims stay', async (t) => {
  await claim('7 minutes')
  await pipeline.run('set_back_brands')
  t.same([await longest('campaign_run'), await longest('message')], [false, false])
})

t.test('an event that waits to start campaigns for longer than it should is due', async (t) => {
  await pipeline.run('set_back_brands')
  t.match(await sql`select due_at <= now() as is_due from trigger_event where event_id = 'e'`, [
    { is_due: true },
  ])
})
