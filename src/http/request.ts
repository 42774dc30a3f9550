import { fail } from '../errors.ts'
import { EMPTY } from './body.ts'
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

export class HttpRequest implements Request {
  readonly method: string
  readonly path: string
  readonly requestId: string
  body = EMPTY
  readonly #engine: EngineRequest
  readonly #response: EngineResponse
  readonly #trustedHops: number
  #names: readonly string[] = []
  #values: readonly string[] = []
  #params: Record<string, string> | undefined
  #query: URLSearchParams | undefined
  #address: string | undefined
  #controller: AbortController | undefined
  #atEnd: (() => void) | undefined

  constructor(engine: EngineRequest, response: EngineResponse, requestId: string, trustedHops: number) {
    this.method = engine.method
    this.path = engine.path
    this.requestId = requestId
    this.#engine = engine
    this.#response = response
    this.#trustedHops = trustedHops
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
    this.#query ??= new URLSearchParams(this.#engine.path_query)
    return this.#query
  }

  header(name: string): string | undefined {
    return this.#engine.headers[name]
  }

  get address(): string {
    if (this.#address === undefined) this.#address = this.#response.completed ? '' : this.#clientAddress()
    return this.#address
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#response.completed) this.#controller.abort()
    }
    return this.#controller.signal
  }

  answerWith(name: string, value: string): void {
    if (!this.#response.completed) this.#response.header(name, value)
  }

  atEnd(callback: () => void): void {
    this.#atEnd = callback
  }

  abort(): void {
    this.#controller?.abort()
  }

  ended(): void {
    this.#atEnd?.()
  }

  /** Counted from the right: what stands further left than our own proxies is the client's to invent. */
  #clientAddress(): string {
    const forwarded = this.#trustedHops > 0 ? this.header('x-forwarded-for')?.split(',') : undefined
    return forwarded?.at(-Math.min(this.#trustedHops, forwarded.length))?.trim() || this.#engine.ip
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

/** Headers whose repetition would let two readers see two requests. */
const SINGLE = [
  'content-length',
  'transfer-encoding',
  'content-type',
  'content-encoding',
  'authorization',
  'origin',
]

/** The name of such a header sent twice with different values (the engine keeps the last one), if any. */
export function repeatedHeader(engine: EngineRequest): string | undefined {
  for (const name of SINGLE) {
    const last = engine.headers[name]
    // Beyond ASCII the two are decoded differently; no such value is valid in any of these headers.
    if (last === undefined || /[^\x20-\x7e]/.test(last)) continue
    if (engine.raw.getHeader(name) !== last) return name
  }
  return undefined
}
