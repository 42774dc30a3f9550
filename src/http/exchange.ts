import { randomUUID } from 'node:crypto'
import { fail } from '../errors.ts'
import { errorFields, log } from '../log.ts'
import { Body, EMPTY, GONE, type Receiving } from './body.ts'
import { mendBodylessEnd } from './bodyless.ts'
import type { EngineRequest, EngineResponse } from './engine.ts'
import { errorReply, type Rendered, type Reply, rendered, unknownPath, unservedMethod } from './reply.ts'
import { HttpRequest, repeatedHeader } from './request.ts'
import { logRequest } from './request-log.ts'
import type { Handler, HttpMethod, ServedRoute } from './route.ts'
import type { Match } from './router.ts'
import { mendEnd } from './slow-end.ts'

const REQUEST_ID = /^[\x20-\x7e]{1,128}$/

/** What nginx calls a request whose client left before the answer. For the log only. */
const CLIENT_GONE = 499

/** What an exchange knows of its server. */
export interface Surroundings {
  find(path: string): Match<ServedRoute> | undefined
  trustedHops: number
  receiving: Receiving
  readonly draining: boolean
  started(exchange: Exchange): void
  ended(exchange: Exchange): void
}

/** One request and its answer: its route, its body, the checks before a handler, the reply, the log line. */
export class Exchange {
  readonly #engine: EngineRequest
  readonly #response: EngineResponse
  readonly #server: Surroundings
  readonly #match: Match<ServedRoute> | undefined
  readonly #request: HttpRequest
  readonly #began = performance.now()
  #body: Body | undefined
  #waiting = false

  constructor(engine: EngineRequest, response: EngineResponse, server: Surroundings) {
    this.#engine = engine
    this.#response = response
    this.#server = server
    this.#match = server.find(engine.path)
    const sent = engine.headers['x-request-id']
    const requestId = sent !== undefined && REQUEST_ID.test(sent) ? sent : randomUUID()
    this.#request = new HttpRequest(engine, response, requestId, server.trustedHops)
    if (this.#match) this.#request.matched(this.#match.route.names, this.#match.values)
  }

  /** To be called within the engine's callback: what the engine lends is gone after it. */
  run(): void {
    this.#server.started(this)
    const { headers } = this.#engine
    const chunked = headers['transfer-encoding'] !== undefined
    const length = Number(headers['content-length'] ?? 0)
    if (chunked || length > 0) {
      const limit = this.#match?.route.bodyLimit ?? 0
      this.#body = new Body(this.#response.raw, chunked ? null : length, limit, this.#server.receiving)
    }
    // In place of the engine's own handler, which leaves whoever waits for the body waiting for ever.
    this.#response.raw.onAborted(() => this.#gone())
    this.#reply(repeatedHeader(this.#engine))
      .catch((error: unknown) => this.#errorReply(error))
      .then((reply) => this.#send(reply))
      .catch((error: unknown) => {
        // Nothing is known to lead here; a process that dies of one answer would be worse.
        log('error', 'answer_failed', { request_id: this.#request.requestId, ...errorFields(error) })
        this.#server.ended(this)
      })
  }

  async #reply(repeated: string | undefined): Promise<Reply> {
    const { path, method } = this.#request
    const transfer = this.#request.header('transfer-encoding')
    if (transfer !== undefined && transfer !== 'chunked')
      throw fail('bad_request', 'Transfer-Encoding must be chunked')
    if (repeated) throw fail('bad_request', `The header ${repeated} is given more than once`)
    if (!this.#match) return unknownPath(path)

    const { methods, surface, allow } = this.#match.route
    const entry = methods[(method === 'HEAD' ? 'GET' : method) as HttpMethod]
    if (!entry) {
      if (method === 'OPTIONS') return { status: 204, headers: { allow } }
      return unservedMethod(surface, method, allow, this.#request.requestId)
    }
    const handler: Handler = typeof entry === 'function' ? entry : await entry.admit(this.#request)
    if (this.#body) {
      this.#checkEncoding()
      if (this.#match.route.borrows) return await this.#body.lend((body) => this.#handleLent(handler, body))
      this.#request.body = await this.#body.read()
    }
    return handler(this.#request)
  }

  #handleLent(handler: Handler, body: Buffer): Reply | Promise<Reply> {
    this.#request.body = body
    try {
      return handler(this.#request)
    } finally {
      this.#request.body = EMPTY
    }
  }

  #checkEncoding(): void {
    const coding = this.#request.header('content-encoding')
    if (!coding || coding.toLowerCase() === 'identity') return
    const code = this.#match?.route.encodings === 400 ? 'bad_request' : 'unsupported_media_type'
    throw fail(code, `Content-Encoding must be identity, not ${coding}: send the body uncompressed`)
  }

  #errorReply(error: unknown): Reply {
    if (error === GONE) return { status: CLIENT_GONE }
    const route = this.#match?.route
    const reply = errorReply(error, route?.surface ?? 'rest', this.#request.requestId)
    return reply.status === 413 && route?.tooLarge ? { ...reply, status: route.tooLarge } : reply
  }

  #send(reply: Reply): void {
    if (this.#response.completed) {
      this.#ended(CLIENT_GONE, 0)
      return
    }
    let ready: Rendered
    try {
      ready = rendered(reply)
    } catch (error) {
      ready = rendered(this.#errorReply(error))
    }
    const body = this.#body
    const closes = this.#server.draining
    const keepsAlive = !closes && this.#request.header('connection')?.toLowerCase() !== 'close'
    if (!body || body.complete || (keepsAlive && body.leavable)) {
      this.#write(ready, closes)
      return
    }
    // Closing a connection with unread data resets it, and the client might never see the answer.
    this.#waiting = true
    body.drop((whole) => this.#write(ready, closes || !whole))
  }

  #write({ status, headers, payload, bare }: Rendered, closes: boolean): void {
    const response = this.#response
    this.#body?.forget()
    // The engine would wait for a body that this class reads instead of it.
    this.#engine.received = true
    response.status(status)
    if (!bare) response.header('x-request-id', this.#request.requestId)
    for (const name in headers) response.header(name, headers[name] as string | string[])
    const bytes = payload === undefined ? 0 : Buffer.byteLength(payload)
    const ended = () => {
      this.#waiting = false
      this.#ended(status, bytes)
    }
    if (payload === undefined || this.#request.method === 'HEAD') mendBodylessEnd(response.raw)
    const outcome = mendEnd(response.raw, ended)
    response.send(payload, closes)
    if (outcome.sent) ended()
    else this.#waiting = true
  }

  #gone(): void {
    this.#response.completed = true
    this.#body?.abandon()
    this.#request.abort()
    if (this.#waiting) this.#ended(CLIENT_GONE, 0)
  }

  #ended(status: number, bytes: number): void {
    this.#server.ended(this)
    this.#request.ended()
    logRequest(this.#request, this.#match, { status, bytes, began: this.#began })
  }
}
