import { once } from 'node:events'
import t, { type Test } from 'tap'
import * as v from 'valibot'
import { createAuthenticator } from '../src/access/authenticate.ts'
import { createCursors } from '../src/access/cursor.ts'
import { createKey } from '../src/access/key.ts'
import { fail } from '../src/errors.ts'
import { count, list, paging, queryBoolean, text, timestamp, uuid } from '../src/fields.ts'
import { type RestDeps, restRoutes } from '../src/http/rest.ts'
import { createServer } from '../src/http/server.ts'
import { type Lake, type Op, op, type Page } from '../src/op.ts'
import { brandOps } from '../src/ops/brand.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'

const any = v.any()
const refusing: Page = { default: 2, max: 5, over: 'refuse' }
const clamping: Page = { default: 2, max: 5, over: 'clamp' }
const numbers = Array.from({ length: 12 }, (_, at) => at)

/** Operations that answer with what reached them. */
const OPS: Op[] = [
  op({
    name: 'list_numbers',
    route: 'GET /v1/numbers',
    scopes: ['segments:read'],
    page: refusing,
    input: { query: v.strictObject({ ...paging(refusing), even: v.optional(queryBoolean) }) },
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
    name: 'list_clamped',
    route: 'GET /v1/clamped',
    scopes: [],
    page: clamping,
    input: { query: v.strictObject(paging(clamping)) },
    output: any,
    what: 'A limit.',
    run: async (_, { query }) => query,
  }),
  op({
    name: 'get_thing',
    route: 'GET /v1/things/{id}',
    scopes: ['segments:read', 'campaigns:read'],
    input: { path: v.strictObject({ id: uuid }) },
    output: any,
    what: 'A thing.',
    run: async ({ db }, { path }) => db.one('keys_of_brand', [path.id]),
  }),
  op({
    name: 'create_thing',
    route: 'POST /v1/things',
    scopes: ['segments:write'],
    status: 201,
    input: {
      body: v.strictObject({
        name: text({ min: 1, max: 10 }),
        kind: v.optional(v.picklist(['small', 'large'])),
        at: v.optional(timestamp),
        parts: v.optional(
          v.array(
            v.strictObject({ weight: v.pipe(v.number(), v.minValue(0)), note: v.optional(v.string()) }),
          ),
        ),
        open: v.optional(v.record(v.string(), v.unknown())),
      }),
    },
    output: any,
    what: 'Makes a thing.',
    run: async (_, { body }) => body,
  }),
  op({
    name: 'archive_thing',
    route: 'POST /v1/things/{id}/archive',
    scopes: [],
    input: { path: v.strictObject({ id: uuid }) },
    output: any,
    what: '',
    run: async () => ({ done: true }),
  }),
  op({
    name: 'sign_in_only',
    route: 'POST /v1/signed',
    scopes: [],
    signIn: true,
    output: any,
    what: '',
    run: async () => ({}),
  }),
  op({
    name: 'featured',
    route: 'GET /v1/featured',
    scopes: [],
    feature: 'cdp',
    output: any,
    what: '',
    run: async () => ({}),
  }),
  op({
    name: 'profiles',
    route: 'GET /cdp/profiles',
    surface: 'cdp',
    scopes: [],
    output: any,
    what: '',
    run: async () => ({}),
  }),
  op({ name: 'tool_only', scopes: [], output: any, what: '', run: async () => ({}) }),
  op({
    name: 'too_slow',
    route: 'POST /v1/too-slow',
    scopes: [],
    output: any,
    what: '',
    run: async () => {
      throw Object.assign(new Error('statement timeout'), { code: '57014' })
    },
  }),
  op({
    name: 'conflicting',
    route: 'POST /v1/conflict',
    scopes: [],
    output: any,
    what: '',
    run: async () => {
      throw fail('conflict', 'Taken')
    },
  }),
]

t.test('what a call reads of the lake hears when its client goes', async (t) => {
  const { postgres } = await database(t)
  const { id } = await makeBrand({ postgres })
  const { plaintext } = await createKey(postgres.forBrand(id), { scopes: ['segments:read'] })
  const authenticator = createAuthenticator(postgres.pipeline)
  t.teardown(() => authenticator.settled())
  const began = Promise.withResolvers<AbortSignal>()
  const untilGone = ({ signal }: { readonly signal: AbortSignal }) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      began.resolve(signal)
    })
  const computed = op({
    name: 'computed',
    route: 'GET /v1/computed',
    scopes: ['segments:read'],
    output: any,
    what: '',
    run: async ({ lake }) => ({ of: (await lake.sources()).generation }),
  })
  const server = createServer(
    restRoutes([computed], {
      authenticate: authenticator.authenticate,
      db: postgres.forBrand,
      lake: (_, call) => ({ sources: () => untilGone(call) }) as unknown as Lake,
      cursors: createCursors(Buffer.alloc(32, 7)),
    }),
  )
  const base = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  const logged = t.capture(process.stderr, 'write')
  const client = new AbortController()
  const sent = fetch(`${base}/v1/computed`, {
    headers: { authorization: `Bearer ${plaintext}` },
    signal: client.signal,
  })
  const signal = await began.promise
  client.abort()
  await t.rejects(sent)
  if (!signal.aborted) await once(signal, 'abort')
  await server.drain(1_000)
  const lines = logged().map(({ args }) => String(args[0]))
  t.match(lines.join(''), /"status":499/)
  t.notMatch(lines.join(''), /request_failed/)
})

t.test('REST', async (t) => {
  const { postgres } = await database(t)
  const plain = await makeBrand({ postgres })
  const featured = await makeBrand({ postgres }, { features: ['cdp'], name: 'Ünïcode & Söhne' })
  const authenticator = createAuthenticator(postgres.pipeline)
  t.teardown(() => authenticator.settled())
  const cursors = createCursors(Buffer.alloc(32, 7))
  const deps: RestDeps = {
    authenticate: authenticator.authenticate,
    db: postgres.forBrand,
    lake: () => ({}) as Lake,
    cursors,
  }
  const server = createServer(restRoutes([...OPS, ...brandOps], deps))
  const base = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  t.teardown(() => server.drain(0))
  t.capture(process.stderr, 'write')

  const key = async (scopes: string[], brand = plain, keyClass: 'cdp' | 'brand-api' = 'cdp') =>
    (await createKey(postgres.forBrand(brand.id), { scopes, keyClass })).plaintext
  const reader = await key(['segments:read', 'brand:read'])
  const writer = await key(['segments:write'])

  interface Call {
    as?: string
    body?: unknown
    raw?: string | Buffer
    type?: string
    headers?: Record<string, string>
  }
  const call = async (
    route: string,
    { as = reader, body, raw, type = 'application/json', headers = {} }: Call = {},
  ) => {
    const [method, path] = route.split(' ')
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(base + path, {
      method,
      body: content as string,
      headers: {
        ...(as ? { authorization: `Bearer ${as}` } : {}),
        ...(content === undefined ? {} : { 'content-type': type }),
        ...headers,
      },
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text ? JSON.parse(text) : undefined,
    }
  }
  const refused = async (t: Test, wanted: string | RegExp, route: string, options?: Call) =>
    t.match(
      await call(route, options),
      { status: 400, body: { error: { code: 'bad_request', message: wanted } } },
      `${route} ${JSON.stringify(options ?? '')}`,
    )
  const make = (body: unknown): [string, Call] => ['POST /v1/things', { as: writer, body }]

  t.test('credentials', async (t) => {
    t.test('no, an unknown and a retired credential are 401', async (t) => {
      t.match(await call('GET /v1/numbers', { as: '' }), {
        status: 401,
        body: { error: { code: 'unauthorized' } },
      })
      t.match(await call('GET /v1/numbers', { as: 'svc_x' }), {
        status: 401,
        body: { error: { code: 'unauthorized' } },
      })
      t.match(await call('GET /v1/numbers', { as: 'svc_live_x' }), {
        status: 401,
        body: { error: { code: 'legacy_credential_not_supported' } },
      })
      t.equal((await call('GET /v1/numbers', { as: '' })).headers.get('www-authenticate'), 'Bearer')
    })
    t.test('no cache keeps what a credential is answered, nor guesses a browser its type', async (t) => {
      for (const as of [reader, '']) {
        const { headers } = await call('GET /v1/numbers', { as })
        t.equal(headers.get('cache-control'), 'no-store')
        t.equal(headers.get('x-content-type-options'), 'nosniff')
      }
    })
    t.test('any one of an operation’s scopes is enough, none is 403 insufficient_scope', async (t) => {
      const wanted = {
        status: 403,
        body: {
          error: { code: 'insufficient_scope', message: /one of the scopes segments:read, campaigns:read/ },
        },
      }
      t.match(await call('GET /v1/things/x', { as: writer }), wanted)
      t.equal((await call('GET /v1/things/x', { as: await key(['campaigns:read']) })).status, 400)
    })
    t.test('an operation without scopes takes any key', async (t) => {
      t.equal((await call('GET /v1/clamped', { as: writer })).status, 200)
    })
    t.test('an API key at a sign-in operation is 403', async (t) => {
      t.match(await call('POST /v1/signed'), {
        status: 403,
        body: {
          error: { code: 'insufficient_scope', message: /a sign-in; .* recoup token --user EMAIL --scopes / },
        },
      })
    })
    t.test('an operation of a feature is 403 for a brand without it', async (t) => {
      t.match(await call('GET /v1/featured'), {
        status: 403,
        body: { error: { code: 'insufficient_scope', message: /cdp/ } },
      })
      t.equal((await call('GET /v1/featured', { as: await key(['brand:read'], featured) })).status, 200)
    })
    t.test('a provider key works on REST and is 401 on the CDP host', async (t) => {
      const provider = await key(['providers:read'], plain, 'brand-api')
      t.equal((await call('GET /v1/clamped', { as: provider })).status, 200)
      t.match(await call('GET /cdp/profiles', { as: provider }), {
        status: 401,
        body: { error: { code: 'unauthorized' } },
      })
    })
    t.test('path and method come before the credential, the credential before the input', async (t) => {
      t.equal((await call('GET /v1/none', { as: '' })).status, 404)
      t.equal((await call('DELETE /v1/numbers', { as: '' })).status, 405)
      t.equal((await call('GET /v1/numbers?offset=1', { as: '' })).status, 401)
      t.equal((await call('POST /v1/things', { raw: '{', type: 'text/plain' })).status, 403)
      t.equal((await call('GET /v1/things/%zz', { as: writer })).status, 403)
    })
    t.test('a tool without a route has none', async (t) => {
      t.equal((await call('GET /tool_only')).status, 404)
    })
  })

  t.test('the query', async (t) => {
    t.test('an unknown parameter is refused by name, with the known ones', async (t) => {
      await refused(
        t,
        '"offset" is not a parameter of this operation. Known: limit, cursor, even',
        'GET /v1/numbers?offset=1',
      )
      await refused(
        t,
        '"limmit" is not a parameter of this operation. Did you mean "limit"? Known: limit, cursor, even',
        'GET /v1/numbers?limmit=1',
      )
      await refused(
        t,
        '"limmit" is not a parameter of this operation. Known: limit, cursor, even',
        'GET /v1/numbers?limit=1&limmit=1',
      )
      await refused(t, '"x" is not a parameter of this operation', 'GET /v1/brand?x=')
      await refused(t, '"__proto__" is not a parameter', 'GET /v1/numbers?__proto__=1')
    })
    t.test('a parameter that comes twice is refused', async (t) => {
      await refused(t, 'limit must be given once', 'GET /v1/numbers?limit=1&limit=1')
    })
    t.test('a limit over the maximum is refused or clamped, as the page rule says', async (t) => {
      for (const limit of ['6', '9'.repeat(20)]) {
        await refused(t, 'limit must be at most 5', `GET /v1/numbers?limit=${limit}`)
        t.match((await call(`GET /v1/clamped?limit=${limit}`)).body, { limit: 5 })
      }
      t.match((await call('GET /v1/clamped')).body, { limit: 2 })
    })
    t.test('a limit that is not a positive integer is refused', async (t) => {
      for (const limit of ['0', '-1'])
        await refused(t, 'limit must be at least 1', `GET /v1/clamped?limit=${limit}`)
      for (const limit of ['', 'x', '1.5', '1e1', '%20', '0x1', '%00']) {
        await refused(t, /^limit must/, `GET /v1/clamped?limit=${limit}`)
      }
    })
    t.test('true and false are the booleans', async (t) => {
      t.same((await call('GET /v1/numbers?even=true')).body.data, [0, 2])
      await refused(t, 'even must be true or false', 'GET /v1/numbers?even=1')
    })
  })

  t.test('a list', async (t) => {
    t.test('is walked with its cursor to the end', async (t) => {
      const seen = []
      let cursor = ''
      do {
        const { body } = await call(`GET /v1/numbers?limit=5${cursor}`)
        t.same(Object.keys(body), ['data', 'next_cursor'])
        seen.push(...body.data)
        cursor = body.next_cursor && `&cursor=${body.next_cursor}`
      } while (cursor)
      t.same(seen, numbers)
    })
    t.test('refuses every cursor that was not issued for this call', async (t) => {
      const mine = (await call('GET /v1/numbers')).body.next_cursor
      const foreign = (await call('GET /v1/numbers', { as: await key(['segments:read'], featured) })).body
        .next_cursor
      const other = cursors.seal({ endpoint: 'list_clamped', brand: plain.id }, 1)
      await refused(t, /^cursor /, `GET /v1/numbers?even=true&cursor=${mine}`)
      for (const cursor of [foreign, other, 'x', `${mine}=`, ''])
        await refused(t, /^cursor /, `GET /v1/numbers?cursor=${cursor}`)
      t.equal((await call(`GET /v1/numbers?limit=1&cursor=${mine}`)).status, 200)
    })
  })

  t.test('a path', async (t) => {
    t.test('with a malformed id is 400', async (t) => {
      for (const id of ['1', 'x'.repeat(36), '%00', '%ff', '01890a5d-ac96-774b-bcce-b302099a805%20'])
        await refused(t, /^id must/, `GET /v1/things/${id}`)
    })
    t.test('with an unknown id is 404 not_found', async (t) => {
      const found = await call('GET /v1/things/01890A5D-AC96-774B-BCCE-B302099A8057')
      t.match(found, { status: 404, body: { error: { code: 'not_found' } } })
    })
  })

  t.test('a body', async (t) => {
    t.test('is parsed and answered with the status of the operation', async (t) => {
      const body = {
        name: 'é'.repeat(10),
        kind: 'small',
        at: '2026-11-30T08:15:00+02:00',
        parts: [{ weight: 1.5 }],
      }
      t.match(await call(...make(body)), { status: 201, body: { ...body, at: '2026-11-30T06:15:00.000Z' } })
    })
    t.test('is refused with the name of the field that is wrong', async (t) => {
      for (const [message, body] of [
        ['name is required', {}],
        ['name must be a string', { name: 1 }],
        ['name must be 1 to 10 characters', { name: '' }],
        ['name must be 1 to 10 characters', { name: '😀'.repeat(11) }],
        ['kind must be one of small, large', { name: 'a', kind: 'tiny' }],
        ['at must be an ISO 8601 time', { name: 'a', at: '2026-02-30T00:00:00Z' }],
        ['at must be an ISO 8601 time', { name: 'a', at: '30.11.2026' }],
        ['parts must be a list', { name: 'a', parts: {} }],
        ['parts[1].weight must be at least 0', { name: 'a', parts: [{ weight: 0 }, { weight: -1 }] }],
        ['parts[0].weight is required', { name: 'a', parts: [{}] }],
        [
          'parts[0].size is not a field of this body. Known: ',
          { name: 'a', parts: [{ weight: 1, size: 1 }] },
        ],
        [
          '"colour" is not a field of this body. Known: name, kind, at, parts, open',
          { name: 'a', colour: 'red' },
        ],
        ['"kinds" is not a field of this body. Did you mean "kind"? Known: name', { name: 'a', kinds: 1 }],
        ['The body must be a JSON object', []],
        ['The body must be a JSON object', null],
      ] as const) {
        await refused(t, message, ...make(body))
      }
    })
    t.test('that is not JSON is 400', async (t) => {
      for (const raw of ['{', 'name=a', '{"a":1}{}', '\ufeff{}', Buffer.from([0x22, 0xff, 0x22])]) {
        await refused(t, /^The body (is not valid|must be)/, 'POST /v1/things', { as: writer, raw })
      }
    })
    t.test('with values that no column can hold, or too many names, is 400', async (t) => {
      const names = Array.from({ length: 5_000 }, (_, at) => `"n${at}":0`).join()
      for (const [message, raw] of [
        [/^name must not hold the character U\+0000/, '{"name":"\\u0000"}'],
        [/^open\.x must not hold half of a surrogate/, '{"name":"a","open":{"x":"\\ud800"}}'],
        [/^open\.x\[0\] must be a number/, '{"name":"a","open":{"x":[1e999]}}'],
        [/^open\.__proto__ is not an allowed name/, '{"name":"a","open":{"__proto__":{}}}'],
        [/levels deep/, `{"name":"a","open":{"x":${'['.repeat(400_000)}${']'.repeat(400_000)}}}`],
        [/at most 5000 names/, `{"name":"a","open":{${names}}}`],
      ] as const) {
        await refused(t, message, 'POST /v1/things', { as: writer, raw })
      }
    })
    t.test('of another type is 415', async (t) => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '']) {
        t.match(
          await call('POST /v1/things', { as: writer, raw: '{"name":"a"}', type }),
          { status: 415, body: { error: { code: 'bad_request' } } },
          type,
        )
      }
      for (const type of [
        'application/json; charset=utf-8',
        'Application/JSON',
        'application/vnd.api+json',
      ]) {
        t.equal((await call('POST /v1/things', { as: writer, raw: '{"name":"a"}', type })).status, 201, type)
      }
    })
    t.test('over 1 MB is 413 bad_request', async (t) => {
      const fits = `{"name":"a"${' '.repeat(1024 * 1024 - 12)}}`
      t.equal((await call('POST /v1/things', { as: writer, raw: fits })).status, 201)
      t.match(await call('POST /v1/things', { as: writer, raw: `${fits} ` }), {
        status: 413,
        body: { error: { code: 'bad_request', message: /1 MB/ } },
      })
    })
    t.test('that an operation does not take may be {} or nothing', async (t) => {
      const route = 'POST /v1/things/01890a5d-ac96-774b-bcce-b302099a8057/archive'
      t.same((await call(route)).body, { done: true })
      t.same((await call(route, { body: {} })).body, { done: true })
      await refused(t, '"force" is not a field of this body', route, { body: { force: true } })
    })
  })

  t.test('a failure of an operation is its status and code', async (t) => {
    t.match(await call('POST /v1/conflict'), {
      status: 409,
      body: { error: { code: 'conflict', message: 'Taken' } },
    })
  })
  t.test('a statement that takes too long is 503 unavailable', async (t) => {
    t.match(await call('POST /v1/too-slow'), { status: 503, body: { error: { code: 'unavailable' } } })
  })
  t.test('two operations at one route are refused at the start', async (t) => {
    t.throws(() => restRoutes([...brandOps, ...brandOps], deps), /two operations/)
  })
  t.test('a list operation without limit and cursor is refused at the start', async (t) => {
    const wrong = op({
      name: 'wrong',
      route: 'GET /v1/wrong',
      scopes: [],
      page: refusing,
      output: any,
      what: '',
      run: async () => ({}),
    })
    t.throws(() => restRoutes([wrong], deps), /wrong/)
  })

  t.test('GET /v1/brand answers the caller’s brand', async (t) => {
    const { body } = await call('GET /v1/brand', { as: await key(['brand:read'], featured) })
    t.same(body, { ...featured, created_at: body.created_at })
    t.match(body.created_at, /^\d{4}-\d\d-\d\dT.*Z$/)
    t.same(Object.keys(body), [
      'id',
      'name',
      'shop_domain',
      'storefront_domains',
      'currency_code',
      'timezone',
      'default_phone_region',
      'features',
      'created_at',
    ])
    t.match(await call('GET /v1/brand', { as: writer }), { status: 403 })
  })
})
