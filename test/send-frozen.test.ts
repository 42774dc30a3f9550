import t from 'tap'
import { workCampaigns } from '../src/campaign/round.ts'
import { sendMessages } from '../src/campaign/sending.ts'
import { setLogLevel } from '../src/log.ts'
import type { Db } from '../src/op.ts'
import { campaignStage } from './fixtures/campaign.ts'
import { checkout } from './fixtures/store-bodies.ts'

/** A process that is frozen with a message in hand. */
setLogLevel('error')
const stage = await campaignStage(t)
const { clock, parts } = stage
const { postgres } = parts
const brand = await stage.brand()
await postgres.forBrand(brand.id).run('message_channel_put', ['sms', 'http_sms', '{}', null, 'lookup', 1])
await stage.campaign(brand, {})
const at = clock.pass(1).toISOString()
const body = checkout({ phone: '+3545550101', customer: { id: 7 }, created_at: at, updated_at: at })
await stage.tell(brand, { topic: 'checkouts/create', triggeredAt: clock.now(), body })
clock.pass(60)
await stage.tick()
await workCampaigns(parts, clock.now)
clock.pass(31)
await workCampaigns(parts, clock.now)

const { now } = Date
t.teardown(() => {
  Date.now = now
})
let slept = 0
Date.now = () => now() + slept

/** As `db`, in a process that sleeps once it has a message in hand. */
const sleepy = (db: Db, ms: number): Db => ({
  ...db,
  async tx(work) {
    let hasBegun = false
    const done = await db.tx((tx) =>
      work({
        ...tx,
        run: (name, args) => {
          hasBegun ||= name === 'messages_begun'
          return tx.run(name, args)
        },
      }),
    )
    if (hasBegun) slept += ms
    return done
  },
})

async function sendAsleep(ms: number): Promise<string[]> {
  const sent: string[] = []
  const open = () => ({
    takesOnce: 'by_key' as const,
    send: async ({ to }: { to: string }) => {
      sent.push(to)
      return { is: 'sent' as const, providerMessageId: null }
    },
  })
  const forBrand = (id: string) => sleepy(postgres.forBrand(id), ms)
  await sendMessages({ ...parts, open, postgres: { ...postgres, forBrand } }, clock.now)
  return sent
}

t.test('a sender that slept until its claim ended leaves the message to others', async (t) => {
  t.same(await sendAsleep(300_000), [])
  t.match(await postgres.sql`select status from message where direction = 'outbound'`, [{ status: 'queued' }])
})

t.test('who takes it then sends it', async (t) => {
  clock.pass(6)
  t.same(await sendAsleep(1_000), ['+3545550101'])
})
