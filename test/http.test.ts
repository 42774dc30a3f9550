import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { networkOf } from '../src/access/network.ts'
import { fail } from '../src/errors.ts'
import { holdPort } from '../src/http/listen.ts'
import {
  createServer,
  messageOnly,
  type Request,
  type Route,
  type ServerOptions,
} from '../src/http/server.ts'

const MB = 1024 * 1024

/** A server on a free port that is drained after the test. */
async function serve(t: Test, routes: Route[], options: ServerOptions = {}) {
  const server = createServer(routes, options)
  const port = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.drain(0))
  return { server, port, base: `http://127.0.0.1:${port}` }
}

const route = (path: string, methods: Route['methods'], more: Partial<Route> = {}): Route => ({
  path,
  methods,
  bodyLimit: 1000,
  surface: 'rest',
  ...more,
})

const ok = () => ({ status: 200, body: { ok: true } })
const echo = (request: Request) => ({
  status: 200,
  body: { length: request.body.length, text: request.body.toString('latin1').slice(0, 50) },
})
const body = async (response: Response) => ({
  status: response.status,
  body: JSON.parse(await response.text()),
})

interface Answer {
  status: number
  headers: Record<string, string>
  text: string
}

/** A connection that sends exactly what it is told and reads one answer at a time. */
class Wire {
  readonly socket: Socket
  #read = Buffer.alloc(0)

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      this.#read = Buffer.concat([this.#read, chunk])
    })
  }

  static async open(t: Test, port: number): Promise<Wire> {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    return new Wire(socket)
  }

  send(head: string, ...body: (string | Buffer)[]): this {
    this.socket.write(`${head.replace(/\n/g, '\r\n')}\r\nHost: test\r\n\r\n`)
    for (const part of body) this.socket.write(part)
    return this
  }

  async answer(): Promise<Answer> {
    for (;;) {
      const end = this.#read.indexOf('\r\n\r\n')
      if (end >= 0) {
        const [first = '', ...lines] = this.#read.subarray(0, end).toString('latin1').split('\r\n')
        const headers = Object.fromEntries(
          lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.slice(line.indexOf(':') + 2)]),
        )
        const length = Number(headers['content-length'] ?? 0)
        if (this.#read.length >= end + 4 + length) {
          const text = this.#read.subarray(end + 4, end + 4 + length).toString()
          this.#read = this.#read.subarray(end + 4 + length)
          return { status: Number(first.split(' ')[1]), headers, text }
        }
      }
      if (this.socket.closed) throw new Error(`closed after ${JSON.stringify(this.#read.toString())}`)
      // Not events.once: an error of a late write must not hide an answer that is already here.
      await new Promise((resolve) => this.socket.once('data', resolve).once('close', resolve))
    }
  }

  async closed(): Promise<void> {
    if (!this.socket.closed) await new Promise((resolve) => this.socket.once('close', resolve))
  }
}

t.test('request id', async (t) => {
  const { base, port } = await serve(t, [route('/v1/a', { GET: ok })])

  t.test('every response carries a new X-Request-Id', async (t) => {
    const [one, two] = await Promise.all([fetch(`${base}/v1/a`), fetch(`${base}/v1/a`)])
    t.match(one.headers.get('x-request-id'), /^[0-9a-f-]{36}$/)
    t.not(one.headers.get('x-request-id'), two.headers.get('x-request-id'))
  })
  t.test('a sent one of 128 printable characters is echoed, also on errors', async (t) => {
    const id = `${'~'.repeat(126)} !`
    const headers = { 'x-request-id': id }
    t.equal((await fetch(`${base}/v1/a`, { headers })).headers.get('x-request-id'), id)
    t.equal((await fetch(`${base}/v1/none`, { headers })).headers.get('x-request-id'), id)
  })
  t.test('one that is too long or not printable ASCII is replaced', async (t) => {
    for (const id of ['x'.repeat(129), 'a\tb', 'é']) {
      const wire = (await Wire.open(t, port)).send(`GET /v1/a HTTP/1.1\nX-Request-Id: ${id}`)
      t.match((await wire.answer()).headers['x-request-id'], /^[0-9a-f-]{36}$/)
    }
  })
})

t.test('methods and paths', async (t) => {
  const params = (request: Request) => ({ status: 200, body: { ...request.params } })
  const { base, port } = await serve(t, [
    route('/v1/items', { GET: ok, POST: echo }),
    route('/v1/items/{id}', { GET: params }),
    route('/v1/items/{id}/parts/{part}', { GET: params }),
    route('/v1/items/newest', { GET: () => ({ status: 200, body: { literal: true } }) }),
    route('/cdp/events', { POST: ok }, { surface: 'collect' }),
    route('/cdp/profiles', { GET: ok }, { surface: 'cdp' }),
    route(
      '/cdp/ingest',
      {
        POST: ok,
        OPTIONS: () => ({ status: 204, headers: { 'Access-Control-Allow-Origin': 'https://x.test' } }),
      },
      { surface: 'collect' },
    ),
  ])
  const get = async (path: string, method = 'GET') => fetch(base + path, { method })

  t.test('HEAD answers as GET without the body', async (t) => {
    const response = await fetch(`${base}/v1/items`, { method: 'HEAD' })
    t.equal(response.status, 200)
    t.equal(response.headers.get('content-length'), '11')
    t.equal(response.headers.get('content-type'), 'application/json')
    t.equal(await response.text(), '')
  })
  t.test('OPTIONS answers 204 with the methods in Allow', async (t) => {
    const response = await get('/v1/items', 'OPTIONS')
    t.equal(response.status, 204)
    t.equal(response.headers.get('allow'), 'GET, POST, HEAD, OPTIONS')
  })
  t.test('a route can answer OPTIONS itself', async (t) => {
    t.equal(
      (await get('/cdp/ingest', 'OPTIONS')).headers.get('access-control-allow-origin'),
      'https://x.test',
    )
  })
  t.test('another method of a known REST or CDP path is 405 with Allow', async (t) => {
    for (const path of ['/v1/items', '/cdp/profiles']) {
      const response = await get(path, 'DELETE')
      t.equal(response.status, 405)
      t.match(response.headers.get('allow'), /^GET/)
      t.match(await response.json(), { error: { code: 'method_not_allowed', message: /DELETE/ } })
    }
  })
  t.test('an invented method is 405 too', async (t) => {
    t.match(await (await Wire.open(t, port)).send('BREW /v1/items HTTP/1.1').answer(), { status: 405 })
  })
  t.test('another method of a collect path is a 404 that is only a message', async (t) => {
    for (const method of ['GET', 'HEAD', 'PUT']) {
      const response = await get('/cdp/events', method)
      t.equal(response.status, 404)
      t.equal(response.headers.get('x-request-id'), null)
      if (method !== 'HEAD') t.same(await response.json(), { message: 'Not Found' })
    }
  })
  t.test('an unknown path is 404 not_found, and only a message under /cdp', async (t) => {
    t.match(await body(await get('/v1/nothing')), {
      status: 404,
      body: { error: { code: 'not_found', message: String } },
    })
    t.match(await body(await get('/')), { status: 404, body: { error: { code: 'not_found' } } })
    const collect = await get('/cdp/nothing', 'POST')
    t.equal(collect.headers.get('x-request-id'), null)
    t.same(await body(collect), { status: 404, body: { message: 'Not Found' } })
  })
  t.test('a trailing slash, a double slash and a missing value are other paths', async (t) => {
    for (const path of ['/v1/items/', '//v1/items', '/v1//items', '/v1/items//parts/x', '/v1/items/x/']) {
      const wire = (await Wire.open(t, port)).send(`GET ${path} HTTP/1.1`)
      t.equal((await wire.answer()).status, 404, path)
    }
  })
  t.test('path values are percent-decoded', async (t) => {
    t.same(await (await get('/v1/items/a%2Fb%20%C3%A9/parts/%2B')).json(), { id: 'a/b é', part: '+' })
  })
  t.test('a path value that is not valid encoding is 400 and named', async (t) => {
    for (const value of ['%', '%zz', '%ff', '%C3']) {
      const wire = (await Wire.open(t, port)).send(`GET /v1/items/${value} HTTP/1.1`)
      const { status, text } = await wire.answer()
      t.match(
        { status, ...JSON.parse(text) },
        { status: 400, error: { code: 'bad_request', message: /^id must be/ } },
      )
    }
  })
  t.test('a literal segment wins over a parameter', async (t) => {
    t.same(await (await get('/v1/items/newest')).json(), { literal: true })
  })
  t.test('two routes of one path are refused at the start', async (t) => {
    t.throws(() => createServer([route('/a/{x}', {}), route('/a/{y}', {})]), /two routes/)
  })
})

t.test('bodies', async (t) => {
  let calls = 0
  const counted = (request: Request) => {
    calls++
    return echo(request)
  }
  const borrow = async (request: Request) => {
    calls++
    const { body } = request
    const text = body.toString()
    if (text === 'wrong') throw fail('bad_request', 'Wrong')
    await turn()
    return { status: 200, body: { text, later: request.body.length } }
  }
  const { base, port } = await serve(t, [
    route('/v1/a', { POST: counted, GET: ok }),
    route('/v1/lenient', { POST: echo }, { encodings: 400 }),
    route('/v1/lent', { POST: borrow }, { borrows: true }),
    route('/v1/none', { POST: echo }, { bodyLimit: 0 }),
    route('/v1/guarded', {
      POST: {
        admit: async (request) => {
          if (request.header('authorization') !== 'Bearer yes') throw fail('unauthorized', 'No credential')
          return echo
        },
      },
    }),
  ])
  const post = (path: string, content: string | ReadableStream, headers: Record<string, string> = {}) =>
    fetch(base + path, { method: 'POST', body: content, headers, duplex: 'half' } as RequestInit)
  const chunked = (...parts: string[]) =>
    parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')

  t.test('a body of exactly the limit arrives whole, by length and chunked', async (t) => {
    const text = 'x'.repeat(1000)
    t.match(await body(await post('/v1/a', text)), { status: 200, body: { length: 1000 } })
    const wire = (await Wire.open(t, port)).send(
      'POST /v1/a HTTP/1.1\nTransfer-Encoding: chunked',
      chunked(text.slice(0, 400), text.slice(400)),
      '0\r\n\r\n',
    )
    t.match(JSON.parse((await wire.answer()).text), { length: 1000 })
  })
  t.test('a body that arrives in pieces is put together', async (t) => {
    const wire = (await Wire.open(t, port)).send('POST /v1/a HTTP/1.1\nContent-Length: 6', 'ab')
    wire.socket.write('cd')
    wire.socket.write('ef')
    t.same(JSON.parse((await wire.answer()).text), { length: 6, text: 'abcdef' })
  })
  t.test('a body that is lent is whole in one piece and in several, and gone after the call', async (t) => {
    t.same(await (await post('/v1/lent', 'abcdef')).json(), { text: 'abcdef', later: 0 })
    const wire = (await Wire.open(t, port)).send('POST /v1/lent HTTP/1.1\nContent-Length: 6', 'ab')
    // Its headers were read by then: what follows comes as a piece of its own.
    await (await fetch(`${base}/v1/a`)).text()
    wire.socket.write('cdef')
    t.same(JSON.parse((await wire.answer()).text), { text: 'abcdef', later: 0 })
    wire.send('POST /v1/lent HTTP/1.1\nTransfer-Encoding: chunked', chunked('ab', 'cd'), '0\r\n\r\n')
    t.same(JSON.parse((await wire.answer()).text), { text: 'abcd', later: 0 })
    t.equal((await post('/v1/lent', 'wrong')).status, 400)
    t.equal((await post('/v1/lent', 'x'.repeat(1001))).status, 413)
  })
  t.test('what is refused for its trailers is not done', async (t) => {
    const before = calls
    for (const path of ['/v1/a', '/v1/lent']) {
      const wire = await Wire.open(t, port)
      wire.send(`POST ${path} HTTP/1.1\nTransfer-Encoding: chunked`, chunked('ab'), '0\r\nx-sum: 1\r\n\r\n')
      t.match(await wire.answer(), { status: 505 })
    }
    t.equal(calls, before)
  })
  t.test('no body and Content-Length 0 are an empty body', async (t) => {
    const wire = (await Wire.open(t, port))
      .send('POST /v1/a HTTP/1.1')
      .send('POST /v1/a HTTP/1.1\nContent-Length: 0')
    t.match(JSON.parse((await wire.answer()).text), { length: 0 })
    t.match(JSON.parse((await wire.answer()).text), { length: 0 })
  })
  t.test(
    'a Content-Length over the limit is 413 before the body is sent, and the connection lives on',
    async (t) => {
      const before = calls
      const wire = (await Wire.open(t, port)).send(`POST /v1/a HTTP/1.1\nContent-Length: ${MB}`)
      const { status, headers, text } = await wire.answer()
      t.match(
        { status, ...JSON.parse(text) },
        { status: 413, error: { code: 'bad_request', message: /at most/ } },
      )
      t.match(headers['x-request-id'], /./)
      wire.socket.write(Buffer.alloc(MB))
      t.match(await wire.send('GET /v1/a HTTP/1.1').answer(), { status: 200 })
      t.equal(calls, before, 'the handler was not called')
    },
  )
  t.test('a path that takes no body says so', async (t) => {
    const error = { code: 'bad_request', message: 'The body must be empty' }
    t.match(await body(await post('/v1/none', 'x')), { status: 413, body: { error } })
  })
  t.test('a chunked body over the limit is 413 when it ends', async (t) => {
    const wire = (await Wire.open(t, port)).send(
      'POST /v1/a HTTP/1.1\nTransfer-Encoding: chunked',
      chunked('x'.repeat(900), 'x'.repeat(900)),
      '0\r\n\r\n',
    )
    t.match(await wire.answer(), { status: 413, text: /bad_request/ })
    t.match(await wire.send('GET /v1/a HTTP/1.1').answer(), { status: 200 })
  })
  // No more than that before the answer is read: of a connection that was cut off with bytes on their way a client may
  // read a reset alone.
  const more = 8 * MB + 64 * 1024
  t.test('a chunked body without end is answered 413 and cut off', async (t) => {
    const wire = (await Wire.open(t, port)).send(
      'POST /v1/a HTTP/1.1\nTransfer-Encoding: chunked',
      chunked('x'.repeat(more)),
    )
    t.match(await wire.answer(), { status: 413, headers: { connection: 'close' } })
    await wire.closed()
  })
  t.test('a huge Content-Length is answered 413 and cut off', async (t) => {
    const wire = (await Wire.open(t, port)).send(
      `POST /v1/a HTTP/1.1\nContent-Length: ${1024 * MB}`,
      Buffer.alloc(more),
    )
    t.match(await wire.answer(), { status: 413 })
    await wire.closed()
  })
  t.test('a refusal that overtakes the body leaves the server and the connection whole', async (t) => {
    const wire = (await Wire.open(t, port)).send(
      'POST /v1/guarded HTTP/1.1\nContent-Length: 100',
      'x'.repeat(10),
    )
    t.match(await wire.answer(), { status: 401 })
    wire.socket.write('x'.repeat(40))
    wire.socket.write('x'.repeat(50))
    t.match(await wire.send('GET /v1/a HTTP/1.1').answer(), { status: 200 })
  })
  t.test('a refusal of a chunked body waits for its end', async (t) => {
    const wire = (await Wire.open(t, port)).send(
      'POST /v1/guarded HTTP/1.1\nTransfer-Encoding: chunked',
      chunked('abc'),
    )
    wire.socket.write('0\r\n\r\n')
    t.match(await wire.answer(), { status: 401 })
    t.match(await wire.send('GET /v1/a HTTP/1.1').answer(), { status: 200 })
  })
  t.test('a refusal reaches a client that closes after its request', async (t) => {
    const wire = (await Wire.open(t, port)).send(
      'POST /v1/guarded HTTP/1.1\nConnection: close\nContent-Length: 20',
      'x'.repeat(10),
    )
    wire.socket.write('x'.repeat(10))
    t.match(await wire.answer(), { status: 401 })
    await wire.closed()
  })
  t.test('the credential is judged before size and encoding of the body', async (t) => {
    t.equal((await post('/v1/guarded', 'x'.repeat(2000), { 'content-encoding': 'gzip' })).status, 401)
    const headers = { authorization: 'Bearer yes' }
    t.equal((await post('/v1/guarded', 'x', { ...headers, 'content-encoding': 'gzip' })).status, 415)
    t.equal((await post('/v1/guarded', 'x'.repeat(2000), headers)).status, 413)
    t.match(await body(await post('/v1/guarded', 'fine', headers)), { status: 200, body: { text: 'fine' } })
  })
  t.test('a Content-Encoding other than identity is 415, or 400 where the route says so', async (t) => {
    t.match(await body(await post('/v1/a', 'x', { 'content-encoding': 'gzip' })), {
      status: 415,
      body: { error: { code: 'bad_request', message: /identity/ } },
    })
    t.match(await body(await post('/v1/lenient', 'x', { 'content-encoding': 'br' })), {
      status: 400,
      body: { error: { code: 'bad_request' } },
    })
    t.equal((await post('/v1/a', 'x', { 'content-encoding': 'Identity' })).status, 200)
  })
  t.test('a Transfer-Encoding other than chunked is 400', async (t) => {
    for (const encoding of ['gzip, chunked', 'Chunked', 'gzip', 'identity']) {
      const wire = (await Wire.open(t, port)).send(
        `POST /v1/a HTTP/1.1\nTransfer-Encoding: ${encoding}`,
        chunked('abc'),
        '0\r\n\r\n',
      )
      t.match(await wire.answer(), { status: 400, text: /Transfer-Encoding/ }, encoding)
    }
  })
  t.test('a Content-Length that is no number is 400, and nothing is done', async (t) => {
    const before = calls
    for (const length of ['abc', '3,3', '-5', '-Infinity', '1e1', '0x10', '+3']) {
      const wire = (await Wire.open(t, port)).send(`POST /v1/a HTTP/1.1\nContent-Length: ${length}`, 'abc')
      t.match(await wire.answer(), { status: 400 }, length)
    }
    t.equal(calls, before, 'the handler was not called')
  })
  t.test('a header that decides is refused when it comes twice with two values', async (t) => {
    for (const [name, ...values] of [
      ['Authorization', 'Bearer yes', 'Bearer no'],
      ['Content-Length', '3', '5'],
      ['Origin', 'https://a.test', 'https://b.test'],
    ]) {
      const wire = (await Wire.open(t, port)).send(
        `POST /v1/a HTTP/1.1\n${name}: ${values[0]}\n${name}: ${values[1]}`,
        'abcde',
      )
      const answer = await wire.answer()
      t.equal(answer.status, 400)
      t.match(answer.text, name === 'Content-Length' ? /./ : new RegExp(String(name), 'i'))
    }
  })
  t.test('nothing is read behind a request that two readers could see differently', async (t) => {
    const before = calls
    for (const header of [
      'Content-Length: 0\nContent-Length: 3',
      'Content-Length: 3\nContent-Length: 0',
      'Transfer-Encoding: chunked\nTransfer-Encoding: identity',
    ]) {
      const alone = (await Wire.open(t, port)).send(`POST /v1/a HTTP/1.1\n${header}`)
      if (header.startsWith('Content-Length: 3')) alone.socket.write('abc')
      if (header.startsWith('Transfer')) alone.socket.write('0\r\n\r\n')
      t.match(await alone.answer(), { status: 400, headers: { connection: 'close' } }, header)
      await alone.closed()
      const wire = await Wire.open(t, port)
      const hidden = 'POST /v1/a HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n'
      wire.socket.write(
        `POST /v1/a HTTP/1.1\r\nHost: test\r\n${header.replace('\n', '\r\n')}\r\n\r\n${header.startsWith('Transfer') ? '0\r\n\r\n' : 'abc'}${hidden}`,
      )
      await wire.closed()
    }
    t.equal(calls, before, 'the handler was not called')
  })
  t.test('a client that leaves in the middle of a body leaves nothing behind', async (t) => {
    const { server, port } = await serve(t, [
      route('/v1/a', { POST: () => t.fail('the handler was called') as never }),
    ])
    const wire = (await Wire.open(t, port)).send('POST /v1/a HTTP/1.1\nContent-Length: 100', 'x'.repeat(10))
    const other = (await Wire.open(t, port)).send('GET /v1/a HTTP/1.1')
    t.match(await other.answer(), { status: 405 }, 'by now the server has seen the first request')
    wire.socket.destroy()
    await server.drain(20_000)
    t.pass('the drain did not wait for it')
  })
})

t.test('headers', async (t) => {
  const { port } = await serve(t, [
    route('/v1/a', {
      GET: (request) => ({ status: 200, body: { size: request.header('authorization')?.length ?? 0 } }),
    }),
  ])

  t.test('a credential of 12,000 characters fits', async (t) => {
    const wire = (await Wire.open(t, port)).send(`GET /v1/a HTTP/1.1\nAuthorization: ${'x'.repeat(12_000)}`)
    t.match(await wire.answer(), { status: 200, text: '{"size":12000}' })
  })
  t.test('more than 16 KB of headers is 431', async (t) => {
    const wire = (await Wire.open(t, port)).send(`GET /v1/a HTTP/1.1\nAuthorization: ${'x'.repeat(17_000)}`)
    t.match(await wire.answer(), { status: 431 })
  })
  t.test('a header and a body length that contradict each other are 400', async (t) => {
    const wire = (await Wire.open(t, port)).send(
      'POST /v1/a HTTP/1.1\nContent-Length: 3\nTransfer-Encoding: chunked',
      '3\r\nabc\r\n0\r\n\r\n',
    )
    t.match(await wire.answer(), { status: 400 })
  })
  t.test('pipelined requests are answered in order', async (t) => {
    const wire = await Wire.open(t, port)
    for (const size of [1, 2, 3]) wire.send(`GET /v1/a HTTP/1.1\nAuthorization: ${'x'.repeat(size)}`)
    for (const size of [1, 2, 3]) t.equal((await wire.answer()).text, `{"size":${size}}`)
  })
})

t.test('client address', async (t) => {
  const routes = [route('/v1/a', { GET: (request) => ({ status: 200, body: request.address }) })]
  const headers = { 'x-forwarded-for': '6.6.6.6, 1.2.3.4' }

  t.test('is the peer, whatever X-Forwarded-For says', async (t) => {
    const { base } = await serve(t, routes)
    t.equal(await (await fetch(`${base}/v1/a`, { headers })).text(), '127.0.0.1')
  })
  t.test('behind one proxy is the last address of X-Forwarded-For', async (t) => {
    const { base } = await serve(t, routes, { trustedHops: 1 })
    t.equal(await (await fetch(`${base}/v1/a`, { headers })).text(), '1.2.3.4')
    t.equal(await (await fetch(`${base}/v1/a`)).text(), '127.0.0.1')
  })
  t.test('behind two proxies is the same whether each adds a word or a line', async (t) => {
    const { base, port } = await serve(t, routes, { trustedHops: 2 })
    const sent = { 'x-forwarded-for': '6.6.6.6, 1.2.3.4, 10.0.0.1' }
    t.equal(await (await fetch(`${base}/v1/a`, { headers: sent })).text(), '1.2.3.4')
    const lines = ['6.6.6.6', '1.2.3.4', '10.0.0.1'].map((one) => `\nX-Forwarded-For: ${one}`).join('')
    const wire = await Wire.open(t, port)
    t.equal((await wire.send(`GET /v1/a HTTP/1.1${lines}`).answer()).text, '1.2.3.4')
  })
  const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ family }) => family === 'IPv6'),
  )
  t.test('over IPv4 at a server that listens on IPv6 is of one client', { skip: !hasIPv6 }, async (t) => {
    const server = createServer(routes)
    t.teardown(() => server.drain(0))
    const port = await server.listen('::', 0)
    t.equal(networkOf(await (await fetch(`http://127.0.0.1:${port}/v1/a`)).text()), '127.0.0.1')
  })
})

t.test('replies and errors', async (t) => {
  const throws = (error: unknown) => () => {
    throw error
  }
  const secret = 'password=hunter2'
  const limited = fail('rate_limited', 'Too many requests', { headers: { 'retry-after': '3' } })
  const parses = (then: (cause: unknown) => Error) => () => {
    try {
      return JSON.parse(secret)
    } catch (cause) {
      throw then(cause)
    }
  }
  const { base } = await serve(t, [
    route('/v1/unreadable', { GET: parses((cause) => fail('bad_request', secret, { cause })) }),
    route('/v1/taken', { GET: throws(fail('conflict', secret, { cause: new Error('unique') })) }),
    route('/v1/garbled', { GET: parses((cause) => cause as Error) }),
    route('/v1/upstream', { GET: parses((cause) => fail('upstream_error', 'No JSON came.', { cause })) }),
    route('/v1/text', {
      GET: () => ({ status: 201, body: 'plain', headers: { 'set-cookie': ['a=1', 'b=2'] } }),
    }),
    route('/v1/bytes', {
      GET: () => ({ status: 200, body: Buffer.from([0, 255]), headers: { 'Content-Type': 'x/y' } }),
    }),
    route('/v1/nothing', { GET: () => ({ status: 204 }) }),
    route('/v1/bare', { GET: () => messageOnly(503, 'Unknown outcome') }),
    route('/v1/large', { GET: () => ({ status: 200, body: 'x'.repeat(5 * MB) }) }),
    route('/v1/partial', {
      GET: throws(fail('unavailable', 'Some failed', { beside: { accepted: 1, failed: [0] } })),
    }),
    route('/v1/limited', { GET: throws(limited) }),
    route('/cdp/limited', { GET: throws(limited) }, { surface: 'collect' }),
    route('/custom/refused', { GET: throws(fail('not_found', 'No such webhook')) }, { surface: 'webhook' }),
    route('/v1/bug', { GET: throws(new Error(secret)) }),
    route('/v1/later', { GET: async () => Promise.reject(new Error(secret)) }),
    route('/v1/away', { GET: throws(Object.assign(new Error(secret), { code: 'ECONNREFUSED' })) }),
    route('/v1/cycle', {
      GET: () => {
        const body: Record<string, unknown> = {}
        body.self = body
        return { status: 200, body }
      },
    }),
    route('/v1/nameless', { GET: throws(Object.create(null)) }),
    route('/v1/headless', { GET: () => ({ status: 200, headers: { x: undefined as never } }) }),
    route('/v1/split', { GET: () => ({ status: 200, headers: { location: 'a\r\nset-cookie: x=1' } }) }),
  ])
  const get = (path: string) => fetch(base + path)

  t.test('an object is JSON, a string is text, bytes are bytes', async (t) => {
    const text = await get('/v1/text')
    t.match(
      [text.status, await text.text(), text.headers.get('content-type')],
      [201, 'plain', /^text\/plain/],
    )
    t.same(text.headers.getSetCookie(), ['a=1', 'b=2'])
    const bytes = await get('/v1/bytes')
    t.equal(bytes.headers.get('content-type'), 'x/y')
    t.same(new Uint8Array(await bytes.arrayBuffer()), new Uint8Array([0, 255]))
    t.equal((await get('/v1/nothing')).status, 204)
  })
  t.test('a large answer arrives whole', async (t) => {
    t.equal((await (await get('/v1/large')).text()).length, 5 * MB)
  })
  t.test('a message-only reply has no X-Request-Id', async (t) => {
    const response = await get('/v1/bare')
    t.equal(response.headers.get('x-request-id'), null)
    t.same(await body(response), { status: 503, body: { message: 'Unknown outcome' } })
  })
  t.test('fields of a failure stand beside the error', async (t) => {
    t.same(await body(await get('/v1/partial')), {
      status: 503,
      body: { error: { code: 'unavailable', message: 'Some failed' }, accepted: 1, failed: [0] },
    })
  })
  t.test('a rate limit has Retry-After, but not on the collect host', async (t) => {
    const rest = await get('/v1/limited')
    t.equal(rest.headers.get('retry-after'), '3')
    t.match(await body(rest), { status: 429, body: { error: { code: 'rate_limited' } } })
    const collect = await get('/cdp/limited')
    t.equal(collect.headers.get('retry-after'), null)
    t.same(await body(collect), { status: 429, body: { message: 'Too Many Requests' } })
  })
  t.test('a webhook is refused with ok, reason and message', async (t) => {
    t.same(await body(await get('/custom/refused')), {
      status: 404,
      body: { ok: false, reason: 'not_found', message: 'No such webhook' },
    })
  })
  t.test('an unexpected error is 500 internal, logged with the request id and not shown', async (t) => {
    const written = t.capture(process.stderr, 'write')
    for (const path of ['/v1/bug', '/v1/later', '/v1/cycle', '/v1/split']) {
      const response = await get(path)
      const id = response.headers.get('x-request-id') as string
      const text = await response.text()
      t.match(
        { status: response.status, ...JSON.parse(text) },
        { status: 500, error: { code: 'internal' } },
        path,
      )
      t.notMatch(text, secret)
      const lines = written().map((call) => JSON.parse(String(call.args[0])))
      t.match(lines, [
        { level: 'error', event: 'request_failed', request_id: id, stack: String },
        { event: 'request', request_id: id, status: 500 },
      ])
    }
  })
  t.test('a client error is not logged, whatever it was made of', async (t) => {
    const written = t.capture(process.stderr, 'write')
    for (const path of ['/v1/unreadable', '/v1/taken']) t.match(await get(path), { ok: false })
    const lines = written().map((call) => JSON.parse(String(call.args[0])))
    t.match(lines, [
      { event: 'request', status: 400 },
      { event: 'request', status: 409 },
    ])
    t.notMatch(JSON.stringify(lines), secret)
  })
  t.test('what does not parse is not quoted in the log', async (t) => {
    const written = t.capture(process.stderr, 'write')
    for (const path of ['/v1/garbled', '/v1/upstream']) t.match(await get(path), { ok: false })
    const lines = written().map((call) => JSON.parse(String(call.args[0])))
    t.match(lines, [
      { event: 'request_failed', error: 'SyntaxError', stack: / at / },
      { event: 'request', status: 500 },
      { event: 'failure', error: 'No JSON came.', causes: ['SyntaxError'] },
      { event: 'request', status: 502 },
    ])
    t.notMatch(JSON.stringify(lines), secret)
  })
  t.test('what cannot even be told is logged, and the client is not left waiting', async (t) => {
    const written = t.capture(process.stderr, 'write')
    for (const path of ['/v1/nameless', '/v1/headless']) {
      await t.rejects(get(path), path)
      const lines = written().map((call) => JSON.parse(String(call.args[0])))
      t.match(lines, [
        { level: 'error', event: 'answer_failed' },
        { event: 'request', status: 500 },
      ])
    }
  })
  t.test('what throws at the end of a request is logged, also when its client is gone', async (t) => {
    const written = t.capture(process.stderr, 'write')
    const called = Promise.withResolvers<void>()
    const atEnd = (request: Request) =>
      request.atEnd(() => {
        called.resolve()
        throw new Error(secret)
      })
    const { server, port } = await serve(t, [
      route('/v1/a', {
        POST: {
          admit: (request) => {
            atEnd(request)
            throw fail('unauthorized', 'No credential')
          },
        },
      }),
    ])
    const wire = (await Wire.open(t, port)).send('POST /v1/a HTTP/1.1\nTransfer-Encoding: chunked', '3\r\nab')
    await (await fetch(`http://127.0.0.1:${port}/v1/none`)).text()
    wire.socket.destroy()
    await called.promise
    await server.drain(20_000)
    const lines = written().map((call) => JSON.parse(String(call.args[0])))
    t.match(
      lines.filter((line) => line.level === 'error' || line.status === 499),
      [{ event: 'at_end_failed' }, { event: 'request', status: 499 }],
    )
  })
  t.test('a database that is away is 503 unavailable', async (t) => {
    t.capture(process.stderr, 'write')
    const response = await get('/v1/away')
    const text = await response.text()
    t.match({ status: response.status, ...JSON.parse(text) }, { status: 503, error: { code: 'unavailable' } })
    t.notMatch(text, secret)
  })
})

t.test('the log', async (t) => {
  const { base } = await serve(t, [
    route('/v1/items/{id}', { GET: ok }),
    route(
      '/cdp/events',
      { POST: (request) => (request.body.length > 2 ? ok() : { status: 400 }) },
      { surface: 'collect' },
    ),
  ])
  const logged = async (t: Test, path: string, init?: RequestInit) => {
    const written = t.capture(process.stderr, 'write')
    await (await fetch(base + path, init)).text()
    return written().map((call) => JSON.parse(String(call.args[0])))
  }

  t.test('has one line per request, with the id and without the query', async (t) => {
    const id = '01890a5d-ac96-774b-bcce-b302099a8057'
    const lines = await logged(t, `/v1/items/${id}?token=x`, { headers: { 'x-request-id': 'mine' } })
    t.match(lines, [
      {
        level: 'info',
        event: 'request',
        method: 'GET',
        path: `/v1/items/${id}`,
        status: 200,
        ms: Number,
        request_id: 'mine',
        bytes: 11,
      },
    ])
    t.equal(lines.length, 1)
  })
  t.test('shows no value of a path but a UUID', async (t) => {
    t.match(await logged(t, '/v1/items/jane%40example.com'), [{ path: '/v1/items/{id}' }])
    t.match(await logged(t, '/v1/none/jane@example.com'), [{ path: '(unknown)', status: 404 }])
  })
  t.test('of the collect host has failures only', async (t) => {
    t.same(await logged(t, '/cdp/events', { method: 'POST', body: '[1]' }), [])
    t.match(await logged(t, '/cdp/events', { method: 'POST', body: '[]' }), [
      { path: '/cdp/events', status: 400 },
    ])
  })
})

t.test('ports', async (t) => {
  t.test('a port that is in use is a clear error', async (t) => {
    const { port } = await serve(t, [])
    await t.rejects(createServer([]).listen('127.0.0.1', port), {
      message: new RegExp(`port ${port}: it is in use`),
    })
  })
  t.test('processes of ours can share one on purpose', async (t) => {
    const probe = await serve(t, [])
    await probe.server.drain(0)
    const { port } = probe
    const first = createServer([], { sharedPort: true })
    const second = createServer([], { sharedPort: true })
    t.equal(await first.listen('127.0.0.1', port), port)
    t.equal(await second.listen('127.0.0.1', port), port)
    await Promise.all([first.drain(0), second.drain(0)])
  })
  t.test('a server that says nothing has its port alone, also from one that would share it', async (t) => {
    const { port } = await serve(t, [])
    await t.rejects(createServer([], { sharedPort: true }).listen('127.0.0.1', port), {
      message: new RegExp(`port ${port}: it is in use`),
    })
  })
  t.test('of two that begin in the same moment one has the port, and the other an error', async (t) => {
    const probe = await serve(t, [])
    await probe.server.drain(0)
    const servers = [createServer([]), createServer([])]
    const begun = await Promise.allSettled(servers.map((one) => one.listen('127.0.0.1', probe.port)))
    t.same(begun.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    await Promise.all(servers.map((one) => one.drain(0)))
  })
  t.test('a port is held for the servers of one command, until it lets go or ends', async (t) => {
    const probe = await serve(t, [])
    await probe.server.drain(0)
    const inUse = { message: new RegExp(`port ${probe.port}: it is in use`) }
    const letGo = await holdPort('127.0.0.1', probe.port)
    t.teardown(letGo)
    await t.rejects(holdPort('127.0.0.1', probe.port), inUse)
    const child = createServer([], { sharedPort: true })
    t.equal(await child.listen('127.0.0.1', probe.port), probe.port)
    letGo()
    await t.rejects(holdPort('127.0.0.1', probe.port), inUse, 'a server of it still listens')
    await child.drain(0)
    const next = await holdPort('127.0.0.1', probe.port)
    next()
  })
  t.test('an address of another machine is a clear error', async (t) => {
    await t.rejects(createServer([]).listen('192.0.2.1', 1), { message: /does not have that address/ })
  })
})

t.test('memory', async (t) => {
  t.test('is bounded for all bodies together: the slowest makes room, and learns it', async (t) => {
    const limit = { bodyLimit: 100_000 }
    const { port } = await serve(t, [route('/v1/a', { POST: echo }, limit)], { receivingBytes: 100_000 })
    const head = 'POST /v1/a HTTP/1.1\nContent-Length: 60000'
    const slow = (await Wire.open(t, port)).send(head, 'x'.repeat(50_000))
    const slower = (await Wire.open(t, port)).send(head, 'x'.repeat(20_000))
    // Until what both sent has arrived: requests of one connection are read after what came before them.
    await new Promise((resolve) => setTimeout(resolve, 50))
    const quick = (await Wire.open(t, port)).send(head, 'x'.repeat(60_000))
    t.match(await quick.answer(), { status: 200, text: /"length":60000/ })
    t.match(await slow.answer(), { status: 503, text: /"code":"unavailable"/ })
    slower.socket.write('x'.repeat(40_000))
    t.match(await slower.answer(), { status: 200, text: /"length":60000/ })
    slow.socket.write('x'.repeat(10_000))
    t.match(await slow.send(head, 'x'.repeat(60_000)).answer(), { status: 200, text: /"length":60000/ })
  })
  t.test('holds one unread answer of a connection: one that asks for the next is closed', async (t) => {
    const large = Buffer.alloc(20 * MB, 'x')
    const answered = Promise.withResolvers<void>()
    const handler = () => {
      setImmediate(answered.resolve)
      return { status: 200, body: large }
    }
    const { port } = await serve(t, [route('/v1/large', { GET: handler })])
    const socket = connect(port, '127.0.0.1').pause()
    socket.on('error', () => {})
    const get = 'GET /v1/large HTTP/1.1\r\nHost: test\r\n\r\n'
    socket.write(get)
    await answered.promise
    socket.write(get)
    await new Promise((resolve) => setTimeout(resolve, 50))
    let bytes = 0
    socket.on('data', (chunk) => {
      bytes += chunk.length
    })
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
    t.ok(bytes < large.length, `${bytes} bytes`)
  })
  t.test('an answer that a slow client reads to its end arrives whole, while a drain waits', async (t) => {
    const large = 'é'.repeat(8 * MB)
    const { server, port } = await serve(t, [
      route('/v1/large', { GET: () => ({ status: 200, body: large }) }),
    ])
    const wire = await Wire.open(t, port)
    wire.socket.pause()
    wire.send('GET /v1/large HTTP/1.1')
    await new Promise((resolve) => setTimeout(resolve, 50))
    const drained = server.drain(20_000)
    wire.socket.resume()
    t.ok((await wire.answer()).text === large)
    await drained
  })
})

t.test('leaving', async (t) => {
  /** A route that says when it is called and answers when it is told. */
  const slow = () => {
    const called = Promise.withResolvers<Request>()
    const go = Promise.withResolvers<void>()
    const handler = async (request: Request) => {
      called.resolve(request)
      await go.promise
      return ok()
    }
    return {
      called: called.promise,
      go: go.resolve,
      routes: [route('/v1/slow', { GET: handler, POST: handler })],
    }
  }

  t.test('the signal is aborted when the client goes', async (t) => {
    const { called, go, routes } = slow()
    const { port } = await serve(t, routes)
    const wire = (await Wire.open(t, port)).send('GET /v1/slow HTTP/1.1')
    const { signal } = await called
    t.equal(signal.aborted, false)
    wire.socket.destroy()
    await once(signal, 'abort')
    go()
  })
  t.test('a drain lets a running request finish and closes its connection', async (t) => {
    const { called, go, routes } = slow()
    const { server, port } = await serve(t, routes)
    const idle = await Wire.open(t, port)
    const wire = (await Wire.open(t, port)).send('POST /v1/slow HTTP/1.1\nContent-Length: 2', '{}')
    await called
    const drained = server.drain(20_000)
    go()
    t.match(await wire.answer(), { status: 200, headers: { connection: 'close' } })
    await wire.closed()
    await drained
    await idle.closed()
    await t.rejects(Wire.open(t, port), { code: 'ECONNREFUSED' })
  })
  t.test('a long answer that is made while draining arrives whole, also at a slow reader', async (t) => {
    const called = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const large = 'x'.repeat(8 * MB)
    const handler = async () => {
      called.resolve()
      await go.promise
      return { status: 200, body: large }
    }
    const { server, port } = await serve(t, [route('/v1/large', { GET: handler })])
    const wire = (await Wire.open(t, port)).send('GET /v1/large HTTP/1.1')
    await called.promise
    const drained = server.drain(20_000)
    wire.socket.pause()
    go.resolve()
    // Longer than a drain waits once the last answer is in the hands of the system.
    await new Promise((resolve) => setTimeout(resolve, 200))
    wire.socket.resume()
    const { headers, text } = await wire.answer()
    t.equal(headers.connection, 'close')
    t.ok(text === large)
    await drained
    await wire.closed()
  })
  t.test('a request on an open connection is still answered while draining', async (t) => {
    const { called, go, routes } = slow()
    const { server, port } = await serve(t, routes)
    const open = await Wire.open(t, port)
    const wire = (await Wire.open(t, port)).send('GET /v1/slow HTTP/1.1')
    await called
    const drained = server.drain(20_000)
    t.match(await open.send('GET /v1/none HTTP/1.1').answer(), {
      status: 404,
      headers: { connection: 'close' },
    })
    go()
    await wire.answer()
    await drained
  })
  t.test(
    'the engine closes a connection that sends a request while another one waits for its answer',
    async (t) => {
      // Requests in a row are answered in order as long as no handler has to wait; no client of note pipelines.
      const { called, go, routes } = slow()
      const { port } = await serve(t, routes)
      const wire = (await Wire.open(t, port)).send('GET /v1/slow HTTP/1.1')
      const { signal } = await called
      wire.send('GET /v1/slow HTTP/1.1')
      await wire.closed()
      t.equal(signal.aborted, true)
      go()
    },
  )
  t.test('a drain that lingers answers connections once more, and asks their clients to leave', async (t) => {
    const { server, port } = await serve(t, [route('/v1/a', { GET: ok })])
    const open = await Wire.open(t, port)
    t.match(await open.send('GET /v1/a HTTP/1.1').answer(), { status: 200 })
    const drained = server.drain(20_000, 20_000)
    // Clients are asked to leave once the socket takes no connections: some turns later where the machine is busy.
    let answer = await open.send('GET /v1/a HTTP/1.1').answer()
    while (answer.status === 200 && answer.headers.connection !== 'close')
      answer = await open.send('GET /v1/a HTTP/1.1').answer()
    t.match(answer, { status: 200, headers: { connection: 'close' } })
    await open.closed()
    await drained
  })
  t.test('the deadline of a drain cuts a request short', async (t) => {
    const { called, go, routes } = slow()
    const { server, port } = await serve(t, routes)
    const wire = (await Wire.open(t, port)).send('GET /v1/slow HTTP/1.1')
    const { signal } = await called
    await server.drain(1)
    await wire.closed()
    t.equal(signal.aborted, true)
    go()
  })
})
