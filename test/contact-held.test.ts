import t from 'tap'
import { type Link, optOut } from '../src/campaign/click.ts'
import { receiveMessage } from '../src/campaign/receive.ts'
import { setConsent, upsertContact } from '../src/identity/contact.ts'
import { assignSubjects } from '../src/identity/subject.ts'
import type { Db } from '../src/op.ts'
import { atOnceIn } from './fixtures/at-once.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'

const db = await database(t)
const { sql } = db.postgres
const atOnce = atOnceIn(db.postgres)
const [HOME, WORK] = ['ann@example.com', 'ann@work.example']

/** A customer and a contact of theirs at each of two addresses, who are not known to be the same person. */
async function two() {
  const brand = await makeBrand(db)
  const ofBrand = db.postgres.forBrand(brand.id)
  const assign = async (to: Db, named: object) => {
    const options = { storePlatformDomain: 'myshopify.com', source: 'server' } as const
    const [subject = 0] = await to.tx((tx) =>
      assignSubjects(tx, brand.id, [{ ...named, seenAt: new Date(0) }], options),
    )
    return subject
  }
  const contactOf = async (subject: number, named: { email?: string; phone?: string }) => {
    const found = { subject, email: null, phone: null, firstName: null, lastName: null, ...named }
    const made = await ofBrand.tx((tx) => upsertContact(tx, found))
    if ('conflict' in made) throw new Error(made.conflict)
    return made.contactId
  }
  const home = await contactOf(await assign(ofBrand, { storeCustomerId: '7', email: HOME }), { email: HOME })
  const other = await assign(ofBrand, { email: WORK })
  return {
    ...{ brandId: brand.id, ofBrand, home, other, contactOf },
    consents: () => sql`
      select email, email_consent, sms_consent from contact where brand_id = ${brand.id} order by email`,
    merge: (to: Db) => assign(to, { storeCustomerId: '7', email: WORK }),
    refuse: (to: Db, id: string, channel: 'sms' | 'email' = 'email') =>
      to.tx((tx) => setConsent(tx, id, channel, 'unsubscribed', 'test', new Date('2026-11-20T00:00:00Z'))),
  }
}

const DONE = [{ status: 'fulfilled' }, { status: 'fulfilled' }]

t.test('a refusal while two become one counts at both addresses', async (t) => {
  const { ofBrand, home, other, contactOf, merge, refuse, consents } = await two()
  await contactOf(other, { email: WORK })
  t.match(await atOnce(ofBrand, 'merges_add', merge, (to) => refuse(to, home)), DONE)
  t.match(await consents(), [{ email_consent: 'unsubscribed' }, { email_consent: 'unsubscribed' }])
})

t.test('who become one while one of them refuses are both refused, on each channel', async (t) => {
  const { ofBrand, home, other, contactOf, merge, refuse, consents } = await two()
  await refuse(ofBrand, await contactOf(other, { email: WORK }))
  const refusing = (to: Db) => refuse(to, home, 'sms')
  t.match(await atOnce(ofBrand, 'contact_of_holder', refusing, merge), DONE)
  const both = { email_consent: 'unsubscribed', sms_consent: 'unsubscribed' }
  t.match(await consents(), [both, both])
})

t.test('a contact that is made while its person refuses is refused', async (t) => {
  const { ofBrand, home, other, contactOf, merge, refuse, consents } = await two()
  await merge(ofBrand)
  const refusing = (to: Db) => refuse(to, home)
  const making = () => contactOf(other, { email: WORK })
  t.match(await atOnce(ofBrand, 'contact_of_holder', refusing, making), DONE)
  t.match(await consents(), [{ email_consent: 'unsubscribed' }, { email_consent: 'unsubscribed' }])
})

t.test('a refusal while a contact of the person is made counts for that one, too', async (t) => {
  const { ofBrand, home, other, merge, refuse, consents } = await two()
  await merge(ofBrand)
  const making = (to: Db) =>
    to.tx(async (tx) => {
      await upsertContact(tx, { subject: other, email: WORK, phone: null, firstName: null, lastName: null })
      await tx.one('contact_region')
    })
  t.match(await atOnce(ofBrand, 'contact_region', making, (to) => refuse(to, home)), DONE)
  t.match(await consents(), [{ email_consent: 'unsubscribed' }, { email_consent: 'unsubscribed' }])
})

t.test(
  'who answers STOP to one address and follows the opt-out link at the other is heard by both',
  async (t) => {
    const { brandId, ofBrand, other, contactOf, merge, consents } = await two()
    await contactOf(other, { email: WORK })
    await merge(ofBrand)
    const say = (db: Db, gatewayId: string, from: string, text: string) =>
      receiveMessage(
        { db, brandId, storePlatformDomain: 'myshopify.com' },
        { channel: 'email', gatewayId, from, text, at: new Date() },
      )
    const heard = await say(ofBrand, 'in_1', HOME, 'Hello')
    const link = { brandId, channel: 'email', ...heard } as Link & typeof heard
    await say(ofBrand, 'in_2', WORK, 'Hello')
    const answer = (to: Db) => say(to, 'in_3', WORK, 'STOP')
    t.match(await atOnce(ofBrand, 'contacts_hold', answer, () => optOut(db.postgres, link, new Date())), DONE)
    t.match(await consents(), [{ email_consent: 'unsubscribed' }, { email_consent: 'unsubscribed' }])
  },
)
