import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t from 'tap'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { signInServer } from './fixtures/sign-in-server.ts'

/** Real MCP clients, which find out by themselves where and how to sign in; only the user is played by the test. */
const db = await database(t)
const brand = await makeBrand(db)
const clock = { ahead: 0 }
const server = await signInServer(t, db, { now: () => Date.now() + clock.ahead })
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

const info = { name: 'test', version: '1' }
const url = new URL(`${server.base}/mcp`)

const clients = {
  'the first SDK': (provider: never) => {
    const make = () => ({ client: new ClientV1(info), transport: new TransportV1(url, { authProvider: provider }) })
    return { make, finish: (transport: TransportV1, answer: URLSearchParams) => transport.finishAuth(String(answer.get('code'))) }
  },
  'the second SDK': (provider: never) => {
    const make = () => ({ client: new ClientV2(info), transport: new TransportV2(url, { authProvider: provider }) })
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

    const { client, transport } = make()
    await client.connect(transport)
    const { tools } = await client.listTools()
    t.ok(tools.some((tool) => tool.name === 'get_brand'))
    t.match(await client.callTool({ name: 'get_brand', arguments: {} }), { structuredContent: { id: brand.id } })

    clock.ahead += 2 * 3600 * 1000
    t.match(await client.callTool({ name: 'get_brand', arguments: {} }), { structuredContent: { id: brand.id } })
    t.not(kept.tokens?.access_token, before?.access_token, 'with tokens that it fetched when the first had expired')
    t.not(kept.tokens?.refresh_token, before?.refresh_token)
    await client.close()
    clock.ahead = 0
  })
}
