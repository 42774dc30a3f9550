import type { Test } from 'tap'
import { v7 } from 'uuid'
import { sealedSecret } from '../../src/campaign/channel-settings.ts'
import { createCampaign, setCampaignStatus } from '../../src/campaign/saved.ts'
import { startRuns } from '../../src/campaign/starter.ts'
import { upsertContact } from '../../src/identity/contact.ts'
import type { Brand } from '../../src/op.ts'
import type { Postgres } from '../../src/store/postgres.ts'
import { brand as makeBrand } from '../fixtures/brand.ts'
import { campaignParts } from '../fixtures/campaign-parts.ts'
import { runCampaigns } from '../fixtures/campaign-round.ts'
import { database } from '../fixtures/database.ts'
import { fakeGateway } from '../fixtures/gateway.ts'
import { killable } from '../fixtures/killed.ts'
import { lake } from '../fixtures/lake.ts'
import { type Mail, mailServer } from '../fixtures/mail-server.ts'
import type { RandomSource } from '../fixtures/random.ts'
import { SEAL } from '../fixtures/store.ts'

const MINUTE_MS = 60_000
const BEGIN = Date.parse('2026-06-01T00:00:00Z')
/** Longer than any lease or pause. */
const LONG_MS = 24 * 60 * MINUTE_MS

/** The first workers live until nothing is due: they say how long that takes here, and the others are killed within it. */
const SPARED = 4
const AT_TAKING = 0.15

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
  { kills, runs, over }: { kills: number; runs: number; over: 'http_sms' | 'smtp' },
): Promise<void> {
  const db = await database(t)
  const { postgres } = db
  const pipeline = await lake(t, db)
  const gateway = await fakeGateway(t)
  let worker: ReturnType<typeof killable> | undefined
  // Some die while a message is out of their hands, and its answer is not there yet.
  const onTaken = () => {
    if (worker && random.chance(AT_TAKING)) worker.kill()
  }
  gateway.onTaken = onTaken
  const { mails, port } = await mailServer(t, onTaken)
  const brand = await makeBrand(db)
  const minutes = SPARED + kills
  const stage: Stage = { postgres, brand, minutes }
  const settings =
    over === 'smtp'
      ? { host: '127.0.0.1', port, from: 'hello@lumen.example' }
      : { url: gateway.url, from: null }
  await setUp(stage, { over, settings }, random, runs)

  const start = () => killable(t, 'campaign-killed.ts', pipeline)
  const ready = Array.from({ length: Math.min(READY, minutes) }, start)
  let longest = 0
  for (let minute = 0; minute < minutes; minute++) {
    const next = ready.shift()
    if (minute + READY < minutes) ready.push(start())
    const now = new Date(BEGIN + minute * MINUTE_MS).toISOString()
    const share = random.below(1_000) / 1_000
    worker = minute < SPARED ? undefined : next
    if (minute < SPARED) longest = Math.max(longest, (await next?.(LONG_MS, now)) ?? 0)
    else await next?.(share * longest, now)
  }
  worker = undefined
  const [{ ended } = { ended: 0 }] = await postgres.sql<{ ended: number }[]>`
    select count(*) filter (where state = 'ended')::integer as ended from campaign_run where brand_id = ${brand.id}`
  t.comment(`${ended} of ${runs} runs were over when the last worker was killed`)
  t.ok(ended > 0, 'some were killed at their work, not before it')
  await settle(postgres, BEGIN + minutes * MINUTE_MS)
  if (over === 'smtp') return await judgeMails(t, stage, { runs, mails })
  await judge(t, stage, { runs, taken: gateway.taken })
  const repeats = [...gateway.calls.values()].filter((calls) => calls > 1).length
  t.comment(`${repeats} messages were sent again with their key`)
}

async function setUp(
  { postgres, brand, minutes }: Stage,
  { over, settings }: { over: 'http_sms' | 'smtp'; settings: object },
  random: RandomSource,
  runs: number,
): Promise<void> {
  const db = postgres.forBrand(brand.id)
  const channel = over === 'smtp' ? 'email' : 'sms'
  const secret = sealedSecret(SEAL, brand.id, channel, { password: null, signing: 'whsec_x' })
  await db.run('message_channel_put', [
    ...[channel, over, JSON.stringify(settings)],
    ...[secret, v7(), 1_000],
  ])
  await db.run('message_policy_put', ['00:00', '00:00', 1_000, null, null, null, null])
  const { id } = await createCampaign(
    db,
    {
      trigger_event: 'checkout_abandoned',
      action_type: channel,
      trigger_delay: { amount: 1, unit: 'minutes' },
      wait: { amount: 2, unit: 'minutes' },
    },
    'test',
  )
  await setCampaignStatus(db, id, 'active', new Date(BEGIN - LONG_MS))
  for (let n = 1; n <= runs; n++) {
    const phone = `+1202${String(2_000_000 + n)}`
    const email = `c${n}@example.com`
    await postgres.sql`insert into customer (brand_id, subject, id, email, phone, provenance)
      values (${brand.id}, ${n}, ${`c${n}`}, ${email}, ${phone}, 'server')`
    await db.tx(async (tx) => {
      await upsertContact(tx, { subject: n, email, phone, firstName: null, lastName: null })
      const at = new Date(BEGIN + random.below(Math.max(minutes - 4, 1)) * MINUTE_MS)
      const occurrence = {
        trigger: 'checkout_abandoned',
        providerId: null,
        definitionId: null,
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
  const parts = campaignParts(postgres)
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

/** A mail server has no keys: what it may have, it gets no second time. */
async function judgeMails(
  t: Test,
  { postgres, brand }: Stage,
  { runs, mails }: { runs: number; mails: readonly Mail[] },
): Promise<void> {
  const { sql } = postgres
  t.same(
    await sql`select count(*)::integer as runs from campaign_run where brand_id = ${brand.id} and state = 'ended'`,
    [{ runs }],
    'no run is lost or stuck',
  )
  const messages = await sql<{ id: string; status: string; reason: string | null; outcome: string }[]>`
    select message.id, message.status, message.reason, outcome from message
    join conversation on conversation.id = conversation_id join campaign_run as run on run.id = run_id
    where message.brand_id = ${brand.id}`
  t.equal(messages.length, runs, 'one message for each run')
  const arrived = mails.map(({ text }) => /^Message-ID: <([^@]+)@/m.exec(text)?.[1])
  t.equal(new Set(arrived).size, arrived.length, 'none arrived twice')
  const unknown = messages.filter(({ status }) => status !== 'sent')
  const sent = messages.filter(({ status }) => status === 'sent')
  t.same(
    unknown.filter(
      ({ status, reason, outcome }) =>
        status !== 'failed' || reason !== 'send_unknown' || outcome !== 'failed',
    ),
    [],
    'of others it is said that nobody knows, and their runs have failed',
  )
  t.same(
    sent.filter(({ id, outcome }) => !arrived.includes(id) || outcome !== 'completed'),
    [],
    'what was sent has arrived',
  )
  t.comment(`${sent.length} sent, ${unknown.length} unknown, ${arrived.length} arrived`)
}
