import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { receiveMessage } from '../src/campaign/receive.ts'
import { customerCommands } from '../src/cli/customer.ts'
import { importFile } from '../src/connect/import/import.ts'
import { setConsent } from '../src/identity/contact.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { database } from './fixtures/database.ts'
import { askErasure, goOnErasing } from './fixtures/erasing.ts'
import { everythingStored, placesOf } from './fixtures/search.ts'
import { connectedBrand, storeServer } from './fixtures/store.ts'
import { order } from './fixtures/store-bodies.ts'
import { hooks } from './fixtures/webhook.ts'

/** What hangs on a contact of nobody is of the customer who turns out to have its last channel. */
setLogLevel('error')
const db = await database(t)
const { sql } = db.postgres
const { app, source, send, cli } = await hooks(t, db)
const { send: tell } = await storeServer(t, db)
const { pipeline } = app
const EMAIL = 'second@example.com'
const PHONE = '+12025550107'

const customerBody = (hour: number, changes: object) =>
  JSON.stringify({
    ...{ id: 7, email: null, phone: PHONE, first_name: 'Ann', last_name: 'Lee', tags: '' },
    ...{ email_marketing_consent: null, sms_marketing_consent: null },
    ...{ created_at: '2026-11-20T01:00:00Z', updated_at: `2026-11-20T0${hour}:00:00Z` },
    ...changes,
  })

/**
 * A customer whom the store knows by a phone, whose order names an email; a source that names that email alone tells of
 * something, and somebody writes and agrees from there.
 */
async function toldOfNobody() {
  const brand = await connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })
  const own = db.postgres.forBrand(brand.id)
  await tell(brand, { topic: 'customers/create', body: customerBody(1, {}) })
  await tell(brand, { topic: 'orders/paid', body: order({ email: EMAIL, customer: { id: 7 } }) })
  await send(await source(brand), {
    data: JSON.stringify({ id: 'a1', email: EMAIL, points: 4, note: 'canary-data' }),
  })
  const at = new Date('2026-11-20T05:00:00Z')
  const place = { db: own, brandId: brand.id, storePlatformDomain: app.config.storePlatformDomain }
  const letter = { channel: 'email' as const, gatewayId: 'g1', from: EMAIL, text: 'canary-letter' }
  await receiveMessage(place, { ...letter, at, saidAt: at })
  const [contact] =
    await sql`select id, subject from contact where brand_id = ${brand.id} and email = ${EMAIL}`
  await own.tx((tx) => setConsent(tx, contact?.id, 'email', 'subscribed', 'canary', at))
  return { brand, contact }
}

const moves: Record<string, (brand: Brand, t: Test) => Promise<unknown>> = {
  'the store': (brand) => tell(brand, { topic: 'customers/update', body: customerBody(6, { email: EMAIL }) }),
  'a file': async (brand, t) => {
    const file = join(t.testdir(), 'customers.csv')
    const row = ['7', EMAIL, PHONE, '2026-11-20T06:00:00Z']
    writeFileSync(file, `customer_external_id,email,phone,updated_at\n${row.join(',')}\n`)
    await importFile({ pipeline, brand, kind: 'customers', file })
  },
}

for (const [who, move] of Object.entries(moves)) {
  t.test(`what was told of an address that ${who} gives a customer is the customer's`, async (t) => {
    const { brand, contact } = await toldOfNobody()
    t.equal(contact?.subject, null)
    await move(brand, t)
    const [left] = await sql`select email, phone from contact where id = ${contact?.id}`
    t.strictSame(left && { ...left }, { email: null, phone: null })

    const printed = await cli(customerCommands, 'customer export', [EMAIL], { brand: brand.id })
    t.match(printed, {
      custom_events: [{ data: { note: 'canary-data' } }],
      messages: [{ body: 'canary-letter' }],
      consents: [{ source: 'canary' }, { source: 'canary' }],
    })

    await askErasure(pipeline, brand.id, '7')
    await goOnErasing(pipeline, brand.id)
    t.strictSame(placesOf(await everythingStored(pipeline), ['canary', EMAIL]), {})
    t.strictSame([...(await sql`select contact_id from contact_consent where brand_id = ${brand.id}`)], [])
  })
}

for (const [what, without] of Object.entries({
  'was told': sql`select`,
  'was told without a word of consent or a message': sql`
    with words as (delete from contact_consent where source = 'canary')
    update message set address = null where body = 'canary-letter'`,
})) {
  t.test(`what ${what} is the customer's, where the address was taken before an upgrade`, async (t) => {
    const { contact } = await toldOfNobody()
    await without
    await sql`update contact set email = null where id = ${contact?.id}`
    const migration = '../migrations/20261129000700_contacts_left_bare.sql'
    await sql.unsafe(readFileSync(join(import.meta.dirname, migration), 'utf8'))
    const [row] = await sql`
      select contact.subject, conversation.subject as of_talk, store_customer_id
      from contact
      join conversation on contact_id = contact.id
      join customer on customer.brand_id = contact.brand_id and customer.subject = contact.subject
      where contact.id = ${contact?.id}`
    t.equal(row?.store_customer_id, '7')
    t.equal(row?.of_talk, row?.subject)
  })
}
