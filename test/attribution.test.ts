import { zstdDecompressSync } from 'node:zlib'
import t from 'tap'
import { v7 } from 'uuid'
import { attribute } from '../src/campaign/attribution.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import connect from '../src/store/driver.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, passed } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { type Attributed, attributedOf, DAY, happen, newTalkBrand, type TalkBrand } from './fixtures/talk.ts'

setLogLevel('error')

const BRANDS = 200
const ROUNDS = 3
const NOW = Date.parse('2026-03-20T12:00:00Z')

const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = pipeline.postgres
const at = (time: number | null) => (time === null ? null : new Date(time))

/** Adds or changes rows of a table: postgres.js takes so many values at once. */
async function put(table: string, rows: readonly Record<string, unknown>[], key: string[], keep = false) {
  for (let from = 0; from < rows.length; from += 500) {
    const some = rows.slice(from, from + 500)
    const names = Object.keys(some[0] as object)
    const changes = names.filter((name) => !key.includes(name))
    const set = changes.map((name) => `${name} = excluded.${name}`).join(', ')
    const differs = `(${changes.map((name) => `${table}.${name}`).join(', ')}) is distinct from (${changes.map((name) => `excluded.${name}`).join(', ')})`
    await sql`insert into ${sql(table)} ${sql(some)} on conflict (${sql(key)}) ${sql.unsafe(
      keep ? 'do nothing' : `do update set ${set} where ${differs}`,
    )}`
  }
}

async function write(all: readonly [Brand, TalkBrand][]): Promise<void> {
  const rows = <Row>(of: (brand_id: string, brand: TalkBrand) => Row[]) =>
    all.flatMap(([{ id }, brand]) => of(id, brand))
  const ids = ['brand_id', 'id']
  await put(
    'conversation',
    rows((brand_id, { talks }) =>
      talks.map(({ id, subject, campaign, createdAt }) => ({
        ...{ brand_id, id, subject, campaign_id: campaign, channel: 'sms', created_at: at(createdAt) },
      })),
    ),
    ids,
    true,
  )
  await put(
    'message',
    rows((brand_id, { said }) =>
      said.map(({ id, conversation, direction, status, createdAt, sentAt }) => ({
        ...{ brand_id, id, conversation_id: conversation, idempotency_key: id, direction, status, body: '' },
        ...{ author: direction === 'inbound' ? 'contact' : 'campaign', channel: 'sms' },
        ...{ created_at: at(createdAt), sent_at: at(sentAt) },
      })),
    ),
    ids,
    true,
  )
  await put(
    'short_link',
    rows((brand_id, { said }) =>
      said.map(({ id, conversation }) => ({
        ...{ brand_id, id, code: id, message_id: id, conversation_id: conversation, kind: 'cart' },
      })),
    ),
    ids,
    true,
  )
  await put(
    'link_click',
    rows((brand_id, { clicks }) =>
      clicks.map(({ id, message, conversation, at: clicked }) => ({
        ...{ brand_id, id, link_id: message, message_id: message, conversation_id: conversation },
        at: at(clicked),
      })),
    ),
    ids,
    true,
  )
  await put(
    'subject_redirect',
    rows((brand_id, { redirects, customers }) =>
      Array.from({ length: customers }, (_, n) => n + 1).map((subject) => ({
        ...{ brand_id, subject, customer: redirects.get(subject) ?? subject + 100 },
        deleted: !redirects.has(subject),
      })),
    ),
    ['brand_id', 'subject'],
  )
  await put(
    'store_order',
    rows((brand_id, { orders }) =>
      orders.map((order) => ({
        ...{ brand_id, id: order.id, external_id: order.externalId, subject: order.subject },
        ...{ state: order.state, currency_code: order.currency, test: order.test, deleted: order.deleted },
        ...{ total: order.cents / 100, refunded_total: order.refundedCents / 100, billing_status: 'paid' },
        ...{ created_at: at(order.at), updated_at: at(order.at) },
      })),
    ),
    ['brand_id', 'external_id'],
  )
}

t.test(`attribution equals a naive look at ${BRANDS} random brands, round by round`, async (t) => {
  const random = randomSource(t)
  const campaign = v7()
  const all: [Brand, TalkBrand][] = []
  for (let n = 0; n < BRANDS; n++) {
    const brand = await newBrand(pipeline)
    await sql`insert into campaign (brand_id, id, name, type, trigger_event, created_by)
      values (${brand.id}, ${campaign}, 'c', 'checkout_recovery', 'checkout_abandoned', 'test')`
    const made = newTalkBrand(random, [campaign])
    await sql`insert into message_policy (brand_id, attribution_days) values (${brand.id}, ${made.windowDays})`
    all.push([brand, made])
  }
  const wanted = new Map<string, Map<string, Attributed>>()
  let [recovered, lost] = [0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    for (const [, brand] of all) happen(random, brand, NOW + round * DAY, 20)
    await write(all)
    await passed(pipeline)
    const changed = await attribute(pipeline)
    t.ok(changed > 0, `${changed} changes`)
    const rows = await sql`
      select attribution.brand_id, order_id, conversation_id, campaign_id, recovered, touch, touch_at, amount, recovered_at
      from attribution join store_order on store_order.brand_id = attribution.brand_id and id = order_id`
    const found = Map.groupBy(rows, ({ brand_id }) => brand_id as string)
    for (const [{ id }, brand] of all) {
      const naive = attributedOf(brand, wanted.get(id) ?? new Map())
      wanted.set(id, naive)
      const shown = Object.fromEntries(
        (found.get(id) ?? []).map(({ order_id, conversation_id, campaign_id, touch_at, ...row }) => [
          order_id,
          {
            ...{ conversation: conversation_id, campaign: campaign_id, recovered: row.recovered },
            ...{ touch: row.touch, touchAt: touch_at.getTime(), cents: Math.round(Number(row.amount) * 100) },
            recoveredAt: row.recovered_at?.getTime() ?? null,
          },
        ]),
      )
      const expected = Object.fromEntries(
        [...naive].map(([orderId, one]) => {
          const order = brand.orders.find((each) => each.id === orderId)
          const cents = (order?.cents ?? 0) - (order?.refundedCents ?? 0)
          return [orderId, { ...one, cents, recoveredAt: one.recovered ? order?.at : null }]
        }),
      )
      if (JSON.stringify(sorted(shown)) !== JSON.stringify(sorted(expected)))
        return void t.same(shown, expected, `round ${round}, brand ${id}`)
      for (const one of naive.values()) one.recovered ? recovered++ : lost++
    }
  }
  t.ok(recovered > BRANDS && lost > BRANDS / 4, `${recovered} recovered, ${lost} no longer`)
  await passed(pipeline)
  await attribute(pipeline)
  await passed(pipeline)
  t.equal(await attribute(pipeline), 0, 'again, nothing changes')
})

/** A conversation with one message, an hour before noon, and an order at noon. */
async function recovery(
  brand: Brand,
  more: { contact_id?: string; checkout_id?: string; subject?: number } = {},
) {
  const [conversationId, orderId] = [v7(), v7()]
  const subject = more.contact_id ? null : (more.subject ?? 1)
  await put(
    'conversation',
    [{ brand_id: brand.id, id: conversationId, channel: 'sms', contact_id: null, ...more, subject }],
    ['brand_id', 'id'],
    true,
  )
  const sent = { direction: 'outbound', author: 'campaign', channel: 'sms', body: 'Hi', status: 'sent' }
  await put(
    'message',
    [
      {
        ...{ brand_id: brand.id, id: v7(), conversation_id: conversationId, idempotency_key: conversationId },
        ...{ ...sent, sent_at: new Date(NOW - 3_600_000) },
      },
    ],
    ['brand_id', 'id'],
    true,
  )
  await order(brand, orderId, { subject: subject ?? 1 })
  return { conversationId, orderId }
}

const order = (brand: Brand, id: string, more: Record<string, unknown>) =>
  put(
    'store_order',
    [
      {
        ...{ brand_id: brand.id, id, external_id: id, subject: 1, state: 'complete', billing_status: 'paid' },
        ...{ currency_code: 'USD', total: 50, refunded_total: 0, created_at: at(NOW), updated_at: at(NOW) },
        ...more,
      },
    ],
    ['brand_id', 'external_id'],
  )

const looked = async () => {
  await passed(pipeline)
  return await attribute(pipeline)
}

/** The brands that a look comes to. */
async function lookedAt(signal?: AbortSignal, onBrand = () => {}): Promise<string[]> {
  const brands: string[] = []
  const forBrand = (id: string) => {
    brands.push(id)
    onBrand()
    return pipeline.postgres.forBrand(id)
  }
  await passed(pipeline)
  await attribute({ ...pipeline, postgres: { ...pipeline.postgres, forBrand } }, signal)
  return brands
}

const attributionOf = async (orderId: string) =>
  (await sql`select conversation_id, recovered, amount from attribution where order_id = ${orderId}`)[0]

t.test(
  'an order of an erased customer stays with its conversation, and counts until it is refunded',
  async (t) => {
    const brand = await newBrand(pipeline)
    const { conversationId, orderId } = await recovery(brand)
    await looked()
    t.match(await attributionOf(orderId), { conversation_id: conversationId, recovered: true })
    await sql`update conversation set subject = null where id = ${conversationId}`
    await sql`update store_order set subject = null where id = ${orderId}`
    await looked()
    t.match(await attributionOf(orderId), { conversation_id: conversationId, recovered: true })
    await sql`update store_order set state = 'refunded', refunded_total = 50 where id = ${orderId}`
    t.equal(await looked(), 1)
    t.match(await attributionOf(orderId), {
      conversation_id: conversationId,
      recovered: false,
      amount: '0.00',
    })
    t.same(await sql`select recovered_at from store_order where id = ${orderId}`, [{ recovered_at: null }])
  },
)

t.test('an order that followed nothing any more is not recovered by erasing its customer', async (t) => {
  const brand = await newBrand(pipeline)
  const { conversationId, orderId } = await recovery(brand)
  await looked()
  await sql`update store_order set subject = 2 where id = ${orderId}`
  await looked()
  t.match(await attributionOf(orderId), { conversation_id: conversationId, recovered: false })
  await sql`update store_order set subject = null, erased = true where id = ${orderId}`
  await looked()
  t.match(await attributionOf(orderId), { conversation_id: conversationId, recovered: false })
  t.same(await sql`select recovered_at from store_order where id = ${orderId}`, [{ recovered_at: null }])
})

t.test(
  'of orders that were pending when their customer was erased those that followed count later',
  async (t) => {
    const brand = await newBrand(pipeline)
    const [{ orderId: followed }, { orderId: another }] = [await recovery(brand), await recovery(brand)]
    await looked()
    await sql`update store_order set state = 'pending' where brand_id = ${brand.id}`
    await looked()
    await sql`update store_order set subject = 2 where id = ${another}`
    await looked()
    await sql`update store_order set subject = null, erased = true where brand_id = ${brand.id}`
    await looked()
    await sql`update store_order set state = 'complete' where brand_id = ${brand.id}`
    await looked()
    t.match(await attributionOf(followed), { recovered: true })
    t.match(await attributionOf(another), { recovered: false })
  },
)

t.test('a conversation of a contact is its customer’s as soon as that is known', async (t) => {
  const brand = await newBrand(pipeline)
  const contactId = v7()
  await sql`insert into contact (brand_id, id, email) values (${brand.id}, ${contactId}, 'ada@example.com')`
  const { conversationId, orderId } = await recovery(brand, { contact_id: contactId })
  await looked()
  t.equal(await attributionOf(orderId), undefined)
  await sql`update contact set subject = 1 where id = ${contactId}`
  t.equal(await looked(), 1)
  t.match(await attributionOf(orderId), { conversation_id: conversationId, recovered: true })
})

t.test(
  'a checkout whose order came before its message was seen is recovered, and recorded once',
  async (t) => {
    const brand = await newBrand(pipeline)
    const checkoutId = v7()
    await sql`insert into customer (brand_id, subject, id, provenance) values (${brand.id}, 1, 'c1', 'server')`
    await sql`
    insert into checkout (brand_id, external_id, id, subject, state, currency_code, total, items, created_at, updated_at,
      abandoned_at, completed_at)
    values (${brand.id}, 'k1', ${checkoutId}, 1, 'completed', 'USD', 50, '[]', ${at(NOW - DAY)}, ${at(NOW - DAY)},
      ${at(NOW - DAY)}, ${at(NOW)})`
    await recovery(brand, { checkout_id: checkoutId })
    await looked()
    t.same(await sql`select state, messaged_at from checkout where id = ${checkoutId}`, [
      { state: 'recovered', messaged_at: at(NOW - 3_600_000) },
    ])
    t.same(await recordedOf(brand), ['checkout_recovered:k1'])
    await sql`update message set delivered_at = now() where brand_id = ${brand.id}`
    await looked()
    t.same(await recordedOf(brand), ['checkout_recovered:k1'])
  },
)

/** Ids of the brand's events in the log. */
async function recordedOf(brand: Brand): Promise<string[]> {
  const rows = await sql<{ payload: Buffer }[]>`select payload from event_log`
  return rows
    .flatMap(({ payload }) => zstdDecompressSync(payload).toString().trimEnd().split('\n'))
    .map((line) => JSON.parse(line))
    .filter(({ brand_id }) => brand_id === brand.id)
    .map(({ event_id }) => event_id)
}

t.test('a brand whose step fails is looked at again, and stops no other', async (t) => {
  const [broken, whole] = [await newBrand(pipeline), await newBrand(pipeline)]
  const [one, other] = [await recovery(broken), await recovery(whole)]
  const owner = connect(db.url, { max: 1 })
  t.teardown(() => owner.end())
  await owner.unsafe(
    `alter table attribution add constraint test_broken check (brand_id <> '${broken.id}') not valid`,
  )
  const written = t.capture(process.stderr, 'write')
  await looked()
  t.match(
    written().map(({ args: [line] }) => JSON.parse(String(line))),
    [{ event: 'attribution_failed', brand_id: broken.id, code: '23514' }],
  )
  t.match(await attributionOf(other.orderId), { recovered: true })
  t.equal(await attributionOf(one.orderId), undefined)
  await owner`alter table attribution drop constraint test_broken`
  t.equal(await looked(), 1)
  t.match(await attributionOf(one.orderId), { recovered: true })
})

t.test('while a brand fails, what changed elsewhere is looked at once', async (t) => {
  for (let call = 0; call < 2; call++) await looked()
  const [broken, whole] = [await newBrand(pipeline), await newBrand(pipeline)]
  const [one, other] = [await recovery(broken), await recovery(whole)]
  const owner = connect(db.url, { max: 1 })
  t.teardown(() => owner.end())
  await owner.unsafe(
    `alter table attribution add constraint test_broken check (brand_id <> '${broken.id}') not valid`,
  )
  t.capture(process.stderr, 'write')
  const behind = async () => [
    ...(await sql`select failures, due_at > now() as waits from attribution_behind where brand_id = ${broken.id}`),
  ]
  t.same((await lookedAt()).sort(), [broken.id, whole.id].sort())
  t.match(await behind(), [{ failures: 1, waits: false }])
  // Orders of the other one changed, in that they are recovered.
  t.same((await lookedAt()).sort(), [broken.id, whole.id].sort(), 'tried again')
  t.match(await behind(), [{ failures: 2, waits: true }])
  t.same(await lookedAt(), [], 'it waits for its turn')
  const late = await recovery(broken)
  await order(whole, other.orderId, { total: 60 })
  t.same(await lookedAt(), [whole.id])
  t.match(await attributionOf(other.orderId), { amount: '60.00' })
  await owner`alter table attribution drop constraint test_broken`
  await sql`update attribution_behind set due_at = now()`
  t.same(await lookedAt(), [broken.id], 'from its own place')
  for (const { orderId } of [one, late]) t.match(await attributionOf(orderId), { recovered: true })
  t.same(await behind(), [])
})

t.test('looks that are all cut off come to every brand in the end, the small ones first', async (t) => {
  for (let call = 0; call < 2; call++) await looked()
  const [large, small] = [await newBrand(pipeline), await newBrand(pipeline)]
  const recoveries = [await recovery(large), await recovery(large, { subject: 2 }), await recovery(small)]
  t.same(await oneStep(), [small.id])
  // Its orders changed, in that they are recovered.
  t.same(await oneStep(), [small.id])
  t.same(await oneStep(), [large.id])
  for (const { orderId } of recoveries) t.match(await attributionOf(orderId), { recovered: true })
})

/** A brand of more customers than one transaction takes, each of whom ordered so long after a message. */
async function largeBrand(customers: number, afterMs = 3_600_000): Promise<Brand> {
  for (let call = 0; call < 2; call++) await looked()
  const brand = await newBrand(pipeline)
  await sql`
    with talk as (
      insert into conversation (brand_id, id, channel, subject)
      select ${brand.id}, gen_random_uuid(), 'sms', n from generate_series(1, ${customers}::integer) as n
      returning id, subject
    ), said as (
      insert into message (brand_id, id, conversation_id, idempotency_key, direction, author, channel, body, status, sent_at)
      select ${brand.id}, id, id, id::text, 'outbound', 'campaign', 'sms', 'Hi', 'sent', ${at(NOW - afterMs)} from talk
    )
    insert into store_order (
      brand_id, id, external_id, subject, state, billing_status, currency_code, total, created_at, updated_at
    )
    select ${brand.id}, gen_random_uuid(), subject::text, subject, 'complete', 'paid', 'USD', 50, ${at(NOW)}, ${at(NOW)}
    from talk`
  return brand
}

const setWindow = (brand: Brand, days: number) =>
  pipeline.postgres.forBrand(brand.id).run('message_policy_put', [null, null, null, null, days, null, null])

/** A look that is cut off as soon as a step is under way. */
const oneStep = () => {
  const over = new AbortController()
  return lookedAt(over.signal, () => over.abort())
}

const recoveredOf = async (brand: Brand) =>
  (await sql`select count(*)::integer as n from attribution where brand_id = ${brand.id} and recovered`)[0]?.n

/** Looks until nothing of the brand is left to look at. */
async function caughtUp(brand: Brand): Promise<void> {
  for (let call = 0; call < 2; call++) await looked()
  while ((await sql`select from attribution_behind where brand_id = ${brand.id}`).length) await looked()
}

t.test(
  'a brand that no look comes to the end of is done all the same, each goes on where it was',
  async (t) => {
    const brand = await largeBrand(1_001)
    const found: number[] = []
    for (let call = 0; call < 3; call++) {
      t.same(await oneStep(), [brand.id])
      found.push(await recoveredOf(brand))
    }
    t.same(found, [500, 1_000, 1_001])
  },
)

t.test('what changes while a brand is looked at in rounds is seen in the next', async (t) => {
  const brand = await largeBrand(501)
  await oneStep()
  await sql`update store_order set refunded_total = 20 where brand_id = ${brand.id} and subject = 1`
  await oneStep()
  t.equal(await recoveredOf(brand), 501)
  await caughtUp(brand)
  const [first] = await sql`
    select amount from attribution join store_order on store_order.id = order_id
    where attribution.brand_id = ${brand.id} and subject = 1`
  t.match(first, { amount: '30.00' })
})

t.test('another window amid a round holds for those who were done, too', async (t) => {
  const brand = await largeBrand(501, 2 * DAY)
  await caughtUp(brand)
  await setWindow(brand, 3)
  await oneStep()
  await setWindow(brand, 1)
  await caughtUp(brand)
  t.equal(await recoveredOf(brand), 0)
})

t.test('what changed of all brands that are behind is asked for at once', async (t) => {
  for (let call = 0; call < 2; call++) await looked()
  const orders: string[] = []
  for (let n = 0; n < 5; n++) orders.push((await recovery(await newBrand(pipeline))).orderId)
  const over = new AbortController()
  over.abort()
  t.same(await lookedAt(over.signal), [], 'all of them fall behind')
  orders.push((await recovery(await newBrand(pipeline))).orderId)
  // No look has the time to ask three times.
  const late = new AbortController()
  let asked = 0
  const many = <Row>(name: string, args?: unknown[]) => {
    if (name === 'attribution_changed' && ++asked === 3) late.abort()
    return pipeline.postgres.pipeline.many<Row>(name, args)
  }
  const { postgres } = pipeline
  await passed(pipeline)
  await attribute(
    { ...pipeline, postgres: { ...postgres, pipeline: { ...postgres.pipeline, many } } },
    late.signal,
  )
  for (const orderId of orders) t.match(await attributionOf(orderId), { recovered: true })
  t.same(await sql`select from attribution_behind`, [])
})

/** A brand whose order came two days after its message, looked at since. */
async function late() {
  const brand = await newBrand(pipeline)
  const { orderId } = await recovery(brand)
  await sql`update message set sent_at = ${at(NOW - 2 * DAY)} where brand_id = ${brand.id}`
  for (let call = 0; call < 2; call++) await looked()
  return { brand, orderId }
}

t.test('another window holds for every order of the brand from the next look on', async (t) => {
  const { brand, orderId } = await late()
  await setWindow(brand, 1)
  t.equal(await looked(), 1)
  t.match(await attributionOf(orderId), { recovered: false })
  await looked()
  await setWindow(brand, 2)
  t.equal(await looked(), 1)
  t.match(await attributionOf(orderId), { recovered: true })
})

t.test('the window that a brand has, set once more, has no order looked at', async (t) => {
  const { brand } = await late()
  for (const days of [7, 7]) {
    await setWindow(brand, days)
    t.same(await lookedAt(), [])
  }
})

t.test('a window that changes again during a look is not missed', async (t) => {
  const { brand, orderId } = await late()
  await setWindow(brand, 3)
  const { postgres } = pipeline
  const tx: typeof postgres.pipeline.tx = async (work) => {
    await setWindow(brand, 1)
    return await postgres.pipeline.tx(work)
  }
  await passed(pipeline)
  await attribute({ ...pipeline, postgres: { ...postgres, pipeline: { ...postgres.pipeline, tx } } })
  t.match(await attributionOf(orderId), { recovered: true })
  await looked()
  t.match(await attributionOf(orderId), { recovered: false })
  t.same(await sql`select from attribution_behind`, [])
})

const sorted = (rows: Record<string, object>) =>
  Object.entries(rows)
    .map(([id, row]) => [id, Object.entries(row).sort()])
    .sort()
