import type { Identified } from '../access/authenticate.ts'
import { type Cursors, callCursors } from '../access/cursor.ts'
import { refusal } from '../access/permit.ts'
import type { BrowserRequest } from '../access/sign-in/same-origin.ts'
import { fail } from '../errors.ts'
import type { Brand, Ctx, Db, Lake, Op, Rate, Sealing } from '../op.ts'
import { validated } from './validate.ts'

/** What operations run on, whether called by route or by tool. */
export interface CallDeps {
  authenticate(authorization: string | undefined, request?: BrowserRequest): Identified | Promise<Identified>
  db(brandId: string): Db
  lake(brand: Brand): Lake
  cursors: Cursors
  now?: () => Date
  /** Waits until all server processes have taken note of a change of keys or brands. */
  everywhere?(): Promise<void>
  /** Where operations have secrets to keep or addresses to tell. */
  seal?: Sealing
  webhookUrl?: string
  baseUrl?: string
  /** Counts a call; throws `rate_limited`. */
  limit?(op: Op, identified: Identified): void | Promise<void>
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
  lasting: { readonly signal: AbortSignal },
  deps: CallDeps,
): Promise<object> {
  const input = {
    path: validated(op.input.path, sent.path(), 'path', sent.called),
    query: validated(op.input.query, sent.query(), 'query'),
    body: validated(op.input.body, sent.body(), 'body'),
  }
  return (await op.run(context(op, identified, lasting, deps), input as never)) as object
}

/** The context of a call; the database, the lake and the signal are opened by those that use them. */
function context(
  op: Op,
  { brand, caller }: Identified,
  lasting: { readonly signal: AbortSignal },
  deps: CallDeps,
): Ctx {
  let db: Db | undefined
  let lake: Lake | undefined
  return {
    brand,
    caller,
    now: deps.now?.() ?? new Date(),
    cursors: callCursors(deps.cursors, op, brand.id),
    get db() {
      db ??= deps.db(brand.id)
      return db
    },
    dbOf(brandId) {
      if (caller.kind === 'key' || !caller.isStaff)
        throw fail('forbidden', 'Only staff may act for another brand')
      return deps.db(brandId)
    },
    everywhere: async () => deps.everywhere?.(),
    limit: async (what, rate) => deps.limitShared?.(`${what} of ${brand.id}`, rate),
    get seal() {
      return configured(deps.seal)
    },
    get webhookUrl() {
      return configured(deps.webhookUrl)
    },
    get baseUrl() {
      return configured(deps.baseUrl)
    },
    get lake() {
      lake ??= deps.lake(brand)
      return lake
    },
    get signal() {
      return lasting.signal
    },
  }
}

function configured<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('the operations were not given all that this one runs on')
  return part
}
