import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { decodeJwt, SignJWT } from 'jose'
import t from 'tap'
import { brand as makeBrand } from './fixtures/brand.ts'
import { noOpenssl } from './fixtures/certificate.ts'
import { chromium, noChromium } from './fixtures/chromium.ts'
import { database } from './fixtures/database.ts'
import { metadataHost } from './fixtures/metadata-host.ts'
import { type Client, PASSWORD, signInServer } from './fixtures/sign-in-server.ts'

/** Real MCP clients, which find out by themselves where and how to sign in; only the user is played by the test. */
const db = await database(t)
const brand = await makeBrand(db)
const server = await signInServer(t, db)
await server.user('admin@c.co', [[brand, 'admin']])

interface Kept {
  client?: unknown
  tokens?: { access_token: string; refresh_token?: string }
  verifier?: string
  discovery?: unknown
  code?: string
}

/** What a client remembers, and the user who goes where it points. */
function owner() {
  const kept: Kept = {}
  return {
    kept,
    provider: {
      redirectUrl: 'http://localhost:9876/callback',
      clientMetadata: {
        client_name: 'SDK client',
        redirect_uris: ['http://localhost:9876/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
      state: () => 'a state',
      clientInformation: () => kept.client as never,
      saveClientInformation: (client: unknown) => void Object.assign(kept, { client }),
      tokens: () => kept.tokens as never,
      saveTokens: (tokens: unknown) => void Object.assign(kept, { tokens }),
      saveCodeVerifier: (verifier: string) => void Object.assign(kept, { verifier }),
      codeVerifier: () => String(kept.verifier),
      saveDiscoveryState: (discovery: unknown) => void Object.assign(kept, { discovery }),
      discoveryState: () => kept.discovery as never,
      redirectToAuthorization: async (url: URL) => {
        const visitor = server.browser()
        const end = await server.goThrough(await visitor.open(url.href), visitor, 'admin@c.co')
        kept.code = new URL(end.url).search
      },
    },
  }
}

/** The same token an hour later. */
const expiredLike = (token: string) =>
  new SignJWT({ ...decodeJwt(token), exp: Math.floor(Date.now() / 1000) - 60 })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: server.signIn.key.id })
    .sign(server.signIn.key.private)

const info = { name: 'test', version: '1' }
const url = new URL(`${server.base}/mcp`)

const clients = {
  'the first SDK': (provider: never) => {
    const make = () => ({
      client: new ClientV1(info),
      transport: new TransportV1(url, { authProvider: provider }),
    })
    return {
      make,
      finish: (transport: TransportV1, answer: URLSearchParams) =>
        transport.finishAuth(String(answer.get('code'))),
    }
  },
  'the second SDK': (provider: never) => {
    const make = () => ({
      client: new ClientV2(info),
      transport: new TransportV2(url, { authProvider: provider }),
    })
    return { make, finish: (transport: TransportV2, answer: URLSearchParams) => transport.finishAuth(answer) }
  },
}

for (const [name, made] of Object.entries(clients)) {
  t.test(`a client of ${name} signs in by itself, calls a tool and stays signed in`, async (t) => {
    const { kept, provider } = owner()
    const { make, finish } = made(provider as never) as {
      make(): { client: ClientV2; transport: TransportV2 }
      finish(transport: TransportV2, answer: URLSearchParams): Promise<void>
    }
    const first = make()
    await t.rejects(first.client.connect(first.transport), /[Uu]nauthorized/)
    await finish(first.transport, new URLSearchParams(kept.code))
    const before = kept.tokens
    t.ok(before?.access_token)
    const { refresh_token } = before ?? {}

    const { client, transport } = make()
    await client.connect(transport)
    const { tools } = await client.listTools()
    t.ok(tools.some((tool) => tool.name === 'get_brand'))
    t.match(await client.callTool({ name: 'get_brand', arguments: {} }), {
      structuredContent: { id: brand.id },
    })

    const expired = await expiredLike(String(before?.access_token))
    Object.assign(kept.tokens ?? {}, { access_token: expired })
    t.match(await client.callTool({ name: 'get_brand', arguments: {} }), {
      structuredContent: { id: brand.id },
    })
    t.not(kept.tokens?.access_token, expired, 'with tokens that it fetched when the first had expired')
    t.not(kept.tokens?.refresh_token, refresh_token)
    await client.close()
  })
}

t.test('a client is known by the URL of its metadata document', { skip: noOpenssl }, async (t) => {
  const redirectUri = 'https://app.client.example/callback'
  const id = 'https://client.example/app.json'
  const metadata = {
    client_id: id,
    client_name: 'An app with a document',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  await metadataHost(t, 'client.example', {
    '/app.json': metadata,
    '/copy.json': metadata,
    '/secret.json': {
      ...metadata,
      client_id: 'https://client.example/secret.json',
      token_endpoint_auth_method: 'client_secret_post',
    },
  })
  const client = { id, redirectUri }
  const tokens = await server.tokens(client, 'admin@c.co', { resource: server.base })
  t.match(await server.call('/v1/brand', tokens.access_token), { status: 200, body: { id: brand.id } })
  const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  t.match(await server.token(client, form), { status: 200, body: { access_token: /./ } })

  const visitor = server.browser()
  const page = await visitor.open(server.authorizeUrl(client))
  t.match(
    (await visitor.submit(page, '/login', { email: 'admin@c.co', password: PASSWORD })).text,
    'An app with a document',
  )
  const refused = async (client: Client, wanted: RegExp) => {
    const { status, text } = await server.browser().open(server.authorizeUrl(client))
    t.equal(status, 400)
    t.match(text, wanted, client.id)
  }
  await refused({ id, redirectUri: 'https://elsewhere.example/callback' }, /redirect_uri/)
  await refused({ id: 'https://client.example/copy.json', redirectUri }, /client_id does not match/)
  await refused({ id: 'https://client.example/secret.json', redirectUri }, /must not use shared-secret/)
  await refused({ id: 'https://client.example/none.json', redirectUri }, /fetch failed/)
})

t.test('of the document of a client nothing else is fetched', { skip: noOpenssl }, async (t) => {
  const redirectUri = 'https://sector.example/callback'
  const id = 'https://sector.example/app.json'
  const more = { sector_identifier_uri: 'https://sector.example/sector.json' }
  const { fetched } = await metadataHost(t, 'sector.example', {
    '/app.json': { client_id: id, redirect_uris: [redirectUri], ...more },
    '/sector.json': [redirectUri],
  })
  await server.browser().open(server.authorizeUrl({ id, redirectUri }))
  t.same(fetched, ['/app.json'])
  await server.register({ redirect_uris: [redirectUri], ...more })
  t.same(fetched, ['/app.json'], 'nor of what one is registered with')
})

t.test('a user connects a client on a phone, without scripts', { skip: noChromium }, async (t) => {
  const memberships = [
    [await makeBrand(db, { name: 'First brand' }), 'admin'],
    [await makeBrand(db, { name: 'A second brand with a name that does not fit into a line' }), 'member'],
  ] as const
  await server.user('somebody.with.a.long.name@company.example', memberships)

  const called = Promise.withResolvers<URL>()
  const app = createServer((request, response) => {
    if (request.url?.startsWith('/callback')) called.resolve(new URL(request.url, 'http://localhost'))
    response.end('Done')
  })
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  t.teardown(() => app.close())
  const redirectUri = `http://127.0.0.1:${(app.address() as AddressInfo).port}/callback`
  const client = await server.register({
    client_name: 'An assistant on this phone',
    redirect_uris: [redirectUri],
  })

  const tab = await chromium(t)
  const fits = async (page: string) => {
    t.equal(await tab.width(), 320, `the ${page} page fits the screen`)
    t.equal(await tab.style('main', 'border-top-left-radius'), '12px', 'and has its style')
  }
  await tab.open(server.authorizeUrl(client, { scope: undefined }))
  await fits('login')
  t.equal(await tab.style('#password', 'font-size'), '16px', 'fields are not zoomed into')
  await tab.type('#email', 'somebody.with.a.long.name@company.example')
  await tab.type('#password', 'wrong')
  await tab.leading(() => tab.click('button'))
  t.match(await tab.style('[role=alert]', 'color'), 'rgb(180, 35, 24)')
  await fits('failed login')
  tab.complaints.splice(0)

  await tab.type('#password', PASSWORD)
  await tab.leading(() => tab.click('button'))
  await fits('consent')
  await tab.click('label.choice:nth-of-type(2)')
  await tab.leading(() => tab.click('form[action$="/consent"] button'))
  const answer = (await called.promise).searchParams
  t.match(answer.get('code'), /./)
  t.same(
    tab.complaints.filter((one) => /Content Security Policy/.test(one)),
    [],
  )
})
