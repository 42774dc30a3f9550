import t from 'tap'
import { createKey } from '../src/access/key.ts'
import { receiveMessage } from '../src/campaign/receive.ts'
import { workCampaigns } from '../src/campaign/round.ts'
import type { Values } from '../src/cli/command.ts'
import { policyCommands } from '../src/cli/policy.ts'
import { type ConsentState, setConsent } from '../src/identity/contact.ts'
import type { Brand } from '../src/op.ts'
import { campaignStage } from './fixtures/campaign.ts'
import { runCommand } from './fixtures/command.ts'
import { checkout } from './fixtures/store-bodies.ts'

t.capture(process.stderr, 'write')
const stage = await campaignStage(t, 40)
const { clock, app, origin } = stage
const { sql } = stage.db.postgres

async function policy(name: 'set' | 'show', brand: Brand, values: Values = {}) {
  const command = policyCommands.find((one) => one.name === `policy ${name}`)
  const result = await runCommand(app, policyCommands, `policy ${name}`, { brand: brand.id, ...values })
  return { result, said: command?.text?.(result as never) }
}

/** A campaign, and somebody whose checkout is abandoned and who said this about text messages before. */
async function abandoned(said?: ConsentState) {
  clock.noon()
  const brand = await stage.brand()
  await stage.campaign(brand)
  const at = clock.pass(1).toISOString()
  const body = checkout({ id: 7_001, phone: '+3545551001', created_at: at, updated_at: at })
  await stage.tell(brand, { topic: 'checkouts/create', triggeredAt: clock.now(), body })
  const [{ id } = {}] = await sql`select id from contact where brand_id = ${brand.id}`
  const own = stage.db.postgres.forBrand(brand.id)
  const say = (state: ConsentState) => own.tx((tx) => setConsent(tx, id, 'sms', state, 'test', clock.now()))
  if (said) await say(said)
  clock.pass(60)
  await stage.tick()
  return { brand, say }
}
const messagesOf = (brand: Brand) =>
  sql`select author, status, reason from message where brand_id = ${brand.id} order by created_at, id`
const endOf = async (brand: Brand) =>
  (
    await sql`select outcome, reason from campaign_run as run join run_step on run_step.brand_id = run.brand_id and run_id = run.id
      where run.brand_id = ${brand.id} order by ordinal desc limit 1`
  )[0]

t.test('where consent is required a campaign writes to nobody who did not agree', async (t) => {
  const { brand } = await abandoned()
  await policy('set', brand, { 'sms-consent': 'required' })
  await stage.pass(31)
  t.same(await messagesOf(brand), [])
  t.match(await endOf(brand), { outcome: 'stopped', reason: 'no_consent' })
})

t.test('where consent is required a campaign writes to who agreed', async (t) => {
  const { brand } = await abandoned('subscribed')
  await policy('set', brand, { 'sms-consent': 'required' })
  await stage.pass(31)
  t.match(await messagesOf(brand), [{ status: 'sent' }])
})

t.test('who refused opted out, also where consent is required', async (t) => {
  const { brand } = await abandoned('unsubscribed')
  await policy('set', brand, { 'sms-consent': 'required' })
  await stage.pass(31)
  t.match(await endOf(brand), { reason: 'opted_out' })
})

t.test(
  'who has not confirmed a double opt-in is not written to, though consent is not required',
  async (t) => {
    const { brand } = await abandoned('pending')
    await stage.pass(31)
    t.same(await messagesOf(brand), [])
    t.match(await endOf(brand), { outcome: 'stopped', reason: 'no_consent' })
  },
)

t.test('a message that is written does not leave to who began a double opt-in meanwhile', async (t) => {
  const { brand, say } = await abandoned()
  await workCampaigns(stage.parts, clock.now)
  clock.pass(31)
  await workCampaigns(stage.parts, clock.now)
  await say('pending')
  await stage.round()
  t.match(await messagesOf(brand), [{ status: 'failed', reason: 'no_consent' }])
})

t.test('a consent that is not confirmed is told as unknown', async (t) => {
  const { brand } = await abandoned('pending')
  const own = stage.db.postgres.forBrand(brand.id)
  const { plaintext } = await createKey(own, { scopes: ['contacts:read'] })
  const answer = await fetch(`${origin}/v1/contacts`, { headers: { authorization: `Bearer ${plaintext}` } })
  t.match(await answer.text(), /"consent":\{"sms":"unknown","email":"unknown"\}/)
})

t.test('consent by email is required of emails alone', async (t) => {
  const { brand } = await abandoned()
  await policy('set', brand, { 'email-consent': 'required' })
  await stage.pass(31)
  t.match(await messagesOf(brand), [{ status: 'sent' }])
})

t.test('a message that is written does not leave once consent is required', async (t) => {
  const { brand } = await abandoned()
  await workCampaigns(stage.parts, clock.now)
  clock.pass(31)
  await workCampaigns(stage.parts, clock.now)
  t.match(await messagesOf(brand), [{ status: 'queued' }])
  await policy('set', brand, { 'sms-consent': 'required' })
  await stage.round()
  t.match(await messagesOf(brand), [{ status: 'failed', reason: 'no_consent' }])
  t.match(await endOf(brand), { outcome: 'stopped', reason: 'no_consent' })
})

t.test('who writes is answered without having agreed', async (t) => {
  const { brand } = await abandoned()
  await stage.pass(31)
  await policy('set', brand, { 'sms-consent': 'required' })
  clock.pass(1)
  const place = {
    db: stage.db.postgres.forBrand(brand.id),
    brandId: brand.id,
    storePlatformDomain: app.config.storePlatformDomain,
  }
  const said = { channel: 'sms', from: '+3545551001', text: 'Which size?', at: clock.now() } as const
  await receiveMessage(place, { ...said, gatewayId: 'in_1' })
  await stage.pass(1)
  t.match((await messagesOf(brand)).slice(1), [{ author: 'contact' }, { author: 'campaign', status: 'sent' }])
})

t.test('policy show says whom campaigns message', async (t) => {
  const brand = await stage.brand()
  t.match((await policy('show', brand)).result, { sms_consent: 'not-refused', email_consent: 'not-refused' })
  await policy('set', brand, { 'email-consent': 'required' })
  const { result, said } = await policy('set', brand, { 'cap-days': '3' })
  t.match(result, { sms_consent: 'not-refused', email_consent: 'required' })
  t.match(
    said,
    /everybody who has not refused sms, but for unconfirmed double opt-ins\n.*only who agreed to email/,
  )
})

t.test('a rule of consent that there is not is refused', async (t) => {
  const brand = await stage.brand()
  await t.rejects(policy('set', brand, { 'sms-consent': 'double' }), {
    message: '--sms-consent must be required or not-refused, not "double"',
  })
})
