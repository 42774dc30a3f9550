import { refusalCodes } from '../../access/permit.ts'
import { type Code, STATUS } from '../../errors.ts'
import type { Op, Page } from '../../op.ts'
import { inputSchema, type JsonSchema, outputSchema } from '../json-schema.ts'
import { codeOn } from '../reply.ts'
import { NDJSON } from '../rest.ts'
import { errorAnswers } from './answers.ts'
import type { Components, Scheme } from './components.ts'
import { tagOf } from './tags.ts'

/** The operation object of an op with a route. */
export function operation(op: Op, components: Components): object {
  const [method, path] = (op.route ?? '').split(' ') as [string, string]
  const body = requestBody(op, components)
  return {
    operationId: op.name,
    tags: [tagOf(path)],
    summary: titleOf(op.name),
    description: [op.what, ...terms(op)].join('\n\n'),
    security: components.callers(op.scopes, schemesOf(op)),
    'x-scopes': op.scopes,
    'x-sign-in': op.signIn !== false,
    ...(op.role && { 'x-role': op.role }),
    ...(op.feature && { 'x-feature': op.feature }),
    ...(op.rate && { 'x-rate-limit': op.rate }),
    ...(op.page && { 'x-page': op.page }),
    'x-mcp-tool': op.tool,
    parameters: [...parameters(op, 'path'), ...parameters(op, 'query')],
    ...(body && { requestBody: body }),
    responses: {
      [op.status]: {
        description: 'Success.',
        headers: { ...components.requestId(), ...(op.ndjson && NEXT_CURSOR) },
        content: {
          [op.ndjson ? NDJSON : 'application/json']: {
            schema: outputSchema(op.ndjson ?? op.output, components.schema),
            ...(op.example && { example: op.example.output }),
          },
        },
      },
      ...errorAnswers(codes(op, method, path), components),
    },
  }
}

const NEXT_CURSOR = {
  'X-Next-Cursor': {
    schema: { type: 'string' },
    description: 'The `cursor` of the next page; absent when this is the last.',
  },
}

/** "list_segments" becomes "List segments". */
export const titleOf = (name: string) =>
  name.replaceAll('_', ' ').replace(/^\w/, (letter) => letter.toUpperCase())

function schemesOf({ signIn }: Op): Scheme[] {
  if (signIn === 'session') return ['session']
  return signIn ? ['signIn', 'session'] : ['apiKey', 'signIn', 'session']
}

/** What a caller must have, and what limits it, in words. */
function terms({ name, scopes, signIn, role, feature, rate, page, ndjson, tool }: Op): string[] {
  const listed = scopes.map((scope) => `\`${scope}\``).join(', ')
  return [
    scopes.length === 0
      ? 'Takes any valid credential.'
      : `Needs ${scopes.length === 1 ? 'the scope' : 'one of the scopes'} ${listed}.`,
    signIn === 'session' ? 'Needs a session of the web app.' : '',
    signIn === true ? 'Needs a sign-in: an API key gets 403.' : '',
    role ? `For ${role}s of the brand.` : '',
    feature ? `Needs the feature \`${feature}\` of the brand.` : '',
    rate ? `At most ${rate.count} requests per ${rate.per} and credential.` : '',
    page ? `${pageText(page)}` : '',
    ndjson ? 'The answer has one JSON object a line (NDJSON), and no envelope.' : '',
    tool ? `MCP tool: \`${name}\`.` : '',
  ].filter((text) => text !== '')
}

const pageText = ({ default: size, max, over }: Page) =>
  `Pages have ${size} items unless \`limit\` says otherwise, at most ${max}; ${over === 'refuse' ? 'a greater limit is 400' : 'a greater limit counts as that'}.`

const COMMON: Record<string, string> = {
  limit: 'Items per page.',
  offset: 'Items before the page. `offset` and `limit` together are at most 10,000.',
  cursor: 'The `next_cursor` of the page before, with the same filters.',
}

function parameters(op: Op, place: 'path' | 'query'): object[] {
  const schema = op.input[place]
  if (!schema) return []
  const { properties = {}, required = [] } = inputSchema(schema)
  return Object.entries(properties).map(([name, { description = COMMON[name], ...property }]) => {
    const example = op.example?.[place]?.[name]
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description && { description }),
      schema: property,
      ...(example !== undefined && { example }),
    }
  })
}

function requestBody({ input, example }: Op, components: Components): object | undefined {
  if (!input.body) return undefined
  const schema: JsonSchema = inputSchema(input.body, components.schema)
  return {
    required: schema.$ref !== undefined || (schema.required?.length ?? 0) > 0,
    content: { 'application/json': { schema, ...(example?.body && { example: example.body }) } },
  }
}

/** Every code that the operation can answer, as its host has them. */
function codes(op: Op, method: string, path: string): Code[] {
  for (const code of op.errors)
    if (!(code in STATUS)) throw new Error(`${op.name}: ${code} is not an error code`)
  const takesBody = method === 'POST' || method === 'PATCH'
  const answered: Code[] = [
    'bad_request',
    'unauthorized',
    'legacy_credential_not_supported',
    ...refusalCodes(op),
    // With a session, what changes anything is refused to pages of other origins.
    ...(method === 'GET' ? [] : (['forbidden'] as const)),
    ...(path.includes('{') ? (['not_found'] as const) : []),
    ...(takesBody ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(op.errors as Code[]),
    'rate_limited',
    'internal',
    'unavailable',
  ]
  return [...new Set(answered.map((code) => codeOn(op.surface, code)))]
}
