// Recoup's pixel: what happens on the pages of a shop, sent to POST /cdp/ingest. docs/pixel.md says how it is used.
// Served as it stands, but without comments, indentation and blanks around operators: no line may start with // or end in
// the middle of a text, and no text may have an operator between blanks.
;(() => {
  const VISITOR = 'recoup_id'
  const SESSION = 'recoup_session'
  const NAMED = 'recoup_named'
  const CONSENT = 'recoup_consent'
  const SINCE = 'recoup_since'
  const QUEUED = 'recoup_q.'
  // The name only where localStorage takes nothing.
  const IN_COOKIES = [VISITOR, NAMED, CONSENT]
  const UTM = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content']
  const MINUTE = 60_000
  const MOST_QUEUED = 100
  const MOST_IN_BATCH = 25
  // Of a body: the host takes no more, nor does a browser when the page is left.
  const MOST_BYTES = 65_536
  // Of a batch of several events, in UTF-16 units, of which UTF-8 takes up to three bytes each.
  const MOST_UNITS = 20_000
  // Of all that waits: browsers keep 5 million units for a shop, which are the shop's.
  const MOST_QUEUED_UNITS = 1_000_000
  const MOST_HELD = 50
  const BATCH_MS = 200

  /** @type {any} */
  const page = window
  /** @type {any} */
  const script = document.currentScript
  const { shop = page.Shopify?.shop, consent: initialConsent = 'granted', auto } = script?.dataset ?? {}
  if (!script?.src || !shop) return
  const host = new URL('ingest', script.src).href

  // Where a browser keeps nothing for this page, it is kept as long as the page.
  /** @type {Record<string, string>} */
  const memory = {}
  // What would be kept, had the visitor chosen: until then it goes with the page.
  /** @type {Record<string, string>} */
  let early = {}
  const attempt = (work) => {
    try {
      return work()
    } catch {
      return undefined
    }
  }
  const cookie = (key) =>
    attempt(() => RegExp(`(?:^|; )${key}=([\\w-]+)(?:;|$)`).exec(document.cookie)?.[1]) ?? ''
  // Pages that may send anything come over https.
  const setCookie = (key, value) =>
    attempt(() => {
      // biome-ignore lint/suspicious/noDocumentCookie: the other interface is not there in every browser
      document.cookie = `${key}=${value}; path=/; max-age=${value ? 34e6 : 0}; samesite=lax; secure`
    })
  const kept = (key) => early[key] ?? memory[key] ?? attempt(() => localStorage.getItem(key)) ?? cookie(key)
  const keep = (key, value) => {
    memory[key] = value
    attempt(() => {
      localStorage.setItem(key, value)
      delete memory[key]
    })
    if (!IN_COOKIES.includes(key)) return
    // First: other tabs hear that the value before it is gone, and look for the new one.
    setCookie(key, key !== NAMED || memory[key] ? value : '')
    if (memory[key]) attempt(() => localStorage.removeItem(key))
  }
  const drop = (key) => {
    delete early[key]
    delete memory[key]
    attempt(() => localStorage.removeItem(key))
    if (IN_COOKIES.includes(key)) setCookie(key, '')
  }
  const consent = () => kept(CONSENT) || initialConsent
  const remember = (key, value) => {
    if (consent() === 'granted') keep(key, value)
    else if (kept(CONSENT) !== 'denied') early[key] = value
  }
  const parsed = (text) => attempt(() => JSON.parse(text))
  // A form of a page may stand in place of what the browser says: `document.title` is a form of that name.
  const cut = (text, most) => (typeof text === 'string' ? text.slice(0, most) : undefined)
  const warn = (...words) => attempt(() => console.warn('recoup:', ...words))
  // The host refuses U+0000 and half of a character. JSON escapes both; an escaped backslash before a u is text.
  const textOf = (value) => JSON.stringify(value).replace(/(\\\\)|\\u(?:0000|d[89a-f]..)/g, '$1')
  const bytesOf = (text) => new TextEncoder().encode(text).length
  const bodyOf = (texts) => `{"source":{"scope":${JSON.stringify(shop)}},"events":[${texts.join()}]}`

  const timeStamp = (ms = Date.now()) => new Date(ms).toJSON()
  // The host takes the time of an event that is a day old for a wrong clock.
  const oldest = () => Date.now() - 864e5
  const random = () =>
    attempt(() => crypto.randomUUID()) ??
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'.replace(/x/g, () => ((Math.random() * 16) | 0).toString(16))

  const visitor = () => [cookie(VISITOR), kept(VISITOR)].find((id) => /^[\w-]{8,64}$/.test(id)) ?? ''
  const madeVisitor = () => {
    const id = visitor() || random()
    keep(VISITOR, id)
    return id
  }
  const dropVisitor = () => {
    for (const key of [VISITOR, NAMED, SESSION]) drop(key)
  }

  // Half an hour without an event ends a session. A campaign counts until the next one, or the session's end.
  const session = () => {
    const now = Date.now()
    const last = parsed(kept(SESSION))
    const isOpen = now - last?.at < 30 * MINUTE
    const current = isOpen ? last : { id: random(), landing_page: cut(location.href, 2_000) }
    current.at = now
    const query = new URLSearchParams(location.search)
    if (UTM.some((name) => query.get(name))) for (const name of UTM) current[name] = cut(query.get(name), 500)
    remember(SESSION, JSON.stringify(current))
    const { id, at, ...rest } = current
    return { session_id: id, ...rest }
  }

  // A key per event, in the order of their time: tabs that share the storage never overwrite each other's.
  const queued = () =>
    [...Object.keys(memory), ...(attempt(() => Object.keys(localStorage)) ?? [])]
      .filter((key) => key.startsWith(QUEUED))
      .sort()

  // An event too large to be sent goes without its largest properties: that it happened counts most.
  const fitting = (event) => {
    const text = textOf(event)
    let excess = bytesOf(bodyOf([text])) - MOST_BYTES
    if (excess <= 0) return text
    const { ...properties } = event.properties
    const sizes = Object.keys(properties).map((name) => ({
      name,
      bytes: bytesOf(textOf({ [name]: properties[name] })) - 1,
    }))
    const without = []
    for (const { name, bytes } of sizes.sort((a, b) => b.bytes - a.bytes)) {
      if (excess <= 0) break
      delete properties[name]
      excess -= bytes
      without.push(name)
    }
    const fits = excess <= 0
    warn(
      event.eventType,
      `is over 64 KB, so it is ${fits ? `sent without: ${without.join(', ')}` : 'not sent'}`,
    )
    return fits ? textOf({ ...event, properties }) : ''
  }

  let stamp = 0
  const enqueue = (event) => {
    const text = fitting(event)
    if (!text) return
    stamp = Math.max(Date.now(), stamp + 1)
    keep(`${QUEUED}${stamp.toString(36)}.${event.eventId}`, text)
    let units = 0
    for (const [index, key] of queued().reverse().entries()) {
      units += kept(key).length
      if (index >= MOST_QUEUED || units > MOST_QUEUED_UNITS) drop(key)
    }
    wait(BATCH_MS)
  }

  /** @type {string[]} */
  let sending = []
  let failures = 0
  let timer = 0

  // What happens meanwhile puts nothing off: a page may never pause.
  const wait = (ms) => {
    if (sending.length > 0 || ((failures > 0 || timer) && ms === BATCH_MS)) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      timer = 0
      send().catch(() => {})
    }, ms)
  }

  const retry = () => {
    failures = 0
    wait(0)
  }

  // What is under way is left out: it is either confirmed or sent again later. A large event goes alone.
  const nextBatch = (underWay) => {
    const first = `${QUEUED}${oldest().toString(36)}`
    const keys = []
    const texts = []
    let units = 0
    for (const key of queued()) {
      const text = kept(key)
      if (key < first || !parsed(text)) drop(key)
      else if (!underWay.includes(key)) {
        units += text.length
        if (keys.length === MOST_IN_BATCH || (keys.length > 0 && units > MOST_UNITS)) break
        keys.push(key)
        texts.push(text)
      }
    }
    return { keys, body: bodyOf(texts) }
  }

  const send = async () => {
    if (sending.length > 0) return
    const { keys, body } = nextBatch([])
    // Another tab has sent what this one could not.
    if (keys.length === 0) {
      failures = 0
      return
    }
    sending = keys
    // A request that needs no preflight, and lives on when the page does not.
    const request = attempt(() => fetch(host, { method: 'POST', body, keepalive: true, credentials: 'omit' }))
    const response = await request?.catch(() => undefined)
    const answer = response?.ok ? {} : await response?.json().catch(() => ({}))
    attempt(() => settle(keys, response?.status ?? 0, answer))
    sending = []
    wait(failures > 0 ? Math.min(MINUTE, 500 * 2 ** failures) * (0.5 + Math.random() / 2) : BATCH_MS)
  }

  // Drops what was stored and what never will be; the rest is sent again with the same ids, so it is recorded once.
  // Status 0: no answer.
  const settle = (keys, status, answer) => {
    const again = status === 0 || status === 429 || status >= 500
    failures = again ? failures + 1 : 0
    if (!again && status >= 300) warn('refused:', answer?.error?.message ?? status)
    const named = answer?.failed ?? answer?.rejected?.map((one) => one.index)
    const isNamed = (index) => Array.isArray(named) && named.includes(index)
    for (const [index, key] of keys.entries()) {
      if (again ? Array.isArray(named) && !isNamed(index) : !(status === 400 && named) || isNamed(index))
        drop(key)
    }
  }

  // Whether it arrives cannot be known, so nothing is dropped: the next page sends it again. What is too much for the
  // browser at once may be followed by less.
  /** @type {string[]} */
  const left = []
  const leave = () => {
    for (;;) {
      const { keys, body } = nextBatch([...sending, ...left])
      if (keys.length === 0) return
      left.push(...keys)
      navigator.sendBeacon(host, body)
    }
  }

  /** @type {any[]} */
  let held = []
  const record = (event) => enqueue({ anonymousId: madeVisitor(), ...event })

  const named = (eventType) => ({
    scope: shop,
    eventType,
    eventId: random(),
    timeStamp: timeStamp(),
  })

  /** @type {(eventType: string, properties?: any, about?: any) => void} */
  const track = (eventType, properties = {}, about = undefined) => {
    const choice = consent()
    if (choice === 'denied') return
    const isUpdate = eventType === 'updateProperties'
    const eventId = naming(about?.eventId, /^.{1,128}$/)
    const event = {
      ...named(eventType),
      ...(eventId && { eventId }),
      ...(isUpdate && identifiers(properties)),
      properties: isUpdate ? properties : { ...here(), ...properties },
    }
    if (choice === 'granted') record(event)
    else if (held.length < MOST_HELD) held.push(event)
  }

  const here = () => ({
    ...session(),
    url: cut(location.href, 2_000),
    path: cut(location.pathname, 500),
    title: cut(document.title, 300),
    referrer: cut(document.referrer, 2_000),
  })

  // What the host would refuse names nobody, and keeps nothing else back.
  const naming = (value, form) => {
    const text = String(value ?? '').trim()
    return form.test(text) && text.length <= 256 && !/[\0-\x1f\x7f]/.test(text) ? text : undefined
  }
  // One of a million: enough to tell that an address is another one, too few to tell which one it was.
  const markOf = (text) => {
    let mark = 0
    for (const unit of text) mark = Math.imul(mark ^ unit.charCodeAt(0), 16_777_619)
    return `${mark >>> 12}`
  }
  // Whoever names another address than the last one is somebody else at the same browser.
  const identifiers = ({ email: address, phone }) => {
    const email = naming(address, /^[^\s@]+@[^\s@]+$/)
    if (email) {
      const mark = markOf(email.toLowerCase())
      if (![mark, ''].includes(kept(NAMED))) reset()
      remember(NAMED, mark)
    }
    return { email, phone: naming(phone, /\p{Nd}/u) }
  }

  // What happened before stays with the visitor who was: what is queued says who, and what is held does from now on.
  const reset = () => {
    const anonymousId = visitor() || random()
    for (const event of held) event.anonymousId ??= anonymousId
    dropVisitor()
  }

  // The choice counts for what this tab holds, whichever tab it was made in; what is from before a denial is not sent.
  const follow = () => {
    const choice = consent()
    if (choice !== 'granted' && choice !== 'denied') return
    if (choice === 'granted') {
      const since = [kept(SINCE), timeStamp(oldest())].sort()[1]
      for (const event of held) if (event.timeStamp >= since) attempt(() => record(event))
      for (const key in early) if (!attempt(() => localStorage.getItem(key))) keep(key, early[key])
    }
    held = []
    early = {}
  }

  // What localStorage has no room for is in no other tab, so that a denial there cannot remove it.
  const forget = () => {
    for (const key of Object.keys(memory)) if (key !== CONSENT) delete memory[key]
  }

  const decide = (choice) => {
    if (choice !== 'granted' && choice !== 'denied') return
    if (choice !== kept(CONSENT)) choose(choice)
    follow()
  }

  const choose = (choice) => {
    const known = choice === 'denied' ? visitor() : madeVisitor()
    if (choice === 'denied') {
      for (const key of [...queued(), SINCE]) drop(key)
      dropVisitor()
    } else {
      if (kept(CONSENT) === 'denied') keep(SINCE, timeStamp())
      for (const key of Object.keys(early)) keep(key, early[key])
    }
    keep(CONSENT, choice)
    enqueue({
      ...named('modifyConsent'),
      ...(known && { anonymousId: known }),
      properties: { consent: choice },
    })
  }

  /** @type {Record<string, (...values: any[]) => void>} */
  const COMMANDS = {
    track,
    identify: ({ ...values }) => track('updateProperties', values),
    reset,
    consent: decide,
    page: (properties) => track('page_viewed', properties),
  }
  // Whatever goes wrong here is no business of the page's.
  const run = (command, ...values) => void attempt(() => COMMANDS[command]?.(...values))

  const on = (type, listener, target = page.document) =>
    target.addEventListener(type, (event) => attempt(() => listener(event)), true)

  // What the page declares: <script type="application/json" data-recoup="product_viewed">{…}</script>.
  const declared = () => {
    for (const element of page.document.querySelectorAll('script[data-recoup]'))
      run('track', element.dataset.recoup, parsed(element.textContent ?? ''))
  }
  const acted = (element) => {
    const { recoup, recoupProperties } = element?.dataset ?? {}
    if (recoup) run('track', recoup, parsed(recoupProperties ?? ''))
  }

  // The browser kept the page while the visitor was elsewhere, so nothing in it runs anew.
  const shownAgain = () => {
    // Not at once, as by a timer of before: the page that is left tells what is not confirmed, too.
    wait(BATCH_MS + 1)
    follow()
    if (auto !== 'off') run('page')
  }
  // By another tab, so that what this one had no room for is older.
  const changed = (key) => {
    delete memory[key]
    if (key !== CONSENT) return
    if (consent() === 'denied') forget()
    follow()
  }

  const begin = () => {
    if (page.recoup.loaded) return
    const waiting = [...(page.recoup.q ?? [])].map((values) => [...values])
    page.recoup = run
    page.recoup.loaded = true
    for (const [command, ...values] of waiting) if (command === 'consent') run(command, ...values)
    // Where the visitor came in counts, wherever the page has gone by the time of the choice.
    if (consent() !== 'granted') session()
    if (auto !== 'off') run('page')
    for (const [command, ...values] of waiting) if (command !== 'consent') run(command, ...values)

    on('click', ({ target }) => acted(target?.closest?.('[data-recoup]:not(form):not(script)')))
    on('submit', ({ target }) => acted(target?.closest?.('form[data-recoup]')))
    on('visibilitychange', () => document.visibilityState === 'hidden' && leave())
    on('pagehide', leave, window)
    on('online', retry, window)
    on('pageshow', ({ persisted }) => persisted && shownAgain(), window)
    on('storage', ({ key }) => changed(key), window)
    if (document.readyState === 'loading') on('DOMContentLoaded', declared)
    else declared()
    wait(BATCH_MS)
  }

  attempt(() => {
    page.recoup ??= (...values) => {
      page.recoup.q = [...(page.recoup.q ?? []), values]
    }
    // A page that the browser loads ahead may never be seen.
    if (page.document.prerendering === true) on('prerenderingchange', begin)
    else begin()
  })
})()
