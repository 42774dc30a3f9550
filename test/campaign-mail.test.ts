import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { channelOfRow, sealedSecret } from '../src/campaign/channel-settings.ts'
import { smtpChannel } from '../src/campaign/channel-smtp.ts'
import type { Duration } from '../src/campaign/duration.ts'
import { workDueRuns } from '../src/campaign/runner.ts'
import { sendMessages } from '../src/campaign/sending.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { campaignStage } from './fixtures/campaign.ts'
import { eventually } from './fixtures/eventually.ts'
import { freePort } from './fixtures/free-port.ts'
import { mailServer } from './fixtures/mail-server.ts'
import { SEAL } from './fixtures/store.ts'
import { checkout } from './fixtures/store-bodies.ts'

setLogLevel('error')
const stage = await campaignStage(t, 40)
const { clock } = stage
const { sql } = stage.db.postgres

const PARCEL = {
  id: '01930c7e-5b1a-7c3e-9f00-3a5a1c2b4d6e',
  key: 'run:3',
  channel: 'email',
  to: 'ada@example.com',
  headline: 'Your cart – still here',
  body: 'Hi Ada\n.\nBye €',
  optOutUrl: 'https://r.example/t/abc',
} as const
const settings = (port: number) => ({
  host: '127.0.0.1',
  port,
  secure: false,
  requireTls: false,
  allowPlain: false,
  user: null,
  from: 'Lumen <hello@lumen.example>',
})

const hangUp = (socket: Socket) => {
  socket.destroy()
}

const LINE = '250-wait\r\n'
const LINES = 60

/** Answers without an end, line by line for three seconds. */
const trickle = (socket: Socket) => {
  let lines = 0
  const more = setInterval(() => (++lines > LINES ? socket.destroy() : socket.write(LINE)), 50)
  socket.once('close', () => clearInterval(more))
}

/**
 * A mail server that takes what it is told and then is rude, at the command that begins with a word; at `never` it does not
 * say that it has the text. It hears no goodbye.
 */
async function rudeServer(t: Test, rudeAt: 'EHLO' | 'MAIL' | 'DATA' | '.' | 'QUIT' | 'never', be = hangUp) {
  const texts: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.write('220 here\r\n')
    let data: string | null = null
    socket.on('data', (bytes) => {
      const text = bytes.toString()
      if (data !== null) {
        data += text
        if (!data.endsWith('\r\n.\r\n')) return
        texts.push(data)
        data = null
        if (rudeAt === '.') be(socket)
        else if (rudeAt !== 'never') socket.write('250 taken\r\n')
        return
      }
      if (text.startsWith(rudeAt)) return be(socket)
      if (text.startsWith('DATA')) {
        data = ''
        socket.write('354 go on\r\n')
      } else socket.write('250 fine\r\n')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { texts, sockets, port: (server.address() as AddressInfo).port }
}

t.test('a mail server gets a message with its subject, its text and a way out', async (t) => {
  const { mails, port } = await mailServer(t)
  const channel = smtpChannel(settings(port), null)
  t.match(await channel.send(PARCEL), { is: 'sent', providerMessageId: `<${PARCEL.id}@lumen.example>` })
  t.match(mails, [{ to: ['ada@example.com'] }])
  const [{ text = '' } = {}] = mails
  t.match(text, /^From: Lumen <hello@lumen\.example>$/m)
  t.match(text, /^List-Unsubscribe: <https:\/\/r\.example\/t\/abc>$/m)
  t.match(text, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m)
  t.match(text, /^Message-ID: <01930c7e-/m)
  t.match(text, /^Subject: =\?UTF-8\?/m)
})

t.test('what a server answers says whether another attempt may help', async (t) => {
  const { mails, port } = await mailServer(t)
  const channel = smtpChannel(settings(port), null)
  t.match(await channel.send({ ...PARCEL, to: 'nobody@example.com' }), {
    is: 'refused',
    error: /no such user/,
  })
  t.match(await channel.send({ ...PARCEL, to: 'busy@example.com' }), { is: 'later', error: /later/ })
  const user = { ...settings(port), user: 'lumen' }
  t.match(await smtpChannel(user, 'wrong').send(PARCEL), { is: 'later', error: /wrong password/ })
  t.equal(mails.length, 0)
  t.match(await smtpChannel(user, 'secret').send(PARCEL), { is: 'sent' })
  t.match(await smtpChannel({ ...settings(port), requireTls: true }, null).send(PARCEL), { is: 'later' })
  t.match(await smtpChannel(settings(9), null).send(PARCEL), { is: 'later', error: /ECONNREFUSED/ })
  t.equal(mails.length, 1)
})

/** This machine, by an address that does not say so. */
const ELSEWHERE = '0.0.0.0'

t.test('a password is told only to a server that offers TLS', async (t) => {
  const { logins, port } = await mailServer(t)
  const user = { ...settings(port), host: ELSEWHERE, user: 'lumen' }
  t.match(await smtpChannel(user, 'secret').send(PARCEL), { is: 'later' })
  t.same(logins, [])
})

t.test('so it is by settings that were made before', async (t) => {
  const { logins, port } = await mailServer(t)
  const channel = channelOfRow(
    {
      ...{ channel: 'email', adapter: 'smtp', lookup_id: 'x', messages_per_second: 10 },
      settings: {
        host: ELSEWHERE,
        port,
        secure: false,
        require_tls: false,
        user: 'lumen',
        from: 'a@b.example',
      },
      secret: sealedSecret(SEAL, 'brand', 'email', { password: 'secret', signing: 'whsec_x' }),
    },
    SEAL,
    'brand',
  )
  t.match(await channel?.send(PARCEL), { is: 'later' })
  t.same(logins, [])
})

t.test('a password is told without TLS where that is allowed', async (t) => {
  const { logins, port } = await mailServer(t)
  const allowed = { ...settings(port), host: ELSEWHERE, user: 'lumen', allowPlain: true }
  t.match(await smtpChannel(allowed, 'secret').send(PARCEL), { is: 'sent' })
  t.same(logins, ['lumen'])
})

t.test('a server that asks for no password needs no TLS', async (t) => {
  const { mails, port } = await mailServer(t)
  t.match(await smtpChannel({ ...settings(port), host: ELSEWHERE }, null).send(PARCEL), { is: 'sent' })
  t.equal(mails.length, 1)
})

t.test('an address is one address, or nothing is sent', async (t) => {
  const { mails, port } = await mailServer(t)
  const channel = smtpChannel(settings(port), null)
  for (const to of [
    'x,victim@shop.example',
    'x;victim@shop.example',
    'x<victim@shop.example',
    'victim(1)@shop.example',
    'team:victim@shop.example',
    'anna@shop.example,bert.example',
    '"a"@shop.example',
  ])
    t.match(await channel.send({ ...PARCEL, to }), { is: 'refused' }, to)
  t.same(mails, [])
  const odd = `o'neil+cart!#$%&*/=?^_{|}~@shop.example`
  t.match(await channel.send({ ...PARCEL, to: odd }), { is: 'sent' })
  t.match(mails, [{ to: [odd] }])
})

t.test('a server that hangs up has not got the message until the text was on its way', async (t) => {
  for (const [hangsUpAt, is] of [
    ['EHLO', 'later'],
    ['MAIL', 'later'],
    ['DATA', 'later'],
    ['.', 'unknown'],
    ['never', 'unknown'],
  ] as const) {
    const { texts, port } = await rudeServer(t, hangsUpAt)
    t.match(await smtpChannel(settings(port), null, 2_000).send(PARCEL), { is }, hangsUpAt)
    t.equal(texts.length, is === 'unknown' ? 1 : 0)
  }
})

t.test('a delivery ends with its time though the server goes on answering', async (t) => {
  for (const [tricklesAt, is] of [
    ['EHLO', 'later'],
    ['MAIL', 'later'],
    ['DATA', 'later'],
    ['.', 'unknown'],
  ] as const) {
    const { port } = await rudeServer(t, tricklesAt, trickle)
    const sent = await smtpChannel(settings(port), null, 5_000, 1_000).send(PARCEL)
    t.match(sent, { is, error: /took too long/ }, tricklesAt)
  }
})

t.test('no connection outlives its delivery’s time, whatever the server still says', async (t) => {
  for (const tricklesAt of ['EHLO', 'QUIT'] as const) {
    const { sockets, port } = await rudeServer(t, tricklesAt, trickle)
    await smtpChannel(settings(port), null, 5_000, 1_000).send(PARCEL)
    const [socket] = sockets
    if (socket?.closed === false) await new Promise((resolve) => socket.once('close', resolve))
    t.ok((socket?.bytesWritten ?? 0) < LINES * LINE.length, tricklesAt)
  }
})

let people = 0
const MESSAGE = 'Subject: Still here\n\n{{cart.link}} {{opt_out.link}}'

interface Mailing {
  wait?: Duration
  initial?: string
  firstName?: string
}

/** A brand whose emails leave over a server, with one that is due. */
async function withMail(port: number, { wait, initial = MESSAGE, firstName }: Mailing = {}): Promise<Brand> {
  clock.noon()
  const brand = await stage.brand()
  const db = stage.db.postgres.forBrand(brand.id)
  const { from, host } = settings(port)
  const secret = sealedSecret(SEAL, brand.id, 'email', { password: null, signing: 'whsec_x' })
  await db.run('message_channel_put', [
    'email',
    'smtp',
    JSON.stringify({ host, port, from }),
    secret,
    brand.id,
    10,
  ])
  await stage.campaign(brand, {
    action_type: 'email',
    ...(wait && { wait }),
    messages: { initial },
  })
  const at = clock.pass(1).toISOString()
  const body = checkout({
    id: 900 + ++people,
    email: `m${people}@example.com`,
    customer: { id: 900 + people, first_name: firstName },
    created_at: at,
    updated_at: at,
  })
  await stage.tell(brand, { topic: 'checkouts/create', triggeredAt: clock.now(), body })
  clock.pass(60)
  await stage.tick()
  return brand
}

const messagesOf = (brand: Brand) =>
  sql`select status, reason, error, attempts, headline, body from message where brand_id = ${brand.id}`

t.test('a message of a campaign arrives over a mail server', async (t) => {
  const { mails, port } = await mailServer(t)
  const brand = await withMail(port)
  await stage.pass(31)
  t.match(await messagesOf(brand), [{ status: 'sent', attempts: 1, headline: 'Still here' }])
  t.match(mails, [{ text: /^Subject: Still here$/m }])
})

/** An email of a campaign with this message. */
async function written(initial: string, firstName?: string) {
  const { port } = await mailServer(t)
  const brand = await withMail(port, { initial, firstName })
  await stage.pass(31)
  const [message] = await messagesOf(brand)
  return { brand, message }
}

t.test('a name is never the subject of an email', async (t) => {
  const { brand, message } = await written(
    '{{contact.first_name|Hi}}, your cart waits. No more mails: {{opt_out.link}}\nGo on: {{cart.link}}',
    'Subject: Your account is locked',
  )
  t.match(message, {
    headline: brand.name,
    body: /^Subject: Your account is locked, your cart waits\. No more mails: \S+\/t\/\w{12}\nGo on: /,
  })
})

t.test('a subject says what its variables stand for', async (t) => {
  const { message } = await written('Subject: For {{contact.first_name}}\n\n{{opt_out.link}}', 'Ada')
  t.match(message, { headline: 'For Ada', body: /^\S+\/t\/\w{12}$/ })
})

t.test('the subject of an email whose variables stand for nothing is the name of the brand', async (t) => {
  const { brand, message } = await written('Subject: {{contact.first_name}}\n\n{{opt_out.link}}')
  t.match(message, { headline: brand.name, body: /^\S+\/t\/\w{12}$/ })
})

t.test('a link that stands in the subject of an email and in its text is one', async (t) => {
  const { message } = await written('Subject: {{cart.link}}\n\n{{cart.link}} {{opt_out.link}}')
  t.equal(message?.body.split(' ')[0], message?.headline)
})

t.test('a message that a mail server may have is shown as that, and never sent again', async (t) => {
  const { texts, port } = await rudeServer(t, '.')
  const brand = await withMail(port)
  await stage.pass(3 * 1_440)
  t.equal(texts.length, 1)
  t.match(await messagesOf(brand), [{ status: 'failed', reason: 'send_unknown', attempts: 1 }])
  t.match(await sql`select outcome from campaign_run where brand_id = ${brand.id}`, [{ outcome: 'failed' }])
})

t.test('a message whose mail server was never reached was not sent', async (t) => {
  const brand = await withMail(await freePort())
  await stage.pass(3 * 1_440)
  t.match(await messagesOf(brand), [
    { status: 'failed', reason: 'send_failed', error: /ECONNREFUSED/, attempts: 8 },
  ])
})

/** A sender dies while it has the brand's message in hand. */
async function dieInHand(brand: Brand): Promise<void> {
  const dying = { takesOnce: 'never_again' as const, send: () => new Promise<never>(() => {}) }
  // Until the message is due nothing is sent.
  await stage.round()
  clock.pass(31)
  await workDueRuns(stage.parts, clock.now())
  const dead = new AbortController()
  void sendMessages({ ...stage.parts, open: () => dying, stopping: dead.signal }, clock.now)
  const begun = () => sql`select from message where brand_id = ${brand.id} and begun_at is not null`
  await eventually(async () => (await begun()).length > 0)
  // The dead take nothing more in hand, such as what another test has to send.
  dead.abort()
}

t.test('so is a message whose sender died while it had it in hand', async (t) => {
  const { mails, port } = await mailServer(t)
  const brand = await withMail(port)
  await dieInHand(brand)
  await stage.pass(4)
  t.match(await messagesOf(brand), [{ status: 'queued' }], 'its claim is not over')
  await stage.pass(1_440)
  t.match(await messagesOf(brand), [{ status: 'failed', reason: 'send_unknown' }])
  t.equal(mails.length, 0)
})

t.test('a run waits from when its message was sent, and is over only then', async (t) => {
  const busy = await rudeServer(t, 'EHLO')
  const brand = await withMail(busy.port, { wait: { amount: 10, unit: 'minutes' } })
  const runOf = async () =>
    (await sql`select state, outcome, due_at from campaign_run where brand_id = ${brand.id}`)[0]
  await stage.pass(31)
  t.match(await messagesOf(brand), [{ status: 'queued', reason: 'send_retried' }])
  await stage.pass(20)
  t.match(await runOf(), { state: 'waiting' }, 'though the wait since the message was written is over')
  const { mails, port } = await mailServer(t)
  const { host, from } = settings(port)
  await sql`update message_channel set settings = ${sql.json({ host, port, from })} where brand_id = ${brand.id}`
  const sentBefore = async () => (await messagesOf(brand)).some(({ status }) => status === 'sent')
  for (let looked = 0; looked < 30 && !(await sentBefore()); looked++) await stage.pass(1)
  t.match(await messagesOf(brand), [{ status: 'sent', reason: null, error: null }])
  t.equal(mails.length, 1)
  await stage.pass(8)
  t.match(await runOf(), { state: 'waiting' }, 'the wait since it was sent is not over')
  await stage.pass(3)
  t.match(await runOf(), { state: 'ended', outcome: 'completed' })
})

t.test('a run whose message may have been sent has failed, however short its wait', async (t) => {
  const { texts, port } = await rudeServer(t, '.')
  const brand = await withMail(port, { wait: { amount: 0, unit: 'minutes' } })
  await dieInHand(brand)
  await stage.pass(60)
  t.match(await messagesOf(brand), [{ status: 'failed', reason: 'send_unknown' }])
  t.match(await sql`select outcome from campaign_run where brand_id = ${brand.id}`, [{ outcome: 'failed' }])
  t.equal(texts.length, 0)
})
