import t from 'tap'
import { cutIdentity } from '../src/connect/erase/cut.ts'
import { setConsent, upsertContact } from '../src/identity/contact.ts'
import { requestErasure, type Whom } from '../src/identity/erasure-request.ts'
import { noIdentifiers, peopleWith } from '../src/identity/people.ts'
import { erasedAmong } from '../src/identity/subject.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { type Database, database } from './fixtures/database.ts'
import { day, type Named, type People, people } from './fixtures/identities.ts'

/** What an erasure leaves of who is who. One database for the file. */
let db: Database
t.before(async () => {
  db = await database(t)
})

const STORE = { storePlatformDomain: 'myshopify.com' }

async function erase(shop: People, whom: Whom): Promise<void> {
  const { erasureId } = await shop.db.tx((tx) => requestErasure(tx, whom, 'a test'))
  const pipeline = { ...STORE, postgres: db.postgres } as Pipeline
  await cutIdentity(pipeline, { brand_id: shop.owner.id, id: erasureId })
}

/** Whether what was said of somebody before stays out. */
const staysOut = async (shop: People, identity: Named) =>
  (await erasedAmong(db.postgres.sql, shop.owner.id, [{ seenAt: day(1), ...identity }], STORE))[0] !== null

t.test('what names somebody else by their public id tells of them, with an erased address too', async (t) => {
  const shop = await people(db)
  const [, bob] = await shop.assign({ email: 'ada@example.com' }, { email: 'bob@example.com' })
  const profileId = (await shop.customers()).find(({ subject }) => subject === bob)?.id
  await erase(shop, { email: 'ada@example.com' })
  t.equal(await staysOut(shop, { profileId, email: 'ada@example.com' }), false)
  t.strictSame(await shop.assign({ profileId, email: 'ada@example.com' }), [bob])
  t.strictSame(await shop.groups(), ['email bob@example.com'])
})

t.test('the public id of a visitor is nobody else’s', async (t) => {
  const shop = await people(db)
  await shop.assign({ anonymousId: 'v' }, { email: 'ada@example.com' })
  const [{ id: profileId } = { id: '' }] = await shop.customers()
  await erase(shop, { email: 'ada@example.com' })
  t.equal(await staysOut(shop, { profileId, email: 'ada@example.com' }), true)
})

t.test('what a page said of somebody without proof is not erased with them', async (t) => {
  const shop = await people(db)
  await shop.assign({ email: 'ada@example.com' })
  for (const email of ['victim@example.com', 'ada@example.com'])
    await shop.assign({ anonymousId: 'v', email, origin: 'browser' })
  await erase(shop, { email: 'ada@example.com' })
  t.equal(await staysOut(shop, { email: 'victim@example.com' }), false)
  t.equal(await staysOut(shop, { anonymousId: 'v' }), true)
  const typed = { anonymousId: 'v', email: 'victim@example.com' }
  t.equal(await staysOut(shop, { ...typed, origin: 'browser' }), true)
  t.equal(await staysOut(shop, typed), false, 'a server knows who it is')
  const [, , , , , claims] = await shop.rows()
  t.strictSame(claims, [])
})

t.test('an address that a customer shared with one who is erased goes on naming them', async (t) => {
  const shop = await people(db)
  const email = 'family@example.com'
  const [, two] = await shop.assign({ storeCustomerId: '1', email }, { storeCustomerId: '2', email })
  await shop.assign({ storeCustomerId: '3', email })
  await erase(shop, { storeCustomerId: '1' })
  t.strictSame(await shop.assign({ email, seenAt: new Date() }), [two])
  t.equal((await shop.customers()).length, 3)
})

const PHONE = '+14155552671'
const guest = (n: number): Named => ({ email: `g${n}@example.com`, phone: PHONE, seenAt: new Date() })

for (const [who, erased] of [
  ['one of those who were named with it', 4],
  ['the first who had it', 0],
] as const) {
  t.test(`a phone that too many shared joins nobody once ${who} is erased`, async (t) => {
    const shop = await people(db)
    await shop.assign(...Array.from({ length: 15 }, (_, n) => guest(n)))
    await erase(shop, { email: `g${erased}@example.com` })
    await shop.assign(guest(2), guest(3))
    t.strictSame(await shop.redirects(), [])
  })
}

t.test(
  'what too many shared under a server of before, which marks nothing, is marked when it is named again',
  async (t) => {
    const shop = await people(db)
    await shop.assign(...Array.from({ length: 15 }, (_, n) => guest(n)))
    await db.postgres.sql`update identifier set shared = false where value = ${PHONE}`
    await shop.assign(guest(4))
    await erase(shop, { email: 'g4@example.com' })
    await shop.assign(guest(2), guest(3))
    t.strictSame(await shop.redirects(), [])
  },
)

t.test('a store’s id is found as the store’s own API writes it', async (t) => {
  const id = 'gid://shopify/Customer/990001'
  for (const store_customer_id of ['990001', id]) {
    const { mayBeNamedBy, areIn } = peopleWith(
      { ...noIdentifiers(), store_customer_id: [store_customer_id] },
      'US',
    )
    t.ok(mayBeNamedBy({ store_customer_id: '990001' }) && mayBeNamedBy({ store_customer_id: id }))
    t.ok(areIn({ customer: { id: 990001 } }) && areIn({ customer: { id } }))
    t.ok(areIn({ customer_id: '990001.0' }), 'as a column of floating-point numbers has it')
    t.notOk(areIn({ total: '990001.0' }))
    t.notOk(mayBeNamedBy({ store_customer_id: 'gid://shopify/Customer/99000' }))
    t.notOk(areIn({ order: { name: 'gid://shopify/Order/990001' } }))
  }
})

t.test('what names an erased customer in another spelling of the id stays out', async (t) => {
  const shop = await people(db)
  const named = { storeCustomerId: 'gid://shopify/Customer/990001' }
  const [customer] = await shop.assign({ storeCustomerId: '990001' })
  t.strictSame(await shop.assign(named), [customer])
  await erase(shop, { storeCustomerId: '990001' })
  t.strictSame(await shop.assign(named), [0])
})

t.test('an address is found within the texts and keys of a document', async (t) => {
  const { areIn, areInText } = peopleWith({ ...noIdentifiers(), email: ['fine.one@example.com'] }, 'US')
  for (const text of [
    'Fay Fine <Fine.One@example.com>',
    'please mail fine.one@example.com.',
    '/?email=fine.one%40example.com&x=1',
    '/?to=https%3A%2F%2Fshop.example%2F%3Femail%3Dfine.one%2540example.com',
    '{"email":"fine.one\\u0040example.com"}',
    'first line\\nfine.one@example.com\\nlast line',
    '100% of fine.one@example.com %E9',
  ]) {
    t.ok(areIn({ note: text }), text)
    t.ok(areIn({ [text]: 1 }), `key ${text}`)
    t.ok(areInText(`{"note": ${text}`), `no document ${text}`)
  }
  for (const text of [
    'define.one@example.com',
    'fine.one@example.com.br',
    'fine.one@example.community',
    'fine.one',
  ])
    t.notOk(areIn({ note: text }), text)
})

t.test('a number is found within the texts of a document', async (t) => {
  const { areIn, areInText } = peopleWith({ ...noIdentifiers(), phone: ['+14155552671'] }, 'US')
  for (const text of [
    'call me at (415) 555-2671 after 6',
    '2026-01-01 415-555-2671',
    'tel=%2B14155552671',
    'SMS:+1 415 555 2671/415 555 9999',
  ]) {
    t.ok(areIn({ note: text }), text)
    t.ok(areInText(`{"note": ${text}`), `no document ${text}`)
  }
  for (const text of ['order 94155552671003', 'call 5552671', 'at 2671']) t.notOk(areIn({ note: text }), text)
})

t.test('a store’s id is a whole value, never part of a text', async (t) => {
  const { areIn } = peopleWith({ ...noIdentifiers(), store_customer_id: ['1', '990001'] }, 'US')
  t.notOk(areIn({ note: 'order 1 of 990001' }))
})

t.test('a number is found in every spelling that a sender could have used', async (t) => {
  const { mayBeNamedBy, areIn } = peopleWith({ ...noIdentifiers(), phone: ['+14155552671'] }, 'US')
  for (const phone of [
    '+14155552671',
    '(415) 555-2671',
    '1 415.555.2671',
    '+1 415 555 2671 ext. 5',
    '415-555-2671 x12',
    'tel:+14155552671;ext=9',
    '+١٤١٥٥٥٥٢٦٧١',
    '＋１４１５５５５２６７１',
    '۴۱۵۵۵۵۲۶۷۱',
  ]) {
    t.ok(mayBeNamedBy({ phone }), phone)
    t.ok(areIn({ billing: { phone } }), phone)
  }
  for (const phone of ['+14155552672', '+14155552672 ext. 2671', '5552671', ''])
    t.notOk(areIn({ billing: { phone } }), phone)
})

const ADA = { email: 'ada@example.com', phone: '+12015550123' }

/** A contact of somebody with these channels; who has them already is the same one. */
async function contactOf(shop: People, channels: Partial<typeof ADA>): Promise<string> {
  const found = { subject: null, email: null, phone: null, firstName: null, lastName: null, ...channels }
  const made = await shop.db.tx((tx) => upsertContact(tx, found))
  if ('conflict' in made) throw new Error(made.conflict)
  return made.contactId
}

const consents = async (shop: People, id: string) =>
  (
    await db.postgres.sql`
      select sms_consent as sms, email_consent as email from contact where brand_id = ${shop.owner.id} and id = ${id}`
  )[0]

const says = (shop: People, id: string, state: 'subscribed' | 'unsubscribed', at: Date) =>
  shop.db.tx((tx) => setConsent(tx, id, 'sms', state, 'test', at))

t.test('who refused messages and was erased is not messaged when they come back', async (t) => {
  const shop = await people(db)
  await says(shop, await contactOf(shop, ADA), 'unsubscribed', day(1))
  await erase(shop, ADA)
  t.strictSame(await consents(shop, await contactOf(shop, ADA)), { sms: 'unsubscribed', email: 'unknown' })
})

t.test('who agreed after the refusal is somebody without a word when they come back', async (t) => {
  const shop = await people(db)
  const id = await contactOf(shop, ADA)
  await says(shop, id, 'unsubscribed', day(1))
  await says(shop, id, 'subscribed', day(2))
  await erase(shop, ADA)
  t.strictSame(await consents(shop, await contactOf(shop, ADA)), { sms: 'unknown', email: 'unknown' })
})

t.test('a yes of somebody who came back counts when it is newer than the refusal', async (t) => {
  const shop = await people(db)
  await says(shop, await contactOf(shop, ADA), 'unsubscribed', day(2))
  await erase(shop, ADA)
  const id = await contactOf(shop, ADA)
  await says(shop, id, 'subscribed', day(1))
  t.match(await consents(shop, id), { sms: 'unsubscribed' })
  await says(shop, id, 'subscribed', new Date())
  t.match(await consents(shop, id), { sms: 'subscribed' })
})

t.test('a refusal holds at the address that the erased had before, too', async (t) => {
  const shop = await people(db)
  const id = await contactOf(shop, { phone: ADA.phone })
  await says(shop, id, 'unsubscribed', day(1))
  await db.postgres.sql`
    update contact set phone = '+12015550199', email = ${ADA.email} where brand_id = ${shop.owner.id} and id = ${id}`
  await erase(shop, { email: ADA.email })
  for (const phone of [ADA.phone, '+12015550199'])
    t.match(await consents(shop, await contactOf(shop, { phone })), { sms: 'unsubscribed' }, phone)
})
