import t from 'tap'
import { COMPLIANCE_TOPICS, TOPICS } from '../src/connect/store/shopify/topics.ts'
import { database } from './fixtures/database.ts'
import { connectedBrand, eventsOf, storeServer } from './fixtures/store.ts'
import {
  checkout,
  order,
  redactCustomer,
  redactShop,
  refund,
  requestData,
  uninstalled,
} from './fixtures/store-bodies.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { sql } = db.postgres
const { send } = await storeServer(t, db)

const at = (time: string) => `2026-11-20T${time}Z`
const customer = (changes: object = {}) =>
  JSON.stringify({
    id: 77,
    email: 'ann@example.com',
    phone: '+12025550101',
    created_at: at('09:00:00'),
    updated_at: at('09:00:00'),
    ...changes,
  })
const cart = (changes: object) =>
  JSON.stringify({
    token: 'c1',
    customer: { id: 77 },
    created_at: at('09:30:00'),
    line_items: [],
    ...changes,
  })
const product = (changes: object = {}) =>
  JSON.stringify({ id: 9, title: 'Lamp', created_at: at('09:00:00'), updated_at: at('09:00:00'), ...changes })
const fulfillment = (changes: object) =>
  JSON.stringify({ id: 40, order_id: 1001, created_at: at('16:00:00'), ...changes })
const subscription = (changes: object) =>
  JSON.stringify({ id: 60, customer_id: 77, created_at: at('10:00:00'), status: 'active', ...changes })
const consent = (changes: object) =>
  JSON.stringify({ customer_id: 77, email_address: 'ann@example.com', phone: '+12025550101', ...changes })
const said = { state: 'subscribed', consent_updated_at: at('11:00:00') }

/** What a store tells in a day, each topic once or more. */
const DAY: [topic: string, body: string][] = [
  ['products/create', product()],
  ['products/update', product({ title: 'Big lamp', updated_at: at('09:10:00') })],
  ['customers/create', customer()],
  ['customers/update', customer({ first_name: 'Ann', updated_at: at('09:20:00') })],
  ['customers_marketing_consent/update', consent({ sms_marketing_consent: said })],
  ['customers_email_marketing_consent/update', consent({ email_marketing_consent: said })],
  ['carts/create', cart({ updated_at: at('09:30:00') })],
  ['carts/update', cart({ updated_at: at('09:40:00'), line_items: [{ product_id: 9, quantity: 1 }] })],
  ['checkouts/create', checkout()],
  ['checkouts/update', checkout({ updated_at: at('10:40:00'), total_price: '60.00' })],
  ['orders/create', order({ financial_status: 'pending' })],
  ['orders/paid', order({ updated_at: at('11:00:00') })],
  ['orders/updated', order({ updated_at: at('11:10:00'), note: 'x' })],
  ['orders/edited', JSON.stringify({ order_edit: { id: 1, order_id: 1001 } })],
  ['orders/edited', order({ updated_at: at('11:20:00'), total_price: '100.00' })],
  ['fulfillments/create', fulfillment({ status: 'pending', updated_at: at('16:00:00') })],
  ['fulfillments/update', fulfillment({ status: 'success', updated_at: at('17:00:00') })],
  ['refunds/create', refund()],
  ['orders/cancelled', order({ id: 1002, cancelled_at: at('12:00:00'), financial_status: 'voided' })],
  ['subscription_contracts/create', subscription({ updated_at: at('10:00:00') })],
  ['subscription_contracts/update', subscription({ updated_at: at('18:00:00'), status: 'cancelled' })],
]
/** What it takes away at the end. */
const REMOVED: [topic: string, body: string][] = [
  ['checkouts/delete', '{"id":501}'],
  ['orders/delete', '{"id":1002}'],
  ['products/delete', '{"id":9}'],
  [
    'customers/delete',
    JSON.stringify({
      id: 77,
      phone: null,
      addresses: [],
      tax_exemptions: [],
      email_marketing_consent: null,
      sms_marketing_consent: null,
      admin_graphql_api_id: 'gid://shopify/Customer/77',
    }),
  ],
]

t.test('every topic is written as it says', async (t) => {
  const connectedAt = new Date('2026-11-01T00:00:00Z')
  const brand = await connectedBrand(db, { connectedAt })
  const tell = async (messages: typeof DAY) => {
    for (const [topic, body] of messages) {
      const answer = await send(brand, { topic, body, triggeredAt: new Date() })
      t.same(answer, { status: 200, body: { ok: true } }, topic)
    }
  }
  const of = (table: string) => sql`select * from ${sql(table)} where brand_id = ${brand.id} order by id`
  const orders = () => sql`select * from store_order where brand_id = ${brand.id} order by external_id`

  await tell(DAY)
  t.hasStrict(await of('product'), [{ id: '9', title: 'Big lamp', deleted: false }])
  t.hasStrict(await of('customer'), [
    { store_customer_id: '77', email: 'ann@example.com', first_name: 'Ann' },
  ])
  t.hasStrict(await of('contact'), [
    { phone: '+12025550101', sms_consent: 'subscribed', email_consent: 'subscribed' },
  ])
  t.hasStrict(await of('checkout'), [{ external_id: '501', total: '60.00', state: 'open', deleted: false }])
  t.hasStrict(await orders(), [
    { external_id: '1001', total: '100.00', billing_status: 'partially_refunded', refunded_total: '20.50' },
    { external_id: '1002', state: 'cancelled', billing_status: 'voided' },
  ])
  t.hasStrict(await of('subscription'), [{ external_id: '60', status: 'cancelled' }])
  t.same([...new Set((await eventsOf(db, brand)).map(({ event_type }) => event_type))].sort(), [
    'cart_updated',
    'consent_updated',
    'customer_updated',
    'fulfillment_updated',
    'order_created',
    'refund_issued',
    'subscription_changed',
  ])

  await tell([...REMOVED, ['app/uninstalled', uninstalled(brand)]])
  t.hasStrict(await of('product'), [{ deleted: true }])
  t.hasStrict(await of('checkout'), [{ deleted: true }])
  t.hasStrict(await orders(), [{ deleted: false }, { deleted: true }])
  t.hasStrict(await sql`select status from store_connection where brand_id = ${brand.id}`, [
    { status: 'disconnected' },
  ])
})

t.test(
  'what removes, ends or erases takes no body of another topic or shop, though the signature is right',
  async (t) => {
    const brand = await connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })
    const ann = { id: 77, email: 'ann@example.com' }
    const own: Record<string, string> = {
      'app/uninstalled': uninstalled(brand),
      'customers/redact': redactCustomer(brand, ann),
      'customers/data_request': requestData(brand, ann),
      'shop/redact': redactShop(brand),
    }
    const smsConsent = JSON.stringify({ id: 77, phone: '+12025550101', sms_marketing_consent: said })
    const elsewhere = { shop_domain: 'elsewhere.myshopify.com' }
    const ofAnother: Record<string, string> = {
      'app/uninstalled': uninstalled(elsewhere),
      'customers/redact': redactCustomer(elsewhere, ann),
      'customers/data_request': requestData(elsewhere, ann),
      'shop/redact': redactShop(elsewhere),
    }
    const removals = REMOVED.map(([topic]) => topic)
    for (const topic of [...removals, ...Object.keys(own)]) {
      const others = Object.entries(own).flatMap(([name, body]) => (name === topic ? [] : body))
      const removed = removals.includes(topic) ? [] : REMOVED
      const bodies = [...DAY, ...removed].map(([, body]) => body)
      for (const body of [...bodies, smsConsent, ...others, ofAnother[topic] ?? '{}'])
        t.hasStrict(
          await send(brand, { topic, body }),
          { body: { reason: 'dead_letter' } },
          `${topic} ${body}`,
        )
    }
    for (const table of ['erasure', 'data_request'])
      t.same([...(await sql`select from ${sql(table)} where brand_id = ${brand.id}`)], [], table)
  },
)

t.test('the name of the shop is the same in upper case', async (t) => {
  const brand = await connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })
  const body = redactShop({ shop_domain: brand.shop_domain.toUpperCase() })
  t.hasStrict(await send(brand, { topic: 'shop/redact', body }), { body: { ok: true } })
})

t.test('no topic is left out', (t) => {
  const sent = [...DAY, ...REMOVED, ['app/uninstalled']].map(([topic]) => topic)
  const wanted = Object.keys(TOPICS).filter((topic) => !COMPLIANCE_TOPICS.includes(topic))
  t.same([...new Set(sent)].sort(), wanted.sort())
  t.end()
})
