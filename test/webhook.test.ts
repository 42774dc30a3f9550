import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { providerCommands } from '../src/cli/provider.ts'
import { CHECKOUT } from '../src/config.ts'
import { forgetFormerSecrets } from '../src/connect/custom/forget.ts'
import { createReceivers } from '../src/connect/custom/receivers.ts'
import { isSigned, signatureOf } from '../src/connect/custom/signature.ts'
import { cutIdentity } from '../src/connect/erase/cut.ts'
import { parseExactly } from '../src/event/exact.ts'
import { createServer } from '../src/http/server.ts'
import { webhookRoutes } from '../src/http/webhook.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { assignSubjects } from '../src/identity/subject.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { HOSTILE } from './fixtures/hostile.ts'
import { lake, passed, sourceRows } from './fixtures/lake.ts'
import { proxy } from './fixtures/proxy.ts'
import { randomSource } from './fixtures/random.ts'
import { eventsOf } from './fixtures/store.ts'
import { hooks, POINTS, type Sending, type Source } from './fixtures/webhook.ts'

const logged = t.capture(process.stderr, 'write')
setLogLevel('debug')
const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = db.postgres
const { app, send, source, cli } = await hooks(t, db)

/** How many rows of each table a brand has, and events in the log. */
async function stored({ brand }: Pick<Source, 'brand'>) {
  const [counts] = await sql`
    select
      (select count(*)::integer from custom_event where brand_id = ${brand.id}) as records,
      (select count(*)::integer from custom_delivery where brand_id = ${brand.id}) as deliveries,
      (select count(*)::integer from contact where brand_id = ${brand.id}) as contacts,
      (select count(*)::integer from dead_letter where brand_id = ${brand.id}) as letters`
  return { ...counts, events: (await eventsOf(db, brand)).length }
}
const NOTHING = { records: 0, deliveries: 0, contacts: 0, letters: 0, events: 0 }
const ONE = { records: 1, deliveries: 1, contacts: 1, letters: 0, events: 1 }
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const ACCEPTED = { status: 200, body: { ok: true, custom_event_id: UUID, flow_event_id: null } }
const REPEATED = { status: 200, body: { deduplicated: true } }
const refusal = (status: number, reason: string, message: RegExp | string = /./) => ({
  status,
  body: { ok: false, reason, message },
})

const data = (more: object = {}) => JSON.stringify({ id: 'a1', email: 'ada@example.com', points: 4, ...more })

t.test('a delivery is a contact, a record and an event in the log', async (t) => {
  const one = await source()
  const answer = await send(one, { eventId: 'e1' })
  t.match(answer, ACCEPTED)
  t.same(Object.keys(answer.body), ['ok', 'custom_event_id', 'flow_event_id'])
  t.match(await send(one, { eventId: 'e1', path: `/custom/${one.webhookId}/` }), REPEATED)
  t.same(await stored(one), ONE)
  t.match(await eventsOf(db, one.brand), [
    {
      event_type: 'points_earned',
      event_id: `${one.id}:e1`,
      email: 'ada@example.com',
      properties: { external_id: 'a1', id: 'a1', points: 4 },
    },
  ])
})

t.test('its event has no channel among the properties, wherever it stands', async (t) => {
  const mappings = (external_id_path: string, email_path: string, phone_path?: string) => ({
    identifier_mappings: { external_id_path, email_path, ...(phone_path && { phone_path }) },
  })
  const one = await source(undefined, [
    { type: 'nested', ...mappings('id', 'member.mails[-1].it', "$['a phone']") },
    { type: 'by_address', ...mappings('email', 'email') },
  ])
  const sent = {
    id: 'n',
    points: 1,
    member: {
      tier: 'gold',
      mails: [
        { it: 'old', x: 1 },
        { it: 'ada@example.com', x: 2 },
      ],
    },
    'a phone': '+12025550177',
  }
  t.match(await send(one, { type: 'nested', data: JSON.stringify(sent) }), ACCEPTED)
  t.match(await send(one, { type: 'by_address', data: data() }), ACCEPTED)
  t.same(
    (await eventsOf(db, one.brand)).map(({ properties }) => properties),
    [
      {
        external_id: 'n',
        id: 'n',
        points: 1,
        member: { tier: 'gold', mails: [{ it: 'old', x: 1 }, { x: 2 }] },
      },
      { id: 'a1', points: 4 },
    ],
  )
  t.match(await sql`select data from custom_event where brand_id = ${one.brand.id} and external_id = 'n'`, [
    { data: sent },
  ])
})

t.test('its external id is the mapped one, whatever else has that name', async (t) => {
  const mapped = (type: string, external_id_path: string) => ({
    type,
    identifier_mappings: { external_id_path, email_path: 'email' },
  })
  const one = await source(undefined, [mapped('by_id', 'id'), mapped('by_name', 'external_id')])
  for (const type of ['by_id', 'by_name'])
    t.match(await send(one, { type, data: data({ external_id: 7 }) }), ACCEPTED)
  t.same(
    (await eventsOf(db, one.brand)).map(({ properties }) => properties),
    [
      { external_id: 'a1', id: 'a1', points: 4 },
      { external_id: 7, id: 'a1', points: 4 },
    ],
  )
})

const long = (bytes: number) => data({ note: 'x'.repeat(bytes - 200) })
/** What is wrong with a delivery, and what is answered; each is sent with the same event id. */
const REFUSED: [what: string, sending: Sending, status: number, reason: string, message?: RegExp][] = [
  ['no id in the path', { path: '/custom' }, 400, 'missing_webhook_id'],
  ['an empty one', { path: '/custom/' }, 400, 'missing_webhook_id'],
  ['an unknown one', { path: `/custom/${'a'.repeat(24)}` }, 404, 'unknown_webhook'],
  ['one that is none', { path: `/custom/${'%00'.repeat(3)}` }, 404, 'unknown_webhook'],
  ['broken encoding', { path: '/custom/%ff' }, 400, 'bad_request'],
  ['no signature', { headers: { 'x-svc-signature': undefined } }, 401, 'invalid_signature'],
  ['no content type', { headers: { 'content-type': undefined } }, 400, 'invalid_content_type'],
  ['another one', { headers: { 'content-type': 'text/plain' } }, 400, 'invalid_content_type'],
  ['a compressed body', { headers: { 'content-encoding': 'gzip' } }, 400, 'bad_request', /Content-Encoding/],
  ['over 256 KB', { data: long(263_000) }, 400, 'bad_request', /256 KB/],
  [
    'that and no good signature',
    { data: long(263_000), signature: 'a'.repeat(64) },
    401,
    'invalid_signature',
  ],
  [
    'a compressed body and no good signature',
    { headers: { 'content-encoding': 'gzip' }, signature: 'a'.repeat(64) },
    401,
    'invalid_signature',
  ],
  ['over 1 MB', { data: long(1_049_000) }, 400, 'bad_request', /256 KB/],
  ['an empty body', { raw: '' }, 400, 'empty_body'],
  ['broken JSON', { raw: '{"type":' }, 400, 'malformed_json'],
  ['no UTF-8', { raw: Buffer.from([0x7b, 0xff, 0x7d]) }, 400, 'malformed_json'],
  ['a list', { raw: '[]' }, 400, 'invalid_payload'],
  ['null', { raw: 'null' }, 400, 'invalid_payload'],
  ['no type', { raw: '{"event_id":"same","data":{}}' }, 400, 'missing_field', /^type/],
  ['no event id', { raw: '{"type":"points_earned","data":{}}' }, 400, 'missing_field', /^event_id/],
  ['a number for it', { raw: '{"type":"a","event_id":1,"data":{}}' }, 400, 'missing_field', /^event_id/],
  ['data that is a list', { data: '[]' }, 400, 'invalid_payload', /^data/],
  ['no data', { raw: '{"type":"points_earned","event_id":"same"}' }, 400, 'invalid_payload', /^data/],
  ['no topic', { headers: { 'x-svc-topic': undefined } }, 400, 'missing_field', /x-svc-topic/],
  ['another topic', { headers: { 'x-svc-topic': 'points_lost' } }, 400, 'topic_mismatch'],
  ['no id header', { headers: { 'x-svc-event-id': undefined } }, 400, 'missing_field', /x-svc-event-id/],
  ['another id there', { headers: { 'x-svc-event-id': 'other' } }, 400, 'event_id_mismatch'],
  ['an unknown type', { type: 'points_lost' }, 404, 'unknown_event_type', /points_lost/],
  ['what is no slug', { type: 'points-earned' }, 404, 'unknown_event_type', /points-earned/],
  ['a disabled one', { type: 'points_off' }, 404, 'unknown_event_type', /points_off/],
  ['other data', { data: data({ points: 'four' }) }, 400, 'schema_violation', /^data\.points /],
  ['no external id', { data: data({ id: undefined }) }, 422, 'missing_external_id', /external_id_path/],
  ['a blank one', { data: data({ id: ' ' }) }, 422, 'missing_external_id'],
  ['a word for none', { data: data({ id: 'undefined' }) }, 422, 'missing_external_id', /must give an id/],
  ['zero', { data: data({ id: 0 }) }, 422, 'missing_external_id', /0 and words such as undefined or guest/],
  ['a list for it', { data: data({ id: ['a'] }) }, 422, 'missing_external_id'],
  ['a long one', { data: data({ id: 'x'.repeat(257) }) }, 422, 'missing_external_id'],
  ['no channel', { data: data({ email: undefined }) }, 422, 'missing_contact_channel'],
  ['no address', { data: data({ email: 'n/a' }) }, 422, 'missing_contact_channel'],
  [
    'no number',
    { data: data({ email: undefined, member: { phone: '12' } }) },
    422,
    'missing_contact_channel',
  ],
]

t.test('every refusal has its status and reason, and does not use up the event id', async (t) => {
  const one = await source(undefined, [{}, { type: 'points_off', is_enabled: false }])
  for (const [what, sending, status, reason, message] of REFUSED)
    t.match(await send(one, { eventId: 'same', ...sending }), refusal(status, reason, message), what)
  t.same(await stored(one), NOTHING)
  t.match(await send(one, { eventId: 'same', data: long(262_000) }), ACCEPTED, 'as long as it may be')
  t.match(await send(one, { eventId: 'same', data: '{}' }), REPEATED, 'whatever the body')
  t.same(await stored(one), ONE)
})

t.test('an external id has 256 characters, of whichever plane', async (t) => {
  t.match(await send(await source(), { data: data({ id: '🧾'.repeat(256) }) }), ACCEPTED)
})

t.test('of several things that are wrong the first in order is said', async (t) => {
  const one = await source()
  await send(one, { data: data({ member: { phone: '+1 202 555 0101' }, email: undefined }) })
  const before = await stored(one)
  const disable = (to: boolean) => sql`update provider set is_enabled = ${!to} where id = ${one.id}`
  const [row] = await sql<{ webhook_secret: Buffer }[]>`select * from provider where id = ${one.id}`
  await disable(true)
  await sql`update provider set webhook_secret = null where id = ${one.id}`
  // Changed by hand, which is announced, and acknowledged to nobody.
  await eventually(async () => (await send(one, { raw: '' })).status === 404)
  const taken = { member: { phone: '+12025550101' }, email: 'someone@example.com' }
  await send(one, { data: data({ email: taken.email }) })
  let sending: Sending = {
    eventId: 'wrong',
    type: 'points_lost',
    data: '{"points":"four"}',
    headers: { 'content-type': 'text/plain', 'x-svc-topic': 'other', 'x-svc-event-id': 'other' },
    signature: '0'.repeat(64),
  }
  const steps: [reason: string, mend: () => unknown][] = [
    ['unknown_webhook', () => disable(false)],
    [
      'secret_not_configured',
      () => sql`update provider set webhook_secret = ${row?.webhook_secret ?? null} where id = ${one.id}`,
    ],
    ['invalid_signature', () => delete sending.signature],
    ['invalid_content_type', () => delete sending.headers?.['content-type']],
    ['topic_mismatch', () => delete sending.headers?.['x-svc-topic']],
    ['event_id_mismatch', () => delete sending.headers?.['x-svc-event-id']],
    ['unknown_event_type', () => delete sending.type],
    ['schema_violation', () => (sending.data = '{"points":4}')],
    ['missing_external_id', () => (sending.data = '{"points":4,"id":"a2"}')],
    ['missing_contact_channel', () => (sending.data = data({ id: 'a2' }))],
  ]
  for (const [reason, mend] of steps) {
    t.match((await send(one, sending)).body, { ok: false, reason }, reason)
    await mend()
    await eventually(async () => (await send(one, sending)).body.reason !== reason)
  }
  t.same(await stored(one), { ...before, records: 2, deliveries: 2, contacts: 2, events: 2 })
  sending = { eventId: 'last', data: data(taken) }
  t.match(await send(one, sending), ACCEPTED)
})

t.test('only the signature of exactly these bytes is taken', async (t) => {
  const one = await source()
  const body = Buffer.from('{"type":"points_earned","event_id":"e","data":{"id":"1","points":1}}')
  const right = signatureOf(Buffer.from(one.secret), body)
  const statusOf = async (signature: string | undefined, raw: Buffer = body) =>
    (await send(one, { raw, eventId: 'e', signature, headers: { 'x-svc-signature': signature } })).status
  const flipped = (bytes: Buffer, bit: number) => {
    const copy = Buffer.from(bytes)
    copy.writeUInt8(copy.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    return copy
  }
  const bits = (bytes: Buffer) => Array.from({ length: bytes.length * 8 }, (_, bit) => flipped(bytes, bit))
  const signatures = [
    ...bits(Buffer.from(right, 'hex')).map((bytes) => bytes.toString('hex')),
    // As text: upper case is among them.
    ...bits(Buffer.from(right, 'latin1')).map((bytes) => bytes.toString('latin1')),
    right.toUpperCase(),
    right.slice(1),
    right.slice(0, -1),
    `${right}0`,
    `0${right}`,
    `${right}zz`,
    `${right},${right}`,
    `sha256=${right}`,
    `0x${right.slice(2)}`,
    Buffer.from(right, 'hex').toString('base64'),
    '',
  ].filter((signature) => signature !== right)
  t.equal(signatures.length, 256 + 512 + 11)
  const sendable = signatures.filter((signature) => /^[\x21-\x7e]*$/.test(signature))
  t.ok(sendable.length > 600)
  const statuses = [
    ...(await Promise.all(sendable.map((signature) => statusOf(signature)))),
    ...(await Promise.all(bits(body).map((raw) => statusOf(right, raw)))),
    await statusOf(undefined),
  ]
  t.same(new Set(statuses), new Set([401]))
  for (const signature of signatures) t.notOk(isSigned(Buffer.from(one.secret), body, signature))
  t.same(await stored(one), NOTHING)
  t.equal(await statusOf(right), 422, 'what is right about it is seen')
})

t.test('the same event id 1,000 times over 32 connections is one record', async (t) => {
  const one = await source()
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, () => send(one, { eventId: 'often', data: data() })),
  )
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal(answers.filter(({ body }) => body.ok).length, 1)
  t.equal(answers.filter(({ body }) => body.deduplicated).length, 999)
  t.same(await stored(one), ONE)
})

t.test('a delivery that told of somebody who was erased since is a repeat', async (t) => {
  const one = await source()
  const own = db.postgres.forBrand(one.brand.id)
  const email = 'repeated@example.com'
  const sent = { eventId: `earned:${email}`, data: data({ email }) }
  t.match(await send(one, sent), ACCEPTED)
  const { erasureId } = await own.tx((tx) => requestErasure(tx, { email }, 'a test'))
  await cutIdentity(app.pipeline, { brand_id: one.brand.id, id: erasureId })
  t.match(await send(one, sent), REPEATED)
  t.equal(await own.run('custom_delivery_claim', [one.id, sent.eventId, randomUUID()]), 0)
  t.match(await stored(one), { records: 0, deliveries: 1, contacts: 0 })
  t.match(await send(one, { ...sent, eventId: 'another' }), ACCEPTED, 'who comes back')
})

t.test('many at once for the same people and entities end in one record of each', async (t) => {
  const random = randomSource(t)
  const one = await source()
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => {
      const who = random.below(5)
      return send(one, { data: data({ id: `a${random.below(8)}`, email: `p${who}@example.com` }) })
    }),
  )
  t.ok(answers.every(({ body }) => body.ok))
  t.same(await stored(one), { records: 8, deliveries: 200, contacts: 5, letters: 0, events: 200 })
})

t.test('an entity has one record in its definition, as it was told last', async (t) => {
  const one = await source(undefined, [{}, { type: 'points_spent' }])
  const first = await send(one, { eventId: '1', data: data({ points: 1 }) })
  const again = await send(one, { eventId: '2', data: data({ points: 2, email: 'bob@example.com' }) })
  t.equal(again.body.custom_event_id, first.body.custom_event_id)
  t.not((await send(one, { data: data({ id: 'a2' }) })).body.custom_event_id, first.body.custom_event_id)
  t.not((await send(one, { type: 'points_spent' })).body.custom_event_id, first.body.custom_event_id)
  t.match(
    await sql`
      select event_id, data, deliveries, email from custom_event join contact on contact.id = contact_id
      where custom_event.id = ${first.body.custom_event_id ?? ''}`,
    [{ event_id: '2', data: { points: 2 }, deliveries: 2, email: 'bob@example.com' }],
  )
  t.match(await stored(one), { records: 3, events: 4 })
  const other = await source(one.brand)
  t.match(await send(other, { eventId: '1' }), ACCEPTED, 'event ids are of their provider')
  t.equal((await eventsOf(db, one.brand)).length, 5)
})

t.test('a channel of another contact is refused, with nothing stored', async (t) => {
  const one = await source()
  await send(one, { data: data({ id: 'a' }) })
  await send(one, { data: data({ id: 'b', email: undefined, member: { phone: '(202) 555-0101' } }) })
  const before = await stored(one)
  const both = data({ id: 'c', email: ' ADA@example.com', member: { phone: '+1 202-555-0101' } })
  t.match(await send(one, { eventId: 'c', data: both }), refusal(422, 'contact_channel_conflict', /phone/))
  t.same(await stored(one), before)
  t.match(await send(one, { eventId: 'c', data: data({ id: 'c' }) }), ACCEPTED)
  t.match(await stored(one), { records: 3, contacts: 2 })
  const added = data({ id: 'c', email: 'new@example.com', member: { phone: 12025550101 } })
  t.match(await send(one, { data: added }), ACCEPTED, 'a number without digits of a text')
  t.match(await sql`select email from contact where brand_id = ${one.brand.id} and phone = '+12025550101'`, [
    { email: 'new@example.com' },
  ])
})

t.test('channels of two contacts of one person name that person, and of two people nobody', async (t) => {
  const one = await source()
  const assigned = await assignSubjects(
    sql,
    one.brand.id,
    [
      { seenAt: new Date(), storeCustomerId: '1', email: 'ada@example.com' },
      { seenAt: new Date(), storeCustomerId: '2', phone: '+12025550101' },
    ],
    pipeline,
  )
  await send(one, { data: data({ id: 'a' }) })
  await send(one, { data: data({ id: 'b', email: undefined, member: { phone: '(202) 555-0101' } }) })
  const contacts = async () => [
    ...(await sql`select * from contact where brand_id = ${one.brand.id} order by id`),
  ]
  const before = await contacts()
  t.same(
    before.map(({ subject }) => subject),
    assigned,
  )
  const both = { eventId: 'c', data: data({ id: 'c', member: { phone: '+1 202-555-0101' } }) }
  t.match(await send(one, both), refusal(422, 'contact_channel_conflict', /phone/))
  await sql`
    insert into subject_redirect (brand_id, subject, customer)
    values (${one.brand.id}, ${assigned[1] ?? 0}, ${assigned[0] ?? 0})`
  t.match(await send(one, both), ACCEPTED)
  t.strictSame(await contacts(), before)
  const records = await sql`
    select email from custom_event join contact on contact.id = contact_id
    where custom_event.brand_id = ${one.brand.id} and external_id = 'c'`
  t.strictSame([...records], [{ email: 'ada@example.com' }])
})

t.test('a hostile body is refused for what it is', async (t) => {
  const one = await source(undefined, [{ ...POINTS, payload_schema: {} }])
  for (const { what, fields, taken } of HOSTILE.filter(({ fields }) =>
    fields.startsWith('"eventType":"view"'),
  )) {
    const properties = fields.slice('"eventType":"view","properties":'.length)
    const body = properties.startsWith('{}')
      ? '{"id":"h","email":"h@example.com"}'
      : properties.startsWith('{')
        ? `{"id":"h","email":"h@example.com",${properties.slice(1)}`
        : properties
    const { status, body: answer } = await send(one, { data: body })
    t.ok(taken ? status === 200 || status === 422 : status === 400, `${what}: ${JSON.stringify(answer)}`)
  }
  const deep = `${'['.repeat(60_000)}${']'.repeat(60_000)}`
  const beside = `{"type":"points_earned","event_id":"d","data":{"id":9007199254740993},"more":${deep}}`
  t.match(await send(one, { raw: beside, eventId: 'd' }), refusal(400, 'invalid_payload', /levels deep/))

  const documents = join(CHECKOUT, '../shared/data/json/test_parsing')
  const names = existsSync(documents) ? readdirSync(documents) : []
  const wrong = await Promise.all(
    names.map(async (name) => {
      const document = readFileSync(join(documents, name))
      const { status } = await send(one, { raw: document, eventId: 'd' })
      const before = Buffer.from('{"type":"points_earned","event_id":"d","data":{"id":"d","v":')
      const inside = Buffer.concat([before, document, Buffer.from('}}')])
      const { status: then } = await send(one, { raw: inside, eventId: 'd' })
      return status === 400 && (then === 400 || then === 422) ? [] : [`${name}: ${status} ${then}`]
    }),
  )
  t.same(wrong.flat(), [])
})

t.test('ids of strangers cost few statements, and those that are none nothing', async (t) => {
  const one = await source()
  let statements = 0
  const receivers = createReceivers(
    {
      ...db.postgres.pipeline,
      many: (name, args) => {
        statements++
        return db.postgres.pipeline.many(name, args)
      },
    },
    { open: (sealed) => sealed },
  )
  t.equal(receivers.find('../../etc'), undefined)
  t.equal(receivers.find(''), undefined)
  t.equal(receivers.find('x'.repeat(65)), undefined)
  t.equal(statements, 0)
  const found = await Promise.all([
    ...Array.from({ length: 4_000 }, () => receivers.find(randomUUID())),
    receivers.find(one.webhookId),
  ])
  t.equal(statements, 2, 'one, and one for all who came meanwhile')
  t.match(found.pop(), { brandId: one.brand.id, providerId: one.id })
  t.ok(found.every((stranger) => stranger === undefined))
  t.match(receivers.find(one.webhookId), { providerId: one.id }, 'at once from now on')
  const flood = await Promise.allSettled(
    Array.from({ length: 6_000 }, async () => receivers.find(randomUUID())),
  )
  t.ok(flood.some(({ status }) => status === 'rejected'))
  t.match(await receivers.find(one.webhookId), { providerId: one.id })
})

t.test('a provider that is disabled, and a secret that is replaced, take effect at once', async (t) => {
  const one = await source()
  const values = { brand: one.brand.id, provider: one.webhookId }
  t.match(await send(one), ACCEPTED)
  await cli(providerCommands, 'provider disable', [], values)
  t.match(await send(one), refusal(404, 'unknown_webhook'))
  await cli(providerCommands, 'provider enable', [], values)
  t.match(await send(one), ACCEPTED)
  for (let round = 0; round < 5; round++) {
    const { webhook_secret: secret } = await cli<{ webhook_secret: string }>(
      providerCommands,
      'provider rotate-secret',
      [],
      values,
    )
    t.match(await send(one), refusal(401, 'invalid_signature'))
    one.secret = secret
    t.match(await send(one), ACCEPTED)
  }
})

t.test('a secret that is replaced may be taken for some hours more, the one before that never', async (t) => {
  const one = await source()
  const rotate = (keep: string) =>
    cli<{ webhook_secret: string }>(providerCommands, 'provider rotate-secret', [], {
      ...{ brand: one.brand.id, provider: one.webhookId },
      'keep-hours': keep,
    })
  const first = one.secret
  const { webhook_secret: second } = await rotate('24')
  t.match(await send(one), ACCEPTED)
  one.secret = second
  t.match(await send(one), ACCEPTED)
  one.secret = 'whsec_of_nobody'
  t.match(await send(one), refusal(401, 'invalid_signature'))
  await rotate('24')
  one.secret = first
  t.match(await send(one), refusal(401, 'invalid_signature'))
  one.secret = second
  t.match(await send(one), ACCEPTED)
  await rotate('0')
  t.match(await send(one), refusal(401, 'invalid_signature'))
})

t.test('it ends with them', async (t) => {
  const one = await source()
  await cli(providerCommands, 'provider rotate-secret', [], {
    ...{ brand: one.brand.id, provider: one.webhookId },
    'keep-hours': '24',
  })
  await sql`update provider set former_until = now() where id = ${one.id}`
  t.match(await send(one), refusal(401, 'invalid_signature'))
})

t.test('it is forgotten then, and not before', async (t) => {
  const [over, taken] = [await source(), await source()]
  for (const { brand, webhookId } of [over, taken])
    await cli(providerCommands, 'provider rotate-secret', [], {
      ...{ brand: brand.id, provider: webhookId },
      'keep-hours': '24',
    })
  await sql`update provider set former_until = now() where id = ${over.id}`
  await forgetFormerSecrets(pipeline.postgres.pipeline)
  const kept = await sql`
    select id from provider where id in (${over.id}, ${taken.id}) and num_nonnulls(former_secret, former_until) > 0`
  t.same([...kept], [{ id: taken.id }])
})

t.test('deliveries are in the lake with their type, whom they are about and every digit', async (t) => {
  const one = await source(undefined, [{}, { type: 'points_spent' }])
  await send(one, { eventId: 'e1', data: '{"id":9007199254740993,"email":" Ada@Example.com","points":4}' })
  await send(one, { eventId: 'e2', data: data({ email: undefined, member: { phone: '202 555 0101' } }) })
  await send(one, { eventId: 'e2', data: data() })
  await send(one, { eventId: 'e3', type: 'points_spent', data: data() })
  await passed(pipeline)
  await snapshotAll(pipeline)
  const rows = await sourceRows(
    pipeline,
    one.brand,
    'select event_id, event_type, subject, properties::varchar as properties from events order by event_id',
  )
  t.match(rows, [
    { event_id: `service:${one.id}:e1`, event_type: 'points_earned', properties: /"id":9007199254740993\b/ },
    { event_id: `service:${one.id}:e2`, event_type: 'points_earned' },
    { event_id: `service:${one.id}:e3`, event_type: 'points_spent' },
  ])
  t.equal(rows.length, 3)
  const subjects = rows.map(({ subject }) => subject)
  t.equal(subjects[0], subjects[2])
  t.not(subjects[0], subjects[1])
  t.match(
    await sql`select external_id, data::text as data from custom_event where brand_id = ${one.brand.id} and event_id = 'e1'`,
    [{ external_id: '9007199254740993', data: /"id":9007199254740993\b/ }],
  )
  t.match(
    await sql`select email from customer where brand_id = ${one.brand.id} and subject = ${subjects[0] as number}`,
    [{ email: 'ada@example.com' }],
  )
})

t.test('an integer beyond 2^53 is held against the payload schema with every digit', async (t) => {
  const least = parseExactly('{"minimum":9007199254740993}')
  const one = await source(undefined, [{ payload_schema: { properties: { points: least } } }])
  const points = (digits: string) =>
    send(one, { data: `{"id":"a1","email":"ada@example.com","points":${digits}}` })
  t.match(
    await points('9007199254740992'),
    refusal(400, 'schema_violation', 'data.points must be at least 9007199254740993'),
  )
  t.match(await points('9007199254740993'), ACCEPTED)
})

t.test('a brand that delivers more than there is room for is told to wait, and no other', async (t) => {
  const [one, other] = [await source(), await source()]
  // Takes the event id of one delivery, for which the others then wait.
  const holder = await sql.reserve()
  await holder`begin`
  await holder`insert into custom_delivery values (${one.brand.id}, ${one.id}, 'held', ${one.id})`
  let refused = 0
  const first = send(one, { eventId: 'held' })
  const many = Array.from({ length: 60 }, async (_, n) => {
    const answer = await send(one, { eventId: `e${n}`, data: long(250_000), alone: true })
    if (answer.status === 503) refused++
    return answer
  })
  await eventually(async () => refused > 0)
  t.match(await send(other, { alone: true }), ACCEPTED)
  await holder`rollback`
  holder.release()
  t.match(await first, ACCEPTED)
  const answers = await Promise.all(many)
  for (const answer of answers.filter(({ status }) => status !== 200))
    t.match(answer, refusal(503, 'unavailable', /at once/))
  t.match(await stored(one), { deliveries: 61 - refused })
  t.match(await send(one, { data: long(250_000) }), ACCEPTED, 'there is room again')
})

t.test('a fault of Postgres is 503, and the same delivery is taken when it is over', async (t) => {
  const between = await proxy(t, db.url)
  const faulty = await hooks(t, { ...db, url: between.url })
  const one = await faulty.source()
  t.match(await faulty.send(one, { data: data({ id: 'before' }) }), ACCEPTED)
  const before = await stored(one)

  const holder = await sql.reserve()
  await holder`begin`
  await holder`lock table custom_event in exclusive mode`
  const answer = faulty.send(one, { eventId: 'e' })
  const pid = await eventually(async () => {
    const [waiting] = await sql<{ pid: number }[]>`
      select pid from pg_locks where relation = 'custom_event'::regclass and not granted`
    return waiting?.pid
  })
  await holder`set role none`
  await holder`select pg_terminate_backend(${pid})`
  t.match(await answer, refusal(503, 'unavailable'))
  await holder`rollback`
  holder.release()
  t.same(await stored(one), before, 'nothing is consumed')
  t.match(await faulty.send(one, { eventId: 'e' }), ACCEPTED)

  const cut = between.cutAt('COMMIT')
  const lost = await faulty.send(one, { eventId: 'f', data: data({ id: 'f' }) })
  await cut
  t.match(lost, refusal(503, 'unavailable'), 'nobody knows whether it was committed')
  const then = await eventually(async () => {
    const again = await faulty.send(one, { eventId: 'f', data: data({ id: 'f' }) })
    return again.status === 200 && again
  })
  t.ok(then.body.ok || then.body.deduplicated)
  t.match(await stored(one), { records: 3, deliveries: 3, events: 3 })
})

t.test('a delivery that waits while its day gets a partition of its own is stored', async (t) => {
  const one = await source()
  // The lake has all that came until now: its days may go.
  await sql`update lake_state set exported_below = pg_snapshot_xmax(pg_current_snapshot())`
  await sql`call event_log_drop_before((now() at time zone 'UTC')::date + 2)`
  t.match(await send(one), ACCEPTED)
  const { delivered } = await sql.begin(async (tx) => {
    await tx`call event_log_days((now() at time zone 'UTC')::date - 1, (now() at time zone 'UTC')::date + 7)`
    const delivered = send(one)
    await eventually(
      async () =>
        (await sql`select from pg_locks where relation = 'event_log_default'::regclass and not granted`)
          .count > 0,
    )
    return { delivered }
  })
  t.match(await delivered, ACCEPTED)
  t.match(await stored(one), { letters: 0, events: 2 })
})

t.test('without Postgres a delivery is 503', async (t) => {
  const away = openPostgres('postgres://nobody@127.0.0.1:1/nothing')
  const routes = webhookRoutes({
    receivers: createReceivers(away.pipeline, { open: (sealed) => sealed }),
    db: away.forBrand,
    storePlatformDomain: 'myshopify.com',
    room: { total: 1, brand: 1 },
  })
  const server = createServer(routes)
  const port = await server.listen('127.0.0.1', 0)
  const answer = await fetch(`http://127.0.0.1:${port}/custom/${'a'.repeat(24)}`, {
    method: 'POST',
    body: '{}',
  })
  t.match({ status: answer.status, body: await answer.json() }, refusal(503, 'unavailable'))
  await server.drain(0)
  await away.close()
})

t.test('no secret, no personal data and no error is in the log', async (t) => {
  const text = logged()
    .map(({ args }) => String(args[0]))
    .join('')
  t.match(text, /"event":"request"/)
  t.notMatch(text, /whsec_|example\.com|5550101|acct|points":4/)
  t.notMatch(text, /"level":"error"/)
})

t.test('a contact is linked to the customer whose email or phone it has, whoever came first', async (t) => {
  const one = await source()
  const assign = (identity: object) =>
    assignSubjects(sql, one.brand.id, [{ seenAt: new Date(), ...identity }], pipeline)
  const linked = async (email: string) => {
    const [row] = await sql`select subject from contact where brand_id = ${one.brand.id} and email = ${email}`
    return row?.subject
  }
  const [known] = await assign({ storeCustomerId: '1', email: 'ann@example.com', phone: '+12025550101' })
  await send(one, { data: data({ email: 'ann@example.com' }) })
  t.equal(await linked('ann@example.com'), known)
  await send(one, { data: data({ id: 'a2', email: 'other@example.com', member: { phone: '202 555 0101' } }) })
  t.equal(await linked('other@example.com'), null, 'a customer has one that is linked')

  await send(one, { data: data({ id: 'a3', email: 'bob@example.com' }) })
  await assign({ anonymousId: 'v', email: 'bob@example.com', origin: 'browser' })
  t.equal(await linked('bob@example.com'), null, 'what a browser says links nobody')
  const [later] = await assign({ storeCustomerId: '2', email: 'bob@example.com' })
  t.equal(await linked('bob@example.com'), later)
})

t.test('an address that went from one customer to another names the new one', async (t) => {
  const one = await source()
  const options = { storePlatformDomain: 'myshopify.com', source: 'store' } as const
  const told = async (storeCustomerId: string, email: string) => {
    const [subject = 0] = await assignSubjects(
      sql,
      one.brand.id,
      [{ seenAt: new Date(), storeCustomerId, email }],
      options,
    )
    await sql`update customer set email = ${email} where brand_id = ${one.brand.id} and subject = ${subject}`
    return subject
  }
  await told('1', 'ann@example.com')
  await told('1', 'moved@example.com')
  const now = await told('2', 'ann@example.com')
  await send(one, { data: data({ email: 'ann@example.com' }) })
  t.match(await eventsOf(db, one.brand), [{ email: 'ann@example.com', store_customer_id: '2' }])
  t.match(await sql`select subject from contact where brand_id = ${one.brand.id}`, [{ subject: now }])
})

t.test('what nobody expected is 500, without saying what it was', async (t) => {
  const secret = Buffer.from('whsec_test')
  const fail = () => Promise.reject(new Error('secret detail'))
  const routes = webhookRoutes({
    receivers: {
      find: () => ({
        ...{ brandId: randomUUID(), providerId: randomUUID() },
        ...{ isEnabled: true, secret, former: null },
      }),
    },
    db: () => ({ one: fail, maybe: fail, many: fail, run: fail, tx: fail }),
    storePlatformDomain: 'myshopify.com',
    room: { total: 1_000, brand: 1_000 },
  })
  const server = createServer(routes)
  const port = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.drain(0))
  const body = `{"type":"points_earned","event_id":"e","data":${data()}}`
  const headers = {
    'content-type': 'application/json',
    'x-svc-signature': signatureOf(secret, Buffer.from(body)),
    'x-svc-event-id': 'e',
    'x-svc-topic': 'points_earned',
  }
  const answer = await fetch(`http://127.0.0.1:${port}/custom/some`, { method: 'POST', headers, body })
  const said = (await answer.json()) as object
  t.match({ status: answer.status, body: said }, refusal(500, 'internal'))
  t.notMatch(JSON.stringify(said), /secret/)
})
