import { type Failure, fail } from '../errors.ts'
import type { EngineResponse } from './engine.ts'

/** What is still read (and dropped) of a body that is refused, so that the client reads the answer, not a reset. */
const MOST_DROPPED = 8 * 1024 * 1024

/** Why what was begun for a client that went away is given up; nobody is left to answer. */
export const GONE = fail('unavailable', 'The client has gone.')

export const EMPTY: Buffer = Buffer.alloc(0)

const FULL =
  'More is being sent at once than fits into memory. Nothing was done; send it again, with backoff.'

/** What the bodies of a server that are being received may take together. */
export class Receiving {
  readonly #most: number
  /** Those that are not complete, the one that began first before the others. */
  readonly #partial = new Set<Body>()
  #held = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Bytes that were kept. The body that takes longest makes room: its sender is slow, or means to be. */
  add(body: Body, bytes: number, complete: boolean): void {
    this.#held += bytes
    if (complete) this.#partial.delete(body)
    else this.#partial.add(body)
    while (this.#held > this.#most) {
      const [slowest = body] = this.#partial
      slowest.refuse()
      if (slowest === body) return
    }
  }

  /** Bytes that are not kept any more, all of the body. */
  remove(body: Body, bytes: number): void {
    this.#held -= bytes
    this.#partial.delete(body)
  }
}

interface BodyLimit {
  bytes: number
  /** What a longer body is refused with; 413 unless given. */
  tooLarge?: ((bytes: number) => Failure) | undefined
}

/**
 * Reads one request body: counts what arrives, keeps it up to the limit, drops the rest.
 */
export class Body {
  readonly #limit: BodyLimit
  /** Content-Length; null for a chunked body. */
  readonly #declared: number | null
  readonly #receiving: Receiving
  #chunks: Buffer[] = []
  #received = 0
  #complete = false
  /** It may be used. */
  #whole = false
  #gone = false
  #kept = true
  #keptBytes = 0
  #refused = false
  #reader: { resolve(body: Buffer): void; reject(reason: unknown): void; borrows: boolean } | undefined
  #drained: ((whole: boolean) => void) | undefined

  constructor(response: EngineResponse, declared: number | null, limit: BodyLimit, receiving: Receiving) {
    this.#declared = declared
    this.#limit = limit
    this.#receiving = receiving
    response.onData((chunk, last) => this.#arrived(chunk, last))
  }

  /** All of it, as soon as it is here. Fails at once when it is, or says that it will be, over the limit. */
  read(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject, borrows: false }
      this.#settle()
    })
  }

  /**
   * As `read`, for who needs it during the call of `use` only: what comes in one piece is lent as it is, in memory that
   * the engine takes back after the call. Resolves with what `use` returns.
   */
  lend<Result>(use: (body: Buffer) => Result | Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const lent = (body: Buffer) => {
        try {
          resolve(use(body))
        } catch (error) {
          reject(error)
        }
      }
      this.#reader = { resolve: lent, reject, borrows: true }
      this.#settle()
    })
  }

  /** The client went away: a reader learns it. */
  abandon(): void {
    this.#gone = true
    this.forget()
    this.#settle()
  }

  /** There is no memory for it: a reader learns it. */
  refuse(): void {
    this.#refused = true
    this.forget()
    this.#settle()
  }

  /** Nothing more of it is wanted. */
  forget(): void {
    this.#kept = false
    this.#release()
  }

  /** True when an answer may be sent now: the rest is little enough for the engine to read and drop after it. */
  get leavable(): boolean {
    return this.#complete || (this.#declared !== null && this.#declared - this.#received <= MOST_DROPPED)
  }

  get complete(): boolean {
    return this.#complete
  }

  /** Drops the rest and calls back once, with whether the body came to its end within what is worth dropping. */
  drop(done: (whole: boolean) => void): void {
    this.forget()
    if (this.#complete) done(true)
    else this.#drained = done
  }

  get #over(): boolean {
    return Math.max(this.#received, this.#declared ?? 0) > this.#limit.bytes
  }

  #arrived(chunk: ArrayBuffer, last: boolean): void {
    this.#received += chunk.byteLength
    this.#complete = last
    if (last) this.#end()
    if (this.#over) this.forget()
    const reader = this.#reader
    if (reader?.borrows && this.#kept && this.#whole && this.#chunks.length === 0) {
      this.#reader = undefined
      reader.resolve(Buffer.from(chunk))
    } else {
      // The engine takes the memory back after this call, hence the copy.
      if (this.#kept && chunk.byteLength > 0) this.#keep(Buffer.from(new Uint8Array(chunk)), last)
      this.#settle()
    }
    if (this.#drained && (last || this.#received > this.#limit.bytes + MOST_DROPPED)) {
      const done = this.#drained
      this.#drained = undefined
      done(last)
    }
  }

  /**
   * What follows a chunked body in one piece, such as trailers, the engine takes for a request, and answers it with an
   * error: that must not be the answer to something that was done.
   */
  #end(): void {
    this.#whole = this.#declared !== null
    if (!this.#whole)
      setImmediate(() => {
        this.#whole = true
        this.#settle()
      })
  }

  #keep(chunk: Buffer, last: boolean): void {
    this.#chunks.push(chunk)
    this.#keptBytes += chunk.length
    this.#receiving.add(this, chunk.length, last)
  }

  #release(): void {
    this.#receiving.remove(this, this.#keptBytes)
    this.#keptBytes = 0
    this.#chunks = []
  }

  #settle(): void {
    const reader = this.#reader
    if (!reader || !(this.#gone || this.#over || this.#refused || this.#whole)) return
    this.#reader = undefined
    if (this.#gone) reader.reject(GONE)
    else if (this.#refused) reader.reject(fail('unavailable', FULL))
    else if (this.#over) reader.reject((this.#limit.tooLarge ?? tooLong)(this.#limit.bytes))
    else reader.resolve(this.#chunks.length === 1 ? (this.#chunks[0] ?? EMPTY) : Buffer.concat(this.#chunks))
    this.#release()
  }
}

/** Of a body over a limit. */
export const tooLong = (limit: number) => fail('payload_too_large', `The body must be ${atMost(limit)}`)

function atMost(bytes: number): string {
  if (bytes === 0) return 'empty'
  return bytes % 1048576 === 0 ? `at most ${bytes / 1048576} MB` : `at most ${Math.floor(bytes / 1024)} KB`
}
