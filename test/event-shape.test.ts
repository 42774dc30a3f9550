import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CHECKOUT } from '../src/config.ts'
import { Failure } from '../src/errors.ts'
import { checkBrowserEvents } from '../src/event/browser.ts'
import { NO_IDS } from '../src/event/id.ts'
import { quickBrowserEvents, quickEvents } from '../src/event/quick.ts'
import { type Checked, checkEvents, type EventLine } from '../src/event/shape.ts'
import { walk } from '../src/event/walk.ts'
import { parseTime } from '../src/time.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'

const BRAND = '018f4e3e-1111-7222-8333-444444444444'
const NOW = Date.parse('2026-11-30T12:00:00.000Z')
const DAY = 86_400_000
const GRAMMAR = 'xy7 \n{}[]",:\\u0-1.eE+/atfn'
const event = { eventType: 'product_viewed', email: 'ann@example.com', properties: {} }

const bytes = (body: unknown) => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
const check = (body: unknown) => checkEvents(bytes(body), BRAND, NOW)
const quick = (body: unknown) => quickEvents(bytes(body), BRAND, NOW)
const one = (changes: object) => ({ events: [{ ...event, ...changes }] })
/** An event with properties of this JSON text. */
const withProperties = (json: string) => `{"events":[{"eventType":"a","email":"a@b.c","properties":${json}}]}`
const linesOf = ({ lines }: Checked): EventLine[] =>
  lines
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
const line = (changes: object) => linesOf(check(one(changes)))[0] as EventLine
const quickLine = (changes: object) => linesOf(quick(one(changes)) as Checked)[0]

interface Refusal {
  message: string
  rejected: { index: number; path: string; message: string }[]
}

/** Microseconds of CPU time, of several times the one in the middle. */
function cpuOf(work: () => unknown): number {
  const times = Array.from({ length: 9 }, () => {
    const from = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(from)
    return user + system
  })
  return times.toSorted((a, b) => a - b)[4] as number
}
/** An object of so many names. */
const many = (count: number, first: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${first}${n}`, 0]))

/** Why a body is refused; its 400 must be what refuses it. */
function refusal(body: unknown, checked: (body: unknown) => unknown = check): Refusal {
  try {
    checked(body)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'bad_request') throw error
    return { message: error.message, rejected: (error.beside.rejected ?? []) as Refusal['rejected'] }
  }
  throw new Error('the body was accepted')
}
const paths = (body: unknown) => refusal(body).rejected.map(({ path }) => path)
const refusesField = (changes: object) =>
  refusal(one(changes))
    .rejected.map(({ path, message }) => `${path} ${message}`)
    .join('; ')

t.test('the body', async (t) => {
  t.test(
    'what is not a JSON object with one to fifty events is refused with a text that says so',
    async (t) => {
      const cases: [body: unknown, says: RegExp][] = [
        ['', /empty/],
        ['{"events":', /not valid JSON/],
        ['\u{feff}{"events":[]}', /not valid JSON/],
        ['[]', /must be a JSON object/],
        ['null', /must be a JSON object/],
        ['7', /must be a JSON object/],
        ['{}', /events: must be an array/],
        [{ events: {} }, /events: must be an array/],
        [{ events: [] }, /at least one/],
        [{ events: Array(51).fill(event) }, /at most 50 events, got 51/],
        [{ events: [event], scope: 'shop' }, /"scope": is not a field/],
      ]
      for (const [body, says] of cases) {
        t.match(refusal(body).message, says)
        t.equal(quick(body), undefined)
      }
      t.equal(check({ events: Array(50).fill(event) }).events, 50)
    },
  )
  t.test('bytes that are not UTF-8 are refused, not replaced', async (t) => {
    const body = Buffer.concat([
      bytes('{"events":[{"eventType":"a","email":"a@b.c","properties":{"x":"'),
      Buffer.from([0xff]),
      bytes('"}}]}'),
    ])
    t.throws(() => checkEvents(body, BRAND, NOW), /not valid UTF-8/)
    t.equal(quickEvents(body, BRAND, NOW), undefined)
  })
})

t.test('an event', async (t) => {
  t.test('its line has the brand, the times in milliseconds and what was sent', async (t) => {
    const sent = {
      eventType: 'product_viewed',
      eventId: 'e-1',
      timeStamp: '2026-11-30T11:59:59.500Z',
      profileId: 'p1',
      anonymousId: 'a1',
      email: 'ann@example.com',
      phone: '+15550100',
      storeCustomerId: 77,
      properties: { price: '9.90', tags: ['x', null, true], nested: { a: 1.5 } },
    }
    const expected = {
      brand_id: BRAND,
      event_id: 'e-1',
      event_type: 'product_viewed',
      received_at: NOW,
      occurred_at: NOW - 500,
      profile_id: 'p1',
      anonymous_id: 'a1',
      email: 'ann@example.com',
      phone: '+15550100',
      store_customer_id: '77',
      properties: sent.properties,
    }
    t.same(linesOf(check({ events: [sent] })), [expected])
    t.same(linesOf(quick({ events: [sent] }) as Checked), [expected])
  })
  t.test('fields that were not sent, or are null, are not in its line', async (t) => {
    t.same(Object.keys(line({ eventId: null, phone: null })), [
      'brand_id',
      'received_at',
      'occurred_at',
      'event_type',
      'email',
      'properties',
    ])
  })
  t.test('identifiers are trimmed and emails lowered', async (t) => {
    t.match(line({ email: '  Ann@Example.COM ', phone: ' +1 555 0100 ', profileId: ' p 1 ' }), {
      email: 'ann@example.com',
      phone: '+1 555 0100',
      profile_id: 'p 1',
    })
  })
  t.test('scope, shopDomain and source are refused by their path', async (t) => {
    for (const field of ['scope', 'shopDomain', 'source']) {
      t.same(refusal({ events: [event, event, event, { ...event, [field]: 'x' }] }).rejected, [
        {
          index: 3,
          path: `events[3].${field}`,
          message: 'must not be sent: the API key decides whose event it is',
        },
      ])
    }
  })
  t.test('an unknown field is refused by its name', async (t) => {
    t.match(
      refusesField({ userId: 'u' }),
      /^events\[0\]\.userId is not a field of an event; known are eventType/,
    )
    t.match(refusesField({ 'a b': 1 }), /^events\[0\]\["a b"\] is not a field/)
    t.match(
      paths(`{"events":[{"eventType":"a","email":"a@b.c","properties":{},"__proto__":{"email":"x@y.z"}}]}`),
      ['events[0].__proto__'],
    )
  })
  t.test('an eventType is a letter, then letters, digits or underscores, at most 64 in all', async (t) => {
    for (const eventType of ['a', 'Z9_', 'x'.repeat(64)]) {
      t.equal(line({ eventType }).event_type, eventType)
      t.ok(quick(one({ eventType })))
    }
    for (const eventType of ['', '1a', '_a', 'a-b', 'a b', 'ä', 'x'.repeat(65), 7, null, undefined]) {
      t.match(refusesField({ eventType }), /^events\[0\]\.eventType must be a letter/)
      t.equal(quick(one({ eventType })), undefined)
    }
  })
  t.test('properties must be an object', async (t) => {
    for (const properties of [undefined, null, [], 'x', 7]) {
      t.match(refusesField({ properties }), /^events\[0\]\.properties must be an object/)
      t.equal(quick(one({ properties })), undefined)
    }
  })
  t.test('an event about nobody is refused', async (t) => {
    t.match(refusesField({ email: undefined }), /^events\[0\] must say who it is about/)
    t.equal(quick(one({ email: undefined })), undefined)
  })
  t.test('an identifier is a string of 1 to 256 characters without control characters', async (t) => {
    for (const value of ['', '   ', 'x'.repeat(257), 7.5, {}, [], true, 'a\u0000b', 'a\u001fb', '\ud800']) {
      for (const field of ['profileId', 'anonymousId', 'storeCustomerId']) {
        t.match(
          refusesField({ [field]: value }),
          new RegExp(`^events\\[0\\]\\.${field} must `),
          JSON.stringify(value),
        )
        t.equal(quick(one({ [field]: value })), undefined)
      }
    }
    t.equal(line({ profileId: '😀'.repeat(256) }).profile_id, '😀'.repeat(256))
    t.match(refusesField({ email: 'nobody' }), /email must be an email address/)
    t.match(refusesField({ email: 'a@b@c' }), /email must be an email address/)
    t.match(refusesField({ phone: 'none' }), /phone must be a phone number/)
    t.equal(line({ phone: '٠٥٠١٢٣٤٥٦٧' }).phone, '٠٥٠١٢٣٤٥٦٧', 'the digits of any script')
  })
  t.test('a word that stands for no id is refused where an id is due', async (t) => {
    for (const field of ['profileId', 'anonymousId', 'storeCustomerId']) {
      for (const value of [...NO_IDS, 'Undefined', ' NULL ', '\\N', '[object Object]']) {
        t.match(
          refusesField({ [field]: value }),
          new RegExp(`^events\\[0\\]\\.${field} must be an id`),
          value,
        )
        t.equal(quick(one({ [field]: value })), undefined, value)
      }
    }
    for (const storeCustomerId of [0, 'gid://shopify/Customer/undefined']) {
      t.match(refusesField({ storeCustomerId }), /^events\[0\]\.storeCustomerId must be an id/)
      t.equal(quick(one({ storeCustomerId })), undefined)
    }
    for (const field of ['profileId', 'phone'])
      t.match(refusesField({ [field]: { toString: 1 } }), new RegExp(`^events\\[0\\]\\.${field} must be`))
    t.equal(quickLine({ storeCustomerId: '00' })?.store_customer_id, '00')
    t.equal(quickLine({ profileId: 'guests' })?.profile_id, 'guests')
  })
  t.test('a store’s id as its own API writes it is the id alone', async (t) => {
    const storeCustomerId = 'gid://shopify/Customer/6940095564'
    t.equal(line({ storeCustomerId }).store_customer_id, '6940095564')
    t.equal(quick(one({ storeCustomerId })), undefined)
  })
  t.test('a store’s id of something else than a customer is refused', async (t) => {
    for (const storeCustomerId of [
      'gid://shopify/Order/8001',
      ' gid://shopify/Order/8001',
      'gid://shopify/Company/Customer/8001',
    ]) {
      t.equal(
        refusesField({ storeCustomerId }),
        'events[0].storeCustomerId must be the id of a customer, such as gid://shopify/Customer/1',
      )
      t.equal(quick(one({ storeCustomerId })), undefined)
    }
    t.equal(line({ profileId: 'gid://shopify/Order/8001' }).profile_id, 'gid://shopify/Order/8001')
  })
  t.test('a phone that alone says who it is has the digits of a number', async (t) => {
    const alone = (phone: string) => one({ email: undefined, phone })
    for (const phone of ['1', '+1 555 01', '٠٥٠١٢٣']) {
      t.match(refusal(alone(phone)).message, /events\[0\]\.phone: must have at least 7 digits/, phone)
      t.equal(quick(alone(phone)), undefined, phone)
      t.equal(line({ phone }).phone, phone, 'an email says who it is')
    }
    for (const phone of ['+290 1234', '٠٥٠١٢٣٤']) t.equal(check(alone(phone)).events, 1, phone)
    t.ok(quick(alone('+290 1234')))
  })
  t.test('an email that is too long to identify anybody is none', async (t) => {
    // As they are stored, in lower case, the second ones are twice as long as the first ones were.
    for (const local of ['😀'.repeat(252), 'İ'.repeat(252)]) {
      const email = `${local}@b.c`
      t.match(refusesField({ email }), /email must be an email address/)
      t.match(
        refusesField({ email: undefined, eventType: 'updateProperties', properties: { email } }),
        /must say who it is about/,
      )
    }
    const identifies = `${'é'.repeat(252)}@b.c`
    t.equal(line({ email: identifies }).email, identifies)
  })
  t.test('an eventId is a string of 1 to 128 characters', async (t) => {
    t.equal(line({ eventId: 'é'.repeat(128) }).event_id, 'é'.repeat(128))
    for (const eventId of ['', 'x'.repeat(129), 7, {}])
      t.match(refusesField({ eventId }), /^events\[0\]\.eventId must/)
  })
  t.test('a repeated eventId is left out and counted, the first wins', async (t) => {
    const events = ['a', 'b', 'a', undefined, undefined, 'b'].map((eventId, n) => ({
      ...event,
      eventId,
      properties: { n },
    }))
    const checked = check({ events })
    t.same(
      linesOf(checked).map(({ properties }) => (properties as { n: number }).n),
      [0, 1, 3, 4],
    )
    t.match(checked, { events: 4, repeats: [2, 5] })
    t.equal(quick({ events }), undefined)
  })
  t.test(
    'every problem of every event is reported, up to a hundred, and the first one of each',
    async (t) => {
      const { message, rejected } = refusal({
        events: [event, { eventType: '', properties: 7, scope: 1 }, 'x', { ...event, timeStamp: 'soon' }],
      })
      t.same(
        rejected.map(({ index, path }) => [index, path]),
        [
          [1, 'events[1].scope'],
          [1, 'events[1].eventType'],
          [1, 'events[1]'],
          [1, 'events[1].properties'],
          [2, 'events[2]'],
          [3, 'events[3].timeStamp'],
        ],
      )
      t.match(
        message,
        /^3 of 4 events are not valid, so none was accepted\. events\[1\]\.scope: must not be sent/,
      )
      const { rejected: many } = refusal({ events: Array(50).fill({ scope: 1, source: 1 }) })
      t.ok(many.length < 150)
      t.equal(new Set(many.map(({ index }) => index)).size, 50)
    },
  )
})

t.test('times', async (t) => {
  t.test('ISO 8601 is read to the millisecond', async (t) => {
    const times: [text: string, same: string][] = [
      ['2026-11-30T08:15:00Z', '2026-11-30T08:15:00.000Z'],
      ['2026-11-30T08:15:00.1Z', '2026-11-30T08:15:00.100Z'],
      ['2026-11-30T08:15:00.123456789Z', '2026-11-30T08:15:00.123Z'],
      ['2026-11-30T08:15:00,5Z', '2026-11-30T08:15:00.500Z'],
      ['2026-11-30T08:15Z', '2026-11-30T08:15:00.000Z'],
      ['2026-11-30T08:15:00', '2026-11-30T08:15:00.000Z'],
      ['2026-11-30T08:15', '2026-11-30T08:15:00.000Z'],
      ['2026-11-30', '2026-11-30T00:00:00.000Z'],
      ['2026-11-30T08:15:00+05:30', '2026-11-30T02:45:00.000Z'],
      ['2026-11-30T08:15:00-0800', '2026-11-30T16:15:00.000Z'],
      ['2026-11-30T08:15:00+01', '2026-11-30T07:15:00.000Z'],
      ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ]
    for (const [text, same] of times)
      t.equal(new Date(parseTime(Buffer.from(text))).toISOString(), same, text)
  })
  t.test('what no calendar or clock has is not a time', async (t) => {
    const texts = [
      ...[
        '',
        'soon',
        '2026',
        '2026-11',
        '20261130',
        '2026-13-01',
        '2026-00-10',
        '2026-02-29',
        '2026-04-31',
        '0000-01-01',
      ],
      ...['300000-01-01T00:00:00Z', '+302026-01-01T00:00:00Z', '2026-11-30 08:15:00', '2026-11-30T24:00:00Z'],
      ...[
        '2026-11-30T08:60:00Z',
        '2026-11-30T08:15:60Z',
        '2026-11-30T08:15:00.Z',
        '2026-11-30T08:15:00.1234567890Z',
      ],
      ...[
        '2026-11-30T08:15:00z',
        '2026-11-30T08:15:00ZZ',
        '2026-11-30T08:15:00+24:00',
        '2026-11-30T08:15:00+1',
        '2026-11-30T08Z',
      ],
      ...['2026-11-30T08:15:00+01:0', '2026-11-30T08:15:00+01:000', '1795226013004', '2026-11-30T08:15:00 '],
    ]
    for (const text of texts) t.ok(Number.isNaN(parseTime(Buffer.from(text))), text)
  })
  t.test('a time is at most 24 hours ahead and 1,095 days old', async (t) => {
    const at = (ms: number) => ({ timeStamp: new Date(ms).toISOString() })
    for (const ms of [NOW + DAY, NOW - 1095 * DAY]) t.ok(quick(one(at(ms))) && check(one(at(ms))))
    t.match(refusesField(at(NOW + DAY + 1)), /^events\[0\]\.timeStamp must not be more than 24 hours ahead/)
    t.match(
      refusesField(at(NOW - 1095 * DAY - 1)),
      /^events\[0\]\.timeStamp must not be older than 1,095 days/,
    )
    t.match(refusesField({ timeStamp: 1795226013004 }), /timeStamp must be an ISO 8601 time/)
    for (const ms of [NOW + DAY + 1, NOW - 1095 * DAY - 1]) t.equal(quick(one(at(ms))), undefined)
  })
  t.test('an event occurred when it was sent as, or at receipt when that is earlier', async (t) => {
    t.equal(line({ timeStamp: new Date(NOW - 5).toISOString() }).occurred_at, NOW - 5)
    t.equal(line({ timeStamp: new Date(NOW + 5).toISOString() }).occurred_at, NOW)
    t.equal(line({}).occurred_at, NOW)
  })
})

t.test('hostile values are refused by their path', async (t) => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  const cases: [properties: string, path: string, says: RegExp][] = [
    ['{"a":"x\\u0000y"}', 'events[0].properties.a', /U\+0000/],
    ['{"a":["\\ud800"]}', 'events[0].properties.a[0]', /surrogate/],
    ['{"a":{"\\udc00":1}}', 'events[0].properties.a', /surrogate/],
    ['{"a":{"x\\u0000":1}}', 'events[0].properties.a', /U\+0000/],
    ['{"a":{"b":1e999999}}', 'events[0].properties.a.b', /out of range/],
    ['{"a":-1e400}', 'events[0].properties.a', /out of range/],
    ['{"__proto__":{"admin":true}}', 'events[0].properties.__proto__', /not allowed/],
    ['{"a":[{"constructor":1}]}', 'events[0].properties.a[0].constructor', /not allowed/],
    ['{"\\u005f_proto__":1}', 'events[0].properties.__proto__', /not allowed/],
    ['{"prototype":null}', 'events[0].properties.prototype', /not allowed/],
    [nested(40), `events[0].properties${'.a'.repeat(29)}`, /too deep/],
    [`{"a":[${'1,'.repeat(5000)}1]}`, 'events[0].properties', /more than 5000 values/],
  ]
  for (const [properties, path, says] of cases) {
    const { rejected } = refusal(withProperties(properties))
    t.equal(rejected[0]?.path, path)
    t.match(rejected[0]?.message, says)
    t.equal(quick(withProperties(properties)), undefined)
  }
  t.test('no more of them are looked up than are told', async (t) => {
    let told = 0
    walk({ a: Array(1_000).fill('\0') }, 'properties', 1, true, () => told++)
    t.equal(told, 100)
  })
  t.test('32,000 levels are refused without recursion', async (t) => {
    for (const deep of [nested(32_000), `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`]) {
      t.match(refusal(withProperties(deep)).rejected[0]?.message, /too deep/)
      t.equal(quick(withProperties(deep)), undefined)
    }
  })
  t.test('32 levels and 5,000 values are accepted', async (t) => {
    for (const properties of [nested(29), `{"a":[${'1,'.repeat(4997)}1]}`]) {
      t.equal(check(withProperties(properties)).events, 1)
      t.ok(quick(withProperties(properties)))
    }
  })
})

t.test('a body of many names is refused in a few times as long as it takes to parse', async (t) => {
  const few = (t: Test, body: object, refused: (body: Buffer) => string, says: string) => {
    const sent = bytes(body)
    t.match(refused(sent), says)
    const [took, parsed] = [cpuOf(() => refused(sent)), cpuOf(() => JSON.parse(sent.toString()))]
    t.ok(took < parsed * 4, `${took} µs, ${parsed} of them to parse`)
  }
  const ofServer = (body: Buffer) => refusal(body, () => checkEvents(body, BRAND, NOW)).message
  const ofPage = (body: Buffer) => refusal(body, () => checkPage(body)).message

  t.test('that an event sets', async (t) => {
    const properties = { ...many(12_000, 'a'), properties: many(12_000, 'b') }
    const { events } = one({ eventType: 'updateProperties', properties })
    few(t, { events }, ofServer, 'events[0].properties: must have at most 100 names')
  })
  const view = { scope: SHOP.scope, eventType: 'page_viewed', properties: {} }
  const source = { scope: SHOP.scope }
  t.test('of a page beside its events', async (t) => {
    few(t, { source, events: [view], ...many(6_000, 'c') }, ofPage, 'body: has more than 5000 values')
  })
  t.test('of a page in an event', async (t) => {
    const events = [{ ...view, ...many(6_000, 'c') }]
    few(t, { source, events }, ofPage, 'events[0]: has more than 5000 values')
  })
})

t.test('integers beyond 2^53 keep all their digits', async (t) => {
  const digits = '12345678901234567890123'
  const body = `{"events":[{"eventType":"a","storeCustomerId":820982911946154508,"properties":{"id":${digits},"in":[-9007199254740993],"e":1E20,"b":7,"big":9007199254740991}}]}`
  t.equal(quick(body), undefined)
  const [text = ''] = check(body).lines.toString().split('\n')
  t.match(text, '"store_customer_id":"820982911946154508"')
  t.match(
    text,
    `"properties":{"id":${digits},"in":[-9007199254740993],"e":1E20,"b":7,"big":9007199254740991}`,
  )
})

t.test('a store customer id as a number is a whole one of at most 20 digits', async (t) => {
  const stored = (number: string) =>
    linesOf(check(`{"events":[{"eventType":"a","storeCustomerId":${number},"properties":{}}]}`))[0]
      ?.store_customer_id
  t.equal(stored('1'), '1')
  t.equal(stored('99999999999999999999'), '99999999999999999999')
  t.equal(stored('1e20'), '100000000000000000000')
  for (const storeCustomerId of [-1, 1.5, 1e21, -1e300]) {
    t.match(refusesField({ storeCustomerId }), /storeCustomerId must be a string or a whole number/)
    t.equal(quick(one({ storeCustomerId })), undefined)
  }
})

t.test('the last of repeated names counts in both forms', async (t) => {
  const body = withProperties('{"a":1,"b":2,"a":3}')
  t.same(linesOf(check(body))[0]?.properties, { a: 3, b: 2 })
  t.equal(quick(body), undefined)
})

/** The lines of a complete form, undefined when it refuses the body with a 400 or 403. */
function checkedLines(body: Buffer, check = checkEvents): string | undefined {
  try {
    return normal(check(body, BRAND, NOW))
  } catch (error) {
    if (!(error instanceof Failure) || error.status >= 500) throw error
    return undefined
  }
}

const quickLines = (body: Buffer, quick = quickEvents) => {
  const read = quick(body, BRAND, NOW)
  return read && normal(read)
}

const normal = (read: Checked) => `${read.events} ${read.repeats} ${JSON.stringify(linesOf(read))}`

const SHOP = { brandId: BRAND, scope: 'lumen.myshopify.com' }
const checkPage = (body: Buffer) => checkBrowserEvents(body, SHOP, NOW)
const quickPage = (body: Buffer) => quickBrowserEvents(body, SHOP, NOW)

t.test('an event of a page is kept without the word that stands for no id', async (t) => {
  const sent = { scope: SHOP.scope, eventType: 'product_viewed', properties: {} }
  const names = { profileId: 'NULL', anonymousId: 'undefined', storeCustomerId: 0, email: 'ann@example.com' }
  const body = bytes({ source: { scope: SHOP.scope }, events: [{ ...sent, ...names }] })
  const [kept] = linesOf(checkPage(body))
  t.equal(kept?.email, 'ann@example.com')
  t.same(
    ['profile_id', 'anonymous_id', 'store_customer_id'].filter((name) => name in (kept as object)),
    [],
  )
  t.equal(quickPage(body), undefined)
})

t.test('an event of a page is kept without a store’s id of something else than a customer', async (t) => {
  const [scope, storeCustomerId] = [SHOP.scope, 'gid://shopify/Order/8001']
  const sent = { scope, eventType: 'product_viewed', anonymousId: 'v1', storeCustomerId, properties: {} }
  const body = bytes({ source: { scope }, events: [sent] })
  const [kept] = linesOf(checkPage(body))
  t.match(kept, { anonymous_id: 'v1', store_customer_id: undefined })
  t.equal(quickPage(body), undefined)
})

/** Compares the two forms on right bodies and on those with some bytes changed. */
function agree(t: Test, random: RandomSource, body: () => Buffer, forms: Forms): void {
  const spoilt = () => {
    const text = body()
    for (let changes = random.pick([1, 1, 2, 4]); changes > 0; changes--) {
      text[random.below(text.length)] = random.chance(0.5)
        ? random.below(256)
        : GRAMMAR.charCodeAt(random.below(GRAMMAR.length))
    }
    return text
  }
  const compare = (times: number, make: () => Buffer) => {
    const count = { quick: 0, complete: 0 }
    for (let n = 0; n < times; n++) {
      const text = make()
      const [quick, complete] = [quickLines(text, forms.quick), checkedLines(text, forms.check)]
      if (quick !== undefined) count.quick++
      if (complete !== undefined) count.complete++
      if (quick !== undefined && quick !== complete) t.equal(quick, complete, text.toString('latin1'))
    }
    return count
  }
  const right = compare(3_000, body)
  const wrong = compare(20_000, spoilt)
  t.ok(right.quick > 400 && wrong.quick > 100, `the quick form read ${right.quick} and ${wrong.quick}`)
  t.ok(wrong.complete < 15_000, `of the spoilt bodies ${wrong.complete} were accepted`)
}
interface Forms {
  quick: typeof quickEvents
  check: typeof checkEvents
}

t.test('what the quick form reads, the complete form reads alike', async (t) => {
  const random = randomSource(t)
  const body = () =>
    bytes({
      events: random.list(1, 4, () => ({
        ...(random.chance(0.5) ? { eventId: random.text(8) } : {}),
        eventType: random.chance(0.95) ? 'a1' : 'updateProperties',
        ...(random.chance(0.5) ? { timeStamp: new Date(NOW - random.below(1e10)).toISOString() } : {}),
        [random.pick(['email', 'profileId'])]: random.chance(0.9)
          ? `a${random.below(9)}@b.c`
          : random.text(5),
        properties: random.json(4),
      })),
    })
  agree(t, random, body, { quick: quickEvents, check: checkEvents })
})

t.test('and so do those of pages', async (t) => {
  const random = randomSource(t)
  const scope = () => (random.chance(0.995) ? SHOP.scope : random.pick(['other.myshopify.com', null, 7, '']))
  const time = () =>
    random.chance(0.8)
      ? new Date(NOW - DAY * 2 + random.below(DAY * 4)).toISOString()
      : random.pick([`x${random.below(99)}`, random.text(24), null, 7])
  const body = () =>
    bytes({
      source: { scope: scope(), ...(random.chance(0.02) ? { itemType: random.text(6) } : {}) },
      events: random.list(1, 4, () => ({
        scope: scope(),
        eventType: random.chance(0.95) ? 'a1' : random.pick(['updateProperties', 'order_created']),
        ...(random.chance(0.3) ? { eventId: random.text(8) } : {}),
        ...(random.chance(0.3) ? { timeStamp: time() } : {}),
        ...(random.chance(0.3) ? { anonymousId: random.text(9) } : {}),
        ...(random.chance(0.02) ? { target: { scope: scope() } } : {}),
        ...(random.chance(0.02) ? random.json(2) : {}),
        properties: random.json(4),
      })),
    })
  const quick: Forms['quick'] = (body) => quickPage(body)
  const check: Forms['check'] = (body) => checkPage(body)
  agree(t, random, body, { quick, check })
})

t.test('both store a number in the same text, or in one of the same double', async (t) => {
  const numberOf = (read: Checked | undefined) => /"v":([^}]*)/.exec(read?.lines.toString() ?? '')?.[1]
  const texts = (sent: string) => {
    const body = withProperties(`{"v":${sent}}`)
    return [numberOf(quick(body)), numberOf(check(body))]
  }
  for (const [sent, stored] of [
    ['632910392.0', '632910392'],
    ['-632910392.00', '-632910392'],
    ['-0', '0'],
    ['-0.0', '0'],
    ['0.12345678901234567890', '0.12345678901234568'],
    ['1e3', '1000'],
  ] as const)
    t.strictSame(texts(sent), [undefined, stored], sent)
  for (const sent of ['0', '-7', '12.5', '-0.5', '99999999999999.9']) t.strictSame(texts(sent), [sent, sent])
  t.strictSame(texts('12.50'), ['12.50', '12.5'])
})

t.test('events of a page', async (t) => {
  const view = { scope: SHOP.scope, eventType: 'page_viewed', properties: {} }
  const page = (...events: object[]) => ({ source: { scope: SHOP.scope }, events })
  const stored = (changes: object) => linesOf(checkPage(bytes(page({ ...view, ...changes }))))[0] as EventLine
  const refused = (t: Test, body: unknown, code: string, says: RegExp) => {
    t.throws(() => checkPage(bytes(body)), { code, message: says }, JSON.stringify(body))
    t.equal(quickPage(bytes(body)), undefined)
  }

  t.test('have a line that says where they come from', async (t) => {
    const sent = { ...view, eventId: 'e-1', anonymousId: 'v1', timeStamp: '2026-11-30T11:59:59.500Z' }
    const expected = {
      ...{ brand_id: BRAND, origin: 'browser', received_at: NOW, occurred_at: NOW - 500 },
      ...{ event_type: 'page_viewed', event_id: 'e-1', anonymous_id: 'v1', properties: {} },
    }
    t.same(linesOf(checkPage(bytes(page(sent)))), [expected])
    t.same(linesOf(quickPage(bytes(page(sent))) as Checked), [expected])
  })
  t.test('need an envelope with the shop, else 400', async (t) => {
    const { source, events } = page(view)
    refused(t, [], 'bad_request', /must be a JSON object/)
    refused(t, '{', 'bad_request', /not valid JSON/)
    refused(t, { events }, 'bad_request', /^source: must be an object/)
    refused(t, { source: SHOP.scope, events }, 'bad_request', /^source: must be an object/)
    refused(t, { source: {}, events }, 'bad_request', /^source.scope/)
    refused(t, { source: { scope: 7 }, events }, 'bad_request', /^source.scope/)
    refused(t, { source }, 'bad_request', /^events: must be an array/)
    refused(t, { source, events: {} }, 'bad_request', /^events: must be an array/)
    refused(t, { source, events: [] }, 'bad_request', /at least one/)
    refused(t, { source, events: ['x'] }, 'bad_request', /events\[0\]: must be an object/)
    for (const scope of [undefined, null, 7, {}])
      refused(t, page({ ...view, scope }), 'bad_request', /events\[0\]\.scope: must be the domain/)
    for (const target of ['x', 7, { scope: 7 }])
      refused(t, page({ ...view, target }), 'bad_request', /events\[0\]\.target/)
    refused(t, page({ ...view, properties: [] }), 'bad_request', /events\[0\]\.properties: must be an object/)
  })
  t.test('of another shop are 403, whatever else is wrong with them', async (t) => {
    const other = 'other.myshopify.com'
    refused(t, { ...page(view), source: { scope: other } }, 'insufficient_scope', /^source\.scope/)
    refused(t, page(view, { ...view, scope: other }), 'insufficient_scope', /^events\[1\]\.scope/)
    refused(
      t,
      page({ ...view, target: { scope: other } }),
      'insufficient_scope',
      /^events\[0\]\.target\.scope/,
    )
    refused(t, page({ eventType: '' }, { scope: other }), 'insufficient_scope', /^events\[1\]\.scope/)
  })
  t.test('occurred when the browser says, but at receipt where its clock cannot be right', async (t) => {
    const at = (ms: number) => new Date(ms).toISOString()
    const occurred = (timeStamp: unknown) => {
      const body = bytes(page({ ...view, timeStamp }))
      const { occurred_at } = linesOf(checkPage(body))[0] as EventLine
      const quick = quickPage(body)
      if (quick) t.equal(linesOf(quick)[0]?.occurred_at, occurred_at)
      return occurred_at
    }
    t.equal(occurred(at(NOW - DAY)), NOW - DAY)
    t.equal(occurred(at(NOW - 1)), NOW - 1)
    for (const wrong of [undefined, null, '', 'soon', 7, {}, '2026-02-31', at(NOW - DAY - 1), at(NOW + 1)])
      t.equal(occurred(wrong), NOW, JSON.stringify(wrong))
  })
  t.test('may be more than fifty, about nobody, and carry what is not known here', async (t) => {
    const many = page(...Array(300).fill({ ...view, sessionId: 's', source: { itemType: 'x' } }))
    t.equal(checkPage(bytes({ ...many, requiredProfileProperties: ['*'] })).events, 300)
    t.notOk('sessionId' in stored({ sessionId: 's' }))
  })
  t.test('are not all looked at where the body has more than can be valid in it', async (t) => {
    const body = bytes(page(...Array(30_000).fill(0)))
    t.equal(refusal(body, () => checkPage(body)).rejected.length, Math.floor(body.length / 44) + 1)
  })
  t.test('of types that only the service records are refused', async (t) => {
    for (const eventType of ['order_created', 'refund_issued', 'checkout_abandoned', 'consent_updated'])
      refused(t, page({ ...view, eventType }), 'bad_request', /is recorded by the service only/)
  })
  t.test('are as harmless as those of servers, in what is ignored too', async (t) => {
    const deep = JSON.parse(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`)
    for (const hostile of [deep, { a: '\u0000' }, { a: '\ud800' }, JSON.parse('{"__proto__":1}')]) {
      refused(t, page({ ...view, properties: hostile }), 'bad_request', /events\[0\]\.properties/)
      refused(t, page({ ...view, target: hostile }), 'bad_request', /events\[0\]\.target/)
      refused(t, page({ ...view, timeStamp: hostile }), 'bad_request', /events\[0\]\.timeStamp/)
      refused(t, { ...page(view), extra: hostile }, 'bad_request', /^body\.extra/)
      refused(t, { ...page(view), source: { scope: SHOP.scope, hostile } }, 'bad_request', /^body\.source/)
    }
  })
})

t.test('updateProperties', async (t) => {
  const set = (properties: object, more: object = {}) =>
    one({ eventType: 'updateProperties', email: undefined, ...more, properties })
  t.test('identifies by the email and phone that it sets', async (t) => {
    const [read] = linesOf(check(set({ email: ' Ann@Example.com ', phone: '+15550100', plan: 'gold' })))
    t.match(read, {
      email: 'ann@example.com',
      phone: '+15550100',
      properties: { email: ' Ann@Example.com ' },
    })
    t.equal(line({ properties: { phone: '+15550100' } }).phone, undefined, 'other types do not')
  })
  t.test('of a server names one email and one phone', async (t) => {
    const another = (field: string, first = field) =>
      `must be the same as ${first}: to set another ${field} send it alone, and name the customer by profileId or storeCustomerId`
    const cases: [body: object, path: string, message: string][] = [
      [set({ email: 'a@b.c' }, { email: 'x@y.z' }), 'properties.email', another('email')],
      [
        set({ properties: { email: 'a@b.c' } }, { email: 'x@y.z' }),
        'properties.properties.email',
        another('email'),
      ],
      [
        set({ email: 'x@y.z', properties: { email: 'a@b.c' } }, { storeCustomerId: '7' }),
        'properties.properties.email',
        another('email', 'properties.email'),
      ],
      [set({ phone: '+12025550102' }, { phone: '+12025550101' }), 'properties.phone', another('phone')],
    ]
    for (const [body, path, message] of cases)
      t.same(refusal(body).rejected, [{ index: 0, path: `events[0].${path}`, message }], path)
  })
  t.test('of a server with a phone of any length is refused at once', async (t) => {
    const from = process.cpuUsage()
    const { message } = refusal(set({ phone: '+12025550101' }, { phone: 'x'.repeat(200_000) }))
    const { user, system } = process.cpuUsage(from)
    t.match(message, 'events[0].phone: must be at most 256 characters')
    t.ok(user + system < 200_000, `${user + system} µs`)
  })
  t.test('may name the same email and phone in each place', async (t) => {
    const both = { email: 'x@y.z', phone: '+12025550101' }
    const [read] = linesOf(
      check(
        set(
          { email: ' X@Y.Z', phone: '(202) 555-0101', properties: { phone: '0202 5550101', email: 'x@y.z' } },
          both,
        ),
      ),
    )
    t.match(read, both)
    for (const [one, other] of [
      ['+4915123456789', '+49 (0)151 23456789'],
      ['+12025550101', '(202) 555-0101 ext. 12'],
      ['+966501234567', '٠٥٠١٢٣٤٥٦٧'],
    ] as const)
      t.equal(check(set({ phone: one }, { phone: other })).events, 1, other)
    t.equal(
      check(set({ email: 'none', phone: 7 }, both)).events,
      1,
      'what identifies nobody is no second one',
    )
  })
  t.test('of a page is read by its own email', async (t) => {
    const { events } = set({ email: 'a@b.c' }, { email: 'x@y.z' })
    const sent = events.map((event) => ({ ...event, scope: SHOP.scope }))
    const [read] = linesOf(checkPage(bytes({ source: { scope: SHOP.scope }, events: sent })))
    t.equal(read?.email, 'x@y.z')
  })
  t.test('with none that could be one is about nobody', async (t) => {
    for (const properties of [
      {},
      { email: 'nobody' },
      { email: 7 },
      { phone: 'none' },
      { phone: '1' },
      { email: 'a\u0000@b.c' },
    ])
      t.match(paths(set(properties))[0], /^events\[0\]/)
  })
  t.test('sets what stands in an object `properties` of its properties, too', async (t) => {
    const [read] = linesOf(
      check(set({ plan: 'old', properties: { email: 'ann@example.com', plan: 'gold' } })),
    )
    t.match(read, { email: 'ann@example.com' })
    t.same(read?.properties, { plan: 'gold', email: 'ann@example.com' })
    const [exact] = linesOf(check(set({ email: 'a@b.c', properties: 12345678901234567890n.toString() })))
    t.same(
      exact?.properties,
      { email: 'a@b.c', properties: '12345678901234567890' },
      'what is no object is a name',
    )
    const large = '{"email":"a@b.c","properties":{"n":12345678901234567890},"m":12345678901234567890}'
    const { lines } = check(`{"events":[{"eventType":"updateProperties","properties":${large}}]}`)
    t.match(
      lines.toString(),
      /"properties":\{"email":"a@b.c","m":12345678901234567890,"n":12345678901234567890\}/,
    )
    t.same(
      line({ properties: { properties: { a: 1 } } }).properties,
      { properties: { a: 1 } },
      'other types do not',
    )
  })
  t.test('sets at most 100 names', async (t) => {
    const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, n]))
    t.equal(check(set(names(100), { profileId: 'p' })).events, 1)
    t.match(refusal(set(names(101), { profileId: 'p' })).message, /must have at most 100 names/)
    t.match(
      refusal(set({ properties: names(101) }, { profileId: 'p' })).message,
      /must have at most 100 names/,
    )
    t.equal(quick(set(names(101), { profileId: 'p' })), undefined)
  })
})

const documents = join(CHECKOUT, '../shared/data/json/test_parsing')
t.test(
  'documents of the JSON test suite',
  { skip: !existsSync(documents) && '../shared/data/json is not here' },
  async (t) => {
    for (const file of readdirSync(documents)) {
      const document = readFileSync(join(documents, file))
      const inside = Buffer.concat([
        bytes('{"events":[{"eventType":"a","email":"a@b.c","properties":{"v":'),
        document,
        bytes('}}]}'),
      ])
      t.equal(checkedLines(document), undefined, `${file} is no body of events`)
      const lines = checkedLines(inside)
      if (file.startsWith('n_')) t.equal(lines, undefined, `${file} is refused`)
      for (const body of [document, inside])
        t.equal(quickLines(body) ?? checkedLines(body), checkedLines(body), file)
    }
  },
)

const strings = join(CHECKOUT, '../shared/data/json/naughty_strings.json')
t.test(
  'strings that break software arrive as they are',
  { skip: !existsSync(strings) && '../shared/data/json is not here' },
  async (t) => {
    for (const text of JSON.parse(readFileSync(strings, 'utf8')) as string[]) {
      const body = one({ properties: { text, [`k${text}`]: 1 } })
      if (text.includes('\0')) continue
      t.same(linesOf(check(body))[0]?.properties, { text, [`k${text}`]: 1 })
      t.equal(quickLines(bytes(body)) ?? checkedLines(bytes(body)), checkedLines(bytes(body)))
    }
  },
)
