import { randomUUID } from 'node:crypto'
import { fail } from '../errors.ts'
import { EMPTY, GONE, tooLong } from './body.ts'
import type { EngineRequest, EngineResponse } from './engine.ts'

/** A request as handlers see it. Everything that costs is made when it is first asked for. */
export interface Request {
  readonly method: string
  /** As sent, without the query; percent-encoded. */
  readonly path: string
  /** Values of the route's `{names}`, percent-decoded; reading them throws a 400 when one is not valid encoding. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Value of a header by its lower-case name. */
  header(name: string): string | undefined
  /** All of the body; empty while an `admit` runs. */
  readonly body: Buffer
  readonly requestId: string
  /** Address of the client (behind `trustedHops` proxies); empty once it has gone. */
  readonly address: string
  /** Aborted when the client goes away before the answer, and at the deadline of a drain. */
  readonly signal: AbortSignal
  /** Sets a header of whatever will be answered, errors included. */
  answerWith(name: string, value: string): void
  /** Calls back once the request is answered or its client gone. One callback a request. */
  atEnd(callback: () => void): void
}

/** Headers whose repetition would let two readers see two requests. */
const SINGLE = new Set([
  'content-length',
  'transfer-encoding',
  'content-type',
  'content-encoding',
  'authorization',
  'origin',
])
const REQUEST_ID = /^[\x20-\x7e]{1,128}$/

export class HttpRequest implements Request {
  readonly method: string
  readonly path: string
  readonly requestId: string
  /** The name of a header that is sent twice with different values, of those that may not be. */
  readonly repeated: string | undefined
  /** Headers of whatever will be answered. */
  readonly answered: [name: string, value: string][] = []
  body = EMPTY
  /** The last value of each; of X-Forwarded-For all. */
  readonly #headers = new Map<string, string>()
  readonly #search: string
  readonly #response: EngineResponse
  readonly #trustedHops: number
  #names: readonly string[] = []
  #values: readonly string[] = []
  #params: Record<string, string> | undefined
  #query: URLSearchParams | undefined
  #address: string | undefined
  #controller: AbortController | undefined
  #atEnd: (() => void) | undefined
  #isClosed = false

  constructor(engine: EngineRequest, response: EngineResponse, trustedHops: number) {
    this.method = engine.getMethod().toUpperCase()
    this.path = engine.getUrl()
    this.#search = engine.getQuery()
    this.#response = response
    this.#trustedHops = trustedHops
    let repeated: string | undefined
    engine.forEach((name, value) => {
      const earlier = this.#headers.get(name)
      if (earlier !== undefined && earlier !== value && SINGLE.has(name)) repeated ??= name
      // Some proxies add a line of their own instead of a word to the line that is there.
      const isList = earlier !== undefined && name === 'x-forwarded-for'
      this.#headers.set(name, isList ? `${earlier}, ${value}` : value)
    })
    this.repeated = repeated
    const sent = this.#headers.get('x-request-id')
    this.requestId = sent !== undefined && REQUEST_ID.test(sent) ? sent : randomUUID()
  }

  /** Sets what `params` decodes. */
  matched(names: readonly string[], values: readonly string[]): void {
    this.#names = names
    this.#values = values
  }

  get params(): Readonly<Record<string, string>> {
    this.#params ??= Object.fromEntries(
      this.#names.map((name, at) => [name, decoded(name, this.#values[at] ?? '')]),
    )
    return this.#params
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#search)
    return this.#query
  }

  header(name: string): string | undefined {
    return this.#headers.get(name)
  }

  get address(): string {
    if (this.#address === undefined) this.#address = this.#isClosed ? '' : this.#clientAddress()
    return this.#address
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#isClosed) this.#controller.abort(GONE)
    }
    return this.#controller.signal
  }

  answerWith(name: string, value: string): void {
    this.answered.push([name, value])
  }

  atEnd(callback: () => void): void {
    this.#atEnd = callback
  }

  /** True once it is answered or its client gone: the engine takes nothing for it any more. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  close(): void {
    this.#isClosed = true
  }

  abort(): void {
    this.#controller?.abort(GONE)
  }

  ended(): void {
    this.#atEnd?.()
  }

  #peer(): string {
    return Buffer.from(this.#response.getRemoteAddressAsText()).toString()
  }

  /** Counted from the right: what stands further left than our own proxies is the client's to invent. */
  #clientAddress(): string {
    const forwarded = this.#trustedHops > 0 ? this.header('x-forwarded-for')?.split(',') : undefined
    return forwarded?.at(-Math.min(this.#trustedHops, forwarded.length))?.trim() || this.#peer()
  }
}

function decoded(name: string, value: string): string {
  if (!value.includes('%')) return value
  try {
    return decodeURIComponent(value)
  } catch {
    throw fail('bad_request', `${name} must be valid percent-encoded UTF-8 in the path`)
  }
}

/** Throws for a body of more bytes. */
export function refuseLength({ body }: Request, limit: number): void {
  if (body.length > limit) throw tooLong(limit)
}

/** Throws for a body with a Content-Encoding other than identity. */
export function refuseEncoding(request: Request, code: 'bad_request' | 'unsupported_media_type'): void {
  const coding = request.header('content-encoding')
  if (!coding || coding.toLowerCase() === 'identity') return
  throw fail(code, `Content-Encoding must be identity, not ${coding}: send the body uncompressed`)
}
