import t from 'tap'
import type { App } from '../src/app.ts'
import type { Values } from '../src/cli/command.ts'
import { mergeCommands } from '../src/cli/merge.ts'
import { statusCommands } from '../src/cli/status.ts'
import { NO_STOP } from '../src/cli/stop.ts'
import { readConfig } from '../src/config.ts'
import { listMerges, mergeOf, sharedIdentifiers, undoMerge } from '../src/identity/merge.ts'
import { type Database, database } from './fixtures/database.ts'
import { auditRedirects, type Named, type People, people } from './fixtures/identities.ts'
import { lake } from './fixtures/lake.ts'

/** One database for the file: every test has a brand of its own. */
let db: Database
t.before(async () => {
  db = await database(t)
})

const PHONE = '+14155552671'
const guest = (n: number): Named => ({ email: `g${n}@example.com`, phone: PHONE })
const newest = async ({ db }: People) => {
  const [merge] = await listMerges(db, 1)
  if (!merge) throw new Error('the ledger is empty')
  return merge
}

t.test('a merge is a row of the ledger that says when, who, and by what', async (t) => {
  const shop = await people(db, { shop: 'ledger.myshopify.com' })
  await shop.assign({ email: 'a@example.com' })
  await shop.assignAs('store', { storeCustomerId: '9', email: 'a@example.com' })
  const { id, from_id } = await newest(shop)
  t.match(await mergeOf(shop.db, id), {
    merged_at: Date,
    to_id: 'myshopify:ledger:9',
    customer_id: 'myshopify:ledger:9',
    evidence: { kind: 'email', source: 'store' },
    values: ['a@example.com'],
    undone_at: null,
    is_visitor: false,
  })
  t.equal((await listMerges(shop.db, 10, from_id)).length, 1, 'found by the retired id')
  t.equal((await listMerges(shop.db, 10, 'nobody')).length, 0)
})

t.test(
  'undone, the retired customer is back with its identifiers, and the same evidence joins nobody',
  async (t) => {
    const shop = await people(db)
    const evidence = { storeCustomerId: '9', email: 'a@example.com' }
    const [known] = await shop.assign({ email: 'a@example.com' })
    const [stored] = await shop.assign(evidence)
    const { id } = await newest(shop)
    const undone = await undoMerge(shop.db, id, 'cli')
    t.match(undone, { undone_at: Date, undone_by: 'cli', customer_id: null })
    t.strictSame(await shop.redirects(), [])
    t.strictSame(await shop.assign({ email: 'a@example.com' }, evidence), [known, stored])
    await shop.assign(
      { storeCustomerId: '9', email: 'a@example.com', phone: PHONE },
      { email: 'a@example.com', phone: PHONE },
    )
    t.strictSame(await shop.redirects(), [], 'not by other evidence either')
    await t.rejects(undoMerge(shop.db, id, 'cli'), { code: 'conflict' })
    await t.rejects(undoMerge(shop.db, '00000000-0000-7000-8000-000000000000', 'cli'), { code: 'not_found' })
    await auditRedirects(t, db, shop.owner)
  },
)

t.test(
  'undone in the middle, each side keeps what else joins it, and visitors follow their customer',
  async (t) => {
    const shop = await people(db)
    const [a, b, store, visitor] = [
      ...(await shop.assign({ email: 'a@example.com', phone: PHONE })),
      ...(await shop.assign({ email: 'b@example.com', phone: PHONE })),
      ...(await shop.assign({ storeCustomerId: '1', email: 'b@example.com' })),
      ...(await shop.assign({ anonymousId: 'v' })),
    ]
    await shop.assign({ email: 'a@example.com', anonymousId: 'v' })
    t.strictSame(await shop.redirects(), [
      [a, store],
      [b, store],
      [visitor, store],
    ])
    const first = (await listMerges(shop.db, 10)).find(({ evidence }) => evidence.kind === 'phone')
    await undoMerge(shop.db, first?.id ?? '', 'cli')
    t.strictSame(await shop.redirects(), [
      [b, store],
      [visitor, a],
    ])
    await auditRedirects(t, db, shop.owner)
  },
)

t.test('a visitor that was taken from a customer does not come back, and may join another', async (t) => {
  const shop = await people(db)
  const [a, b] = await shop.assign({ email: 'a@example.com' }, { email: 'b@example.com' })
  const claim: Named = { anonymousId: 'v', email: 'a@example.com', origin: 'browser' }
  const [visitor] = await shop.assign(claim)
  t.strictSame(await shop.redirects(), [[visitor, a]])
  await undoMerge(shop.db, (await newest(shop)).id, 'cli')
  await shop.assign(claim, { anonymousId: 'v', email: 'a@example.com' })
  t.strictSame(await shop.redirects(), [])
  await shop.assign({ ...claim, email: 'b@example.com' })
  t.strictSame(await shop.redirects(), [[visitor, b]])
  await shop.assign({ email: 'a@example.com', phone: PHONE }, { email: 'b@example.com', phone: PHONE })
  t.strictSame(
    await shop.redirects(),
    [
      [b, a],
      [visitor, a],
    ],
    'the visitor keeps no two customers apart',
  )
  await auditRedirects(t, db, shop.owner)
})

const publicIdOf = async (shop: People, subject = 0) =>
  (await shop.customers()).find((customer) => customer.subject === subject)?.id as string

t.test('a visitor whom a server names by its public id moves alone', async (t) => {
  const shop = await people(db)
  const [guest] = await shop.assign({ email: 'guest@example.com' })
  const [visitor] = await shop.assign({ anonymousId: 'v', email: 'guest@example.com', origin: 'browser' })
  const profileId = await publicIdOf(shop, visitor)
  const [stored] = await shop.assign({ storeCustomerId: '1', profileId })
  t.not(stored, guest)
  t.strictSame(await shop.redirects(), [[visitor, stored]])
  t.strictSame(await shop.merges(), [`anonymous_id ${visitor}>${stored} server`])
  t.match(await mergeOf(shop.db, (await newest(shop)).id), { is_visitor: true, values: ['v'] })
  await undoMerge(shop.db, (await newest(shop)).id, 'cli')
  await shop.assign({ storeCustomerId: '1', profileId })
  t.strictSame(await shop.redirects(), [])
  await auditRedirects(t, db, shop.owner)
})

t.test('a browser’s word joins no two customers over a visitor whom a server named', async (t) => {
  const shop = await people(db)
  const [visitor] = await shop.assign({ anonymousId: 'v' })
  const [ada, dan] = await shop.assign({ email: 'ada@example.com' }, { email: 'dan@example.com' })
  const profileId = await publicIdOf(shop, visitor)
  t.strictSame(await shop.assign({ profileId, email: 'ada@example.com' }), [ada])
  await shop.assign({ anonymousId: 'v', email: 'dan@example.com', origin: 'browser' })
  t.strictSame(await shop.redirects(), [[visitor, ada]])
  t.strictSame(await shop.groups(), ['email ada@example.com', 'email dan@example.com'])
  t.not(ada, dan)
})

t.test('a visitor holds no identifier but that of its browser', async (t) => {
  const shop = await people(db)
  const [visitor] = await shop.assign({ anonymousId: 'v' })
  const profileId = await publicIdOf(shop, visitor)
  const named = [
    { profileId, email: 'new@example.com' },
    { profileId, phone: PHONE },
    { profileId, anonymousId: 'w' },
  ]
  const [byEmail, byPhone, byVisitor] = await shop.assign(...named)
  t.strictSame(await shop.assign(...named), [byEmail, byPhone, visitor])
  t.equal(byVisitor, visitor)
  t.strictSame(await shop.redirects(), [[visitor, byEmail]])
  t.strictSame(await shop.groups(['email', 'phone', 'anonymous_id']), [
    'anonymous_id v, email new@example.com',
    `phone ${PHONE}`,
  ])
})

t.test('what a page says of the public id of a visitor is about that visitor and joins nobody', async (t) => {
  const shop = await people(db)
  const [visitor, other, ada] = await shop.assign(
    { anonymousId: 'v' },
    { anonymousId: 'w' },
    { email: 'ada@example.com' },
  )
  const profileId = await publicIdOf(shop, visitor)
  const said: Named[] = [
    { profileId, origin: 'browser' },
    { profileId, anonymousId: 'w', origin: 'browser' },
  ]
  t.strictSame(await shop.assign(...said), [visitor, other])
  const before = await shop.rows()
  t.strictSame(await shop.assign(...said), [visitor, other])
  t.strictSame(await shop.rows(), before)
  await shop.assign({ profileId, anonymousId: 'w', email: 'ada@example.com', origin: 'browser' })
  t.strictSame(await shop.redirects(), [[other, ada]])
})

for (const together of [true, false]) {
  t.test(
    `an identifier of 11 customers joins none of them, ${together ? 'in one call' : 'one by one'}`,
    async (t) => {
      const shop = await people(db)
      const assign = async (...identities: Named[]) => {
        if (together) return shop.assign(...identities)
        return (await Promise.all(identities.map((identity) => shop.assign(identity)))).flat()
      }
      const ten = await assign(...Array.from({ length: 10 }, (_, n) => guest(n)))
      t.equal((await shop.redirects()).length, 9, 'ten are one')
      t.strictSame(await sharedIdentifiers(shop.db), [])
      // Two of them have something else in common.
      await assign({ ...guest(3), phone: '+14155550000' }, { ...guest(5), phone: '+14155550000' })
      await assign(guest(10))
      t.strictSame(await shop.redirects(), [
        [Math.max(ten[3] ?? 0, ten[5] ?? 0), Math.min(ten[3] ?? 0, ten[5] ?? 0)],
      ])
      t.match(await sharedIdentifiers(shop.db), [
        { kind: 'phone', value: PHONE, customer_ids: { length: 11 } },
      ])
      const before = await shop.rows()
      await assign(...Array.from({ length: 20 }, (_, n) => guest(n)))
      t.equal((await shop.redirects()).length, 1, 'nor those who come later')
      await assign(...Array.from({ length: 20 }, (_, n) => guest(n)))
      t.strictSame((await shop.rows()).slice(2, 5), before.slice(2, 5), 'and nothing more is kept of them')
      t.match(
        (await listMerges(shop.db, 100)).filter(({ undone_by }) => undone_by === 'shared by too many'),
        { length: 9 },
      )
      await auditRedirects(t, db, shop.owner)
    },
  )
}

/** Twelve store customers with the same phone, of whom the store knows nothing else, and as many with the same address. */
async function crowd(shop: People): Promise<void> {
  const ids = Array.from({ length: 24 }, (_, n) => String(n))
  await shop.assign(...ids.slice(0, 12).map((storeCustomerId) => ({ storeCustomerId, phone: PHONE })))
  await shop.assign(
    ...ids.slice(12).map((storeCustomerId) => ({ storeCustomerId, email: 'info@example.com' })),
  )
}

t.test('what comes with an identifier of too many is not of the first who had it', async (t) => {
  const shop = await people(db)
  await crowd(shop)
  await shop.assign(
    { email: 'new@example.com', phone: PHONE },
    { profileId: 'u1', email: 'info@example.com' },
    { profileId: 'u2', phone: PHONE },
  )
  const kinds = ['profile_id', 'email', 'phone']
  t.strictSame(await shop.groups(kinds), [
    'email info@example.com',
    'email new@example.com',
    `phone ${PHONE}`,
    'profile_id u1',
    'profile_id u2',
  ])
  t.strictSame(await shop.merges(), [])
})

t.test('what names nothing but an identifier of too many is of the first who had it', async (t) => {
  const shop = await people(db)
  await crowd(shop)
  t.strictSame(await shop.assign({ phone: PHONE }, { email: 'info@example.com' }), [1, 13])
})

t.test('who comes with the phone of somebody who removed their address joins them by a merge', async (t) => {
  const shop = await people(db)
  const [stored] = await shop.assign({ storeCustomerId: '1', phone: PHONE })
  await db.postgres.sql`update customer set email_by_record = true where brand_id = ${shop.owner.id}`
  const [first] = await shop.assign(guest(0))
  t.strictSame(await shop.merges(), [`phone ${first}>${stored} server`])
  await shop.assign(...Array.from({ length: 20 }, (_, n) => guest(n)))
  t.strictSame(await shop.redirects(), [])
})

t.test('a visitor joins nobody by an identifier that several customers have', async (t) => {
  const shop = await people(db)
  await shop.assign(
    { storeCustomerId: '1', email: 'x@example.com' },
    { storeCustomerId: '2', email: 'x@example.com' },
  )
  await shop.assign({ anonymousId: 'v', email: 'x@example.com', origin: 'browser' })
  t.strictSame(await shop.redirects(), [])
})

t.test('a visitor joins the customer of its email as soon as another source names one', async (t) => {
  const shop = await people(db)
  const [visitor] = await shop.assign({ anonymousId: 'v', email: 'A@example.com', origin: 'browser' })
  t.match(await shop.customers(), [{ provenance: 'pixel', email: null, phone: null }])
  t.strictSame(await shop.groups(), [], 'an address that a browser gave identifies nobody')
  const [customer] = await shop.assign({ email: 'a@example.com' })
  t.strictSame(await shop.redirects(), [[visitor, customer]])
  t.strictSame(await shop.merges(), [`email ${visitor}>${customer} browser`])
  const [, , , , , waiting] = await shop.rows()
  t.strictSame(waiting, [])
})

t.test('at most 100 visitors wait for an address', async (t) => {
  const shop = await people(db)
  const claims = Array.from(
    { length: 150 },
    (_, n): Named => ({ anonymousId: `v${n}`, email: 'a@example.com', origin: 'browser' }),
  )
  await shop.assign(...claims.slice(0, 60))
  await shop.assign(...claims.slice(60))
  await shop.assign({ email: 'a@example.com' })
  t.equal((await shop.redirects()).length, 100)
  await shop.assign(...claims)
  t.equal((await shop.redirects()).length, 150, 'the others come with their next event')
})

t.test('what a server says of a visitor prevails over what a browser said, and stays', async (t) => {
  const shop = await people(db)
  const [victim, attacker] = await shop.assign(
    { email: 'victim@example.com' },
    { email: 'attacker@example.com' },
  )
  const [visitor] = await shop.assign({ anonymousId: 'v', email: 'attacker@example.com', origin: 'browser' })
  t.strictSame(await shop.redirects(), [[visitor, attacker]])
  await shop.assign({ anonymousId: 'v', email: 'victim@example.com' })
  t.strictSame(await shop.redirects(), [[visitor, victim]])
  await shop.assign(
    { anonymousId: 'v', email: 'attacker@example.com', origin: 'browser' },
    { anonymousId: 'v', email: 'attacker@example.com' },
  )
  t.strictSame(await shop.redirects(), [[visitor, victim]])
  await auditRedirects(t, db, shop.owner)
})

t.test(
  'an event of a browser without a visitor is about the one customer whom it means, or nobody',
  async (t) => {
    const shop = await people(db)
    const [one] = await shop.assign({ storeCustomerId: '1', email: 'a@example.com' })
    const before = await shop.rows()
    t.strictSame(
      await shop.assign(
        { email: 'a@example.com', origin: 'browser' },
        { email: 'new@example.com', origin: 'browser' },
        { storeCustomerId: '77', origin: 'browser' },
        { profileId: 'made up', phone: PHONE, origin: 'browser' },
      ),
      [one, 0, 0, 0],
    )
    t.strictSame(await shop.rows(), before)
  },
)

t.test('recoup merge lists, shows and undoes, and status counts what too many share', async (t) => {
  const shop = await people(db)
  const [a, b] = [{ email: 'a@example.com' }, { email: 'b@example.com' }]
  await shop.assign(a, b, { ...a, phone: PHONE }, { ...b, phone: PHONE })
  const config = readConfig({})
  const app = { config, postgres: db.postgres, pipeline: await lake(t, db) } as App
  const run = async (name: string, values: Values, ...positionals: string[]) => {
    const command = [...mergeCommands, ...statusCommands].find((one) => one.name === name)
    const progress = () => {
      throw new Error('not used')
    }
    const given = { config, values, positionals, app: async () => app, progress, stop: NO_STOP }
    const result = await command?.run(given)
    return { result: result as { data: { id: string }[] }, text: command?.text?.(result as never) ?? '' }
  }
  const brand = shop.owner.id
  const listed = await run('merge list', { brand })
  t.match(listed.text, /phone +server/)
  const id = listed.result.data[0]?.id ?? ''
  t.match((await run('merge show', { brand }, id)).text, new RegExp(`both have +phone \\${PHONE}`))
  t.match((await run('merge undo', { brand }, id)).text, /are two again, and stay so/)
  t.strictSame(await shop.redirects(), [])
  await shop.assign(...Array.from({ length: 11 }, (_, n) => guest(n)))
  t.match((await run('merge list', { brand, limit: '1' })).text, `phone  ${PHONE}`)
  const { text } = await run('status', {})
  t.ok(
    text.split('\n').some((line) => line.startsWith(shop.owner.shop_domain) && /\b1$/.test(line)),
    text,
  )
  await t.rejects(run('merge show', { brand }, 'x'), { message: /is not the id of a merge/ })
})
