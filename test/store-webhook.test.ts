import t from 'tap'
import { ShopLife } from '../src/connect/demo/store/life.ts'
import { sendWebhooks } from '../src/connect/demo/store/sender.ts'
import { ShopState } from '../src/connect/demo/store/state.ts'
import { abandonCheckouts } from '../src/connect/store/abandon.ts'
import { createReceiver } from '../src/connect/store/receive.ts'
import { signatureOf } from '../src/connect/store/signature.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { randomSource } from './fixtures/random.ts'
import { connectedBrand, eventsOf, SEAL, SECRET, storeServer } from './fixtures/store.ts'
import { checkout, ORDER, order, refund } from './fixtures/store-bodies.ts'
import { storeState } from './fixtures/store-state.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { send, url } = await storeServer(t, db)
const DAY_MS = 86_400_000
const YESTERDAY = new Date(Date.now() - 2 * DAY_MS)

t.test(
  'any order and repetition of a history of webhooks ends in the same state and the same events',
  async (t) => {
    const random = randomSource(t)
    const life = new ShopLife(new ShopState(), random, YESTERDAY)
    life.open({ products: 4, customers: 6 })
    for (let step = 0; step < 45; step++) life.step()
    const history = life.messages().map((message, at) => ({ ...message, webhookId: `w${at}` }))
    t.comment(`${history.length} webhooks`)

    const told = async (messages: typeof history) => {
      const brand = await connectedBrand(db, { connectedAt: YESTERDAY })
      for (const message of messages) {
        // As the platform does: what is not taken now is sent again.
        while ((await send(brand, message)).status === 503);
      }
      const events = await eventsOf(db, brand)
      t.equal(new Set(events.map(({ event_id }) => event_id)).size, events.length, 'each event once')
      return {
        state: await storeState(db, brand),
        events: events.map(({ event_id, event_type }) => `${event_type} ${event_id}`).sort(),
      }
    }
    const wanted = await told(history)
    t.ok(wanted.events.length > 15)
    for (let round = 0; round < 2; round++) {
      const again = history.flatMap((message, at) =>
        random.chance(0.3) ? [message, { ...message, webhookId: `again${at}` }] : [message],
      )
      const found = await told(shuffled(again, random.below))
      t.strictSame(found.events, wanted.events)
      t.strictSame(found.state, wanted.state)
    }
  },
)

t.test(
  'a fake store sends its webhooks out of order, twice, and again when they are not taken',
  async (t) => {
    const random = randomSource(t)
    const life = new ShopLife(new ShopState(), random, YESTERDAY)
    life.open({ products: 3, customers: 3 })
    for (let step = 0; step < 20; step++) life.step()
    const messages = life.messages()
    const [ordered, mixed] = [
      await connectedBrand(db, { connectedAt: YESTERDAY }),
      await connectedBrand(db, { connectedAt: YESTERDAY }),
    ]
    for (const message of messages) await send(ordered, message)
    const options = { url, secret: SECRET, shopDomain: mixed.shop_domain, choices: random, disorder: 0.5 }
    t.ok((await sendWebhooks(messages, options)) > messages.length)
    t.strictSame(await storeState(db, mixed), await storeState(db, ordered))
  },
)

t.test(
  'a webhook that cannot be written in time is refused for now, and taken when it comes again',
  async (t) => {
    const brand = await shop()
    const holder = await db.postgres.sql.reserve()
    // Of the session, not of a transaction: what that holds back concerns other tests.
    await holder`select pg_advisory_lock(hashtextextended(${brand.id}::text || ' store', 0))`
    const began = performance.now()
    const late = { topic: 'orders/paid', body: order(), webhookId: 'late' }
    t.equal((await send(brand, late)).status, 503)
    t.ok(performance.now() - began < 5_000, 'before the platform gives up')
    t.same(await rowsOf(brand, 'store_delivery'), [])
    await holder`select pg_advisory_unlock_all()`
    holder.release()
    t.hasStrict(await send(brand, late), { status: 200, body: { ok: true } })
    t.same(await typesOf(brand), ['order_created'])
  },
)

function shuffled<T>(list: readonly T[], below: (limit: number) => number): T[] {
  const mixed = [...list]
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = below(at + 1)
    ;[mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T]
  }
  return mixed
}

const CONNECTED = new Date('2026-11-01T00:00:00Z')
const shop = () => connectedBrand(db, { connectedAt: CONNECTED })
const typesOf = async (brand: Awaited<ReturnType<typeof shop>>) =>
  (await eventsOf(db, brand)).map(({ event_type }) => event_type)
const rowsOf = async (brand: Awaited<ReturnType<typeof shop>>, table: string) => [
  ...(await db.postgres.sql`select * from ${db.postgres.sql(table)} where brand_id = ${brand.id}`),
]

t.test('only the signature of exactly these bytes is taken', async (t) => {
  const brand = await shop()
  const body = order()
  const right = signatureOf(Buffer.from(body), SECRET)
  const status = async (signature: string | undefined) =>
    (await send(brand, { topic: 'orders/paid', body, headers: { 'x-shopify-hmac-sha256': signature } }))
      .status
  const bytes = Buffer.from(right, 'base64')
  for (let bit = 0; bit < 256; bit += 5) {
    const flipped = Buffer.from(bytes)
    flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    t.equal(await status(flipped.toString('base64')), 401, `bit ${bit}`)
  }
  // The last digit has two bits that say nothing: another one there decodes to the same bytes.
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const stray = last.charAt(last.indexOf(right.charAt(42)) + 1)
  const wrong = [
    undefined,
    '',
    right.toLowerCase(),
    right.slice(0, -1),
    `${right}=`,
    `${right} x`,
    `${right.slice(0, 42)}${stray}=`,
    right.replaceAll('+', '-').replaceAll('/', '_'),
    bytes.toString('hex'),
  ]
  for (const signature of wrong.filter((one) => one !== right))
    t.equal(await status(signature), 401, String(signature))
  t.equal(
    (await send({ ...brand, shop_domain: 'nobody.myshopify.com' }, { topic: 'orders/paid', body })).status,
    401,
  )
  t.same(await rowsOf(brand, 'store_order'), [])
  t.equal(await status(right), 200)
  t.hasStrict(await rowsOf(brand, 'store_order'), [{ external_id: '1001' }])
})

t.test('headers that say nothing are refused, a body over 2 MB too', async (t) => {
  const brand = await shop()
  const status = async (headers: Record<string, string | undefined>, body: string | Buffer = order()) =>
    (await send(brand, { topic: 'orders/paid', body, headers })).status
  t.equal(await status({ 'x-shopify-topic': undefined }), 400)
  t.equal(await status({ 'x-shopify-topic': 'orders' }), 400)
  t.equal(await status({ 'x-shopify-shop-domain': 'a b' }), 400)
  t.equal(await status({ 'x-shopify-webhook-id': undefined }), 400)
  t.equal(await status({ 'x-shopify-webhook-id': 'x'.repeat(129) }), 400)
  t.equal(await status({ 'x-shopify-triggered-at': 'yesterday' }), 400)
  // In UTC it is a time of the year 10000, which Postgres does not read.
  t.equal(await status({ 'x-shopify-triggered-at': '9999-12-31T23:59:59-23:59' }), 400)
  t.equal(await status({ 'content-encoding': 'gzip' }), 415)
  t.equal(await status({}, Buffer.alloc(2 * 1024 * 1024 + 1, 32)), 413)
})

t.test('what cannot be read is kept with the reason, and tried again by hand', async (t) => {
  const brand = await shop()
  const deep = '['.repeat(200_000)
  const bodies: [string, string | Buffer][] = [
    ['orders/paid', 'no json'],
    ['orders/paid', deep],
    ['orders/paid', `${deep}${']'.repeat(200_000)}`],
    ['orders/paid', '[]'],
    ['orders/paid', 'null'],
    ['orders/paid', Buffer.from([0x7b, 0xff, 0x7d])],
    ['orders/paid', '{}'],
    ['orders/paid', order({ id: { a: 1 } })],
    ['orders/paid', order({ id: 'x'.repeat(300) })],
    ['orders/paid', order({ total_price: '1e99' })],
    ['orders/paid', order({ total_price: '123456789012.00' })],
    ['orders/paid', order({ created_at: '2026-02-31T00:00:00Z' })],
    ['orders/paid', order({ created_at: '+275760-01-01' })],
    ['orders/paid', order({ financial_status: 'stolen' })],
    ['orders/paid', order({ currency: '<b>' })],
    ['orders/paid', order({ line_items: 'none' })],
    ['orders/paid', order({ line_items: [{ id: 1, quantity: 1e300 }] })],
    ['customers/redact', '{"customer":{}}'],
    ['locations/create', '{"id":1}'],
  ]
  for (const [topic, body] of bodies) {
    const answer = await send(brand, { topic, body })
    t.match(
      answer,
      { status: 200, body: { ok: false, reason: 'dead_letter', message: String } },
      `${topic} ${answer.body.message}`,
    )
  }
  t.same(await rowsOf(brand, 'store_order'), [])
  t.equal((await rowsOf(brand, 'store_delivery')).length, bodies.length)

  await db.postgres.sql`
    update store_delivery set payload = ${Buffer.from(order())} where brand_id = ${brand.id} and reason like 'currency%'`
  const receiver = createReceiver({ postgres: db.postgres, seal: SEAL, storePlatformDomain: 'myshopify.com' })
  const connection = await receiver.find('shopify', brand.shop_domain)
  if (!connection) throw new Error('not connected')
  t.same(await receiver.replay(connection), { applied: 1, dead: bodies.length - 1 })
  t.hasStrict(await rowsOf(brand, 'store_order'), [{ external_id: '1001' }])
})

t.test('texts that Postgres refuses lose only what it refuses', async (t) => {
  const brand = await shop()
  const body = `{"id":7,"updated_at":"2026-11-20T10:00:00Z","email":"x@example.com","first_name":"A\\u0000nn\\ud800","tags":"a\\u0000, b","__proto__":{"x":1}}`
  t.hasStrict(await send(brand, { topic: 'customers/create', body }), { status: 200, body: { ok: true } })
  t.hasStrict(await rowsOf(brand, 'customer'), [
    { store_customer_id: '7', first_name: 'Ann\ufffd', tags: ['a', 'b'] },
  ])
})

t.test('an address that is too long is none, rather than another', async (t) => {
  const brand = await shop()
  const long = `https://shop.example/${'x'.repeat(2_000)}`
  const created_at = '2026-11-20T10:00:00Z'
  const tracked = { id: 40, order_id: 1001, created_at, tracking_url: long }
  const images = [
    { id: 1, src: long },
    { id: 2, src: 'https://shop.example/2' },
  ]
  for (const [topic, body] of Object.entries({
    'checkouts/create': checkout({ abandoned_checkout_url: long }),
    'fulfillments/create': JSON.stringify({ ...tracked, tracking_urls: [long, 'https://post.example/1'] }),
    'products/create': JSON.stringify({ id: 9, title: 'Lamp', created_at, images }),
  }))
    t.hasStrict(await send(brand, { topic, body }), { status: 200, body: { ok: true } })
  t.hasStrict(await rowsOf(brand, 'checkout'), [{ url: null }])
  t.hasStrict(await rowsOf(brand, 'fulfillment'), [{ tracking_urls: ['https://post.example/1'] }])
  t.hasStrict(await rowsOf(brand, 'product'), [{ images: [{ id: '2' }] }])
})

t.test('ids beyond 2^53 keep every digit', async (t) => {
  const brand = await shop()
  const body = order()
    .replace('"id":1001', '"id":9007199254740993')
    .replace('"id":77', '"id":18446744073709551615')
  await send(brand, { topic: 'orders/paid', body })
  t.hasStrict(await rowsOf(brand, 'store_order'), [{ external_id: '9007199254740993' }])
  t.hasStrict(await rowsOf(brand, 'customer'), [{ store_customer_id: '18446744073709551615' }])
})

t.test('a contact that another transaction makes first is no reason to give a webhook up', async (t) => {
  const brand = await shop()
  const { sql } = db.postgres
  let answer: ReturnType<typeof send> | undefined
  await sql.begin(async (other) => {
    await other`
      insert into contact (brand_id, id, email) values (${brand.id}, gen_random_uuid(), 'ann@example.com')`
    answer = send(brand, { topic: 'orders/create', body: order() })
    await eventually(async () => {
      const [waiting] = await sql`select 1 from pg_locks where locktype = 'transactionid' and not granted`
      return waiting !== undefined
    })
  })
  t.same((await answer)?.body, { ok: true })
  t.match(await sql`select email, subject from contact where brand_id = ${brand.id}`, [
    { email: 'ann@example.com', subject: Number },
  ])
})

t.test('a store that sends more at once than there is room for leaves the room of others', async (t) => {
  const small = await storeServer(t, db, { total: 1 << 20, brand: 40_000 })
  const [one, other] = [await shop(), await shop()]
  const long = (id: number) => order({ id, note: 'x'.repeat(15_000) })
  const sent = Array.from({ length: 8 }, (_, id) =>
    small.send(one, { topic: 'orders/create', body: long(id + 1) }),
  )
  t.equal((await small.send(other, { topic: 'orders/create', body: long(1) })).status, 200)
  const statuses = (await Promise.all(sent)).map(({ status }) => status).sort()
  t.ok(statuses.includes(200) && statuses.includes(503), statuses.join())
  t.equal((await small.send(one, { topic: 'orders/create', body: long(99) })).status, 200)
})

t.test('the same webhook 200 times at once is one', async (t) => {
  const brand = await shop()
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => send(brand, { topic: 'orders/paid', body: order(), webhookId: 'one' })),
  )
  t.equal(answers.filter(({ body }) => body.ok && !body.deduplicated).length, 1)
  t.ok(answers.every(({ status }) => status === 200 || status === 503))
  t.same(await typesOf(brand), ['order_created'])
})

t.test(
  'an order is recorded once, when it is paid, under its customer, and a test order never',
  async (t) => {
    const brand = await shop()
    await send(brand, { topic: 'orders/create', body: order({ financial_status: 'pending' }) })
    t.same(await typesOf(brand), [])
    t.hasStrict(await rowsOf(brand, 'store_order'), [{ state: 'pending', billing_status: 'pending' }])
    await send(brand, { topic: 'orders/paid', body: order({ updated_at: '2026-11-20T11:00:00Z' }) })
    await send(brand, {
      topic: 'orders/updated',
      body: order({ updated_at: '2026-11-20T12:00:00Z', note: 'x' }),
    })
    t.hasStrict(await rowsOf(brand, 'store_order'), [
      { state: 'complete', billing_status: 'paid', total: '120.50' },
    ])
    const [{ id } = {}] = await rowsOf(brand, 'customer')
    t.hasStrict(await eventsOf(db, brand), [
      {
        event_id: 'order_created:1001',
        occurred_at: Date.parse(ORDER.created_at),
        profile_id: id,
        properties: {
          order_id: '1001',
          total: '120.50',
          item_count: 2,
          items: [{ product_id: '9', price: '60.25' }],
        },
      },
    ])
    await send(brand, { topic: 'orders/paid', body: order({ id: 1002, test: true }) })
    await send(brand, { topic: 'refunds/create', body: refund({ id: 31, order_id: 1002 }) })
    t.same(await typesOf(brand), ['order_created'])
  },
)

t.test('an order that is told of after its removal counts nowhere, and still was paid', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'orders/delete', body: '{"id":1001}' })
  await send(brand, { topic: 'orders/paid', body: order() })
  t.same(await typesOf(brand), ['order_created'])
  t.hasStrict(await rowsOf(brand, 'store_order'), [{ external_id: '1001', deleted: true }])
})

t.test('refunds add up on their order, also when they come before it', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'refunds/create', body: refund() })
  t.same(await typesOf(brand), [], 'it waits for its order, which says whose it is')
  await send(brand, { topic: 'orders/paid', body: order() })
  t.same((await typesOf(brand)).sort(), ['order_created', 'refund_issued'])
  t.hasStrict(await rowsOf(brand, 'store_order'), [
    { state: 'complete', billing_status: 'partially_refunded', refunded_total: '20.50' },
  ])
  await send(brand, {
    topic: 'refunds/create',
    body: refund({
      id: 33,
      transactions: [{ id: 2, kind: 'refund', status: 'success', amount: '100.00', currency: 'USD' }],
    }),
  })
  t.hasStrict(await rowsOf(brand, 'store_order'), [
    { state: 'refunded', billing_status: 'refunded', refunded_total: '120.50' },
  ])
  const [{ id } = {}] = await rowsOf(brand, 'customer')
  t.ok((await eventsOf(db, brand)).every(({ profile_id }) => profile_id === id))
})

t.test('a refund that was known without its order is the order’s once somebody says so', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'orders/paid', body: order() })
  const tell = (at: string, changes: object = {}) =>
    send(brand, { topic: 'refunds/create', body: refund(changes), triggeredAt: new Date(at) })
  await tell('2026-11-20T15:00:00Z', { order_id: null })
  t.hasStrict(await rowsOf(brand, 'store_order'), [{ refunded_total: '0.00' }])
  await tell('2026-11-20T15:00:01Z')
  t.hasStrict(await rowsOf(brand, 'refund'), [{ order_external_id: '1001', total: '20.50' }])
  t.hasStrict(await rowsOf(brand, 'store_order'), [{ refunded_total: '20.50' }])
})

t.test('a trigger that says to be of the future is no newer than what comes after it', async (t) => {
  const brand = await shop()
  const tell = (order_id: number | null, triggeredAt: Date) =>
    send(brand, { topic: 'refunds/create', body: refund({ order_id }), triggeredAt })
  await tell(null, new Date('2099-01-01T00:00:00Z'))
  await tell(1001, new Date())
  t.hasStrict(await rowsOf(brand, 'refund'), [{ order_external_id: '1001' }])
})

t.test('a refund counts by the money that came back, as the newest word has it', async (t) => {
  const brand = await shop()
  const at = (time: string) => new Date(`2026-11-20T${time}Z`)
  const given = { refund_line_items: [{ id: 1, subtotal: '60.25', total_tax: '0.00' }] }
  const transaction = { id: 1, kind: 'refund', amount: '60.25', currency: 'USD' }
  const tell = (time: string, ...statuses: string[]) =>
    send(brand, {
      topic: 'refunds/create',
      triggeredAt: at(time),
      body: refund({ ...given, transactions: statuses.map((status) => ({ ...transaction, status })) }),
    })
  const isPaid = { state: 'complete', billing_status: 'paid', refunded_total: '0.00' }
  const isRefunded = { billing_status: 'partially_refunded', refunded_total: '60.25' }
  await send(brand, { topic: 'orders/paid', body: order(), triggeredAt: at('14:00:00') })
  await tell('15:00:00')
  t.hasStrict(await rowsOf(brand, 'store_order'), [isPaid], 'without a transaction')
  await tell('15:01:00', 'failure')
  t.hasStrict(await rowsOf(brand, 'store_order'), [isPaid], 'when it failed')
  await tell('15:02:00', 'failure', 'pending')
  t.hasStrict(await rowsOf(brand, 'store_order'), [isPaid], 'while it is pending')
  t.same(await typesOf(brand), ['order_created'])
  await tell('15:04:00', 'failure', 'success')
  t.hasStrict(await rowsOf(brand, 'store_order'), [isRefunded])
  t.same(await typesOf(brand), ['order_created', 'refund_issued'])
  await tell('15:03:00', 'failure', 'pending')
  t.hasStrict(await rowsOf(brand, 'store_order'), [isRefunded], 'what comes late is old')
  const refunds = [{ id: 30, created_at: at('15:00:00'), ...given, transactions: [] }]
  await send(brand, {
    topic: 'orders/updated',
    triggeredAt: at('15:05:00'),
    body: order({ updated_at: at('15:05:00'), refunds }),
  })
  t.hasStrict(await rowsOf(brand, 'store_order'), [isPaid], 'also within an order')
})

t.test(
  'however much is said to be refunded, it is an amount, and so is what is left of the order',
  async (t) => {
    const brand = await shop()
    await send(brand, { topic: 'orders/paid', body: order({ total_price: '-99999999999.99' }) })
    await send(brand, { topic: 'refunds/create', body: refund() })
    await db.postgres.sql`update refund set total = 9999999999999999.99 where brand_id = ${brand.id}`
    t.hasStrict(await send(brand, { topic: 'refunds/create', body: refund({ id: 33 }) }), {
      body: { ok: true },
    })
    t.hasStrict(await rowsOf(brand, 'store_order'), [{ refunded_total: '9999999999999.99' }])
  },
)

t.test('a refund in the shopper’s currency counts as its lines and adjustments', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'orders/paid', body: order() })
  await send(brand, {
    topic: 'refunds/create',
    body: refund({
      transactions: [{ id: 1, kind: 'refund', status: 'success', amount: '50.00', currency: 'EUR' }],
      refund_line_items: [{ id: 1, subtotal: '60.25', total_tax: '0.00' }],
      order_adjustments: [{ id: 2, amount: '10.25', tax_amount: '0.00' }],
    }),
  })
  t.hasStrict(await rowsOf(brand, 'refund'), [{ total: '50.00', currency_code: 'USD' }])
})

t.test('a refund takes nothing from the shopper', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'orders/paid', body: order() })
  const transaction = { id: 1, kind: 'refund', status: 'success', amount: '-50.00', currency: 'USD' }
  await send(brand, { topic: 'refunds/create', body: refund({ transactions: [transaction] }) })
  t.same(
    (await rowsOf(brand, 'refund')).map(({ total }) => total),
    ['0.00'],
  )
  t.same(
    (await rowsOf(brand, 'store_order')).map(({ refunded_total }) => refunded_total),
    ['0.00'],
  )
})

t.test('a cancelled order counts nowhere', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'orders/paid', body: order() })
  const cancelled = {
    cancelled_at: '2026-11-20T13:00:00Z',
    updated_at: '2026-11-20T13:00:00Z',
    financial_status: 'refunded',
  }
  await send(brand, { topic: 'orders/cancelled', body: order(cancelled) })
  t.hasStrict(await rowsOf(brand, 'store_order'), [
    { state: 'cancelled', billing_status: 'refunded', refunded_total: '120.50' },
  ])
})

t.test('history before the connection makes no events', async (t) => {
  const brand = await connectedBrand(db, { connectedAt: new Date('2026-11-20T20:00:00Z') })
  await send(brand, { topic: 'orders/updated', body: order({ updated_at: '2026-11-20T21:00:00Z' }) })
  t.equal((await rowsOf(brand, 'store_order')).length, 1)
  t.same(await typesOf(brand), [])
})

t.test('a subscription starts, stops and restarts', async (t) => {
  const brand = await shop()
  const tell = (status: string, revision_id: number, topic = 'update') =>
    send(brand, {
      topic: `subscription_contracts/${topic}`,
      body: JSON.stringify({ id: 8, customer_id: 77, status, revision_id, currency_code: 'USD' }),
    })
  await tell('active', 1, 'create')
  await tell('active', 2)
  await tell('paused', 3)
  await tell('cancelled', 4)
  await tell('active', 5)
  t.same(
    (await eventsOf(db, brand)).map(({ properties }) => properties.change),
    ['started', 'stopped', 'restarted'],
  )
  t.hasStrict(await rowsOf(brand, 'subscription'), [{ status: 'active', cancelled_at: null }])
})

t.test('a subscription that is paused is not cancelled, and is from when it ends', async (t) => {
  const brand = await shop()
  const tell = (status: string, revision_id: number) =>
    send(brand, {
      topic: 'subscription_contracts/update',
      triggeredAt: new Date(`2026-11-20T1${revision_id}:00:00Z`),
      body: JSON.stringify({ id: 8, customer_id: 77, status, revision_id, currency_code: 'USD' }),
    })
  await tell('active', 1)
  await tell('paused', 2)
  t.hasStrict(await rowsOf(brand, 'subscription'), [{ status: 'paused', cancelled_at: null }])
  await tell('cancelled', 4)
  await tell('paused', 3)
  t.hasStrict(await rowsOf(brand, 'subscription'), [
    { status: 'cancelled', cancelled_at: new Date('2026-11-20T14:00:00Z') },
  ])
})

t.test('consent reaches the contact, and the newest word counts', async (t) => {
  const brand = await shop()
  const consent = (state: string, at: string) =>
    JSON.stringify({
      id: 77,
      email: 'ann@example.com',
      updated_at: at,
      created_at: '2026-11-01T00:00:00Z',
      email_marketing_consent: { state, consent_updated_at: at },
    })
  await send(brand, { topic: 'customers/update', body: consent('unsubscribed', '2026-11-20T12:00:00Z') })
  await send(brand, { topic: 'customers/update', body: consent('subscribed', '2026-11-20T11:00:00Z') })
  t.hasStrict(await rowsOf(brand, 'contact'), [
    { email: 'ann@example.com', email_consent: 'unsubscribed', sms_consent: 'unknown' },
  ])
  t.same((await typesOf(brand)).sort(), [
    'consent_updated',
    'consent_updated',
    'customer_updated',
    'customer_updated',
  ])
})

t.test('a cart is recorded once it is known whose it is', async (t) => {
  const brand = await shop()
  const cart = (at: string) =>
    JSON.stringify({
      token: 'c9',
      updated_at: at,
      line_items: [{ quantity: 2, price: '12.50', product_id: 9 }],
    })
  await send(brand, { topic: 'carts/create', body: cart('2026-11-20T09:00:00Z') })
  t.same(await typesOf(brand), [])
  await send(brand, { topic: 'checkouts/create', body: checkout({ cart_token: 'c9' }) })
  await send(brand, { topic: 'carts/update', body: cart('2026-11-20T09:05:00Z') })
  const [{ id } = {}] = await rowsOf(brand, 'customer')
  t.hasStrict(await eventsOf(db, brand), [
    {
      profile_id: id,
      event_type: 'cart_updated',
      properties: { cart_id: 'c9', total: '25.00', item_count: 2 },
    },
    { profile_id: id, event_type: 'cart_updated' },
  ])
})

t.test('what is about nobody makes no events, until a later version names somebody', async (t) => {
  const brand = await shop()
  const nobody = { email: null, customer: null }
  await send(brand, { topic: 'orders/paid', body: order(nobody) })
  await send(brand, { topic: 'checkouts/create', body: checkout(nobody) })
  await abandonCheckouts(
    { postgres: db.postgres, storePlatformDomain: 'myshopify.com' },
    new Date('2026-11-21T00:00:00Z'),
  )
  t.same(await typesOf(brand), [])
  t.hasStrict(await rowsOf(brand, 'checkout'), [{ state: 'open' }])
  await send(brand, { topic: 'orders/updated', body: order({ updated_at: '2026-11-20T12:00:00Z' }) })
  t.same(await typesOf(brand), ['order_created'])
})

t.test('a checkout is completed by its order, also when only an older version names it', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'checkouts/create', body: checkout() })
  await send(brand, { topic: 'orders/updated', body: order({ updated_at: '2026-11-20T11:00:00Z' }) })
  await send(brand, { topic: 'orders/create', body: order({ checkout_id: 501 }) })
  t.hasStrict(await rowsOf(brand, 'store_order'), [
    { checkout_external_id: '501', updated_at: new Date('2026-11-20T11:00:00Z') },
  ])
  t.hasStrict(await rowsOf(brand, 'checkout'), [{ state: 'completed' }])
})

t.test('a number that is deleted in a checkout is not kept', async (t) => {
  const brand = await shop()
  await send(brand, { topic: 'checkouts/create', body: checkout({ phone: '(202) 555-0101' }) })
  t.hasStrict(await rowsOf(brand, 'checkout'), [{ phone: '+12025550101' }])
  const body = checkout({ updated_at: '2026-11-20T12:00:00Z', phone: null })
  await send(brand, { topic: 'checkouts/update', body })
  t.hasStrict(await rowsOf(brand, 'checkout'), [{ phone: null }])
})

t.test('a checkout with nothing in it and nothing to pay is not abandoned', async (t) => {
  const brand = await shop()
  const parts = { postgres: db.postgres, storePlatformDomain: 'myshopify.com' }
  for (const [id, given] of [
    [501, { line_items: [], total_price: '0.00' }],
    [502, { line_items: [] }],
    [503, { total_price: '0.00' }],
  ] as const)
    await send(brand, { topic: 'checkouts/create', body: checkout({ id, ...given }) })
  await abandonCheckouts(parts, new Date('2026-11-21T00:00:00Z'))
  const states = (await rowsOf(brand, 'checkout')).map(({ external_id, state }) => `${external_id} ${state}`)
  t.same(states.sort(), ['501 open', '502 abandoned', '503 abandoned'])
})

t.test('once a job is over no more checkouts are looked at for those that are abandoned', async (t) => {
  const brand = await shop()
  const over = new AbortController()
  let looks = 0
  const tx = async () => {
    over.abort()
    return ++looks < 3 ? 500 : 0
  }
  const postgres = {
    pipeline: { many: async () => [{ brand_id: brand.id }] },
    forBrand: () => ({ tx }),
  } as never as typeof db.postgres
  await abandonCheckouts({ postgres, storePlatformDomain: 'myshopify.com' }, new Date(), over.signal)
  t.equal(looks, 1)
})

t.test('a checkout without order and activity for the brand’s time is abandoned, once', async (t) => {
  const brand = await shop()
  const parts = { postgres: db.postgres, storePlatformDomain: 'myshopify.com' }
  const at = (time: string) => abandonCheckouts(parts, new Date(`2026-11-20T${time}Z`))
  // Of other tests' brands.
  await at('23:00:00')
  await send(brand, { topic: 'checkouts/create', body: checkout({ cart_token: 'c9' }) })
  await send(brand, { topic: 'checkouts/create', body: checkout({ id: 502 }) })
  await send(brand, { topic: 'orders/create', body: order({ checkout_id: 502 }) })
  t.equal(await at('11:29:59'), 0)
  t.equal(await at('11:30:00'), 1)
  t.equal(await at('11:31:00'), 0)
  const events = (await eventsOf(db, brand)).filter(({ event_type }) => event_type === 'checkout_abandoned')
  t.hasStrict(events, [
    {
      event_id: 'checkout_abandoned:501',
      occurred_at: Date.parse('2026-11-20T11:30:00Z'),
      properties: {
        checkout_id: '501',
        cart_id: 'c9',
        checkout_url: 'https://shop.example/501',
        total: '75.00',
        item_count: 3,
      },
    },
  ])
  await send(brand, { topic: 'checkouts/update', body: checkout({ updated_at: '2026-11-20T12:00:00Z' }) })
  t.equal(await at('14:00:00'), 0, 'one that was abandoned stays so until it is completed')

  await db.postgres.sql`
    update checkout set messaged_at = '2026-11-20T12:30:00Z' where brand_id = ${brand.id} and external_id = '501'`
  const done = {
    id: 1003,
    checkout_id: 501,
    discount_codes: [{ code: 'BACK10' }],
    created_at: '2026-11-20T13:00:00Z',
    updated_at: '2026-11-20T13:00:00Z',
  }
  await send(brand, { topic: 'orders/create', body: order(done) })
  const states = (await rowsOf(brand, 'checkout')).map(({ external_id, state }) => `${external_id} ${state}`)
  t.same(states.sort(), ['501 recovered', '502 completed'])
  const recovered = (await eventsOf(db, brand)).filter(
    ({ event_type }) => event_type === 'checkout_recovered',
  )
  const of = { checkout_id: '501', cart_id: 'c9', order_id: '1003', order_number: '#1001' }
  t.hasStrict(recovered, [{ properties: { ...of, discount_code: 'BACK10' } }])
  t.equal(recovered.length, 1)
})
