import type { Identified } from '../access/authenticate.ts'
import { fail } from '../errors.ts'
import { parseExactly } from '../event/exact.ts'
import type { Op } from '../op.ts'
import { admit, type CallDeps, call } from './call.ts'
import { parseJson, textProblem } from './json.ts'
import { inputSchema } from './json-schema.ts'
import type { Reply } from './reply.ts'
import type { Admission, Handler, HttpMethod, Request, Route } from './server.ts'

const BODY_LIMIT = 1024 * 1024
export const NDJSON = 'application/x-ndjson'
const JSON_TYPE = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i

export type RestDeps = CallDeps

/** One route per path of the operations, each with all that an operation's declaration promises. */
export function restRoutes(ops: readonly Op[], deps: RestDeps): Route[] {
  const routes = new Map<string, Route>()
  for (const op of ops) {
    if (!op.route) continue
    checkPaging(op)
    const [method, path] = op.route.split(' ') as [HttpMethod, string]
    const { surface } = op
    const route = routes.get(path) ?? {
      ...{ path, methods: {}, bodyLimit: BODY_LIMIT, surface },
      // By the contract a missing id is 400 there.
      takesEmpty: surface === 'cdp',
    }
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
  if (!('limit' in entries && ('cursor' in entries || 'offset' in entries)))
    throw new Error(`${name} has a page rule but no limit and cursor or offset`)
}

function admission(op: Op, deps: RestDeps): Admission {
  const lists = listsOf(op)
  return {
    admit: async (request) => {
      const identified = await deps.authenticate(request.header('authorization'), request)
      await admit(op, identified, deps)
      return handler(op, identified, deps, lists)
    },
  }
}

function handler(op: Op, identified: Identified, deps: RestDeps, lists: ReadonlySet<string>): Handler {
  return async (request) => {
    const sent = {
      path: () => pathValues(request),
      query: () => queryValues(request.query, lists),
      body: () => bodyValue(request, op),
    }
    const output = await call(op, identified, sent, request, deps)
    return op.ndjson ? linesReply(op.status, output as Lines) : { status: op.status, body: output }
  }
}

/** What an operation with `ndjson` gives. */
interface Lines {
  lines: string
  next_cursor: string | null
}

const linesReply = (status: number, { lines, next_cursor }: Lines): Reply => ({
  status,
  headers: {
    'content-type': NDJSON,
    ...(next_cursor !== null && { 'x-next-cursor': next_cursor }),
  },
  body: lines,
})

function pathValues({ params }: Request): Readonly<Record<string, string>> {
  for (const name in params) refuse(name, textProblem(params[name] ?? ''))
  return params
}

/** Names of the query's lists, which are written with commas or given again and again. */
function listsOf({ input: { query } }: Op): ReadonlySet<string> {
  const { properties = {} } = query ? inputSchema(query) : {}
  return new Set(Object.keys(properties).filter((name) => properties[name]?.type === 'array'))
}

function queryValues(query: URLSearchParams, lists: ReadonlySet<string>): Record<string, string> {
  const values: Record<string, string> = Object.create(null)
  for (const [name, value] of query) {
    refuse(name, textProblem(value))
    if (name in values && !lists.has(name)) refuse(name, 'must be given once')
    values[name] = name in values ? `${values[name]},${value}` : value
  }
  return values
}

/** Nothing counts as an empty object. */
function bodyValue(request: Request, { exact }: Op): Record<string, unknown> {
  if (request.body.length === 0) return {}
  if (!JSON_TYPE.test(request.header('content-type') ?? '')) {
    throw fail('unsupported_media_type', 'Content-Type must be application/json')
  }
  const body = parseJson(request.body)
  return exact ? (parseExactly(request.body.toString()) as typeof body) : body
}

function refuse(name: string, problem: string | undefined): void {
  if (problem) throw fail('bad_request', `${name} ${problem}`)
}
