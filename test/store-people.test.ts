import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { v7 } from 'uuid'
import { recipientsOf } from '../src/campaign/recipient.ts'
import { ShopLife } from '../src/connect/demo/store/life.ts'
import { customerNode } from '../src/connect/demo/store/nodes.ts'
import { ShopState } from '../src/connect/demo/store/state.ts'
import { applyRecords } from '../src/connect/store/apply.ts'
import { Fields } from '../src/connect/store/fields.ts'
import { batchOf } from '../src/connect/store/record.ts'
import { NODES } from '../src/connect/store/shopify/nodes.ts'
import { setConsent, upsertContact } from '../src/identity/contact.ts'
import { assignSubjects } from '../src/identity/subject.ts'
import type { Brand } from '../src/op.ts'
import { database } from './fixtures/database.ts'
import { randomSource } from './fixtures/random.ts'
import { connectedBrand, eventsOf, storeServer } from './fixtures/store.ts'
import { checkout as checkoutBody, order as orderBody } from './fixtures/store-bodies.ts'
import { storeState } from './fixtures/store-state.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { sql } = db.postgres
const { send } = await storeServer(t, db)
const shop = () => connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })

const [OLD, NEW] = ['+12025550101', '+12025550102']
const at = (hour: number) => `2026-11-20T${String(hour).padStart(2, '0')}:00:00Z`

/** A version of the customer, of an hour. */
const customer = (hour: number, changes: object = {}) =>
  JSON.stringify({
    id: 77,
    email: 'ann@example.com',
    phone: OLD,
    first_name: 'Ann',
    last_name: 'Lee',
    tags: 'vip',
    created_at: at(1),
    updated_at: at(hour),
    email_marketing_consent: null,
    sms_marketing_consent: null,
    ...changes,
  })
const subscribed = (hour: number | null) => ({
  state: 'subscribed',
  consent_updated_at: hour && at(hour),
})
const UNDATED = { state: 'not_subscribed', consent_updated_at: null }
const NONE = { email: null, phone: null }

const tell = async (brand: Brand, ...bodies: string[]) => {
  for (const body of bodies) {
    const topic = 'line_items' in JSON.parse(body) ? 'orders/paid' : 'customers/update'
    const answer = await send(brand, { topic, body, triggeredAt: new Date(at(20)) })
    if (!answer.body.ok) throw new Error(JSON.stringify(answer))
  }
}
const told = async (...bodies: string[]) => {
  const brand = await shop()
  await tell(brand, ...bodies)
  return brand
}
const contacts = async ({ id }: Brand) => [
  ...(await sql`
    select email, phone, first_name, last_name, sms_consent, email_consent from contact
    where brand_id = ${id} and (email is not null or phone is not null) order by email, phone`),
]
/** STOP, of a brand with one contact. */
const refuse = async (brand: Brand, at: Date) => {
  const [{ id } = {}] = await sql`select id from contact where brand_id = ${brand.id}`
  await db.postgres.forBrand(brand.id).tx((tx) => setConsent(tx, id, 'sms', 'unsubscribed', 'reply', at))
}
const profile = async ({ id }: Brand) =>
  (
    await sql`
      select email, phone, first_name, last_name, tags from customer
      where brand_id = ${id} and store_customer_id = '77'`
  )[0]

/** All orders of a list. */
const permuted = <T>(list: readonly T[]): T[][] =>
  list.length < 2
    ? [[...list]]
    : list.flatMap((one, at) => permuted(list.toSpliced(at, 1)).map((rest) => [one, ...rest]))

t.test(
  'consent for an old number is none for the new one, in whatever order the versions come',
  async (t) => {
    const versions = [customer(2, { sms_marketing_consent: subscribed(2) }), customer(3, { phone: NEW })]
    const [first = '', second = ''] = versions
    for (const order of [
      [first, second],
      [second, first],
      [first, second, first],
      [second, first, second],
    ])
      t.hasStrict(await contacts(await told(...order)), [{ phone: NEW, sms_consent: 'unknown' }])
  },
)

t.test('a number that comes back has the consent that was given for it', async (t) => {
  const versions = [
    customer(2, { sms_marketing_consent: subscribed(2) }),
    customer(3, NONE),
    customer(4, { email: null }),
  ]
  for (const order of permuted(versions))
    t.hasStrict(await contacts(await told(...order)), [{ phone: OLD, sms_consent: 'subscribed' }])
})

t.test('consent that the store gives a new number with it holds for that', async (t) => {
  const versions = [
    customer(2, { sms_marketing_consent: subscribed(2) }),
    customer(3, { phone: NEW, sms_marketing_consent: subscribed(2) }),
  ]
  for (const order of permuted(versions))
    t.hasStrict(await contacts(await told(...order)), [{ phone: NEW, sms_consent: 'subscribed' }])
})

t.test('a consent that the store takes back without saying when is taken back', async (t) => {
  for (const phone of [OLD, NEW]) {
    const versions = [
      customer(2, { sms_marketing_consent: subscribed(2) }),
      customer(3, { phone, sms_marketing_consent: UNDATED }),
    ]
    for (const order of permuted(versions))
      t.hasStrict(await contacts(await told(...order)), [{ phone, sms_consent: 'unknown' }])
  }
})

const pending = (hour: number) => ({ state: 'pending', consent_updated_at: at(hour) })

t.test('who has not confirmed a double opt-in waits for that, whatever they said before', async (t) => {
  const versions = [
    customer(2, { sms_marketing_consent: subscribed(2) }),
    customer(3, { sms_marketing_consent: pending(3) }),
  ]
  for (const order of [versions, versions.toReversed()])
    t.hasStrict(await contacts(await told(...order)), [{ sms_consent: 'pending' }])
})

t.test('who confirms a double opt-in has agreed, also since they began it', async (t) => {
  for (const hour of [3, 4]) {
    const versions = [
      customer(3, { sms_marketing_consent: pending(3) }),
      customer(4, { sms_marketing_consent: subscribed(hour) }),
    ]
    for (const order of [versions, versions.toReversed()])
      t.hasStrict(await contacts(await told(...order)), [{ sms_consent: 'subscribed' }])
  }
})

t.test('a double opt-in that is not confirmed undoes no refusal', async (t) => {
  const brand = await told(
    customer(2, { sms_marketing_consent: { state: 'unsubscribed', consent_updated_at: at(2) } }),
    customer(3, { sms_marketing_consent: pending(3) }),
  )
  t.hasStrict(await contacts(brand), [{ sms_consent: 'unsubscribed' }])
})

t.test('a double opt-in that the shopper gave up is unknown again', async (t) => {
  const brand = await told(
    customer(2, { sms_marketing_consent: pending(2) }),
    customer(3, { sms_marketing_consent: { state: 'not_subscribed', consent_updated_at: at(3) } }),
  )
  t.hasStrict(await contacts(brand), [{ sms_consent: 'unknown' }])
})

t.test('a double opt-in of a new number that is not confirmed leaves the old one', async (t) => {
  const brand = await told(
    customer(2, { sms_marketing_consent: subscribed(2) }),
    customer(3, { phone: NEW, sms_marketing_consent: pending(3) }),
  )
  t.hasStrict(await contacts(brand), [{ phone: NEW, sms_consent: 'pending' }])
  await tell(brand, customer(4, { phone: OLD }))
  t.hasStrict(await contacts(brand), [{ phone: OLD, sms_consent: 'subscribed' }])
})

t.test('a consent without a time overrules no word that has one', async (t) => {
  const brand = await told(
    customer(3, { sms_marketing_consent: { state: 'unsubscribed', consent_updated_at: at(2) } }),
    customer(4, { sms_marketing_consent: subscribed(null) }),
  )
  t.hasStrict(await contacts(brand), [{ sms_consent: 'unsubscribed' }])
})

t.test(
  'a refusal is the person’s: a new number and older or undated words change nothing of it',
  async (t) => {
    const brand = await told(customer(2, { sms_marketing_consent: subscribed(2) }))
    await refuse(brand, new Date(at(5)))
    await tell(brand, customer(6, { sms_marketing_consent: UNDATED }))
    t.hasStrict(await contacts(brand), [{ phone: OLD, sms_consent: 'unsubscribed' }])
    await tell(brand, customer(7, { phone: NEW, sms_marketing_consent: subscribed(4) }))
    t.hasStrict(await contacts(brand), [{ phone: NEW, sms_consent: 'unsubscribed' }])
    await tell(brand, customer(9, { phone: NEW, sms_marketing_consent: subscribed(8) }))
    t.hasStrict(await contacts(brand), [{ phone: NEW, sms_consent: 'subscribed' }])
  },
)

t.test('a yes without a time undoes no refusal, though its topic names no time at all', async (t) => {
  const topic = 'customers_marketing_consent/update'
  const body = JSON.stringify({ id: 77, phone: OLD, sms_marketing_consent: subscribed(null) })
  const brand = await shop()
  t.hasStrict(await send(brand, { topic, body }), { body: { ok: true } })
  t.hasStrict(await contacts(brand), [{ phone: OLD, sms_consent: 'subscribed' }])
  await refuse(brand, new Date(at(5)))
  await send(brand, { topic, body })
  t.hasStrict(await contacts(brand), [{ phone: OLD, sms_consent: 'unsubscribed' }])
})

t.test('a yes without a time undoes no refusal of before the customer was made', async (t) => {
  const brand = await told(customer(2))
  await refuse(brand, new Date('2026-11-19T00:00:00Z'))
  await tell(brand, customer(3, { sms_marketing_consent: subscribed(null) }))
  t.hasStrict(await contacts(brand), [{ phone: OLD, sms_consent: 'unsubscribed' }])
})

const AHEAD = '2099-01-01T00:00:00Z'

t.test('a yes that is dated far ahead undoes no refusal, before or after it', async (t) => {
  const brand = await told(customer(2))
  const yes = { sms_marketing_consent: { state: 'subscribed', consent_updated_at: AHEAD } }
  await refuse(brand, new Date(at(1)))
  await tell(brand, customer(3, yes))
  t.hasStrict(await contacts(brand), [{ phone: OLD, sms_consent: 'unsubscribed' }])
  const other = await told(customer(2, yes))
  t.hasStrict(await contacts(other), [{ phone: OLD, sms_consent: 'subscribed' }])
  await refuse(other, new Date())
  await tell(other, customer(3, yes))
  t.hasStrict(await contacts(other), [{ phone: OLD, sms_consent: 'unsubscribed' }])
})

t.test('a yes of a clock that is a minute ahead of ours counts from when it came', async (t) => {
  const brand = await told(customer(2))
  await refuse(brand, new Date(at(5)))
  const soon = new Date(Date.now() + 60_000).toISOString()
  const yes = { sms_marketing_consent: { state: 'subscribed', consent_updated_at: soon } }
  await tell(brand, customer(3, yes))
  t.hasStrict(await contacts(brand), [{ phone: OLD, sms_consent: 'subscribed' }])
  await refuse(brand, new Date())
  t.hasStrict(await contacts(brand), [{ phone: OLD, sms_consent: 'unsubscribed' }])
})

t.test('a refusal that is dated ahead is one since it came', async (t) => {
  const no = { sms_marketing_consent: { state: 'unsubscribed', consent_updated_at: AHEAD } }
  const brand = await told(customer(2, { sms_marketing_consent: subscribed(2) }), customer(3, no))
  t.hasStrict(await contacts(brand), [{ phone: OLD, sms_consent: 'unsubscribed' }])
  const [word] = await sql`
    select at <= now() as past from contact_consent where brand_id = ${brand.id} and state = 'unsubscribed'`
  t.same(word, { past: true })
})

t.test('a version that is dated ahead keeps no later one out', async (t) => {
  const brand = await told(customer(2, { first_name: 'Bob', updated_at: AHEAD }))
  await tell(brand, customer(3, { first_name: 'Eve', updated_at: new Date().toISOString() }))
  t.hasStrict(await profile(brand), { first_name: 'Eve' })
})

t.test('what was dated ahead before an upgrade counts since it came', async (t) => {
  const brand = await told(customer(2))
  await sql`
    insert into contact_consent (brand_id, contact_id, channel, state, source, at, recorded_at, address)
    select brand_id, id, 'sms', 'subscribed', 'store', at, ${at(3)}, phone
    from contact
    cross join unnest(${['2098-01-01', '2099-01-01']}::timestamptz[]) as at
    where brand_id = ${brand.id}`
  await refuse(brand, new Date(at(5)))
  t.hasStrict(await contacts(brand), [{ sms_consent: 'subscribed' }])
  await sql`update store_version set updated_at = ${AHEAD} where brand_id = ${brand.id}`
  const migration = '../migrations/20261126000180_not_ahead.sql'
  await sql.unsafe(readFileSync(join(import.meta.dirname, migration), 'utf8'))
  t.hasStrict(await contacts(brand), [{ sms_consent: 'unsubscribed' }])
  await tell(brand, customer(3, { first_name: 'Eve', updated_at: new Date().toISOString() }))
  t.hasStrict(await profile(brand), { first_name: 'Eve' })
})

t.test('what a record says without a time is kept once, and is an event once', async (t) => {
  const versions = [2, 3, 4, 5].map((hour) => customer(hour, { sms_marketing_consent: UNDATED }))
  const brand = await told(...versions)
  t.equal((await sql`select from contact_consent where brand_id = ${brand.id}`).count, 1)
  const events = await eventsOf(db, brand)
  t.equal(events.filter(({ event_type }) => event_type === 'consent_updated').length, 1)
})

t.test('the last tag that is removed is gone', async (t) => {
  for (const order of permuted([customer(2), customer(3, { tags: '' })]))
    t.same((await profile(await told(...order)))?.tags, [])
})

t.test('all of many tags are kept', async (t) => {
  const tags = Array.from({ length: 250 }, (_, n) => `subscriber of letter ${n}`)
  t.same((await profile(await told(customer(2, { tags: tags.join(', ') }))))?.tags, tags)
})

t.test('what a newer version says it has not is gone, from the contact as well', async (t) => {
  const without = { phone: null, first_name: null, last_name: '' }
  for (const order of permuted([customer(2), customer(3, without)])) {
    const brand = await told(...order)
    const left = { email: 'ann@example.com', phone: null, first_name: null, last_name: null }
    t.hasStrict(await profile(brand), left)
    t.hasStrict(await contacts(brand), [left])
  }
})

t.test('whose channels are all removed cannot be messaged, also at those of old orders', async (t) => {
  const versions = [customer(2), customer(3, NONE), orderBody({ phone: OLD })]
  for (const order of permuted(versions)) {
    const brand = await told(...order)
    t.hasStrict(await profile(brand), NONE)
    t.same(await contacts(brand), [])
  }
})

t.test('who has lost an address is still found by it', async (t) => {
  const brand = await told(customer(2), customer(3, NONE))
  const [{ subject } = {}] = await sql`
    select subject from customer where brand_id = ${brand.id} and store_customer_id = '77'`
  const [found] = await assignSubjects(
    sql,
    brand.id,
    [{ email: 'ann@example.com', phone: OLD, seenAt: new Date() }],
    { storePlatformDomain: 'myshopify.com' },
  )
  t.equal(found, subject)
  t.equal((await sql`select from customer where brand_id = ${brand.id}`).count, 1)
})

t.test('what a version does not mention stays', async (t) => {
  const less = { email: undefined, phone: undefined, first_name: undefined, last_name: undefined }
  const brand = await told(customer(2), customer(3, { ...less, tags: undefined }))
  const all = { email: 'ann@example.com', phone: OLD, first_name: 'Ann', last_name: 'Lee' }
  t.hasStrict(await profile(brand), { ...all, tags: ['vip'] })
  t.hasStrict(await contacts(brand), [all])
})

t.test('a number that others said of a customer whose record never had one stays', async (t) => {
  for (const order of permuted([customer(2, NONE), customer(3, NONE), orderBody({ phone: NEW })])) {
    const brand = await told(...order)
    t.hasStrict(await profile(brand), { phone: NEW })
    t.hasStrict(await contacts(brand), [{ phone: NEW }])
  }
})

t.test('who has an address keeps it, whatever a guest typed beside their other one', async (t) => {
  const yes = { email_marketing_consent: subscribed(2), sms_marketing_consent: subscribed(2) }
  const typed = { email: 'guest@example.com', phone: OLD, customer: null }
  for (const [topic, body] of [
    ['checkouts/create', checkoutBody({ id: 5, token: 'guest', ...typed })],
    ['orders/create', orderBody({ id: 5, checkout_token: 'other', ...typed })],
  ] as const) {
    const brand = await told(customer(3, yes))
    t.same((await send(brand, { topic, body, triggeredAt: new Date(at(20)) })).body, { ok: true })
    t.match(
      await contacts(brand),
      [{ email: 'ann@example.com', phone: OLD, email_consent: 'subscribed', sms_consent: 'subscribed' }],
      topic,
    )
    t.match(await profile(brand), { email: 'ann@example.com' })
  }
})

t.test('what a later import says of a customer is not taken out by an older record', async (t) => {
  const brand = await told(customer(2))
  // As an import, of now, of somebody whose record was not known yet.
  await sql`
    update customer set updated_at = now(), email_by_record = false, phone_by_record = false
    where brand_id = ${brand.id}`
  await sql`delete from store_version where brand_id = ${brand.id}`
  await tell(brand, customer(3))
  t.hasStrict(await profile(brand), { email: 'ann@example.com', phone: OLD })
  t.hasStrict(await contacts(brand), [{ email: 'ann@example.com', phone: OLD }])
})

t.test('an address that goes from one customer to another at once is the new one’s', async (t) => {
  const state = new ShopState()
  const [ann, bob] = [state.addCustomer(new Date(at(1))), state.addCustomer(new Date(at(1)))]
  Object.assign(ann, { phone: OLD, email: 'a@example.com' })
  Object.assign(bob, { phone: NEW, email: null })
  const brand = await shop()
  const read = (hour: number) =>
    db.postgres.forBrand(brand.id).tx((tx) => {
      const batches = [bob, ann].map((one) => {
        one.updatedAt = new Date(at(hour))
        return NODES.customers(new Fields(customerNode(state, one)), at(20))
      })
      return applyRecords(
        {
          tx,
          brandId: brand.id,
          storePlatformDomain: 'myshopify.com',
          currency: 'USD',
          region: 'US',
          connectedAt: new Date(at(1)),
        },
        batchOf({ customers: batches.flatMap(({ customers }) => customers) }),
      )
    })
  await read(2)
  Object.assign(ann, { email: null })
  Object.assign(bob, { email: 'a@example.com' })
  await read(3)
  t.hasStrict(await contacts(brand), [
    { email: 'a@example.com', phone: NEW },
    { email: null, phone: OLD },
  ])
})

t.test('who refused messages at a number is not messaged at it when it is another contact’s', async (t) => {
  const brand = await told(customer(2))
  const [one] = await sql<{ id: string }[]>`select id from contact where brand_id = ${brand.id}`
  await db.postgres
    .forBrand(brand.id)
    .tx((tx) => setConsent(tx, one?.id ?? '', 'sms', 'unsubscribed', 'reply', new Date(at(2))))
  await tell(brand, customer(3, { phone: null }))
  const upserted = await db.postgres
    .forBrand(brand.id)
    .tx((tx) =>
      upsertContact(tx, { subject: null, email: null, phone: OLD, firstName: null, lastName: null }),
    )
  t.hasStrict(await contacts(brand), [
    { email: 'ann@example.com', phone: null },
    { phone: OLD, sms_consent: 'unsubscribed' },
  ])
  const other = (upserted as { contactId: string }).contactId
  await db.postgres
    .forBrand(brand.id)
    .tx((tx) => setConsent(tx, other, 'sms', 'subscribed', 'reply', new Date(at(4))))
  t.hasStrict(await contacts(brand), [{}, { phone: OLD, sms_consent: 'subscribed' }])
})

t.test('what the store never asked takes back no consent that was given elsewhere', async (t) => {
  const brand = await told(customer(2))
  const [one] = await sql<{ id: string }[]>`select id from contact where brand_id = ${brand.id}`
  await db.postgres
    .forBrand(brand.id)
    .tx((tx) => setConsent(tx, one?.id ?? '', 'sms', 'subscribed', 'reply', new Date(at(2))))
  await tell(brand, customer(3, { sms_marketing_consent: UNDATED }))
  t.hasStrict(await contacts(brand), [{ sms_consent: 'subscribed' }])
})

t.test('the Admin API removes as a webhook does', async (t) => {
  const state = new ShopState()
  const shopper = state.addCustomer(new Date(at(1)))
  Object.assign(shopper, { id: 77n, phone: OLD, tags: ['vip'] })
  const brand = await shop()
  const read = async (hour: number) => {
    shopper.updatedAt = new Date(at(hour))
    const batch = NODES.customers(new Fields(customerNode(state, shopper)), at(20))
    await db.postgres.forBrand(brand.id).tx((tx) =>
      applyRecords(
        {
          tx,
          brandId: brand.id,
          storePlatformDomain: 'myshopify.com',
          currency: 'USD',
          region: 'US',
          connectedAt: new Date(at(1)),
        },
        batch,
      ),
    )
  }
  await read(2)
  t.hasStrict(await contacts(brand), [{ phone: OLD }])
  Object.assign(shopper, { phone: null, tags: [], firstName: null })
  await read(3)
  t.hasStrict(await profile(brand), { phone: null, tags: [], first_name: null })
  t.hasStrict(await contacts(brand), [{ phone: null, first_name: null }])
})

t.test('a consent that names no address allows nothing, and forbids', async (t) => {
  const brand = await told(customer(2))
  const say = (state: string, hour: number) => {
    const sms_marketing_consent = { state, consent_updated_at: at(hour) }
    return send(brand, {
      topic: 'customers_marketing_consent/update',
      body: JSON.stringify({ customer_id: 77, sms_marketing_consent }),
    })
  }
  await say('subscribed', 3)
  t.hasStrict(await contacts(brand), [{ sms_consent: 'unknown' }])
  await say('unsubscribed', 4)
  t.hasStrict(await contacts(brand), [{ sms_consent: 'unsubscribed' }])
})

t.test(
  'an address that moves to another customer is theirs, in whatever order the versions come',
  async (t) => {
    const bea = (hour: number, changes: object) =>
      customer(hour, { id: 78, first_name: 'Bea', phone: null, ...changes })
    const versions = [
      customer(2),
      customer(3, { email: 'ann.lee@example.com', phone: null }),
      bea(2, { email: 'bea@example.com' }),
      bea(3, { email: 'ann@example.com', phone: OLD }),
    ]
    const wanted = [
      { email: 'ann.lee@example.com', phone: null, first_name: 'Ann' },
      { email: 'ann@example.com', phone: OLD, first_name: 'Bea' },
    ]
    for (const order of permuted(versions)) t.hasStrict(await contacts(await told(...order)), wanted)
  },
)

t.test('an address goes on through customers who each take what the one before leaves', async (t) => {
  const [a, b, c] = ['a@example.com', 'b@example.com', 'c@example.com']
  const of = (id: number, hour: number, email: string) => customer(hour, { id, email, phone: null })
  const first = [of(77, 2, a), of(78, 2, b), of(79, 2, c)]
  const second = [of(77, 3, 'new@example.com'), of(78, 3, a), of(79, 3, b)]
  for (const order of permuted(second)) {
    const brand = await told(...first, ...order)
    const whose = await sql`
      select contact.email, store_customer_id from contact join customer using (brand_id, subject)
      where brand_id = ${brand.id} order by store_customer_id`
    t.hasStrict([...whose], [{ email: 'new@example.com' }, { email: a }, { email: b }])
  }
})

t.test('a customer without any address takes over the contact that has their new one', async (t) => {
  const brand = await told(customer(2), customer(3, NONE))
  const [{ id: bare } = {}] = await sql`select id from contact where brand_id = ${brand.id}`
  const ofBrand = db.postgres.forBrand(brand.id)
  await ofBrand.tx((tx) => setConsent(tx, bare, 'email', 'unsubscribed', 'reply', new Date(at(4))))
  const anne = { subject: null, email: 'anne@example.com', phone: null, firstName: null, lastName: null }
  await ofBrand.tx((tx) => upsertContact(tx, anne))
  await tell(brand, customer(5, { email: 'anne@example.com', phone: null }))
  const [contact] = await sql`
    select store_customer_id, email_consent from contact join customer using (brand_id, subject)
    where brand_id = ${brand.id} and contact.email = 'anne@example.com'`
  t.hasStrict(contact, { store_customer_id: '77', email_consent: 'unsubscribed' })
})

/** What a message by email to the customer with this id of the store finds. */
const reached = async ({ id }: Brand, storeCustomerId = '77') => {
  const [{ subject } = {}] = await sql`
    select subject from customer where brand_id = ${id} and store_customer_id = ${storeCustomerId}`
  const about = { channel: 'email', source_kind: 'customer', source_id: '' } as const
  const found = await db.postgres
    .forBrand(id)
    .tx((tx) => recipientsOf(tx, [{ id: 'run', subject, ...about }]))
  return found.get('run') ?? null
}
const emailSaid = (state: string, hour: number) => ({
  email_marketing_consent: { state, consent_updated_at: at(hour) },
})
/** A contact that is no customer's, or a profile's. */
const found = (brand: Brand, email: string, subject: number | null = null) =>
  db.postgres
    .forBrand(brand.id)
    .tx((tx) => upsertContact(tx, { subject, email, phone: null, firstName: null, lastName: null }))

t.test(
  'a refusal by one contact of a customer holds for the address that another one takes up',
  async (t) => {
    const brand = await told(customer(2, { phone: null }), customer(3, NONE))
    await found(brand, 'anne@example.com')
    await tell(brand, customer(5, { email: 'anne@example.com', phone: null }))
    const [{ id } = {}] = await sql`select id from contact where brand_id = ${brand.id} and email is not null`
    await db.postgres
      .forBrand(brand.id)
      .tx((tx) => setConsent(tx, id, 'email', 'unsubscribed', 'reply', new Date(at(6))))
    await tell(brand, customer(7, { email: 'third@example.com', phone: null }))
    t.hasStrict(await reached(brand), { email: 'third@example.com', email_consent: 'unsubscribed' })
  },
)

t.test(
  'a refusal holds at the contact of a profile that was merged, whichever contact is older',
  async (t) => {
    const [e0, e1] = ['e0@example.com', 'e1@example.com']
    const refused = customer(2, { email: e0, phone: null, ...emailSaid('unsubscribed', 2) })
    for (const isStoreFirst of [true, false]) {
      const brand = await shop()
      if (isStoreFirst) await tell(brand, refused)
      const named = [{ email: e1, seenAt: new Date(at(1)) }]
      const [subject = 0] = await db.postgres
        .forBrand(brand.id)
        .tx((tx) =>
          assignSubjects(tx, brand.id, named, { storePlatformDomain: 'myshopify.com', source: 'server' }),
        )
      await found(brand, e1, subject)
      if (!isStoreFirst) await tell(brand, refused)
      await tell(brand, customer(3, { email: e1, phone: null, ...emailSaid('unsubscribed', 2) }))
      t.hasStrict(await reached(brand), { email: e1, email_consent: 'unsubscribed' })
    }
  },
)

t.test('a refusal at an address holds for whoever has it, in whatever order it comes', async (t) => {
  const versions = [
    customer(2, { ...emailSaid('subscribed', 1), phone: null }),
    customer(3, { id: 78, ...emailSaid('unsubscribed', 3), phone: null }),
  ]
  for (const order of permuted(versions))
    t.hasStrict(await contacts(await told(...order)), [
      { email: 'ann@example.com', email_consent: 'unsubscribed' },
    ])
})

t.test('a refusal at an address that went from one customer to another is the new one’s', async (t) => {
  const brand = await told(
    customer(2, { phone: null, email: 'a@example.com' }),
    customer(3, { phone: null, email: 'moved@example.com' }),
    customer(3, { id: 78, phone: NEW, email: null }),
  )
  const [{ subject } = {}] = await sql`
    select subject from customer where brand_id = ${brand.id} and store_customer_id = '78'`
  // As an import says it, which makes no contact.
  await sql`update customer set email = 'a@example.com' where brand_id = ${brand.id} and subject = ${subject}`
  await sql`
    insert into identifier_claim (brand_id, kind, value, subject, source)
    values (${brand.id}, 'email', 'a@example.com', ${subject}, 'import')`
  const unlinked = v7()
  await sql`insert into contact (brand_id, id, email) values (${brand.id}, ${unlinked}, 'a@example.com')`
  await db.postgres
    .forBrand(brand.id)
    .tx((tx) => setConsent(tx, unlinked, 'email', 'unsubscribed', 'reply', new Date()))
  t.same(
    [
      ...(await sql`select email_consent from contact where brand_id = ${brand.id} and email = 'moved@example.com'`),
    ],
    [{ email_consent: 'unknown' }],
  )
  t.same(
    [
      ...(await sql`select source from contact_consent where brand_id = ${brand.id} and contact_id <> ${unlinked}`),
    ],
    [{ source: 'reply' }],
  )
})

t.test('an address of a customer whom the store removed is that of the one who has it now', async (t) => {
  const [a, b] = ['a@example.com', 'b@example.com']
  const before = [customer(2, { email: a, phone: null }), customer(2, { id: 78, email: b, phone: null })]
  const remove = (brand: Brand) => send(brand, { topic: 'customers/delete', body: '{"id":77}' })
  const moved = customer(3, { id: 78, email: a, phone: null })
  const again = customer(3, { id: 79, email: a, phone: null })
  for (const [id, version] of [
    ['78', moved],
    ['79', again],
  ] as const) {
    const first = await told(...before)
    await remove(first)
    await tell(first, version)
    t.hasStrict(await reached(first, id), { email: a }, `${id}, removed before`)
    const late = await told(...before, version)
    await remove(late)
    t.hasStrict(await reached(late, id), { email: a }, `${id}, removed after`)
  }
})

/** The store customer whom somebody means who names them so. */
const meant = async (brand: Brand, identity: object) => {
  const [subject] = await assignSubjects(sql, brand.id, [{ ...identity, seenAt: new Date() }], {
    storePlatformDomain: 'shopify.com',
  })
  const [{ id } = {}] = await sql`
    select customer.store_customer_id as id from customer
    where brand_id = ${brand.id} and subject = coalesce((
      select redirect.customer from subject_redirect as redirect
      where redirect.brand_id = ${brand.id} and redirect.subject = ${subject ?? 0} and not redirect.deleted
    ), ${subject ?? 0})`
  return id
}
const removal = (id: number) => ({ topic: 'customers/delete', body: `{"id":${id}}` })

t.test('a browser of a customer whom the store removed follows who signs in by its word', async (t) => {
  const brand = await told(customer(2), customer(2, { id: 78, email: 'bea@example.com', phone: null }))
  const says = (identity: object) => meant(brand, { anonymousId: 'visitor', origin: 'browser', ...identity })
  t.equal(await says({ email: 'ann@example.com' }), '77')
  t.equal(await says({ email: 'bea@example.com' }), '77', 'the first while the store has both')
  await send(brand, removal(77))
  t.equal(await says({ email: 'bea@example.com' }), '78')
})

t.test(
  'who is named with the email of a customer whom the store removed is the next who has it',
  async (t) => {
    const [first, second] = [customer(2), customer(3, { id: 78, phone: null })]
    const before = await told(first, second)
    t.equal(await meant(before, { email: 'ann@example.com' }), '77', 'while both are there')
    await send(before, removal(77))
    t.equal(await meant(before, { email: 'ann@example.com' }), '78', 'claimed before the removal')
    const after = await told(first)
    await send(after, removal(77))
    t.equal(await meant(after, { email: 'ann@example.com' }), '77', 'while nobody else has it')
    await tell(after, second)
    t.equal(await meant(after, { email: 'ann@example.com' }), '78', 'claimed after it')
    t.equal(await meant(after, { storeCustomerId: '77', email: 'ann@example.com' }), '77', 'a late record')
    t.equal(await meant(after, { email: 'ann@example.com' }), '78', 'after a late record')
  },
)

t.test('a browser of a customer whom the store removed follows the next who signs in there', async (t) => {
  const brand = await told(customer(2), customer(2, { id: 78, email: null, phone: null }))
  await assignSubjects(sql, brand.id, [{ anonymousId: 'visitor', seenAt: new Date() }], {
    storePlatformDomain: 'shopify.com',
  })
  for (const browser of ['browser', 'visitor']) {
    t.equal(await meant(brand, { storeCustomerId: '77', anonymousId: browser }), '77')
    t.equal(await meant(brand, { storeCustomerId: '78', anonymousId: browser }), '78')
    t.equal(await meant(brand, { anonymousId: browser }), '77', 'the first while the store has both')
  }
  await send(brand, removal(77))
  const merges = async () => (await sql`select from merge where brand_id = ${brand.id}`).length
  const before = await merges()
  for (let n = 0; n < 2; n++) await meant(brand, { storeCustomerId: '77', anonymousId: 'visitor' })
  t.equal(await merges(), before, 'who was removed is no reason to go')
  for (const browser of ['browser', 'visitor']) {
    t.equal(await meant(brand, { storeCustomerId: '78', anonymousId: browser }), '78')
    t.equal(await meant(brand, { anonymousId: browser }), '78')
  }
})

t.test('a customer with another contact has the new address that nobody else’s contact has', async (t) => {
  const brand = await told(customer(2))
  await found(brand, 'new@example.com')
  await tell(brand, customer(3, { email: 'new@example.com' }))
  t.hasStrict(await contacts(brand), [{ email: 'new@example.com', phone: OLD }])
})

t.test('whatever customers change, any order ends in the state and the consents of the store', async (t) => {
  const random = randomSource(t)
  const started = new Date(Date.now() - 2 * 86_400_000)
  for (let round = 0; round < 2; round++) {
    const life = new ShopLife(new ShopState(), random, started)
    life.open({ products: 1, customers: 3 })
    for (let step = 0; step < 25; step++) life.stepOfCustomer()
    const history = life.messages()
    const after = async (messages: typeof history) => {
      const brand = await connectedBrand(db, { connectedAt: started })
      for (const message of messages) t.equal((await send(brand, message)).status, 200)
      return brand
    }
    const brand = await after(history)
    const known = await contacts(brand)
    for (const { email, phone, emailConsent, smsConsent } of life.state.customers) {
      if (email === null && phone === null) continue
      const contact = known.find((one) => (email ? one.email === email : one.phone === phone))
      t.hasStrict(contact, { email, phone })
      const agreed = (consent: typeof smsConsent) => consent?.state === 'subscribed'
      if (contact?.sms_consent === 'subscribed') t.ok(agreed(smsConsent) || smsConsent === null)
      if (contact?.email_consent === 'subscribed') t.ok(agreed(emailConsent) || emailConsent === null)
    }
    const wanted = await storeState(db, brand)
    for (let turn = 0; turn < 2; turn++) {
      const mixed = history
        .flatMap((message) => (random.chance(0.3) ? [message, message] : [message]))
        .map((message) => ({ message, place: random.below(1e9) }))
        .sort((one, other) => one.place - other.place)
      t.strictSame(await storeState(db, await after(mixed.map(({ message }) => message))), wanted)
    }
  }
})
