import { request } from 'node:http'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import * as v from 'valibot'
import { createAuthenticator } from '../src/access/authenticate.ts'
import { createCursors } from '../src/access/cursor.ts'
import { createKey } from '../src/access/key.ts'
import { fail } from '../src/errors.ts'
import { count, list, paging, queryBoolean, text, uuid } from '../src/fields.ts'
import { toolOf } from '../src/http/mcp/tool.ts'
import { type McpDeps, mcpRoutes } from '../src/http/mcp.ts'
import { restRoutes } from '../src/http/rest.ts'
import { createServer } from '../src/http/server.ts'
import { type Lake, type Op, op, type Page } from '../src/op.ts'
import { brandOps } from '../src/ops/brand.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { wrongValues } from './fixtures/wrong-input.ts'

const page: Page = { default: 2, max: 5, over: 'refuse' }
const numbers = Array.from({ length: 7 }, (_, at) => at)
const path = v.strictObject({ id: uuid })
const Thing = v.object({ id: v.string(), name: v.string(), loud: v.nullable(v.boolean()) })

const OPS: Op[] = [
  op({
    name: 'list_numbers',
    route: 'GET /v1/numbers',
    scopes: ['segments:read'],
    page,
    input: { query: v.strictObject({ ...paging(page), even: v.optional(queryBoolean) }) },
    output: list(count),
    what: 'Numbers.',
    run: async ({ cursors }, { query: { limit, cursor, even } }) => {
      const filters = { even }
      const after = cursors.open<number>(cursor, filters) ?? -1
      const rest = numbers.filter((number) => number > after && !(even && number % 2))
      const data = rest.slice(0, limit)
      return { data, next_cursor: rest.length > limit ? cursors.seal(data.at(-1), filters) : null }
    },
  }),
  op({
    name: 'rename_thing',
    route: 'PATCH /v1/big-things/{id}',
    scopes: ['segments:write'],
    input: {
      path,
      query: v.strictObject({ loud: v.optional(queryBoolean) }),
      body: v.strictObject({ name: text({ min: 1, max: 10 }) }),
    },
    output: Thing,
    what: 'Renames a thing.',
    run: async (_, { path: { id }, query, body }) => ({ id, name: body.name, loud: query.loud ?? null }),
  }),
  op({
    name: 'estimate_things',
    route: 'POST /v1/things/estimate',
    scopes: [],
    effect: 'read',
    output: v.object({ count }),
    what: 'Counts.',
    run: async () => ({ count: 1 }),
  }),
  op({
    name: 'turn_on',
    scopes: [],
    input: { body: v.strictObject({ confirm: v.literal(true, 'must be true') }) },
    output: v.object({ on: v.boolean() }),
    what: 'A tool without a route.',
    run: async () => ({ on: true }),
  }),
  op({
    name: 'fail_as_told',
    scopes: [],
    input: { body: v.strictObject({ how: v.string() }) },
    output: v.object({}),
    what: 'Fails.',
    run: async (_, { body: { how } }) => {
      if (how === 'slow') await new Promise((resolve) => setTimeout(resolve, 60_000).unref())
      if (how === 'not_found') throw fail('not_found', 'There is nothing with this id')
      if (how === 'rate_limited') throw fail('rate_limited', 'Too many', { headers: { 'retry-after': '7' } })
      if (how === 'too_large') throw fail('payload_too_large', 'Too large')
      if (how === 'away') throw Object.assign(new Error('secret host'), { code: 'ECONNREFUSED' })
      throw new Error('a secret in a message')
    },
  }),
  op({
    name: 'keep_exactly',
    scopes: ['segments:write'],
    input: { body: v.strictObject({ kept: v.unknown() }) },
    output: v.object({ kept: v.unknown() }),
    exact: true,
    what: 'Says what it was given.',
    run: async (_, { body }) => body,
  }),
  op({
    name: 'signed',
    route: 'POST /v1/signed',
    scopes: [],
    signIn: true,
    output: v.object({}),
    what: '',
    run: async () => ({}),
  }),
  op({
    name: 'featured',
    route: 'GET /v1/featured',
    scopes: [],
    feature: 'cdp',
    output: v.object({}),
    what: '',
    run: async () => ({}),
  }),
  op({
    name: 'untold',
    route: 'GET /v1/untold',
    scopes: [],
    tool: false,
    output: v.object({}),
    what: '',
    run: async () => ({}),
  }),
  ...brandOps,
]

const ID = '01890a5d-ac96-774b-bcce-b302099a8057'
const MODERN = '2026-07-28'
const EVERYONES = ['estimate_things', 'turn_on', 'fail_as_told']

interface Sent {
  as?: string
  headers?: Record<string, string>
  /** In the text of the message: for what no object can be made to say. */
  replace?: [string, string]
}

t.test('MCP', async (t) => {
  const { postgres } = await database(t)
  const plain = await makeBrand({ postgres })
  const featured = await makeBrand({ postgres }, { features: ['cdp'] })
  const authenticator = createAuthenticator(postgres.pipeline)
  t.teardown(() => authenticator.settled())
  const logged = t.capture(process.stderr, 'write')

  const limited = new Set<string>()
  const counted: string[] = []
  const deps: McpDeps = {
    authenticate: async (credential) => {
      if (credential === 'Bearer away') throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
      if (credential === 'Bearer narrow')
        throw fail('insufficient_scope', 'This credential is for something else')
      return await authenticator.authenticate(credential)
    },
    db: postgres.forBrand,
    lake: () => ({}) as Lake,
    cursors: createCursors(Buffer.alloc(32, 7)),
    baseUrl: 'https://api.shop.example',
    deadlineMs: 1_500,
    limit: ({ name }) => {
      counted.push(name)
      if (limited.has(name))
        throw fail('rate_limited', 'Too many requests', { headers: { 'retry-after': '3' } })
    },
  }
  const server = createServer([...mcpRoutes(OPS, deps), ...restRoutes(OPS, deps)])
  const base = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  const url = new URL(`${base}/mcp`)
  t.teardown(() => server.drain(0))

  const key = async (scopes: string[], brand = plain) =>
    (await createKey(postgres.forBrand(brand.id), { scopes })).plaintext
  const reader = await key(['segments:read', 'brand:read'])
  const writer = await key(['segments:write'])

  const post = async (content: string | Buffer, { as = reader, headers = {}, replace }: Sent = {}) => {
    const response = await fetch(url, {
      method: 'POST',
      body: replace ? content.toString().replace(...replace) : content,
      headers: {
        ...(as && { authorization: `Bearer ${as}` }),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    })
    const whole = await response.text()
    const data = [...whole.matchAll(/^data: (.*)$/gm)].map(([, line]) => JSON.parse(line as string))
    const body = data.length > 0 ? data.at(-1) : whole ? JSON.parse(whole) : undefined
    return { status: response.status, headers: response.headers, data, body }
  }
  const legacy = (method: string, params: object = {}, sent?: Sent) =>
    post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), sent)
  const modern = (
    method: string,
    params: Record<string, unknown> = {},
    { headers = {}, ...sent }: Sent = {},
  ) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    return post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta, ...params } }), {
      ...sent,
      headers: {
        'mcp-protocol-version': MODERN,
        'mcp-method': method,
        ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
        ...headers,
      },
    })
  }
  const eras = { 'the 2025 versions': legacy, [MODERN]: modern }
  const called = async (name: string, values: object, sent?: Sent) =>
    (await modern('tools/call', { name, arguments: values }, sent)).body
  const refused = async (t: Test, wanted: string, name: string, values: object, sent?: Sent) =>
    t.match(
      (await called(name, values, sent)).result,
      { isError: true, content: [{ type: 'text', text: wanted }] },
      `${name} ${JSON.stringify(values)}`,
    )
  const names = async (as: string) =>
    (await modern('tools/list', {}, { as })).body.result.tools.map((tool: { name: string }) => tool.name)

  t.test('real clients', async (t) => {
    const connect = {
      'of the 2025 versions': async (as: string) => {
        const client = new LegacyClient({ name: 'test', version: '1' })
        const transport = new LegacyTransport(url, {
          requestInit: { headers: { authorization: `Bearer ${as}` } },
        })
        await client.connect(transport as Parameters<typeof client.connect>[0])
        return client
      },
      [`of ${MODERN}`]: async (as: string) => {
        const client = new ModernClient(
          { name: 'test', version: '1' },
          { versionNegotiation: { mode: 'auto' } },
        )
        await client.connect(
          new ModernTransport(url, { requestInit: { headers: { authorization: `Bearer ${as}` } } }),
        )
        t.equal(client.getNegotiatedProtocolVersion(), MODERN)
        return client
      },
    }
    for (const [era, open] of Object.entries(connect)) {
      t.test(`a client ${era} lists and calls tools`, async (t) => {
        const client = await open(reader)
        const { tools } = await client.listTools()
        t.same(
          tools.map(({ name }) => name),
          ['list_numbers', ...EVERYONES, 'get_brand'],
        )
        t.match(await client.callTool({ name: 'get_brand' }), { structuredContent: { id: plain.id } })
        const seen = []
        let cursor: string | undefined
        do {
          const { structuredContent } = await client.callTool({
            name: 'list_numbers',
            arguments: { limit: 3, ...(cursor && { cursor }) },
          })
          const result = structuredContent as { data: number[]; next_cursor: string | null }
          seen.push(...result.data)
          cursor = result.next_cursor ?? undefined
        } while (cursor)
        t.same(seen, numbers)
        t.match(await client.callTool({ name: 'list_numbers', arguments: { limit: 6 } }), {
          isError: true,
          content: [{ text: 'bad_request: limit must be at most 5' }],
        })
        const unavailable: Promise<unknown> = client.callTool({ name: 'rename_thing', arguments: {} })
        await t.rejects(unavailable, { code: -32602 })
        await client.close()
      })
    }
    t.test('the server says who it is and how to use it', async (t) => {
      const client = await connect['of the 2025 versions'](reader)
      t.match(client.getServerVersion(), { name: 'recoup', version: /^\d{4}-\d\d-\d\d$/ })
      t.match(client.getInstructions(), /next_cursor/)
      await client.close()
    })
  })

  t.test('a credential', async (t) => {
    const metadata = 'resource_metadata="https://api.shop.example/.well-known/oauth-protected-resource"'
    t.test('that is missing is a flat 401 that says where to sign in', async (t) => {
      const { status, headers, body } = await legacy('ping', {}, { as: '' })
      t.equal(status, 401)
      t.match(body, { error: 'unauthorized', error_description: /credential/ })
      t.equal(headers.get('www-authenticate'), `Bearer ${metadata}`)
      t.ok(headers.get('x-request-id'))
    })
    t.test('is answered what no cache keeps', async (t) => {
      const { headers } = await legacy('tools/list')
      t.equal(headers.get('cache-control'), 'no-store')
      t.equal(headers.get('x-content-type-options'), 'nosniff')
    })
    t.test('that is not valid is a flat 401 invalid_token', async (t) => {
      const { status, headers, body } = await modern('tools/list', {}, { as: 'svc_x' })
      t.equal(status, 401)
      t.match(body, { error: 'unauthorized' })
      t.equal(headers.get('www-authenticate'), `Bearer error="invalid_token", ${metadata}`)
    })
    t.test('that is retired is legacy_credential_not_supported', async (t) => {
      const { status, body } = await legacy('ping', {}, { as: 'svc_live_x' })
      t.match({ status, body }, { status: 401, body: { error: 'legacy_credential_not_supported' } })
    })
    t.test('that may not come here is a flat 403 that names the scopes', async (t) => {
      const { status, headers, body } = await legacy('ping', {}, { as: 'narrow' })
      t.match({ status, body }, { status: 403, body: { error: 'insufficient_scope' } })
      const scopes = 'brand:read segments:read segments:write'
      t.equal(
        headers.get('www-authenticate'),
        `Bearer error="insufficient_scope", scope="${scopes}", ${metadata}`,
      )
    })
    t.test('that no tool is for is a flat 403 that names the scopes', async (t) => {
      const narrow = createServer(mcpRoutes(brandOps, deps))
      t.teardown(() => narrow.drain(0))
      const port = await narrow.listen('127.0.0.1', 0)
      const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${writer}` },
      })
      t.equal(response.status, 403)
      t.match(await response.json(), { error: 'insufficient_scope', error_description: /None of the tools/ })
      t.equal(
        response.headers.get('www-authenticate'),
        `Bearer error="insufficient_scope", scope="brand:read", ${metadata}`,
      )
    })
    t.test('that cannot be looked up is a flat 503', async (t) => {
      const { status, body } = await legacy('ping', {}, { as: 'away' })
      t.match({ status, body }, { status: 503, body: { error: 'unavailable', error_description: String } })
    })
    t.test('is judged before the body', async (t) => {
      t.equal((await post('{', { as: '' })).status, 401)
      t.equal((await post('x'.repeat(2 * 1024 * 1024), { as: '' })).status, 401)
    })
    t.test('without the scope of any tool can connect', async (t) => {
      t.same(await names(await key(['stats:read'])), EVERYONES)
    })
    t.test('sees the tools of its scopes, and no sign-in tool with a key', async (t) => {
      t.same(await names(writer), ['rename_thing', ...EVERYONES, 'keep_exactly'])
    })
    t.test('sees the tools of its brand’s features', async (t) => {
      t.same(await names(await key(['brand:read'], featured)), [...EVERYONES, 'featured', 'get_brand'])
    })
    t.test('gets one answer for an unknown tool and one that it cannot use', async (t) => {
      for (const call of Object.values(eras)) {
        const answers = []
        for (const name of ['nothing', 'rename_thing', 'signed', 'featured', 'untold']) {
          const { status, body } = await call('tools/call', { name, arguments: {} })
          t.match({ status, body }, { status: 200, body: { error: { code: -32602 } } })
          answers.push(body.error.message.replace(name, ''))
        }
        t.equal(new Set(answers).size, 1)
      }
    })
  })

  t.test('a tool', async (t) => {
    const tools = Object.fromEntries(OPS.filter(({ tool }) => tool).map((op) => [op.name, toolOf(op).listed]))
    t.test('has the fields of path, query and body as flat arguments', async (t) => {
      t.same(tools.rename_thing?.inputSchema, {
        type: 'object',
        properties: {
          big_thing_id: { type: 'string', format: 'uuid' },
          loud: { type: 'boolean' },
          name: { type: 'string', minLength: 1, maxLength: 10 },
        },
        required: ['big_thing_id', 'name'],
        additionalProperties: false,
      })
      t.same(
        (await called('rename_thing', { big_thing_id: ID, name: 'a', loud: true }, { as: writer })).result
          .structuredContent,
        {
          id: ID,
          name: 'a',
          loud: true,
        },
      )
    })
    t.test('has limits and defaults in its input schema', async (t) => {
      t.match(tools.list_numbers?.inputSchema.properties, {
        limit: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
      })
      t.same(tools.get_brand?.inputSchema, { type: 'object', additionalProperties: false })
    })
    t.test('has an output schema, and answers with structured content and the same as text', async (t) => {
      const required = ['id', 'name', 'shop_domain', 'storefront_domains', 'currency_code', 'timezone']
      required.push('default_phone_region', 'features', 'created_at')
      t.match(tools.get_brand?.outputSchema, { type: 'object', required })
      const { structuredContent, content } = (await called('get_brand', {})).result
      t.equal(structuredContent.id, plain.id)
      t.same(JSON.parse(content[0].text), structuredContent)
    })
    t.test('has hints from its method, unless its operation says otherwise', async (t) => {
      const hints = (name: string) => {
        const { readOnlyHint, destructiveHint } = tools[name]?.annotations ?? {}
        return { readOnlyHint, destructiveHint }
      }
      t.same(hints('get_brand'), { readOnlyHint: true, destructiveHint: false })
      t.same(hints('signed'), { readOnlyHint: false, destructiveHint: false })
      t.same(hints('rename_thing'), { readOnlyHint: false, destructiveHint: true })
      t.same(hints('estimate_things'), { readOnlyHint: true, destructiveHint: false })
      t.same(hints('turn_on'), { readOnlyHint: false, destructiveHint: true })
    })
    t.test('needs no route', async (t) => {
      t.same((await called('turn_on', { confirm: true })).result.structuredContent, { on: true })
      await refused(t, 'bad_request: confirm must be true', 'turn_on', { confirm: false })
    })
    t.test('cannot have two arguments of one name', async (t) => {
      const twice = op({
        name: 'twice',
        route: 'POST /v1/things/{id}',
        scopes: [],
        input: { path, body: v.strictObject({ thing_id: v.string() }) },
        output: v.object({}),
        what: '',
        run: async () => ({}),
      })
      t.throws(() => toolOf(twice), { message: 'twice: two of its arguments are called thing_id' })
    })
    t.test('is made of every operation of the service that has one', async (t) => {
      const { OPS: real } = await import('../src/ops/all.ts')
      for (const op of real.filter(({ tool }) => tool)) t.equal(toolOf(op).listed.name, op.name)
    })
  })

  t.test('wrong arguments', async (t) => {
    t.test('are refused as on REST, under the names of the tool', async (t) => {
      const as = writer
      for (const [message, values] of [
        ['big_thing_id is required', {}],
        ['big_thing_id must be a UUID', { big_thing_id: 'x', name: 'a' }],
        ['big_thing_id must be a string', { big_thing_id: 1, name: 'a' }],
        ['name is required', { big_thing_id: ID }],
        ['name must be 1 to 10 characters', { big_thing_id: ID, name: 'x'.repeat(11) }],
        ['loud must be true or false', { big_thing_id: ID, name: 'a', loud: 'true' }],
        ['"id" is not an argument of this tool. Known: big_thing_id, loud, name', { id: ID }],
        ['"nam" is not an argument of this tool. Did you mean "name"? Known: big_thing_id', { nam: 'x' }],
        ['name must not hold the character U+0000', { big_thing_id: ID, name: '\0' }],
      ] as const) {
        await refused(t, `bad_request: ${message}`, 'rename_thing', values, { as })
      }
    })
    t.test('named like what every object has are refused too, wherever they stand', async (t) => {
      const values = { big_thing_id: ID, name: 'a' }
      for (const [message, more] of [
        ['__proto__ is not an allowed name', '{"__proto__": {}}'],
        ['__proto__ is not an allowed name', '{"\\u005f_proto__": 1}'],
        ['constructor is not an allowed name', '{"constructor": 1}'],
        ['name.__proto__ is not an allowed name', '{"name": {"__proto__": 1}}'],
      ] as const) {
        const sent = `${JSON.stringify(values).slice(0, -1)},${more.slice(1)}`
        const one = {
          jsonrpc: '2.0',
          id: 7,
          method: 'tools/call',
          params: { name: 'rename_thing', arguments: 0 },
        }
        const batch = JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'ping' }, one])
        const { data } = await post(batch, { as: writer, replace: ['"arguments":0', `"arguments":${sent}`] })
        t.match(data.find(({ id }) => id === 7)?.result, {
          isError: true,
          content: [{ text: `bad_request: ${message}` }],
        })
        for (const [era, send] of Object.entries(eras)) {
          const mark = { name: 'rename_thing', arguments: 'ARGUMENTS' }
          const { body } = await send('tools/call', mark, { as: writer, replace: ['"ARGUMENTS"', sent] })
          const result = { isError: true, content: [{ type: 'text', text: `bad_request: ${message}` }] }
          t.match(body.result, result, `${era}: ${sent}`)
        }
      }
    })
    t.test('of another type than the schema says are refused', async (t) => {
      for (const limit of ['3', 1.5, null, true, 1e21, {}])
        await refused(t, 'bad_request: limit must be an integer', 'list_numbers', { limit })
      await refused(t, 'bad_request: limit must be at least 1', 'list_numbers', { limit: 0 })
    })
    t.test('made from a tool’s schema are all refused', async (t) => {
      const valid = { big_thing_id: ID, loud: true, name: 'a' }
      const { inputSchema } = toolOf(OPS.find(({ name }) => name === 'rename_thing') as Op).listed
      let tried = 0
      for (const [label, values] of wrongValues(inputSchema, valid)) {
        const { result, error } = await called('rename_thing', values as object, { as: writer })
        const isRefused = result?.content[0].text.startsWith('bad_request: ') || error?.code === -32602
        if (!isRefused) t.fail(`${label}: ${JSON.stringify(result ?? error)}`)
        tried++
      }
      t.ok(tried > 20, `${tried} calls`)
    })
    t.test('that are nested deeply are refused', async (t) => {
      const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_numbers","arguments":{"x":${deep}}}}`
      t.match((await post(body)).body.result, {
        isError: true,
        content: [{ text: /^bad_request: .*levels deep/ }],
      })
    })
    t.test('such as a cursor of another call are refused', async (t) => {
      const { next_cursor: cursor } = (await called('list_numbers', {})).result.structuredContent
      await refused(t, 'bad_request: cursor was not issued', 'list_numbers', { cursor, even: true })
      t.same((await called('list_numbers', { cursor })).result.structuredContent.data, [2, 3])
    })
    t.test('a cursor of the route goes on in the tool', async (t) => {
      const headers = { authorization: `Bearer ${reader}` }
      const first = (await (await fetch(`${base}/v1/numbers`, { headers })).json()) as { next_cursor: string }
      t.same(
        (await called('list_numbers', { cursor: first.next_cursor })).result.structuredContent.data,
        [2, 3],
      )
    })
  })

  t.test('a failure of a tool', async (t) => {
    t.test('is a result whose text starts with the REST code', async (t) => {
      await refused(t, 'not_found: There is nothing with this id', 'fail_as_told', { how: 'not_found' })
      await refused(t, 'bad_request: Too large', 'fail_as_told', { how: 'too_large' })
      await refused(t, 'rate_limited: Too many (retry after 7 s)', 'fail_as_told', { how: 'rate_limited' })
    })
    t.test('of a service that is away is unavailable and tells nothing of it', async (t) => {
      const { result } = await called('fail_as_told', { how: 'away' })
      t.match(result, { isError: true, content: [{ text: /^unavailable: / }] })
      t.notMatch(result.content[0].text, /secret/)
    })
    t.test('is counted as its operation is', async (t) => {
      limited.add('get_brand')
      await refused(t, 'rate_limited: Too many requests (retry after 3 s)', 'get_brand', {})
      const rest = await fetch(`${base}/v1/brand`, { headers: { authorization: `Bearer ${reader}` } })
      t.equal(rest.status, 429)
      t.equal(rest.headers.get('retry-after'), '3')
      limited.delete('get_brand')
    })
    for (const [era, call] of Object.entries(eras)) {
      t.test(`that nobody expected is -32603 without its text, in ${era}`, async (t) => {
        const { status, body } = await call('tools/call', {
          name: 'fail_as_told',
          arguments: { how: 'crash' },
        })
        t.match({ status, body }, { status: 200, body: { error: { code: -32603, message: /request id/ } } })
        t.notMatch(body.error.message, /secret/)
      })
      t.test(`to answer in time is -32001, in ${era}`, async (t) => {
        const { status, body } = await call('tools/call', {
          name: 'fail_as_told',
          arguments: { how: 'slow' },
        })
        t.match(
          { status, body },
          { status: 200, body: { id: 1, error: { code: -32001, message: /1\.5 s/ } } },
        )
      })
    }
  })

  t.test('the protocol', async (t) => {
    t.test('takes POST alone: other methods are 405 -32000 with Allow', async (t) => {
      for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'PROPFIND', 'PURGE']) {
        const response = await fetch(url, { method })
        t.equal(response.status, 405)
        t.equal(response.headers.get('allow'), 'POST, OPTIONS')
        t.match(await response.json(), { error: { code: -32000 } })
      }
      t.equal((await fetch(url, { method: 'OPTIONS' })).headers.get('allow'), 'POST, OPTIONS')
    })
    t.test('answers what is not JSON with -32700', async (t) => {
      for (const content of ['', '{', Buffer.from([0x22, 0xff, 0x22])]) {
        const { status, body } = await post(content)
        t.match({ status, body }, { status: 400, body: { error: { code: -32700 } } })
      }
    })
    t.test('answers who accepts anything, and others than it answers in with 406', async (t) => {
      for (const list of Object.values(eras)) {
        const { status, body } = await list('tools/list', {}, { headers: { accept: '*/*' } })
        t.match({ status, body }, { status: 200, body: { result: { tools: Array } } })
      }
      t.equal((await legacy('tools/list', {}, { headers: { accept: 'application/xml' } })).status, 406)
    })
    t.test('answers another Content-Type with 415 -32000', async (t) => {
      const { status, body } = await modern('tools/list', {}, { headers: { 'content-type': 'text/plain' } })
      t.match({ status, body }, { status: 415, body: { error: { code: -32000 } } })
    })
    t.test('answers missing and mismatched headers of 2026-07-28 with -32020', async (t) => {
      for (const headers of [
        { 'mcp-method': 'tools/call' },
        { 'mcp-method': '' },
        { 'mcp-protocol-version': '2025-11-25' },
      ] as Record<string, string>[]) {
        const { status, body } = await modern('tools/list', {}, { headers })
        t.match({ status, body }, { status: 400, body: { error: { code: -32020 } } }, JSON.stringify(headers))
      }
      const { status, body } = await modern(
        'tools/call',
        { name: 'get_brand' },
        { headers: { 'mcp-name': 'other' } },
      )
      t.match({ status, body }, { status: 400, body: { error: { code: -32020 } } })
    })
    t.test('answers an unknown version with -32022 and the ones it knows', async (t) => {
      const version = '2099-01-01'
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': version,
        'io.modelcontextprotocol/clientCapabilities': {},
      }
      const { status, body } = await modern(
        'tools/list',
        { _meta },
        { headers: { 'mcp-protocol-version': version } },
      )
      t.equal(status, 400)
      t.match(body.error, { code: -32022, data: { supported: [MODERN], requested: version } })
    })
    t.test('answers more values than a body may have with -32602, before they are parsed', async (t) => {
      const values = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[${'0,'.repeat(60_000)}0]}`
      const { status, body } = await post(values)
      t.match({ status, body }, { status: 400, body: { error: { code: -32602, message: /60000 values/ } } })
    })
    t.test('answers more names than a body may have with -32602, before they are parsed', async (t) => {
      const names = Object.fromEntries(Array.from({ length: 5_001 }, (_, at) => [`n${at}`, 0]))
      const parsed = t.capture(JSON, 'parse', JSON.parse)
      const { status, body } = await legacy('tools/list', { _meta: names })
      t.match({ status, body }, { status: 400, body: { error: { code: -32602, message: /5000 names/ } } })
      t.equal(parsed().filter(({ args: [text] }) => text.includes('n5000')).length, 0)
    })
    t.test('answers a malformed envelope with -32602', async (t) => {
      const _meta = { 'io.modelcontextprotocol/protocolVersion': MODERN }
      const { status, body } = await modern('tools/list', { _meta })
      t.match({ status, body }, { status: 400, body: { error: { code: -32602 } } })
    })
    t.test('answers an unknown method with -32601', async (t) => {
      t.match(await modern('things/do'), { status: 404, body: { error: { code: -32601 } } })
      t.match(await legacy('things/do'), { status: 200, body: { error: { code: -32601 } } })
    })
    t.test('answers wrong parameters of any method with -32602', async (t) => {
      for (const [method, params] of [
        ['initialize', {}],
        ['initialize', { protocolVersion: 5, capabilities: {}, clientInfo: { name: 'test', version: '1' } }],
        ['tools/list', { cursor: 5 }],
        ['tools/call', { name: 5 }],
      ] as const)
        t.match(
          await legacy(method, params),
          { status: 200, body: { id: 1, error: { code: -32602, message: `Invalid ${method} request` } } },
          `${method} ${JSON.stringify(params)}`,
        )
      t.match((await modern('tools/list', { cursor: 5 })).body, { id: 1, error: { code: -32602 } })
      t.match((await post('{"jsonrpc":"2.0","id":1,"method":"initialize"}')).body.error, { code: -32602 })
    })
    t.test('answers arguments that are no object with -32602', async (t) => {
      t.match((await modern('tools/call', { name: 'get_brand', arguments: [] })).body, {
        error: { code: -32602 },
      })
    })
    t.test('answers a body over 1 MB with 413', async (t) => {
      const { status, body } = await legacy('ping', { x: 'x'.repeat(1024 * 1024) })
      t.match({ status, body }, { status: 413, body: { error: 'bad_request', error_description: /1 MB/ } })
    })
    t.test('ends a subscription at once, since its lists do not change', async (t) => {
      const { data } = await modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
      t.match(data, [
        { method: 'notifications/subscriptions/acknowledged', params: { notifications: {} } },
        { id: 1, result: { resultType: 'complete' } },
      ])
    })
    t.test('answers a batch of the 2025 versions', async (t) => {
      const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })
      t.match((await post(JSON.stringify([ping(1), ping(2)]))).data, [{ id: 1 }, { id: 2 }])
    })
    t.test('answers a call that its own batch cancels', async (t) => {
      const call = {
        jsonrpc: '2.0',
        id: 4,
        method: 'tools/call',
        params: { name: 'get_brand', arguments: {} },
      }
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 4 } }
      for (const batch of [
        [call, cancel],
        [cancel, call],
      ])
        t.match((await post(JSON.stringify(batch))).data, [{ id: 4, result: { content: Array } }])
      t.equal((await post(JSON.stringify([cancel]))).status, 202)
    })
    t.test('answers a batch of more than 20 messages with -32602', async (t) => {
      const batch = Array.from({ length: 21 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }))
      const { status, body } = await post(JSON.stringify(batch))
      t.match({ status, body }, { status: 400, body: { error: { code: -32602, message: /20 messages/ } } })
      t.equal((await post(JSON.stringify(batch.slice(1)))).data.length, 20)
    })
    t.test('parses a batch once, and once more for all of its exact calls', async (t) => {
      const kept = '12345678901234567890'
      const calls = Array.from({ length: 9 }, (_, id) => ({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: id % 2 ? 'keep_exactly' : 'turn_on', arguments: id % 2 ? { kept: 'KEPT' } : {} },
      }))
      const batch = JSON.stringify(calls).replaceAll('"KEPT"', kept)
      const parsed = t.capture(JSON, 'parse', JSON.parse)
      const { data } = await post(batch, { as: writer })
      const times = parsed().filter(({ args: [text] }) => text.length > 500 && text.startsWith('[')).length
      t.equal(times, 2)
      t.same(
        data.map(({ id, result }) => [id, result.content[0].text]).sort(),
        calls.map(({ id }) => [id, id % 2 ? `{"kept":${kept}}` : 'bad_request: confirm is required']),
      )
    })
    t.test('reads no arguments of a call beyond its limit', async (t) => {
      limited.add('keep_exactly')
      t.teardown(() => limited.delete('keep_exactly'))
      const parsed = t.capture(JSON, 'parse', JSON.parse)
      const { body } = await legacy(
        'tools/call',
        { name: 'keep_exactly', arguments: { kept: 1e20 } },
        { as: writer },
      )
      t.match(body.result, { isError: true, content: [{ text: /^rate_limited: / }] })
      t.equal(parsed().filter(({ args: [text] }) => text.includes('keep_exactly')).length, 1)
    })
    t.test('counts each message that is no call of a tool, and a call as its operation', async (t) => {
      const call = (id: number, name: string) => ({ id, method: 'tools/call', params: { name } })
      const messages = [
        { id: 1, method: 'tools/list' },
        { id: 2, method: 'ping' },
        { method: 'notifications/initialized' },
        call(3, 'nothing'),
        call(4, 'rename_thing'),
        call(5, 'get_brand'),
        { method: 'tools/call', params: { name: 'get_brand' } },
      ]
      counted.length = 0
      await post(JSON.stringify(messages.map((one) => ({ jsonrpc: '2.0', ...one }))))
      await post('{')
      t.same(counted.toSorted(), ['get_brand', ...Array(7).fill('mcp')])
    })
    t.test('counts a POST before its body is read, and beyond the limit answers a flat 429', async (t) => {
      limited.add('mcp')
      t.teardown(() => limited.delete('mcp'))
      for (const list of Object.values(eras)) {
        const { status, headers, body } = await list('tools/list')
        t.match({ status, body }, { status: 429, body: { error: 'rate_limited', error_description: String } })
        t.equal(headers.get('retry-after'), '3')
      }
      counted.length = 0
      t.match(await legacy('tools/call', { name: 'get_brand', arguments: {} }), { status: 429 })
      t.same(counted, ['mcp'])
    })
    t.test('refuses the Host and Origin of another site', async (t) => {
      const hostile = (headers: Record<string, string>) => {
        const { promise, resolve, reject } = Promise.withResolvers<{ status?: number; body: string }>()
        const sent = { authorization: `Bearer ${reader}`, ...headers }
        // fetch would not send another Host.
        request(url, { method: 'POST', headers: sent }, async (response) => {
          const chunks = await response.toArray()
          resolve({ status: response.statusCode, body: Buffer.concat(chunks).toString() })
        })
          .on('error', reject)
          .end('{}')
        return promise
      }
      for (const headers of [
        { host: 'evil.example' },
        { host: 'evil.example', origin: 'http://localhost' },
        { origin: 'http://evil.example' },
        { origin: 'null' },
        { origin: 'https://api.shop.example.evil.example' },
      ] as Record<string, string>[]) {
        const { status, body } = await hostile(headers)
        t.equal(status, 403, JSON.stringify(headers))
        t.match(JSON.parse(body), { error: 'insufficient_scope' })
      }
      for (const headers of [
        { host: 'api.shop.example' },
        { host: 'localhost:8080', origin: 'http://localhost:6274' },
        { origin: 'https://api.shop.example' },
      ] as Record<string, string>[]) {
        t.not((await hostile(headers)).status, 403, JSON.stringify(headers))
      }
    })
    t.test('lets pages that may send read the answer, also a refusal, and no others', async (t) => {
      const send = (origin: string, method: string, authorization = '') =>
        fetch(url, { method, headers: { origin, ...(authorization && { authorization }) } })
      for (const origin of ['http://localhost:6274', 'https://api.shop.example']) {
        const preflight = await send(origin, 'OPTIONS')
        t.equal(preflight.status, 204)
        t.equal(preflight.headers.get('access-control-allow-origin'), origin)
        t.match(
          preflight.headers.get('access-control-allow-headers'),
          /Authorization.*Mcp-Method.*MCP-Protocol/,
        )
        for (const credential of ['', `Bearer ${reader}`]) {
          const { headers } = await send(origin, 'POST', credential)
          t.equal(headers.get('access-control-allow-origin'), origin)
          t.equal(headers.get('vary'), 'Origin')
          t.equal(headers.get('access-control-expose-headers'), 'WWW-Authenticate, Retry-After, X-Request-Id')
        }
      }
      for (const method of ['OPTIONS', 'POST']) {
        const refused = await send('https://evil.example', method)
        t.equal(refused.status, 403)
        t.equal(refused.headers.get('access-control-allow-origin'), null)
      }
    })
  })

  t.test('the log has one line per call of a tool, without its arguments', async (t) => {
    const lines = logged().map(({ args: [line] }) => String(line))
    const calls = lines.filter((line) => line.includes('"event":"tool"')).map((line) => JSON.parse(line))
    t.match(
      calls.find(({ outcome }) => outcome === 'ok'),
      { tool: String, ms: Number, request_id: String },
    )
    t.ok(calls.some(({ outcome }) => outcome === 'timed_out'))
    t.notOk(calls.some((call) => JSON.stringify(call).includes(ID)))
  })
})
