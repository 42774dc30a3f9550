import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { backup } from '../src/lake/backup.ts'
import { restore } from '../src/lake/restore.ts'
import { createSegment } from '../src/segment/saved.ts'
import { campaignStage } from './fixtures/campaign.ts'
import { database } from './fixtures/database.ts'
import { lake } from './fixtures/lake.ts'
import { checkout } from './fixtures/store-bodies.ts'

t.capture(process.stderr, 'write')

const stage = await campaignStage(t, 2)
const { clock, db } = stage
const brand = await stage.brand()
const own = db.postgres.forBrand(brand.id)
await own.run('message_policy_put', ['00:00', '00:00', null, null, null, null, null])
const segment = await createSegment(own, {
  name: 'reached',
  definition: { source: 'customer_profile', rule: { field: 'has_email', op: '=', value: true } },
  createdBy: 'test',
})
const soon = await stage.campaign(brand, { name: 'soon', trigger_delay: { amount: 5, unit: 'minutes' } })
const later = await stage.campaign(brand, { name: 'later', trigger_delay: { amount: 6, unit: 'days' } })
await stage.campaign(brand, {
  name: 'members',
  trigger_event: 'segment_entered',
  action_type: 'email',
  filters: [{ field: 'event.segment_id', operator: '=', value: segment.id }],
})
clock.pass(1)

/** Somebody leaves a checkout, an hour later it is abandoned. */
async function abandoned(id: number) {
  const at = clock.now().toISOString()
  const body = checkout({
    id,
    email: `${id}@example.com`,
    customer: { id },
    phone: `+1202555${id}`,
    created_at: at,
    updated_at: at,
  })
  await stage.tell(brand, { topic: 'checkouts/create', body })
  clock.pass(61)
  await stage.tick()
}
await abandoned(1001)
await stage.round()
await stage.pass(10)
await abandoned(1002)
await stage.round()
await stage.pass(10)
await abandoned(1003)
await stage.round()
const [unsent] = await db.postgres.sql<{ id: string }[]>`
  update message set status = 'queued', sent_at = null, next_attempt_at = ${clock.now()}
  where contact_id = (select id from contact where phone = '+12025551002') returning id`

const folder = mkdtempSync(join(tmpdir(), 'recoup-backup-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
await backup(stage.app.pipeline, folder)
const target = await database(t)
const restored = await restore(target.url, (await lake(t, target)).lakeDir, folder)
const { sql } = target.postgres

const runOf = async (phone: string, campaignId: string) => {
  const [run] = await sql<{ id: string; state: string; outcome: string | null; reasons: string[] }[]>`
    select run.id, state, outcome,
      (select array_agg(reason order by ordinal) from run_step where run_id = run.id) as reasons
    from campaign_run as run
    join contact on contact.brand_id = run.brand_id and contact.subject = run.subject
    where contact.phone = ${phone} and campaign_id = ${campaignId}`
  return run
}

t.test('a message that was to be sent since the backup is not sent again', async (t) => {
  t.match(await sql`select status, reason, next_attempt_at from message where id = ${unsent?.id ?? ''}`, [
    { status: 'failed', reason: 'send_unknown', next_attempt_at: null },
  ])
})

t.test('its run says so', async (t) => {
  const { state, outcome, reasons } = (await runOf('+12025551002', soon.id)) ?? {}
  t.same([state, outcome, reasons?.at(-1)], ['ended', 'failed', 'send_unknown'])
})

t.test('nor does a run say anything that was to since', async (t) => {
  const { state, reasons } = (await runOf('+12025551003', soon.id)) ?? {}
  t.same([state, reasons], ['ended', ['started', 'trigger_delay', 'send_unknown']])
})

t.test('a run that waits for an answer goes on', async (t) => {
  t.match(await runOf('+12025551001', soon.id), { state: 'waiting' })
})

t.test('a run that is due later goes on', async (t) => {
  t.match(await runOf('+12025551003', later.id), { state: 'waiting', reasons: ['started', 'trigger_delay'] })
})

t.test('campaigns start at what happens from then on', async (t) => {
  t.same(await sql`select name from campaign where awaits_since < now() - interval '10 minutes'`, [])
})

t.test('but at entries of segments only once each of these had its turn', async (t) => {
  t.same(await sql`select name from campaign where awaits_since > now() + interval '4 hours'`, [
    { name: 'members' },
  ])
})

t.test('it is said how many messages and runs ended, and how many campaigns begin anew', async (t) => {
  t.same(restored.campaigns, { messages: 1, runs: 2, campaigns: 3 })
})
