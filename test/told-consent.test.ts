import t from 'tap'
import { v7 } from 'uuid'
import type { App } from '../src/app.ts'
import { customerCommands } from '../src/cli/customer.ts'
import { readConfig } from '../src/config.ts'
import { setConsent } from '../src/identity/contact.ts'
import { setLogLevel } from '../src/log.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { runCommand } from './fixtures/command.ts'
import { lake, sourceRows, tick } from './fixtures/lake.ts'

setLogLevel('error')
const pipeline = await lake(t)
const { sql } = pipeline.postgres
const app = { config: readConfig({}), postgres: pipeline.postgres, pipeline } as App

/** A brand of Germany with a customer, who has a contact by number or none yet. */
async function shop({ hasContact = true } = {}) {
  const brand = await newBrand(pipeline, { default_phone_region: 'DE' })
  await sql`
    insert into customer (brand_id, subject, id, provenance, email, phone, phone_by_record)
    values (${brand.id}, 1, 'ada', 'server', 'ada@example.com', '+4916099999999', true)`
  await sql`
    insert into identifier (brand_id, kind, value, subject)
    values (${brand.id}, 'email', 'ada@example.com', 1), (${brand.id}, 'phone', '+4916099999999', 1)`
  const id = v7()
  if (hasContact)
    await sql`insert into contact (brand_id, id, subject, phone) values (${brand.id}, ${id}, 1, '+4916099999999')`
  return {
    brand,
    say: (identifier: string, values: Record<string, string>) =>
      runCommand(app, customerCommands, 'customer consent', { brand: brand.id, ...values }, [identifier]),
    hear: (state: 'subscribed' | 'unsubscribed') =>
      pipeline.postgres.forBrand(brand.id).tx((tx) => setConsent(tx, id, 'sms', state, 'reply', new Date())),
    contacts: () => sql`select sms_consent, email_consent from contact where brand_id = ${brand.id}`,
    words: () => sql`
      select channel, state, source, address from contact_consent where brand_id = ${brand.id} order by at`,
  }
}
const NO_SMS = { channel: 'sms', state: 'unsubscribed' }

t.test('what a customer told support is recorded once, by whatever they are known by', async (t) => {
  const { brand, say, contacts, words } = await shop()
  t.match(await say('0160 99999999', NO_SMS), { ...NO_SMS, recorded: true })
  for (const identifier of ['ada@example.com', '+4916099999999', 'ada'])
    t.match(await say(identifier, NO_SMS), { recorded: false })
  t.same(await contacts(), [{ sms_consent: 'unsubscribed', email_consent: 'unknown' }])
  t.same(await words(), [{ ...NO_SMS, source: 'support', address: '+4916099999999' }])
  await tick(pipeline)
  t.match(await sourceRows(pipeline, brand, 'select event_type, subject from events'), [
    { event_type: 'consent_updated', subject: 1 },
  ])
})

t.test('who tells support that they want messages again gets them', async (t) => {
  const { say, hear, contacts } = await shop()
  await hear('unsubscribed')
  await say('ada', { channel: 'sms', state: 'subscribed' })
  t.match(await contacts(), [{ sms_consent: 'subscribed' }])
})

t.test('a refusal that is shown already is recorded as told to support', async (t) => {
  const { say, hear, words } = await shop()
  await hear('unsubscribed')
  t.match(await say('ada', NO_SMS), { recorded: true })
  t.match(await words(), [{ source: 'reply' }, { source: 'support' }])
})

t.test('a customer without a contact refuses by one that is made', async (t) => {
  const { say, contacts } = await shop({ hasContact: false })
  await say('ada', { channel: 'email', state: 'unsubscribed' })
  t.same(await contacts(), [{ sms_consent: 'unknown', email_consent: 'unsubscribed' }])
})

t.test('nobody agrees without an address, is unknown, or says something else', async (t) => {
  const { say, words } = await shop()
  await t.rejects(say('ada', { channel: 'email', state: 'subscribed' }), {
    message: /^No contact of ada .* has an email address: nothing/,
  })
  await t.rejects(say('bob', NO_SMS), { message: /^Nobody of / })
  await t.rejects(say('ada', { channel: 'fax', state: 'subscribed' }), { message: /must be sms or email/ })
  await t.rejects(say('ada', { channel: 'sms', state: 'maybe' }), { message: /unsubscribed or subscribed/ })
  t.same(await words(), [])
})
