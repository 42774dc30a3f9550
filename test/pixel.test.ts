import { runInNewContext } from 'node:vm'
import { gzipSync, zstdDecompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { createLimits } from '../src/access/limits.ts'
import { createOrigins } from '../src/access/origin.ts'
import { fail } from '../src/errors.ts'
import { type Ingest, openIngest } from '../src/event/ingest.ts'
import { Unsettled } from '../src/event/log.ts'
import type { EventLine } from '../src/event/shape.ts'
import { ingestRoutes } from '../src/http/ingest.ts'
import { pixelRoutes, pixelText } from '../src/http/pixel.ts'
import { createServer } from '../src/http/server.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { chromium, noChromium } from './fixtures/chromium.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { lake, sourceRows, tick } from './fixtures/lake.ts'
import './fixtures/checked.ts'

setLogLevel('error')

const made = await database(t)
const { postgres: db } = made
const ingest = await openIngest(db)
/** What goes wrong at the collect host, where something shall. */
let trouble: Ingest['acceptBrowser'] | undefined
const origins = createOrigins(db.pipeline)
const server = createServer([
  ...pixelRoutes({ origins }),
  ...ingestRoutes({
    origins,
    ingest: {
      admit: ingest.admit,
      acceptBrowser: (body, shop) => (trouble ?? ingest.acceptBrowser)(body, shop),
    },
  }),
])
const port = await server.listen('127.0.0.1', 0)
t.teardown(async () => {
  await server.drain(1_000)
  await ingest.close()
})
const collect = `http://127.0.0.1:${port}`

t.test('GET /cdp/pixel.js', async (t) => {
  const get = (headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${collect}/cdp/pixel.js`, { method, headers })

  t.test('is a script of less than 4 KB as it travels, without comments and dependencies', async (t) => {
    const answer = await get()
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-type'), 'text/javascript; charset=utf-8')
    t.equal(answer.headers.get('content-encoding'), 'gzip')
    t.equal(await answer.text(), pixelText())
    const bytes = gzipSync(pixelText(), { level: 9 }).length
    t.equal(answer.headers.get('content-length'), String(bytes))
    t.ok(bytes < 4_096, `${bytes} bytes`)
    t.notMatch(pixelText(), /^\s|\/\/ |\/\*|\bimport\b|\brequire\b/m)
    t.equal(await (await get({ 'accept-encoding': 'identity' })).text(), pixelText())
  })
  t.test('travels uncompressed to who refuses gzip', async (t) => {
    for (const coding of ['gzip;q=0', 'gzip; q=0.0, identity'])
      t.equal((await get({ 'accept-encoding': coding })).headers.get('content-encoding'), null)
  })
  t.test('may be kept for an hour, and is not sent again to who has it', async (t) => {
    const { headers } = await get()
    t.equal(headers.get('cache-control'), 'public, max-age=3600')
    t.equal((await get({ 'if-none-match': headers.get('etag') ?? '' })).status, 304)
    t.equal((await get({ 'if-none-match': '"another"' })).status, 200)
  })
  t.test('answers another method with a message alone, and too many requests with 429', async (t) => {
    const wrong = await get({}, 'POST')
    t.same([wrong.status, await wrong.json()], [404, { message: 'Not Found' }])
    const limits = createLimits(db.pipeline)
    t.teardown(() => limits.close())
    const limited = createServer(pixelRoutes({ origins, limit: limits.collect }))
    const at = await limited.listen('127.0.0.1', 0)
    t.teardown(() => limited.drain(1_000))
    const ask = (referer?: string) =>
      fetch(`http://127.0.0.1:${at}/cdp/pixel.js`, referer ? { headers: { referer } } : {})
    const answers = await Promise.all(Array.from({ length: 150 }, () => ask('not a page')))
    const refused = answers.find(({ status }) => status === 429)
    t.same(await refused?.json(), { message: 'Too Many Requests' })
    t.equal(refused?.headers.get('x-request-id'), null)
    const { shop_domain } = await makeBrand(made)
    t.equal((await ask(`https://${shop_domain}/products`)).status, 200, 'a shop’s pages count by themselves')
  })
})

interface Storefront {
  brand: Brand
  origin: string
  /** Stored lines of the shop, in the order of storage. */
  lines(): Promise<EventLine[]>
  /** The first stored line of this type and with these properties. */
  line(type: string, properties?: Record<string, unknown>): Promise<EventLine>
}

t.test('what is cut off a long text is no half of a character, which the host refuses', async (t) => {
  const shop = 'a.myshopify.com'
  const title = `${'x'.repeat(299)}😀`
  const { promise: sent, resolve } = Promise.withResolvers<string>()
  const currentScript = { src: `https://collect.example/cdp/pixel.js`, dataset: { shop } }
  const document = {
    currentScript,
    title,
    cookie: '',
    referrer: '',
    readyState: 'loading',
    addEventListener() {},
  }
  const location = new URL(`https://${shop}/?utm_source=${'y'.repeat(499)}${encodeURIComponent('😀')}`)
  const page = { document, location, addEventListener() {} }
  const fetch = async (_: string, { body }: { body: string }) => resolve(body)
  runInNewContext(pixelText(), {
    ...page,
    window: page,
    URL,
    URLSearchParams,
    setTimeout: (work: () => void, ms: number) => setTimeout(work, ms).unref(),
    clearTimeout,
    fetch,
  })
  const { properties } = JSON.parse(await sent).events[0]
  t.same([properties.title, properties.utm_source], ['x'.repeat(299), 'y'.repeat(499)])
})

t.test('in the pages of a storefront', { skip: noChromium }, async (t) => {
  const tab = await chromium(t, { scripts: true })
  const pages = new Map<string, string>()
  await tab.host('https://*.myshopify.com/*', (url) => pages.get(url.origin + url.pathname))
  const stub = 'window.recoup = window.recoup || function () { (recoup.q = recoup.q || []).push(arguments) };'

  /** A shop with the pixel in its pages. */
  async function storefront(
    bodies: Record<string, string>,
    attributes = '',
    before = '',
  ): Promise<Storefront> {
    const brand = await makeBrand({ postgres: db })
    const origin = `https://${brand.shop_domain}`
    for (const [path, body] of Object.entries(bodies)) {
      pages.set(
        origin + path,
        `<!doctype html><title>Page ${path}</title><link rel="icon" href="data:,"><script>${stub}${before}</script>
        <script async src="${collect}/cdp/pixel.js" data-shop="${brand.shop_domain}" ${attributes}></script>${body}`,
      )
    }
    const lines = async () => {
      const rows = await db.sql<{ payload: Buffer }[]>`select payload from event_log order by xid, batch_id`
      return rows
        .flatMap(({ payload }) => zstdDecompressSync(payload).toString().split('\n').slice(0, -1))
        .map((line) => JSON.parse(line) as EventLine)
        .filter(({ brand_id }) => brand_id === brand.id)
    }
    const line = (type: string, properties: Record<string, unknown> = {}) =>
      eventually(async () =>
        (await lines()).find(
          (one) =>
            one.event_type === type &&
            Object.entries(properties).every(
              ([name, value]) => (one.properties as Record<string, unknown>)[name] === value,
            ),
        ),
      )
    return { brand, origin, lines, line }
  }
  const types = async ({ lines }: Storefront) => (await lines()).map(({ event_type }) => event_type)
  const visitorOf = () => tab.run('document.cookie.match(/recoup_id=([^;]+)/)?.[1] ?? null')
  const storedKeys = () => tab.run('Object.keys(localStorage).sort().join()')
  const quiet = (t: Test) => t.same(tab.complaints.splice(0), [], 'the browser complained of nothing')

  t.test('a page view says where it was, who, in which session and from which campaign', async (t) => {
    const front = await storefront({ '/': '', '/products/linen': '' })
    await tab.open(`${front.origin}/?utm_source=news&utm_campaign=spring`)
    const first = await front.line('page_viewed')
    t.match(first, {
      origin: 'browser',
      anonymous_id: await visitorOf(),
      event_id: /^[0-9a-f-]{36}$/,
      properties: {
        url: `${front.origin}/?utm_source=news&utm_campaign=spring`,
        path: '/',
        title: 'Page /',
        referrer: '',
        utm_source: 'news',
        utm_campaign: 'spring',
        landing_page: `${front.origin}/?utm_source=news&utm_campaign=spring`,
        session_id: /^[0-9a-f-]{36}$/,
      },
    })
    t.ok(first.received_at - first.occurred_at < 5_000)

    await tab.open(`${front.origin}/products/linen`)
    const { session_id, landing_page, utm_source } = first.properties as Record<string, string>
    t.match(await front.line('page_viewed', { path: '/products/linen' }), {
      anonymous_id: first.anonymous_id,
      properties: { session_id, landing_page, utm_source },
    })

    await tab.run(`{
      const session = JSON.parse(localStorage.recoup_session)
      localStorage.recoup_session = JSON.stringify({ ...session, at: session.at - 30 * 60_000 })
    }`)
    await tab.open(`${front.origin}/products/linen?again`)
    const later = await front.line('page_viewed', { url: `${front.origin}/products/linen?again` })
    const properties = later.properties as Record<string, string>
    t.equal(later.anonymous_id, first.anonymous_id)
    t.not(properties.session_id, session_id)
    t.equal(properties.landing_page, `${front.origin}/products/linen?again`)
    t.equal(properties.utm_source, undefined)
    quiet(t)
  })

  t.test('events come from commands, from what the page declares, from clicks and from forms', async (t) => {
    const front = await storefront(
      {
        '/products/linen': `
          <script type="application/json" data-recoup="product_viewed">{"product_id": "7", "price": "49.00"}</script>
          <button data-recoup="product_added_to_cart" data-recoup-properties='{"product_id":"7"}'><b>Add</b></button>
          <form data-recoup="search_submitted" data-recoup-properties='{"query":"shirt"}' onsubmit="return false">
            <input type="submit"></form>
          <a href="/cart" data-recoup="link_clicked">Cart</a>`,
        '/cart': '',
      },
      '',
      `recoup('track', 'collection_viewed', { collection_id: '3' })`,
    )
    await tab.open(`${front.origin}/products/linen`)
    await tab.click('b')
    await tab.click('input')
    const steps = [
      ...['cart_viewed', 'product_removed_from_cart', 'checkout_started', 'checkout_contact_info_submitted'],
      ...['checkout_address_info_submitted', 'checkout_shipping_info_submitted', 'payment_info_submitted'],
      ...['checkout_completed', 'view'],
    ]
    await tab.run(
      `for (const type of ${JSON.stringify(steps)}) recoup('track', type, { checkout_id: '9', title: 'Mine' })`,
    )
    await tab.run(`recoup('identify', { email: ' Ann@Example.com', phone: '+15550100', plan: 'gold' })`)
    // The page is left at once: what was not sent yet goes with it.
    await tab.leading(() => tab.click('a'))

    await front.line('page_viewed', { path: '/cart' })
    const expected = [
      ...['page_viewed', 'collection_viewed', 'product_viewed', 'product_added_to_cart', 'search_submitted'],
      ...[...steps, 'updateProperties', 'link_clicked', 'page_viewed'],
    ]
    t.same(new Set(await types(front)), new Set(expected))
    t.match(await front.line('product_viewed'), { properties: { product_id: '7', path: '/products/linen' } })
    t.match(await front.line('search_submitted'), { properties: { query: 'shirt' } })
    t.match(await front.line('checkout_completed'), { properties: { checkout_id: '9', title: 'Mine' } })
    const update = await front.line('updateProperties')
    t.match(update, { anonymous_id: await visitorOf(), email: 'ann@example.com', phone: '+15550100' })
    t.same(update.properties, { email: ' Ann@Example.com', phone: '+15550100', plan: 'gold' })
    quiet(t)
  })

  t.test('what is not sent when the last page is left still arrives', async (t) => {
    const front = await storefront({ '/': '' })
    await tab.open(`${front.origin}/`)
    await front.line('page_viewed')
    await tab.run(`recoup('track', 'view'); location.href = 'about:blank'`)
    await front.line('view')
    quiet(t)
  })

  t.test('a denial is sent and remembered, and nothing else is sent or kept after it', async (t) => {
    const front = await storefront({ '/': '', '/next': '' })
    await tab.open(`${front.origin}/`)
    const { anonymous_id } = await front.line('page_viewed')
    await tab.run(
      `recoup('consent', 'denied'); recoup('consent', 'denied'); recoup('track', 'view', { n: 1 })`,
    )
    t.match(await front.line('modifyConsent'), { anonymous_id, properties: { consent: 'denied' } })
    await tab.open(`${front.origin}/next`)
    await tab.run(`recoup('track', 'view', { n: 2 }); recoup('identify', { email: 'ann@example.com' })`)
    t.equal(await visitorOf(), null)
    t.equal(await storedKeys(), 'recoup_consent')
    await tab.run(`recoup('consent', 'granted'); recoup('track', 'view', { n: 3 })`)
    await front.line('view', { n: 3 })
    t.same(await types(front), ['page_viewed', 'modifyConsent', 'modifyConsent', 'view'])
    t.not((await front.line('view')).anonymous_id, anonymous_id, 'somebody new')
    quiet(t)
  })

  t.test('what happens before a choice that is awaited is held back until then', async (t) => {
    const front = await storefront({ '/': '', '/no': '' }, 'data-consent="pending"')
    await tab.open(`${front.origin}/?utm_source=ad`)
    await tab.run(`recoup('track', 'view')`)
    t.equal(await visitorOf(), null)
    t.equal(await storedKeys(), '')
    await tab.run(`recoup('consent', 'granted')`)
    t.match(await front.line('page_viewed'), { properties: { utm_source: 'ad' } })
    await front.line('view')
    t.same((await types(front)).toSorted(), ['modifyConsent', 'page_viewed', 'view'])

    const other = await storefront({ '/': '' }, 'data-consent="pending"')
    await tab.open(`${other.origin}/`)
    await tab.run(`recoup('consent', 'denied')`)
    await other.line('modifyConsent')
    t.same(await types(other), ['modifyConsent'])
    quiet(t)
  })

  t.test('without a network events wait, over pages too, and arrive once when it is back', async (t) => {
    const front = await storefront({ '/': '', '/next': '' })
    await tab.open(`${front.origin}/`)
    await front.line('page_viewed')
    await tab.offline(true)
    await tab.run(`for (let n = 0; n < 130; n++) recoup('track', 'view', { n })`)
    await eventually(() => tab.run('performance.getEntriesByType("resource").length > 1') as Promise<boolean>)
    const waiting = () => tab.run(`Object.keys(localStorage).filter((key) => key.includes('_q.')).length`)
    t.equal(await waiting(), 100, 'the oldest make room')
    await tab.offline(false)
    await tab.open(`${front.origin}/next`)
    await front.line('view', { n: 129 })
    await eventually(async () => (await waiting()) === 0)
    const seen = new Set<unknown>()
    for (const { event_type, properties } of await front.lines())
      if (event_type === 'view') seen.add((properties as { n: number }).n)
    for (let n = 0; n < 130; n++) if (n !== 30) t.equal(seen.has(n), n > 30, `${n}`)
    tab.complaints.length = 0
  })

  t.test('after a 429 and an answer that got lost every event is in the lake once', async (t) => {
    // A frame is a second pixel over the same storage, as another tab would be.
    const front = await storefront({ '/': '<iframe src="/frame"></iframe>', '/frame': '' })
    let calls = 0
    trouble = async (body, shop) => {
      calls++
      if (calls === 1) throw fail('rate_limited', 'slower')
      const accepted = await ingest.acceptBrowser(body, shop)
      if (calls === 2) throw new Unsettled('nobody knows')
      return accepted
    }
    t.teardown(() => {
      trouble = undefined
    })
    await tab.open(`${front.origin}/`)
    await tab.run(`for (let n = 0; n < 10; n++) (n % 2 ? window : frames[0]).recoup('track', 'view', { n })`)
    await eventually(async () => calls >= 3 && !String(await storedKeys()).includes('recoup_q'))
    const stored = await front.lines()
    t.ok(stored.length > 12, `${stored.length} lines`)
    const pipeline = await lake(t, made)
    await tick(pipeline)
    const rows = await sourceRows<{ event_id: string }>(pipeline, front.brand, 'select event_id from events')
    t.same(
      rows.map(({ event_id }) => event_id).toSorted(),
      [...new Set(stored.map((one) => `browser:${one.event_id}`))].sort(),
    )
    t.equal(rows.length, 12)
    tab.complaints.length = 0
  })

  t.test('a page goes on sending after another tab has sent what it could not', async (t) => {
    const counted = `
      const set = window.setTimeout
      window.turns = 0
      window.setTimeout = (work, ms) => set(() => (work(), window.turns++), ms)`
    const front = await storefront({ '/': '' }, '', counted)
    let calls = 0
    trouble = async (body, shop) => {
      if (calls++ === 0) throw fail('rate_limited', 'slower')
      return await ingest.acceptBrowser(body, shop)
    }
    t.teardown(() => {
      trouble = undefined
    })
    await tab.open(`${front.origin}/`)
    await eventually(async () => calls === 1)
    const turns = await tab.run(`{
      for (const key of Object.keys(localStorage)) if (key.startsWith('recoup_q.')) localStorage.removeItem(key)
      window.turns
    }`)
    await eventually(() => tab.run(`turns > ${turns}`) as Promise<boolean>)
    await tab.run(`recoup('track', 'view', { n: 1 })`)
    await front.line('view', { n: 1 })
    tab.complaints.length = 0
  })

  t.test('an event that is not valid keeps no other one back', async (t) => {
    const front = await storefront({ '/': '' })
    await tab.open(`${front.origin}/`)
    await tab.run(`{
      recoup('track', 'no type')
      recoup('track', 'order_created')
      recoup('track', 'view', { text: 'x'.repeat(30_000) })
      recoup('identify', { email: 'nobody', phone: 'none', plan: 'gold' })
      recoup('track', 'view', { n: 1 })
      recoup('no such command', 1)
      recoup('track', 'view', 7)
    }`)
    await front.line('view', { n: 1 })
    await eventually(async () => !String(await storedKeys()).includes('recoup_q'))
    t.same((await types(front)).toSorted(), ['page_viewed', 'updateProperties', 'view', 'view'])
    tab.complaints.length = 0
  })

  t.test('whatever the page does to a browser, nothing is thrown into it', async (t) => {
    const hostile = {
      'no storage': `Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })`,
      'full storage': `Storage.prototype.setItem = () => { throw new Error('full') }`,
      'no cookies': `Object.defineProperty(document, 'cookie', { get() { throw new Error('no') }, set() { throw new Error('no') } })`,
      'no fetch': 'window.fetch = undefined; navigator.sendBeacon = undefined',
      'fetch that throws': `window.fetch = () => { throw new Error('no') }`,
      'no ids': `crypto.randomUUID = undefined`,
      'a frozen recoup': `Object.defineProperty(window, 'recoup', { value: recoup, writable: false, configurable: false })`,
      'junk in storage': `localStorage.recoup_session = '{'; localStorage.recoup_id = '\\u0000'; localStorage.setItem('recoup_q.zzzzzzzz.x', 'junk')`,
      'an id of another': `document.cookie = 'recoup_id=x; path=/'`,
    }
    for (const [what, script] of Object.entries(hostile)) {
      const front = await storefront({ '/': '' }, '', script)
      await tab.open(`${front.origin}/`)
      await tab.run(`recoup('track', 'view'); recoup('identify'); recoup('consent', 'granted'); recoup()`)
      await tab.run(`window.dispatchEvent(new Event('pagehide')); window.dispatchEvent(new Event('online'))`)
      if (!/fetch|frozen/.test(what))
        t.match((await front.line('view')).anonymous_id, /^[0-9a-f-]{32,36}$/, what)
      quiet(t)
    }
  })

  t.test('twice in a page it works once', async (t) => {
    const front = await storefront({ '/': '' })
    const page = pages.get(`${front.origin}/`) ?? ''
    pages.set(`${front.origin}/`, page + (page.match(/<script async.*<\/script>/)?.[0] ?? ''))
    await tab.open(`${front.origin}/`)
    await tab.run(`recoup('track', 'view')`)
    await front.line('view')
    t.same((await types(front)).toSorted(), ['page_viewed', 'view'])
    quiet(t)
  })
})
