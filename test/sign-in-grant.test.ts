import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, SignJWT } from 'jose'
import t from 'tap'
import { openInvalidation } from '../src/access/invalidation.ts'
import { openSignIn } from '../src/access/sign-in/open.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { type Client, codeForm, PASSWORD, signInServer } from './fixtures/sign-in-server.ts'

const db = await database(t)
const [brand, other] = [
  await makeBrand(db, { name: 'Öko & Söhne <b>' }),
  await makeBrand(db, { name: 'Zweite' }),
]
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
  fetch(`${base}/oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: client.id, token }),
  })
const brandOf = (token: string) => server.call('/v1/brand', token)

t.test('consent', async (t) => {
  const client = await server.register({ client_name: '<script>alert(1)</script>' })
  t.test('shows names as they are', async (t) => {
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(client))
    const page = await visitor.submit(login, '/login', { email: 'both@a.co', password: PASSWORD })
    t.notMatch(page.text, /<script|<b>/)
    t.match(page.text, /Öko &#38; Söhne &#60;b&#62;/)
    t.match(page.text, /Your answer is sent to an app on this device/)
    t.match(
      page.headers.get('content-security-policy'),
      /default-src 'none'; style-src 'sha256-.*frame-ancestors 'none'/,
    )
    t.equal(page.headers.get('cache-control'), 'no-store')
  })
  t.test('shows no name of a client that would turn or break the text around it', async (t) => {
    const named = await server.register({ client_name: '\u202eknaB\nof\0 all\u2066' })
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(named))
    t.match(login.text, /<bdi>knaB of all<\/bdi>/)
    const page = await visitor.submit(login, '/login', { email: 'both@a.co', password: PASSWORD })
    t.match(page.text, /<title>Connect knaB of all · Recoup<\/title>/)
    t.match(page.text, /<h1>Connect <bdi>knaB of all<\/bdi>\?<\/h1>/)
  })
  t.test('leads to an app at an IPv6 address of the device, which no policy can name', async (t) => {
    const local = await server.register({ redirect_uris: ['http://[::1]:9999/callback'] })
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(local))
    const page = await visitor.submit(login, '/login', { email: 'both@a.co', password: PASSWORD })
    t.match(page.headers.get('content-security-policy'), /form-action 'self' http:(;|$)/)
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
  t.test('says what keys that are made with it may do', async (t) => {
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(client, { scope: 'keys:manage' }))
    const page = await visitor.submit(login, '/login', { email: 'admin@a.co', password: PASSWORD })
    t.match(page.text, /API keys for any access, which last after this app is disconnected/)
  })
  t.test('can be refused', async (t) => {
    const visitor = server.browser()
    const login = await visitor.open(server.authorizeUrl(client))
    const page = await visitor.submit(login, '/login', { email: 'admin@a.co', password: PASSWORD })
    t.match(answerOf((await visitor.submit(page, '/cancel')).url), {
      error: 'access_denied',
      state: 'the state',
    })
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
  t.test('gives nothing to a session that ended while it was given', async (t) => {
    const { pipeline } = db.postgres
    const userId = await server.user('ended@a.co', [[brand, 'admin']])
    const run: typeof pipeline.run = async (name, args) => {
      if (name === 'oidc_upsert' && args?.[0] === 'Grant') await pipeline.run('user_sign_out', [userId])
      return await pipeline.run(name, args)
    }
    const weak = await signInServer(t, db, { pipeline: { ...pipeline, run } })
    const visitor = weak.browser()
    const page = await visitor.open(weak.authorizeUrl(await weak.register()))
    const again = await weak.goThrough(page, visitor, 'ended@a.co')
    t.match(again.forms[0]?.action, /login$/)
    t.same(await db.postgres.sql`select from sign_in_grant where user_id = ${userId}`, [])
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
  t.test('it is not used up by what is refused', async (t) => {
    const { refresh_token: token } = await server.tokens(client, 'admin@a.co')
    const asked = (more: Record<string, string>) =>
      server.token(client, { grant_type: 'refresh_token', refresh_token: token, ...more })
    for (const resource of [server.base, 'https://other.example/mcp'])
      t.match(await asked({ resource }), { status: 400, body: { error: 'invalid_target' } }, resource)
    t.match(await asked({ scope: 'commerce:read' }), { status: 400, body: { error: 'invalid_scope' } })
    const { status, body } = await asked({ resource: `${server.base}/mcp`, scope: 'brand:read' })
    t.match({ status, body }, { status: 200, body: { scope: 'brand:read' } })
    const again = await refresh(client, body.refresh_token)
    t.equal(again.body.scope, 'brand:read segments:read', 'and stays good for all of its scopes')
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
    const { access_token: token } = await server.tokens(client, 'demoted@a.co', {
      scope: 'brand:read keys:manage',
    })
    t.match(await signIn.verify(token), { caller: { role: 'admin', scopes: ['brand:read', 'keys:manage'] } })
    await db.postgres.pipeline.run('membership_put', [brand.id, userId, 'member'])
    signIn.forget('user', userId)
    t.match(await signIn.verify(token), { caller: { role: 'member', scopes: ['brand:read'] } })
  })
})

t.test('revocation has taken effect in every process when it is answered', async (t) => {
  const [here, there] = [await openInvalidation(db.postgres), await openInvalidation(db.postgres)]
  t.teardown(() => Promise.all([here.close(), there.close()]))
  const one = await signInServer(t, db, { lease: here.lease, everywhere: here.everywhere })
  const another = await openSignIn({ ...one.signIn, baseUrl: one.base, lease: there.lease })
  here.onChange(one.signIn.forget)
  there.onChange(another.forget)
  const client = await one.register()
  const { access_token: token } = await one.tokens(client, 'admin@a.co')
  t.ok(await another.verify(token))
  t.notOk(another.verify(token) instanceof Promise, 'which knows it by heart')
  const body = new URLSearchParams({ client_id: client.id, token })
  await fetch(`${one.base}/oauth/revoke`, { method: 'POST', body })
  t.equal(await another.verify(token), undefined)

  const visitor = one.browser()
  const login = await visitor.open('/sign-in?next=/v1/brand')
  await visitor.submit(login, '/sign-in', { email: 'admin@a.co', password: PASSWORD })
  const cookie = `recoup_session=${visitor.cookies.get('recoup_session')}`
  t.ok(await another.session(cookie))
  await fetch(`${one.base}/sign-out`, {
    method: 'POST',
    headers: { cookie, origin: one.base },
    redirect: 'manual',
  })
  t.equal(await another.session(cookie), undefined, 'and so has signing out')
})

t.test('an access token', async (t) => {
  const client = await server.register()
  const { access_token: good } = await server.tokens(client, 'admin@a.co')
  const claims = decodeJwt(good)
  const header = { alg: 'ES256', typ: 'at+jwt', kid: signIn.key.id }
  const sign = (more: object, head: object = {}, key = signIn.key.private) =>
    new SignJWT({ ...claims, ...more }).setProtectedHeader({ ...header, ...head }).sign(key)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const refusal = {
    status: 401,
    body: { error: { code: 'unauthorized', message: /unknown, revoked or expired/ } },
  }

  t.test('is refused alike, whatever is wrong with it', async (t) => {
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const publicPem = signIn.key.public.export({ type: 'spki', format: 'pem' })
    const wrong: Record<string, string> = {
      'another key': await sign({}, {}, stranger),
      'no signature': `${part({ ...header, alg: 'none' })}.${part(claims)}.`,
      'the public key as a secret': await new SignJWT(claims)
        .setProtectedHeader({ ...header, alg: 'HS256' })
        .sign(Buffer.from(publicPem)),
      'changed claims': [
        good.split('.')[0],
        part({ ...claims, brand_id: other.id }),
        good.split('.')[2],
      ].join('.'),
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
  t.test('that is for another address says for which, and only when it would be good there', async (t) => {
    const address = 'http://127.0.0.1:9090'
    const there = { iss: address, aud: address }
    t.match(await brandOf(await sign(there)), {
      status: 401,
      body: {
        error: {
          code: 'unauthorized',
          message: `The token is for ${address}, not for ${signIn.issuer}: make one`,
        },
      },
    })
    for (const more of [{ exp: 1 }, { sub: other.id }, { grant_id: 'x' }, { aud: 'https://other.example' }])
      t.match(await brandOf(await sign({ ...there, ...more })), refusal, Object.keys(more)[0] ?? '')
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    t.match(await brandOf(await sign(there, {}, stranger)), refusal)
  })
  t.test('works for MCP as well', async (t) => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_brand', arguments: {} },
    })
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
