import t from 'tap'
import { v7 } from 'uuid'
import { problemOf } from '../src/campaign/agent.ts'
import type { Channel, Sent } from '../src/campaign/channel.ts'
import { barrierTo } from '../src/campaign/gate.ts'
import { quietUntil } from '../src/campaign/quiet.ts'
import { createCampaign, setCampaignStatus } from '../src/campaign/saved.ts'
import { branchOf } from '../src/campaign/split.ts'
import { startRuns } from '../src/campaign/starter.ts'
import { piecesOf } from '../src/campaign/template.ts'
import type { Available } from '../src/campaign/variable.ts'
import { setConsent, upsertContact } from '../src/identity/contact.ts'
import { setLogLevel } from '../src/log.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { runCampaigns } from './fixtures/campaign-round.ts'
import { database } from './fixtures/database.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'
import { SEAL } from './fixtures/store.ts'

setLogLevel('error')
const db = await database(t)
const { sql } = db.postgres
const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const BEGIN = Date.parse('2026-03-26T00:00:00Z')
const ZONES = ['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Kolkata', 'Pacific/Auckland']
const UNITED_STATES = [
  'America/New_York',
  'America/Chicago',
  'America/Denver',
  'America/Phoenix',
  'America/Los_Angeles',
  'America/Anchorage',
  'America/Adak',
  'Pacific/Honolulu',
]
/** What numbers begin with, and where they may be, first where most of them are. */
const NUMBERS = [
  { prefix: '+1202', zones: UNITED_STATES },
  { prefix: '+3461', zones: ['Europe/Madrid', 'Atlantic/Canary'] },
  { prefix: '+491512', zones: ['Europe/Berlin'] },
  { prefix: '+44791', zones: ['Europe/London'] },
  { prefix: '+91981', zones: ['Asia/Kolkata'] },
  { prefix: '+81901', zones: ['Asia/Tokyo'] },
]

/** What the clock of a zone shows, told by another way than the code under test takes. */
function localMinute(at: Date, timeZone: string): number {
  const known = clocks.get(timeZone)
  const clock = known ?? new Intl.DateTimeFormat('sv-SE', { timeZone, hour: '2-digit', minute: '2-digit' })
  if (!known) clocks.set(timeZone, clock)
  const [hours = 0, minutes = 0] = clock.format(at).split(':').map(Number)
  return hours * 60 + minutes
}
const clocks = new Map<string, Intl.DateTimeFormat>()
const minuteOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5))
function isQuiet(at: Date, zone: string, from: string, until: string): boolean {
  const [now, begin, end] = [localMinute(at, zone), minuteOf(from), minuteOf(until)]
  return begin <= end ? now >= begin && now < end : now >= begin || now < end
}
/** Whether nothing may be sent to somebody who is in one of the zones, of quiet hours at whole and half hours. */
function isQuietSomewhere(at: Date, zones: readonly string[], from: string, until: string): boolean {
  const isOver = (moment: Date) => zones.every((zone) => !isQuiet(moment, zone, from, until))
  if (isOver(at)) return false
  const halfHours = Array.from({ length: 96 }, (_, n) => new Date(at.getTime() + n * 30 * MINUTE_MS))
  return halfHours.some(isOver) || isQuiet(at, zones[0] ?? 'UTC', from, until)
}

t.test('quiet hours end at the first minute that is not quiet, also where clocks are changed', async (t) => {
  const random = randomSource(t)
  const twoDigits = (n: number) => String(n).padStart(2, '0')
  const time = () => `${twoDigits(random.below(24))}:${random.pick(['00', '15', '30', '45'])}`
  for (let n = 0; n < 500; n++) {
    const zone = random.pick([...ZONES, 'Australia/Lord_Howe', 'America/Sao_Paulo', 'Asia/Tehran'])
    const [from, until] = [time(), time()]
    // Around the changes of the clock of 2026, half of the time.
    const around = random.pick([
      '2026-03-08',
      '2026-03-29',
      '2026-04-05',
      '2026-10-25',
      '2026-11-01',
      '2026-06-15',
    ])
    const now = new Date(
      Date.parse(around) + (random.below(4_320) - 1_440) * MINUTE_MS + random.below(60_000),
    )
    const end = quietUntil(now, zone, { from, until })
    const what = `${zone} ${from}-${until} at ${now.toISOString()}`
    if (!isQuiet(now, zone, from, until)) {
      if (end !== null) t.fail(`${what}: not quiet, until ${end.toISOString()}`)
      continue
    }
    if (end === null || end <= now) {
      t.fail(`${what}: quiet`)
      continue
    }
    if (isQuiet(end, zone, from, until)) t.fail(`${what}: still quiet at ${end.toISOString()}`)
    for (let at = Math.floor(now.getTime() / MINUTE_MS + 1) * MINUTE_MS; at < end.getTime(); at += MINUTE_MS)
      if (!isQuiet(new Date(at), zone, from, until)) {
        t.fail(`${what}: over at ${new Date(at).toISOString()} already, not at ${end.toISOString()}`)
        break
      }
  }
  t.equal(quietUntil(new Date(), 'Nowhere/Here', { from: '10:00', until: '10:00' }), null)
})

/** When a message may leave that is due at an instant; null: then. */
function quietTill(phone: string | null, at: string, { timezone, from = '21:00', until = '08:00' }: Night) {
  const policy = {
    timezone,
    quiet: { from, until },
    cap: { messages: 1, days: 1 },
    attributionDays: 7,
    consent: { sms: 'not-refused', email: 'not-refused' } as const,
    silentUntil: null,
    resumedAt: null,
  }
  const contact = { sms_consent: 'unknown', email_consent: 'unknown', phone } as const
  const intended = { channel: 'email', dueAt: new Date(at), boughtAt: null } as const
  const barrier = barrierTo(contact, intended, policy, new Date(at))
  return barrier?.until ? barrier.until.toISOString().slice(11, 16) : null
}
interface Night {
  /** Of the brand. */
  timezone: string
  from?: string
  until?: string
}
const EVENING = '2026-11-20T22:30:00Z'

t.test('it is as late as in the country of the number, where that has one time', async (t) => {
  const until = (phone: string) => quietTill(phone, EVENING, { timezone: 'America/New_York' })
  t.equal(until('+4915122000001'), '07:00', 'Germany, whose two zones have one time')
  t.equal(until('+447912000001'), '08:00', 'Great Britain')
  t.equal(until('+819012000001'), '23:00', 'Japan')
  t.equal(until('+18761234567'), null, 'Jamaica')
  t.equal(until('+8613812345678'), '00:00', 'China, where ICU has a second clock')
  t.equal(until('+380501234567'), '06:00', 'Ukraine')
  t.equal(until('+38349123456'), '07:00', 'Kosovo, of which ICU has no zone')
})

t.test('without a country it is as late as for the brand, and in its own of several times', async (t) => {
  const own = [
    ['America/New_York', '+12025550101'],
    ['US/Eastern', '+12025550101'],
    ['America/Indiana/Indianapolis', '+12025550101'],
    ['America/Toronto', '+14165550101'],
    ['America/New_York', '+80012345678'],
    ['America/New_York', null],
  ] as const
  for (const [timezone, phone] of own) {
    t.equal(quietTill(phone, EVENING, { timezone }), null, `${phone} in the afternoon of ${timezone}`)
    t.equal(quietTill(phone, '2026-11-20T03:00:00Z', { timezone }), '13:00', `${phone} in the night`)
  }
})

t.test('in a country of several times it is quiet while it is quiet in one of them', async (t) => {
  const cases = [
    ['Spain', '+34612345678', '2026-11-20T04:00:00Z', '08:00'],
    ['Spain in summer', '+34612345678', '2026-07-20T04:00:00Z', '07:00'],
    ['Spain, evening of the mainland', '+34612345678', '2026-11-20T20:00:00Z', '08:00'],
    ['Spain, evening before', '+34612345678', '2026-11-20T19:59:00Z', null],
    ['Portugal', '+351912345678', '2026-11-20T04:00:00Z', '09:00'],
    ['New Zealand', '+64211234567', '2026-11-20T18:00:00Z', '19:00'],
    ['Brazil', '+5511912345678', '2026-11-20T10:00:00Z', '13:00'],
    ['Mexico', '+525512345678', '2026-11-20T10:00:00Z', '16:00'],
    ['Chile', '+56912345678', '2026-11-20T10:00:00Z', '13:00'],
    ['Ecuador', '+593991234567', '2026-11-20T10:00:00Z', '14:00'],
    ['Indonesia', '+6281234567890', '2026-11-20T00:00:00Z', '01:00'],
    ['Russia', '+79161234567', '2026-11-20T01:00:00Z', '06:00'],
    ['Russia, evening of Kamchatka', '+79161234567', '2026-11-20T09:00:00Z', '06:00'],
    ['Australia', '+61412345678', '2026-11-20T22:00:00Z', '00:00'],
    ['the United States', '+12025550101', '2026-11-20T14:00:00Z', '18:00'],
  ] as const
  for (const [country, phone, at, end] of cases)
    t.equal(quietTill(phone, at, { timezone: 'Europe/Berlin' }), end, `${country} at ${at}`)
})

t.test('where it is always quiet in some of the times, that of the most people counts', async (t) => {
  const hours = { timezone: 'America/Los_Angeles', from: '18:00', until: '10:00' }
  t.equal(quietTill('+79161234567', '2026-11-20T03:00:00Z', hours), '07:00', 'night in Moscow')
  t.equal(quietTill('+79161234567', '2026-11-20T09:00:00Z', hours), null, 'noon in Moscow')
})

t.test('a contact takes the same branch every time, and each branch gets its share', async (t) => {
  const messages = { initial: '', agent_reply: '', sms: '' }
  const branches = [3, 1].map((weight, at) => ({ name: `b${at}`, weight, messages }))
  const contacts = Array.from({ length: 4_000 }, () => v7())
  const first = contacts.filter((id) => branchOf(branches, 'c', id)?.name === 'b0')
  t.ok(first.length > 2_850 && first.length < 3_150, `${first.length} of 4,000 in three quarters`)
  t.same(
    contacts.map((id) => branchOf(branches, 'c', id)?.name),
    contacts.map((id) => branchOf(branches, 'c', id)?.name),
  )
  t.equal(branchOf([], 'c', 'x'), undefined)
})

t.test('a token may have spaces around its name and its fallback, and anything else is text', async (t) => {
  const token = (variable: string, fallback = '') => [{ variable, fallback }]
  t.same(piecesOf('{{ \n a.b \t}}'), token('a.b'))
  t.same(piecesOf('{{a.b | dear friend }}'), token('a.b', 'dear friend'))
  t.same(piecesOf('{{a|b|c}}'), token('a', 'b|c'))
  t.same(piecesOf('{{ }}'), token(''))
  t.same(piecesOf('{{{a}}}'), [{ text: '{' }, ...token('a'), { text: '}' }])
  for (const text of ['{{a', '{{a}', '{a}', '{{a{b}}', '{{a|b']) t.same(piecesOf(text), [{ text }])
})

t.test('a template is read in no time, however many spaces an open token has', async (t) => {
  const began = performance.now()
  for (const text of [`{{${' '.repeat(1600)}`, `{{ a${' '.repeat(1600)}|${' '.repeat(1600)}`])
    t.same(piecesOf(text), [{ text }])
  t.ok(performance.now() - began < 500)
})

t.test('a draft is sent when it invents nothing', async (t) => {
  const none: Available = { facts: {}, checkout: false, discount: false }
  const some: Available = { ...none, discount: true }
  for (const fine of [
    'Hi {{contact.first_name|there}}, your cart is here: {{cart.link}}',
    'We ship within a day or two. Is there anything else?',
    'Klar, hier geht es weiter: {{cart.link}}',
  ])
    t.equal(problemOf(fine, none), null, fine)
  t.equal(problemOf('Take {{discount.value}} off with the code {{discount.code}}: {{cart.link}}', some), null)
  for (const invented of [
    '',
    'x'.repeat(1_601),
    'See {{secret.key}}',
    'Half a {{cart.link',
    'Look at https://evil.example/pay',
    'Look at evil.com',
    'Look at evil.xyz/pay',
    'Look at пример.рф',
    'Call 0900 123-4567',
    'Write to help@evil.example',
    'Take 20% off',
    'Take 20 percent less',
    'Only $5 today',
    'Nur 5 EUR heute',
    'Use SAVE20',
    'Use the code WELCOME',
    'There is a discount for you',
    'I give you a coupon',
    'Shipping is free today',
    'Take {{contact.first_name|50% off}}',
    'Take ５０％ off',
  ])
    t.ok(problemOf(invented, none), invented.slice(0, 40))
  for (const parted of [
    'See evil.{{contact.last_name|shop}}/x',
    'Take 2{{contact.last_name|0 perc}}ent',
    'Say SAVE{{contact.last_name|20}}',
    'Take 20{{contact.last_name}}%',
    'Take 20\u200b%',
    'Take 20\ufe0f\u20e3%',
    'Take 20\u3164%',
    'A dis\u00adcount for you',
  ])
    t.ok(problemOf(parted, none), JSON.stringify(parted))
  t.ok(problemOf('Take {{discount.value}} off', none), 'the campaign has none')
  t.ok(problemOf('There is a discount for you', some), 'it is not said which')
  t.ok(problemOf('Take 50% off with {{discount.code}}', some), 'it is another one')
})

interface Person {
  id: string
  subject: number
  zones: readonly string[]
  phone: string
}

let phones = 0

/** A history of a brand: what happens to whom, minute by minute, while campaigns run. */
async function history(random: RandomSource) {
  const brand = await makeBrand(db)
  const own = db.postgres.forBrand(brand.id)
  const policy = {
    from: random.pick(['21:00', '00:00', '09:00']),
    until: random.pick(['08:00', '00:00', '17:30']),
    cap: 1 + random.below(3),
    days: 1 + random.below(3),
  }
  await own.run('message_policy_put', [policy.from, policy.until, policy.cap, policy.days, null, null, null])
  await sql`update brand set timezone = ${random.pick(ZONES)} where id = ${brand.id}`
  const [{ timezone = 'UTC' } = {}] = await sql<
    { timezone: string }[]
  >`select timezone from brand where id = ${brand.id}`
  const people: Person[] = []
  for (let n = 1; n <= 6; n++) {
    // Of no other brand's history, which may go on meanwhile.
    const { prefix, zones } = random.pick(NUMBERS)
    const phone = `${prefix}${String(2_000_000 + ++phones)}`
    await sql`insert into customer (brand_id, subject, id, phone, provenance)
      values (${brand.id}, ${n}, ${`c${n}`}, ${phone}, 'server')`
    const made = await own.tx((tx) =>
      upsertContact(tx, { subject: n, email: null, phone, firstName: null, lastName: null }),
    )
    const id = 'contactId' in made ? made.contactId : ''
    people.push({ id, subject: n, zones, phone })
  }
  const campaigns = []
  for (let n = 0; n < 3; n++) {
    const { id } = await createCampaign(
      own,
      {
        name: `Campaign ${n}`,
        trigger_event: 'checkout_abandoned',
        action_type: 'sms',
        trigger_delay: { amount: random.pick([0, 30, 600]), unit: 'minutes' },
        wait: { amount: random.pick([10, 1_440]), unit: 'minutes' },
      },
      'test',
    )
    campaigns.push(await setCampaignStatus(own, id, 'active', new Date(BEGIN)))
  }
  return { brand, own, policy, people, timezone, campaigns }
}

t.test('no message leaves to whom it must not, over random histories', async (t) => {
  const random = randomSource(t)
  const rounds = Number(process.env.CAMPAIGN_HISTORIES ?? 12)
  let left = 0
  const stopped = new Map<string, number>()
  for (let round = 0; round < rounds; round++) {
    const { brand, own, policy, people, timezone } = await history(random)
    let now = BEGIN
    const clock = () => new Date(now)
    const optedOut = new Set<string>()
    const bought = new Map<number, number>()
    const sent: { phone: string; at: number; text: string }[] = []
    const channel: Channel = {
      takesOnce: 'by_key',
      async send({ to, body }): Promise<Sent> {
        if (random.chance(0.3)) return { is: 'later', error: 'busy' }
        sent.push({ phone: to, at: now, text: body })
        return { is: 'sent', providerMessageId: null }
      },
    }
    const parts = {
      postgres: db.postgres,
      lake: () => ({ sources: () => Promise.reject(new Error('no filter looks at customers')) }),
      seal: SEAL,
      isDemo: () => false,
      agent: null,
      baseUrl: 'https://r.example',
      storePlatformDomain: 'myshopify.com',
      open: () => channel,
    }
    /** When each run was triggered, by its customer. */
    const triggers = new Map<number, number[]>()
    for (let step = 0; step < 120; step++) {
      now += random.pick([1, 5, 45, 240, 700]) * MINUTE_MS
      const person = random.pick(people)
      const kind = random.below(10)
      if (kind < 5) {
        triggers.set(person.subject, [...(triggers.get(person.subject) ?? []), now])
        const id = v7()
        await own.tx((tx) =>
          startRuns(
            tx,
            [
              {
                trigger: 'checkout_abandoned',
                providerId: null,
                definitionId: null,
                key: id,
                eventId: null,
                source: { kind: 'checkout', id },
                subject: person.subject,
                at: clock(),
                facts: {},
              },
            ],
            clock(),
          ),
        )
      } else if (kind === 5) {
        const state = optedOut.has(person.id) ? 'subscribed' : 'unsubscribed'
        await own.tx((tx) => setConsent(tx, person.id, 'sms', state, 'test', clock()))
        if (state === 'subscribed') optedOut.delete(person.id)
        else optedOut.add(person.id)
      } else if (kind === 6) {
        bought.set(person.subject, now)
        await sql`insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total,
            created_at, updated_at)
          values (${brand.id}, ${v7()}, ${v7()}, ${person.subject}, 'complete', 'paid', 'USD', 1, ${clock()}, ${clock()})`
      }
      const before = sent.length
      await runCampaigns(parts, clock)
      for (const { phone } of sent.slice(before)) {
        const to = people.find((one) => one.phone === phone)
        if (!to) continue
        const what = `round ${round}, step ${step}, to ${phone} at ${clock().toISOString()}`
        if (optedOut.has(to.id)) t.fail(`${what}: opted out`)
        const zones = to.zones.length > 1 && to.zones.includes(timezone) ? [timezone] : to.zones
        if (isQuietSomewhere(clock(), zones, policy.from, policy.until))
          t.fail(`${what}: quiet in ${zones.join()}`)
        const window = sent.filter((one) => one.phone === phone && one.at > now - policy.days * DAY_MS)
        if (window.length > policy.cap) t.fail(`${what}: ${window.length} in ${policy.days} days`)
        // Whoever bought is messaged about nothing that happened before.
        const since = bought.get(to.subject) ?? 0
        if (!(triggers.get(to.subject) ?? []).some((at) => at >= since)) t.fail(`${what}: bought already`)
      }
    }
    left += sent.filter(({ phone }) => people.some((one) => one.phone === phone)).length
    now += 4 * DAY_MS
    for (const { reason } of await sql`select reason from run_step where brand_id = ${brand.id}`)
      stopped.set(reason, (stopped.get(reason) ?? 0) + 1)
    for (const row of await sql`
      select run.id, bought_since(${brand.id}, run.subject, run.source_kind, run.source_id, run.triggered_at) as bought_at,
        message.sent_at
      from campaign_run as run
      join conversation on conversation.run_id = run.id
      join message on message.conversation_id = conversation.id and message.sent_at is not null
      where run.brand_id = ${brand.id}`)
      if (row.bought_at !== null && row.bought_at < row.sent_at) t.fail(`run ${row.id}: sent after its order`)
    const twice = await sql`select occurrence, campaign_id from campaign_run where brand_id = ${brand.id}
      group by occurrence, campaign_id having count(*) > 1`
    t.equal(twice.length, 0)
  }
  t.comment(`${left} messages; ${[...stopped].map(([reason, count]) => `${reason} ${count}`).join(', ')}`)
  for (const reason of [
    'opted_out',
    'quiet_hours',
    'frequency_cap',
    'already_bought',
    'send_retried',
    'message_sent',
  ])
    t.ok(stopped.get(reason), `${reason} occurred`)
})
