import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { v7 } from 'uuid'
import { eraseDue } from '../src/connect/erase/due.ts'
import { answerDataRequest, dataRequests } from '../src/connect/store/data-request.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { database } from './fixtures/database.ts'
import { lake, logBatch } from './fixtures/lake.ts'
import { everythingStored, placesOf } from './fixtures/search.ts'
import { connect, connectedBrand, eventsOf, storeServer } from './fixtures/store.ts'
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
const pipeline = await lake(t, db)
const { send } = await storeServer(t, db)
const shop = () => connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })
const rowsOf = async (brand: Awaited<ReturnType<typeof shop>>, table: string) => [
  ...(await db.postgres.sql`select * from ${db.postgres.sql(table)} where brand_id = ${brand.id}`),
]

t.test('a store that removed the app is heard no more, but for what it must be able to ask', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'app/uninstalled', body: uninstalled(brand) })
  t.hasStrict(await rowsOf(brand, 'store_connection'), [{ status: 'disconnected', access_token: null }])
  t.hasStrict(await send(brand, { topic: 'orders/paid', body: order() }), { status: 200, body: { ok: true } })
  t.same(await rowsOf(brand, 'store_order'), [])
  const customer = { id: 77, email: 'ann@example.com', phone: null }
  await send(brand, { topic: 'customers/redact', body: redactCustomer(brand, customer) })
  t.hasStrict(await rowsOf(brand, 'erasure'), [
    { requested_by: 'customers/redact', whom: { store_customer_id: '77', email: 'ann@example.com' } },
  ])
})

t.test('a late word of an earlier removal ends no newer connection, and that loses no news', async (t) => {
  const brand = await shop()
  const at = (time: string) => new Date(`2026-11-20T${time}:00Z`)
  await connect(db, brand, { connectedAt: at('12:05') })
  const removed = { topic: 'app/uninstalled', body: uninstalled(brand) }
  await send(brand, { ...removed, triggeredAt: at('12:00') })
  t.match(await rowsOf(brand, 'store_connection'), [{ status: 'connected', access_token: Buffer }])
  await send(brand, { topic: 'orders/paid', body: order() })
  t.hasStrict(await eventsOf(db, brand), [{ event_type: 'order_created' }], 'of 10:00, before the new token')
  await send(brand, { ...removed, triggeredAt: at('12:06') })
  t.hasStrict(await rowsOf(brand, 'store_connection'), [{ status: 'disconnected', access_token: null }])
})

t.test('a redacted shop has everybody erased who was known when it asked', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'orders/paid', body: order() })
  await send(brand, {
    topic: 'checkouts/create',
    body: checkout({ customer: null, email: 'other@example.com' }),
  })
  await db.postgres
    .sql`insert into contact (brand_id, id, email) values (${brand.id}, ${v7()}, 'contact@example.com')`
  const known = await rowsOf(brand, 'customer')
  const event = { brand_id: brand.id, occurred_at: Date.now() }
  const dead = JSON.stringify({ ...event, email: 'refused@example.com' })
  await logBatch(db.postgres.sql, [{ ...event, email: 'lately@example.com', phone: '+12025550142' }, dead])

  await send(brand, { topic: 'shop/redact', body: redactShop(brand) })
  await snapshotAll(pipeline)
  t.equal((await rowsOf(brand, 'customer')).length, known.length + 1, 'the lake learned of one more')
  t.equal((await rowsOf(brand, 'dead_event')).length, 1)
  while (await eraseDue(pipeline, { brandId: brand.id, patience: { readersMs: 0, writersMs: 0 } }));

  const persons = ['lately@example.com', '2025550142', 'refused@', 'other@example.com', 'contact@example.com']
  t.same(placesOf(await everythingStored(pipeline), persons), {})
  t.ok((await rowsOf(brand, 'customer')).every(({ erased_at }) => erased_at))
  const certificates = (await rowsOf(brand, 'erasure')).map(({ certificate }) => certificate)
  t.hasStrict(certificates, new Array(known.length + 2).fill({ requested_by: 'shop/redact' }))
})

t.test('a redacted shop keeps nothing of who was never known', async (t) => {
  const brand = await shop()
  const neighbour = await shop()
  const { sql } = db.postgres
  const folder = t.testdir({ rejects: '{"row":1,"data":{"email":"nobody"}}\n', others: '' })
  const [rejects, there] = [join(folder, 'rejects'), join(folder, 'others')]
  for (const [{ id }, path] of [
    [brand, rejects],
    [brand, join(folder, 'absent')],
    [neighbour, there],
  ] as const) {
    await sql`insert into import_rejects (brand_id, path) values (${id}, ${path})`
  }
  for (const { id } of [brand, neighbour])
    await sql`insert into visitor_claim (brand_id, kind, value, subject) values (${id}, 'email', 'claimed@example.com', 0)`
  for (const one of [brand, neighbour])
    await send(one, {
      topic: 'customers/data_request',
      body: requestData(one, { id: 771_177, email: 'stranger@example.com', phone: '+12025550143' }),
    })

  await send(brand, { topic: 'shop/redact', body: redactShop(brand) })
  while (await eraseDue(pipeline, { brandId: brand.id, patience: { readersMs: 0, writersMs: 0 } }));

  t.hasStrict(await rowsOf(brand, 'data_request'), [{ store_customer_id: null, email: null, phone: null }])
  t.same(await rowsOf(brand, 'visitor_claim'), [])
  t.notOk(existsSync(rejects))
  t.same(await rowsOf(brand, 'import_rejects'), [])
  t.hasStrict(await rowsOf(neighbour, 'data_request'), [{ email: 'stranger@example.com' }])
  t.equal((await rowsOf(neighbour, 'visitor_claim')).length, 1)
  t.ok(existsSync(there))
  t.equal((await rowsOf(neighbour, 'import_rejects')).length, 1)
})

/** More digits than a part of a UUID has. */
const OF_ANOTHER = 70_000_000_002_002

t.test('a data request is answered with all that is stored of the shopper, and of nobody else', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'orders/paid', body: order() })
  await send(brand, { topic: 'refunds/create', body: refund() })
  await send(brand, {
    topic: 'orders/paid',
    body: order({ id: OF_ANOTHER, email: 'bob@example.com', customer: { id: 78 } }),
  })
  for (const email of ['ann@example.com', 'bob@example.com'])
    await db.postgres.sql`
      with talk as (
        insert into conversation (brand_id, id, contact_id, channel)
        select brand_id, gen_random_uuid(), id, 'sms' from contact where brand_id = ${brand.id} and email = ${email}
        returning *
      )
      insert into message (brand_id, id, conversation_id, idempotency_key, direction, author, channel, body)
      select brand_id, gen_random_uuid(), id, ${email}, 'outbound', 'campaign', 'sms', ${`Hello ${email}`} from talk`
  for (const email of ['ann@example.com', 'bob@example.com'])
    await db.postgres.sql`
      insert into custom_event (brand_id, id, provider_id, definition_id, external_id, contact_id, event_id, data)
      select brand_id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), ${email}, id, '1', ${`{"of":"${email}","nothing":"\\u0000","serial":9007199254740993}`}::text::json
      from contact where brand_id = ${brand.id} and email = ${email}`
  const body = requestData(brand, { id: 77, email: 'ann@example.com' })
  await send(brand, { topic: 'customers/data_request', body })
  await send(brand, { topic: 'customers/data_request', body })
  const [request, ...others] = await dataRequests(pipeline, brand.id)
  t.same(others, [])
  const found = await answerDataRequest(pipeline, brand, request?.id ?? '')
  t.hasStrict(found, {
    customers: [{ store_customer_id: '77' }],
    contacts: [{ email: 'ann@example.com' }],
    orders: [{ external_id: '1001' }],
    refunds: [{ external_id: '30' }],
    conversations: [{ channel: 'sms' }],
    messages: [{ body: 'Hello ann@example.com' }],
    custom_events: [{ external_id: 'ann@example.com', data: { nothing: '\0' } }],
    events: [{ event_type: 'order_created' }, { event_type: 'refund_issued' }],
  })
  t.match(JSON.stringify(found), '"serial":9007199254740993')
  t.notOk(new RegExp(`bob|${OF_ANOTHER}`).test(JSON.stringify(found)))
  t.ok((await dataRequests(pipeline, brand.id))[0]?.answered_at)
})

t.test('a data request is about one person, whoever else has an address of theirs', async (t) => {
  const brand = await shop()
  const phone = '+12025550199'
  await send(brand, {
    topic: 'orders/paid',
    body: order({ id: OF_ANOTHER, email: 'bob@example.com', phone, customer: { id: 78 } }),
  })
  await send(brand, { topic: 'orders/paid', body: order({ phone }) })
  const answered = async (id: number, customer: object) => {
    await send(brand, { topic: 'customers/data_request', body: requestData(brand, customer, id) })
    const asked = (await dataRequests(pipeline, brand.id)).find((one) => one.external_id === String(id))
    return await answerDataRequest(pipeline, brand, asked?.id ?? '')
  }
  const ofAnn = await answered(1, { id: 77, email: 'ann@example.com', phone })
  t.hasStrict(ofAnn, { customers: [{ store_customer_id: '77' }] })
  t.notOk(new RegExp(`bob|${OF_ANOTHER}`).test(JSON.stringify(ofAnn)))
  const ofBob = await answered(2, { phone: '(202) 555-0199' })
  t.hasStrict(ofBob, { customers: [{ store_customer_id: '78' }] })
})

t.test('of a data request that names an address only, an erasure leaves nothing to read', async (t) => {
  const brand = await shop()
  for (const customer of [{ email: ' Carl@Example.com' }, { phone: '(202) 555-0177' }]) {
    const body = JSON.stringify({ shop_domain: brand.shop_domain, customer })
    const triggeredAt = new Date('2026-11-20T12:00:00Z')
    for (const _ of [1, 2]) await send(brand, { topic: 'customers/data_request', body, triggeredAt })
    await send(brand, { topic: 'customers/redact', body })
  }
  t.equal((await dataRequests(pipeline, brand.id)).length, 2)
  while (await eraseDue(pipeline, { brandId: brand.id }));
  const left = await rowsOf(brand, 'data_request')
  t.hasStrict(left, new Array(2).fill({ email: null, phone: null }))
  t.ok(left.every(({ external_id }) => /^[0-9a-f]{64}$/.test(external_id)))
})

t.test('an order of an erased customer that comes again stays without a name', async (t) => {
  const brand = await shop()
  const token = { checkout_token: 'of-ann' }
  await send(brand, { topic: 'orders/paid', body: order(token) })
  const redact = redactCustomer(brand, { id: 77, email: 'ann@example.com' })
  await send(brand, { topic: 'customers/redact', body: redact })
  while (await eraseDue(pipeline, { brandId: brand.id }));
  const nobody = { email: null, phone: null, number: null, subject: null, checkout_token: null }
  t.hasStrict(await rowsOf(brand, 'store_order'), [{ email: null, phone: null }])
  const later = order({ ...token, updated_at: '2026-11-20T10:00:01Z' })
  await send(brand, { topic: 'orders/updated', body: later })
  t.hasStrict(await rowsOf(brand, 'store_order'), [{ ...nobody, total: '120.50' }])
  t.same(await rowsOf(brand, 'contact'), [])
  t.notOk(/ann@example/i.test(JSON.stringify(await rowsOf(brand, 'customer'))))
})

/** A brand that has an order, a parcel and a checkout of a customer who was erased since. */
async function erasedBrand() {
  const brand = await shop()
  const codes = { name: '#ANN-1', discount_codes: [{ code: 'ANN-10' }], checkout_token: 'ANN-TOKEN' }
  await send(brand, { topic: 'orders/paid', body: order(codes) })
  await send(brand, { topic: 'fulfillments/create', body: parcel() })
  await send(brand, {
    topic: 'checkouts/create',
    body: checkout({ token: 'ANN-TOKEN', cart_token: 'ANN-CART' }),
  })
  const redact = redactCustomer(brand, { id: 77, email: 'ann@example.com' })
  await send(brand, { topic: 'customers/redact', body: redact })
  while (await eraseDue(pipeline, { brandId: brand.id }));
  return { brand, codes }
}
const parcel = (changes: object = {}) =>
  JSON.stringify({
    id: 40,
    order_id: 1001,
    status: 'success',
    tracking_number: 'PARCEL-1',
    tracking_url: 'https://post.example/PARCEL-1',
    created_at: '2026-11-20T10:00:00Z',
    ...changes,
  })
const NOBODY = { customer: null, email: null, updated_at: '2026-11-20T16:00:00Z' }

t.test('a checkout of an erased customer says no more what was typed in it', async (t) => {
  const brand = await shop()
  const body = checkout({ phone: '+12025550101' })
  await send(brand, { topic: 'checkouts/create', body })
  t.hasStrict(await rowsOf(brand, 'checkout'), [{ email: 'ann@example.com', phone: '+12025550101' }])
  await send(brand, { topic: 'customers/redact', body: redactCustomer(brand, { id: 77 }) })
  while (await eraseDue(pipeline, { brandId: brand.id }));
  t.hasStrict(await rowsOf(brand, 'checkout'), [{ email: null, phone: null, subject: null }])
})

t.test(
  'a later version of a checkout does not bring an erased customer back, a new checkout does',
  async (t) => {
    const { brand } = await erasedBrand()
    const updated_at = new Date().toISOString()
    const token = { token: 'ANN-TOKEN', cart_token: 'ANN-CART' }
    const contacts = () =>
      db.postgres.sql`select email from contact where brand_id = ${brand.id} and email is not null`
    await send(brand, { topic: 'checkouts/update', body: checkout({ ...token, updated_at }) })
    t.hasStrict(await rowsOf(brand, 'checkout'), [{ email: null, subject: null, url: null, token: null }])
    t.same([...(await contacts())], [])
    const next = checkout({ id: 502, token: 'next', cart_token: 'next', created_at: updated_at, updated_at })
    await send(brand, { topic: 'checkouts/create', body: next })
    t.same([...(await contacts())], [{ email: 'ann@example.com' }])
  },
)

const NEVER_DATED = { id: 77, email: 'ann@example.com', phone: '+12025550101', first_name: 'Annabel' }
const EMAIL_CONSENT = 'customers_email_marketing_consent/update'
/** What a store can say of Ann without saying when, by topic. */
const UNDATED: Readonly<Record<string, object>> = {
  'customers/create': NEVER_DATED,
  [EMAIL_CONSENT]: {
    customer_id: 77,
    email_address: 'ann@example.com',
    email_marketing_consent: { state: 'subscribed', consent_updated_at: null },
  },
  'carts/update': { id: 'c', token: 'c', email: 'ann@example.com', customer: NEVER_DATED, line_items: [] },
  'subscription_contracts/update': { id: 60, customer_id: 77, status: 'ACTIVE', revision_id: 1 },
}
const living = ({ id }: { id: string }) =>
  db.postgres.sql`select store_customer_id, email from customer where brand_id = ${id} and erased_at is null`

for (const [topic, body] of Object.entries(UNDATED)) {
  t.test(`${topic} without a time does not bring an erased customer back`, async (t) => {
    const { brand } = await erasedBrand()
    const before = await eventsOf(db, brand)
    const sent = await send(brand, { topic, body: JSON.stringify(body) })
    t.hasStrict(sent, { status: 200, body: { ok: true } })
    t.same([...(await living(brand))], [])
    t.same(await rowsOf(brand, 'contact'), [])
    t.same(await eventsOf(db, brand), before)
    t.same(placesOf(await everythingStored(pipeline), ['annabel', '2025550101']), {})
  })

  t.test(`${topic} without a time tells of who was never erased`, async (t) => {
    const { brand } = await erasedBrand()
    const text = JSON.stringify(body).replaceAll('ann@', 'bob@').replaceAll('77', '78')
    await send(brand, { topic, body: text.replaceAll('Annabel', 'Bobby').replace('0101', '0102') })
    t.hasStrict([...(await living(brand))], [{ store_customer_id: '78' }])
  })
}

t.test('a consent that is dated far ahead does not bring an erased customer back', async (t) => {
  const { brand } = await erasedBrand()
  const consent = { state: 'subscribed', consent_updated_at: '2099-01-01T00:00:00Z' }
  const body = JSON.stringify({ ...UNDATED[EMAIL_CONSENT], email_marketing_consent: consent })
  await send(brand, { topic: EMAIL_CONSENT, body })
  t.same([...(await living(brand))], [])
})

t.test('a consent of after the erasure is of somebody new', async (t) => {
  const { brand } = await erasedBrand()
  const consent = { state: 'subscribed', consent_updated_at: new Date().toISOString() }
  const body = JSON.stringify({ ...UNDATED[EMAIL_CONSENT], email_marketing_consent: consent })
  await send(brand, { topic: EMAIL_CONSENT, body })
  t.hasStrict(await rowsOf(brand, 'contact'), [{ email: 'ann@example.com', email_consent: 'subscribed' }])
})

t.test('a refusal without a time is heard for who came back, and of nobody else kept', async (t) => {
  const { brand } = await erasedBrand()
  const consent = { state: 'unsubscribed', consent_updated_at: null }
  const body = JSON.stringify({ ...UNDATED[EMAIL_CONSENT], email_marketing_consent: consent })
  const refuse = () => send(brand, { topic: EMAIL_CONSENT, body })
  await refuse()
  t.same(await rowsOf(brand, 'contact'), [])
  const email_marketing_consent = { state: 'subscribed', consent_updated_at: new Date().toISOString() }
  const back = { ...NEVER_DATED, updated_at: new Date().toISOString(), email_marketing_consent }
  await send(brand, { topic: 'customers/update', body: JSON.stringify(back) })
  t.hasStrict(await rowsOf(brand, 'contact'), [{ email_consent: 'subscribed' }])
  await refuse()
  t.hasStrict(await rowsOf(brand, 'contact'), [{ email_consent: 'unsubscribed' }])
})

t.test(
  'a subscription that does not say when is that of who came back, once the store says when',
  async (t) => {
    const { brand } = await erasedBrand()
    const topic = 'subscription_contracts/update'
    const now = new Date().toISOString()
    const started = async () =>
      (await eventsOf(db, brand)).filter(({ event_type }) => event_type === 'subscription_changed').length
    await send(brand, {
      topic: 'customers/update',
      body: JSON.stringify({ ...NEVER_DATED, updated_at: now }),
    })
    await send(brand, { topic, body: JSON.stringify(UNDATED[topic]) })
    t.equal(await started(), 0)
    const body = JSON.stringify({ ...UNDATED[topic], created_at: now, updated_at: now })
    await send(brand, { topic, body })
    t.equal(await started(), 1)
  },
)

t.test('a checkout of somebody else does not bring the address of an erased customer back', async (t) => {
  const { brand } = await erasedBrand()
  const { sql } = db.postgres
  await sql`
    insert into checkout (brand_id, external_id, id, subject, email, url, state, currency_code, created_at, updated_at)
    values (${brand.id}, '502', ${v7()}, 99, 'ann@example.com', 'https://shop.example/502', 'open', 'USD',
      '2026-11-20', now())`
  const [bobs] = await sql`select email, url from checkout where brand_id = ${brand.id} and subject = 99`
  t.same(bobs, { email: null, url: 'https://shop.example/502' })
})

t.test('later versions that name nobody bring nothing of an erased customer back', async (t) => {
  const { brand, codes } = await erasedBrand()
  await send(brand, { topic: 'orders/updated', body: order({ ...codes, ...NOBODY, total_price: '99.00' }) })
  await send(brand, { topic: 'fulfillments/update', body: parcel({ updated_at: NOBODY.updated_at }) })
  const url = { abandoned_checkout_url: 'https://shop.example/501?email=ANN-1@example.com' }
  await send(brand, {
    topic: 'checkouts/update',
    body: checkout({ ...NOBODY, ...url, token: 'ANN-TOKEN', cart_token: 'ANN-CART' }),
  })
  t.hasStrict(await rowsOf(brand, 'store_order'), [
    { total: '99.00', number: null, discount_codes: [], checkout_token: null },
  ])
  t.hasStrict(await rowsOf(brand, 'fulfillment'), [
    { updated_at: new Date(NOBODY.updated_at), tracking_numbers: [], tracking_urls: [] },
  ])
  t.hasStrict(await rowsOf(brand, 'checkout'), [{ url: null, token: null, cart_id: null }])
  t.same(placesOf(await everythingStored(pipeline), ['ANN-', 'PARCEL-']), {})
})

t.test('an erased order that names somebody else since is theirs, with all that it says', async (t) => {
  const { brand, codes } = await erasedBrand()
  const bob = { email: 'bob@example.com', customer: { id: 78 }, updated_at: NOBODY.updated_at }
  await send(brand, { topic: 'orders/updated', body: order({ ...codes, ...bob }) })
  await send(brand, { topic: 'fulfillments/update', body: parcel({ updated_at: NOBODY.updated_at }) })
  await send(brand, { topic: 'checkouts/update', body: checkout({ ...bob, token: 'of-bob' }) })
  t.hasStrict(await rowsOf(brand, 'store_order'), [
    { email: 'bob@example.com', number: '#ANN-1', discount_codes: ['ANN-10'], checkout_token: 'ANN-TOKEN' },
  ])
  t.hasStrict(await rowsOf(brand, 'fulfillment'), [{ tracking_numbers: ['PARCEL-1'] }])
  t.hasStrict(await rowsOf(brand, 'checkout'), [{ url: 'https://shop.example/501', token: 'of-bob' }])
})

t.test('a parcel that was known before its order says nothing of an erased customer', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'fulfillments/create', body: parcel() })
  const redact = redactCustomer(brand, { id: 77, email: 'ann@example.com' })
  await send(brand, { topic: 'customers/redact', body: redact })
  while (await eraseDue(pipeline, { brandId: brand.id }));
  await send(brand, { topic: 'orders/paid', body: order() })
  t.hasStrict(await rowsOf(brand, 'fulfillment'), [{ tracking_numbers: [], tracking_urls: [] }])
  t.ok((await rowsOf(brand, 'store_event')).every(({ content }) => content === null))
})

t.test('a webhook that could not be read is dead no more once what it says is erased', async (t) => {
  const brand = await shop()
  for (const [id, email] of [
    [77, 'ann@example.com'],
    [78, 'bob@example.com'],
  ])
    await send(brand, {
      topic: 'orders/create',
      body: order({ created_at: undefined, email, customer: { id, email } }),
    })
  const outcomes = async () =>
    (await rowsOf(brand, 'store_delivery'))
      .filter(({ topic }) => topic === 'orders/create')
      .map(({ outcome, payload }) => [outcome, payload !== null])
      .sort()
  t.same(await outcomes(), [
    ['dead', true],
    ['dead', true],
  ])
  const redact = redactCustomer(brand, { id: 77, email: 'ann@example.com' })
  await send(brand, { topic: 'customers/redact', body: redact })
  while (await eraseDue(pipeline, { brandId: brand.id }));
  t.same(await outcomes(), [
    ['dead', true],
    ['ignored', false],
  ])
  await send(brand, { topic: 'shop/redact', body: redactShop(brand) })
  while (await eraseDue(pipeline, { brandId: brand.id }));
  t.same(await outcomes(), [
    ['ignored', false],
    ['ignored', false],
  ])
})
