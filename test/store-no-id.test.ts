import t from 'tap'
import { NO_IDS } from '../src/event/id.ts'
import type { Brand } from '../src/op.ts'
import { database } from './fixtures/database.ts'
import { connectedBrand, storeServer } from './fixtures/store.ts'
import { checkout, order } from './fixtures/store-bodies.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { send } = await storeServer(t, db)
const shop = () => connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })
const WORDS = [...NO_IDS, 0, -1, 'Guest', 'gid://shopify/Customer/0']

const customersOf = async ({ id }: Brand) => [
  ...(await db.postgres.sql`
    select store_customer_id, email from customer where brand_id = ${id} order by email`),
]

t.test('strangers whose orders name the same word instead of a customer are not one', async (t) => {
  for (const word of WORDS) {
    const brand = await shop()
    for (const [id, email] of [
      [1, 'ann@example.com'],
      [2, 'bob@example.com'],
    ])
      await send(brand, { topic: 'orders/paid', body: order({ id, email, customer: { id: word } }) })
    t.same(
      await customersOf(brand),
      [
        { store_customer_id: null, email: 'ann@example.com' },
        { store_customer_id: null, email: 'bob@example.com' },
      ],
      String(word),
    )
  }
})

t.test('a checkout that names a word instead of a customer is that of its address', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'checkouts/create', body: checkout({ customer: null, customer_id: 0 }) })
  t.same(await customersOf(brand), [{ store_customer_id: null, email: 'ann@example.com' }])
})

t.test('a customer whose own id is such a word is kept unread, with the reason', async (t) => {
  const brand = await shop()
  for (const word of WORDS) {
    const body = JSON.stringify({ id: word, email: 'ann@example.com', created_at: '2026-11-20T10:00:00Z' })
    t.match(
      await send(brand, { topic: 'customers/create', body }),
      { status: 200, body: { reason: 'dead_letter', message: /^id must be an id: 0 and words/ } },
      String(word),
    )
  }
  t.same(await customersOf(brand), [])
})

t.test('a consent of such a word is nobody’s, whatever id it has beside', async (t) => {
  const brand = await shop()
  const body = JSON.stringify({
    id: 5,
    customer_id: 'guest',
    email_address: 'ann@example.com',
    email_marketing_consent: { state: 'subscribed', consent_updated_at: '2026-11-20T10:00:00Z' },
  })
  t.match(await send(brand, { topic: 'customers_email_marketing_consent/update', body }), {
    body: { reason: 'dead_letter', message: /^customer_id must be an id/ },
  })
  t.same(await customersOf(brand), [])
})
