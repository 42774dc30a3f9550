import t from 'tap'
import { sendMessages } from '../src/campaign/sending.ts'
import { setLogLevel } from '../src/log.ts'
import type { Db } from '../src/op.ts'
import { campaignStage, writtenMessage } from './fixtures/campaign.ts'

/** A process that is frozen with a message in hand. */
setLogLevel('error')
const stage = await campaignStage(t)
const { clock, parts } = stage
const { postgres } = parts
const brand = await stage.brand()
await postgres.forBrand(brand.id).run('message_channel_put', ['sms', 'http_sms', '{}', null, 'lookup', 1])
await stage.campaign(brand, {})
await writtenMessage(stage, brand)

const { now } = Date
t.teardown(() => {
  Date.now = now
})
let slept = 0
Date.now = () => now() + slept

/** As `db`, in a process that sleeps once it has a message in hand. */
const sleepy = (db: Db, asleep: () => Promise<void>): Db => ({
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
    if (hasBegun) await asleep()
    return done
  },
})

async function sendAsleep(asleep: () => Promise<void>): Promise<string[]> {
  const sent: string[] = []
  const open = () => ({
    takesOnce: 'never_again' as const,
    send: async ({ to }: { to: string }) => {
      sent.push(to)
      return { is: 'sent' as const, providerMessageId: null }
    },
  })
  const forBrand = (id: string) => sleepy(postgres.forBrand(id), asleep)
  await sendMessages({ ...parts, open, postgres: { ...postgres, forBrand } }, clock.now)
  return sent
}

const sleeps = (ms: number) => async () => {
  slept += ms
}
const messages = () =>
  postgres.sql`select status, attempts, begun_at, claim, claimed_until from message where direction = 'outbound'`
const NOBODYS = { claim: null, claimed_until: null }

t.test(
  'a sender that slept until its claim ended leaves a message that another one has to that',
  async (t) => {
    const claim = '01930c7e-5b1a-7c3e-9f00-3a5a1c2b4d6e'
    const takenOver = async () => {
      slept += 300_000
      await postgres.sql`update message set claim = ${claim} where direction = 'outbound'`
    }
    t.same(await sendAsleep(takenOver), [])
    t.match(await messages(), [{ status: 'queued', attempts: 1, begun_at: clock.now(), claim }])
    await postgres.sql`update message set attempts = 0, begun_at = null, claim = null, claimed_until = null where direction = 'outbound'`
  },
)

t.test('what nobody else has is due again as if it had never been in hand', async (t) => {
  clock.pass(1)
  t.same(await sendAsleep(sleeps(300_000)), [])
  t.match(await messages(), [{ status: 'queued', attempts: 0, begun_at: null, ...NOBODYS }])
})

t.test('who takes it then sends it', async (t) => {
  clock.pass(1)
  t.same(await sendAsleep(sleeps(1_000)), ['+3545550101'])
})
