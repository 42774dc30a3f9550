import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { createKey } from '../src/access/key.ts'
import { setConsent, upsertContact } from '../src/identity/contact.ts'
import { assignSubjects } from '../src/identity/subject.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { sourceRows, tick } from './fixtures/lake.ts'
import { hooks } from './fixtures/webhook.ts'
import './fixtures/checked.ts'

// Anybody can send what a page of the shop could: from the request to contacts, customers and the lake.
t.capture(process.stderr, 'write')
const db = await database(t)
const { app, port } = await hooks(t, db)
const { postgres } = app
const { sql } = postgres

const PEOPLE = {
  ada: { profileId: 'ada', anonymousId: 'v-ada', email: 'ada@example.com', phone: '+12015550101' },
  bob: { profileId: 'bob', anonymousId: 'v-bob', email: 'bob@example.com', phone: '+12015550102' },
  cyd: { storeCustomerId: '73', anonymousId: 'v-cyd', email: 'cyd@example.com', phone: '+12015550103' },
  dot: { storeCustomerId: '74', anonymousId: 'v-dot', email: 'dot@example.com', phone: '+12015550104' },
} as const
const { ada, bob, cyd, dot } = PEOPLE

type Sent = Record<string, unknown>

/** A brand whose customers have contacts with consent, and both ways in for events. */
async function shop(t: Test) {
  const brand = await makeBrand({ postgres }, { features: ['cdp'] })
  const ofBrand = postgres.forBrand(brand.id)
  const { plaintext: key } = await createKey(ofBrand, { scopes: ['brand:read'] })
  const scope = brand.shop_domain
  const post = async (path: string, headers: Record<string, string>, body: object) => {
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const { status } = await fetch(`http://127.0.0.1:${port}${path}`, init)
    return status
  }
  const named = (event: Sent) => ({
    eventType: 'page_viewed',
    eventId: randomUUID(),
    properties: {},
    ...event,
  })

  const server = async (...events: Sent[]) => {
    const authorization = `Bearer ${key}`
    t.equal(await post('/cdp/events', { authorization }, { events: events.map(named) }), 200)
    await tick(app.pipeline)
  }
  const browser = async (...events: Sent[]) => {
    const origin = `https://${scope}`
    const sent = events.map((event) => ({ scope, ...named(event) }))
    t.equal(await post('/cdp/ingest', { origin }, { source: { scope }, events: sent }), 202)
    await tick(app.pipeline)
  }

  await server(...Object.values(PEOPLE))
  for (const { anonymousId: _, ...person } of Object.values(PEOPLE)) {
    const said = [{ ...person, seenAt: new Date() }]
    const [subject = null] = await assignSubjects(sql, brand.id, said, {
      storePlatformDomain: 'myshopify.com',
      source: 'server',
    })
    const { email, phone } = person
    await ofBrand.tx(async (tx) => {
      const made = await upsertContact(tx, { subject, email, phone, firstName: 'A', lastName: null })
      if ('conflict' in made) throw new Error(made.conflict)
      await setConsent(tx, made.contactId, 'sms', 'subscribed', 'test', new Date('2026-01-01'))
      await setConsent(tx, made.contactId, 'email', 'unsubscribed', 'test', new Date('2026-01-01'))
    })
  }
  await tick(app.pipeline)

  const mine = async (table: string, but = sql``) => [
    ...(await sql`select * from ${sql(table)} where brand_id = ${brand.id} ${but} order by 1, 2, 3, 4, 5`),
  ]
  const customers = sql`select subject from customer where brand_id = ${brand.id} and provenance <> 'pixel'`
  const rows = (statement: string) => sourceRows(app.pipeline, brand, statement)
  /** All that the service knows of customers, in Postgres and in the lake. Visitors may be taken for one of them. */
  const state = async () => ({
    contacts: await mine('contact'),
    consent: await mine('contact_consent'),
    customers: await mine('customer', sql`and provenance <> 'pixel'`),
    channels: await mine('identifier', sql`and kind <> 'anonymous_id'`),
    visitors: await mine('identifier', sql`and value = any(${VISITORS})`),
    merges: await mine('merge', sql`and from_subject in (${customers})`),
    redirects: await mine('subject_redirect', sql`and subject in (${customers})`),
    lake: await rows(`
      select subject, customer_id, store_customer_id, email, phone, provenance, customer as joined_to
      from customers_source left join subject_redirect using (subject)
      where provenance <> 'pixel' order by subject`),
  })
  const events = async () => (await rows('from events')).length
  return { server, browser, state, events }
}
const VISITORS = Object.values(PEOPLE).map(({ anonymousId }) => anonymousId)

const properties = (said: object) => ({ eventType: 'updateProperties', properties: said })
const consent = {
  email_consent: 'subscribed',
  sms_consent: 'unsubscribed',
  consent: { email: 'subscribed', sms: 'unsubscribed' },
  accepts_marketing: true,
}
const stranger = { email: 'mallory@example.com', phone: '+12015550199' }

const FORGED: [what: string, events: Sent[]][] = [
  ['the email of a victim', [{ anonymousId: 'm1', email: ada.email }]],
  ['the phone of a victim', [{ anonymousId: 'm2', phone: ada.phone }]],
  ['the email of one and the phone of another', [{ anonymousId: 'm3', email: ada.email, phone: bob.phone }]],
  ['one visitor as two customers', [ada, bob, cyd].map(({ email }) => ({ anonymousId: 'm4', email }))],
  ['a victim’s visitor as another', [{ anonymousId: ada.anonymousId, email: bob.email, phone: bob.phone }]],
  [
    'a profile id with another’s channels',
    [{ profileId: ada.profileId, email: bob.email, phone: bob.phone }],
  ],
  [
    'a store customer with other channels',
    [{ storeCustomerId: cyd.storeCustomerId, email: dot.email, phone: bob.phone }],
  ],
  [
    'channels of nobody for a victim',
    [
      { ...ada, ...stranger },
      { ...cyd, ...stranger },
    ],
  ],
  [
    'properties with channels and consent',
    [ada, bob, cyd].flatMap(({ email, phone, anonymousId }) => [
      { anonymousId: 'm5', ...properties({ email, ...consent }) },
      { anonymousId: 'm6', ...properties({ phone, ...consent }) },
      { anonymousId, ...properties({ ...stranger, ...consent }) },
      { email, ...properties({ ...stranger, ...consent }) },
      { phone, ...properties({ email: dot.email, ...consent }) },
    ]),
  ],
  [
    'a change of consent',
    [ada, cyd].map(({ email, phone }) => ({
      anonymousId: 'm7',
      email,
      phone,
      eventType: 'modifyConsent',
      properties: consent,
    })),
  ],
]

t.test('what a browser makes up changes no contact, consent or channel and joins nobody', async (t) => {
  const { browser, state, events, server } = await shop(t)
  const before = await state()
  t.equal(before.customers.length, 4)
  t.match(
    before.contacts.map(({ sms_consent, email_consent }) => [sms_consent, email_consent]),
    Object.keys(PEOPLE).map(() => ['subscribed', 'unsubscribed']),
  )
  t.equal(before.lake.length, 4)
  for (const [what, forged] of FORGED) {
    const known = await events()
    await browser(...forged)
    t.equal(await events(), known + forged.length, `${what}: in the lake`)
    t.strictSame(await state(), before, what)
  }

  await server({ email: ada.email, phone: bob.phone })
  t.equal((await state()).merges.length, 1, 'what a server says joins them')
})
