import t from 'tap'
import { emailOf } from '../src/event/email.ts'
import { phoneOf } from '../src/identity/channel.ts'
import { type GroupMember, Groups } from '../src/identity/groups.ts'
import { outlives } from '../src/identity/profile.ts'
import { assignSubjects, type Identity } from '../src/identity/subject.ts'
import type { Brand } from '../src/op.ts'
import { brand } from './fixtures/brand.ts'
import { type Database, database } from './fixtures/database.ts'
import { randomSource } from './fixtures/random.ts'

const STORE = { storePlatformDomain: 'myshopify.com' }
const at = (day: number) => new Date(Date.UTC(2026, 0, day))

/** One database for the file: every test has a brand of its own. */
let db: Database
t.before(async () => {
  db = await database(t)
})

type Named = Partial<Identity>

async function shop(options: { shop?: string } = {}) {
  const owner = await brand(db, options)
  const assign = async (...identities: Named[]) => [
    ...(await assignSubjects(
      db.postgres.sql,
      owner.id,
      identities.map((identity) => ({ seenAt: at(1), ...identity })),
      STORE,
    )),
  ]
  return { owner, assign, customers: () => customers(owner), redirects: () => redirects(owner) }
}

const customers = async ({ id }: Brand) => [
  ...(await db.postgres.sql`
    select subject, id, store_customer_id, email, phone, provenance, created_at from customer where brand_id = ${id} order by subject`),
]
const redirects = async ({ id }: Brand) =>
  (
    await db.postgres.sql`
    select subject, customer from subject_redirect where brand_id = ${id} and not deleted order by subject`
  ).map(({ subject, customer }) => [subject, customer])

t.test('an email is trimmed and lower-cased, and "n/a" is none', async (t) => {
  t.equal(emailOf('  Ann@Example.COM '), 'ann@example.com')
  for (const text of ['n/a', '', 'a b@c.de', '@', 'ann@']) t.equal(emailOf(text), undefined, text)
})

t.test('a phone becomes E.164 by the region, and what is none is kept out', async (t) => {
  t.equal(phoneOf('(415) 555-2671', 'US'), '+14155552671')
  t.equal(phoneOf('020 7946 0018', 'GB'), '+442079460018')
  t.equal(phoneOf('+49 30 901820', 'US'), '+4930901820')
  for (const text of ['0', 'call me', '', '12']) t.equal(phoneOf(text, 'US'), undefined, text)
})

t.test('a store customer has the id of platform, shop and store id, and a dense subject', async (t) => {
  const { assign, customers } = await shop({ shop: 'ids.myshopify.com' })
  t.strictSame(
    await assign({ storeCustomerId: '7' }, { storeCustomerId: '8' }, { storeCustomerId: '7' }),
    [1, 2, 1],
  )
  t.match(await customers(), [
    { subject: 1, id: 'myshopify:ids:7', store_customer_id: '7', provenance: 'server' },
    { subject: 2, id: 'myshopify:ids:8', store_customer_id: '8', provenance: 'server' },
  ])
})

t.test('the same identities again change nothing', async (t) => {
  const { owner, assign } = await shop()
  const identities = [
    { anonymousId: 'v1' },
    { anonymousId: 'v1', email: 'a@example.com' },
    { storeCustomerId: '1', email: 'a@example.com', phone: '+14155552671' },
    { profileId: 'member-9' },
  ]
  const first = await assign(...identities)
  const newest = async () => [
    ...(await db.postgres
      .sql`select max(xid::text) as xid, count(*) from customer where brand_id = ${owner.id}`),
  ]
  const before = await newest()
  t.strictSame(await assign(...identities), first)
  t.strictSame(await newest(), before)
})

t.test('a visitor is pixel, and joins the customer whose email is given with it', async (t) => {
  const { assign, customers, redirects } = await shop()
  const [visitor] = await assign({ anonymousId: 'v1' })
  const [customer] = await assign({ anonymousId: 'v1', email: 'a@example.com' })
  t.strictSame(await redirects(), [[visitor, customer]])
  t.match(await customers(), [{ provenance: 'pixel' }, { provenance: 'server', email: 'a@example.com' }])
  t.strictSame(await assign({ anonymousId: 'v1' }), [visitor], 'its own events keep its subject')
})

t.test('a visitor id that is new beside an email is the customer’s from the start', async (t) => {
  const { assign, redirects } = await shop()
  const [customer] = await assign({ anonymousId: 'v1', email: 'a@example.com' })
  t.strictSame(await assign({ anonymousId: 'v1' }), [customer])
  t.strictSame(await redirects(), [])
})

t.test('a visitor attaches to one customer only', async (t) => {
  const { assign, redirects } = await shop()
  const [visitor, one, two] = [
    ...(await assign({ anonymousId: 'v1' })),
    ...(await assign({ anonymousId: 'v1', email: 'a@example.com' })),
    ...(await assign({ anonymousId: 'v1', email: 'b@example.com' })),
  ]
  t.not(one, two)
  t.strictSame(await redirects(), [[visitor, one]])
})

t.test('a customer known by email joins the store customer with that email', async (t) => {
  const { assign, customers, redirects } = await shop()
  const [guest] = await assign({ email: 'a@example.com', seenAt: at(2) })
  const [stored] = await assign({ storeCustomerId: '9', email: 'A@example.com', seenAt: at(5) })
  t.strictSame(await redirects(), [[guest, stored]])
  t.match(
    await customers(),
    [
      { email: 'a@example.com', provenance: 'server', created_at: at(2) },
      { store_customer_id: '9', email: 'a@example.com', provenance: 'server', created_at: at(5) },
    ],
    'each row keeps its own word',
  )
})

t.test('redirects stay flat when a survivor is absorbed later', async (t) => {
  const { assign, redirects } = await shop()
  const [visitor] = await assign({ anonymousId: 'v1' })
  const [guest] = await assign({ anonymousId: 'v1', email: 'a@example.com' })
  const [stored] = await assign({ storeCustomerId: '9', email: 'a@example.com' })
  t.strictSame(await redirects(), [
    [visitor, stored],
    [guest, stored],
  ])
})

t.test('a chain within one call ends at the store customer', async (t) => {
  const { assign, customers, redirects } = await shop()
  const subjects = await assign(
    { anonymousId: 'v1', email: 'x@example.com' },
    { email: 'x@example.com', storeCustomerId: '9' },
    { anonymousId: 'v1' },
  )
  t.strictSame(subjects, [1, 2, 1])
  t.match(await customers(), [{ store_customer_id: null }, { store_customer_id: '9' }])
  t.strictSame(await redirects(), [[1, 2]])
})

t.test('two store customers are never joined', async (t) => {
  const { assign, redirects } = await shop()
  const [one, two] = await assign(
    { storeCustomerId: '1', email: 'family@example.com' },
    { storeCustomerId: '2', email: 'family@example.com' },
  )
  t.not(one, two)
  t.strictSame(await redirects(), [])
  t.strictSame(await assign({ email: 'family@example.com' }), [one])
})

t.test('a shared phone joins customers with different emails', async (t) => {
  const { assign, redirects } = await shop()
  const [one, two] = await assign(
    { email: 'a@example.com', phone: '+14155552671' },
    { email: 'b@example.com', phone: '+14155552671' },
  )
  t.strictSame(await redirects(), [[two, one]])
})

t.test('a customer known by phone and one known by email become one, the older', async (t) => {
  const { assign, redirects } = await shop()
  const [byPhone] = await assign({ phone: '+14155552671' })
  const [byEmail] = await assign({ email: 'a@example.com' })
  await assign({ email: 'a@example.com', phone: '+14155552671' })
  t.strictSame(await redirects(), [[byEmail, byPhone]])
})

t.test('a public id is a profile id', async (t) => {
  const { assign, customers } = await shop({ shop: 'public.myshopify.com' })
  const [guest] = await assign({ email: 'a@example.com' })
  const [{ id } = { id: '' }] = await customers()
  t.strictSame(
    await assign({ profileId: id }, { profileId: 'myshopify:public:44' }, { storeCustomerId: '44' }),
    [guest, 2, 2],
  )
})

t.test('what identifies nobody gets no subject', async (t) => {
  const { assign, customers } = await shop()
  t.strictSame(await assign({}, { phone: 'none', email: 'n/a' }, { anonymousId: '  ' }), [0, 0, 0])
  t.strictSame(await customers(), [])
})

t.test('what a lake or a database cannot hold stays out of identity', async (t) => {
  const { assign } = await shop()
  t.strictSame(
    await assign({ anonymousId: 'a\0b' }, { anonymousId: '\ud800' }, { storeCustomerId: 'x'.repeat(600) }),
    [0, 0, 0],
  )
  t.strictSame(await assign({ storeCustomerId: `'";--{},\\` }, { anonymousId: '漢字 🎁' }), [1, 2])
})

t.test('an identifier of one brand is unknown to another', async (t) => {
  const [one, two] = [await shop(), await shop()]
  await one.assign({ email: 'other@example.com' }, { email: 'a@example.com' })
  t.strictSame(await two.assign({ email: 'a@example.com' }), [1])
})

t.test('concurrent calls give dense subjects, one for each identifier', async (t) => {
  const { assign, customers } = await shop()
  const emails = Array.from({ length: 300 }, (_, at) => ({ email: `c${at}@example.com` }))
  const calls = await Promise.all(
    Array.from({ length: 6 }, (_, call) => assign(...emails.slice(call * 20, call * 20 + 200))),
  )
  const subjects = (await customers()).map(({ subject }) => subject)
  t.strictSame(
    subjects,
    subjects.map((_, at) => at + 1),
  )
  t.equal(subjects.length, 300)
  for (const [call, given] of calls.entries()) {
    t.strictSame(await assign(...emails.slice(call * 20, call * 20 + 200)), given)
  }
})

t.test('a call inside a transaction that is undone leaves nothing', async (t) => {
  const { owner, customers } = await shop()
  await db.postgres.sql
    .begin(async (tx) => {
      await assignSubjects(tx, owner.id, [{ storeCustomerId: '1', seenAt: at(1) }], STORE)
      throw new Error('undo')
    })
    .catch(() => {})
  t.strictSame(await customers(), [])
})

t.test('50,000 known identities on a database without statistics are found by index', async (t) => {
  const { assign } = await shop()
  const identities = Array.from({ length: 50_000 }, (_, at) => ({ anonymousId: `visitor-${at}` }))
  const first = await assign(...identities)
  t.strictSame(await assign(...identities), first)
})

t.test('one call and many calls find the same people', async (t) => {
  const random = randomSource(t)
  const maybe = (share: number, make: (digit: number) => string) =>
    random.chance(share) ? make(random.below(8)) : undefined
  const identities = random.list(300, 300, () => ({
    storeCustomerId: maybe(0.15, String),
    profileId: maybe(0.15, String),
    email: maybe(0.5, (digit) => `c${digit}@example.com`),
    phone: maybe(0.2, (digit) => `+1415555267${digit}`),
    anonymousId: maybe(0.5, String),
  }))
  const [together, apart] = [await shop(), await shop()]
  const first = await people(together, await together.assign(...identities))
  const subjects: number[] = []
  for (const identity of identities) subjects.push(...(await apart.assign(identity)))
  t.strictSame(await people(apart, subjects), first)
  t.strictSame(await people(together, await together.assign(...identities)), first)
})

/** For each identity, the first one that is about the same person. */
async function people(
  { redirects }: Awaited<ReturnType<typeof shop>>,
  subjects: readonly number[],
): Promise<number[]> {
  const survivors = new Map((await redirects()) as [number, number][])
  const persons = subjects.map((subject) => survivors.get(subject) ?? subject)
  return persons.map((person) => persons.indexOf(person))
}

/** Groups by the rule itself: whoever outlives all others of a group stands for it. */
function byRule(members: readonly GroupMember[], bars: readonly { from: number; to: number }[]) {
  let groups = members.map((member) => [member])
  const groupOf = (subject: number) =>
    groups.find((group) => group.some((one) => one.subject === subject)) ?? []
  const first = (group: readonly GroupMember[]) =>
    group
      .map(({ subject, store_customer_id }) => ({ age: subject, storeCustomerId: store_customer_id }))
      .reduce((best, one) => (outlives(one, best) ? one : best))
  return {
    survivorOf: (subject: number) => first(groupOf(subject)).age,
    join(one: number, other: number) {
      const [ours, theirs] = [groupOf(one), groupOf(other)]
      if (ours === theirs) return null
      const [survivor, loser] = [first(ours), first(theirs)]
      if (survivor.storeCustomerId !== null && loser.storeCustomerId !== null) return null
      const pairs = bars.map(({ from, to }) => [groupOf(from), groupOf(to)])
      if (pairs.some((pair) => pair.includes(ours) && pair.includes(theirs))) return null
      groups = [...groups.filter((group) => group !== ours && group !== theirs), [...ours, ...theirs]]
      return outlives(survivor, loser) ? { from: other, to: one } : { from: one, to: other }
    },
  }
}

t.test('groups that are joined step by step are those of the rule', async (t) => {
  const random = randomSource(t)
  for (let round = 0; round < 300; round++) {
    const subjects = Array.from({ length: 2 + random.below(12) }, (_, at) => at + 1)
    const members = subjects.map((subject) => ({
      subject,
      store_customer_id: random.chance(0.2) ? `s${subject}` : null,
    }))
    const pair = () => [random.pick(subjects), random.pick(subjects)] as const
    const bars = random.list(0, 3, pair).map(([from, to]) => ({ from, to }))
    const [groups, expected] = [new Groups(members, bars), byRule(members, bars)]
    const joins = random.list(0, 30, pair).filter(([one, other]) => one !== other)
    t.same(
      joins.map(([one, other]) => groups.join(one, other)),
      joins.map(([one, other]) => expected.join(one, other)),
    )
    t.same(
      subjects.map((subject) => groups.survivorOf(subject)),
      subjects.map((subject) => expected.survivorOf(subject)),
    )
  }
})

t.test('20,000 customers in a chain are grouped within three seconds', async (t) => {
  const members = Array.from({ length: 20_000 }, (_, at) => ({ subject: at + 1, store_customer_id: null }))
  for (const order of [members, members.toReversed()]) {
    const started = performance.now()
    const groups = new Groups(members, [])
    for (const { subject } of order) groups.join(subject, subject + 1)
    t.ok(members.every(({ subject }) => groups.survivorOf(subject) === 1))
    t.ok(performance.now() - started < 3_000)
  }
})
