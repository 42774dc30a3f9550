import type { Identified } from '../access/authenticate.ts'
import { type Cursors, callCursors } from '../access/cursor.ts'
import { fail } from '../errors.ts'
import type { Brand, Ctx, Db, Lake, Op } from '../op.ts'
import { parseJson, textProblem } from './json.ts'
import type { Admission, Handler, HttpMethod, Request, Route } from './server.ts'
import { validated } from './validate.ts'

const BODY_LIMIT = 1024 * 1024
const JSON_TYPE = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i

/** What operations run on. */
export interface RestDeps {
  authenticate(authorization: string | undefined): Identified | Promise<Identified>
  db(brandId: string): Db
  lake(brand: Brand): Lake
  cursors: Cursors
  now?: () => Date
}

/** One route per path of the operations, each with all that an operation's declaration promises. */
export function restRoutes(ops: readonly Op[], deps: RestDeps): Route[] {
  const routes = new Map<string, Route>()
  for (const op of ops) {
    if (!op.route) continue
    checkPaging(op)
    const [method, path] = op.route.split(' ') as [HttpMethod, string]
    const route = routes.get(path) ?? { path, methods: {}, bodyLimit: BODY_LIMIT, surface: op.surface }
    if (route.methods[method]) throw new Error(`two operations at ${op.route}`)
    route.methods[method] = admission(op, deps)
    routes.set(path, route)
  }
  return [...routes.values()]
}

/** The page rule is data for the documents; the query must say the same. */
function checkPaging({ name, page, input: { query } }: Op): void {
  if (!page) return
  const entries = query && 'entries' in query ? (query.entries as object) : {}
  if (!('limit' in entries && 'cursor' in entries))
    throw new Error(`${name} has a page rule but no limit and cursor`)
}

function admission(op: Op, deps: RestDeps): Admission {
  return {
    admit: async (request) => {
      const identified = await deps.authenticate(request.header('authorization'))
      permit(op, identified)
      return handler(op, identified, deps)
    },
  }
}

/** 401 and 403 that follow from the declaration. */
function permit(op: Op, { caller, brand }: Identified): void {
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

function handler(op: Op, identified: Identified, deps: RestDeps): Handler {
  return async (request) => {
    const input = {
      path: validated(op.input.path, pathValues(request), 'path'),
      query: validated(op.input.query, queryValues(request.query), 'query'),
      body: validated(op.input.body, bodyValue(request), 'body'),
    }
    const output = await op.run(context(op, request, identified, deps), input as never)
    return { status: op.status, body: output as object }
  }
}

/** The context of a call; the database and the lake are opened by those that use them. */
function context(op: Op, request: Request, { brand, caller }: Identified, deps: RestDeps): Ctx {
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
      return request.signal
    },
  }
}

function pathValues({ params }: Request): Readonly<Record<string, string>> {
  for (const name in params) refuse(name, textProblem(params[name] ?? ''))
  return params
}

function queryValues(query: URLSearchParams): Record<string, string> {
  const values: Record<string, string> = Object.create(null)
  for (const [name, value] of query) {
    if (name in values) refuse(name, 'must be given once')
    refuse(name, textProblem(value))
    values[name] = value
  }
  return values
}

/** Nothing counts as an empty object. */
function bodyValue(request: Request): Record<string, unknown> {
  if (request.body.length === 0) return {}
  if (!JSON_TYPE.test(request.header('content-type') ?? '')) {
    throw fail('unsupported_media_type', 'Content-Type must be application/json')
  }
  return parseJson(request.body)
}

function refuse(name: string, problem: string | undefined): void {
  if (problem) throw fail('bad_request', `${name} ${problem}`)
}
