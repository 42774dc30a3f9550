import t from 'tap'
import { receiveMessage } from '../src/campaign/receive.ts'
import { linkContact, upsertContact } from '../src/identity/contact.ts'
import { assignSubjects } from '../src/identity/subject.ts'
import { setLogLevel } from '../src/log.ts'
import type { Db } from '../src/op.ts'
import { atOnceIn } from './fixtures/at-once.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'

/** Messages that come in two transactions at once. */
setLogLevel('error')
const { postgres } = await database(t)
const { sql } = postgres
const atOnce = atOnceIn(postgres)

t.test('two first messages of an unknown number begin one conversation', async (t) => {
  const { id: brandId } = await newBrand({ postgres })
  const say = (gatewayId: string) => (db: Db) =>
    receiveMessage(
      { db, brandId, storePlatformDomain: 'myshopify.com' },
      { channel: 'sms', gatewayId, from: '+12025550101', text: 'Hello', at: new Date() },
    )
  await atOnce(postgres.forBrand(brandId), 'contact_lock', say('in_1'), say('in_2'))
  const messages = await sql<{ conversation_id: string }[]>`
    select conversation_id from message where brand_id = ${brandId}`
  t.equal(messages.length, 2)
  t.equal(new Set(messages.map(({ conversation_id }) => conversation_id)).size, 1)
})

t.test('of two first messages, by email and by phone, of one customer one is given them', async (t) => {
  const { id: brandId } = await newBrand({ postgres })
  const db = postgres.forBrand(brandId)
  const [email, phone] = ['ann@example.com', '+12025550102']
  const options = { storePlatformDomain: 'myshopify.com', source: 'server' } as const
  await db.tx((tx) => assignSubjects(tx, brandId, [{ email, phone, seenAt: new Date(0) }], options))
  const say = (given: { email?: string; phone?: string }) => (of: Db) =>
    of.tx(async (tx) => {
      const channels = { email: null, phone: null, ...given }
      const contact = await upsertContact(tx, { subject: null, ...channels, firstName: null, lastName: null })
      if ('conflict' in contact) throw new Error(contact.conflict)
      await linkContact(tx, contact.contactId, channels)
      await tx.one('contact_region')
    })
  const done = await atOnce(db, 'contact_region', say({ email }), say({ phone }))
  for (const one of done) if (one.status === 'rejected') throw one.reason
  const contacts =
    await sql`select subject is null as free from contact where brand_id = ${brandId} order by free`
  t.match(contacts, [{ free: false }, { free: true }])
})
