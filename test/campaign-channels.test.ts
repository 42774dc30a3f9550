import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { serviceSeal } from '../src/access/service-seal.ts'
import { attribute } from '../src/campaign/attribution.ts'
import { httpChannel } from '../src/campaign/channel-http.ts'
import { channelRow, openedSecret } from '../src/campaign/channel-settings.ts'
import { workCampaigns } from '../src/campaign/round.ts'
import { setCampaignStatus } from '../src/campaign/saved.ts'
import { sendMessages } from '../src/campaign/sending.ts'
import { channelCommands } from '../src/cli/channel.ts'
import type { Values } from '../src/cli/command.ts'
import { policyCommands } from '../src/cli/policy.ts'
import { signatureOf } from '../src/connect/custom/signature.ts'
import { parseExactly } from '../src/event/exact.ts'
import type { Brand } from '../src/op.ts'
import { campaignStage } from './fixtures/campaign.ts'
import { runCampaigns } from './fixtures/campaign-round.ts'
import { runCommand } from './fixtures/command.ts'
import { askErasure, goOnErasing } from './fixtures/erasing.ts'
import { eventually } from './fixtures/eventually.ts'
import { freePort } from './fixtures/free-port.ts'
import { fakeAgent, fakeGateway } from './fixtures/gateway.ts'
import { checkout, order } from './fixtures/store-bodies.ts'

t.capture(process.stderr, 'write')
const stage = await campaignStage(t, 120)
const { clock, app, clockOrigin } = stage
const { sql } = stage.db.postgres
const folder = t.testdir()

const cli = <Result>(name: string, values: Values): Promise<Result> =>
  runCommand(app, [...channelCommands, ...policyCommands], name, values)

let people = 0
/** Shoppers whose checkouts are abandoned, up to the moment at which the campaign's message is due. */
async function abandoned(brand: Brand, count = 1) {
  const at = clock.pass(1).toISOString()
  let phone = ''
  for (const last = people + count; people < last; ) {
    const n = ++people
    phone = `+354555${String(1000 + n)}`
    const body = checkout({
      id: 7_000 + n,
      email: `ann${n}@example.com`,
      phone,
      customer: { id: 70 + n },
      created_at: at,
      updated_at: at,
    })
    await stage.tell(brand, { topic: 'checkouts/create', triggeredAt: clock.now(), body })
  }
  clock.pass(60)
  await stage.tick()
  return { phone }
}

/** Their messages are due, and nobody sends them yet. */
async function due(brand: Brand, count = 1) {
  await abandoned(brand, count)
  await workCampaigns(stage.parts, clock.now)
  clock.pass(31)
  await workCampaigns(stage.parts, clock.now)
}

const messagesOf = (brand: Brand) =>
  sql`select id, direction, author, status, reason, error, body, attempts, provider_message_id, idempotency_key
    from message where brand_id = ${brand.id} order by created_at, id`
const runOf = async (brand: Brand) =>
  (await sql`select id, state, step, outcome from campaign_run where brand_id = ${brand.id}`)[0]
const reasonsOf = async (brand: Brand) =>
  (await sql`select reason from run_step where brand_id = ${brand.id} order by run_id, ordinal`).map(
    ({ reason }) => reason,
  )

/** A brand whose text messages leave over a fake gateway, and what the gateway tells. */
async function withGateway(rate = '10') {
  clock.noon()
  const gateway = await fakeGateway(t)
  const brand = await stage.brand()
  const file = join(folder, `token-${brand.id}`)
  writeFileSync(file, 'token of the gateway\n')
  const { callback_url: callback, signing_secret: secret } = await cli<{
    callback_url: string
    signing_secret: string
  }>('channel set', {
    brand: brand.id,
    channel: 'sms',
    adapter: 'http_sms',
    url: gateway.url,
    from: 'Lumen',
    'secret-file': file,
    rate,
  })
  const tell = async (body: object, signature?: string) => {
    const bytes = Buffer.from(JSON.stringify(body))
    const response = await fetch(clockOrigin + new URL(callback).pathname, {
      method: 'POST',
      headers: { 'x-svc-signature': signature ?? signatureOf(Buffer.from(secret), bytes) },
      body: bytes,
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return { gateway, brand, tell, file }
}

t.test('a gateway gets a message once per key, however often the attempt fails', async (t) => {
  const { gateway, brand } = await withGateway()
  await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  gateway.next.push(503, 'cut', 429)
  await stage.pass(60)
  const [message] = await messagesOf(brand)
  t.match(message, { status: 'sent', attempts: 4, provider_message_id: 'gw_1', error: null })
  t.match([...gateway.taken.values()], [{ key: message?.idempotency_key, to: phone, text: message?.body }])
  t.same([...gateway.calls.values()], [4])
  t.same([...gateway.authorizations], ['Bearer token of the gateway'])
  t.match(await reasonsOf(brand), [
    ...['started', 'trigger_delay', 'checked', 'message_queued', 'waiting'],
    ...['send_retried', 'send_retried', 'send_retried', 'message_sent'],
  ])
})

t.test('what a gateway refuses with a page in UTF-16 is a dead letter at once', async (t) => {
  const { gateway, brand } = await withGateway()
  await stage.campaign(brand, { wait: { amount: 20, unit: 'days' } })
  await abandoned(brand)
  gateway.says = Buffer.from('Bad request', 'utf16le')
  gateway.next.push(400)
  await stage.pass(60)
  t.match(await messagesOf(brand), [{ status: 'failed', error: '400 Bad request', attempts: 1 }])
})

t.test('what a gateway refuses, or never takes, is a dead letter, and its run has failed', async (t) => {
  for (const [fates, attempts] of [
    [[400], 1],
    [Array(8).fill(500), 8],
  ] as const) {
    const { gateway, brand } = await withGateway()
    await stage.campaign(brand, { wait: { amount: 20, unit: 'days' } })
    await abandoned(brand)
    gateway.next.push(...fates)
    await stage.pass(3 * 1_440)
    t.match(await messagesOf(brand), [
      { status: 'failed', reason: 'send_failed', error: `${fates[0]} not now`, attempts },
    ])
    t.match(await runOf(brand), { state: 'ended', outcome: 'failed' })
  }
})

/** A brand whose message a gateway took, and gave no answer however often it was tried. */
async function unanswered() {
  const made = await withGateway()
  await stage.campaign(made.brand)
  await abandoned(made.brand)
  made.gateway.next.push(...Array<'cut'>(8).fill('cut'))
  await stage.pass(3 * 1_440)
  return made
}

t.test('of a message to which a gateway never answered it is not known whether it was sent', async (t) => {
  const { brand } = await unanswered()
  t.match(await messagesOf(brand), [{ status: 'failed', reason: 'send_unknown', attempts: 8 }])
  t.match(await runOf(brand), { state: 'ended', outcome: 'failed' })
})

t.test('a message whose gateway was never reached was not sent', async (t) => {
  const { brand } = await withGateway()
  const url = `http://127.0.0.1:${await freePort()}`
  await cli('channel set', { brand: brand.id, channel: 'sms', adapter: 'http_sms', url })
  await stage.campaign(brand)
  await abandoned(brand)
  await stage.pass(3 * 1_440)
  t.match(await messagesOf(brand), [{ status: 'failed', reason: 'send_failed', attempts: 8 }])
})

t.test(
  'a message that an attempt may have sent is not known to be unsent when the last one fails',
  async (t) => {
    const { gateway, brand } = await withGateway()
    await stage.campaign(brand)
    await abandoned(brand)
    gateway.next.push('cut', ...Array<number>(7).fill(503))
    await stage.pass(3 * 1_440)
    t.match(await messagesOf(brand), [{ status: 'failed', reason: 'send_unknown', attempts: 8 }])
  },
)

t.test('what the gateway before may have sent does not leave over the next one', async (t) => {
  const { gateway, brand } = await withGateway()
  const next = await fakeGateway(t)
  await stage.campaign(brand)
  await abandoned(brand)
  gateway.next.push('cut')
  await stage.pass(30)
  t.match(await messagesOf(brand), [{ status: 'queued', attempts: 1 }])
  await cli('channel set', { brand: brand.id, channel: 'sms', adapter: 'http_sms', url: next.url })
  await stage.pass(60)
  t.match(await messagesOf(brand), [{ status: 'failed', reason: 'send_unknown' }])
  t.equal(next.taken.size, 0)
})

t.test('the frequency cap counts a message to which a gateway never answered', async (t) => {
  const { brand } = await unanswered()
  const [message] = await sql`select contact_id from message where brand_id = ${brand.id}`
  const own = stage.db.postgres.forBrand(brand.id)
  const since = new Date(clock.now().getTime() - 7 * 86_400_000)
  t.match(await own.many('messages_counted', [[message?.contact_id], since]), [{ messages: 1 }])
})

t.test('a message that was given up is delivered when the gateway says so', async (t) => {
  const { brand, tell } = await unanswered()
  const [message] = await messagesOf(brand)
  const told = await tell({ type: 'delivered', id: 'gw_1', idempotency_key: message?.idempotency_key })
  t.strictSame(told, { status: 200, body: { ok: true } })
  t.match(await sql`select status, reason, error, failed_at from message where brand_id = ${brand.id}`, [
    { status: 'delivered', reason: null, error: null, failed_at: null },
  ])
  t.equal((await reasonsOf(brand)).at(-1), 'message_delivered')
})

t.test('a channel keeps its rate', async (t) => {
  const { gateway, brand } = await withGateway('2')
  await stage.campaign(brand)
  for (let n = 0; n < 5; n++) await abandoned(brand)
  await stage.pass(31)
  const after: number[] = []
  for (let second = 0; second < 4; second++) {
    after.push(gateway.taken.size)
    clock.pass(1 / 60)
    await stage.round()
  }
  t.same(
    after.map((count, at) => (at ? count - (after[at - 1] ?? 0) <= 2 : count <= 5)),
    [true, true, true, true],
  )
  await stage.pass(2)
  t.equal(gateway.taken.size, 5)
})

t.test('a channel that nothing holds up sends at its rate', async (t) => {
  const { gateway, brand } = await withGateway('2')
  await stage.campaign(brand)
  await due(brand, 7)
  const waits: number[] = []
  await sendMessages(stage.parts, clock.now, async (ms) => {
    waits.push(ms)
    clock.pass(ms / 60_000)
  })
  t.equal(gateway.taken.size, 7)
  t.same(waits, [1_000, 1_000, 1_000])
})

t.test('a gateway that is slow holds up no message of another brand', async (t) => {
  const [slow, quick] = [await withGateway(), await withGateway()]
  for (const { brand } of [slow, quick]) await stage.campaign(brand)
  await due(slow.brand)
  slow.gateway.next.push('hang')
  const sending = sendMessages(stage.parts, clock.now)
  await eventually(async () => slow.gateway.calls.size === 1)
  await due(quick.brand)
  await eventually(async () => (await messagesOf(quick.brand))[0]?.status === 'sent')
  t.match(await messagesOf(slow.brand), [{ status: 'queued' }])
  slow.gateway.goOn()
  t.equal(await sending, 2)
  t.match(await messagesOf(slow.brand), [{ status: 'sent', attempts: 1 }])
})

t.test('a brand whose statements take too long holds up no message of another brand', async (t) => {
  const [slow, quick] = [await withGateway(), await withGateway()]
  for (const { brand } of [slow, quick]) await stage.campaign(brand)
  await due(slow.brand)
  await due(quick.brand)
  const { postgres } = stage.parts
  const forBrand: typeof postgres.forBrand = (brandId) => {
    const db = postgres.forBrand(brandId)
    const tx: typeof db.tx = (work) =>
      brandId === slow.brand.id
        ? Promise.reject(Object.assign(new Error('statement timeout'), { code: '57014' }))
        : db.tx(work)
    return { ...db, tx }
  }
  await sendMessages({ ...stage.parts, postgres: { ...postgres, forBrand } }, clock.now)
  t.match(await messagesOf(quick.brand), [{ status: 'sent' }])
  clock.pass(1)
  await sendMessages(stage.parts, clock.now)
  t.match(await messagesOf(slow.brand), [{ status: 'sent' }], 'it is its turn again')
})

t.test('once a gateway gives no answer its other messages wait for the next turn', async (t) => {
  const { gateway, brand } = await withGateway('20')
  await stage.campaign(brand)
  await due(brand, 12)
  gateway.next.push(...Array<'hang'>(12).fill('hang'))
  const open = () => httpChannel({ url: gateway.url, from: null }, null, 1_000)
  t.equal(await sendMessages({ ...stage.parts, open }, clock.now), 8)
  t.equal(gateway.calls.size, 8, 'as many as are sent at the same time')
  const rows = await sql`
    select attempts, count(*)::integer as messages, count(claim)::integer as claimed
    from message where brand_id = ${brand.id} and status = 'queued' group by attempts order by attempts`
  t.strictSame(
    rows.map((row) => ({ ...row })),
    [
      { attempts: 0, messages: 4, claimed: 0 },
      { attempts: 1, messages: 8, claimed: 0 },
    ],
  )
  gateway.next.length = 0
  await stage.pass(2)
  t.equal(gateway.taken.size, 12)
})

t.test('what a sender that is stopped has not begun another one may send at once', async (t) => {
  const { gateway, brand } = await withGateway('20')
  await stage.campaign(brand)
  await due(brand, 12)
  gateway.next.push(...Array<'hang'>(8).fill('hang'))
  const stop = new AbortController()
  const sending = sendMessages({ ...stage.parts, signal: stop.signal }, clock.now)
  await eventually(async () => gateway.calls.size === 8)
  stop.abort(new Error('stopped'))
  await sending
  clock.pass(1 / 60)
  t.equal(await sendMessages(stage.parts, clock.now), 4)
  t.equal((await messagesOf(brand)).filter(({ status }) => status === 'sent').length, 4)
})

t.test('a sender that stops lets end what it has begun, and begins no more', async (t) => {
  const { gateway, brand } = await withGateway('20')
  await stage.campaign(brand)
  await due(brand, 12)
  gateway.next.push(...Array<'hang'>(8).fill('hang'))
  const stop = new AbortController()
  const sending = sendMessages({ ...stage.parts, stopping: stop.signal }, clock.now)
  await eventually(async () => gateway.calls.size === 8)
  stop.abort()
  gateway.goOn()
  await sending
  t.equal((await messagesOf(brand)).filter(({ status }) => status === 'sent').length, 8)
})

t.test('a gateway’s word counts when it is signed', async (t) => {
  const { gateway, brand, tell } = await withGateway()
  await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  const [message] = await messagesOf(brand)
  const forged = await tell({ type: 'delivered', id: 'gw_1' }, '0'.repeat(64))
  t.match(forged, { status: 401, body: { ok: false, reason: 'unauthorized' } })
  t.match(await messagesOf(brand), [{ status: 'sent' }])
  t.match(await tell({ type: 'delivered', id: 'gw_1' }), { status: 200, body: { ok: true } })
  t.match(await tell({ type: 'delivered', id: 'gw_1' }), { body: { ok: true, ignored: true } })
  t.match(await tell({ type: 'failed', idempotency_key: message?.idempotency_key }), {
    body: { ignored: true },
  })
  t.match(await messagesOf(brand), [{ status: 'delivered' }])
  for (const [wrong, problem] of [
    [{ type: 'delivered' }, /^id or idempotency_key/],
    [{ type: 'read', id: 'x' }, /^type/],
    [{ type: 'message', id: 'x', text: 'hi' }, /^from/],
    [{ type: 'message', id: 'x', from: 'nobody', text: 'hi' }, /^from: must be a phone/],
    [{ type: 'message', id: 'x', from: phone, text: 'hi', at: 'soon' }, /^at/],
    [{ type: 'message', id: 'x', from: phone, text: 1 }, /^text: must be a text/],
    [{ type: 'message', id: 'x', from: Number(phone), text: 'hi' }, /^from: must be a text/],
    [{ type: 'message', id: true, from: phone, text: 'hi' }, /^id: must be a text/],
  ] as const)
    t.match(await tell(wrong), { status: 400, body: { message: problem } })
  t.equal(gateway.taken.size, 1)
})

t.test('a checkout whose message did not arrive is not recovered by its order', async (t) => {
  const { brand, tell } = await withGateway()
  await stage.campaign(brand)
  await abandoned(brand)
  await stage.pass(31)
  const checkoutOf = async () =>
    (await sql`select external_id, state, messaged_at from checkout where brand_id = ${brand.id}`)[0]
  const left = await checkoutOf()
  t.not(left?.messaged_at, null)
  await tell({ type: 'failed', id: 'gw_1' })
  await stage.tick()
  await attribute(app.pipeline)
  const at = clock.pass(5).toISOString()
  const times = { created_at: at, updated_at: at, processed_at: at }
  const body = order({ checkout_id: Number(left?.external_id), ...times })
  await stage.tell(brand, { topic: 'orders/create', triggeredAt: clock.now(), body })
  t.equal((await checkoutOf())?.state, 'completed')
})

t.test('an id that a gateway gave to two messages means the newer one', async (t) => {
  const { gateway, brand, tell } = await withGateway()
  gateway.id = '17'
  await stage.campaign(brand)
  for (let n = 0; n < 2; n++) {
    await abandoned(brand)
    await stage.pass(31)
  }
  t.match(await tell({ type: 'failed', id: 17 }), { status: 200, body: { ok: true } })
  const statuses = async () => (await messagesOf(brand)).map(({ status }) => status)
  t.strictSame(await statuses(), ['sent', 'failed'])
  await tell({ type: 'delivered', id: 17 })
  t.strictSame(await statuses(), ['sent', 'delivered'])
})

t.test('a failure counts whatever a gateway says of it', async (t) => {
  for (const [error, kept] of [
    ['x\0'.repeat(500), 'x'.repeat(250)],
    [30007, '30007'],
    [parseExactly('9007199254740993'), '9007199254740993'],
    [{ code: 30007, name: 'filtered' }, '{"code":30007,"name":"filtered"}'],
  ] as const) {
    const { brand, tell } = await withGateway()
    await stage.campaign(brand)
    await abandoned(brand)
    await stage.pass(31)
    t.match(await tell({ type: 'failed', id: 'gw_1', error }), { status: 200, body: { ok: true } })
    const [message] = await messagesOf(brand)
    t.strictSame([message?.status, message?.error], ['failed', kept])
  }
})

t.test('what a gateway tells of a message before it answers for it is told again', async (t) => {
  const { gateway, brand, tell } = await withGateway()
  await stage.campaign(brand)
  const told: Promise<{ status: number }>[] = []
  gateway.next.push('hang')
  gateway.onHanging = () => {
    const early = tell({ type: 'failed', id: 'gw_1' })
    told.push(early)
    void early.then(() => gateway.goOn())
  }
  await abandoned(brand)
  await stage.pass(31)
  t.match(await Promise.all(told), [{ status: 503 }])
  t.match(await tell({ type: 'failed', id: 'gw_1' }), { status: 200, body: { ok: true } })
  t.match(await messagesOf(brand), [{ status: 'failed', reason: 'send_failed' }])
  t.match((await tell({ type: 'failed', id: 'gw_1' })).body, { ignored: true })
})

t.test('ids of gateways that count their messages keep every digit', async (t) => {
  const { gateway, brand, tell } = await withGateway()
  const [one, next] = [parseExactly('9007199254740992'), parseExactly('9007199254740993')]
  gateway.id = '9007199254740993'
  await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  t.match(await messagesOf(brand), [{ provider_message_id: gateway.id }])
  t.match((await tell({ type: 'delivered', id: one })).body, { ignored: true })
  t.same((await tell({ type: 'delivered', id: next })).body, { ok: true })
  for (const [id, text] of [
    [one, 'Hi'],
    [next, 'STOP'],
  ])
    t.match((await tell({ type: 'message', id, from: phone, text })).body, { ok: true }, String(text))
  t.match(await sql`select sms_consent from contact where brand_id = ${brand.id} and phone = ${phone}`, [
    { sms_consent: 'unsubscribed' },
  ])
})

t.test('who writes back is answered once with the campaign’s reply, and the run is over', async (t) => {
  const { gateway, brand, tell } = await withGateway()
  await stage.campaign(brand, { messages: { agent_reply: 'We are here: {{cart.link}}' } })
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  const incoming = { type: 'message', id: 'in_1', from: phone, text: 'Do you ship to Peru?' }
  t.match(await tell(incoming), { status: 200, body: { ok: true } })
  t.match(await tell(incoming), { status: 200, body: { deduplicated: true } })
  await stage.round()
  t.match(await runOf(brand), { state: 'ended', outcome: 'replied' })
  t.match(await messagesOf(brand), [
    { direction: 'outbound', author: 'campaign' },
    { direction: 'inbound', author: 'contact', status: 'received', body: 'Do you ship to Peru?' },
    { direction: 'outbound', author: 'campaign', status: 'sent', body: /^We are here: http/ },
  ])
  await tell({ ...incoming, id: 'in_2', text: 'Hello?' })
  await stage.round()
  t.equal((await messagesOf(brand)).length, 4)
  t.equal(gateway.taken.size, 2)
  t.equal((await sql`select from conversation where brand_id = ${brand.id}`).length, 1)
})

t.test('a STOP is honoured with an id that the gateway gave to another message before', async (t) => {
  const { brand, tell } = await withGateway()
  await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  const smsOf = (number: string) =>
    sql`select sms_consent from contact where brand_id = ${brand.id} and phone = ${number}`
  await tell({ type: 'message', id: '7', from: '+12025550107', text: 'STOP' })
  t.match(await tell({ type: 'message', id: '7', from: phone, text: 'STOP' }), { body: { ok: true } })
  t.match(await smsOf(phone), [{ sms_consent: 'unsubscribed' }], 'of another sender')
  await tell({ type: 'message', id: '8', from: '+12025550108', text: 'Hi' })
  await tell({ type: 'message', id: '8', from: '+12025550108', text: 'STOP' })
  t.match(await smsOf('+12025550108'), [{ sms_consent: 'unsubscribed' }], 'of the same one')
})

t.test('a message that an earlier version took is known by the id of the gateway and its text', async (t) => {
  const { brand, tell } = await withGateway()
  await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  const incoming = { type: 'message', id: 'in_of_before', from: phone, text: 'Do you ship to Peru?' }
  t.match(await tell(incoming), { body: { ok: true } })
  await sql`
    update message set idempotency_key = 'sms:in_of_before'
    where brand_id = ${brand.id} and body = ${incoming.text}`
  t.match(await tell(incoming), { body: { deduplicated: true } })
  t.match(await tell({ ...incoming, text: 'STOP' }), { body: { ok: true } }, 'another text is another one')
})

t.test('what was written by somebody who was erased since is not taken again', async (t) => {
  const { brand, tell } = await withGateway()
  await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  const incoming = { type: 'message', id: `of ${phone}`, from: phone, text: 'Do you ship to Peru?' }
  t.match(await tell(incoming), { status: 200, body: { ok: true } })
  await askErasure(app.pipeline, brand.id, String(70 + people))
  await goOnErasing(app.pipeline, brand.id)
  t.match(await tell(incoming), { status: 200, body: { deduplicated: true } })
  t.same(await sql`select from contact where brand_id = ${brand.id}`, [])
})

t.test('who writes back answers what was sent to them, not what waits to be', async (t) => {
  const { brand, tell } = await withGateway()
  for (const amount of [30, 40])
    await stage.campaign(brand, { trigger_delay: { amount, unit: 'minutes' }, name: `After ${amount}` })
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  clock.pass(10)
  await workCampaigns(stage.parts, clock.now)
  await tell({ type: 'message', id: 'in_1', from: phone, text: 'Do you ship to Peru?' })
  t.match(
    await sql`select name, direction, message.status from message
      join conversation on conversation.id = conversation_id join campaign on campaign.id = campaign_id
      where message.brand_id = ${brand.id} order by message.created_at, message.id`,
    [{ status: 'sent' }, { name: 'After 40', status: 'queued' }, { name: 'After 30', direction: 'inbound' }],
  )
})

t.test('STOP ends the run, unsubscribes and is not answered; START subscribes again', async (t) => {
  const { gateway, brand, tell } = await withGateway()
  await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  await tell({ type: 'message', id: 'in_1', from: phone, text: 'Stop.' })
  t.match(await runOf(brand), { state: 'ended', outcome: 'stopped' })
  await stage.pass(2 * 1_440)
  t.equal(gateway.taken.size, 1)
  const consent = () => sql`select sms_consent from contact where brand_id = ${brand.id} and phone = ${phone}`
  t.match(await consent(), [{ sms_consent: 'unsubscribed' }])
  await tell({ type: 'message', id: 'in_2', from: phone, text: 'START' })
  t.match(await consent(), [{ sms_consent: 'subscribed' }])
})

t.test(
  'STOP counts since what it answers, by whatever clock, and whatever cannot be stored stands in it',
  async (t) => {
    const hoursAgo = (hours: number) => new Date(clock.now().getTime() - hours * 3_600_000).toISOString()
    for (const said of [
      { text: 'STOP', at: '2001-01-01T00:00:00Z' },
      { text: 'STOP', at: hoursAgo(3) },
      { text: 'STOP\0' },
      { text: 'STOP \ud83d' },
    ]) {
      const { brand, tell } = await withGateway()
      await stage.campaign(brand)
      const { phone } = await abandoned(brand)
      await stage.pass(31)
      const answer = await tell({ type: 'message', id: 'in_1', from: phone, ...said })
      t.match(answer, { status: 200 }, JSON.stringify(said))
      t.match(
        await sql`
        select sms_consent, contact_consent.at >= message.sent_at as "isAfter", answer.body
        from contact join contact_consent on contact_id = contact.id and state = 'unsubscribed'
        join message on message.contact_id = contact.id and message.direction = 'outbound'
        join message as answer on answer.contact_id = contact.id and answer.direction = 'inbound'
        where contact.brand_id = ${brand.id} and phone = ${phone}`,
        [{ sms_consent: 'unsubscribed', isAfter: true, body: /^STOP/ }],
      )
    }
  },
)

t.test('a message is not delivered before it was sent, by whatever clock', async (t) => {
  const { brand, tell } = await withGateway()
  await stage.campaign(brand)
  await abandoned(brand)
  await stage.pass(31)
  t.match(await tell({ type: 'delivered', id: 'gw_1', at: '2001-01-01T00:00:00Z' }), { status: 200 })
  t.match(await sql`select delivered_at = sent_at as same from message where brand_id = ${brand.id}`, [
    { same: true },
  ])
})

const NEW_PHONE = '+3545550999'

/** The store has another number of the last customer who left a checkout. */
async function renumbered(brand: Brand): Promise<void> {
  const now = clock.now()
  await stage.tell(brand, {
    topic: 'customers/update',
    triggeredAt: now,
    body: JSON.stringify({ id: 70 + people, phone: NEW_PHONE, created_at: now, updated_at: now }),
  })
}

for (const isAbout of ['an open conversation', 'none']) {
  t.test(`STOP from the number that a customer had before is theirs, and about ${isAbout}`, async (t) => {
    const { gateway, brand, tell } = await withGateway()
    await stage.campaign(brand)
    const { phone } = await abandoned(brand)
    await stage.pass(31)
    await renumbered(brand)
    if (isAbout === 'none') await sql`update conversation set status = 'closed' where brand_id = ${brand.id}`
    await tell({ type: 'message', id: 'in_1', from: phone, text: 'Stop.' })
    if (isAbout !== 'none') t.match(await runOf(brand), { state: 'ended', outcome: 'stopped' })
    await stage.pass(2 * 1_440)
    t.equal(gateway.taken.size, 1)
    const consent = () =>
      sql`select sms_consent from contact where brand_id = ${brand.id} and phone = ${NEW_PHONE}`
    t.match(await consent(), [{ sms_consent: 'unsubscribed' }])
    await tell({ type: 'message', id: 'in_2', from: phone, text: 'START' })
    t.match(await consent(), [{ sms_consent: 'unsubscribed' }], 'a yes is for the number that it came from')
  })
}

t.test('all else from the number that a customer had before is of whoever has it now', async (t) => {
  const { brand, tell } = await withGateway()
  await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  await renumbered(brand)
  await tell({ type: 'message', id: 'in_1', from: phone, text: 'Who are you?' })
  t.match(await runOf(brand), { state: 'waiting', outcome: null })
  t.same(
    await sql`
      select contact.phone from message
      join contact on contact.brand_id = message.brand_id and contact.id = message.contact_id
      where message.brand_id = ${brand.id} and message.body = 'Who are you?'`,
    [{ phone }],
  )
})

/** Somebody else works on the run, until what is done meanwhile has to wait for it, and writes a step. */
async function beside<Result>(brand: Brand, work: () => Promise<Result>): Promise<Result> {
  return await sql
    .begin(async (tx) => {
      await tx`select from campaign_run where brand_id = ${brand.id} for update`
      const done = work()
      await eventually(
        async () =>
          (
            await sql`select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()`
          ).length > 0,
        { everyMs: 5 },
      )
      await tx`insert into run_step (brand_id, run_id, ordinal, id, at, step, state)
      select brand_id, run_id, max(ordinal) + 1, gen_random_uuid(), now(), 'wait', 'waiting'
      from run_step where brand_id = ${brand.id} group by brand_id, run_id`
      return { done }
    })
    .then(({ done }) => done)
}

t.test('a STOP that comes while its run is worked on is heard', async (t) => {
  const { brand, tell } = await withGateway()
  await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  const told = await beside(brand, () => tell({ type: 'message', id: 'in_1', from: phone, text: 'STOP' }))
  t.match(told, { status: 200, body: { ok: true } })
  t.match(await runOf(brand), { state: 'ended', outcome: 'stopped' })
})

t.test('a message that is sent while its run is worked on is known to be sent', async (t) => {
  const { brand } = await withGateway()
  await stage.campaign(brand)
  await due(brand)
  await beside(brand, () => sendMessages(stage.parts, clock.now))
  t.match(await messagesOf(brand), [{ status: 'sent' }])
})

t.test('of two first messages of somebody at the same time both are taken', async (t) => {
  const { brand, tell } = await withGateway()
  const says = (id: string) => tell({ type: 'message', id, from: '+3545559998', text: 'Hi' })
  const told = await Promise.all(['in_1', 'in_2', 'in_1'].map(says))
  t.equal(told.filter(({ body }) => body.ok).length, 2)
  t.equal((await messagesOf(brand)).length, 2)
})

t.test('a message of somebody whom no campaign messaged begins a conversation', async (t) => {
  const { brand, tell } = await withGateway()
  await tell({ type: 'message', id: 'in_1', from: '+3545559999', text: 'Hi' })
  await tell({ type: 'message', id: 'in_2', from: '+3545559999', text: 'Anybody?' })
  t.match(
    await sql`select campaign_id, status, phone from conversation join contact on contact.id = contact_id
    where conversation.brand_id = ${brand.id}`,
    [{ campaign_id: null, status: 'open', phone: '+3545559999' }],
  )
  t.equal((await messagesOf(brand)).length, 2)
})

t.test('no answer leaves once its campaign is paused', async (t) => {
  const { gateway, brand, tell } = await withGateway()
  const { id } = await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  await tell({ type: 'message', id: 'in_1', from: phone, text: 'Do you ship to Peru?' })
  await workCampaigns(stage.parts, clock.now)
  await setCampaignStatus(stage.db.postgres.forBrand(brand.id), id, 'paused', clock.pass(1))
  await sendMessages(stage.parts, clock.now)
  t.match((await messagesOf(brand)).at(-1), { status: 'failed', reason: 'campaign_off' })
  t.equal(gateway.taken.size, 1)
})

t.test('no message but an answer leaves after the end of its campaign', async (t) => {
  const { gateway, brand, tell } = await withGateway()
  const ends_at = new Date(clock.now().getTime() + 4 * 3_600_000)
  await stage.campaign(brand, { ends_at })
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  await due(brand)
  await tell({ type: 'message', id: 'in_1', from: phone, text: 'Do you ship to Peru?' })
  clock.to(ends_at)
  await workCampaigns(stage.parts, clock.now)
  await sendMessages(stage.parts, clock.now)
  t.equal(gateway.taken.size, 2)
  t.match(
    await sql`select answers is not null as is_answer, status, reason from message
      where brand_id = ${brand.id} and direction = 'outbound' order by created_at, id`,
    [{ status: 'sent' }, { status: 'failed', reason: 'campaign_off' }, { is_answer: true, status: 'sent' }],
  )
})

t.test('an agent answers with what exists, and the campaign where it invents something', async (t) => {
  const { brand, tell, gateway } = await withGateway()
  const agent = await fakeAgent(t)
  const endpoint = { url: agent.url, key: 'key', model: 'small' }
  const parts = { ...stage.parts, agent: endpoint }
  await stage.campaign(brand, { action_type: 'agent', messages: { agent_reply: 'Here: {{cart.link}}' } })
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  let n = 0
  const says = async (text: string) => {
    await tell({ type: 'message', id: `in_${++n}`, from: phone, text })
    await runCampaigns(parts, clock.now)
    clock.pass(1)
    const all = await messagesOf(brand)
    return all.at(-1)
  }
  agent.answers.push('Of course, {{contact.first_name|there}}: {{cart.link}}')
  t.match(await says('Is my cart still there?'), { author: 'agent', body: /^Of course, there: http/ })
  t.match(agent.asked[0], {
    model: 'small',
    messages: [
      { role: 'system' },
      { role: 'assistant' },
      { role: 'user', content: 'Is my cart still there?' },
    ],
  })
  agent.answers.push('Sure, take 20% off with {{discount.code}}!')
  t.match(await says('Any discount?'), { author: 'campaign', body: /^Here: http/ })
  agent.answers.push('Use SAVE20 at checkout')
  t.match(await says('Please?'), { direction: 'inbound' }, 'the campaign’s own reply is given once')
  agent.answers.push('Our team looks into it.')
  t.match(await says('Hm.'), { author: 'agent', body: 'Our team looks into it.' })
  t.match(await sql`select agent_drafts, agent_tokens from conversation where brand_id = ${brand.id}`, [
    { agent_drafts: 4, agent_tokens: 400 },
  ])
  t.equal(gateway.taken.size, 4)
  await sql`update conversation set agent_drafts = 12 where brand_id = ${brand.id}`
  agent.answers.push('One more')
  t.match(await says('And now?'), { direction: 'inbound' })
  t.equal(agent.asked.length, 4, 'its budget is spent')
})

/** What an agent that is there for whoever left a checkout says to what they write. */
async function agentOf() {
  const { brand, tell } = await withGateway()
  const agent = await fakeAgent(t)
  const parts = { ...stage.parts, agent: { url: agent.url, key: null, model: 'small' } }
  const { id } = await stage.campaign(brand, { action_type: 'agent' })
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  let n = 0
  const says = async (text: string, answer?: string) => {
    if (answer) agent.answers.push(answer)
    await tell({ type: 'message', id: `in_${++n}`, from: phone, text })
    await runCampaigns(parts, clock.now)
    clock.pass(1)
    return (await messagesOf(brand)).at(-1)?.body
  }
  const turn = (status: 'active' | 'paused') =>
    setCampaignStatus(stage.db.postgres.forBrand(brand.id), id, status, clock.pass(1))
  const buys = async () => {
    const at = clock.pass(5).toISOString()
    const times = { created_at: at, updated_at: at, processed_at: at }
    const body = order({ phone, customer: { id: 70 + people }, ...times })
    await stage.tell(brand, { topic: 'orders/create', triggeredAt: clock.now(), body })
    await stage.tick()
    await stage.round()
  }
  return { brand, phone, tell, says, turn, buys }
}

t.test('an agent answers who bought, and the run stays converted', async (t) => {
  const { brand, says, buys } = await agentOf()
  await buys()
  t.equal((await runOf(brand))?.outcome, 'converted')
  t.equal(await says('When will it arrive?', 'By Friday.'), 'By Friday.')
  t.equal((await runOf(brand))?.outcome, 'converted')
})

t.test('who bought and asks for no more messages before they are answered has bought', async (t) => {
  const { brand, phone, tell, buys } = await agentOf()
  await buys()
  await tell({ type: 'message', id: 'in_1', from: phone, text: 'When will it arrive?' })
  t.match(await runOf(brand), { state: 'waiting', step: 'reply' })
  await tell({ type: 'message', id: 'in_2', from: phone, text: 'STOP' })
  t.match(await runOf(brand), { state: 'ended', outcome: 'converted' })
})

t.test('an agent goes on after a pause of its campaign, in which a run stays as it was', async (t) => {
  const { brand, says, turn } = await agentOf()
  await says('Do you ship to Peru?', 'To Peru, yes.')
  await turn('paused')
  await says('And to Chile?')
  t.equal((await runOf(brand))?.outcome, 'replied')
  await turn('active')
  t.equal(await says('Hello?', 'To Chile as well.'), 'To Chile as well.')
})

t.test('an agent answers who writes after their run has failed', async (t) => {
  const { brand, says } = await agentOf()
  await sql`update campaign_run set state = 'ended', step = 'end', due_at = null, outcome = 'failed', ended_at = now()
    where brand_id = ${brand.id}`
  t.equal(await says('Hi', 'Hello.'), 'Hello.')
})

t.test('an agent answers what is written while it drafts', async (t) => {
  const { brand, tell } = await withGateway()
  const agent = await fakeAgent(t)
  const endpoint = { url: agent.url, key: null, model: 'small' }
  await stage.campaign(brand, { action_type: 'agent' })
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  const says = (id: string, text: string) => tell({ type: 'message', id, from: phone, text })
  await says('in_1', 'Do you ship to Peru?')
  agent.answers.push('To Peru, yes.', 'To Chile as well.')
  agent.onAsked = async () => {
    if (agent.asked.length === 1) await says('in_2', 'And to Chile?')
  }
  await workCampaigns({ ...stage.parts, agent: endpoint }, clock.now)
  t.equal(agent.asked[1]?.messages.at(-1)?.content, 'And to Chile?')
  t.match(
    (await messagesOf(brand)).filter(({ author }) => author === 'agent').map(({ body }) => body),
    ['To Chile as well.'],
  )
  t.match(await sql`select agent_drafts from conversation where brand_id = ${brand.id}`, [
    { agent_drafts: 2 },
  ])
})

/** So many shoppers whom an agent has to answer. */
async function writing(count: number) {
  const { brand, tell } = await withGateway()
  const agent = await fakeAgent(t)
  await stage.campaign(brand, { action_type: 'agent', messages: { agent_reply: 'We are here.' } })
  await abandoned(brand, count)
  await stage.pass(31)
  const phones = await sql`select phone from contact where brand_id = ${brand.id}`
  for (const [n, { phone }] of phones.entries())
    await tell({ type: 'message', id: `in_${n}`, from: phone, text: 'Hi' })
  const parts = { ...stage.parts, agent: { url: agent.url, key: null, model: 'small' } }
  const answersOf = async () => (await messagesOf(brand)).filter(({ body }) => body !== 'Hi').slice(count)
  return { agent, parts, answersOf }
}

t.test('once the endpoint of the agent gives no answer the campaign’s replies are given', async (t) => {
  const { agent, parts, answersOf } = await writing(20)
  agent.answers.push(...Array.from({ length: 20 }, () => null))
  await workCampaigns(parts, clock.now)
  t.ok(agent.asked.length <= 8, 'those that were asked at the same time')
  const answers = await answersOf()
  t.equal(answers.filter(({ author, body }) => author === 'campaign' && /^We are here/.test(body)).length, 20)
})

t.test('what a round has no time to draft is drafted later', async (t) => {
  const { agent, parts, answersOf } = await writing(2)
  agent.answers.push('Hello!', 'Hello!')
  await workCampaigns({ ...parts, draftingMs: -1 }, clock.now)
  t.same(await answersOf(), [])
  clock.pass(1)
  await workCampaigns(parts, clock.now)
  t.match(await answersOf(), [{ author: 'agent' }, { author: 'agent' }])
})

t.test('the rules of a brand are shown and changed', async (t) => {
  const brand = await stage.brand()
  t.match(await cli('policy show', { brand: brand.id }), { quiet_from: '21:00', cap_messages: 4 })
  await cli('policy set', { brand: brand.id, 'quiet-from': '22:30', 'cap-messages': '2' })
  t.match(await cli('policy set', { brand: brand.id, 'cap-days': '3' }), {
    quiet_from: '22:30',
    quiet_until: '08:00',
    cap_messages: 2,
    cap_days: 3,
    attribution_days: 7,
  })
  await t.rejects(cli('policy set', { brand: brand.id, 'quiet-from': '24:00' }), /time of the day/)
  await t.rejects(
    cli('channel set', { brand: brand.id, channel: 'email', adapter: 'http_sms' }),
    /outbox or smtp/,
  )
  const over = { brand: brand.id, channel: 'sms', adapter: 'http_sms', url: 'http://example.com' }
  await t.rejects(cli('channel set', over), /https/)
})

t.test(
  'a channel with a password requires TLS, but of this machine and where it is allowed without',
  async (t) => {
    const brand = await stage.brand()
    const set = async (values: Values) => {
      const smtp = { channel: 'email', adapter: 'smtp', from: 'a@shop.example' }
      const { settings } = await cli<{ settings: object }>('channel set', {
        brand: brand.id,
        ...smtp,
        ...values,
      })
      return settings
    }
    t.match(await set({ host: 'smtp.example', user: 'u' }), { require_tls: true, allow_plain: false })
    t.match(await set({ host: 'smtp.example' }), { require_tls: false })
    for (const host of ['localhost', '127.0.0.1', '::1'])
      t.match(await set({ host, user: 'u' }), { require_tls: false }, host)
    t.match(await set({ host: 'smtp.example', user: 'u', 'allow-plain': true }), {
      require_tls: false,
      allow_plain: true,
    })
  },
)

t.test('a channel does not require TLS and allow none', async (t) => {
  const brand = await stage.brand()
  const smtp = { channel: 'email', adapter: 'smtp', from: 'a@shop.example', host: 'smtp.example' }
  for (const option of ['tls', 'require-tls'])
    await t.rejects(
      cli('channel set', { brand: brand.id, ...smtp, 'allow-plain': true, [option]: true }),
      new RegExp(`--allow-plain: .*--${option}`),
    )
})

/** What a channel of a brand would send with. */
async function passwordOf(brand: Brand, channel: 'sms' | 'email') {
  const row = await channelRow(stage.db.postgres.forBrand(brand.id), channel)
  return row && openedSecret(await serviceSeal(app), brand.id, row)?.password
}

t.test('the token of a gateway is not sent to another one', async (t) => {
  const { gateway, brand } = await withGateway()
  const set = (url: string) =>
    cli('channel set', { brand: brand.id, channel: 'sms', adapter: 'http_sms', url })
  t.match(await set(new URL('/v2', gateway.url).href), { password_dropped: false })
  t.equal(await passwordOf(brand, 'sms'), 'token of the gateway', 'but to another path')
  t.match(await set('https://sms.example/messages'), { password_dropped: true })
  t.equal(await passwordOf(brand, 'sms'), null)
})

t.test('the token of a gateway is forgotten with it', async (t) => {
  const { gateway, brand } = await withGateway()
  const of = { brand: brand.id, channel: 'sms' }
  t.match(await cli('channel set', { ...of, adapter: 'outbox' }), { password_dropped: true })
  await cli('channel set', { ...of, adapter: 'http_sms', url: gateway.url })
  t.equal(await passwordOf(brand, 'sms'), null)
})

t.test('the password of a mail server is given again for another one and another user', async (t) => {
  const { brand, file } = await withGateway()
  const before = { host: 'smtp.example', user: 'u' }
  const set = (values: Values) =>
    cli('channel set', {
      ...{ brand: brand.id, channel: 'email', adapter: 'smtp', from: 'a@shop.example' },
      ...values,
    })
  await set({ ...before, 'secret-file': file })
  for (const other of [{ host: 'mail.example' }, { user: 'v' }])
    await t.rejects(set({ ...before, ...other }), { message: /^--secret-file is missing/ })
  await set({ ...before, port: '2525' })
  t.equal(await passwordOf(brand, 'email'), 'token of the gateway')
})

t.test('what callbacks are signed with is replaced at once', async (t) => {
  const { brand, tell } = await withGateway()
  const { brand: another, tell: tellAnother } = await withGateway()
  const of = { brand: brand.id, channel: 'sms' }
  const { signing_secret: secret } = await cli<{ signing_secret: string }>('channel rotate-secret', of)
  const word = { type: 'delivered', id: 'gw_0' }
  t.equal((await tell(word)).status, 401)
  const bytes = Buffer.from(JSON.stringify(word))
  t.equal((await tell(word, signatureOf(Buffer.from(secret), bytes))).status, 200)
  t.equal(await passwordOf(brand, 'sms'), 'token of the gateway')
  t.equal((await tellAnother(word)).status, 200, 'of that brand alone')
  await t.rejects(cli('channel rotate-secret', { brand: another.id, channel: 'email' }), {
    message: /^--channel: /,
  })
})

/** A shopper was messaged and is erased since; the clock shows a moment of two days later. */
async function erasedShopper(t: Test) {
  const { brand, tell } = await withGateway()
  await stage.campaign(brand)
  const { phone } = await abandoned(brand)
  await stage.pass(31)
  await askErasure(app.pipeline, brand.id, String(70 + people))
  await goOnErasing(app.pipeline, brand.id)
  const before = clock.now()
  const [{ erased_at: cut } = { erased_at: before }] = await sql<{ erased_at: Date }[]>`
    select erased_at from erasure where brand_id = ${brand.id}`
  clock.to(new Date(cut.getTime() + 48 * 3_600_000))
  t.teardown(() => clock.to(before))
  const said = (text: string, at?: Date) =>
    tell({ type: 'message', id: text, from: phone, text, ...(at && { at: at.toISOString() }) })
  const contacts = () => sql`select phone, sms_consent from contact where brand_id = ${brand.id}`
  return { brand, tell, said, cut, contacts }
}

t.test('what was written up to an erasure and comes after it is not kept', async (t) => {
  const { brand, said, cut, contacts } = await erasedShopper(t)
  for (const text of ['Do you ship to Peru?', 'STOP', 'START'])
    t.same(await said(text, cut), { status: 200, body: { ok: true, ignored: true } })
  t.same([...(await contacts())], [])
  t.match(await messagesOf(brand), [{ direction: 'outbound', body: '' }])
  t.equal((await sql`select from conversation where brand_id = ${brand.id}`).length, 1)
})

t.test('a STOP from before an erasure holds for who has the number next', async (t) => {
  const { said, cut, contacts } = await erasedShopper(t)
  await said('STOP', cut)
  t.same([...(await contacts())], [])
  await said('Hi')
  t.match(await contacts(), [{ sms_consent: 'unsubscribed' }])
})

t.test('what is written after an erasure is of somebody new', async (t) => {
  const { brand, said, cut, contacts } = await erasedShopper(t)
  await said('Hi', new Date(cut.getTime() + 1))
  await said('Anybody?')
  t.match(await contacts(), [{ phone: /^\+354/ }])
  t.match(await messagesOf(brand), [{ body: '' }, { body: 'Hi' }, { body: 'Anybody?' }])
})

for (const talk of ['open', 'closed'])
  t.test(
    `an old STOP is heard for who has the number now, and not kept: their talk is ${talk}`,
    async (t) => {
      const { brand, said, cut, contacts } = await erasedShopper(t)
      await said('Hi')
      await sql`update conversation set status = ${talk} where brand_id = ${brand.id} and contact_id is not null`
      await said('STOP', cut)
      t.match(await contacts(), [{ sms_consent: 'unsubscribed' }])
      t.match(await messagesOf(brand), [{ body: '' }, { body: 'Hi' }])
    },
  )

for (const type of ['failed', 'delivered'])
  t.test(`of an erased message a gateway’s word that it ${type} names nobody`, async (t) => {
    const { brand, tell } = await erasedShopper(t)
    const [message] = await messagesOf(brand)
    const word = { id: 'gw_late', idempotency_key: message?.idempotency_key, error: 'No such number' }
    t.same(await tell({ type, ...word }), { status: 200, body: { ok: true } })
    t.match(await messagesOf(brand), [{ status: type, error: null, provider_message_id: null }])
    t.same(
      [...(await sql`select error from run_step where brand_id = ${brand.id} and error is not null`)],
      [],
    )
  })
