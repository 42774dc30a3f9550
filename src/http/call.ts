import type { Identified } from '../access/authenticate.ts'
import { type Cursors, callCursors } from '../access/cursor.ts'
import type { Counted } from '../access/limits.ts'
import { refusal } from '../access/permit.ts'
import type { BrowserRequest } from '../access/sign-in/same-origin.ts'
import { fail } from '../errors.ts'
import type { Call } from '../lake/reader.ts'
import type { Brand, Ctx, Db, Lake, Op, Rate, Sealing } from '../op.ts'
import { validated } from './validate.ts'

/** What operations run on, whether called by route or by tool. */
export interface CallDeps {
  authenticate(authorization: string | undefined, request?: BrowserRequest): Identified | Promise<Identified>
  db(brandId: string): Db
  lake(brand: Brand, call: Call): Lake
  cursors: Cursors
  now?: () => Date
  /** Waits until all server processes have taken note of a change of keys or brands. */
  everywhere?(): Promise<void>
  /** Where operations have secrets to keep or addresses to tell. */
  seal?: Sealing
  webhookUrl?: string
  baseUrl?: string
  /** Counts a call; throws `rate_limited`. */
  limit?(op: Counted, identified: Identified): void | Promise<void>
  /** Counts what callers of a brand share; throws `rate_limited`. */
  limitShared?(key: string, rate: Rate): Promise<void>
}

/** The parts of a call as they were sent; each is read when the one before it is valid. */
export interface Sent {
  path(): unknown
  query(): unknown
  body(): unknown
  /** What the caller calls a value of the path, where it is not its name. */
  called?: Readonly<Record<string, string>>
}

/** All that comes before the input is looked at: 401 and 403, then 429. */
export async function admit(op: Op, identified: Identified, deps: CallDeps): Promise<void> {
  const refused = refusal(op, identified.caller, identified.brand)
  if (refused) throw refused
  await deps.limit?.(op, identified)
}

/** Validates the input of an admitted call and runs the operation. */
export async function call(
  op: Op,
  identified: Identified,
  sent: Sent,
  lasting: Call,
  deps: CallDeps,
): Promise<object> {
  const input = {
    path: validated(op.input.path, sent.path(), 'path', sent.called),
    query: validated(op.input.query, sent.query(), 'query'),
    body: validated(op.input.body, sent.body(), 'body'),
  }
  return (await op.run(new CallContext(op, identified, lasting, deps), input as never)) as object
}

/**
 * The context of a call; the database, the lake and the signal are opened by those that use them. A class: getters of an
 * object literal are kept, each with its request, until a full collection, so that one was due every four seconds.
 */
class CallContext implements Ctx {
  readonly brand: Brand
  readonly caller: Ctx['caller']
  readonly now: Date
  readonly cursors: Ctx['cursors']
  readonly #deps: CallDeps
  readonly #lasting: Call
  #db: Db | undefined
  #lake: Lake | undefined

  constructor(op: Op, { brand, caller }: Identified, lasting: Call, deps: CallDeps) {
    this.brand = brand
    this.caller = caller
    this.now = deps.now?.() ?? new Date()
    this.cursors = callCursors(deps.cursors, op, brand.id)
    this.#deps = deps
    this.#lasting = lasting
  }

  readonly dbOf = (brandId: string): Db => {
    if (this.caller.kind === 'key' || !this.caller.isStaff)
      throw fail('forbidden', 'Only staff may act for another brand')
    return this.#deps.db(brandId)
  }
  readonly everywhere = async (): Promise<void> => this.#deps.everywhere?.()
  readonly limit = async (what: string, rate: Rate): Promise<void> =>
    this.#deps.limitShared?.(`${what} of ${this.brand.id}`, rate)

  get db(): Db {
    this.#db ??= this.#deps.db(this.brand.id)
    return this.#db
  }

  get lake(): Lake {
    this.#lake ??= this.#deps.lake(this.brand, this.#lasting)
    return this.#lake
  }

  get seal(): Sealing {
    return configured(this.#deps.seal)
  }

  get webhookUrl(): string {
    return configured(this.#deps.webhookUrl)
  }

  get baseUrl(): string {
    return configured(this.#deps.baseUrl)
  }

  get signal(): AbortSignal {
    return this.#lasting.signal
  }
}

function configured<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('the operations were not given all that this one runs on')
  return part
}
