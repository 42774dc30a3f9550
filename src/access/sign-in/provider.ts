import type { EventEmitter } from 'node:events'
import Provider, { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider'
import { isPassing } from '../../errors.ts'
import { errorFields, log } from '../../log.ts'
import type { Statements } from '../../op.ts'
import { signInScopes } from '../scopes.ts'
import type { Seal } from '../seal.ts'
import { interactionsOf } from './interactions.ts'
import { PATHS } from './paths.ts'
import { isPublicSite } from './public-host.ts'
import { recordsOf } from './record.ts'
import type { Sessions } from './session.ts'
import { ALGORITHM, type SigningKey } from './signing-key.ts'
import { audiences, type OwnClaims } from './token.ts'

const HOUR = 3600
const DAY = 24 * HOUR
/** Seconds. Revocation does not wait for an access token to end, since its grant is looked up. */
const TTL = {
  AccessToken: HOUR,
  AuthorizationCode: 60,
  Grant: 365 * DAY,
  IdToken: HOUR,
  Interaction: HOUR,
  RefreshToken: 30 * DAY,
  // Only as long as one sign-in takes: the web app's session says who is signed in.
  Session: HOUR,
}
export const GRANT_SECONDS = TTL.Grant

/** Scopes of the API, and those of the protocol itself. */
export const API_SCOPES = signInScopes('admin')
export const PROTOCOL_SCOPES: readonly string[] = ['openid', 'offline_access']
/** What a client that asks for nothing in particular is taken to ask for. */
const USUAL_SCOPES = signInScopes('member')

export interface ProviderDeps {
  pipeline: Statements
  seal: Seal
  key: SigningKey
  /** Signs the cookies of a sign-in under way. */
  cookieSecret: Buffer
  issuer: string
  sessions: Sessions
  grantEnded(id: string): Promise<void>
  /** Before the document of a client is fetched, which anybody may name; throws what refuses it. */
  beforeFetch?: ((ctx: KoaContextWithOIDC | undefined) => Promise<void>) | undefined
  /** Fills in the answer when there is nobody to send an error back to. */
  showError(ctx: KoaContextWithOIDC, out: { error: string; error_description?: string | undefined }): void
}

/** The authorization server: OAuth 2.1 with dynamic clients, PKCE, rotation and resource indicators. */
export function createProvider(deps: ProviderDeps): Provider {
  const { issuer } = deps
  const provider = new Provider(issuer, {
    ...identity(deps),
    ...protocol(deps),
    adapter: recordsOf(deps),
    interactions: interactionsOf(deps.sessions),
    jwks: { keys: [deps.key.jwk] } as NonNullable<Configuration['jwks']>,
    cookies: cookies(issuer, deps.cookieSecret),
    renderError: (ctx, out) => deps.showError(ctx, out),
  })
  // Our server is the proxy: it sends the public scheme and the client's address along.
  provider.proxy = true
  provider.on('server_error', (ctx, error) => {
    log(isPassing(error) ? 'warn' : 'error', 'sign_in_failed', errorFields(error))
    if (isPassing(error)) ctx.status = 503
  })
  const emitter: EventEmitter = provider
  emitter.on('error', (error) => log('error', 'sign_in_failed', errorFields(error)))
  return provider
}

/** Who users are, and what their tokens say. */
function identity({ pipeline }: ProviderDeps): Configuration {
  return {
    async findAccount(_ctx, sub, token) {
      const grantId = token && 'grantId' in token ? token.grantId : undefined
      const found = grantId
        ? await pipeline.maybe('grant_standing', [grantId])
        : await pipeline.maybe('user_active', [sub])
      return found && { accountId: sub, claims: () => ({ sub }) }
    },

    async extraTokenClaims(_ctx, token) {
      const grantId = 'grantId' in token ? token.grantId : undefined
      const row = await pipeline.maybe<{ id: string }>('grant_standing', [grantId ?? ''])
      if (!grantId || !row) throw new errors.InvalidGrant('the grant is no more')
      return { brand_id: row.id, grant_id: grantId } satisfies OwnClaims
    },

    // A grant belongs to one connection: the next one may be for another brand.
    async loadExistingGrant({ oidc }) {
      const grantId = oidc.result?.consent?.grantId
      return grantId ? await oidc.provider.Grant.find(grantId) : undefined
    },
  }
}

function protocol({ issuer, beforeFetch }: ProviderDeps): Configuration {
  return {
    scopes: [...API_SCOPES, ...PROTOCOL_SCOPES],
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    clientDefaults: {
      // "web" would refuse http://localhost, which clients that say nothing about themselves send.
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      id_token_signed_response_alg: ALGORITHM,
    },
    enabledJWA: { idTokenSigningAlgValues: [ALGORITHM] },
    pkce: { required: () => true },
    extraParams: { scope: defaultScope },
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    rotateRefreshToken: refuseOtherResource,
    clientBasedCORS: () => true,
    // Else it is fetched for anybody, from wherever they say and however long; nobody is known by it here.
    sectorIdentifierUriValidate: () => false,
    ttl: TTL,
    routes: {
      authorization: PATHS.authorization,
      token: PATHS.token,
      jwks: PATHS.jwks,
      registration: PATHS.registration,
      revocation: PATHS.revocation,
    },
    discovery: { service_documentation: `${issuer}/docs` },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        // The library ends a connection to an address inside the network, but only once there is one.
        allowFetch: async (ctx, clientId) => {
          await beforeFetch?.(ctx)
          return await isPublicSite(clientId)
        },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_ctx, _client, oneOf) => oneOf?.[0] ?? issuer,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => resourceServer(issuer, resource),
      },
    },
  }
}

/** The library refuses it as well, but once the refresh token is used up, whose next use then ends the grant. */
function refuseOtherResource({ oidc }: KoaContextWithOIDC): true {
  const [resource] = [oidc.params?.resource].flat()
  if (resource && !oidc.entities.RefreshToken?.resourceIndicators.has(String(resource)))
    throw new errors.InvalidTarget()
  return true
}

function resourceServer(issuer: string, resource: string) {
  const audience = resource.replace(/\/$/, '')
  if (!audiences(issuer).includes(audience)) throw new errors.InvalidTarget()
  return {
    scope: API_SCOPES.join(' '),
    audience,
    accessTokenTTL: TTL.AccessToken,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: ALGORITHM } },
  } as const
}

/** Unknown scopes are left out, as the protocol allows; nothing but them is an error. */
function defaultScope({ oidc }: KoaContextWithOIDC, scope: string | undefined, client: { scope?: string }) {
  const known = [...API_SCOPES, ...PROTOCOL_SCOPES]
  const asked = (scope ?? client.scope ?? USUAL_SCOPES.join(' ')).split(' ')
  const kept = asked.filter((one) => known.includes(one))
  if (kept.length === 0) throw new errors.InvalidScope('none of the requested scopes exists', asked.join(' '))
  Object.assign(oidc.params ?? {}, { scope: kept.join(' ') })
}

function cookies(issuer: string, secret: Buffer): NonNullable<Configuration['cookies']> {
  const options = {
    httpOnly: true,
    sameSite: 'lax',
    signed: true,
    secure: issuer.startsWith('https:'),
  } as const
  return {
    keys: [secret.toString('base64url')],
    names: { session: 'recoup_op', interaction: 'recoup_interaction', resume: 'recoup_resume' },
    long: options,
    short: options,
  }
}
