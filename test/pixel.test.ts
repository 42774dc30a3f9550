import { createHash } from 'node:crypto'
import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
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
import { type Sent, shopBrowser } from './fixtures/shop-browser.ts'
import './fixtures/checked.ts'

setLogLevel('error')

const made = await database(t)
const { postgres: db } = made
// It sheds no load of a busy machine.
const ingest = await openIngest(db, { shedder: { takes: () => true } })
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
const SHOP = 'https://a.myshopify.com'
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
  t.test('may be read by any page, so that it can be included with `crossorigin`', async (t) => {
    t.equal((await get({ origin: SHOP })).headers.get('access-control-allow-origin'), '*')
    t.equal((await get({ 'if-none-match': '*' })).headers.get('access-control-allow-origin'), '*')
  })
  t.test('answers another method with a message alone, and too many requests with 429', async (t) => {
    const wrong = await get({}, 'POST')
    t.same([wrong.status, await wrong.json()], [404, { message: 'Not Found' }])
    // In one instant, however long that takes here.
    const limits = createLimits(db.pipeline, () => 0)
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
  const browser = shopBrowser()
  const campaign = `${'y'.repeat(499)}${encodeURIComponent('😀')}`
  browser.open(`${SHOP}/?utm_source=${campaign}`, {}, `${'x'.repeat(299)}😀`)
  const [view] = await browser.sent(1)
  t.same([view?.properties.title, view?.properties.utm_source], ['x'.repeat(299), 'y'.repeat(499)])
})

const MANUAL = { auto: 'off' }

const NOON = Date.parse('2026-11-30T12:00:00Z')
/** Lets time pass that `mock` keeps, and what waits for it happen. */
const pass = async (ms: number) => {
  mock.timers.tick(ms)
  await setImmediate()
}

t.test('a page that tracks without a pause', async (t) => {
  /** Opens a browser and tracks so many events, one each so many milliseconds. */
  const stream = async (t: Test, count: number, everyMs: number) => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: NOON })
    t.teardown(() => mock.timers.reset())
    const browser = shopBrowser()
    const page = browser.open(SHOP, MANUAL)
    for (let n = 0; n < count; n++) {
      page.recoup('track', 'view', { n })
      await pass(everyMs)
    }
    return browser
  }

  t.test('sends on the way', async (t) => {
    const browser = await stream(t, 40, 50)
    t.ok((await browser.sent(0)).length > 0)
  })
  t.test('loses nothing', async (t) => {
    const browser = await stream(t, 140, 20)
    await pass(400)
    t.strictSame(
      (await browser.sent(0)).map(({ properties }) => properties.n),
      Array.from({ length: 140 }, (_, n) => n),
    )
  })
})

t.test('somebody else at the same browser', async (t) => {
  /** Of each event in turn, who it is of: the first visitor is 0, the next 1. */
  const visitors = (events: Sent[]) => {
    const seen = [...new Set(events.map(({ anonymousId }) => anonymousId))]
    return events.map(({ anonymousId }) => seen.indexOf(anonymousId))
  }
  const viewsOf = (events: Sent[]) => events.filter(({ eventType }) => eventType === 'view')
  const sessions = (events: Sent[]) => new Set(events.map(({ properties }) => properties.session_id))

  t.test(
    'is a new visitor in a new session after a reset, and what waits stays with the first',
    async (t) => {
      const browser = shopBrowser()
      const page = browser.open(SHOP, MANUAL)
      page.recoup('track', 'view')
      page.recoup('reset')
      page.recoup('track', 'view')
      const events = await browser.sent(2)
      t.same(visitors(events), [0, 1])
      t.equal(sessions(events).size, 2)
    },
  )
  t.test('finds nothing of the first after a reset', async (t) => {
    const browser = shopBrowser()
    const page = browser.open(SHOP, MANUAL)
    page.recoup('identify', { email: 'ann@example.com' })
    page.recoup('track', 'view')
    await browser.sent(2)
    await eventually(async () => !Object.keys(browser.storage).join().includes('recoup_q'))
    page.recoup('reset')
    t.same([browser.cookies.size, Object.keys(browser.storage)], [0, []])
  })
  t.test('has the choice that was made in this browser', async (t) => {
    const browser = shopBrowser()
    const page = browser.open(SHOP, { ...MANUAL, consent: 'pending' })
    page.recoup('consent', 'granted')
    page.recoup('reset')
    page.recoup('track', 'view')
    t.same(visitors(await browser.sent(2)), [0, 1])
  })
  t.test('is a new visitor in a new session when identified by another address', async (t) => {
    const browser = shopBrowser()
    const page = browser.open(SHOP, MANUAL)
    for (const email of ['ann@example.com', 'bob@example.com']) {
      page.recoup('identify', { email })
      page.recoup('track', 'view')
    }
    const events = await browser.sent(4)
    t.same(visitors(events), [0, 0, 1, 1])
    t.equal(sessions(viewsOf(events)).size, 2)
  })
  t.test('is one on a later page, where a mark of the address is kept and not the address', async (t) => {
    const browser = shopBrowser()
    browser.open(SHOP, MANUAL).recoup('identify', { email: 'ann@example.com' })
    t.match(browser.storage.recoup_named, /^\d{1,7}$/)
    browser.open(SHOP, MANUAL).recoup('identify', { email: 'bob@example.com' })
    t.same(visitors(await browser.sent(2)), [0, 1])
  })
  t.test('is one by an event that identifies, too', async (t) => {
    const browser = shopBrowser()
    const page = browser.open(SHOP, MANUAL)
    page.recoup('track', 'updateProperties', { email: 'ann@example.com' })
    page.recoup('track', 'updateProperties', { email: 'bob@example.com' })
    t.same(visitors(await browser.sent(2)), [0, 1])
  })
  t.test('is not who writes the address otherwise, or names none', async (t) => {
    const browser = shopBrowser()
    const page = browser.open(SHOP, MANUAL)
    for (const email of ['ann@example.com', ' Ann@Example.COM ', undefined, 'nobody', 'ann@example.com'])
      page.recoup('identify', { email, plan: 'gold' })
    t.same(visitors(await browser.sent(5)), [0, 0, 0, 0, 0])
  })
  const changes: [command: string, values?: object][] = [
    ['reset'],
    ['identify', { email: 'bob@example.com' }],
  ]
  for (const change of changes)
    t.test(`is told apart in what was held back, by ${change[0]}`, async (t) => {
      const browser = shopBrowser()
      const page = browser.open(SHOP, { ...MANUAL, consent: 'pending' })
      page.recoup('identify', { email: 'ann@example.com' })
      page.recoup('track', 'view')
      page.recoup(...change)
      page.recoup('track', 'view')
      page.recoup('consent', 'granted')
      const events = await browser.sent(change[0] === 'reset' ? 4 : 5)
      const views = viewsOf(events)
      t.same(visitors(views), [0, 1])
      t.equal(sessions(views).size, 2)
      const choice = events.find(({ eventType }) => eventType === 'modifyConsent')
      t.equal(choice?.anonymousId, views[1]?.anonymousId, 'who chose')
    })
})

t.test('before a choice', async (t) => {
  const landing = `${SHOP}/?utm_source=newsletter`
  const viewsOf = (events: Sent[]) => events.filter(({ eventType }) => eventType === 'page_viewed')

  t.test('events are of where the page was then, and of the campaign that the visitor came by', async (t) => {
    const browser = shopBrowser()
    const page = browser.open(landing, { consent: 'pending' })
    page.go('/products/linen')
    page.recoup('page')
    page.recoup('consent', 'granted')
    page.go('/cart')
    page.recoup('page')
    const views = viewsOf(await browser.sent(4)).map(({ properties }) => properties)
    t.same(
      views.map(({ path, utm_source, landing_page }) => [path, utm_source, landing_page]),
      ['/', '/products/linen', '/cart'].map((path) => [path, 'newsletter', landing]),
    )
    t.equal(new Set(views.map(({ session_id }) => session_id)).size, 1)
  })
  for (const attributes of [{ consent: 'denied' }, { ...MANUAL, consent: 'pending' }])
    t.test(`where the visitor came in counts when ${attributes.consent}, with nothing held`, async (t) => {
      const browser = shopBrowser()
      const page = browser.open(landing, attributes)
      page.go('/products/linen')
      page.recoup('consent', 'granted')
      page.recoup('page')
      const [view] = viewsOf(await browser.sent(2))
      t.match(view?.properties, { utm_source: 'newsletter', landing_page: landing })
    })
  t.test('a page keeps what it knows when the choice is made in another one', async (t) => {
    const browser = shopBrowser()
    const first = browser.open(landing, { consent: 'pending' })
    first.recoup('identify', { email: 'ann@example.com' })
    const other = browser.open(`${SHOP}/other`, { ...MANUAL, consent: 'pending' })
    other.recoup('consent', 'granted')
    first.hears('recoup_consent')
    first.recoup('identify', { email: 'bob@example.com' })
    const named = (await browser.sent(4)).filter(({ eventType }) => eventType === 'updateProperties')
    t.equal(new Set(named.map(({ anonymousId }) => anonymousId)).size, 2, 'and so tells people apart')
  })
  t.test('nothing is kept in the browser', async (t) => {
    const { open, cookies, storage } = shopBrowser()
    const page = open(landing, { consent: 'pending' })
    page.recoup('identify', { email: 'ann@example.com' })
    page.recoup('reset')
    page.recoup('page')
    t.same([cookies.size, Object.keys(storage)], [0, []])
  })
  t.test('nothing is held for longer than a day', async (t) => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: NOON })
    t.teardown(() => mock.timers.reset())
    const browser = shopBrowser()
    const page = browser.open(landing, { ...MANUAL, consent: 'pending' })
    for (const [n, hours] of [0, 2, 24].entries()) {
      await pass(hours * 3_600_000)
      page.recoup('track', 'view', { n })
    }
    page.recoup('consent', 'granted')
    await pass(1_000)
    const views = (await browser.sent(0)).filter(({ eventType }) => eventType === 'view')
    t.strictSame(
      views.map(({ properties }) => properties.n),
      [1, 2],
    )
  })
  t.test('nothing of before a denial counts after it', async (t) => {
    const browser = shopBrowser()
    const page = browser.open(landing, { consent: 'pending' })
    page.recoup('consent', 'denied')
    page.go('/products/linen')
    page.recoup('consent', 'granted')
    page.recoup('page')
    const [view] = viewsOf(await browser.sent(3))
    t.match(view?.properties, { utm_source: undefined, landing_page: `${SHOP}/products/linen` })
  })
})

t.test('where the browser’s storage takes nothing', async (t) => {
  const typesOf = (events: Sent[]) => events.map(({ eventType }) => eventType)

  t.test('a denial counts on the next page', async (t) => {
    const browser = shopBrowser()
    browser.refuse()
    browser.open(SHOP, MANUAL).recoup('consent', 'denied')
    const next = browser.open(SHOP, MANUAL)
    next.recoup('track', 'view')
    next.recoup('consent', 'granted')
    t.strictSame(typesOf(await browser.sent(2)), ['modifyConsent', 'modifyConsent'])
  })
  t.test('a denial counts more than the choice that it took before', async (t) => {
    const browser = shopBrowser()
    const page = browser.open(SHOP, MANUAL)
    page.recoup('consent', 'granted')
    await browser.sent(1)
    browser.refuse()
    page.recoup('consent', 'denied')
    const next = browser.open(SHOP, MANUAL)
    next.recoup('track', 'view')
    next.recoup('consent', 'granted')
    t.strictSame(typesOf(await browser.sent(3)), ['modifyConsent', 'modifyConsent', 'modifyConsent'])
  })
  t.test('somebody else is one on the next page', async (t) => {
    const browser = shopBrowser()
    browser.refuse()
    browser.open(SHOP, MANUAL).recoup('identify', { email: 'ann@example.com' })
    browser.open(SHOP, MANUAL).recoup('identify', { email: 'bob@example.com' })
    const [ann, bob] = await browser.sent(2)
    t.not(ann?.anonymousId, bob?.anonymousId)
  })
  t.test('nothing of the first is left after a reset', async (t) => {
    const browser = shopBrowser()
    browser.refuse()
    const page = browser.open(SHOP, MANUAL)
    page.recoup('identify', { email: 'ann@example.com' })
    t.strictSame([...browser.cookies.keys()].toSorted(), ['recoup_id', 'recoup_named'])
    page.recoup('reset')
    t.equal(browser.cookies.size, 0)
  })
})

t.test('a page that the browser loads ahead', async (t) => {
  const ahead = (t: Test) => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: NOON })
    t.teardown(() => mock.timers.reset())
    const browser = shopBrowser()
    const page = browser.open(SHOP, {}, '', true)
    return { browser, page }
  }

  t.test('tells nothing until the visitor comes to it', async (t) => {
    const { browser, page } = ahead(t)
    page.recoup('track', 'view')
    await pass(1_000)
    t.strictSame([await browser.sent(0), browser.cookies.size, Object.keys(browser.storage)], [[], 0, []])
  })
  t.test('tells what it was told then, in the order of any page', async (t) => {
    const { browser, page } = ahead(t)
    page.recoup('track', 'view')
    page.recoup('consent', 'granted')
    page.enter()
    page.recoup('track', 'last')
    await pass(1_000)
    t.strictSame(
      (await browser.sent(0)).map(({ eventType }) => eventType),
      ['modifyConsent', 'page_viewed', 'view', 'last'],
    )
  })
})

t.test('of what a page says about an event', async (t) => {
  const purchase = async (about: unknown) => {
    const browser = shopBrowser()
    browser.open(SHOP, MANUAL).recoup('track', 'checkout_completed', { order_id: '1' }, about)
    const [event] = await browser.sent(1)
    return event as Sent
  }

  t.test('the id is taken, so that a page loaded again tells the same event', async (t) => {
    t.equal((await purchase({ eventId: 'order-1' })).eventId, 'order-1')
    t.equal((await purchase({ eventId: 1 })).eventId, '1')
  })
  t.test('an id that the host would refuse keeps no event back', async (t) => {
    for (const about of [{ eventId: 'x'.repeat(129) }, { eventId: 'a\nb' }, { eventId: ' ' }, {}, null])
      t.match((await purchase(about)).eventId, /^[0-9a-f]{32}$/)
  })
  t.test('nothing else is taken', async (t) => {
    const other = {
      scope: 'other.myshopify.com',
      eventType: 'view',
      anonymousId: 'ann',
      email: 'a@example.com',
    }
    const event = await purchase({ ...other, eventId: 'order-1' })
    t.match(event, { scope: new URL(SHOP).host, eventType: 'checkout_completed', email: undefined })
    t.not(event.anonymousId, 'ann')
  })
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
    t.ok(first.received_at - first.occurred_at < 60_000)

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
    await tab.run(`recoup('identify', { email: ' Ann@Example.com', phone: '+١٥٥٥٠١٠٠', plan: 'gold' })`)
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
    t.match(update, { anonymous_id: await visitorOf(), email: 'ann@example.com', phone: '+١٥٥٥٠١٠٠' })
    t.same(update.properties, { email: ' Ann@Example.com', phone: '+١٥٥٥٠١٠٠', plan: 'gold' })
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

  t.test('after a reset every tab goes on as the same new visitor', async (t) => {
    const front = await storefront({ '/': '<iframe src="/frame"></iframe>', '/frame': '' })
    await tab.open(`${front.origin}/`)
    const { anonymous_id } = await front.line('page_viewed', { path: '/frame' })
    await tab.run(`recoup('reset')`)
    t.equal(await visitorOf(), null)
    await tab.run(`frames[0].recoup('track', 'view', { n: 1 }); recoup('track', 'view', { n: 2 })`)
    const { anonymous_id: next } = await front.line('view', { n: 1 })
    t.not(next, anonymous_id)
    t.equal((await front.line('view', { n: 2 })).anonymous_id, next)
    quiet(t)
  })

  t.test('a page may include it with a hash, which needs crossorigin', async (t) => {
    const hash = createHash('sha256').update(pixelText()).digest('base64')
    const front = await storefront({ '/': '' }, `crossorigin integrity="sha256-${hash}"`)
    await tab.open(`${front.origin}/`)
    await front.line('page_viewed')
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
    t.same((await types(front)).toSorted(), ['page_viewed', 'updateProperties', 'view', 'view', 'view'])
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

  t.test('forms that stand in place of what the browser says keep no event back', async (t) => {
    const names = ['title', 'referrer', 'cookie']
    const front = await storefront({ '/': names.map((name) => `<form name="${name}"></form>`).join('') })
    await tab.open(`${front.origin}/`)
    await tab.run(`recoup('track', 'view')`)
    t.match((await front.line('view', { path: '/' })).properties, { title: undefined, referrer: undefined })
    quiet(t)
  })

  t.test('characters that the host refuses are left out, wherever they come from', async (t) => {
    const front = await storefront({ '/': '', '/next': '' })
    await tab.open(`${front.origin}/?utm_source=a%00b&utm_campaign=spring`)
    t.match(await front.line('page_viewed', { path: '/' }), {
      properties: { utm_source: 'ab', utm_campaign: 'spring' },
    })
    await tab.open(`${front.origin}/next`)
    t.match(await front.line('page_viewed', { path: '/next' }), { properties: { utm_source: 'ab' } })
    await tab.run(String.raw`{
      document.title = 'Linen \ud83d…'
      recoup('track', 'view', {
        n: 1,
        'na\0me\udc00': [{ 'k\ud800': '\ud800\0\udc00', path: 'C:\\ud800 \\\ud800', whole: '😀 \\u0000 \n' }],
      })
      recoup('identify', { email: 'ann\x01@example.com', phone: '+1555\t0100', first_name: 'Ann\ud83d' })
    }`)
    const { properties } = await front.line('view', { n: 1 })
    t.match(properties, {
      title: 'Linen …',
      name: [{ k: '', path: String.raw`C:\ud800 ${'\\'}`, whole: '😀 \\u0000 \n' }],
    })
    const update = await front.line('updateProperties')
    t.same([update.email, update.phone], [undefined, undefined], 'what names nobody keeps nothing back')
    t.match(update.properties, { first_name: 'Ann' })
    quiet(t)
  })

  const hearing = `window.said = []; console.warn = (...said) => window.said.push(said.join(' '))`
  const said = () => tab.run('said.splice(0)') as Promise<string[]>

  t.test('an event may be as large as the host takes it', async (t) => {
    const front = await storefront({ '/': '' }, 'data-auto="off"', hearing)
    await tab.open(`${front.origin}/`)
    const items = Array.from({ length: 150 }, (_, index) => ({
      product_id: `${index}`,
      title: 'é'.repeat(100),
    }))
    await tab.run(`recoup('track', 'checkout_started', { items: ${JSON.stringify(items)} })`)
    t.same(((await front.line('checkout_started')).properties as { items: unknown }).items, items)

    // To the byte: what the body of an event has beside its text is seen from a body that has none.
    const bodies: string[] = []
    trouble = async (body, shop) => {
      bodies.push(String(body))
      return await ingest.acceptBrowser(body, shop)
    }
    t.teardown(() => {
      trouble = undefined
    })
    await tab.run(`recoup('track', 'view', { n: 1, text: '' })`)
    await front.line('view', { n: 1 })
    const room = 65_536 - Buffer.byteLength(bodies[0] ?? '')
    const text = `${'€'.repeat(Math.floor(room / 3))}${'x'.repeat(room % 3)}`
    await tab.run(`{
      const text = ${JSON.stringify(text)}
      recoup('track', 'view', { n: 2, text })
      recoup('track', 'view', { n: 3, text: text + 'x', brief: 'kept' })
      recoup('track', 'view', { n: 4 })
    }`)
    await front.line('view', { n: 4 })
    t.equal(((await front.line('view', { n: 2 })).properties as { text: string }).text, text)
    const tooLarge = (await front.line('view', { n: 3 })).properties as Record<string, unknown>
    t.same([tooLarge.text, tooLarge.brief], [undefined, 'kept'], 'what is too large goes without its largest')
    t.match(await said(), [/^recoup: view .*64 KB.*: text$/])
    await tab.run(`recoup('track', 'x'.repeat(70_000)); recoup('track', 'no type')`)
    const [lost, refused] = await eventually(async () => {
      const heard = (await tab.run('said')) as string[]
      return heard.length === 2 && heard
    })
    t.match(lost, /^recoup: x+ .*64 KB/)
    t.match(refused, /^recoup: .*events\[0\]\.eventType: must be a letter/)
    tab.complaints.length = 0
  })

  t.test('a large event keeps none from leaving with the page', async (t) => {
    const front = await storefront({ '/': '' }, 'data-auto="off"')
    await tab.open(`${front.origin}/`)
    await tab.run(`{
      for (const n of [1, 2]) recoup('track', 'view', { n, text: 'x'.repeat(60_000) })
      recoup('track', 'view', { n: 3 })
      location.href = 'about:blank'
    }`)
    await front.line('view', { n: 1 })
    await front.line('view', { n: 3 })
    quiet(t)
  })

  t.test('large events that wait leave the shop most of the storage', async (t) => {
    const front = await storefront({ '/': '' }, 'data-auto="off"')
    await tab.open(`${front.origin}/`)
    await tab.offline(true)
    await tab.run(`for (let n = 0; n < 40; n++) recoup('track', 'view', { n, text: 'x'.repeat(60_000) })`)
    const stored = (await tab.run('Object.values(localStorage).join().length')) as number
    t.ok(stored < 1_000_000 && stored > 900_000, `${stored} characters`)
    await tab.offline(false)
    await tab.run(`window.dispatchEvent(new Event('online'))`)
    await front.line('view', { n: 39 })
    tab.complaints.length = 0
  })

  t.test('a choice counts for what other tabs hold', async (t) => {
    // A frame is a second pixel over the same storage, as another tab would be.
    const pending = () =>
      storefront({ '/': '<iframe src="/frame"></iframe>', '/frame': '' }, 'data-consent="pending"')
    // Two tabs may send the same event, which counts once.
    const once = async ({ lines }: Storefront) =>
      [...new Map((await lines()).map((line) => [line.event_id, line.event_type])).values()].sort()

    await t.test('which are told of it too', async (t) => {
      const front = await pending()
      await tab.open(`${front.origin}/`)
      await tab.run(`recoup('consent', 'granted'); frames[0].recoup('consent', 'granted')`)
      await front.line('page_viewed', { path: '/frame' })
      t.same(await once(front), ['modifyConsent', 'page_viewed', 'page_viewed'])
    })
    await t.test('or hear of it by themselves', async () => {
      const front = await pending()
      await tab.open(`${front.origin}/`)
      await tab.run(`recoup('consent', 'granted')`)
      await front.line('page_viewed', { path: '/frame' })
    })
    for (const told of ['', `frames[0].recoup('consent', 'denied')`])
      await t.test(`nothing from before a denial is sent after it${told && ', told'}`, async (t) => {
        const front = await pending()
        await tab.open(`${front.origin}/`)
        await tab.run(`recoup('consent', 'denied'); ${told}`)
        await front.line('modifyConsent', { consent: 'denied' })
        await tab.run(`frames[0].recoup('consent', 'granted'); frames[0].recoup('track', 'view', { n: 1 })`)
        await front.line('view', { n: 1 })
        t.same(await once(front), ['modifyConsent', 'modifyConsent', 'view'])
      })
    await t.test('nor what had no room in the storage that tabs share', async (t) => {
      const front = await storefront({ '/': '<iframe src="/frame"></iframe>', '/frame': '' })
      await tab.open(`${front.origin}/`)
      await front.line('page_viewed', { path: '/frame' })
      await tab.run(`{
        frames[0].Storage.prototype.setItem = () => { throw new Error('full') }
        frames[0].recoup('track', 'view', { n: 1 })
        recoup('consent', 'denied')
      }`)
      await front.line('modifyConsent', { consent: 'denied' })
      await tab.run(`recoup('consent', 'granted'); frames[0].recoup('track', 'view', { n: 2 })`)
      await front.line('view', { n: 2 })
      t.same((await front.lines()).filter(({ event_type }) => event_type === 'view').length, 1)
    })
    await t.test('nor where both choices are made at once', async (t) => {
      const front = await pending()
      await tab.open(`${front.origin}/`)
      await tab.run(
        `recoup('consent', 'denied'); recoup('consent', 'granted'); recoup('track', 'view', { n: 1 })`,
      )
      await front.line('view', { n: 1 })
      await tab.run(`frames[0].recoup('track', 'view', { n: 2 })`)
      await front.line('view', { n: 2 })
      t.same(await once(front), ['modifyConsent', 'modifyConsent', 'view', 'view'])
    })
    quiet(t)
  })

  t.test('a page that the browser kept and shows again is viewed again', async (t) => {
    const front = await storefront({ '/': '', '/next': '' })
    await tab.open(`${front.origin}/`)
    await front.line('page_viewed', { path: '/' })
    await eventually(async () => !String(await storedKeys()).includes('recoup_q'))
    await tab.run(`addEventListener('pageshow', ({ persisted }) => { window.isBack = persisted })`)
    await tab.open(`${front.origin}/next`)
    await front.line('page_viewed', { path: '/next' })
    await eventually(async () => !String(await storedKeys()).includes('recoup_q'))
    await tab.run('history.back()')
    await eventually(async () => (await tab.run('window.isBack')) === true)
    const views = await eventually(async () => {
      const lines = await front.lines()
      return lines.length > 2 && lines
    })
    t.same(
      views.map(({ event_type, properties }) => [event_type, (properties as { path: string }).path]),
      [
        ['page_viewed', '/'],
        ['page_viewed', '/next'],
        ['page_viewed', '/'],
      ],
    )
    quiet(t)
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
