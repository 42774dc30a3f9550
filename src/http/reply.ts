import { type Code, errorCode, Failure, fail, isPassing, publicCode } from '../errors.ts'
import { errorFields, log } from '../log.ts'

/** What a handler answers. An object becomes JSON, a string plain text, unless `headers` say otherwise. */
export interface Reply {
  status: number
  headers?: Record<string, string | string[]>
  body?: object | string | Buffer
  /** True: without X-Request-Id. For the collect host's message-only replies. */
  bare?: boolean
}

/**
 * rest, cdp and plain: `{ error: { code, message } }`; collect: the same, and `{ message }` for unserved methods
 * and 429; webhook: `{ ok: false, reason, message }`; oauth, and mcp before its messages are read:
 * `{ error, error_description }`.
 */
export type Surface = 'rest' | 'cdp' | 'collect' | 'webhook' | 'oauth' | 'mcp' | 'plain'

/** A `{ message }` body and no X-Request-Id. A 503 of this form says that it is unknown what was accepted. */
export const messageOnly = (status: number, message: string): Reply => ({
  status,
  body: { message },
  bare: true,
})

/** An error of JSON-RPC before a message is known. */
export const protocolError = (code: number, message: string) => ({
  jsonrpc: '2.0',
  error: { code, message },
  id: null,
})

/** What a surface calls a failure, where that is not its code: the contract has words of the CDP host's own. */
const SURFACE_CODES: Partial<Record<Surface, Partial<Record<Code, Code>>>> = {
  rest: {
    forbidden: 'insufficient_scope',
    integration_not_connected: 'insufficient_scope',
    upstream_unavailable: 'unavailable',
  },
  cdp: { unavailable: 'upstream_unavailable' },
}

/** A code as a surface has it. */
export const codeOn = (surface: Surface, code: Code): Code => SURFACE_CODES[surface]?.[code] ?? code

/** The reply for whatever a handler threw. Unexpected errors are logged under the request id and never shown. */
export function errorReply(error: unknown, surface: Surface, requestId: string): Reply {
  const failure = asFailure(error, requestId)
  if (surface === 'collect' && failure.code === 'rate_limited') return messageOnly(429, 'Too Many Requests')
  const { status, message, headers } = failure
  const code = publicCode(codeOn(surface, failure.code))
  if (surface === 'webhook')
    return { status, headers, body: { ok: false, reason: code, message, ...failure.beside } }
  if (surface === 'oauth' || surface === 'mcp')
    return { status, headers, body: { error: code, error_description: message } }
  return { status, headers, body: { error: { code, message }, ...failure.beside } }
}

/** What a client may know of whatever was thrown; the rest is logged under the request id, unless the client is at fault. */
export function asFailure(error: unknown, requestId: string): Failure {
  if (error instanceof Failure) {
    // Of an ordinary client error both texts may quote what was sent, which is for its sender alone.
    if (error.cause !== undefined && error.status >= 500)
      log('warn', 'failure', { request_id: requestId, ...errorFields(error) })
    return error
  }
  if (isPassing(error)) {
    log('warn', 'unavailable', { request_id: requestId, code: errorCode(error), ...errorFields(error) })
    return fail('unavailable', 'The service is temporarily unavailable. Try again with backoff.')
  }
  log('error', 'request_failed', { request_id: requestId, ...errorFields(error) })
  return fail(
    'internal',
    `Something went wrong on our side. Quote the request id ${requestId} when you report it.`,
  )
}

/** For a path that no route has. */
export function unknownPath(path: string): Reply {
  if (path === '/cdp' || path.startsWith('/cdp/')) return messageOnly(404, 'Not Found')
  return { status: 404, body: { error: { code: 'not_found', message: 'There is nothing at this path.' } } }
}

/** For a method that a route's path does not have. */
export function unservedMethod(surface: Surface, method: string, allow: string, requestId: string): Reply {
  if (surface === 'collect') return messageOnly(404, 'Not Found')
  if (surface === 'mcp')
    return { status: 405, headers: { allow }, body: protocolError(-32000, 'Method not allowed: use POST') }
  const failure = fail('method_not_allowed', `This path does not take ${method}. It takes ${allow}.`, {
    headers: { allow },
  })
  return errorReply(failure, surface, requestId)
}

/** A reply ready to be written. */
export interface Rendered {
  status: number
  headers: Record<string, string | string[]>
  payload: string | Buffer | undefined
  bare: boolean
}

/** Surfaces that answer a credential. A cookie is one, too, and holds no shared cache off. */
const CONFIDENTIAL: ReadonlySet<Surface | undefined> = new Set(['rest', 'cdp', 'mcp'])
const CONFIDENTIAL_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

const UNSAFE = /[\r\n\0]/

/** Throws when the body is not JSON or a header would break the response apart. */
export function rendered({ status, headers, body, bare = false }: Reply, surface?: Surface): Rendered {
  const [type, payload] = content(body)
  const all: Rendered['headers'] = CONFIDENTIAL.has(surface) ? { ...CONFIDENTIAL_HEADERS } : {}
  if (type) all['content-type'] = type
  for (const name in headers) {
    const value = headers[name] as string | string[]
    if (UNSAFE.test(Array.isArray(value) ? value.join('') : value))
      throw new Error(`unsafe value of header ${name}`)
    all[name.toLowerCase()] = value
  }
  return { status, headers: all, payload, bare }
}

function content(body: Reply['body']): [type: string | undefined, payload: string | Buffer | undefined] {
  if (body === undefined) return [undefined, undefined]
  if (typeof body === 'string') return ['text/plain; charset=utf-8', body]
  if (Buffer.isBuffer(body)) return ['application/octet-stream', body]
  return ['application/json', JSON.stringify(body)]
}
