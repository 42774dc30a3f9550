import crypto, { type BinaryLike, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { connect } from 'node:net'
import t from 'tap'
import { sealedSecret } from '../src/campaign/channel-settings.ts'
import { signatureOf } from '../src/connect/custom/signature.ts'
import { createReceiver } from '../src/connect/store/receive.ts'
import { signatureOf as storeSignatureOf } from '../src/connect/store/signature.ts'
import { gatewayRoutes } from '../src/http/gateway.ts'
import type { Admission, Route } from '../src/http/route.ts'
import { createServer } from '../src/http/server.ts'
import { storeRoutes } from '../src/http/store.ts'
import type { Db } from '../src/op.ts'
import { database } from './fixtures/database.ts'
import { connectedBrand, SEAL } from './fixtures/store.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const { postgres } = db
const brand = await connectedBrand(db, { connectedAt: new Date() })
const SIGNING = 'whsec_x'
await postgres
  .forBrand(brand.id)
  .run('message_channel_put', [
    ...['sms', 'http_sms', '{}'],
    ...[sealedSecret(SEAL, brand.id, 'sms', { password: null, signing: SIGNING }), 'known', 10],
  ])

const asked: string[] = []
const pipeline: Db = {
  ...postgres.pipeline,
  maybe: (name, args) => {
    asked.push(name)
    return postgres.pipeline.maybe(name, args)
  },
  many: (name, args) => {
    asked.push(name)
    return postgres.pipeline.many(name, args)
  },
}
const parts = { postgres: { ...postgres, pipeline }, seal: SEAL, storePlatformDomain: 'myshopify.com' }
const receiver = createReceiver(parts)
const server = createServer([
  ...storeRoutes(receiver, { total: 1 << 26, brand: 1 << 23 }),
  ...gatewayRoutes(parts),
])
const port = await server.listen('127.0.0.1', 0)
t.teardown(() => server.drain(0))

const WRONG = Buffer.alloc(32, 1)
/** What a request for somebody begins with, up to what says how long its body is. */
const HEADS = {
  store: (shop: string, signature = WRONG.toString('base64')) =>
    `POST /store/shopify/webhooks HTTP/1.1\r\nhost: x\r\nx-request-id: 1\r\nx-shopify-topic: orders/paid
x-shopify-shop-domain: ${shop}\r\nx-shopify-webhook-id: ${randomUUID()}\r\nx-shopify-hmac-sha256: ${signature}\r\n`,
  gateway: (channel: string, signature = WRONG.toString('hex')) =>
    `POST /gateway/${channel} HTTP/1.1\r\nhost: x\r\nx-request-id: 1\r\nx-svc-signature: ${signature}\r\n`,
}
const KNOWN = { store: brand.shop_domain, gateway: 'known' }
const UNKNOWN = { store: 'nobody.myshopify.com', gateway: 'nobody' }
/** One byte more than is taken. */
const OVER = { store: 2 * 1024 * 1024 + 1, gateway: 65_537 }
const SIGN = {
  store: (body: string) => storeSignatureOf(Buffer.from(body), 'the secret of the app'),
  gateway: (body: string) => signatureOf(Buffer.from(SIGNING), Buffer.from(body)),
}

/** A request under way, and its answer. */
function begin(text: string) {
  const socket = connect(port, '127.0.0.1')
  let read = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    read += chunk
  })
  socket.write(text.replaceAll(/\r?\n/g, '\r\n'))
  return {
    socket,
    get hasAnswer() {
      return read !== ''
    },
    async answer() {
      while (!/\r\n\r\n.+$/s.test(read)) await once(socket, 'data')
      socket.destroy()
      return { status: Number(read.split(' ')[1]), text: read.replace(/^date: .*$/im, '') }
    },
  }
}

const FAR_OVER = 6 * 1024 * 1024
const long = (bytes: number) => 'x'.repeat(bytes)
const sized = (body: string) => `content-length: ${body.length}\r\n\r\n${body}`

for (const place of ['store', 'gateway'] as const) {
  const cases: Record<string, string> = {
    'a wrong signature': sized('{}'),
    'no body': 'content-length: 0\r\n\r\n',
    'an encoding': `content-encoding: gzip\r\n${sized('{}')}`,
    'a body that is too long': sized(long(OVER[place])),
    'a body that is said to be far too long': `content-length: ${FAR_OVER}\r\n\r\n`,
    'a chunked body that is far too long': `transfer-encoding: chunked\r\n\r\n${FAR_OVER.toString(16)}\r\n${long(FAR_OVER)}\r\n0\r\n\r\n`,
  }
  for (const [name, rest] of Object.entries(cases))
    t.test(`${place}: ${name} tells nobody who is connected`, async (t) => {
      const known = await begin(HEADS[place](KNOWN[place]) + rest).answer()
      t.equal(known.status, 401)
      t.same(await begin(HEADS[place](UNKNOWN[place]) + rest).answer(), known)
    })

  t.test(`${place}: nobody is told sooner that they are unknown than that they did not sign`, async (t) => {
    const unknown = begin(`${HEADS[place](UNKNOWN[place])}content-length: 2\r\n\r\n{`)
    await begin(HEADS[place](KNOWN[place]) + sized('{}')).answer()
    t.notOk(unknown.hasAnswer)
    unknown.socket.write('}')
    t.equal((await unknown.answer()).status, 401)
  })

  t.test(`${place}: who signed is told what is wrong with a body`, async (t) => {
    const status = async (body: string, headers = '') =>
      (await begin(HEADS[place](KNOWN[place], SIGN[place](body)) + headers + sized(body)).answer()).status
    t.equal(await status('{}', 'content-encoding: gzip\r\n'), 415)
    t.equal(await status(long(OVER[place])), 413)
  })
}

t.test('shops that somebody made up share statements', async (t) => {
  asked.length = 0
  const shops = Array.from({ length: 2_000 }, (_, at) => receiver.find('shopify', `shop-${at}.example.com`))
  const found = await Promise.all([...shops, receiver.find('shopify', brand.shop_domain)])
  t.match(found.pop(), { brandId: brand.id })
  t.equal(asked.length, 2, 'one, and one for all that came meanwhile')
})

t.test('channels that somebody made up share statements', async (t) => {
  asked.length = 0
  const [{ methods }] = gatewayRoutes(parts) as [Route]
  const { admit } = methods.POST as Admission
  const request = (at: number) => ({
    params: { channelId: `made-up-${at}` },
    header: () => WRONG.toString('hex'),
  })
  await Promise.all(Array.from({ length: 2_000 }, (_, at) => admit(request(at) as never)))
  t.equal(asked.length, 2)
})

t.test('the body of an unknown shop is hashed as that of a connected one is', async (t) => {
  const { createHmac } = crypto
  const hashed: number[] = []
  crypto.createHmac = (...given: Parameters<typeof createHmac>) => {
    const made = createHmac(...given)
    const update = made.update.bind(made) as (data: BinaryLike) => typeof made
    made.update = (data: BinaryLike) => {
      hashed.push(data instanceof Buffer ? data.length : 0)
      return update(data)
    }
    return made
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    crypto.createHmac = createHmac
    syncBuiltinESMExports()
  })
  const body = '{"id":1}'
  for (const shop of [KNOWN.store, UNKNOWN.store]) {
    t.equal((await begin(HEADS.store(shop) + sized(body)).answer()).status, 401)
  }
  t.same(hashed, [body.length, body.length])
})
