import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, createServer as createHttpServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import t from 'tap'
import * as v from 'valibot'
import { createKey } from '../src/access/key.ts'
import { KEY_SCOPES, signInScopes } from '../src/access/scopes.ts'
import { openSeal } from '../src/access/seal.ts'
import { openApp } from '../src/app.ts'
import { CHECKOUT, readConfig } from '../src/config.ts'
import { count, list, named, paging, queryBoolean, text, uuid } from '../src/fields.ts'
import { interfaceVersion } from '../src/http/changelog.ts'
import { openapiDocument } from '../src/http/openapi/document.ts'
import { openapiText } from '../src/http/openapi.ts'
import { type Op, op, type Page } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { startServer } from '../src/serve.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { contract, type Described, type JsonSchema, type Received } from './fixtures/contract.ts'
import { database } from './fixtures/database.ts'
import { type Credential, people } from './fixtures/people.ts'
import { requestsWith, type Wrong, wrongRequests } from './fixtures/wrong-input.ts'

const ORIGINS = {
  baseUrl: 'https://api.recoup.test',
  cdpUrl: 'https://cdp.recoup.test',
  webhookUrl: 'https://hooks.recoup.test',
}

interface Operation {
  operationId: string
  description: string
  tags: string[]
  security: object[]
  parameters: { name: string; in: string; required: boolean; schema: JsonSchema; description?: string }[]
  requestBody?: {
    required: boolean
    content: { 'application/json': { schema: JsonSchema; example: unknown } }
  }
  responses: Record<
    string,
    { $ref?: string; content: { 'application/json': { schema: JsonSchema; example: unknown } } }
  >
  [extension: `x-${string}`]: unknown
}
interface Document {
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation> & { servers?: { url: string }[] }>
  components: Record<string, Record<string, unknown>>
}
const documentOf = (ops: readonly Op[], origins = ORIGINS) =>
  openapiDocument(ops, origins, '2026-11-21') as unknown as Document

const document = documentOf(OPS)
const operations = (of: Document) =>
  Object.entries(of.paths).flatMap(([path, { servers: _, ...methods }]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method.toUpperCase()} ${path}`,
      ...operation,
    })),
  )

const page: Page = { default: 20, max: 50, over: 'refuse' }
const clamping: Page = { default: 20, max: 50, over: 'clamp' }
const Thing = named('Thing', { id: v.string(), size: v.nullable(count) })
const run = async () => ({}) as never
const MADE: Op[] = [
  op({
    name: 'list_things',
    route: 'GET /v1/things',
    scopes: ['segments:read', 'campaigns:read'],
    feature: 'cdp',
    rate: { count: 10, per: 'second' },
    page,
    input: { query: v.strictObject({ ...paging(page), even: v.optional(queryBoolean, 'false') }) },
    output: list(Thing),
    what: 'Things.',
    run,
  }),
  op({
    name: 'make_thing',
    route: 'POST /v1/things',
    scopes: ['segments:write'],
    signIn: true,
    role: 'admin',
    status: 201,
    errors: ['conflict', 'limit_reached'],
    input: { body: v.strictObject({ name: text({ min: 1, max: 20 }), size: v.optional(count) }) },
    output: Thing,
    what: 'Makes a thing.',
    run,
  }),
  op({
    name: 'get_thing',
    route: 'GET /v1/things/{id}',
    scopes: [],
    tool: false,
    input: { path: v.strictObject({ id: uuid }) },
    output: Thing,
    what: 'A thing.',
    run,
  }),
  op({
    name: 'clamped',
    route: 'GET /cdp/things',
    surface: 'cdp',
    scopes: ['customers:read'],
    page: clamping,
    input: { query: v.strictObject(paging(clamping)) },
    output: v.object({}),
    what: 'Things.',
    run,
  }),
  op({
    name: 'make_clamped',
    route: 'POST /cdp/things',
    surface: 'cdp',
    scopes: ['segments:write'],
    signIn: true,
    feature: 'cdp',
    output: v.object({}),
    what: 'Makes a thing.',
    run,
  }),
  op({
    name: 'commerce',
    route: 'GET /cdp/commerce',
    surface: 'cdp',
    scopes: ['commerce:read'],
    feature: 'beta:cdp-commerce',
    errors: ['upstream_error'],
    output: v.object({}),
    what: 'Things of the store.',
    run,
  }),
  op({ name: 'tool_only', scopes: [], output: v.object({}), what: '', run }),
]
const made = documentOf(MADE)
const { get: listThings, post: makeThing } = made.paths['/v1/things'] as { get: Operation; post: Operation }

t.test('the document', async (t) => {
  t.test('has every operation with a route, and the public routes beside them', async (t) => {
    const routes = operations(document).map(({ route }) => route)
    for (const { route } of OPS) if (route) t.ok(routes.includes(route), route)
    for (const route of ['POST /cdp/events', 'POST /oauth/token', 'POST /sign-in'])
      t.ok(routes.includes(route))
    t.notOk(operations(made).some(({ operationId }) => operationId === 'tool_only'))
  })
  t.test('says who may call an operation', async (t) => {
    t.match(listThings, {
      'x-scopes': ['segments:read', 'campaigns:read'],
      'x-sign-in': false,
      'x-feature': 'cdp',
      'x-rate-limit': { count: 10, per: 'second' },
      'x-mcp-tool': true,
      description: /one of the scopes `segments:read`, `campaigns:read`/,
      security: [
        { apiKey: [] },
        { signIn: ['segments:read'] },
        { signIn: ['campaigns:read'] },
        { session: [] },
      ],
    })
    t.match(makeThing, {
      'x-sign-in': true,
      'x-role': 'admin',
      security: [{ signIn: ['segments:write'] }, { session: [] }],
    })
  })
  t.test('says where to sign in, with which scopes, and what the session cookie is called', async (t) => {
    const { signIn, session, apiKey } = document.components.securitySchemes as Record<string, object>
    t.match(apiKey, { type: 'http', scheme: 'bearer' })
    t.match(session, { in: 'cookie', name: '__Host-recoup_session' })
    t.match(signIn, {
      type: 'oauth2',
      flows: {
        authorizationCode: {
          authorizationUrl: `${ORIGINS.baseUrl}/oauth/authorize`,
          tokenUrl: `${ORIGINS.baseUrl}/oauth/token`,
        },
      },
    })
    const { scopes } = (signIn as { flows: { authorizationCode: { scopes: object } } }).flows
      .authorizationCode
    t.same(Object.keys(scopes).sort(), [...signInScopes('admin')].sort())
    const plain = { ...ORIGINS, baseUrl: 'http://127.0.0.1:8080' }
    t.match(documentOf(OPS, plain).components.securitySchemes?.session, { name: 'recoup_session' })
  })
  t.test('has the codes of the customer-data host, which differ from those of REST', async (t) => {
    const codes = (route: string, status: string) => {
      const [method = '', path = ''] = route.split(' ')
      const name = made.paths[path]?.[method]?.responses[status]?.$ref?.split('/').at(-1) ?? ''
      const response = made.components.responses?.[name] as Operation['responses'][string] | undefined
      const { error } = response?.content['application/json'].schema.properties ?? {}
      return error?.properties?.code?.enum
    }
    t.same(codes('get /v1/things', '503'), ['unavailable'])
    t.same(codes('get /cdp/things', '503'), ['upstream_unavailable'])
    t.same(codes('get /cdp/things', '403'), ['insufficient_scope'])
    t.same(codes('post /cdp/things', '403'), ['insufficient_scope', 'forbidden'])
    t.same(codes('post /v1/things', '403'), ['insufficient_scope'])
    t.same(codes('get /cdp/commerce', '403'), [
      'insufficient_scope',
      'beta_not_enabled',
      'forbidden',
      'integration_not_connected',
    ])
    t.same(codes('get /cdp/commerce', '502'), ['upstream_error'])
  })
  t.test('has parameters with their limits and defaults, and the page rule as data', async (t) => {
    const { parameters } = listThings
    t.match(parameters, [
      {
        name: 'limit',
        in: 'query',
        required: false,
        schema: { type: 'integer', minimum: 1, maximum: 50, default: 20 },
      },
      { name: 'cursor', schema: { type: 'string' } },
      { name: 'even', schema: { type: 'boolean', default: false } },
    ])
    t.same(listThings['x-page'], page)
    t.match(made.paths['/v1/things/{id}']?.get?.parameters, [
      { name: 'id', in: 'path', required: true, schema: { format: 'uuid' } },
    ])
    const clamped = made.paths['/cdp/things']?.get?.parameters[0]?.schema
    t.notOk(clamped && 'maximum' in clamped)
  })
  t.test('has the body as the operation reads it', async (t) => {
    t.match(makeThing.requestBody, {
      required: true,
      content: {
        'application/json': {
          schema: {
            properties: { name: { minLength: 1, maxLength: 20 }, size: { type: 'integer', minimum: 0 } },
            required: ['name'],
            additionalProperties: false,
          },
        },
      },
    })
  })
  t.test('has every status that an operation can answer, with its codes', async (t) => {
    t.same(Object.keys(listThings.responses), ['200', '400', '401', '403', '429', '500', '503'])
    t.same(Object.keys(makeThing.responses), [
      '201',
      '400',
      '401',
      '403',
      '409',
      '413',
      '415',
      '429',
      '500',
      '503',
    ])
    t.same(Object.keys(made.paths['/v1/things/{id}']?.get?.responses ?? {}), [
      '200',
      '400',
      '401',
      '404',
      '429',
      '500',
      '503',
    ])
    t.equal(makeThing.responses['409']?.$ref, '#/components/responses/ConflictOrLimitReached')
    t.match(made.components.responses?.ConflictOrLimitReached, {
      content: {
        'application/json': {
          schema: {
            properties: { error: { properties: { code: { enum: ['conflict', 'limit_reached'] } } } },
          },
        },
      },
    })
  })
  t.test('refuses an operation with an error code that does not exist', async (t) => {
    const wrong = { ...(MADE[0] as Op), errors: ['no_such_code'] }
    t.throws(() => documentOf([wrong]), { message: 'list_things: no_such_code is not an error code' })
  })
  t.test('names a schema once, however often it is used', async (t) => {
    const ref = { $ref: '#/components/schemas/Thing' }
    t.match(listThings.responses['200']?.content['application/json'].schema, {
      properties: { data: { items: ref } },
    })
    t.match(makeThing.responses['201']?.content['application/json'].schema, ref)
    t.same(made.components.schemas?.Thing, {
      type: 'object',
      properties: { id: { type: 'string' }, size: { type: ['integer', 'null'], minimum: 0 } },
      required: ['id', 'size'],
      title: 'Thing',
    })
    const other = { ...(MADE[2] as Op), output: named('Thing', { other: v.string() }) }
    t.throws(() => documentOf([MADE[1] as Op, other]), { message: 'two different schemas are named Thing' })
  })
  t.test('names the host of each path', async (t) => {
    t.match(document.servers, [{ url: ORIGINS.baseUrl }])
    t.match(document.paths['/cdp/events']?.servers, [{ url: ORIGINS.cdpUrl }])
    t.match(made.paths['/cdp/things']?.servers, [{ url: ORIGINS.cdpUrl }])
    t.equal(document.paths['/v1/brand']?.servers, undefined)
  })
  t.test('has a tag for every operation', async (t) => {
    const tags = document.tags.map(({ name }) => name)
    t.same(
      operations(document).filter(({ tags: [tag] }) => !tags.includes(tag as string)),
      [],
    )
  })
})

t.test('every operation of the service has examples that its schemas allow', async (t) => {
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  ajv.addSchema(document, 'openapi.json')
  const allows = (name: string, schema: JsonSchema, example: unknown) => {
    const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi.json#/'))
    const validate = ajv.compile(local)
    t.ok(validate(example), `${name}: ${ajv.errorsText(validate.errors)}`)
  }
  for (const { operationId, requestBody, responses } of operations(document)) {
    const success = Object.entries(responses).find(([status]) => status < '300')?.[1]
    const body = requestBody?.required ? requestBody : undefined
    for (const { schema, example } of [body, success].flatMap(
      (part) => part?.content?.['application/json'] ?? [],
    )) {
      t.ok(example, `${operationId} has an example`)
      allows(operationId, schema, example)
    }
  }
  for (const { name, example, input } of OPS) {
    for (const part of ['path', 'query', 'body'] as const) {
      const schema = input[part]
      const sent = example?.[part]
      if (!schema || !sent) continue
      const texts = Object.fromEntries(Object.entries(sent).map(([key, value]) => [key, String(value)]))
      t.ok(v.safeParse(schema, part === 'body' ? sent : texts).success, `${name}: its example ${part}`)
    }
  }
})

t.test('an answer that is not as the document says fails whichever test gets it', async (t) => {
  const server = createHttpServer((_, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'x' }).end('{"id":1}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const wrong = /GET \/v1\/brand answered 200 .*\n(.*\n)*.*must have required property 'name'/
  await t.rejects(fetch(`${url}/v1/brand`), { message: wrong })
  await t.rejects(
    new Promise((resolve, reject) => {
      const sent = request(`${url}/v1/brand`, (response) => response.toArray().then(resolve, reject))
      sent.on('error', reject).end()
    }),
    { message: wrong },
  )
  await t.rejects(fetch(`${url}/v1/brand`, { method: 'PUT' }), { message: /PUT is not declared/ })
  t.equal((await fetch(`${url}/v1/of-nobody`)).status, 200, 'a path that the document does not have')
})

t.test('the linters', async (t) => {
  const file = join(t.testdir(), 'openapi.json')
  writeFileSync(file, openapiText(OPS, ORIGINS))
  const lint = async (name: string, ...args: string[]) => {
    const bin = join(CHECKOUT, 'node_modules/.bin', name)
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const running = promisify(execFile)(process.execPath, [bin, 'lint', file, ...args], {
      cwd: CHECKOUT,
      env,
    })
    return await running.then(
      ({ stdout, stderr }) => stdout + stderr,
      ({ stdout, stderr }) => `failed: ${stdout}${stderr}`,
    )
  }
  t.test('redocly finds nothing', async (t) => {
    const said = await lint('redocly', '--config', 'redocly.yaml')
    t.match(said, /Your API description is valid/)
    t.notMatch(said, /warning/i)
  })
  t.test('spectral finds nothing', async (t) => {
    t.match(
      await lint('spectral', '--fail-severity', 'warn'),
      /No results with a severity of 'warn' or higher found/,
    )
  })
})

t.test('over HTTP', async (t) => {
  t.capture(process.stderr, 'write')
  const db = await database(t)
  const config = readConfig({
    ...{ DATABASE_URL: db.url, DATA_DIR: t.testdir(), PORT: '0', RATE_LIMITS: 'off', LOG_LEVEL: 'error' },
    ...{ BASE_URL: ORIGINS.baseUrl, CDP_URL: ORIGINS.cdpUrl, WEBHOOK_URL: ORIGINS.webhookUrl },
  })
  const app = await openApp(config)
  const server = await startServer(app)
  const { port } = server
  t.teardown(async () => {
    await server.stop()
    await app.close()
  })
  const shop = 'lumen-home.myshopify.com'
  const brand = await makeBrand(db, { shop, features: ['cdp', 'beta:cdp-commerce'] })
  const { plaintext } = await createKey(db.postgres.forBrand(brand.id), { scopes: KEY_SCOPES })
  const { signIn } = await people(db, config.baseUrl, openSeal(config))
  const session = await signIn(brand, { kind: 'session' })
  /** The most that the document lets anybody come with. */
  const credentialOf = ({ security }: Pick<Described, 'security'>): Credential => {
    const takes = (scheme: string) => security.some((one) => scheme in one)
    if (takes('session')) return session
    return takes('apiKey') ? { authorization: `Bearer ${plaintext}` } : {}
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  t.teardown(() => agent.destroy())

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers, redirect: 'manual' })
  const send = (
    operation: Pick<Described, 'method' | 'security'>,
    path: string,
    body?: string | Buffer,
  ): Promise<Received> => {
    const { method } = operation
    const { promise, resolve, reject } = Promise.withResolvers<Received>()
    const headers = {
      ...credentialOf(operation),
      ...(path.startsWith('/cdp/ingest') && { origin: `https://${shop}` }),
      ...(body !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }),
    }
    // fetch would tidy up the path.
    const sent = request(
      { agent, host: '127.0.0.1', port, method, path, headers, timeout: 5_000 },
      async (response) => {
        const content = Buffer.concat(await response.toArray()).toString()
        const get = (name: string) => (response.headers[name.toLowerCase()] as string | undefined) ?? null
        resolve({ status: response.statusCode ?? 0, headers: { get }, text: content })
      },
    )
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${path} hangs`)))
    sent.on('error', reject).end(body)
    return promise
  }

  t.test('the document needs no credential and says how long it may be kept', async (t) => {
    const response = await get('/v1/openapi.json')
    t.equal(response.status, 200)
    t.equal(response.headers.get('content-type'), 'application/json')
    t.equal(response.headers.get('cache-control'), 'public, max-age=300')
    t.equal(response.headers.get('access-control-allow-origin'), '*')
    t.equal(await response.text(), openapiText(OPS, ORIGINS))
    const etag = response.headers.get('etag') ?? ''
    t.equal((await get('/v1/openapi.json', { 'if-none-match': `"x", W/${etag}` })).status, 304)
    t.equal((await get('/v1/openapi.json', { 'if-none-match': '"x"' })).status, 200)
  })
  t.test('its version is the date of the newest entry of the changelog', async (t) => {
    const { info } = (await (await get('/v1/openapi.json')).json()) as { info: { version: string } }
    t.equal(info.version, interfaceVersion())
    t.throws(() => interfaceVersion('# Changelog\n'), { message: /has no entry/ })
    const dates = [...readFileSync(join(CHECKOUT, 'docs/changelog.md'), 'utf8').matchAll(/^## (.*)$/gm)].map(
      ([, date]) => date,
    )
    t.same(dates, [...dates].sort().reverse())
  })

  t.test('the pages', async (t) => {
    for (const path of ['/docs', '/docs/changelog']) {
      t.test(`${path} load nothing from elsewhere`, async (t) => {
        const response = await get(path)
        const html = await response.text()
        t.equal(response.status, 200)
        const policy = response.headers.get('content-security-policy')
        t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /)
        t.notMatch(policy, /unsafe|\*|https?:/)
        const parts = [...html.matchAll(/<(?:script|link|img)\b[^>]*\b(?:src|href)="([^"]*)"/g)].map(
          ([, url]) => url as string,
        )
        t.ok(parts.length >= 2)
        t.notMatch(html, /<script>|<style|style="/)
        for (const url of parts) {
          const part = await get(url)
          t.match(url, /^\/docs\/assets\/[0-9a-f]{12}\//)
          t.equal(part.status, 200, url)
          t.equal(part.headers.get('cache-control'), 'public, max-age=31536000, immutable')
          t.ok((await part.arrayBuffer()).byteLength > 100)
        }
      })
    }
    t.test('compress what they load, for those that can read it', async (t) => {
      const html = await (await get('/docs')).text()
      const [script = ''] = /\/docs\/assets\/\w+\/swagger-ui-bundle\.js/.exec(html) ?? []
      const sizes = []
      for (const coding of ['gzip', 'identity']) {
        const { headers } = await get(script, { 'accept-encoding': coding })
        sizes.push(Number(headers.get('content-length')))
        t.equal(headers.get('vary'), 'accept-encoding')
      }
      t.ok((sizes[0] as number) < (sizes[1] as number) / 2)
    })
    t.test('have no other files, and none of another version', async (t) => {
      for (const path of [
        '/docs/assets/0/page.css',
        '/docs/assets/%2e%2e/package.json',
        '/docs/assets/x/..%2fpage.css',
      ])
        t.equal((await get(path)).status, 404, path)
    })
    t.test('show the changelog', async (t) => {
      const html = await (await get('/docs/changelog')).text()
      t.match(html, `<h2>${interfaceVersion()}</h2>`)
      t.match(html, /<table>/)
    })
    t.test('are found with a slash too', async (t) => {
      t.match(await get('/'), { status: 302 }, 'and so does the address of the server')
      const response = await get('/docs/')
      t.equal(response.status, 308)
      t.equal(response.headers.get('location'), '/docs')
    })
  })

  t.test('wrong input', async (t) => {
    const declared = contract(document)
    const answers = async (operation: Described, { path, body }: Pick<Wrong, 'path' | 'body'>) => {
      const response = await send(operation, path, body)
      return {
        status: response.status,
        problems: declared.problems(operation.method, path, response) ?? ['is not of the document'],
        text: response.text,
      }
    }
    const takesNothing = ({ parameters, strictQuery, body }: Described) =>
      parameters.length === 0 && !strictQuery && !body
    for (const operation of declared.operations.filter((one) => !takesNothing(one))) {
      t.test(`of ${operation.operationId} gets a declared 4xx`, async (t) => {
        // Pages and the protocols of others let pass what they do not know.
        const isLenient = operation.tags.includes('Sign-in')
        let tried = 0
        for (const wrong of wrongRequests(operation)) {
          const { status, problems, text } = await answers(operation, wrong)
          tried++
          if ((status < 400 && !isLenient) || status >= 500 || problems.length > 0)
            t.fail(`${wrong.label}: ${status} ${problems.join(', ')} ${text.slice(0, 300)}`)
        }
        t.ok(tried >= 2 || isLenient, `${tried} requests`)
      })
    }
    const folder = join(CHECKOUT, '../shared/data/json')
    const skip = !existsSync(folder) && '../shared/data/json is not here'
    t.test('such as naughty strings gets a declared answer', { skip }, async (t) => {
      const strings = JSON.parse(readFileSync(join(folder, 'naughty_strings.json'), 'utf8')) as string[]
      let at = 0
      for (const operation of declared.operations) {
        // Each operation gets other ones, so that more operations take no longer.
        const some = strings.filter((_, index) => index % declared.operations.length === at)
        at++
        for (const wrong of requestsWith(some, operation)) {
          const { status, problems, text } = await answers(operation, wrong)
          if (status >= 500 || problems.length > 0)
            t.fail(
              `${operation.operationId} ${wrong.label}: ${status} ${problems.join(', ')} ${text.slice(0, 300)}`,
            )
        }
      }
      t.ok(at > 0)
    })
    t.test('such as broken JSON gets 400, or 413 where it is too long', { skip }, async (t) => {
      // Where nothing is required, no data is as good as an empty object.
      // What has to be signed is refused before its body is read.
      const taking = declared.operations.filter(
        ({ body, operationId }) => body?.schema.required?.length && !operationId.startsWith('receive_'),
      )
      for (const [index, name] of readdirSync(join(folder, 'test_parsing')).entries()) {
        const operation = taking[index % taking.length] as (typeof taking)[number]
        const path = operation.path.replace(/\{\w+\}/g, '01890a5d-ac96-774b-bcce-b302099a8057')
        const response = await send(operation, path, readFileSync(join(folder, 'test_parsing', name)))
        const problems = declared.problems(operation.method, path, response)
        t.same(problems, [], `${operation.operationId} ${name}`)
        if (name.startsWith('n_')) t.ok([400, 413].includes(response.status), name)
      }
    })
  })
})
