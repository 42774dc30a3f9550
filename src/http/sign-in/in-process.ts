import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import inject from 'light-my-request'
import type Provider from 'oidc-provider'
import type { Reply, Request } from '../server.ts'

/** Of one connection, or ours to say. */
const NOT_PASSED_ON = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'upgrade', 'te']
const NOT_PASSED_BACK = [...NOT_PASSED_ON, 'date', 'vary']

/** Answers a request by the authorization server, which only knows Node's own requests and answers. */
export async function answerOf(
  provider: Provider,
  request: Request,
  body: Buffer = request.body,
): Promise<Reply> {
  const query = request.query.toString()
  const response = await inject(provider.callback(), {
    method: (request.method === 'HEAD' ? 'GET' : request.method) as 'GET' | 'POST',
    url: query ? `${request.path}?${query}` : request.path,
    headers: { ...passedOn(request), ...publicAddress(provider, request) },
    payload: body,
    remoteAddress: request.address,
  })
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(response.headers)) {
    if (value === undefined || NOT_PASSED_BACK.includes(name) || name.startsWith('access-control-')) continue
    headers[name] = Array.isArray(value) ? value : String(value)
  }
  // Redirects say where to in a header; what they say to a reader is of no use.
  if (response.statusCode >= 300 && response.statusCode < 400) {
    delete headers['content-type']
    return { status: response.statusCode, headers }
  }
  const payload = response.rawPayload
  return { status: response.statusCode, headers, ...(payload.length > 0 && { body: payload }) }
}

/** What the authorization server reads cookies from. */
export function nodeRequest(provider: Provider, request: Request): [IncomingMessage, ServerResponse] {
  const node = new IncomingMessage(new Socket())
  node.url = request.path
  node.headers = { cookie: request.header('cookie'), ...publicAddress(provider, request) }
  return [node, new ServerResponse(node)]
}

/** What it reads, and nothing by which a client could pretend to be our proxy. */
const READ = ['accept', 'authorization', 'content-type', 'cookie', 'origin', 'user-agent']

function passedOn(request: Request): Record<string, string> {
  return Object.fromEntries(
    READ.flatMap((name) => {
      const value = request.header(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/** Links and cookies are made for BASE_URL, by whichever name the server was called. */
function publicAddress(provider: Provider, request: Request): Record<string, string> {
  const { host, protocol } = new URL(provider.issuer)
  return { host, 'x-forwarded-proto': protocol.slice(0, -1), 'x-forwarded-for': request.address }
}
