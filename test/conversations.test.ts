import t from 'tap'
import { v7 } from 'uuid'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { conversationOps } from '../src/ops/conversations.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { noting } from './fixtures/statements.ts'

setLogLevel('error')

const NOW = new Date('2026-11-20T12:00:00Z')
const db = await database(t)
const { sql } = db.postgres
const statements: string[] = []
const { call, key, tool } = await api(t, db, conversationOps, {
  now: () => NOW,
  db: (brandId) => noting(db.postgres.forBrand(brandId), (name) => statements.push(name)),
})
const brand = await newBrand(db)
const as = await key(brand, ['conversations:read'])

const minutes = (n: number) => new Date(NOW.getTime() + n * 60_000)

async function converse(of: Brand, more: Record<string, unknown> = {}): Promise<string> {
  const id = v7()
  const row = { brand_id: of.id, id, channel: 'sms', created_at: NOW, updated_at: NOW, ...more }
  await sql`insert into conversation ${sql(row)}`
  return id
}

async function say(of: Brand, conversation_id: string, body: string, more: Record<string, unknown> = {}) {
  const id = v7()
  const outbound = { direction: 'outbound', author: 'campaign', status: 'sent', sent_at: NOW }
  const row = { brand_id: of.id, id, conversation_id, idempotency_key: id, channel: 'sms', body, ...outbound }
  await sql`insert into message ${sql({ ...row, created_at: NOW, ...more })}`
  return id
}

async function recover(of: Brand, conversation_id: string, amount: number, currency_code: string, at: Date) {
  const order_id = v7()
  const row = { brand_id: of.id, order_id, conversation_id, touch: 'click', touch_at: NOW, ordered_at: at }
  await sql`insert into attribution ${sql({ ...row, amount, currency_code })}`
  return order_id
}

const inbound = { direction: 'inbound', author: 'contact', status: 'received', sent_at: null }
const idsOf = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id)
const get = (path: string) => call(`GET /v1/conversations${path}`, { as })

t.test('conversations are listed newest first, page by page, also those of one instant', async (t) => {
  const own = await newBrand(db)
  const credential = await key(own, ['conversations:read'])
  const made: string[] = []
  for (const at of [0, 0, 1, 1, 1, 2]) made.push(await converse(own, { created_at: minutes(at) }))
  const walked: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await call(`GET /v1/conversations?limit=2${cursor}`, { as: credential })
    walked.push(...idsOf(body))
    if (body.next_cursor === null) break
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
  t.same(walked, made.toReversed())
  const { body } = await call('GET /v1/conversations?limit=101', { as: credential })
  t.equal(body.data.length, 6, 'a greater limit counts as the greatest')
})

t.test('filters narrow the list, and a cursor is for its filters alone', async (t) => {
  const own = await newBrand(db)
  const credential = await key(own, ['conversations:read'])
  const [campaign, contact] = [v7(), v7()]
  await sql`insert into campaign (brand_id, id, name, type, trigger_event, created_by)
    values (${own.id}, ${campaign}, 'c', 'checkout_recovery', 'checkout_abandoned', 'test')`
  await sql`insert into contact (brand_id, id, email) values (${own.id}, ${contact}, 'ada@example.com')`
  const closed = await converse(own, { status: 'closed' })
  const email = await converse(own, { channel: 'email' })
  const ofCampaign = await converse(own, { campaign_id: campaign })
  const ofContact = await converse(own, { contact_id: contact })
  for (const [filter, wanted] of [
    ['status=closed', [closed]],
    ['channel=email', [email]],
    [`campaign_id=${campaign}`, [ofCampaign]],
    [`contact_id=${contact}`, [ofContact]],
    [`contact_id=${contact}&channel=email`, []],
    [`contact_id=${v7()}`, []],
  ] as const) {
    const { body } = await call(`GET /v1/conversations?${filter}`, { as: credential })
    t.same(idsOf(body), wanted, filter)
  }
  const { body } = await call('GET /v1/conversations?limit=1&status=open', { as: credential })
  const cursor = encodeURIComponent(body.next_cursor)
  for (const other of ['', '&status=closed'])
    t.equal((await call(`GET /v1/conversations?cursor=${cursor}${other}`, { as: credential })).status, 400)
})

t.test('a conversation shows its checkout, and its goal as it stands at the moment', async (t) => {
  const checkout_id = v7()
  await sql`
    insert into checkout (brand_id, external_id, id, state, currency_code, total, url, created_at, updated_at)
    values (${brand.id}, 'k1', ${checkout_id}, 'abandoned', 'USD', 84.5, 'https://shop.example/k1', ${NOW}, ${NOW})`
  const nothing = { order_id: null, recovered_amount: null, currency_code: null }
  const pending = await converse(brand, { checkout_id, goal_until: minutes(1), last_message_at: NOW })
  t.same((await get(`/${pending}`)).body, {
    ...{ id: pending, contact_id: null, campaign_id: null, status: 'open', channel: 'sms' },
    checkout: {
      ...{ id: checkout_id, state: 'abandoned', total: '84.50', currency_code: 'USD' },
      url: 'https://shop.example/k1',
    },
    goal: { state: 'pending', ...nothing },
    ...{ last_message_at: NOW.toISOString(), created_at: NOW.toISOString(), updated_at: NOW.toISOString() },
  })
  const expired = await converse(brand, { goal_until: minutes(-1) })
  t.same((await get(`/${expired}`)).body.goal, { state: 'expired', ...nothing })
  t.equal((await get(`/${await converse(brand)}`)).body.goal, null)

  const first = await recover(brand, expired, 10, 'USD', minutes(-3))
  await recover(brand, expired, 5.5, 'USD', minutes(-2))
  await recover(brand, expired, 100, 'EUR', minutes(-1))
  const goal = { state: 'recovered', order_id: first, recovered_amount: '15.50', currency_code: 'USD' }
  t.same((await get(`/${expired}`)).body.goal, goal, 'by the first order; other currencies are not added')
  const told = await tool('get_conversation_details', { conversation_id: expired }, { as })
  t.same(told.body.result.structuredContent.goal, goal)
  await sql`update attribution set recovered = false where conversation_id = ${expired}`
  t.equal((await get(`/${expired}`)).body.goal.state, 'expired', 'what was refunded recovers nothing')
})

t.test('what a conversation recovered is in the currency of its order', async (t) => {
  const abroad = await converse(brand, { goal_until: minutes(1) })
  await recover(brand, abroad, 1_200, 'JPY', minutes(-1))
  const money = { recovered_amount: '1200.00', currency_code: 'JPY' }
  t.match((await get(`/${abroad}`)).body.goal, money)
  const [listed] = (await get('?limit=100')).body.data.filter(({ id }: { id: string }) => id === abroad)
  t.match(listed.goal, money)
})

t.test('a conversation recovered what is in the brand’s currency, when an order is', async (t) => {
  const both = await converse(brand, { goal_until: minutes(1) })
  await recover(brand, both, 1_200, 'JPY', minutes(-3))
  const order_id = await recover(brand, both, 40, 'USD', minutes(-2))
  const goal = { state: 'recovered', order_id, recovered_amount: '40.00', currency_code: 'USD' }
  t.same((await get(`/${both}`)).body.goal, goal)
})

t.test('messages come in the order in which they were said, with why one failed', async (t) => {
  const id = await converse(brand)
  const said = [
    await say(brand, id, 'first', { status: 'delivered', delivered_at: minutes(1) }),
    await say(brand, id, 'second', { ...inbound, created_at: minutes(1) }),
    await say(brand, id, 'third', {
      status: 'failed',
      reason: 'send_failed',
      created_at: minutes(2),
      sent_at: null,
    }),
    await say(brand, id, 'fourth', { status: 'failed', error: 'no such number', created_at: minutes(3) }),
    await say(brand, id, 'fifth', { status: 'queued', error: 'busy', created_at: minutes(4), sent_at: null }),
  ]
  await say(brand, id, 'gone', { deleted: true })
  const first = (await get(`/${id}/messages?limit=2`)).body
  const rest = (await get(`/${id}/messages?cursor=${encodeURIComponent(first.next_cursor)}`)).body
  t.same([...idsOf(first), ...idsOf(rest)], said)
  t.equal(rest.next_cursor, null)
  t.same(first.data[0], {
    ...{
      id: said[0],
      conversation_id: id,
      direction: 'outbound',
      author: 'campaign',
      channel: 'sms',
      body: 'first',
    },
    ...{ status: 'delivered', error: null, created_at: NOW.toISOString(), sent_at: NOW.toISOString() },
    delivered_at: minutes(1).toISOString(),
  })
  t.same(
    rest.data.map(({ error }: { error: string | null }) => error),
    ['Message failed', 'no such number', null],
  )
  const other = await converse(brand)
  const cursor = encodeURIComponent(first.next_cursor)
  t.equal((await get(`/${other}/messages?cursor=${cursor}`)).status, 400, 'a cursor is for its conversation')
  t.equal((await get(`/${v7()}/messages`)).status, 404)
  const gone = await converse(brand, { deleted: true })
  t.equal((await get(`/${gone}/messages`)).status, 404)
})

t.test('a page of messages asks of its conversation only whether it is there', async (t) => {
  const id = await converse(brand)
  statements.length = 0
  await get(`/${id}/messages`)
  t.same(statements, ['conversation_exists', 'messages_page'])
})

t.test('a search finds what was said, of the own brand alone', async (t) => {
  const other = await newBrand(db)
  const [lamp, chair, both] = [await converse(brand), await converse(brand), await converse(brand)]
  const theirs = await converse(other)
  await say(brand, lamp, 'Is the blue lamp still there?', { ...inbound, created_at: minutes(1) })
  const newest = await say(brand, lamp, 'The BLUE lamp, yes!', { created_at: minutes(2) })
  await say(brand, chair, 'A blue chair', { created_at: minutes(3) })
  await say(brand, both, 'lamp of the brightest blue', { created_at: minutes(4) })
  await say(brand, chair, 'blue lamp', { status: 'queued', sent_at: null })
  await say(brand, chair, 'blue lamp', { deleted: true })
  await say(other, theirs, 'blue lamp')
  const found = async (query: string) =>
    (await get(`/search?query=${encodeURIComponent(query)}`)).body as {
      data: { id: string; match: { message_id: string } }[]
      next_cursor: null
    }
  for (const [query, wanted] of [
    ['blue lamp', [both, lamp]],
    ['"blue lamp"', [lamp]],
    ['blue -lamp', [chair]],
    ['chair or brightest', [both, chair]],
    ['?!', []],
    ['violet', []],
    [`brand:${other.id}`, []],
    [`violet'; drop table message; --`, []],
  ] as const)
    t.same(idsOf(await found(query)), wanted, query)
  const [, match] = (await found('blue lamp')).data
  t.equal(match?.match.message_id, newest, 'with the newest message that has the words')
  t.same((await found('lamp')).next_cursor, null)
  const told = await tool('search_conversations', { query: 'chair' }, { as })
  t.same(idsOf(told.body.result.structuredContent), [chair])

  const own = db.postgres.forBrand(brand.id)
  t.same(
    await own.tx(async (tx) => [...(await tx.many('conversations_found', ['lamp', 50])).map(({ id }) => id)]),
    [both, lamp],
  )
  await own.tx(async (tx) => {
    t.equal((await tx.many('conversations_found', ['lamp', 1])).length, 1)
  })
})

/** Messages in conversations, one a minute back from now: those of the first conversation are the newest. */
async function sayMuch(of: Brand, texts: readonly (readonly [conversation: string, times: number])[]) {
  const rows = texts.flatMap(([conversation, times]) => Array<string>(times).fill(conversation))
  await sql`
    insert into message
      (brand_id, id, conversation_id, idempotency_key, direction, author, channel, body, status, created_at)
    select
      ${of.id}, gen_random_uuid(), conversation, place, 'outbound', 'campaign', 'sms', 'a common word', 'sent',
      ${NOW}::timestamptz - place * interval '1 minute'
    from unnest(${rows}::uuid[]) with ordinality as given (conversation, place)`
}

const conversations = (of: Brand, count: number) =>
  Promise.all(Array.from({ length: count }, () => converse(of)))

t.test('of a word that most messages have a search reads some', async (t) => {
  const own = await newBrand(db)
  const made = await conversations(own, 60)
  await sayMuch(own, Array.from({ length: 80 }, () => made.map((id) => [id, 1] as const)).flat())
  const { found, read } = await sql.begin(async (tx) => {
    const reads = async () => {
      const [row] =
        await tx`select seq_tup_read + idx_tup_fetch as n from pg_stat_xact_user_tables where relname = 'message'`
      return Number(row?.n)
    }
    await tx`set local role recoup_app`
    await tx`select set_config('app.brand', ${own.id}, true)`
    const before = await reads()
    const rows = await tx`select conversation_id as id from search_messages(${own.id}, 'common', 50)`
    return { found: rows.map(({ id }) => id), read: (await reads()) - before }
  })
  t.same(found, made.slice(0, 50), 'the newest')
  t.ok(read < 3_500, `${read} of 4,800`)
})

t.test('a word that most messages of few conversations have is found in older ones, too', async (t) => {
  const own = await newBrand(db)
  const credential = await key(own, ['conversations:read'])
  const made = await conversations(own, 60)
  await sayMuch(
    own,
    made.map((id, at) => [id, at === 0 ? 1_200 : 20]),
  )
  const { body } = await call('GET /v1/conversations/search?query=common', { as: credential })
  t.same(idsOf(body), made.slice(0, 50))
})

t.test(
  'the function that a search goes by answers nothing of another brand than the transaction’s',
  async (t) => {
    const other = await newBrand(db)
    await say(other, await converse(other), 'secret words')
    const found = (as: string) =>
      sql.begin(async (tx) => {
        await tx`set local role recoup_app`
        await tx`select set_config('app.brand', ${as}, true)`
        return await tx`select body from search_messages(${other.id}, 'secret', 9)`
      })
    await sql`reset role`
    t.same(await found(brand.id), [])
    t.same(await found(''), [])
    t.same(await found(other.id), [{ body: 'secret words' }])
  },
)
