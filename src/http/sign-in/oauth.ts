import type Provider from 'oidc-provider'
import { errors } from 'oidc-provider'
import type { Counted } from '../../access/limits.ts'
import type { SignIn } from '../../access/sign-in/open.ts'
import { PATHS } from '../../access/sign-in/paths.ts'
import { fail } from '../../errors.ts'
import type { Handler, HttpMethod, Request, Route } from '../server.ts'
import { openly, PREFLIGHT } from './cors.ts'
import { countAuthorization, type LimitShared } from './document.ts'
import { answerOf } from './in-process.ts'
import { registrationBody } from './registration.ts'
import { revoke } from './revocation.ts'
import { shown } from './web.ts'

const BODY_BYTES = 64 * 1024
/** Of a registration, which is kept: what clients say of themselves is 500 bytes to 1 KB. */
const REGISTRATION_BYTES = 4 * 1024
/** By one address; services register clients for many users from few. */
const REGISTRATIONS = { count: 60, per: 'minute' } as const
/** By all together: in the three days until they are swept, 2 GB. */
const ALL_REGISTRATIONS = { count: 120, per: 'minute', burst: 1_200 } as const
/** Of a sign-in that is asked for, which is kept for an hour: clients send 500 bytes to 1 KB. */
const AUTHORIZATION_BYTES = 4 * 1024
/** By one address, which an office may share. */
const AUTHORIZATIONS = { count: 60, per: 'minute' } as const

export interface OAuthDeps {
  provider: Provider
  signIn: SignIn
  /** Counts a call from an address; throws `rate_limited`. */
  limit?(op: Counted, address: string): void | Promise<void>
  limitShared?: LimitShared | undefined
}

/** The endpoints of the authorization server itself. */
export function oauthRoutes({ provider, signIn, limit, limitShared }: OAuthDeps): Route[] {
  const answered = (request: Request) => answerOf(provider, request)
  const limited =
    (op: Counted, handler: Handler): Handler =>
    async (request) => {
      await limit?.(op, request.address)
      return await handler(request)
    }
  const register: Handler = async (request) => {
    await limitShared?.('oauth_register', ALL_REGISTRATIONS)
    return await answerOf(provider, request, registrationBody(request))
  }
  const authorize: Handler = async (request) => {
    if (request.query.toString().length > AUTHORIZATION_BYTES)
      throw fail(
        'bad_request',
        `What a sign-in is asked for with must be at most ${AUTHORIZATION_BYTES / 1024} KB`,
      )
    if (limitShared && (isDocument(request) || (await isKept(provider, request))))
      await countAuthorization(limitShared, request.address)
    return await answered(request)
  }

  return [
    open('/.well-known/oauth-authorization-server', 'GET', answered),
    open('/.well-known/openid-configuration', 'GET', answered),
    open(PATHS.jwks, 'GET', answered),
    open(PATHS.token, 'POST', limited({ name: 'oauth_token' }, answered)),
    open(
      PATHS.revocation,
      'POST',
      limited({ name: 'oauth_revoke' }, (request) => revoke(provider, signIn, request)),
    ),
    {
      ...open(PATHS.registration, 'POST', limited({ name: 'oauth_register', rate: REGISTRATIONS }, register)),
      bodyLimit: REGISTRATION_BYTES,
    },
    ofPerson(PATHS.authorization, limited({ name: 'oauth_authorize', rate: AUTHORIZATIONS }, authorize)),
    ofPerson(`${PATHS.authorization}/{uid}`, limited({ name: 'oauth_resume' }, answered)),
  ]
}

/** Whether the client is a document somewhere, which costs a request to find, whatever it says. */
const isDocument = ({ query }: Request) => /^https:\/\//i.test(query.get('client_id') ?? '')

/** Whether a sign-in may be kept: without a client that is known, and a place of its own for the answer, none is. */
async function isKept({ Client }: Provider, { query }: Request): Promise<boolean> {
  try {
    const client = await Client.find(query.get('client_id') ?? '')
    const uri = query.get('redirect_uri')
    return client !== undefined && (uri === null || client.redirectUriAllowed(uri))
  } catch (error) {
    // Of a client whose registration is no longer valid.
    if (error instanceof errors.OIDCProviderError) return false
    throw error
  }
}

/** Called by clients, which may be pages of other sites. Failures of ours look like those of the protocol. */
const open = (path: string, method: HttpMethod, handler: Handler): Route => ({
  path,
  surface: 'oauth',
  begin: openly,
  bodyLimit: BODY_BYTES,
  methods: { [method]: handler, OPTIONS: PREFLIGHT },
})

/** Opened by a person's browser. */
const ofPerson = (path: string, handler: Handler): Route => ({
  path,
  surface: 'plain',
  bodyLimit: 0,
  methods: { GET: shown(handler) },
})
