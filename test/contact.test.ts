import connect from 'postgres'
import t from 'tap'
import { v7 as uuidv7 } from 'uuid'
import { appendEvents } from '../src/event/append.ts'
import {
  type ConsentChannel,
  type ConsentState,
  type FoundContact,
  setConsent,
  upsertContact,
} from '../src/identity/contact.ts'
import { listMerges, undoMerge } from '../src/identity/merge.ts'
import { assignSubjects } from '../src/identity/subject.ts'
import { contactOps } from '../src/ops/contacts.ts'
import { statement } from '../src/store/sqlfile.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, logBatch, sourceRows, tick } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'

const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = db.postgres
const NOBODY: FoundContact = { subject: null, email: null, phone: null, firstName: null, lastName: null }

async function shop() {
  const brand = await makeBrand(db)
  const ofBrand = db.postgres.forBrand(brand.id)
  const upsert = async (found: Partial<FoundContact>) => {
    const made = await ofBrand.tx((tx) => upsertContact(tx, { ...NOBODY, ...found }))
    return 'conflict' in made ? made.conflict : made.contactId
  }
  const consent = (id: string, channel: ConsentChannel, state: ConsentState, at: string) =>
    ofBrand.tx((tx) => setConsent(tx, id, channel, state, 'test', new Date(at)))
  const contacts = () =>
    sql`select id, subject, email, phone, first_name, sms_consent, email_consent from contact
      where brand_id = ${brand.id} order by email, phone`
  return { brand, ofBrand, upsert, consent, contacts }
}

t.test('an address and a number in other spellings are the same contact', async (t) => {
  const { upsert, contacts } = await shop()
  const id = await upsert({ email: ' Zoe@Example.COM ', firstName: 'Zoe' })
  t.equal(await upsert({ email: 'zoe@example.com', phone: '(201) 555-0123' }), id)
  t.equal(await upsert({ phone: '+1 201 555 0123', lastName: 'Z' }), id)
  t.match(await contacts(), [{ id, email: 'zoe@example.com', phone: '+12015550123', first_name: 'Zoe' }])
})

t.test('a number without a country code is one of the brand’s region', async (t) => {
  const { brand, upsert, contacts } = await shop()
  await sql`update brand set default_phone_region = 'DE' where id = ${brand.id}`
  await upsert({ phone: '01511 2345678' })
  t.match(await contacts(), [{ phone: '+4915112345678' }])
})

t.test('channels of two contacts conflict, and nothing changes', async (t) => {
  const { upsert, contacts } = await shop()
  await upsert({ email: 'a@example.com', firstName: 'A' })
  await upsert({ phone: '+12015550123' })
  const before = await contacts()
  t.equal(await upsert({ email: 'a@example.com', phone: '+12015550123', firstName: 'B' }), 'phone')
  t.same(await contacts(), before)
})

t.test('a channel that another contact than the customer’s owns conflicts', async (t) => {
  const { upsert, contacts } = await shop()
  const id = await upsert({ subject: 7, email: 'a@example.com' })
  await upsert({ email: 'b@example.com' })
  t.equal(await upsert({ subject: 7, email: 'b@example.com' }), 'email')
  t.equal(await upsert({ subject: 7, email: 'c@example.com' }), id, 'a free one becomes the customer’s')
  t.match(await contacts(), [{ email: 'b@example.com' }, { id, email: 'c@example.com', subject: 7 }])
})

t.test('what is no channel makes no contact', async (t) => {
  const { upsert, contacts } = await shop()
  for (const wrong of [{}, { email: 'n/a' }, { phone: '12' }, { email: '', phone: '' }])
    await t.rejects(upsert(wrong), { code: 'bad_request' })
  t.same(await contacts(), [])
})

t.test('contacts of another brand are no neighbours', async (t) => {
  const [one, other] = [await shop(), await shop()]
  const id = await one.upsert({ email: 'a@example.com' })
  t.not(await other.upsert({ email: 'a@example.com' }), id)
})

t.test('the same channels at once, in any mixture, make one contact and no error', async (t) => {
  const { upsert, contacts } = await shop()
  const mixtures = [
    { email: 'a@example.com' },
    { email: 'a@example.com', phone: '+12015550123' },
    { phone: '+12015550123', email: 'a@example.com', subject: 3 },
  ]
  const ids = await Promise.all(Array.from({ length: 60 }, (_, n) => upsert(mixtures[n % 3] ?? {})))
  t.equal(new Set(ids).size, 1)
  t.match(await contacts(), [{ email: 'a@example.com', phone: '+12015550123', subject: 3 }])
})

t.test('pairs that cross at once never leave a channel with two contacts', async (t) => {
  const { upsert, contacts } = await shop()
  const numbers = ['+12015550100', '+12015550101', '+12015550102']
  const addresses = ['a@example.com', 'b@example.com', 'c@example.com']
  await Promise.all(
    Array.from({ length: 90 }, (_, n) =>
      upsert({ email: addresses[n % 3] ?? null, phone: numbers[Math.floor(n / 3) % 3] ?? null }),
    ),
  )
  const rows = await contacts()
  t.equal(new Set(rows.map((row) => row.email)).size, rows.length)
  t.equal(new Set(rows.map((row) => row.phone)).size, rows.length)
})

t.test('a number that is replaced at the same moment does not come back', async (t) => {
  const { ofBrand, upsert, contacts } = await shop()
  const [email, old, now] = ['a@example.com', '+12015550123', '+12015550124']
  await upsert({ email, phone: old })
  await ofBrand.tx(async (tx) => {
    let isRead = false
    const many: typeof tx.many = async (name, args) => {
      const rows = await tx.many(name, args)
      if (name === 'contacts_like' && !isRead) {
        isRead = true
        await upsert({ email, phone: now })
      }
      return rows as never
    }
    await upsertContact({ ...tx, many }, { ...NOBODY, phone: old, firstName: 'Zoe' })
  })
  t.match(await contacts(), [
    { email, phone: now, first_name: null },
    { email: null, phone: old, first_name: 'Zoe' },
  ])
})

t.test('the newest word on consent counts, in whatever order words come', async (t) => {
  const { upsert, consent, contacts } = await shop()
  const id = await upsert({ email: 'a@example.com', phone: '+12015550123' })
  await consent(id, 'sms', 'unsubscribed', '2026-11-02T00:00:00Z')
  await consent(id, 'sms', 'subscribed', '2026-11-01T00:00:00Z')
  t.match(await contacts(), [{ sms_consent: 'unsubscribed', email_consent: 'unknown' }])
  await consent(id, 'sms', 'subscribed', '2026-11-02T00:00:00Z')
  t.match(await contacts(), [{ sms_consent: 'unsubscribed' }], 'of two at once the one that forbids')
  await consent(id, 'sms', 'subscribed', '2026-11-03T00:00:00Z')
  await consent(id, 'sms', 'subscribed', '2026-11-03T00:00:00Z')
  t.match(await contacts(), [{ sms_consent: 'subscribed' }])
  const [{ count } = {}] = await sql`select count(*) from contact_consent where contact_id = ${id}`
  t.equal(Number(count), 4)
})

t.test('a changed number has no consent, and the history says what each word was about', async (t) => {
  const { upsert, consent, contacts } = await shop()
  const [old, other] = ['+12015550123', '+12015550124']
  const id = await upsert({ email: 'a@example.com', phone: old })
  await consent(id, 'sms', 'subscribed', '2026-11-01T00:00:00Z')
  await consent(id, 'email', 'subscribed', '2026-11-01T00:00:00Z')
  await upsert({ email: 'a@example.com', phone: other })
  t.match(await contacts(), [{ phone: other, sms_consent: 'unknown', email_consent: 'subscribed' }])
  t.same(
    [...(await sql`select address from contact_consent where contact_id = ${id} order by address`)],
    [{ address: old }, { address: 'a@example.com' }],
  )
  await upsert({ email: 'a@example.com', phone: old })
  t.match(await contacts(), [{ phone: old, sms_consent: 'subscribed' }], 'it was given for that one')
})

t.test('who refused to be messaged does so at a new number, too', async (t) => {
  const { upsert, consent, contacts } = await shop()
  const id = await upsert({ email: 'a@example.com', phone: '+12015550123' })
  await consent(id, 'sms', 'unsubscribed', '2026-11-01T00:00:00Z')
  await upsert({ email: 'a@example.com', phone: '+12015550124' })
  t.match(await contacts(), [{ phone: '+12015550124', sms_consent: 'unsubscribed' }])
  await consent(id, 'sms', 'subscribed', '2026-11-02T00:00:00Z')
  t.match(await contacts(), [{ sms_consent: 'subscribed' }])
})

t.test('who refuses at an address that a customer had before refuses for that customer', async (t) => {
  const { brand, ofBrand, upsert, consent, contacts } = await shop()
  const named = { email: 'a@example.com', phone: '+12015550123' }
  const [subject = 0] = await ofBrand.tx((tx) =>
    assignSubjects(tx, brand.id, [{ ...named, seenAt: new Date(0) }], {
      storePlatformDomain: 'myshopify.com',
      source: 'store',
    }),
  )
  const theirs = await upsert({ subject, ...named })
  await upsert({ subject, phone: '+12015550124' })
  const nobodys = await upsert({ phone: named.phone })
  await consent(nobodys, 'sms', 'unsubscribed', '2026-11-01T00:00:00Z')
  t.match(await contacts(), [
    { id: theirs, phone: '+12015550124', sms_consent: 'unsubscribed' },
    { id: nobodys, subject: null, sms_consent: 'unsubscribed' },
  ])
  await consent(nobodys, 'sms', 'subscribed', '2026-11-02T00:00:00Z')
  t.match(await contacts(), [{ sms_consent: 'unsubscribed' }, { sms_consent: 'subscribed' }])
})

t.test('who turns out to be somebody else has refused nothing that the other one refused', async (t) => {
  for (const refuses of [0, 1]) {
    const { brand, ofBrand, upsert, consent, contacts } = await shop()
    const assign = (named: object) =>
      ofBrand.tx((tx) =>
        assignSubjects(tx, brand.id, [{ ...named, seenAt: new Date(0) }], {
          storePlatformDomain: 'myshopify.com',
          source: 'server',
        }),
      )
    const ids: string[] = []
    for (const name of ['ann', 'bob']) {
      const email = `${name}@example.com`
      const [subject = 0] = await assign({ email })
      ids.push(await upsert({ subject, email }))
    }
    const phone = '+14155552671'
    for (const name of ['ann', 'bob']) await assign({ email: `${name}@example.com`, phone })
    await consent(ids[refuses] ?? '', 'email', 'unsubscribed', '2026-11-20T00:00:00Z')
    const shown = async () => (await contacts()).map(({ email_consent }) => email_consent)
    t.same(await shown(), ['unsubscribed', 'unsubscribed'])
    const [merge] = await listMerges(ofBrand, 10)
    await undoMerge(ofBrand, merge?.id ?? '', 'test')
    t.same(await shown(), refuses ? ['unknown', 'unsubscribed'] : ['unsubscribed', 'unknown'])
  }
})

t.test('who turns out to have refused at another address shows so at all of theirs', async (t) => {
  const { brand, ofBrand, upsert, consent, contacts } = await shop()
  const assign = (named: object) =>
    ofBrand.tx((tx) =>
      assignSubjects(tx, brand.id, [{ ...named, seenAt: new Date(0) }], {
        storePlatformDomain: 'myshopify.com',
        source: 'server',
      }),
    )
  const [one, other] = ['ann@example.com', 'ann@work.example']
  const [subject = 0] = await assign({ email: one })
  const known = await upsert({ subject, email: one })
  await consent(known, 'email', 'subscribed', '2026-11-01T00:00:00Z')
  await assign({ storeCustomerId: '7', email: one })
  const unknown = await upsert({ email: other })
  await consent(unknown, 'email', 'unsubscribed', '2026-11-20T00:00:00Z')
  await assign({ storeCustomerId: '7', email: other })
  t.match(await contacts(), [
    { id: known, email_consent: 'unsubscribed' },
    { id: unknown, email_consent: 'unsubscribed' },
  ])
  t.not((await contacts())[1]?.subject, null)
})

t.test('recorded events are in the lake when their transaction commits, and only then', async (t) => {
  const { brand, ofBrand } = await shop()
  const event = (name: string) => ({
    event_type: 'loyalty_points',
    email: 'a@example.com',
    properties: { step: name, nested: { id: 1 } },
  })
  await ofBrand.tx((tx) => appendEvents(tx, brand.id, [event('one'), event('two')]))
  await t.rejects(
    ofBrand.tx(async (tx) => {
      await appendEvents(tx, brand.id, [event('undone')])
      throw new Error('undone')
    }),
    { message: 'undone' },
  )
  await t.rejects(
    ofBrand.tx((tx) => appendEvents(tx, '00000000-0000-0000-0000-000000000000', [event('another')])),
    /another/,
  )
  const { count } = await sql`select from event_log`
  t.equal(count, 1, 'one row for the events of a transaction')
  await tick(pipeline)
  t.same(
    await sourceRows(
      pipeline,
      brand,
      `select event_type, properties->>'step' as step from events order by step`,
    ),
    [
      { event_type: 'loyalty_points', step: 'one' },
      { event_type: 'loyalty_points', step: 'two' },
    ],
  )
})

t.test(
  'whom an event of a server names by a channel is a contact, whom a browser names is none',
  async (t) => {
    const { brand, upsert, contacts } = await shop()
    const before = await upsert({ phone: '+12015550999' })
    const event = { brand_id: brand.id, event_type: 'page_viewed' }
    const lines = [
      { ...event, email: ' Zoe@Example.com ', phone: '(201) 555-0123' },
      { ...event, phone: '+12015550999', profile_id: 'known' },
      { ...event, profile_id: 'nameless' },
      { ...event, email: 'browser@example.com', anonymous_id: 'v', origin: 'browser' as const },
    ]
    for (let turn = 0; turn < 2; turn++) {
      await logBatch(sql, lines)
      await tick(pipeline)
      const found = await contacts()
      t.match(found, [
        { email: 'zoe@example.com', phone: '+12015550123', subject: Number, sms_consent: 'unknown' },
        { email: null, phone: '+12015550999', id: before, subject: Number },
      ])
      t.equal(found.length, 2)
    }
  },
)

t.test('GET /v1/contacts walks over all contacts, newest first, at most 100 a page', async (t) => {
  const { call, key } = await api(t, db, contactOps)
  const { brand, upsert } = await shop()
  const as = await key(brand, ['contacts:read'])
  const ids: string[] = []
  for (let n = 0; n < 103; n++) ids.unshift(await upsert({ email: `c${n}@example.com` }))
  const listed: string[] = []
  const sizes: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await call(`GET /v1/contacts?limit=500${cursor && `&cursor=${cursor}`}`, { as })
    sizes.push(body.data.length)
    for (const contact of body.data) listed.push(contact.id)
    cursor = body.next_cursor
  }
  t.same(sizes, [100, 3])
  t.same(listed, ids)
  t.equal((await call('GET /v1/contacts', { as })).body.data.length, 50, 'without a limit')
})

t.test('a contact is shown with its consent and the customer that its own was merged into', async (t) => {
  const { call, key } = await api(t, db, contactOps)
  const { brand, upsert, consent } = await shop()
  const as = await key(brand, ['contacts:read'])
  const id = await upsert({ subject: 1, email: 'a@example.com', firstName: 'Ann' })
  await consent(id, 'email', 'subscribed', '2026-11-01T00:00:00Z')
  const shown = async () => (await call(`GET /v1/contacts/${id}`, { as })).body
  t.match(await shown(), { customer_id: null })
  await sql`insert into customer ${sql(
    [1, 2].map((subject) => ({ brand_id: brand.id, subject, id: `c${subject}`, provenance: 'server' })),
  )}`
  t.match(await shown(), { customer_id: 'c1' })
  await sql`insert into subject_redirect (brand_id, subject, customer) values (${brand.id}, 1, 2)`
  const contact = await shown()
  t.match(contact, {
    id,
    email: 'a@example.com',
    phone: null,
    first_name: 'Ann',
    last_name: null,
    customer_id: 'c2',
    consent: { sms: 'unknown', email: 'subscribed' },
  })
  t.match((await call('GET /v1/contacts', { as })).body, { data: [contact], next_cursor: null })
})

t.test('a contact without a name of its own has that of its customer', async (t) => {
  const { call, key } = await api(t, db, contactOps)
  const { brand, ofBrand, upsert } = await shop()
  const as = await key(brand, ['contacts:read'])
  const named = await upsert({ subject: 1, email: 'a@example.com', lastName: 'Own' })
  const nameless = await upsert({ subject: 2, phone: '+12015550123' })
  const unknown = await upsert({ email: 'c@example.com' })
  const customers = [1, 2, 3].map((subject) => ({
    ...{ brand_id: brand.id, subject, id: `c${subject}`, provenance: 'server' },
    ...{ first_name: `First ${subject}`, last_name: `Last ${subject}` },
  }))
  await sql`insert into customer ${sql(customers)}`
  const held = async () => {
    const ids = [named, nameless, unknown]
    const rows = await ofBrand.many<{ id: string }>('recipients_held', [ids])
    return Object.fromEntries(rows.map((row) => [row.id, row]))
  }
  const names = async () => {
    const { data } = (await call('GET /v1/contacts', { as })).body
    const sent = await held()
    for (const { id, first_name, last_name } of data) t.match(sent[id], { first_name, last_name })
    return data.map(({ first_name, last_name }: Record<string, unknown>) => [first_name, last_name])
  }
  const first = [null, 'Own']
  t.same(await names(), [[null, null], ['First 2', 'Last 2'], first])
  t.match((await call(`GET /v1/contacts/${nameless}`, { as })).body, { first_name: 'First 2' })
  t.match(await ofBrand.many('recipients_of_customers', [[2]]), [{ id: nameless, first_name: 'First 2' }])
  await sql`insert into subject_redirect (brand_id, subject, customer) values (${brand.id}, 2, 3)`
  t.same(await names(), [[null, null], ['First 3', 'Last 3'], first], 'of whom they were merged into')
  await sql`update customer set deleted = true where brand_id = ${brand.id} and subject = 3`
  t.same(await names(), [[null, null], [null, null], first], 'and none of who was erased')
})

t.test('contacts of new and of merged people are added without reading those of all', async (t) => {
  const own = await database(t)
  const people = 2_000
  const rowsRead = async () => {
    const { id } = await makeBrand(own)
    return await own.postgres.sql.begin(async (tx) => {
      await tx`
        insert into contact (brand_id, id, subject, phone, sms_consent)
        values (${id}, gen_random_uuid(), 1, '+12025550101', 'unsubscribed')`
      await tx`
        insert into contact (brand_id, id, subject, email)
        select ${id}, gen_random_uuid(), n, n || '@example.com' from generate_series(1, ${people}::integer) as n`
      await tx`
        insert into subject_redirect (brand_id, subject, customer)
        select ${id}, n, n - 1 from generate_series(2, ${people}::integer, 2) as n`
      const merged = Array.from({ length: people / 2 }, (_, n) => 2 * n + 2)
      await tx.unsafe(statement('postgres', 'consents_merged'), [id, merged])
      const [row] = await tx`
        select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as read from pg_stat_xact_user_tables`
      return row?.read
    })
  }
  const read = await rowsRead()
  t.ok(read < 40 * people, `${read} rows, without statistics`)
  // Of the first brand these have every row, and of another one none.
  const owner = connect(own.url, { max: 1 })
  await owner`analyze contact, subject_redirect`
  await owner.end()
  const more = await rowsRead()
  t.ok(more < 40 * people, `${more} rows, of a brand that the statistics do not have`)
})

t.test('people who are made one show what each of their contacts shows by itself', async (t) => {
  const random = randomSource(t)
  const { brand } = await shop()
  const [people, contacts] = [12, 30]
  const of = () => 1 + random.below(people)
  await sql.begin(async (tx) => {
    for (let n = 0; n < contacts; n++) {
      const [email, phone] = [`${n}@example.com`, random.chance(0.5) ? `+1202555${1000 + n}` : null]
      const row = { brand_id: brand.id, id: uuidv7(), subject: of(), email, phone }
      await tx`insert into contact ${tx(row)}`
    }
    const ids = await tx`select id from contact where brand_id = ${brand.id}`
    for (let n = 0; n < 8 * contacts; n++) {
      const channel = random.pick(['sms', 'email'])
      const at = random.below(contacts)
      const word = {
        ...{ brand_id: brand.id, contact_id: ids[random.below(ids.length)]?.id, channel },
        ...{ address: channel === 'sms' ? `+1202555${1000 + at}` : `${at}@example.com` },
        ...{ state: random.pick(['subscribed', 'unsubscribed', 'unknown', 'pending', 'subscribed']) },
        ...{ source: random.pick(['store', 'store record', 'test']), at: new Date(random.below(20)) },
      }
      await tx`insert into contact_consent ${tx(word)} on conflict do nothing`
    }
    for (let subject = 4; subject <= people; subject++)
      await tx`insert into subject_redirect ${tx({ brand_id: brand.id, subject, customer: 1 + random.below(3) })}`
    const all = Array.from({ length: people }, (_, n) => n + 1)
    await tx.unsafe(statement('postgres', 'consents_merged'), [brand.id, all])
    const differing = await tx`
      select id from contact
      where brand_id = ${brand.id} and (sms_consent, email_consent)
        is distinct from (consent_now(brand_id, id, 'sms'), consent_now(brand_id, id, 'email'))`
    const shown = await tx`select distinct email_consent from contact where brand_id = ${brand.id}`
    t.same([...differing], [])
    t.ok(shown.length > 1)
  })
})
