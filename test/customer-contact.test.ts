import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Brand } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, lakeOf, logBatch, tick } from './fixtures/lake.ts'

/** Which contact is shown with a customer, wherever a customer is shown. */
const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = db.postgres
const made = await api(t, db, OPS, { lake: lakeOf(t, pipeline) })
const PHONE = '+12025550101'

interface Profile {
  subject: number
  email?: string | null
  phone?: string | null
}

/** A brand whose customers have ids like `customer:1`, with an order each. */
async function shop(profiles: readonly Profile[]) {
  const brand = await makeBrand(db, { features: ['cdp', 'beta:cdp-commerce'] })
  for (const { subject, email = null, phone = null } of profiles) {
    await sql`insert into customer ${sql({ brand_id: brand.id, subject, id: `customer:${subject}`, provenance: 'server', email, phone })}`
    const order = { external_id: `o${subject}`, id: randomUUID(), subject, total: 10, currency_code: 'USD' }
    const paid = { state: 'complete', billing_status: 'paid', created_at: new Date(Date.now() - 86_400_000) }
    await sql`insert into store_order ${sql({ brand_id: brand.id, ...order, ...paid, updated_at: new Date() })}`
  }
  return brand
}

async function contact({ id }: Brand, found: Partial<Profile>): Promise<string> {
  const contactId = randomUUID()
  await sql`insert into contact ${sql({ brand_id: id, id: contactId, ...found })}`
  return contactId
}

/** The contact of a customer as each operation shows it. */
async function shown(brand: Brand, subject: number): Promise<Set<string | null>> {
  await tick(pipeline)
  await refreshBrand(pipeline, brand.id)
  const key = await made.key(brand, ['customers:read', 'commerce:read', 'segments:read'])
  const ask = async (path: string) => (await made.call(`GET ${path}`, { as: key })).body
  const of = `customer:${subject}`
  const listed = (await ask('/v1/customers')).data.find(({ id }: { id: string }) => id === of)
  const orders = (await ask('/v1/commerce/orders')).data.find(
    ({ customer_id }: { customer_id: string }) => customer_id === of,
  )
  return new Set([
    listed.contact_id,
    (await ask(`/v1/customers/${of}`)).contact_id,
    orders.customer.contact_id,
    (await ask(`/v1/commerce/orders/${orders.external_id}`)).customer.contact_id,
    (await ask(`/cdp/customers/${of}/orders`)).list[0].customer.contact_id,
    (await ask(`/cdp/profiles/${of}`)).identity.contactId,
    (await ask('/cdp/profiles?bucket=customers')).identities[of].contactId,
  ])
}

t.test('a contact that is linked to somebody else is not shown with who shares its phone', async (t) => {
  const brand = await shop([
    { subject: 1, phone: PHONE },
    { subject: 2, phone: PHONE },
  ])
  const id = await contact(brand, { subject: 1, phone: PHONE })
  t.same(await shown(brand, 1), new Set([id]))
  t.same(await shown(brand, 2), new Set([null]))
})

t.test('messages with somebody else are not shown with who shares their phone', async (t) => {
  const brand = await shop([
    { subject: 1, phone: PHONE },
    { subject: 2, phone: PHONE },
  ])
  const ids = { brand_id: brand.id, contact_id: await contact(brand, { phone: PHONE }) }
  const conversation_id = randomUUID()
  await sql`insert into conversation ${sql({ ...ids, id: conversation_id, subject: 1, channel: 'sms' })}`
  const message = {
    id: randomUUID(),
    conversation_id,
    direction: 'outbound',
    author: 'agent',
    channel: 'sms',
  }
  const sent = {
    body: 'Hello',
    idempotency_key: 'm',
    status: 'sent',
    created_at: new Date(Date.now() - 60_000),
  }
  await sql`insert into message ${sql({ brand_id: brand.id, ...message, ...sent })}`
  await tick(pipeline)
  await refreshBrand(pipeline, brand.id)
  const key = await made.key(brand, ['customers:read'])
  const messages = async (subject: number) => {
    const { body } = await made.call(`GET /v1/customers/customer:${subject}/activity`, { as: key })
    return body.data.filter(({ kind }: { kind: string }) => kind === 'message').length
  }
  t.same([await messages(1), await messages(2)], [1, 0])
})

t.test('a contact that has an email of a profile that was merged is shown everywhere', async (t) => {
  const brand = await shop([{ subject: 1 }, { subject: 2, email: 'two@example.com' }])
  await sql`insert into subject_redirect (brand_id, subject, customer) values (${brand.id}, 2, 1)`
  const id = await contact(brand, { email: 'two@example.com' })
  t.same(await shown(brand, 1), new Set([id]))
})

t.test('a contact without a channel is shown only where there is no other', async (t) => {
  const brand = await shop([{ subject: 1, email: 'one@example.com' }])
  const bare = await contact(brand, { subject: 1 })
  t.same(await shown(brand, 1), new Set([bare]))
  const id = await contact(brand, { email: 'one@example.com' })
  t.same(await shown(brand, 1), new Set([id]))
})

t.test(
  'a contact without a channel does not keep one from being linked when its address is named',
  async (t) => {
    const brand = await makeBrand(db)
    const named = { brand_id: brand.id, store_customer_id: '1' }
    await logBatch(sql, [named])
    await tick(pipeline)
    const [customer] = await sql`select subject from customer where brand_id = ${brand.id}`
    await contact(brand, { subject: customer?.subject })
    const id = await contact(brand, { email: 'one@example.com' })
    await logBatch(sql, [{ ...named, email: 'one@example.com' }])
    await tick(pipeline)
    const [linked] = await sql`select subject from contact where brand_id = ${brand.id} and id = ${id}`
    t.same(linked, customer)
  },
)

t.test('a search finds a customer by any address that identifies them, shown or not', async (t) => {
  const brand = await makeBrand(db, { features: ['cdp'] })
  const as = await made.key(brand, ['customers:read'])
  const sent = { brand_id: brand.id, phone: '+12125550123' }
  await logBatch(sql, [{ ...sent, email: 'first@example.com' }])
  await tick(pipeline)
  await logBatch(sql, [{ ...sent, email: 'second@example.com' }])
  await tick(pipeline)
  await refreshBrand(pipeline, brand.id)
  for (const query of ['first@example.com', 'SECOND@example.com', 'second@example.com']) {
    const { data } = (await made.call(`GET /v1/customers/search?query=${query}`, { as })).body
    t.same(
      data.map(({ email }: { email: string }) => email),
      ['first@example.com'],
      query,
    )
  }
})
