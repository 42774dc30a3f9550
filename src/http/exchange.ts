import { STATUS_CODES } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { fail } from '../errors.ts'
import { errorFields, log } from '../log.ts'
import { Body, EMPTY, GONE, type Receiving } from './body.ts'
import { endResponse } from './end.ts'
import type { EngineRequest, EngineResponse } from './engine.ts'
import {
  asFailure,
  errorReply,
  type Rendered,
  type Reply,
  rendered,
  unknownPath,
  unservedMethod,
} from './reply.ts'
import { HttpRequest, refuseEncoding } from './request.ts'
import { logRequest } from './request-log.ts'
import type { Handler, HttpMethod, ServedRoute } from './route.ts'
import type { Match } from './router.ts'

/** What nginx calls a request whose client left before the answer. For the log only. */
const CLIENT_GONE = 499

/** What an exchange knows of its server. */
export interface Surroundings {
  find(path: string): Match<ServedRoute> | undefined
  trustedHops: number
  receiving: Receiving
  readonly draining: boolean
  /** Once at the beginning and once at the end of each exchange. */
  started(): void
  ended(): void
}

/** One request and its answer: its route, its body, the checks before a handler, the reply, the log line. */
export class Exchange {
  readonly #response: EngineResponse
  readonly #server: Surroundings
  readonly #match: Match<ServedRoute> | undefined
  readonly #request: HttpRequest
  readonly #began = performance.now()
  #body: Body | undefined
  /** The answer waits for the client: to send the rest of its body, or to read. */
  #waiting = false
  /** Two readers could see two requests in what was sent: nothing that comes after it is to be trusted. */
  #isAmbiguous = false
  #hasEnded = false

  constructor(engine: EngineRequest, response: EngineResponse, server: Surroundings) {
    this.#response = response
    this.#server = server
    this.#request = new HttpRequest(engine, response, server.trustedHops)
    this.#match = server.find(this.#request.path)
    if (this.#match) this.#request.matched(this.#match.route.names, this.#match.values)
  }

  /** To be called within the engine's callback: what the engine lends is gone after it. */
  run(): void {
    this.#server.started()
    const chunked = this.#request.header('transfer-encoding') !== undefined
    const length = Number(this.#request.header('content-length') ?? 0)
    if (chunked || length > 0) {
      const { bodyLimit = 0, tooLarge } = this.#match?.route ?? {}
      const limit = { bytes: bodyLimit, tooLarge }
      this.#body = new Body(this.#response, chunked ? null : length, limit, this.#server.receiving)
    }
    this.#response.onAborted(() => this.#gone())
    void this.#answer()
  }

  async #answer(): Promise<void> {
    try {
      let reply: Reply
      try {
        reply = await this.#reply()
      } catch (error) {
        reply = this.#errorReply(error)
      }
      this.#send(reply)
    } catch (error) {
      this.#failed(error)
    }
  }

  /** What has no answer, not even that of an error: the process lives on, and the client is not left waiting. */
  #failed(error: unknown): void {
    log('error', 'answer_failed', { request_id: this.#request.requestId, ...errorFields(error) })
    this.#ended(500, 0)
    if (!this.#request.isClosed) this.#response.close()
  }

  #reply(): Reply | Promise<Reply> {
    this.#match?.route.begin?.(this.#request)
    const { path, method, repeated } = this.#request
    const transfer = this.#request.header('transfer-encoding')
    if (transfer !== undefined && transfer !== 'chunked')
      return this.#refuseAmbiguous('Transfer-Encoding must be chunked')
    // The engine judges it after this one, and handlers may have done what they are asked for by then.
    if (!/^\d*$/.test(this.#request.header('content-length') ?? ''))
      return this.#refuseAmbiguous('Content-Length must be a number')
    if (repeated) return this.#refuseAmbiguous(`The header ${repeated} is given more than once`)
    if (!this.#match) return unknownPath(path)

    const { methods, surface, allow } = this.#match.route
    const entry = methods[(method === 'HEAD' ? 'GET' : method) as HttpMethod]
    if (!entry) {
      if (method === 'OPTIONS') return { status: 204, headers: { allow } }
      return unservedMethod(surface, method, allow, this.#request.requestId)
    }
    const handler = typeof entry === 'function' ? entry : entry.admit(this.#request)
    return handler instanceof Promise ? handler.then((later) => this.#handled(later)) : this.#handled(handler)
  }

  /** In a turn of its own: for what came behind it in one piece, the engine then closes the connection unanswered. */
  async #refuseAmbiguous(message: string): Promise<never> {
    this.#isAmbiguous = true
    await setImmediate()
    throw fail('bad_request', message)
  }

  #handled(handler: Handler): Reply | Promise<Reply> {
    const request = this.#request
    if (!this.#body) return handler(request)
    const { encodings } = this.#match?.route ?? {}
    if (encodings !== 'handler')
      refuseEncoding(request, encodings === 400 ? 'bad_request' : 'unsupported_media_type')
    if (this.#match?.route.borrows) return this.#body.lend((body) => this.#handleLent(handler, body))
    return this.#body.read().then((body) => {
      request.body = body
      return handler(request)
    })
  }

  #handleLent(handler: Handler, body: Buffer): Reply | Promise<Reply> {
    this.#request.body = body
    try {
      return handler(this.#request)
    } finally {
      this.#request.body = EMPTY
    }
  }

  #errorReply(error: unknown): Reply {
    if (error === GONE) return { status: CLIENT_GONE }
    const { surface = 'rest', failed } = this.#match?.route ?? {}
    const { requestId } = this.#request
    return failed ? failed(asFailure(error, requestId)) : errorReply(error, surface, requestId)
  }

  #send(reply: Reply): void {
    if (this.#request.isClosed) {
      this.#ended(CLIENT_GONE, 0)
      return
    }
    const surface = this.#match?.route.surface
    let ready: Rendered
    try {
      ready = rendered(reply, surface)
    } catch (error) {
      ready = rendered(this.#errorReply(error), surface)
    }
    const body = this.#body
    const closes = this.#server.draining || this.#isAmbiguous
    const keepsAlive = !closes && this.#request.header('connection')?.toLowerCase() !== 'close'
    if (!body || body.complete || (keepsAlive && body.leavable)) {
      this.#write(ready, closes)
      return
    }
    // Closing a connection with unread data resets it, and the client might never see the answer.
    this.#waiting = true
    body.drop((whole) => {
      try {
        this.#write(ready, closes || this.#server.draining || !whole)
      } catch (error) {
        this.#failed(error)
      }
    })
  }

  #write({ status, headers, payload, bare }: Rendered, closes: boolean): void {
    const response = this.#response
    const isHead = this.#request.method === 'HEAD'
    this.#body?.forget()
    this.#waiting = true
    response.cork(() => {
      response.writeStatus(`${status} ${STATUS_CODES[status]}`)
      if (!bare) response.writeHeader('x-request-id', this.#request.requestId)
      for (const [name, value] of this.#request.answered) response.writeHeader(name, value)
      for (const name in headers) writeHeader(response, name, headers[name] as string | string[])
      this.#request.close()
      endResponse(response, { status, isHead, payload, closes }, () => {
        this.#waiting = false
        this.#ended(status, payload === undefined ? 0 : Buffer.byteLength(payload))
      })
    })
  }

  #gone(): void {
    this.#request.close()
    this.#body?.abandon()
    this.#request.abort()
    if (this.#waiting) this.#ended(CLIENT_GONE, 0)
  }

  #ended(status: number, bytes: number): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#server.ended()
    try {
      this.#request.ended()
    } catch (error) {
      log('error', 'at_end_failed', { request_id: this.#request.requestId, ...errorFields(error) })
    }
    logRequest(this.#request, this.#match, { status, bytes, began: this.#began })
  }
}

function writeHeader(response: EngineResponse, name: string, value: string | string[]): void {
  if (typeof value === 'string') response.writeHeader(name, value)
  else for (const each of value) response.writeHeader(name, each)
}
