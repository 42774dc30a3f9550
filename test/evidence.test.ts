import t from 'tap'
import { listMerges, undoMerge } from '../src/identity/merge.ts'
import { type Database, database } from './fixtures/database.ts'
import { auditRedirects, type Named, type People, people, sorted } from './fixtures/identities.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'

/** Random evidence of who is who, against what it must come to. One database for the file. */
let db: Database
t.before(async () => {
  db = await database(t)
})

const EVIDENCE = { people: 6, identifiers: 3 }

/** Evidence of people who never share anything with each other: which identifiers belong together is open. */
function history(random: RandomSource, length: number): Named[] {
  const of = (person: number, make: (n: number) => string, share: number) =>
    random.chance(share)
      ? make(person * EVIDENCE.identifiers + random.below(EVIDENCE.identifiers))
      : undefined
  return random.list(length, length, () => {
    const person = random.below(EVIDENCE.people)
    return {
      storeCustomerId: random.chance(0.15) ? String(person) : undefined,
      profileId: of(person, (n) => `member-${n}`, 0.2),
      email: of(person, (n) => `c${n}@example.com`, 0.5),
      phone: of(person, (n) => `+141555526${String(n).padStart(2, '0')}`, 0.3),
      anonymousId: random.chance(0.3) ? `v${random.below(12)}` : undefined,
    }
  })
}

const NAMES = {
  storeCustomerId: 'store_customer_id',
  profileId: 'profile_id',
  email: 'email',
  phone: 'phone',
} as const

/** Who belongs together by the evidence, however it came. */
function oracle(evidence: readonly Named[]): string[] {
  const named = evidence.map((identity) =>
    Object.entries(NAMES).flatMap(([field, kind]) => {
      const value = identity[field as keyof typeof NAMES]
      return value === undefined ? [] : [`${kind} ${value}`]
    }),
  )
  const sharers = new Map<string, Set<string>>()
  for (const [key, ...weaker] of named) {
    for (const name of weaker) sharers.set(name, (sharers.get(name) ?? new Set()).add(key ?? ''))
  }
  const group = new Map<string, Set<string>>()
  for (const names of named) for (const name of names) if (!group.has(name)) group.set(name, new Set([name]))
  for (const [key, ...weaker] of named) {
    for (const name of weaker) {
      const [one, other] = [group.get(key ?? ''), group.get(name)]
      // The first who has an identifier of too many holds it; the tests below do not ask who that is.
      if (!one || !other || one === other || (sharers.get(name)?.size ?? 0) > 10) continue
      for (const member of other) {
        one.add(member)
        group.set(member, one)
      }
    }
  }
  return sorted(
    [...new Set(group.values())].map((members) => [...members]),
    String,
  )
}

function shuffled<T>(random: RandomSource, of: readonly T[]): T[] {
  return of
    .map((one) => ({ one, at: random.below(1e9) }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one)
}

async function inChunks(random: RandomSource, shop: People, evidence: readonly Named[]): Promise<void> {
  for (let at = 0; at < evidence.length; ) {
    const size = random.pick([1, 2, 5, 40])
    await shop.assign(...evidence.slice(at, at + size))
    at += size
  }
}

/** The same evidence where visitors, whom the shop has seen, are named by their public ids. */
async function byPublicIds(
  shop: People,
  evidence: readonly Named[],
  isNamed: (identity: Named) => boolean,
): Promise<Named[]> {
  const visitors = Array.from({ length: 12 }, (_, n) => ({ anonymousId: `v${n}` }))
  const subjects = await shop.assign(...visitors)
  const ids = new Map((await shop.customers()).map(({ subject, id }) => [subject, id as string]))
  const idOf = new Map(visitors.map(({ anonymousId }, at) => [anonymousId, ids.get(subjects[at])]))
  return evidence.map(({ anonymousId = '', profileId, ...rest }) =>
    anonymousId && profileId === undefined && isNamed(rest)
      ? { ...rest, profileId: idOf.get(anonymousId) }
      : { ...rest, profileId, anonymousId: anonymousId || undefined },
  )
}

t.test('the public id of a visitor says what the id of its browser says', async (t) => {
  const random = randomSource(t)
  for (let round = 0; round < 4; round++) {
    const evidence = history(random, 25 + random.below(60)).map((identity) =>
      random.chance(0.2) ? { ...identity, origin: 'browser' as const } : identity,
    )
    const [byId, byBrowser] = [await people(db), await people(db)]
    for (const shop of [byId, byBrowser])
      await inChunks(
        randomSource(t),
        shop,
        await byPublicIds(shop, evidence, ({ origin }) => shop === byId && !origin),
      )
    const kinds = [...Object.values(NAMES), 'anonymous_id']
    t.strictSame(await byId.groups(kinds), await byBrowser.groups(kinds))
    t.strictSame((await byId.merges()).sort(), (await byBrowser.merges()).sort())
    t.strictSame(await stateOf(byId), await stateOf(byBrowser))
    await auditRedirects(t, db, byId.owner)
  }
})

t.test('the same people come of the same evidence in any order and in calls of any size', async (t) => {
  const random = randomSource(t)
  for (let round = 0; round < 4; round++) {
    const evidence = history(random, 25 + random.below(60))
    const expected = oracle(evidence)
    for (let order = 0; order < 2; order++) {
      const shop = await people(db)
      const named = await byPublicIds(shop, evidence, () => random.chance(0.5))
      await inChunks(random, shop, shuffled(random, named))
      t.strictSame(await shop.groups(), expected)
      await auditRedirects(t, db, shop.owner)
    }
  }
})

/** Groups without the identifiers that too many share: whose these are is not asked. */
const without = (shared: (name: string) => boolean, groups: readonly string[]) =>
  groups
    .map((group) =>
      group
        .split(', ')
        .filter((name) => !shared(name))
        .join(', '),
    )
    .filter(Boolean)
    .sort()

t.test('the same holds where phones are shared by more than ten', async (t) => {
  const random = randomSource(t)
  for (let round = 0; round < 3; round++) {
    const evidence = random.list(60, 120, () => ({
      email: `c${random.below(30)}@example.com`,
      phone: random.chance(0.5)
        ? `+1415555270${random.below(3)}`
        : `+141555528${random.below(10)}${random.below(4)}`,
    }))
    const shared = (name: string) => name.startsWith('phone +1415555270')
    for (let order = 0; order < 2; order++) {
      const shop = await people(db)
      await inChunks(random, shop, shuffled(random, evidence))
      t.strictSame(without(shared, await shop.groups()), without(shared, oracle(evidence)))
      await auditRedirects(t, db, shop.owner)
    }
  }
})

t.test('the same holds of whoever comes with what more than ten share already', async (t) => {
  const random = randomSource(t)
  const [EMAIL, PHONE] = ['info@example.com', '+14155552700']
  const crowd = Array.from({ length: 24 }, (_, n) => ({
    storeCustomerId: String(100 + n),
    ...(n % 2 ? { email: EMAIL } : { phone: PHONE }),
  }))
  const shared = (name: string) => name === `email ${EMAIL}` || name === `phone ${PHONE}`
  for (let round = 0; round < 3; round++) {
    const evidence = history(random, 25 + random.below(60)).map((identity) => {
      const { storeCustomerId, profileId, email, phone } = identity
      const isNamed = (storeCustomerId ?? profileId) !== undefined
      return {
        ...identity,
        email: isNamed && random.chance(0.3) ? EMAIL : email,
        phone: (isNamed || email !== undefined) && random.chance(0.3) ? PHONE : phone,
      }
    })
    const expected = without(shared, oracle([...crowd, ...evidence]))
    for (let order = 0; order < 2; order++) {
      const shop = await people(db)
      await inChunks(random, shop, shuffled(random, crowd))
      await inChunks(random, shop, shuffled(random, evidence))
      t.strictSame(without(shared, await shop.groups()), expected)
      await auditRedirects(t, db, shop.owner)
    }
  }
})

t.test('the same evidence again changes nothing, also of two at once', async (t) => {
  const random = randomSource(t)
  const evidence = history(random, 120)
  const shop = await people(db)
  const calls = await Promise.all([0, 1, 2].map(() => inChunks(random, shop, shuffled(random, evidence))))
  t.equal(calls.length, 3)
  t.strictSame(await shop.groups(), oracle(evidence))
  await auditRedirects(t, db, shop.owner)
  const before = await shop.rows()
  await Promise.all([shop.assign(...evidence), shop.assign(...evidence)])
  t.strictSame(await shop.rows(), before)
})

/** Anything that a browser could send: its own visitor or a stolen one, with whatever identifiers it knows or makes up. */
function forged(random: RandomSource, evidence: readonly Named[]): Named {
  const stolen = () => random.pick(evidence)
  const pick = <Key extends keyof Named>(key: Key, share: number) =>
    random.chance(share) ? stolen()[key] : undefined
  return {
    anonymousId: random.chance(0.9) ? `v${random.below(20)}` : undefined,
    storeCustomerId: pick('storeCustomerId', 0.2),
    profileId: pick('profileId', 0.2),
    email: random.chance(0.1) ? `new${random.below(5)}@example.com` : pick('email', 0.5),
    phone: pick('phone', 0.4),
    origin: 'browser',
  }
}

t.test('forged evidence of browsers joins no customers and changes nothing of one', async (t) => {
  const random = randomSource(t)
  for (let round = 0; round < 3; round++) {
    // Also of people who share what they should not, so that some must not be joined.
    const evidence = history(random, 60).map((identity) =>
      random.chance(0.2) ? { ...identity, phone: `+141555527${random.below(2)}0` } : identity,
    )
    const [honest, attacked] = [await people(db), await people(db)]
    for (const identity of evidence) {
      await honest.assign(identity)
      const lies = random.list(0, 3, () => forged(random, evidence))
      await attacked.assign(...lies, ...(random.chance(0.5) ? [identity, identity] : [identity]), ...lies)
    }
    t.strictSame(await attacked.groups(), await honest.groups(), 'the same people')
    t.strictSame(await stateOf(attacked), await stateOf(honest), 'with the same channels')
    t.strictSame(await visitorsNamed(attacked, evidence), await visitorsNamed(honest, evidence))
    t.strictSame(
      (await attacked.merges())
        .filter((merge) => merge.endsWith('browser'))
        .filter((merge) => !merge.startsWith('visitor')).length,
      new Set(
        (await attacked.merges())
          .filter((merge) => merge.endsWith('browser'))
          .map((merge) => merge.split(' ')[1]?.split('>')[0]),
      ).size,
      'no visitor has two customers',
    )
    const [contacts] = await db.postgres
      .sql`select count(*) from contact where brand_id = ${attacked.owner.id}`
    t.equal(contacts?.count, 0)
    await auditRedirects(t, db, attacked.owner)
  }
})

const stateOf = async ({ customers, owner }: People) =>
  (await customers())
    .filter(({ provenance }) => provenance !== 'pixel')
    .map(({ id, subject, ...said }) => ({
      ...said,
      id: id.startsWith('myshopify:') ? id.replace(owner.shop_domain.split('.')[0] ?? '', '') : null,
    }))

/** Of visitors whom a server named together with a customer: whose they are. */
async function visitorsNamed(shop: People, evidence: readonly Named[]): Promise<string[]> {
  const named = new Set(
    evidence.flatMap(({ anonymousId, ...who }) =>
      anonymousId !== undefined && Object.values(who).some((value) => value !== undefined)
        ? [`anonymous_id ${anonymousId}`]
        : [],
    ),
  )
  const groups = await shop.groups(['store_customer_id', 'profile_id', 'email', 'phone', 'anonymous_id'])
  return groups
    .map((group) =>
      group
        .split(', ')
        .filter((name) => !name.startsWith('anonymous') || named.has(name))
        .join(', '),
    )
    .filter(Boolean)
    .sort()
}

t.test('undoing while evidence comes in leaves redirects that follow from the ledger', async (t) => {
  const random = randomSource(t)
  const shop = await people(db)
  const evidence = await byPublicIds(shop, history(random, 150), () => random.chance(0.5))
  await shop.assign(...evidence.slice(0, 60))
  const undo = async () => {
    for (let n = 0; n < 8; n++) {
      const standing = (await listMerges(shop.db, 100)).filter(({ undone_at }) => !undone_at)
      const merge = standing[random.below(Math.max(1, standing.length))]
      if (merge)
        await undoMerge(shop.db, merge.id, 'test').catch((error) => t.match(error, { code: 'conflict' }))
    }
  }
  await Promise.all([undo(), undo(), inChunks(random, shop, evidence), inChunks(random, shop, evidence)])
  await auditRedirects(t, db, shop.owner)
  const merges = await listMerges(shop.db, 1000)
  const redirects = new Map(await shop.redirects())
  const customers = await shop.customers()
  const subjects = new Map(customers.map(({ id, subject }) => [id, subject]))
  const now = (id: string) => redirects.get(subjects.get(id)) ?? subjects.get(id)
  // A visitor who has gone to another customer since goes with that one.
  const visitors = new Set(customers.flatMap(({ id, provenance }) => (provenance === 'pixel' ? id : [])))
  const elsewhere = new Set(
    merges.flatMap(({ from_id, undone_at }) => (!undone_at && visitors.has(from_id) ? from_id : [])),
  )
  for (const { from_id, to_id, undone_by } of merges)
    if (undone_by === 'test' && !elsewhere.has(from_id))
      t.not(now(from_id), now(to_id), 'undone stays undone')
})
