import type { Test } from 'tap'
import { v7 } from 'uuid'
import { sealedSecret } from '../../src/campaign/channel-settings.ts'
import { type CampaignParts, runCampaigns } from '../../src/campaign/round.ts'
import { createCampaign, setCampaignStatus } from '../../src/campaign/saved.ts'
import { startRuns } from '../../src/campaign/starter.ts'
import { upsertContact } from '../../src/identity/contact.ts'
import type { Brand } from '../../src/op.ts'
import type { Postgres } from '../../src/store/postgres.ts'
import { brand as makeBrand } from '../fixtures/brand.ts'
import { database } from '../fixtures/database.ts'
import { fakeGateway } from '../fixtures/gateway.ts'
import { killable } from '../fixtures/killed.ts'
import { lake } from '../fixtures/lake.ts'
import type { RandomSource } from '../fixtures/random.ts'
import { SEAL } from '../fixtures/store.ts'

const MINUTE_MS = 60_000
const BEGIN = Date.parse('2026-06-01T00:00:00Z')
/** Longer than any lease or pause. */
const LONG_MS = 24 * 60 * MINUTE_MS

/** Processes that are ready to be told what time it is, so that a kill does not wait for the next one. */
const READY = 3

interface Stage {
  postgres: Postgres
  brand: Brand
  /** Minutes over which the runs become due. */
  minutes: number
}

/** Workers of campaigns are killed at random moments, on a clock that goes on from kill to kill. */
export async function killCampaigns(
  t: Test,
  random: RandomSource,
  { kills, runs }: { kills: number; runs: number },
): Promise<void> {
  const db = await database(t)
  const { postgres } = db
  const pipeline = await lake(t, db)
  const gateway = await fakeGateway(t)
  const brand = await makeBrand(db)
  const stage: Stage = { postgres, brand, minutes: kills }
  await setUp(stage, gateway.url, random, runs)

  const worker = () => killable(t, 'campaign-killed.ts', pipeline)
  const ready = Array.from({ length: Math.min(READY, kills) }, worker)
  for (let kill = 0; kill < kills; kill++) {
    const killedAfter = ready.shift()
    if (kill + READY < kills) ready.push(worker())
    const now = new Date(BEGIN + kill * MINUTE_MS)
    await killedAfter?.(random.below(120), now.toISOString())
  }
  const repeats = [...gateway.calls.values()].filter((calls) => calls > 1).length
  await settle(postgres, BEGIN + kills * MINUTE_MS)
  await judge(t, stage, { runs, taken: gateway.taken })
  t.comment(`${repeats} messages were sent again with their key`)
}

async function setUp(
  { postgres, brand, minutes }: Stage,
  url: string,
  random: RandomSource,
  runs: number,
): Promise<void> {
  const db = postgres.forBrand(brand.id)
  const secret = sealedSecret(SEAL, brand.id, 'sms', { password: 'token', signing: 'whsec_x' })
  await db.run('message_channel_put', [
    'sms',
    'http_sms',
    JSON.stringify({ url, from: null }),
    secret,
    v7(),
    1_000,
  ])
  await db.run('message_policy_put', ['00:00', '00:00', 1_000, null, null])
  const { id } = await createCampaign(
    db,
    {
      trigger_event: 'checkout_abandoned',
      action_type: 'sms',
      trigger_delay: { amount: 1, unit: 'minutes' },
      wait: { amount: 2, unit: 'minutes' },
    },
    'test',
  )
  await setCampaignStatus(db, id, 'active', new Date(BEGIN - LONG_MS))
  for (let n = 1; n <= runs; n++) {
    const phone = `+1202${String(2_000_000 + n)}`
    await postgres.sql`insert into customer (brand_id, subject, id, phone, provenance)
      values (${brand.id}, ${n}, ${`c${n}`}, ${phone}, 'server')`
    await db.tx(async (tx) => {
      await upsertContact(tx, { subject: n, email: null, phone, firstName: null, lastName: null })
      const at = new Date(BEGIN + random.below(Math.max(minutes - 4, 1)) * MINUTE_MS)
      const occurrence = {
        trigger: 'checkout_abandoned',
        providerId: null,
        key: `checkout_abandoned:${n}`,
        eventId: null,
        source: { kind: 'checkout' as const, id: String(n) },
        subject: n,
        at,
        facts: {},
      }
      await startRuns(tx, [occurrence], at)
    })
  }
}

/** Whatever was left in somebody's hands is done once its lease is over. */
async function settle(postgres: Postgres, from: number): Promise<void> {
  const lake = () => ({ sources: () => Promise.reject(new Error('no filter looks at customers')) })
  const parts: CampaignParts = { postgres, lake, seal: SEAL, agent: null, baseUrl: 'https://r.example' }
  for (let day = 0; day < 4; day++) {
    const now = from + day * LONG_MS
    for (let more = true; more; ) {
      const { started, worked, sent } = await runCampaigns(parts, () => new Date(now))
      more = started + worked + sent > 0
    }
  }
}

interface Judged {
  runs: number
  taken: ReadonlyMap<string, { text: string; to: string }>
}

async function judge(t: Test, { postgres, brand }: Stage, { runs, taken }: Judged): Promise<void> {
  const { sql } = postgres
  t.same(
    await sql`select state, outcome, count(*)::integer as runs from campaign_run where brand_id = ${brand.id} group by 1, 2`,
    [{ state: 'ended', outcome: 'completed', runs }],
    'no run is lost or stuck',
  )
  const messages = await sql<
    { key: string; body: string; status: string; phone: string; messages: number }[]
  >`
    select idempotency_key as key, body, message.status, phone from message
    join contact on contact.id = message.contact_id where message.brand_id = ${brand.id}`
  t.same(
    new Map(messages.map(({ key, body, phone, status }) => [key, `${status} ${phone} ${body}`])),
    new Map([...taken].map(([key, { text, to }]) => [key, `sent ${to} ${text}`])),
    'the gateway has each message once, and none that was not written',
  )
  t.equal(messages.length, runs, 'one message for each run')
  const ordinals = await sql`
    select run_id from run_step where brand_id = ${brand.id}
    group by run_id having max(ordinal) + 1 <> count(*) or count(*) filter (where reason = 'message_queued') <> 1
      or count(*) filter (where reason = 'message_sent') <> 1 or count(*) filter (where reason = 'completed') <> 1`
  t.same(ordinals, [], 'every step is there once')
}
