import { createMcpHandler } from '@modelcontextprotocol/server'
import type { Identified } from '../access/authenticate.ts'
import type { Config } from '../config.ts'
import { Failure, fail } from '../errors.ts'
import { errorFields, log } from '../log.ts'
import type { Op } from '../op.ts'
import type { CallDeps } from './call.ts'
import { interfaceVersion } from './changelog.ts'
import { messagesOf } from './mcp/messages.ts'
import { mcpServer, type Serving } from './mcp/server.ts'
import { isFor, type Tool, toolOf } from './mcp/tool.ts'
import { protocolError } from './reply.ts'
import type { Reply, Request, Route } from './server.ts'

export interface McpDeps extends CallDeps {
  baseUrl: Config['baseUrl']
  /** How long a call of a tool may take; 50 s unless said, so that the answer precedes a client's own 60 s. */
  deadlineMs?: number
}

const BODY_LIMIT = 1024 * 1024
/** A POST, and what more in it lists tools, asks for one that is not there or says hello, as limits know it. */
const MESSAGE = { name: 'mcp' }
const DEADLINE_MS = 50_000
const ALLOWED = { allow: 'POST, OPTIONS' }
const PREFLIGHT = {
  ...ALLOWED,
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers':
    'Authorization, Content-Type, Mcp-Method, Mcp-Name, Mcp-Session-Id, MCP-Protocol-Version, X-Request-Id',
  'access-control-max-age': '7200',
}

/** Names that a page of another site cannot have made a browser send here. */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/** POST /mcp: every operation with a tool, stateless, protocol 2026-07-28 and the 2025 versions. */
export function mcpRoutes(ops: readonly Op[], deps: McpDeps): Route[] {
  const tools = new Map(ops.filter(({ tool }) => tool).map((op) => [op.name, toolOf(op)]))
  const scopes = [...new Set(ops.flatMap((op) => (op.tool ? op.scopes : [])))].sort()
  const hosts = new Set([...LOOPBACK, new URL(deps.baseUrl).hostname])
  const shared = { tools, version: interfaceVersion(), deadlineMs: deps.deadlineMs ?? DEADLINE_MS, deps }
  return [
    {
      path: '/mcp',
      surface: 'mcp',
      bodyLimit: BODY_LIMIT,
      methods: {
        POST: {
          admit: async (request) => {
            checkSender(request, hosts)
            const identified = await identify(request, { ...shared, scopes })
            await deps.limit?.(MESSAGE, identified)
            return (whole) => serve(whole, { ...shared, identified })
          },
        },
        OPTIONS: (request) => {
          checkSender(request, hosts)
          return { status: 204, headers: request.header('origin') ? PREFLIGHT : ALLOWED }
        },
      },
    },
  ]
}

/**
 * Against DNS rebinding: a page that a browser was tricked into sending here names itself in both headers. Pages that
 * may send, such as an inspector on this machine, may read the answer.
 */
function checkSender(request: Request, hosts: ReadonlySet<string>): void {
  const host = request.header('host') ?? ''
  if (!hosts.has(hostnameOf(`http://${host}`)))
    throw fail('insufficient_scope', `The Host ${JSON.stringify(host)} is not this service's: set BASE_URL`)
  const origin = request.header('origin')
  if (!origin) return
  request.answerWith('vary', 'Origin')
  if (!hosts.has(hostnameOf(origin)))
    throw fail('insufficient_scope', `The Origin ${JSON.stringify(origin)} is not allowed here`)
  request.answerWith('access-control-allow-origin', origin)
  request.answerWith('access-control-expose-headers', 'WWW-Authenticate, Retry-After, X-Request-Id')
}

const hostnameOf = (url: string) => (URL.canParse(url) ? new URL(url).hostname : '')

interface Offered {
  tools: ReadonlyMap<string, Tool>
  scopes: readonly string[]
  deps: McpDeps
}

/** Credential errors say where to sign in, and with which scopes. */
async function identify(request: Request, { tools, scopes, deps }: Offered): Promise<Identified> {
  const credential = request.header('authorization')
  try {
    const identified = await deps.authenticate(credential)
    if ([...tools.values()].some((tool) => isFor(tool, identified))) return identified
    throw fail('insufficient_scope', 'None of the tools is for this credential and the features of its brand')
  } catch (error) {
    if (!(error instanceof Failure) || (error.status !== 401 && error.status !== 403)) throw error
    const isLacking = error.status === 403
    const problem = isLacking ? 'insufficient_scope' : credential ? 'invalid_token' : undefined
    const challenge = [
      ...(problem ? [`error="${problem}"`] : []),
      ...(isLacking ? [`scope="${scopes.join(' ')}"`] : []),
      `resource_metadata="${deps.baseUrl}/.well-known/oauth-protected-resource"`,
    ]
    const headers = { 'www-authenticate': `Bearer ${challenge.join(', ')}` }
    throw fail(error.code, error.message, { cause: error.cause, headers })
  }
}

/** The headers that the protocol reads, beside Accept. */
const READ = ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

/** Accept as the library wants it, which takes no wildcard for the two types that it answers in. */
const accepted = (header = '*/*') => (header.includes('*/*') ? 'application/json, text/event-stream' : header)

type Shared = Omit<Serving, 'request' | 'messages'>

async function serve(request: Request, shared: Shared): Promise<Reply> {
  const messages = messagesOf(request.body)
  if ('code' in messages) return { status: 400, body: protocolError(messages.code, messages.message) }
  await count(messages.called, shared)
  const serving = { ...shared, request, messages }
  const handler = createMcpHandler(() => mcpServer(serving), {
    onerror: (error) => log('debug', 'mcp', { request_id: request.requestId, ...errorFields(error) }),
  })
  const headers = READ.flatMap((name): [string, string][] => {
    const value = request.header(name)
    return value === undefined ? [] : [[name, value]]
  })
  const sent = new globalThis.Request('http://localhost/mcp', {
    method: 'POST',
    headers: [['accept', accepted(request.header('accept'))], ...headers],
    signal: request.signal,
  })
  return await reply(await handler.fetch(sent, { parsedBody: messages.content }))
}

/** Counts messages that no tool is counted for, but the first, which its POST was; throws `rate_limited`. */
async function count(called: readonly unknown[], { tools, identified, deps }: Shared): Promise<void> {
  const uncounted = called.filter((name) => {
    const tool = tools.get(String(name))
    return !tool || !isFor(tool, identified)
  })
  for (const _ of uncounted.slice(1)) await deps.limit?.(MESSAGE, identified)
}

/** Every answer ends with its call, streamed or not, so it is sent whole. */
async function reply(response: Response): Promise<Reply> {
  const headers: Record<string, string> = {}
  for (const name of ['content-type', 'allow']) {
    const value = response.headers.get(name)
    if (value !== null) headers[name] = value
  }
  const body = await response.text()
  return { status: response.status, headers, ...(body && { body }) }
}
