import type { Identified } from '../access/authenticate.ts'
import { type Cursors, callCursors } from '../access/cursor.ts'
import { fail } from '../errors.ts'
import type { Brand, Ctx, Db, Lake, Op } from '../op.ts'
import { validated } from './validate.ts'

/** What operations run on, whether called by route or by tool. */
export interface CallDeps {
  authenticate(authorization: string | undefined): Identified | Promise<Identified>
  db(brandId: string): Db
  lake(brand: Brand): Lake
  cursors: Cursors
  now?: () => Date
  /** Counts a call; throws `rate_limited`. */
  limit?(op: Op, identified: Identified): void | Promise<void>
}

/** The parts of a call as they were sent; each is read when the one before it is valid. */
export interface Sent {
  path(): unknown
  query(): unknown
  body(): unknown
  /** What the caller calls a value of the path, where it is not its name. */
  called?: Readonly<Record<string, string>>
}

/** Whether the caller may call the operation at all: throws the 401 or 403 that follows from its declaration. */
export function permit(op: Op, { caller, brand }: Identified): void {
  if (op.surface === 'cdp' && caller.keyClass === 'brand-api') {
    throw fail('unauthorized', 'Provider keys are not accepted here', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  }
  if (op.signIn) throw fail('insufficient_scope', 'This operation needs a sign-in; an API key cannot use it')
  if (op.scopes.length > 0 && !op.scopes.some((scope) => caller.scopes.includes(scope))) {
    const wanted =
      op.scopes.length === 1 ? `the scope ${op.scopes[0]}` : `one of the scopes ${op.scopes.join(', ')}`
    throw fail('insufficient_scope', `This operation needs ${wanted}`)
  }
  if (op.feature && !brand.features.includes(op.feature)) {
    throw fail('insufficient_scope', `The brand does not have the feature ${op.feature}`)
  }
}

/** All that comes before the input is looked at: 401 and 403, then 429. */
export async function admit(op: Op, identified: Identified, deps: CallDeps): Promise<void> {
  permit(op, identified)
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
    cursors: callCursors(deps.cursors, op.name, brand.id),
    get db() {
      db ??= deps.db(brand.id)
      return db
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
