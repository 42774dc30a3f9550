import dns from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { decodeJwt } from 'jose'
import t, { type Test } from 'tap'
import { isPublicSite } from '../src/access/sign-in/public-host.ts'
import { fail } from '../src/errors.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { type Client, codeForm, PASSWORD, PASSWORD_HASH, signInServer } from './fixtures/sign-in-server.ts'

const db = await database(t)
const brand = await makeBrand(db)
const server = await signInServer(t, db)
const { base } = server
await server.user('admin@a.co', [[brand, 'admin']])
await server.user('member@a.co', [[brand, 'member']])

/** The answer of the authorization endpoint, as it reaches the client. */
const answerOf = (url: string) => Object.fromEntries(new URL(url).searchParams)
const brandOf = (token: string) => server.call('/v1/brand', token)

/** Notes the names that are looked up, each of which is an address inside the network. */
function lookingUp(t: Test, seen: unknown[]): void {
  const { lookup } = dns
  t.teardown(() => Object.assign(dns, { lookup }))
  dns.lookup = (async (name: string) => {
    seen.push(name)
    return [{ address: '127.0.0.1', family: 4 }]
  }) as unknown as typeof lookup
}

t.test('discovery', async (t) => {
  t.test('says the same at the paths of OAuth and of OpenID', async (t) => {
    const { body } = await server.call('/.well-known/oauth-authorization-server')
    t.match(body, {
      issuer: base,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      registration_endpoint: `${base}/oauth/register`,
      revocation_endpoint: `${base}/oauth/revoke`,
      jwks_uri: `${base}/oauth/jwks`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
    })
    t.ok(body.token_endpoint_auth_methods_supported.includes('none'))
    t.ok(body.scopes_supported.includes('keys:manage'))
    t.same((await server.call('/.well-known/openid-configuration')).body, body)
  })
  t.test('names the protected resource at both paths', async (t) => {
    const { status, body } = await server.call('/.well-known/oauth-protected-resource')
    t.equal(status, 200)
    t.match(body, { resource: `${base}/mcp`, authorization_servers: [base] })
    t.notOk(body.scopes_supported.includes('offline_access'))
    t.same((await server.call('/.well-known/oauth-protected-resource/mcp')).body, body)
  })
  t.test('is pointed at by a 401', async (t) => {
    for (const path of ['/v1/brand', '/mcp']) {
      const { status, headers } = await server.call(path, 'nonsense', {
        method: path === '/mcp' ? 'POST' : 'GET',
      })
      t.equal(status, 401)
      const challenge = `resource_metadata="${base}/.well-known/oauth-protected-resource"`
      t.ok(headers.get('www-authenticate')?.includes(challenge), path)
    }
  })
  t.test('shows the public key only', async (t) => {
    const { body } = await server.call('/oauth/jwks')
    t.equal(body.keys.length, 1)
    t.match(body.keys[0], { kty: 'EC', alg: 'ES256', kid: /./ })
    t.notOk('d' in body.keys[0])
  })
  t.test('can be read and used by pages of any site', async (t) => {
    const preflight = await fetch(`${base}/oauth/token`, {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example' },
    })
    t.equal(preflight.status, 204)
    t.equal(preflight.headers.get('access-control-allow-origin'), '*')
    const client = await server.register()
    const answer = await fetch(`${base}/oauth/token`, {
      method: 'POST',
      headers: { origin: 'https://a.example' },
      body: new URLSearchParams({ client_id: client.id, grant_type: 'refresh_token', refresh_token: 'x' }),
    })
    t.equal(answer.headers.get('access-control-allow-origin'), '*')
    t.match(await answer.json(), { error: 'invalid_grant' })
    const refused = await fetch(`${base}/oauth/register`, {
      method: 'POST',
      headers: { origin: 'https://a.example', 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'x'.repeat(5_000) }),
    })
    t.match([refused.status, refused.headers.get('access-control-allow-origin')], [413, '*'])
  })
  t.test('says to pages of any site that a method is wrong', async (t) => {
    for (const path of ['/oauth/token', '/oauth/register', '/oauth/revoke', '/oauth/jwks']) {
      const answer = await fetch(base + path, { method: 'PUT', headers: { origin: 'https://a.example' } })
      t.equal(answer.headers.get('access-control-allow-origin'), '*', path)
      t.match([answer.status, await answer.json()], [405, { error: 'method_not_allowed' }], path)
    }
    const resource = await fetch(`${base}/.well-known/oauth-protected-resource`, { method: 'PUT' })
    t.match([resource.status, resource.headers.get('access-control-allow-origin')], [405, '*'])
  })
  t.test('answers HEAD as GET without the body, OPTIONS, and 405 for other methods', async (t) => {
    const paths = ['oauth-authorization-server', 'openid-configuration', 'oauth-protected-resource']
    for (const path of [
      ...paths.map((name) => `/.well-known/${name}`),
      '/.well-known/oauth-protected-resource/mcp',
      '/oauth/jwks',
    ]) {
      const [get, head] = [await fetch(base + path), await fetch(base + path, { method: 'HEAD' })]
      t.equal(head.status, 200, path)
      t.equal(await head.text(), '')
      t.ok((await get.text()).length > 50)
      for (const header of ['content-type', 'access-control-allow-origin'])
        t.equal(head.headers.get(header), get.headers.get(header), header)
      const preflight = await fetch(base + path, {
        method: 'OPTIONS',
        headers: { origin: 'https://a.example' },
      })
      t.equal(preflight.status, 204, path)
      t.match(preflight.headers.get('access-control-allow-headers'), /Authorization/)
      const put = await fetch(base + path, { method: 'PUT' })
      t.equal(put.status, 405, path)
      t.match(put.headers.get('allow'), /GET.*HEAD/)
    }
    const origin = 'https://a.example'
    for (const path of ['/oauth/authorize', '/sign-in', '/sign-in/brand', '/sign-out']) {
      const { status, headers } = await fetch(base + path, { method: 'OPTIONS', headers: { origin } })
      t.equal(status, 204)
      t.equal(headers.get('access-control-allow-origin'), null, `${path} is no page of another site's`)
    }
  })
})

t.test('registration', async (t) => {
  t.test('leaves out what is unknown here', async (t) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({
      redirect_uris: ['cursor://callback', 'https://app.example/callback'],
      scope: 'openid profile segments:read',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      jwks_uri: 'http://169.254.169.254/',
      software_id: 'x',
    })
    const answer = await server.call('/oauth/register', undefined, { method: 'POST', headers, body })
    t.equal(answer.status, 201)
    t.match(answer.body, {
      scope: 'openid segments:read',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    })
    t.notOk('jwks_uri' in answer.body)
    t.notOk('client_secret' in answer.body)
  })
  t.test('refuses addresses that are not the client’s own', async (t) => {
    for (const uri of ['javascript:alert(1)', 'data:text/html,x', 'http://app.example/callback', 'no'])
      await t.rejects(
        server.register({ redirect_uris: [uri] }),
        /invalid_(redirect_uri|client_metadata)/,
        uri,
      )
    await t.rejects(server.register({ redirect_uris: [] }), /redirect_uris/)
  })
  t.test('does not fetch client metadata from inside the network', async (t) => {
    let connections = 0
    const inside = createServer(() => connections++).listen(0, '127.0.0.1')
    t.teardown(() => inside.close())
    await once(inside, 'listening')
    const { port } = inside.address() as AddressInfo
    const hosts = [`127.0.0.1:${port}`, `localhost:${port}`, '127.0.0.1', 'localhost', '[::1]', '10.1.2.3']
    for (const host of hosts) {
      const client = { id: `https://${host}/client.json`, redirectUri: 'http://localhost:9999/callback' }
      t.match(
        await server.browser().open(server.authorizeUrl(client)),
        { status: 400, text: /fetch not allowed/ },
        host,
      )
    }
    t.equal(connections, 0, 'nor does it connect')
  })
  t.test('knows which addresses are of public sites', async (t) => {
    for (const host of ['8.8.8.8', '172.32.0.1', '[2606:4700::1111]'])
      t.ok(await isPublicSite(`https://${host}/client.json`), host)
    const inside = ['0.0.0.0', '100.64.0.1', '169.254.169.254', '172.31.255.255', '192.168.0.1', '224.0.0.1']
    const insideIPv6 = [
      '[::]',
      '[::ffff:127.0.0.1]',
      '[fd00::1]',
      '[fe80::1]',
      '[64:ff9b::a00:1]',
      '[2002:a00::]',
    ]
    for (const host of [...inside, ...insideIPv6, '8.8.8.8:444', 'nobody.invalid'])
      t.notOk(await isPublicSite(`https://${host}/client.json`), host)
  })
})

t.test('the flow', async (t) => {
  t.test('leads from registration to a call in the name of the user', async (t) => {
    const client = await server.register()
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(client))
    t.match(login.text, /Sign in/)
    t.match(login.text, /Test client/)
    const consent = await visitor.submit(login, '/login', { email: ' Admin@A.co', password: PASSWORD })
    t.match(consent.text, /Connect <bdi>Test client<\/bdi>\?/)
    t.match(consent.text, /Segments and who is in them/)
    t.notMatch(consent.text, /Orders/)
    const end = await visitor.submit(consent, '/consent')
    const { code, ...answer } = answerOf(end.url)
    t.same(answer, { state: 'the state', iss: base })

    const { status, body } = await server.token(client, codeForm(client, String(code)))
    t.equal(status, 200)
    t.match(body, { token_type: 'Bearer', expires_in: 3600, scope: 'brand:read segments:read' })
    t.match(decodeJwt(body.access_token), {
      iss: base,
      aud: `${base}/mcp`,
      client_id: client.id,
      brand_id: brand.id,
      scope: 'brand:read segments:read',
    })
    t.match(await brandOf(body.access_token), { status: 200, body: { id: brand.id } })
    t.match(await server.call('/v1/things', body.access_token, { method: 'POST' }), {
      status: 403,
      body: { error: { code: 'insufficient_scope' } },
    })
  })
  t.test('asks to sign in once in a browser, and to consent each time', async (t) => {
    const visitor = server.browser()
    const [one, two] = [await server.register(), await server.register()]
    await server.goThrough(await visitor.open(server.authorizeUrl(one)), visitor, 'admin@a.co')
    for (const client of [one, two]) {
      const page = await visitor.open(server.authorizeUrl(client))
      t.match(page.text, /You are signed in as admin@a.co/)
      t.match(answerOf((await visitor.submit(page, '/consent')).url), { code: /./ })
    }
    const page = await visitor.open(server.authorizeUrl(one, { prompt: 'login' }))
    t.match(page.forms[0]?.action, /login$/, 'unless the client wants it again')
    const next = await visitor.submit(page, '/login', { email: 'member@a.co', password: PASSWORD })
    t.match(next.text, /You are signed in as member@a.co/, 'as another user even')
  })
  t.test('needs PKCE by S256', async (t) => {
    const client = await server.register()
    for (const more of [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge_method: 'plain' },
      { code_challenge_method: undefined },
    ]) {
      const { url } = await server.browser().open(server.authorizeUrl(client, more))
      t.match(answerOf(url), { error: 'invalid_request', iss: base }, JSON.stringify(more))
    }
    const visitor = server.browser()
    const page = await visitor.open(server.authorizeUrl(client))
    const { code } = answerOf((await server.goThrough(page, visitor, 'admin@a.co')).url)
    const wrong = { ...codeForm(client, String(code)), code_verifier: 'x'.repeat(43) }
    t.match(await server.token(client, wrong), { status: 400, body: { error: 'invalid_grant' } })
  })
  t.test('takes a code once, and then takes back what was given for it', async (t) => {
    const client = await server.register()
    const visitor = server.browser()
    const page = await visitor.open(server.authorizeUrl(client))
    const { code } = answerOf((await server.goThrough(page, visitor, 'admin@a.co')).url)
    const { body } = await server.token(client, codeForm(client, String(code)))
    t.equal((await brandOf(body.access_token)).status, 200)
    t.match(await server.token(client, codeForm(client, String(code))), { body: { error: 'invalid_grant' } })
    t.equal((await brandOf(body.access_token)).status, 401)
  })
  t.test('never sends an answer to an address that was not registered', async (t) => {
    const client = await server.register()
    const page = await server
      .browser()
      .open(server.authorizeUrl(client, { redirect_uri: 'https://evil.example/' }))
    t.equal(page.status, 400)
    t.ok(page.url.startsWith(base))
    t.match(page.headers.get('content-security-policy'), /default-src 'none'/)
  })
  t.test('takes any port of this device, as the client chose', async (t) => {
    const client = await server.register()
    const visitor = server.browser()
    const redirectUri = 'http://localhost:51234/callback'
    const page = await visitor.open(server.authorizeUrl(client, { redirect_uri: redirectUri }))
    t.match(
      (await server.goThrough(page, visitor, 'admin@a.co')).url,
      /^http:\/\/localhost:51234\/callback\?code=/,
    )
  })
  t.test('is for MCP or all of the service, and for no other resource', async (t) => {
    const client = await server.register()
    for (const [resource, audience] of [
      [`${base}/mcp`, `${base}/mcp`],
      [`${base}/`, base],
      [base, base],
      [undefined, base],
    ]) {
      const { access_token: token } = await server.tokens(client, 'admin@a.co', { resource })
      t.equal(decodeJwt(token).aud, audience)
      t.equal((await brandOf(token)).status, 200)
    }
    const { url } = await server
      .browser()
      .open(server.authorizeUrl(client, { resource: 'https://other.example/mcp' }))
    t.match(answerOf(url), { error: 'invalid_target' })
  })
  t.test('grants what the client usually needs when it asks for nothing', async (t) => {
    const client = await server.register()
    const { scope } = await server.tokens(client, 'admin@a.co', { scope: undefined })
    t.match(scope, /segments:write/)
    t.notMatch(scope, /keys:manage/)
    const limited = await server.register({ scope: 'stats:read' })
    t.equal((await server.tokens(limited, 'admin@a.co', { scope: undefined })).scope, 'stats:read')
  })
  t.test('says that who sees customers sees what they bought', async (t) => {
    const visitor = server.browser()
    const login = await visitor.open(
      server.authorizeUrl(await server.register(), { scope: 'customers:read' }),
    )
    const consent = await visitor.submit(login, '/login', { email: 'admin@a.co', password: PASSWORD })
    t.match(consent.text, /Customers, what they did and what they bought/)
  })
  t.test('leaves out scopes that do not exist', async (t) => {
    const client = await server.register()
    t.equal(
      (await server.tokens(client, 'admin@a.co', { scope: 'cdp:read stats:read x' })).scope,
      'stats:read',
    )
    const { url } = await server.browser().open(server.authorizeUrl(client, { scope: 'cdp:read' }))
    t.match(answerOf(url), { error: 'invalid_scope' })
  })
})

t.test('calls before a sign-in are limited by address', async (t) => {
  const seen: unknown[] = []
  const limit = ({ name, rate }: { name: string; rate?: object }, address: string) => {
    seen.push([name, rate, address])
    throw fail('rate_limited', 'Slowly', { headers: { 'retry-after': '3' } })
  }
  const limited = await signInServer(t, db, { limit })
  const answer = await limited.call('/oauth/register', undefined, { method: 'POST', body: '{}' })
  t.match(answer, { status: 429, body: { error: 'rate_limited', error_description: 'Slowly' } })
  t.equal(answer.headers.get('retry-after'), '3')
  t.same(seen, [['oauth_register', { count: 60, per: 'minute' }, '127.0.0.1']])
  const page = await limited.call(`/oauth/authorize?client_id=x`)
  t.match(page, { status: 429, body: /<h1>This cannot be done/ })
})

t.test('registrations of all addresses together have a limit', async (t) => {
  const seen: unknown[] = []
  const limitShared = async (...counted: unknown[]) => {
    seen.push(counted)
    throw fail('rate_limited', 'Slowly', { headers: { 'retry-after': '3' } })
  }
  const limited = await signInServer(t, db, { limitShared })
  const answer = await limited.call('/oauth/register', undefined, { method: 'POST', body: '{}' })
  t.match(answer, { status: 429, body: { error: 'rate_limited', error_description: 'Slowly' } })
  t.same(seen, [['oauth_register', { count: 120, per: 'minute', burst: 1_200 }]])
})

t.test(
  'sign-ins that are asked for have a limit of an address, and what is kept one of all together',
  async (t) => {
    const seen: unknown[] = []
    const limited = await signInServer(t, db, {
      limit: ({ name, rate }: { name: string; rate?: object }) => void seen.push([name, rate]),
      limitShared: async (key: string, rate: object) => {
        seen.push([key, rate])
        if (key === 'oauth_authorize')
          throw fail('rate_limited', 'Slowly', { headers: { 'retry-after': '3' } })
      },
      trustedHops: 1,
    })
    const client = await server.register()
    const ask = async (of: Client, more: Record<string, string>, address: string) => {
      seen.length = 0
      const { pathname, search } = new URL(limited.authorizeUrl(of, more))
      return await limited.call(pathname + search, undefined, { headers: { 'x-forwarded-for': address } })
    }
    const own = ['oauth_authorize', { count: 60, per: 'minute' }]
    const all = ['oauth_authorize', { count: 600, per: 'minute', burst: 1_200 }]
    t.match(await ask(client, {}, '192.0.2.1'), { status: 429, body: /Slowly/ })
    t.same(seen, [own, all])
    t.match(await ask(client, {}, '2001:db8:1:2::3'), { status: 429, body: /Slowly/ })
    t.same(seen, [own, ['oauth_authorize of 2001:db8:1', { count: 300, per: 'minute' }], all])
    t.match(await ask({ ...client, id: 'nobody' }, {}, '192.0.2.1'), { status: 400 })
    t.same(seen, [own], 'an unknown client is kept nothing of')
    t.match(await ask(client, { redirect_uri: 'https://elsewhere.example/' }, '192.0.2.1'), { status: 400 })
    t.same(seen, [own], 'nor who wants the answer elsewhere')
    lookingUp(t, seen)
    const away = { ...client, id: 'HTTPS://client.example/app.json' }
    t.match(await ask(away, {}, '2001:db8:1:2::3'), { status: 429, body: /Slowly/ })
    t.same(
      seen,
      [own, ['oauth_authorize of 2001:db8:1', { count: 300, per: 'minute' }], all],
      'a client that is a document is looked for once it is counted',
    )
  },
)

t.test('a client that is a document is counted wherever it would be fetched', async (t) => {
  const seen: unknown[] = []
  const limited = await signInServer(t, db, {
    limitShared: async (key: string, rate: object) => {
      seen.push([key, rate])
      if (key === 'oauth_authorize') throw fail('rate_limited', 'Slowly', { headers: { 'retry-after': '3' } })
    },
    trustedHops: 1,
  })
  lookingUp(t, seen)
  for (const path of ['/oauth/token', '/oauth/revoke']) {
    seen.length = 0
    const answer = await limited.call(path, undefined, {
      method: 'POST',
      headers: { 'x-forwarded-for': '2001:db8:1:2::3' },
      body: new URLSearchParams({
        client_id: 'https://client.example/app.json',
        grant_type: 'refresh_token',
        refresh_token: 'x',
        token: 'x',
      }),
    })
    t.match(answer, { status: 429, body: { error: 'rate_limited', error_description: 'Slowly' } }, path)
    t.equal(answer.headers.get('retry-after'), '3')
    t.same(seen, [
      ['oauth_authorize of 2001:db8:1', { count: 300, per: 'minute' }],
      ['oauth_authorize', { count: 600, per: 'minute', burst: 1_200 }],
    ])
  }
})

t.test('a sign-in whose client is a document is counted once', async (t) => {
  const seen: string[] = []
  const limited = await signInServer(t, db, { limitShared: async (key: string) => void seen.push(key) })
  const { lookup } = dns
  t.teardown(() => Object.assign(dns, { lookup }))
  dns.lookup = (async () => [{ address: '127.0.0.1', family: 4 }]) as unknown as typeof lookup
  const away = { id: 'https://client.example/app.json', redirectUri: 'https://client.example/' }
  t.match(await limited.browser().open(limited.authorizeUrl(away)), { status: 400 })
  t.same(seen, ['oauth_authorize'])
})

t.test('what a sign-in is asked for with may have 4 KB, since it is kept', async (t) => {
  const client = await server.register()
  const ask = (length: number) =>
    server.browser().open(server.authorizeUrl(client, { state: 'x'.repeat(length) }))
  t.match(await ask(3_000), { status: 200, text: /Sign in/ })
  t.match(await ask(4_096), { status: 400, text: /at most 4 KB/ })
})

t.test('a registration may have 4 KB', async (t) => {
  const register = (length: number) =>
    server.call('/oauth/register', undefined, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['http://localhost/'], client_name: 'x'.repeat(length) }),
    })
  t.equal((await register(4_000)).status, 201)
  t.match(await register(4_096), { status: 413, body: { error: 'bad_request' } })
})

t.test('the authorization server being without Postgres is not the fault of whoever asks', async (t) => {
  const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  let isAway = false
  const { pipeline } = db.postgres
  const maybe: typeof pipeline.maybe = (...args) => (isAway ? Promise.reject(away) : pipeline.maybe(...args))
  const weak = await signInServer(t, db, { pipeline: { ...pipeline, maybe } })
  const client = await weak.register()
  const { access_token: token } = await weak.tokens(client, 'admin@a.co')
  isAway = true
  const form = { grant_type: 'refresh_token', refresh_token: 'x' }
  t.match(await weak.token(client, form), { status: 503, body: { error: 'server_error' } })
  await weak.signIn.forget('user', String(decodeJwt(token).sub))
  t.match(await weak.call('/v1/brand', token), { status: 503, body: { error: { code: 'unavailable' } } })
  t.match(
    await weak.call('/sign-in', undefined, {
      headers: {
        cookie: await weak.signIn.sessions.start(String(decodeJwt(token).sub), brand.id, PASSWORD_HASH),
      },
    }),
    { status: 503, body: /That did not work/ },
  )
})
