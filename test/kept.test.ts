import t from 'tap'
import { eraseBodies } from '../src/connect/erase/bodies.ts'
import { createReceiver } from '../src/connect/store/receive.ts'
import { noIdentifiers, peopleWith } from '../src/identity/people.ts'
import type { Brand } from '../src/op.ts'
import type { Postgres } from '../src/store/postgres.ts'
import { statement } from '../src/store/sqlfile.ts'
import { analyze } from './fixtures/analyze.ts'
import { database } from './fixtures/database.ts'
import { rowsRead } from './fixtures/rows-read.ts'
import { noting } from './fixtures/statements.ts'
import { connectedBrand, SEAL, storeServer } from './fixtures/store.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { sql } = db.postgres
const { send } = await storeServer(t, db)
const MB = 1 << 20

const shop = () => connectedBrand(db, { connectedAt: new Date() })
const refused = (brand: Brand) => send(brand, { topic: 'orders/paid', body: 'no json', webhookId: 'newest' })

/** Webhooks that could not be read, the first one the oldest. */
const keep = ({ id }: Brand, count: number, body: string) => sql`
  insert into store_delivery (brand_id, webhook_id, topic, triggered_at, received_at, outcome, reason, payload)
  select
    ${id}, 'w' || lpad(n::text, 5, '0'), 'orders/paid', now(), now() - (${count} - n) * interval '1 second', 'dead', 'unread',
    ${Buffer.from(body)}
  from generate_series(1, ${count}::integer) as n`

const kept = async ({ id }: Brand) => {
  const [row] = await sql<{ count: number; bytes: number; oldest: string; newest: string }[]>`
    select
      count(*)::integer, sum(octet_length(payload))::integer as bytes, min(webhook_id) as oldest, max(webhook_id) as newest
    from store_delivery
    where brand_id = ${id} and payload is not null`
  return row
}

t.test('of webhooks that cannot be read a brand keeps the newest 64 MB', async (t) => {
  const [brand, other] = [await shop(), await shop()]
  for (const one of [brand, other]) await keep(one, 34, 'x'.repeat(2 * MB))
  t.match(await refused(brand), { status: 200, body: { reason: 'dead_letter' } })
  const few = Buffer.byteLength('no json')
  t.strictSame(
    { ...(await kept(brand)) },
    { count: 32, bytes: 62 * MB + few, oldest: 'newest', newest: 'w00034' },
  )
  t.match(await kept(other), { count: 34 }, 'another brand has room of its own')
})

t.test('of webhooks that cannot be read a brand keeps the newest 5,000', async (t) => {
  const brand = await shop()
  await keep(brand, 5_003, 'x')
  await refused(brand)
  t.match(await kept(brand), { count: 5_000 })
})

t.test('a webhook whose body is no longer kept says so, and is not tried again', async (t) => {
  const brand = await shop()
  await keep(brand, 5_000, 'x')
  await refused(brand)
  t.match(
    await sql`select webhook_id, outcome, reason from store_delivery where brand_id = ${brand.id} and payload is null`,
    [{ webhook_id: 'w00001', outcome: 'dead', reason: /^unread; its body is no longer kept/ }],
  )
  const receiver = createReceiver({ postgres: db.postgres, seal: SEAL, storePlatformDomain: 'myshopify.com' })
  const connection = await receiver.find('shopify', brand.shop_domain)
  if (!connection) throw new Error('not connected')
  t.strictSame(await receiver.replay(connection), { applied: 0, dead: 5_000 })
})

/** How often each statement is asked for while something is done. */
async function asked<Result>(work: (postgres: Postgres) => Promise<Result>) {
  const counts: Record<string, number> = {}
  const note = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  const forBrand = (id: string) => noting(db.postgres.forBrand(id), note)
  const pipeline = noting(db.postgres.pipeline, note)
  return { result: await work({ ...db.postgres, forBrand, pipeline }), counts }
}

t.test('webhooks are tried again a few bodies at a time', async (t) => {
  const brand = await shop()
  await keep(brand, 20, JSON.stringify({ note: 'x'.repeat(MB) }))
  const { result, counts } = await asked(async (postgres) => {
    const receiver = createReceiver({ postgres, seal: SEAL, storePlatformDomain: 'myshopify.com' })
    const connection = await receiver.find('shopify', brand.shop_domain)
    return connection && (await receiver.replay(connection))
  })
  t.strictSame(result, { applied: 0, dead: 20 })
  t.equal(counts.store_dead_next, 4, 'eight bodies twice, the rest, and nothing more')
})

t.test(
  'an erasure opens what is kept a few bodies at a time, and finds the person in all of them',
  async (t) => {
    const brand = await shop()
    const email = 'gone@example.com'
    const people = peopleWith({ ...noIdentifiers(), email: [email] }, 'US')
    const wanted = { brandId: brand.id, erasedAt: new Date(Date.now() + 60_000), people }
    const [theirs, others] = [email, 'here@example.com'].map((one) =>
      JSON.stringify({ email: one, note: 'x'.repeat(MB) }),
    ) as [string, string]
    const bodies = (keep: (n: number, body: Buffer) => PromiseLike<unknown>) =>
      Promise.all(Array.from({ length: 21 }, (_, n) => keep(n, Buffer.from(n % 7 ? others : theirs))))
    await bodies(
      (n, body) => sql`
      insert into store_delivery (brand_id, webhook_id, topic, triggered_at, outcome, reason, payload)
      values (${brand.id}, ${n}::integer::text, 'orders/paid', now(), 'dead', 'unread', ${body})`,
    )
    await bodies(
      (n, body) => sql`
      insert into store_event (brand_id, id, waits_for, content)
      values (${brand.id}, ${n}::integer::text, 'o1', ${body.toString()}::text::jsonb)`,
    )
    await bodies(
      (n, body) => sql`
      insert into dead_letter (brand_id, id, provider_id, event_id, event_type, reason, body)
      values (${brand.id}, gen_random_uuid(), gen_random_uuid(), ${n}::integer::text, 'told', 'full', ${body})`,
    )
    await bodies(
      (n, body) => sql`
      insert into dead_event (batch_id, line, brand_id, reason, payload)
      values ('01a10000-0000-7000-8000-000000000000', ${n}, ${brand.id}, 'unread', ${body})`,
    )
    const { result, counts } = await asked(({ pipeline }) => eraseBodies(pipeline, wanted))
    t.strictSame(result, {
      'postgres.store_delivery': 3,
      'postgres.store_event': 3,
      'postgres.dead_letter': 3,
      'postgres.dead_event': 3,
    })
    // Eight bodies or nine, twice, the rest, and nothing more.
    for (const list of [
      'bodies_of_deliveries',
      'bodies_of_store_events',
      'bodies_of_dead_letters',
      'bodies_of_dead_events',
    ])
      t.equal(counts[list], 4, list)
  },
)

t.test('an erasure finds the events that wait without reading those that are noted', async (t) => {
  const events = 10_000
  const brand = await shop()
  await sql`
    insert into store_event (brand_id, id, waits_for, content)
    select ${brand.id}, n::text, case when n = 1 then 'o1' end, case when n = 1 then '{}'::jsonb end
    from generate_series(1, ${events}::integer) as n`
  await analyze(sql)
  const read = await sql.begin((tx) =>
    rowsRead(tx, () =>
      tx.unsafe(statement('postgres', 'bodies_of_store_events'), [brand.id, new Date(), null, MB]),
    ),
  )
  t.ok(read < events / 10, `${read} rows`)
})
