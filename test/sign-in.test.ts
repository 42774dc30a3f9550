import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, SignJWT } from 'jose'
import t from 'tap'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { type Client, codeForm, PASSWORD, signInServer } from './fixtures/sign-in-server.ts'

const db = await database(t)
const [brand, other] = [await makeBrand(db, { name: 'Öko & Söhne <b>' }), await makeBrand(db, { name: 'Zweite' })]
const server = await signInServer(t, db)
const { base, signIn } = server
await server.user('admin@a.co', [[brand, 'admin']])
await server.user('member@a.co', [[brand, 'member']])
await server.user('both@a.co', [
  [brand, 'admin'],
  [other, 'member'],
])

/** The answer of the authorization endpoint, as it reaches the client. */
const answerOf = (url: string) => Object.fromEntries(new URL(url).searchParams)
const refresh = (client: Client, token: string) =>
  server.token(client, { grant_type: 'refresh_token', refresh_token: token })
const revoke = (client: Client, token: string) =>
  fetch(`${base}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ client_id: client.id, token }) })
const brandOf = (token: string) => server.call('/v1/brand', token)

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
      const { status, headers } = await server.call(path, 'nonsense', { method: path === '/mcp' ? 'POST' : 'GET' })
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
    const preflight = await fetch(`${base}/oauth/token`, { method: 'OPTIONS', headers: { origin: 'https://a.example' } })
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
      await t.rejects(server.register({ redirect_uris: [uri] }), /invalid_(redirect_uri|client_metadata)/, uri)
    await t.rejects(server.register({ redirect_uris: [] }), /redirect_uris/)
  })
  t.test('does not fetch client metadata from inside the network', async (t) => {
    const page = await server.browser().open(
      server.authorizeUrl({ id: 'https://127.0.0.1/client.json', redirectUri: 'http://localhost:9999/callback' }),
    )
    t.equal(page.status, 400)
    t.match(page.text, /fetch failed/)
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
    t.match(consent.text, /Connect Test client\?/)
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
    const page = await server.browser().open(server.authorizeUrl(client, { redirect_uri: 'https://evil.example/' }))
    t.equal(page.status, 400)
    t.ok(page.url.startsWith(base))
    t.match(page.headers.get('content-security-policy'), /default-src 'none'/)
  })
  t.test('takes any port of this device, as the client chose', async (t) => {
    const client = await server.register()
    const visitor = server.browser()
    const redirectUri = 'http://localhost:51234/callback'
    const page = await visitor.open(server.authorizeUrl(client, { redirect_uri: redirectUri }))
    t.match((await server.goThrough(page, visitor, 'admin@a.co')).url, /^http:\/\/localhost:51234\/callback\?code=/)
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
    const { url } = await server.browser().open(server.authorizeUrl(client, { resource: 'https://other.example/mcp' }))
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
  t.test('leaves out scopes that do not exist', async (t) => {
    const client = await server.register()
    t.equal((await server.tokens(client, 'admin@a.co', { scope: 'cdp:read stats:read x' })).scope, 'stats:read')
    const { url } = await server.browser().open(server.authorizeUrl(client, { scope: 'cdp:read' }))
    t.match(answerOf(url), { error: 'invalid_scope' })
  })
})

t.test('consent', async (t) => {
  const client = await server.register({ client_name: '<script>alert(1)</script>' })
  t.test('shows names as they are', async (t) => {
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(client))
    const page = await visitor.submit(login, '/login', { email: 'both@a.co', password: PASSWORD })
    t.notMatch(page.text, /<script|<b>/)
    t.match(page.text, /Öko &#38; Söhne &#60;b&#62;/)
    t.match(page.text, /Your answer is sent to an app on this device/)
    t.match(page.headers.get('content-security-policy'), /default-src 'none'; style-src 'sha256-.*frame-ancestors 'none'/)
    t.equal(page.headers.get('cache-control'), 'no-store')
  })
  t.test('lets a user of several brands choose one, which the token is then for', async (t) => {
    for (const one of [brand, other]) {
      const { access_token: token } = await server.tokens(client, 'both@a.co', {}, one.id)
      t.equal(decodeJwt(token).brand_id, one.id)
      t.match(await brandOf(token), { status: 200, body: { name: one.name } })
    }
  })
  t.test('is for brands of the user only', async (t) => {
    const visitor = server.browser()
    const page = await visitor.open(server.authorizeUrl(client))
    const again = await server.goThrough(page, visitor, 'admin@a.co', other.id)
    t.equal(again.status, 400)
    t.match(again.text, /Choose the brand/)
  })
  t.test('gives keys:manage to administrators of the brand only', async (t) => {
    const scope = 'brand:read keys:manage'
    t.equal((await server.tokens(client, 'admin@a.co', { scope })).scope, scope)
    t.equal((await server.tokens(client, 'member@a.co', { scope })).scope, 'brand:read')
    t.equal((await server.tokens(client, 'both@a.co', { scope }, other.id)).scope, 'brand:read')
    const visitor = server.browser()
    const page = await visitor.open(server.authorizeUrl(client, { scope: 'keys:manage' }))
    const refused = await server.goThrough(page, visitor, 'member@a.co')
    t.equal(refused.status, 403)
    t.match(refused.text, /ask an administrator/)
  })
  t.test('can be refused', async (t) => {
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(client))
    const page = await visitor.submit(login, '/login', { email: 'admin@a.co', password: PASSWORD })
    t.match(answerOf((await visitor.submit(page, '/cancel')).url), { error: 'access_denied', state: 'the state' })
  })
  t.test('can be left to another account', async (t) => {
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(client))
    const page = await visitor.submit(login, '/login', { email: 'admin@a.co', password: PASSWORD })
    const again = await visitor.submit(page, '/switch')
    t.match(again.forms[0]?.action, /login$/)
    const end = await server.goThrough(again, visitor, 'member@a.co')
    const { body } = await server.token(client, codeForm(client, String(answerOf(end.url).code)))
    t.match(await signIn.verify(body.access_token), { caller: { role: 'member' } })
  })
  t.test('is given on a page of ours, in the browser that was asked', async (t) => {
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(client))
    const page = await visitor.submit(login, '/login', { email: 'admin@a.co', password: PASSWORD })
    const foreign = await visitor.submit(page, '/consent', {}, { origin: 'https://evil.example' })
    t.equal(foreign.status, 403)
    const elsewhere = await server.browser().submit(page, '/consent')
    t.equal(elsewhere.status, 400)
    t.match(elsewhere.text, /has ended/)
  })
  t.test('is asked of whoever is signed in still', async (t) => {
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(client))
    const page = await visitor.submit(login, '/login', { email: 'admin@a.co', password: PASSWORD })
    await signIn.sessions.end(`recoup_session=${visitor.cookies.get('recoup_session')}`)
    t.match((await visitor.submit(page, '/consent')).forms[0]?.action, /login$/)
  })
})

t.test('refresh and revocation', async (t) => {
  const client = await server.register()
  t.test('a refresh token is good for one more, and its second use ends the grant', async (t) => {
    const first = await server.tokens(client, 'admin@a.co')
    const { status, body: second } = await refresh(client, first.refresh_token)
    t.equal(status, 200)
    t.not(second.refresh_token, first.refresh_token)
    t.equal((await brandOf(first.access_token)).status, 200)
    t.equal((await brandOf(second.access_token)).status, 200)
    t.match(await refresh(client, first.refresh_token), { status: 400, body: { error: 'invalid_grant' } })
    t.equal((await brandOf(second.access_token)).status, 401)
    t.match(await refresh(client, second.refresh_token), { body: { error: 'invalid_grant' } })
  })
  t.test('one of those who use it at the same moment succeeds', async (t) => {
    const { refresh_token: token } = await server.tokens(client, 'admin@a.co')
    const answers = await Promise.all(Array.from({ length: 5 }, () => refresh(client, token)))
    t.ok(answers.filter(({ status }) => status === 200).length <= 1)
    t.same([...new Set(answers.map(({ status }) => status))].sort(), [200, 400])
  })
  t.test('it is of no use to another client', async (t) => {
    const { refresh_token: token } = await server.tokens(client, 'admin@a.co')
    t.match(await refresh(await server.register(), token), { body: { error: 'invalid_grant' } })
  })
  t.test('revoking either token ends both at once', async (t) => {
    for (const kind of ['refresh_token', 'access_token'] as const) {
      const tokens = await server.tokens(client, 'admin@a.co')
      t.equal((await brandOf(tokens.access_token)).status, 200)
      t.equal((await revoke(client, tokens[kind])).status, 200)
      t.equal((await brandOf(tokens.access_token)).status, 401, kind)
      t.match(await refresh(client, tokens.refresh_token), { body: { error: 'invalid_grant' } }, kind)
    }
  })
  t.test('another client revokes nothing', async (t) => {
    const tokens = await server.tokens(client, 'admin@a.co')
    const another = await server.register()
    for (const token of [tokens.access_token, tokens.refresh_token]) await revoke(another, token)
    t.equal((await brandOf(tokens.access_token)).status, 200)
    t.equal((await refresh(client, tokens.refresh_token)).status, 200)
  })
  t.test('whoever leaves a brand takes the tokens along', async (t) => {
    const userId = await server.user('leaving@a.co', [[brand, 'admin']])
    const tokens = await server.tokens(client, 'leaving@a.co')
    t.equal((await brandOf(tokens.access_token)).status, 200)
    await db.postgres.pipeline.run('membership_end', [brand.id, userId])
    signIn.forget('user', userId)
    t.equal((await brandOf(tokens.access_token)).status, 401)
    t.match(await refresh(client, tokens.refresh_token), { body: { error: 'invalid_grant' } })
  })
  t.test('a changed role takes effect on tokens that are out', async (t) => {
    const userId = await server.user('demoted@a.co', [[brand, 'admin']])
    const { access_token: token } = await server.tokens(client, 'demoted@a.co', { scope: 'brand:read keys:manage' })
    t.match(await signIn.verify(token), { caller: { role: 'admin', scopes: ['brand:read', 'keys:manage'] } })
    await db.postgres.pipeline.run('membership_put', [brand.id, userId, 'member'])
    signIn.forget('user', userId)
    t.match(await signIn.verify(token), { caller: { role: 'member', scopes: ['brand:read'] } })
  })
})

t.test('an access token', async (t) => {
  const client = await server.register()
  const { access_token: good } = await server.tokens(client, 'admin@a.co')
  const claims = decodeJwt(good)
  const header = { alg: 'ES256', typ: 'at+jwt', kid: signIn.key.id }
  const sign = (more: object, head: object = {}, key = signIn.key.private) =>
    new SignJWT({ ...claims, ...more }).setProtectedHeader({ ...header, ...head }).sign(key)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const refusal = { status: 401, body: { error: { code: 'unauthorized', message: /unknown, revoked or expired/ } } }

  t.test('is refused alike, whatever is wrong with it', async (t) => {
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const publicPem = signIn.key.public.export({ type: 'spki', format: 'pem' })
    const wrong: Record<string, string> = {
      'another key': await sign({}, {}, stranger),
      'no signature': `${part({ ...header, alg: 'none' })}.${part(claims)}.`,
      'the public key as a secret': await new SignJWT(claims)
        .setProtectedHeader({ ...header, alg: 'HS256' })
        .sign(Buffer.from(publicPem)),
      'changed claims': [good.split('.')[0], part({ ...claims, brand_id: other.id }), good.split('.')[2]].join('.'),
      'another audience': await sign({ aud: 'https://other.example' }),
      'another issuer': await sign({ iss: 'https://other.example' }),
      'another type': await sign({}, { typ: 'JWT' }),
      expired: await sign({ exp: Math.floor(Date.now() / 1000) - 10 }),
      'not begun': await sign({ nbf: Math.floor(Date.now() / 1000) + 60 }),
      'no grant': await sign({ grant_id: undefined }),
      'an unknown grant': await sign({ grant_id: 'x' }),
      'another brand': await sign({ brand_id: other.id }),
      'another user': await sign({ sub: other.id }),
      'another client': await sign({ client_id: 'x' }),
      'a piece of it': good.slice(0, -10),
    }
    t.equal((await brandOf(await sign({}))).status, 200, 'a token made like this is good otherwise')
    for (const [what, token] of Object.entries(wrong)) t.match(await brandOf(token), refusal, what)
  })
  t.test('works for MCP as well', async (t) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_brand', arguments: {} } })
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    const answer = await server.call('/mcp', good, { method: 'POST', body, headers })
    t.equal(answer.status, 200)
    t.match(String(answer.body), brand.shop_domain)
  })
  t.test('that was seen before costs no query', async (t) => {
    t.notOk(signIn.verify(good) instanceof Promise)
  })
})

t.test('nothing that is stored signs anyone in', async (t) => {
  const client = await server.register({ token_endpoint_auth_method: 'client_secret_post' })
  const visitor = server.browser()
  await visitor.open(server.authorizeUrl(await server.register()))
  const { refresh_token: token } = await server.tokens(await server.register(), 'admin@a.co')
  const rows = await db.postgres.sql`
    select row_to_json(oidc_record)::text || encode(content, 'escape') as text from oidc_record
    union all select row_to_json(web_session)::text from web_session
    union all select row_to_json(secret)::text || encode(value, 'escape') from secret`
  const stored = rows.map(({ text }) => String(text)).join('\n')
  t.ok(rows.length > 5)
  for (const secret of [token, client.id, 'admin@a.co', '"d":', ...visitor.cookies.values()])
    t.notOk(stored.includes(secret), secret)
})
