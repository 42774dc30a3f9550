import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { v7 } from 'uuid'
import { findInsights } from '../src/campaign/insights.ts'
import { topicsOf } from '../src/campaign/topic.ts'
import { wordsOf } from '../src/campaign/topic-word.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { conversationInsightOps } from '../src/ops/conversation-insights.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { fakeAgent } from './fixtures/gateway.ts'
import { randomSource } from './fixtures/random.ts'
import { client } from './fixtures/shop.ts'

setLogLevel('error')

const DAY = 86_400_000
const NOW = new Date('2026-11-20T12:00:00Z')
const db = await database(t)
const { sql } = db.postgres
const parts = { postgres: db.postgres, agent: null }
const made = await api(t, db, conversationInsightOps, { now: () => NOW })

const SAID = [
  'When does my shipping arrive?',
  'Shipping takes too long',
  'is shipping free? asking about shipping to Berlin',
  'Do you ship this in size 42?',
  'Which sizes of the boots do you have?',
  'The boots are the wrong size',
  'Thanks!',
  'My name is Zebedee',
]

/** A word of its own for each number. */
const nonsense = (n: number) => `word${[...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('')}`

async function heard(of: Brand, body: string, daysAgo: number, conversation = v7()): Promise<string> {
  const at = new Date(NOW.getTime() - daysAgo * DAY)
  await sql`insert into conversation (brand_id, id, channel, created_at) values (${of.id}, ${conversation}, 'sms', ${at})
    on conflict do nothing`
  const id = v7()
  await sql`insert into message ${sql({
    ...{
      brand_id: of.id,
      id,
      conversation_id: conversation,
      idempotency_key: id,
      direction: 'inbound',
      body,
    },
    ...{ author: 'contact', channel: 'sms', status: 'received', created_at: at },
  })}`
  return conversation
}

t.test('messages are grouped by the words that tell most of them', async (t) => {
  const texts = SAID.map((body, n) => ({ id: `m${n}`, author: `a${n}`, body }))
  const topics = await topicsOf(texts)
  t.same(
    topics.map(({ keywords: [first], messages }) => [first, messages]),
    [
      ['shipping', ['m0', 'm1', 'm2']],
      ['size', ['m3', 'm4', 'm5']],
    ],
  )
  t.ok(topics[1]?.keywords.includes('boots'))
  const all = topics.flatMap(({ keywords }) => keywords)
  t.notOk(all.includes('zebedee') || all.includes('berlin'), 'what one person said is theirs')
  const random = randomSource(t)
  for (let n = 0; n < 20; n++) {
    const shuffled = texts.map((text) => ({ text, at: random.below(1_000_000) })).sort((a, b) => a.at - b.at)
    t.same(await topicsOf(shuffled.map(({ text }) => text)), topics, 'whatever their order')
  }
  t.same(await topicsOf([]), [])
  t.same(await topicsOf([{ id: 'm', author: 'a', body: 'shipping shipping' }]), [])
  t.same(
    wordsOf('Où est mon colis? https://x.example/tracking ÄPFEL, 42 it’s Größe!').map(({ word }) => word),
    ['colis', 'äpfel', 'größe'],
  )
})

t.test('a word that one person alone says in what is left begins no topic', async (t) => {
  const said = [
    ['ann', 'shipping shipping zipper'],
    ['bob', 'shipping zipper zipper zipper'],
    ['cat', 'shipping'],
    ['dan', 'zipper zipper'],
    ['dan', 'zipper button'],
    ['eve', 'button'],
  ] as const
  const topics = await topicsOf(said.map(([author, body], n) => ({ id: `m${n}`, author, body })))
  t.same(
    topics.map(({ key, messages }) => [key, messages]),
    [['zipper', ['m0', 'm1', 'm3', 'm4']]],
  )
})

t.test('topics of many messages are found while other work goes on', async (t) => {
  const texts = Array.from({ length: 20_000 }, (_, n) => ({
    id: `m${n}`,
    author: `a${n % 7_000}`,
    body: Array.from({ length: 8 }, (_, at) => nonsense((n * (at + 3)) % (500 * (at + 1)))).join(' '),
  }))
  let turns = 0
  const turn = () => {
    turns++
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  t.equal((await topicsOf(texts)).length, 100)
  clearImmediate(next)
  t.ok(turns > 200, `${turns} turns of the event loop`)
})

t.test('topics are listed by their messages, with days, keywords and example conversations', async (t) => {
  const brand = await newBrand(db)
  const ask = client(t, made, await made.key(brand, ['insights:read']))
  t.same((await ask('GET /v1/brand/insights')).body, { data: [], next_cursor: null })
  const conversations: string[] = []
  for (const [n, body] of SAID.entries()) conversations.push(await heard(brand, body, n))
  await heard(brand, 'STOP', 0)
  await heard(brand, 'more boots in my size, please', 40, conversations[5])
  await heard(brand, 'shipping was late', 95)
  t.equal(await findInsights(parts, NOW), 1)

  const { body } = await ask('GET /v1/brand/insights')
  const about = (word: string) =>
    body.data.find(({ keywords: [first] }: { keywords: string[] }) => first === word)
  const [shipping, size] = [about('shipping'), about('size')]
  t.match(shipping, { message_count: 3, conversation_count: 3, last_message_at: NOW.toISOString() })
  t.match(shipping.topic, /^shipping/)
  t.equal(size.topic, size.keywords.slice(0, 3).join(', '))
  t.same(shipping.days, [
    { date: '2026-11-18', count: 1 },
    { date: '2026-11-19', count: 1 },
    { date: '2026-11-20', count: 1 },
  ])
  t.match(size, { message_count: 3, conversation_count: 3 })
  const days = async (n: number) =>
    (await ask(`GET /v1/brand/insights?day_limit=${n}`)).body.data.map(
      ({ message_count, conversation_count }: { message_count: number; conversation_count: number }) => [
        ...[message_count, conversation_count],
      ],
    )
  t.same(await days(90), [
    [4, 3],
    [3, 3],
  ])
  t.same(await days(2), [[2, 2]])
  t.equal((await ask('GET /v1/brand/insights?day_limit=91')).status, 400)
  t.equal((await ask('GET /v1/brand/insights?limit=51')).status, 400)

  const first = (await ask('GET /v1/brand/insights?limit=1')).body
  const second = (await ask(`GET /v1/brand/insights?limit=1&cursor=${encodeURIComponent(first.next_cursor)}`))
    .body
  t.same([...first.data, ...second.data], body.data)
  t.equal(second.next_cursor, null)

  const path = `GET /v1/brand/insights/${size.id}/conversations`
  const examples = (await ask(path)).body
  t.same(
    examples.data.map(({ id }: { id: string }) => id),
    [conversations[3], conversations[4], conversations[5]],
  )
  t.equal(examples.data[2].match.body, 'The boots are the wrong size', 'the newest message about it')
  const one = (await ask(`${path}?limit=2`)).body
  const rest = (await ask(`${path}?cursor=${encodeURIComponent(one.next_cursor)}`)).body
  t.same([...one.data, ...rest.data], examples.data)
  t.equal((await ask(`${path}?limit=31`)).status, 400)
  t.equal((await ask(`GET /v1/brand/insights/${v7()}/conversations`)).status, 404)
})

t.test('days are those of the brand, also when one of them has 25 hours', async (t) => {
  const brand = await newBrand(db, { timezone: 'Europe/Berlin' })
  // Half past eleven at night.
  const now = new Date('2026-10-25T22:30:00Z')
  const late = await api(t, db, conversationInsightOps, { now: () => now })
  const ask = client(t, late, await late.key(brand, ['insights:read']))
  // Noon of the day before.
  for (const body of SAID) await heard(brand, body, 27 + 2 / 24)
  await findInsights(parts, now)
  const days = (await ask('GET /v1/brand/insights?day_limit=2')).body.data.map(
    ({ days: [first] }: { days: { date: string }[] }) => first?.date,
  )
  t.same(days, ['2026-10-24', '2026-10-24'])
})

t.test('a topic that is found again keeps its id, one that nobody writes about goes', async (t) => {
  const brand = await newBrand(db)
  const ask = client(t, made, await made.key(brand, ['insights:read']))
  const topics = async () =>
    Object.fromEntries(
      (await ask('GET /v1/brand/insights?day_limit=90')).body.data.map(
        ({ keywords: [first], id }: { keywords: string[]; id: string }) => [first, id],
      ),
    )
  for (const [n, body] of SAID.entries()) await heard(brand, body, n < 3 ? 60 : 1)
  await findInsights(parts, NOW)
  const before = await topics()
  t.same(Object.keys(before).sort(), ['shipping', 'size'])
  t.equal(await findInsights(parts, NOW), 0, 'once a night')
  await heard(brand, 'what size', 0)
  await findInsights(parts, new Date(NOW.getTime() + 40 * DAY))
  t.same(await topics(), { size: before.size })
})

t.test(
  'a topic is named by the endpoint, once for its keywords, and by these when that gives no name',
  async (t) => {
    const brand = await newBrand(db)
    const ask = client(t, made, await made.key(brand, ['insights:read']))
    for (const body of SAID) await heard(brand, body, 1)
    const asked: string[] = []
    const server = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        const { messages } = JSON.parse(Buffer.concat(parts).toString())
        const [first] = /stand out: (.*)/.exec(messages[1].content)?.[1]?.split(', ') ?? []
        asked.push(first ?? '')
        t.ok(SAID.filter((body) => messages[1].content.includes(body)).length === 3, 'with its messages')
        const content = first === 'size' ? 'Call +1 201 555 0123' : '"Where is my parcel?"'
        response.end(JSON.stringify({ choices: [{ message: { content } }] }))
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const agent = { url: `http://127.0.0.1:${port}/v1`, key: null, model: 'm' }
    const names = async () =>
      (await ask('GET /v1/brand/insights')).body.data.map(({ topic }: { topic: string }) => topic).sort()
    await findInsights({ ...parts, agent }, NOW)
    const [named, called] = await names()
    t.equal(named, 'Where is my parcel?')
    t.match(called, /^size/)
    await findInsights({ ...parts, agent }, new Date(NOW.getTime() + DAY + 3 * 3_600_000))
    t.same(await names(), [named, called])
    t.same(asked, ['shipping', 'size', 'size'], 'one that has its name is not asked about again')
  },
)

t.test('an endpoint that gives no answer is asked for no more names, of no brand', async (t) => {
  const brands = [await newBrand(db), await newBrand(db)]
  for (const brand of brands) for (const body of SAID) await heard(brand, body, 1)
  const endpoint = await fakeAgent(t)
  endpoint.answers.push(null)
  const found = await findInsights({ ...parts, agent: { url: endpoint.url, key: null, model: 'm' } }, NOW)
  t.equal(found, 2, 'all the same')
  t.equal(endpoint.asked.length, 1)
})

t.test('an endpoint that answers with an error is asked for the next name', async (t) => {
  const brand = await newBrand(db)
  for (const body of SAID) await heard(brand, body, 1)
  const endpoint = await fakeAgent(t)
  endpoint.answers.push(500, 'Boot sizes')
  await findInsights({ ...parts, agent: { url: endpoint.url, key: null, model: 'm' } }, NOW)
  t.equal(endpoint.asked.length, 2)
})

t.test('night is that of the brand, and comes once', async (t) => {
  const brand = await newBrand(db)
  await sql`update brand set timezone = 'Pacific/Auckland' where id = ${brand.id}`
  await heard(brand, 'shipping', 1)
  const turns = async (at: string) => {
    await findInsights(parts, new Date(at))
    const [row] = await sql`select computed_at from insight_state where brand_id = ${brand.id}`
    return row?.computed_at.toISOString() === new Date(at).toISOString()
  }
  t.ok(await turns('2026-11-20T12:00:00Z'), 'at first at once')
  t.notOk(await turns('2026-11-20T14:23:00Z'), 'at three, but of the same day')
  t.notOk(await turns('2026-11-21T12:23:00Z'), 'at one')
  t.ok(await turns('2026-11-21T14:23:00Z'), 'at three')
  t.ok(await turns('2026-11-22T17:23:00Z'), 'later, when the night was missed')
})
