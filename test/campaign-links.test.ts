import { zstdDecompressSync } from 'node:zlib'
import t from 'tap'
import { v7 } from 'uuid'
import { cartUrl, checkoutUrl } from '../src/campaign/cart-link.ts'
import { compose } from '../src/campaign/compose.ts'
import { emailOf } from '../src/campaign/headline.ts'
import { codeOf, newCode } from '../src/campaign/link.ts'
import { type Asked, recipientsOf } from '../src/campaign/recipient.ts'
import { render } from '../src/campaign/template.ts'
import { type Said, valuesOf } from '../src/campaign/values.ts'
import { fail } from '../src/errors.ts'
import { linkRoutes } from '../src/http/link.ts'
import { createServer } from '../src/http/server.ts'
import { type FoundContact, setConsent, upsertContact } from '../src/identity/contact.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Statements } from '../src/op.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import './fixtures/checked.ts'

setLogLevel('error')
const NOW = new Date('2026-11-21T12:00:00Z')
const db = await database(t)
const { sql } = db.postgres
const server = createServer(linkRoutes({ postgres: db.postgres, now: () => NOW }))
const origin = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
t.teardown(() => server.drain(0))

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(origin + path, { redirect: 'manual', headers: { 'user-agent': 'Mozilla/5.0', ...headers }, method })
const post = (path: string, body: string, to = origin) =>
  fetch(to + path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
  })

const STORE = {
  shop_domain: 'lumen.myshopify.com',
  storefront_domains: ['www.lumen.example'],
  storePlatformDomain: 'myshopify.com',
}

const PRERENDERED = { 'sec-purpose': 'prefetch;prerender' }

let people = 0
/** A conversation of a contact with one message, whose links are made of a template. */
async function conversation(brand: Brand, template: string, channel: 'sms' | 'email' = 'sms') {
  const [id, messageId] = [v7(), v7()]
  const person = people++
  const own = db.postgres.forBrand(brand.id)
  const contact = await own.tx((tx) =>
    upsertContact(tx, {
      subject: null,
      email: `ada${person}@example.com`,
      phone: `+1201555${String(1000 + person)}`,
      firstName: 'Ada',
      lastName: null,
    }),
  )
  const contactId = 'contactId' in contact ? contact.contactId : ''
  await sql`insert into conversation (brand_id, id, contact_id, channel) values (${brand.id}, ${id}, ${contactId}, ${channel})`
  return await own.tx(async (tx) => {
    const draft = {
      headline: null,
      body: template,
      values: { 'contact.first_name': 'Ada', 'discount.code': 'T&X-1', 'event.size': 'größe 4/5?' },
      cart: cartUrl({ type: 'cart', url: null }, { items: [{ variant_id: 7, quantity: 2 }] }, STORE),
      checkout: checkoutUrl({ checkout_url: 'https://www.lumen.example/checkouts/c1?key=k' }, STORE),
    }
    const place = { messageId, conversationId: id, campaignId: null }
    const { body: text } = await compose(tx, draft, place, '')
    return { id, contactId, messageId, text }
  })
}

const pathsIn = (text: string) => [...text.matchAll(/\/t\/[0-9A-Za-z]{12}/g)].map(([path]) => path)
const clicksOf = async (id: string) =>
  (await sql`select at from link_click where conversation_id = ${id}`).map(({ at }) => at)

/** Events of a brand as they are in the log. */
async function eventsOf(brand: Brand): Promise<Record<string, unknown>[]> {
  const rows = await sql<{ payload: Buffer }[]>`select payload from event_log`
  return rows
    .flatMap(({ payload }) => zstdDecompressSync(payload).toString().trimEnd().split('\n'))
    .map((line) => JSON.parse(line))
    .filter(({ brand_id }) => brand_id === brand.id)
}

t.test('a link redirects once to where it was made to lead, and the click is recorded', async (t) => {
  const brand = await newBrand(db)
  const { id, messageId, text } = await conversation(
    brand,
    'Hi {{contact.first_name|there}}: {{cart.link}} or {{checkout.url}}, see https://lumen.example/faq. Bye',
  )
  t.match(text, /^Hi Ada: \/t\/\w{12} or \/t\/\w{12}, see \/t\/\w{12}\. Bye$/)
  const targets = []
  for (const path of pathsIn(text)) {
    const { status, headers } = await get(path)
    t.equal(status, 302)
    targets.push(headers.get('location'))
  }
  t.same(targets, [
    'https://www.lumen.example/cart/7:2',
    'https://www.lumen.example/checkouts/c1?key=k',
    'https://lumen.example/faq',
  ])
  t.same(await clicksOf(id), [NOW, NOW, NOW])
  const events = await eventsOf(brand)
  t.equal(events.length, 3)
  t.match(events[0], {
    event_type: 'link_clicked',
    origin: 'service',
    email: /^ada/,
    phone: /^\+1/,
    properties: { message_id: messageId, conversation_id: id, url: targets[0] },
  })
})

t.test('nothing of a request decides where a link leads', async (t) => {
  const { text } = await conversation(await newBrand(db), '{{cart.link}}')
  const [path = ''] = pathsIn(text)
  for (const more of ['?url=https://evil.example', '?redirect=//evil.example', '?to=%0d%0aLocation:%20x']) {
    const { status, headers } = await get(path + more)
    t.equal(status, 302)
    t.equal(headers.get('location'), 'https://www.lumen.example/cart/7:2')
  }
  for (const wrong of [`${path}x`, path.slice(0, -1), '/t/AAAAAAAAAAAA', '/t/..%2f', `${path}%00`])
    t.equal((await get(wrong)).status, 404, wrong)
})

t.test('what is copied along behind a link does no harm', async (t) => {
  const { text } = await conversation(await newBrand(db), '{{cart.link}}')
  const [path = ''] = pathsIn(text)
  for (const more of ['.', ')', ',', '%3E', '/', '%E2%80%9D', '%E3%80%82', ').%20'])
    t.equal((await get(path + more)).headers.get('location'), 'https://www.lumen.example/cart/7:2', more)
})

t.test('no address takes longer to read than it is long', (t) => {
  t.equal(codeOf(`${'!'.repeat(1_000_000)}a`), undefined)
  t.end()
})

t.test('who opens a link sees a page, whatever is wrong', async (t) => {
  const limit = () => {
    throw fail('rate_limited', 'Too many requests', { headers: { 'retry-after': '1' } })
  }
  const busy = createServer(linkRoutes({ postgres: db.postgres, limit }))
  const to = `http://127.0.0.1:${await busy.listen('127.0.0.1', 0)}`
  t.teardown(() => busy.drain(0))
  for (const [answer, status] of [
    [await get('/t/'), 404],
    [await get('/t/AAAAAAAAAAAA/'), 404],
    [await get('/t/%ZZ'), 400],
    [await post('/t/AAAAAAAAAAAA', 'x'.repeat(2_000)), 413],
    [await get('/t/AAAAAAAAAAAA', { 'content-encoding': 'gzip' }, 'POST'), 404],
    [
      await fetch(`${origin}/t/A`, { method: 'POST', headers: { 'content-encoding': 'gzip' }, body: 'x' }),
      415,
    ],
    [await post('/t/AAAAAAAAAAAA', '', to), 429],
  ] as const) {
    t.equal(answer.status, status)
    t.match(answer.headers.get('content-type'), /^text\/html/)
    const page = await answer.text()
    t.match(page, /<h1>/)
    t.notMatch(page, /Recoup/)
  }
  t.equal((await post('/t/AAAAAAAAAAAA', '', to)).headers.get('retry-after'), '1')
})

t.test('the pages of a link are titled with the name of the brand', async (t) => {
  const { text } = await conversation(await newBrand(db, { name: 'Lumen' }), '{{opt_out.link}}')
  const [path = ''] = pathsIn(text)
  for (const answer of [
    await get(path, PRERENDERED),
    await get(path),
    await post(path, 'wish=start'),
    await post(path, 'wish=stop'),
    await get(path),
  ]) {
    const page = await answer.text()
    t.match(page, / · Lumen<\/title>/)
    t.notMatch(page, /Recoup/)
  }
})

t.test('links whose contact was erased lead nowhere', async (t) => {
  const { id, text } = await conversation(await newBrand(db), '{{cart.link}}')
  await sql`update short_link set url = null where conversation_id = ${id}`
  t.equal((await get(pathsIn(text)[0] ?? '')).status, 404)
})

t.test('an opt-out link whose contact was erased says that it changes nothing', async (t) => {
  for (const [channel, instead] of [
    ['sms', /no more text messages from Lumen, answer STOP to/],
    ['email', /no more emails from Lumen, use the link in/],
  ] as const) {
    const brand = await newBrand(db, { name: 'Lumen' })
    const { contactId, text } = await conversation(brand, '{{opt_out.link}}', channel)
    const [path = ''] = pathsIn(text)
    await sql`delete from contact where id = ${contactId}`
    t.equal((await get(path, {}, 'HEAD')).status, 404)
    const answers = [
      () => get(path),
      () => get(path, PRERENDERED),
      () => post(path, 'wish=stop'),
      () => post(path, 'wish=start'),
    ]
    for (const ask of answers) {
      const answer = await ask()
      t.equal(answer.status, 404)
      const page = await answer.text()
      t.match(page, instead)
      t.notMatch(page, /You get|<form/)
    }
    t.same(await eventsOf(brand), [])
  }
})

t.test('an opt-out link confirms nothing while its contact is being erased', async (t) => {
  const brand = await newBrand(db)
  const { contactId, text } = await conversation(brand, '{{opt_out.link}}')
  const { answer } = await sql.begin(async (tx) => {
    await tx`delete from contact where id = ${contactId}`
    const answer = get(pathsIn(text)[0] ?? '')
    const waiting = () => sql`
      select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()`
    await eventually(async () => (await waiting()).length > 0, { everyMs: 5 })
    return { answer }
  })
  t.equal((await answer).status, 404)
  t.same(await eventsOf(brand), [])
})

t.test('who only looks at a link does not click it', async (t) => {
  const { id, contactId, text } = await conversation(await newBrand(db), '{{cart.link}} {{opt_out.link}}')
  for (const path of pathsIn(text)) {
    await get(path, { 'user-agent': 'facebookexternalhit/1.1' })
    await get(path, { 'sec-purpose': 'prefetch' })
    await get(path, {}, 'HEAD')
  }
  t.same(await clicksOf(id), [])
  t.same(await sql`select sms_consent from contact where id = ${contactId}`, [{ sms_consent: 'unknown' }])
})

t.test('who may be a program is asked whether to unsubscribe, and the button does it', async (t) => {
  const { contactId, text } = await conversation(await newBrand(db), '{{opt_out.link}}')
  const consent = async () =>
    (await sql`select sms_consent from contact where id = ${contactId}`)[0]?.sms_consent
  const [path = ''] = pathsIn(text)
  for (const headers of [{ 'user-agent': 'TelegramBot (like TwitterBot)' }, PRERENDERED]) {
    const page = await (await get(path, headers)).text()
    t.match(page, /<input type="hidden" name="wish" value="stop"><button>Unsubscribe<\/button>/)
    t.notMatch(page, /You get no more/)
    t.equal(await consent(), 'unknown')
  }
  t.match(await (await post(path, 'wish=stop')).text(), /You get no more/)
  t.equal(await consent(), 'unsubscribed')
})

t.test('programs that are no browsers click nothing and unsubscribe nobody', async (t) => {
  for (const agent of [
    'python-requests/2.32.3',
    'Python/3.12 aiohttp/3.9',
    'Go-http-client/1.1',
    'Java/17.0.9',
    'okhttp/4.12.0',
    'libwww-perl/6.72',
    'Wget/1.21.4',
    'Mozilla/5.0 (compatible; Barracuda Sentinel (EE))',
    'Mozilla/5.0 Mimecast',
    'Mozilla/5.0 (compatible; Proofpoint URL Defense)',
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
    'Microsoft Office Existence Discovery',
    'Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
    '',
  ]) {
    const { id, contactId, text } = await conversation(await newBrand(db), '{{cart.link}} {{opt_out.link}}')
    const [cart = '', stop = ''] = pathsIn(text)
    t.equal((await get(cart, { 'user-agent': agent })).status, 302)
    t.match(await (await get(stop, { 'user-agent': agent })).text(), /<button>Unsubscribe/, agent)
    t.same(await clicksOf(id), [], agent)
    t.same(await sql`select sms_consent from contact where id = ${contactId}`, [{ sms_consent: 'unknown' }])
  }
})

t.test('phones and browsers whose names are like those of bots are people', async (t) => {
  for (const agent of [
    'Mozilla/5.0 (Linux; Android 11; CUBOT P50) Chrome/120',
    'Telegram-Android/11.4',
    'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Trident/7.0; Microsoft Outlook 16.0.5161; ms-office; MSOffice 16)',
    'curl/8.5.0',
    'node',
  ]) {
    const { id, text } = await conversation(await newBrand(db), '{{cart.link}}')
    await get(pathsIn(text)[0] ?? '', { 'user-agent': agent })
    t.same(await clicksOf(id), [NOW], agent)
  }
})

t.test('an opt-out link is honoured at once, on its channel, with a history', async (t) => {
  for (const channel of ['sms', 'email'] as const) {
    const brand = await newBrand(db, { name: 'Lumen <Home>' })
    const { id, contactId, text } = await conversation(brand, '{{opt_out.link}}', channel)
    const [path = ''] = pathsIn(text)
    const answer = await get(path)
    t.equal(answer.status, 200)
    t.match(await answer.text(), /from Lumen &#60;Home&#62;/)
    const consent = async () =>
      (await sql`select sms_consent, email_consent from contact where id = ${contactId}`)[0]
    const other = channel === 'sms' ? 'email' : 'sms'
    t.same(await consent(), { [`${channel}_consent`]: 'unsubscribed', [`${other}_consent`]: 'unknown' })
    t.same(await sql`select opted_out_at from conversation where id = ${id}`, [{ opted_out_at: NOW }])
    t.same(
      await sql`select channel, state, source, at from contact_consent where contact_id = ${contactId}`,
      [{ channel, state: 'unsubscribed', source: 'opt-out link', at: NOW }],
    )
    t.match(await eventsOf(brand), [
      { event_type: 'consent_updated', properties: { channel, state: 'unsubscribed' } },
    ])
  }
})

/** The links as they are so much later. */
async function linksLater(ms: number) {
  const later = new Date(NOW.getTime() + ms)
  const server = createServer(linkRoutes({ postgres: db.postgres, now: () => later }))
  const to = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  t.teardown(() => server.drain(0))
  return { at: later, post: (path: string, body: string) => post(path, body, to) }
}
const soon = await linksLater(60_000)
const DAY_MS = 86_400_000
const sameDay = await linksLater(DAY_MS)
const nextDay = await linksLater(DAY_MS + 1)

const BUTTON = /That was a mistake/
const NOTHING = /Nothing was changed/
const consentOf = async (id: string) =>
  (await sql`select email_consent from contact where id = ${id}`)[0]?.email_consent
t.test('an opt-out link is about the address that its message went to', async (t) => {
  const brand = await newBrand(db)
  const { id, contactId, messageId, text } = await conversation(brand, '{{opt_out.link}}', 'email')
  const own = db.postgres.forBrand(brand.id)
  const [contact] = await sql`select email from contact where id = ${contactId}`
  const email: string = contact?.email
  await sql`
    insert into message (
      brand_id, id, conversation_id, contact_id, idempotency_key, direction, channel, author, body, status, address, created_at
    )
    values (
      ${brand.id}, ${messageId}, ${id}, ${contactId}, ${messageId}, 'outbound', 'email', 'campaign', ${text}, 'sent', ${email}, ${NOW}
    )`
  await sql`update contact set email = 'moved@example.com' where id = ${contactId}`
  const [path = ''] = pathsIn(text)
  await get(path)
  const made = await own.tx((tx) =>
    upsertContact(tx, { subject: null, email, phone: null, firstName: null, lastName: null }),
  )
  t.equal(await consentOf('contactId' in made ? made.contactId : ''), 'unsubscribed')
  t.equal(await consentOf(contactId), 'unsubscribed')
})

/** Somebody with an opt-out link, who said something before on being sent emails. */
async function linked(before: 'subscribed' | 'unsubscribed' | 'unknown') {
  const brand = await newBrand(db)
  const { id, contactId, text } = await conversation(brand, '{{opt_out.link}}', 'email')
  const [path = ''] = pathsIn(text)
  const say = (state: 'subscribed' | 'unsubscribed' | 'unknown', source: string, at: Date) =>
    db.postgres.forBrand(brand.id).tx((tx) => setConsent(tx, contactId, 'email', state, source, at))
  if (before !== 'unknown') await say(before, 'store', new Date(NOW.getTime() - DAY_MS))
  return { brand, id, contactId, path, say, consent: () => consentOf(contactId) }
}

t.test('a mail program unsubscribes by one click', async (t) => {
  const { path, consent } = await linked('subscribed')
  t.equal((await post(path, 'List-Unsubscribe=One-Click')).status, 200)
  t.equal(await consent(), 'unsubscribed')
  t.equal((await post('/t/AAAAAAAAAAAA', '')).status, 404)
})

t.test('a mistake by a link is taken back, and what held before holds again', async (t) => {
  for (const before of ['subscribed', 'unknown'] as const) {
    const { brand, id, path, consent } = await linked(before)
    t.match(await (await post(path, 'wish=stop')).text(), BUTTON)
    t.equal((await soon.post(path, 'wish=start')).status, 200)
    t.equal(await consent(), before)
    t.same(await sql`select opted_out_at from conversation where id = ${id}`, [{ opted_out_at: null }])
    t.match(
      (await eventsOf(brand)).map(({ properties }) => properties),
      [{ state: 'unsubscribed' }, { state: before }],
    )
  }
})

t.test('a mistake is taken back however often the link was opened', async (t) => {
  const { path, consent } = await linked('subscribed')
  await get(path)
  t.match(await (await soon.post(path, 'wish=stop')).text(), BUTTON)
  await sameDay.post(path, 'wish=start')
  t.equal(await consent(), 'subscribed')
})

t.test(
  'a link whose opt-out was taken back asks when it is opened, until the button is pressed',
  async (t) => {
    const { path, consent } = await linked('subscribed')
    await get(path)
    await post(path, 'wish=start')
    for (const _ of ['Back', 'the mail again']) t.match(await (await get(path)).text(), /<button>Unsubscribe/)
    t.equal(await consent(), 'subscribed')
    t.match(await (await post(path, 'wish=stop')).text(), /You get no more/)
    t.equal(await consent(), 'unsubscribed')
    t.match(await (await get(path)).text(), /You get no more/)
  },
)

t.test(
  'what was taken back on one page is not asked for by opening the link of another message',
  async (t) => {
    const { id, path, consent } = await linked('subscribed')
    const [other] = await sql`
    insert into conversation (brand_id, id, contact_id, channel, created_at)
    select brand_id, gen_random_uuid(), contact_id, channel, created_at from conversation where id = ${id}
    returning id`
    await sql`
    insert into short_link (brand_id, id, code, message_id, conversation_id, kind)
    select brand_id, gen_random_uuid(), 'AnotherOne12', message_id, ${other?.id}, kind
    from short_link where conversation_id = ${id}`
    await get('/t/AnotherOne12')
    await post(path, 'wish=start')
    t.match(await (await get('/t/AnotherOne12')).text(), /<button>Unsubscribe/)
    t.equal(await consent(), 'subscribed')
  },
)

t.test('a mail program unsubscribes by one click, also where an opt-out was taken back', async (t) => {
  const { path, consent } = await linked('subscribed')
  await get(path)
  await post(path, 'wish=start')
  await post(path, 'List-Unsubscribe=One-Click')
  t.equal(await consent(), 'unsubscribed')
})

t.test('what was taken back is said to be so however often it is asked', async (t) => {
  const { path, say } = await linked('subscribed')
  await get(path)
  for (const _ of ['first', 'reload'])
    t.match(await (await post(path, 'wish=start')).text(), /was taken back/)
  await say('unsubscribed', 'reply', soon.at)
  t.match(await (await sameDay.post(path, 'wish=start')).text(), NOTHING)
})

t.test('a link takes nothing back once a day has passed', async (t) => {
  const { path, consent } = await linked('subscribed')
  await get(path)
  t.match(
    await (await nextDay.post(path, 'wish=start')).text(),
    /Nothing was changed.*To get emails again, ask/s,
  )
  t.equal(await consent(), 'unsubscribed')
  t.notMatch(await (await nextDay.post(path, 'wish=stop')).text(), BUTTON)
})

t.test('a link takes no refusal back that came otherwise', async (t) => {
  for (const source of ['store', 'reply']) {
    const { path, say, consent } = await linked('subscribed')
    await get(path)
    await say('unsubscribed', source, soon.at)
    t.match(await (await sameDay.post(path, 'wish=start')).text(), NOTHING)
    t.equal(await consent(), 'unsubscribed')
    t.notMatch(await (await sameDay.post(path, 'wish=stop')).text(), BUTTON)
  }
})

t.test('who refused before is shown no button that takes it back', async (t) => {
  const { path } = await linked('unsubscribed')
  t.notMatch(await (await get(path)).text(), BUTTON)
})

t.test('what a link cannot take back stays in the history', async (t) => {
  const { contactId, path } = await linked('unsubscribed')
  await get(path)
  await soon.post(path, 'wish=start')
  const words = await sql`select source from contact_consent where contact_id = ${contactId} order by at`
  t.same(words, [{ source: 'store' }, { source: 'opt-out link' }])
})

t.test('a link subscribes nobody who did not unsubscribe by it', async (t) => {
  for (const before of ['unknown', 'subscribed', 'unsubscribed'] as const) {
    const { brand, path, consent } = await linked(before)
    t.match(await (await post(path, 'wish=start')).text(), NOTHING)
    t.equal(await consent(), before)
    t.same(await eventsOf(brand), [])
  }
})

t.test('who subscribed after a mistake stays so', async (t) => {
  const { path, say, consent } = await linked('unknown')
  await get(path)
  await say('subscribed', 'reply', soon.at)
  t.match(await (await sameDay.post(path, 'wish=start')).text(), NOTHING)
  t.equal(await consent(), 'subscribed')
})

t.test('a mistake is taken back for the customer who has the address, too', async (t) => {
  const { brand, contactId, path } = await linked('unknown')
  const [{ email } = {}] = await sql`select email from contact where id = ${contactId}`
  await sql`insert into customer (brand_id, subject, id, provenance, email) values (${brand.id}, 1, 'a', 'server', ${email})`
  await sql`insert into identifier (brand_id, kind, value, subject) values (${brand.id}, 'email', ${email}, 1)`
  const holder = await contactOf(brand, 1, { email: 'other@example.com' })
  const theirs = 'contactId' in holder ? holder.contactId : ''
  await get(path)
  t.equal(await consentOf(theirs), 'unsubscribed')
  await soon.post(path, 'wish=start')
  t.equal(await consentOf(theirs), 'unknown')
})

t.test('what a trigger carried leads nowhere but to the brand', async (t) => {
  const home = 'https://www.lumen.example/'
  for (const url of [
    'https://evil.example/checkouts/1',
    'http://www.lumen.example/checkouts/1',
    'https://www.lumen.example@evil.example/',
    'https://www.lumen.example:444/',
    'javascript:alert(1)',
    'https://lumen.myshopify.com.evil.example/',
    7,
  ])
    t.equal(checkoutUrl({ checkout_url: url }, STORE), home, String(url))
  const shop = 'https://lumen.myshopify.com/c/1'
  t.equal(checkoutUrl({ checkout_url: shop }, STORE, 'TEN%'), `${shop}?discount=TEN%25`)
  const items = [{ variant_id: '9/../x' }, { variant_id: 8 }, { variant_id: 9, quantity: -1 }, null]
  t.equal(cartUrl({ type: 'cart', url: null }, { items }, STORE, 'A'), `${home}cart/8:1?discount=A`)
  t.equal(
    cartUrl({ type: 'cart', url: null }, {}, { ...STORE, storefront_domains: [] }),
    'https://lumen.myshopify.com/',
  )
})

t.test('codes are never the same and use all of their characters', async (t) => {
  const codes = Array.from({ length: 5_000 }, newCode)
  t.equal(new Set(codes).size, codes.length)
  t.equal(new Set(codes.join('')).size, 62)
  t.ok(codes.every((code) => /^[0-9A-Za-z]{12}$/.test(code)))
})

t.test('values are said on one line, not endless, and never read as a template', async (t) => {
  const values = {
    'contact.first_name': ' Ada\r\nSTOP\u0000 ',
    'brand.name': '{{discount.code}}',
    'event.x': '😀'.repeat(300),
  }
  t.equal(
    render('{{contact.first_name|you}}, {{ contact.last_name | friend }}!', values),
    'Ada STOP, friend!',
  )
  t.equal(render('{{brand.name}}{{discount.code}}', values), '{{discount.code}}')
  t.equal([...render('{{event.x}}', values)].length, 200)
})

t.test('variables say what is known of contact, brand, checkout, discount and event', async (t) => {
  const brand = { ...STORE, name: 'Lumen', currency_code: 'EUR' }
  const items = ['A', 'B', 'C', 'D', 'E'].map((product_title) => ({ product_title }))
  const facts = { total: '59.90', currency_code: 'USD', items, sku: ['s1', 's2'], paid: true, nested: {} }
  const saved = { name: 'Back', type: 'percentage', value: '10.00' } as const
  const recipient = { first_name: 'Ada', last_name: null }
  const trigger = 'checkout_abandoned'
  const values = valuesOf({
    recipient,
    brand,
    trigger,
    facts,
    discount: { saved, code: 'TEN' },
    template: '',
  })
  t.match(values, {
    'contact.first_name': 'Ada',
    'contact.last_name': null,
    'brand.url': 'https://www.lumen.example/',
    'checkout.total': '59.90 USD',
    'checkout.items': 'A, B, C and 2 more',
    'discount.code': 'TEN',
    'discount.value': '10%',
    'event.sku': 's1, s2',
    'event.paid': 'true',
    'event.nested': null,
  })
  const valueOfDiscount = (type: 'percentage' | 'fixed_amount' | 'free_shipping', value: string | null) =>
    valuesOf({
      recipient,
      brand,
      trigger,
      facts: {},
      discount: { saved: { name: '', type, value }, code: '' },
      template: '',
    })['discount.value']
  t.equal(valueOfDiscount('percentage', '12.50'), '12.5%')
  t.equal(valueOfDiscount('percentage', '100.00'), '100%')
  t.equal(valueOfDiscount('fixed_amount', '5.00'), '5.00 EUR')
  t.equal(valueOfDiscount('free_shipping', null), 'free shipping')
  const bare = valuesOf({ recipient, brand, trigger, facts: {}, discount: null, template: '' })
  t.equal(render('{{checkout.total|it}} {{checkout.items|all}} {{discount.code|}}', bare), 'it all ')
})

t.test('numbers are said as decimals, without an exponent', async (t) => {
  const values = valuesOf({
    recipient: { first_name: null, last_name: null },
    brand: { ...STORE, name: 'Lumen', currency_code: 'EUR' },
    ...{ trigger: 'ticket_closed', facts: { ticket_id: 4711, share: 1e-7 }, discount: null, template: '' },
  })
  t.equal(render('{{event.ticket_id}}: {{event.share}}', values), '4711: 0.0000001')
})

t.test('amounts are said with as many decimals as their currency has', async (t) => {
  for (const [total, currency_code, said] of [
    [59.9, 'EUR', '59.90'],
    [12, 'EUR', '12.00'],
    ['7.05', 'EUR', '7.05'],
    ['7.0500', 'EUR', '7.05'],
    ['7.055', 'EUR', '7.055'],
    ['free', 'EUR', 'free'],
    [5000, 'JPY', '5000'],
    ['39000.00', 'KRW', '39000'],
    ['-12.5', 'KWD', '-12.500'],
    [12, 'no code', '12.00'],
  ] as const) {
    const values = valuesOf({
      recipient: { first_name: null, last_name: null },
      brand: { ...STORE, name: 'Lumen', currency_code: 'EUR' },
      ...{ trigger: 'checkout_abandoned', facts: { total, currency_code }, discount: null, template: '' },
    })
    t.equal(render('{{event.total}}, {{checkout.total}}', values), `${said}, ${said} ${currency_code}`)
  }
})

t.test('the text behind an address without a space is no part of it', async (t) => {
  const brand = await newBrand(db)
  for (const [template, url, after] of [
    ['セール：https://shop.jp/sale。STOPで停止', 'https://shop.jp/sale', '。STOPで停止'],
    ['https://shop.jp/saleをご覧ください', 'https://shop.jp/sale', 'をご覧ください'],
    ['https://shop.jp/saleＳＴＯＰ', 'https://shop.jp/sale', 'ＳＴＯＰ'],
    ['（https://shop.jp/%E3%82%BB?a=1&b=[2]#c）', 'https://shop.jp/%E3%82%BB?a=1&b=[2]#c', '）'],
    ['https://shop.sa/sale، أو رد', 'https://shop.sa/sale', '، أو رد'],
    ['«https://shop.fr/été»', 'https://shop.fr/été', '»'],
    ['https://shop.kr/sale에서', 'https://shop.kr/sale', '에서'],
    ['(https://müller.example/größe).', 'https://müller.example/größe', ').'],
  ] as const) {
    const { id, text } = await conversation(brand, template)
    t.equal(text.slice(text.indexOf('/t/') + 15), after, template)
    const [link] = await sql`select url from short_link where conversation_id = ${id}`
    t.equal(link?.url, url)
  }
})

t.test('an address goes on over the variables in it, which are percent-encoded there', async (t) => {
  const brand = await newBrand(db)
  for (const [template, url, after] of [
    ['https://a.example/discount/{{discount.code}}', 'https://a.example/discount/T%26X-1', ''],
    ['(https://a.example/{{discount.code}}).', 'https://a.example/T%26X-1', ').'],
    [
      'https://a.example/?s={{event.size}}&c={{discount.code}}#x, {{discount.code}}',
      'https://a.example/?s=gr%C3%B6%C3%9Fe%204%2F5%3F&c=T%26X-1#x',
      ', T&X-1',
    ],
    ['https://a.example/{{event.none|a b.}}/', 'https://a.example/a%20b./', ''],
    ['https://a.example/{{event.none}}{{discount.code}}。', 'https://a.example/T%26X-1', '。'],
    ['{{contact.first_name|https://b.example}} https://a.example/', 'https://a.example/', ''],
  ] as const) {
    const { id, text } = await conversation(brand, template)
    t.equal(text.slice(text.indexOf('/t/') + 15), after, template)
    t.same(await sql`select url from short_link where conversation_id = ${id}`, [{ url }])
  }
})

t.test('an address with a variable in its host stays as it is written', async (t) => {
  const { id, text } = await conversation(await newBrand(db), 'https://{{event.none|a.example}}/x')
  t.equal(text, 'https://a.example/x')
  t.same(await sql`select from short_link where conversation_id = ${id}`, [])
})

t.test('the front page of a store of the platform takes the code of a discount', async (t) => {
  const cart = { type: 'cart', url: null } as const
  t.equal(cartUrl(cart, {}, STORE, 'TEN'), 'https://www.lumen.example/discount/TEN')
  t.equal(checkoutUrl({}, STORE, 'T%'), 'https://www.lumen.example/discount/T%25')
  t.equal(cartUrl(cart, {}, STORE), 'https://www.lumen.example/')
  t.equal(
    cartUrl(cart, {}, { ...STORE, shop_domain: 'lumen.example' }, 'TEN'),
    'https://www.lumen.example/',
    'of another store',
  )
})

t.test('messages say of each item what filters compare: its product, title and sku', async (t) => {
  const brand = { ...STORE, name: 'Lumen', currency_code: 'EUR' }
  const items = [
    { product_id: 7, product_title: 'Tea', sku: 't-1' },
    { product_id: 8, product_title: 'Pot' },
    null,
  ]
  for (const trigger of ['checkout_abandoned', 'order_created']) {
    const values = valuesOf({
      recipient: { first_name: null, last_name: null },
      ...{ brand, trigger, facts: { items }, discount: null, template: '' },
    })
    t.equal(
      render('{{event.product_title}} ({{event.product_id}}, {{event.sku}})', values),
      'Tea, Pot (7, 8, t-1)',
      trigger,
    )
  }
})

t.test(
  'of a product that was left nothing is said that only a page said and that a phone would turn into a link',
  async (t) => {
    const brand = { ...STORE, name: 'Lumen', currency_code: 'EUR' }
    const recipient = { first_name: null, last_name: null }
    const facts = {
      product_id: 'st.andrews-1',
      product_title: 'St.Andrews towel',
      currency_code: 'evil.example',
    }
    const said = (trigger: string, more: object = {}) => {
      const values = valuesOf({
        recipient,
        brand,
        trigger,
        facts: { ...facts, ...more },
        discount: null,
        template: '',
      })
      return [values['event.product_id'], values['event.product_title'], values['event.currency_code']]
    }
    t.same(said('browse_abandoned', { in_catalog: false }), [undefined, undefined, undefined])
    t.same(said('browse_abandoned', { in_catalog: true }), ['st.andrews-1', 'St.Andrews towel', undefined])
    t.same(
      said('browse_abandoned'),
      ['st.andrews-1', 'St.Andrews towel', undefined],
      'a run of a version that looked at what the page said before it kept it',
    )
    t.same(said('order_created'), ['st.andrews-1', 'St.Andrews towel', 'evil.example'])
  },
)

t.test('amounts, dates and lists of sizes that only a page said are no number to call', async (t) => {
  const facts = { price: '1,234,567.00', since: '21.11.2026', product_title: 'Jeans 501, 505, 5010' }
  const values = valuesOf({
    recipient: { first_name: null, last_name: null },
    brand: { ...STORE, name: 'Lumen', currency_code: 'EUR' },
    ...{ trigger: 'browse_abandoned', facts: { ...facts, in_catalog: false }, discount: null, template: '' },
  })
  t.equal(
    render('{{event.price}} {{event.since}} {{event.product_title}}', values),
    '1,234,567.00 21.11.2026 Jeans 501, 505, 5010',
  )
})

/** What a template says of whom a message goes to. */
function saidOf(template: string, recipient: Said['recipient']): string {
  const brand = { ...STORE, name: 'Lumen', currency_code: 'EUR' }
  const given = { brand, trigger: 'checkout_abandoned', facts: {}, discount: null }
  return render(template, valuesOf({ recipient, template, ...given }))
}

t.test('a name that a phone would turn into a link is not said', async (t) => {
  const said = (first_name: string) =>
    saidOf('{{contact.first_name|nobody}}', { first_name, last_name: null })
  for (const name of [
    'https://x',
    'pay at evil.example',
    'www.evil',
    'evil.example/pay',
    'evil\u200b.example',
    'evil\uff0eexample',
    'evil。example',
    'пример.рф',
    'evil.भारत',
    'evil.कॉम',
    '🍕.ws',
    '☃.net',
    '❤️.la',
    'a@evil',
    '10.0.0.1/pay',
    'tel:0900',
    'Call 0900 123-4567',
    '+1 (900) 555‑0100',
    '０９００１２３４５６',
    '212.555.0199',
    '(212) 555.0199',
    '212·555·0199',
    '212 • 555 • 0199',
    '212,555,0199',
    '555   0199',
    '212        555        0199',
    '１２３.４５６.７８９０',
  ])
    t.equal(said(name), 'nobody', name)
  for (const name of [
    'Ada',
    'J. R. R.',
    'Anne-Marie',
    'O’Neil',
    'Dr. No',
    'Zoë',
    '3.5 mm',
    'प्रिया',
    'A.P.C. jeans',
    '50.00 EUR gift',
    'St. John',
    'Dr. Martens 1460',
    'Jr.',
    'Ada ❤️. Bo',
    'Ada 123 456',
    'Ada, 1. FC 1846',
    'R2-D2 – 1977',
  ])
    t.equal(said(name), name, name)
})

t.test('neither of two names is said that together are what a phone would turn into a link', async (t) => {
  for (const [first_name, last_name] of [
    ['212555', '0199'],
    ['0199', '212555'],
    ['evil.', 'com/x'],
    ['com/x', 'evil.'],
    ['evil. ', ' com'],
    [`${'x'.repeat(195)}evil. it is`, 'com'],
  ] as const)
    t.equal(
      saidOf('{{contact.first_name|one}}{{contact.last_name|other}}', { first_name, last_name }),
      'oneother',
    )
  const number = { first_name: '212555', last_name: '0199' }
  t.equal(saidOf('{{contact.first_name|one}} {{contact.last_name|other}}', number), 'one other')
})

t.test('initials and titles are said before other names', async (t) => {
  const template = '{{contact.first_name}} {{contact.last_name}}'
  t.equal(saidOf(template, { first_name: 'J.', last_name: 'Smith' }), 'J. Smith')
  t.equal(saidOf(template, { first_name: 'Ada', last_name: 'Smith Jr.' }), 'Ada Smith Jr.')
})

const asking = (given: Partial<Asked>): Asked => ({
  ...{ id: 'run', subject: 1, channel: 'sms', source_kind: 'customer', source_id: '' },
  ...given,
})
const reached = async ({ id }: Brand, given: Partial<Asked>) => {
  const found = await db.postgres.forBrand(id).tx((tx) => recipientsOf(tx, [asking(given)]))
  return found.get('run') ?? null
}
const contactOf = ({ id }: Brand, subject: number, said: Partial<FoundContact>) =>
  db.postgres
    .forBrand(id)
    .tx((tx) =>
      upsertContact(tx, { subject, email: null, phone: null, firstName: null, lastName: null, ...said }),
    )

t.test(
  'the recipient of a customer is the contact that the channel reaches, also of a merged one',
  async (t) => {
    const brand = await newBrand(db)
    const own = db.postgres.forBrand(brand.id)
    await sql`insert into customer (brand_id, subject, id, provenance, email, phone) values
    (${brand.id}, 1, 'a', 'server', 'a@example.com', null), (${brand.id}, 2, 'b', 'server', null, '+12015550777'),
    (${brand.id}, 3, 'c', 'pixel', null, null), (${brand.id}, 4, 'd', 'server', 'd@example.com', null)`
    const recipient = (subject: number, channel: 'sms' | 'email') => reached(brand, { subject, channel })
    const made = await recipient(1, 'email')
    t.match(made, { email: 'a@example.com', phone: null, email_consent: 'unknown' })
    t.equal((await recipient(1, 'sms'))?.id, made?.id, 'any is better than none')
    const phone = await recipient(2, 'sms')
    await sql`insert into subject_redirect (brand_id, subject, customer) values (${brand.id}, 2, 1)`
    for (const subject of [1, 2]) {
      t.equal((await recipient(subject, 'sms'))?.id, phone?.id)
      t.equal((await recipient(subject, 'email'))?.id, made?.id)
    }
    t.equal(await recipient(3, 'sms'), null)
    t.equal(await recipient(99, 'sms'), null)
    await own.tx((tx) =>
      upsertContact(tx, { subject: 1, email: 'd@example.com', phone: null, firstName: null, lastName: null }),
    )
    t.equal(await recipient(4, 'email'), null, 'another contact has that address')
  },
)

t.test(
  'a number of the customer’s record goes to their contact, one that was once typed does not',
  async (t) => {
    const brand = await newBrand(db)
    await sql`insert into customer (brand_id, subject, id, provenance, email, phone, phone_by_record) values
    (${brand.id}, 1, 'a', 'server', 'old@example.com', '+12015550771', true),
    (${brand.id}, 2, 'b', 'server', 'b@example.com', '+12015550772', false)`
    await contactOf(brand, 1, { email: 'new@example.com' })
    await contactOf(brand, 2, { email: 'b@example.com' })
    t.match(await reached(brand, { subject: 1 }), { email: 'new@example.com', phone: '+12015550771' })
    t.match(await reached(brand, { subject: 2 }), { email: 'b@example.com', phone: null })
  },
)

t.test('a number that another contact has is not theirs to be messaged at', async (t) => {
  const brand = await newBrand(db)
  await sql`insert into customer (brand_id, subject, id, provenance, email, phone, phone_by_record) values
    (${brand.id}, 1, 'a', 'server', null, '+12015550772', true),
    (${brand.id}, 2, 'b', 'server', 'b@example.com', '+12015550772', true)`
  await contactOf(brand, 1, { phone: '+12015550772' })
  await contactOf(brand, 2, { email: 'b@example.com' })
  t.match(await reached(brand, { subject: 2 }), { email: 'b@example.com', phone: null })
})

t.test('the number of an order that has become somebody else’s is not theirs', async (t) => {
  const brand = await newBrand(db)
  await sql`insert into customer (brand_id, subject, id, provenance, email) values
    (${brand.id}, 1, 'a', 'server', 'a@example.com'), (${brand.id}, 2, 'b', 'server', 'b@example.com')`
  await sql`insert into store_order
    (brand_id, external_id, id, subject, phone, state, billing_status, currency_code, total, created_at, updated_at) values
    (${brand.id}, '1001', ${v7()}, 2, '+1 201 555 0773', 'complete', 'paid', 'USD', 1, ${NOW}, ${NOW})`
  for (const [subject, email] of ['a@example.com', 'b@example.com'].entries())
    await contactOf(brand, subject + 1, { email })
  const about = { source_kind: 'order', source_id: '1001' } as const
  t.match(await reached(brand, { subject: 1, ...about }), { email: 'a@example.com', phone: null })
  t.match(await reached(brand, { subject: 2, ...about }), { email: 'b@example.com', phone: '+12015550773' })
})

t.test('a contact of who was merged into somebody gets the number, no other is made', async (t) => {
  const brand = await newBrand(db)
  await sql`insert into customer (brand_id, subject, id, provenance, email, phone, phone_by_record) values
    (${brand.id}, 1, 'a', 'server', 'ann@example.com', null, false),
    (${brand.id}, 2, 'b', 'server', 'ann@example.com', '+12015550771', true)`
  await contactOf(brand, 1, { email: 'ann@example.com', firstName: 'Ann' })
  await sql`insert into subject_redirect (brand_id, subject, customer) values (${brand.id}, 1, 2)`
  t.match(await reached(brand, { subject: 2 }), { first_name: 'Ann', phone: '+12015550771' })
  t.same(await sql`select subject, email, phone from contact where brand_id = ${brand.id}`, [
    { subject: 1, email: 'ann@example.com', phone: '+12015550771' },
  ])
})

t.test('two messages of a round to who had no contact are to the one that is made', async (t) => {
  const brand = await newBrand(db)
  await sql`insert into customer (brand_id, subject, id, provenance, email) values
    (${brand.id}, 1, 'a', 'server', 'a@example.com')`
  const found = await db.postgres
    .forBrand(brand.id)
    .tx((tx) => recipientsOf(tx, [asking({ id: 'one' }), asking({ id: 'other' })]))
  t.match(found.get('one'), { email: 'a@example.com' })
  t.same(found.get('other'), found.get('one'))
})

t.test('who has no number costs a round of messages no statement of their own', async (t) => {
  const brand = await newBrand(db)
  const asked = Array.from({ length: 20 }, (_, at) => asking({ id: `${at}`, subject: at + 1 }))
  await sql`insert into customer (brand_id, subject, id, provenance, email)
    select ${brand.id}, n, n, 'server', n || '@example.com' from generate_series(1, 20) as n`
  await sql`insert into contact (brand_id, id, subject, email)
    select brand_id, gen_random_uuid(), subject, email from customer where brand_id = ${brand.id}`
  let statements = 0
  const found = await db.postgres.forBrand(brand.id).tx((tx) =>
    recipientsOf(
      new Proxy(tx, {
        get(of, name: keyof Statements) {
          statements++
          return of[name]
        },
      }),
      asked,
    ),
  )
  t.equal(found.size, 20)
  t.equal(statements, 2)
})

t.test('a number that was refused stays refused when a contact has it again', async (t) => {
  const brand = await newBrand(db)
  await sql`insert into customer (brand_id, subject, id, provenance, email, phone, phone_by_record) values
    (${brand.id}, 1, 'a', 'server', 'a@example.com', '+12015550771', true)`
  const id = v7()
  await sql`insert into contact (brand_id, id, subject, email) values (${brand.id}, ${id}, 1, 'a@example.com')`
  await db.postgres
    .forBrand(brand.id)
    .tx((tx) => setConsent(tx, id, 'sms', 'unsubscribed', 'reply', NOW, '+12015550771'))
  t.match(await reached(brand, { subject: 1 }), { phone: '+12015550771', sms_consent: 'unsubscribed' })
})

t.test('the first line of an email may be its subject', async (t) => {
  t.same(emailOf('Subject: Your cart \r\n\r\nHi'), { headline: 'Your cart', body: 'Hi' })
  t.same(emailOf('Hi\nSubject: no'), { headline: null, body: 'Hi\nSubject: no' })
})

t.test('a variable is whole in the subject of an email, though its fallback has lines', async (t) => {
  t.same(emailOf('Subject: For {{contact.first_name|all\nof you}}!\nHi'), {
    headline: 'For {{contact.first_name|all of you}}!',
    body: 'Hi',
  })
})
