import type Provider from 'oidc-provider'
import type { SignIn } from '../../access/sign-in/open.ts'
import { PATHS } from '../../access/sign-in/paths.ts'
import type { Op } from '../../op.ts'
import type { Handler, HttpMethod, Request, Route } from '../server.ts'
import { openly, PREFLIGHT } from './cors.ts'
import { answerOf } from './in-process.ts'
import { registrationBody } from './registration.ts'
import { revoke } from './revocation.ts'
import { shown } from './web.ts'

const BODY_BYTES = 64 * 1024
/** By one address; services register clients for many users from few. */
const REGISTRATIONS = { count: 60, per: 'minute' } as const

export interface OAuthDeps {
  provider: Provider
  signIn: SignIn
  /** Counts a call by an address; throws `rate_limited`. */
  limit(op: Pick<Op, 'name' | 'rate'>, address: string): void | Promise<void>
}

/** The endpoints of the authorization server itself. */
export function oauthRoutes({ provider, signIn, limit }: OAuthDeps): Route[] {
  const answered = (request: Request) => answerOf(provider, request)
  const limited =
    (op: Pick<Op, 'name' | 'rate'>, handler: Handler): Handler =>
    async (request) => {
      await limit(op, request.address)
      return await handler(request)
    }
  const register: Handler = (request) => answerOf(provider, request, registrationBody(request))
  const authorize = shown(limited({ name: 'oauth_authorize' }, answered))

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
    open(PATHS.registration, 'POST', limited({ name: 'oauth_register', rate: REGISTRATIONS }, register)),
    { path: PATHS.authorization, surface: 'plain', bodyLimit: 0, methods: { GET: authorize } },
    { path: `${PATHS.authorization}/{uid}`, surface: 'plain', bodyLimit: 0, methods: { GET: authorize } },
  ]
}

/** Called by clients, which may be pages of other sites. Failures of ours look like those of the protocol. */
const open = (path: string, method: HttpMethod, handler: Handler): Route => ({
  path,
  surface: 'mcp',
  bodyLimit: BODY_BYTES,
  methods: { [method]: async (request: Request) => openly(await handler(request)), OPTIONS: PREFLIGHT },
})
