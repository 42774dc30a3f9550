import { fail } from '../errors.ts'
import type { Brand, Caller, Statements } from '../op.ts'
import type { Announced } from './invalidation.ts'
import { isKey, keyHash } from './key.ts'
import { createKeyLookup, type FoundKey } from './key-lookup.ts'
import type { Lease } from './lease.ts'
import type { SignIn } from './sign-in/open.ts'
import { type BrowserRequest, changesState, isSameOrigin } from './sign-in/same-origin.ts'

/** Who calls, and for which brand. */
export interface Identified {
  caller: Caller
  brand: Brand
}

export interface Authenticator {
  /**
   * Reads an Authorization header. Throws `unauthorized` or `legacy_credential_not_supported`.
   * The answer is there at once (no promise) while the credential is known to this process.
   * Given the request, one without that header may come with a session of the web app, from a page of ours alone when
   * it changes anything (else `forbidden`).
   */
  authenticate(authorization: string | undefined, request?: BrowserRequest): Identified | Promise<Identified>
  /** Makes this process forget what it read of a row that changed. */
  forget(kind: Announced, id: string): void
  /** Resolves when the last background write is done. */
  settled(): Promise<void>
}

const BEARER = /^bearer +(\S+) *$/i

/**
 * Answers who calls. `pipeline` sees all brands, since only the credential says which brand it is. Without a lease what
 * was read is trusted for a second. Without `signIn` there are API keys only.
 */
export function createAuthenticator(
  pipeline: Statements,
  now: () => number = Date.now,
  lease?: Lease,
  signIn?: SignIn,
): Authenticator {
  const keys = createKeyLookup(pipeline, now, lease)
  const challenge = signIn
    ? `Bearer resource_metadata="${signIn.issuer}/.well-known/oauth-protected-resource"`
    : 'Bearer'
  const detail = { headers: { 'www-authenticate': challenge } }
  const noCredential = () =>
    fail('unauthorized', 'Send a credential: "Authorization: Bearer <API key>"', detail)
  /** One answer for unknown, malformed, revoked and expired: it tells nobody which credentials exist. */
  const refused = () => fail('unauthorized', 'The credential is unknown, revoked or expired', detail)

  const accepted = (key: FoundKey | undefined): Identified => {
    if (!key || key.revoked || key.expiresAt <= now()) throw refused()
    keys.used(key)
    return key
  }

  /** Whoever has a token that is good elsewhere is told where: nobody else can have made it. */
  const refuseToken = async ({ issuer, madeFor }: SignIn, token: string): Promise<never> => {
    const address = await madeFor(token)
    if (address === undefined) throw refused()
    const how = 'make one with the PORT or BASE_URL of this service'
    throw fail('unauthorized', `The token is for ${address}, not for ${issuer}: ${how}`, detail)
  }

  const ofSession = (request: BrowserRequest, found: Identified | undefined): Identified => {
    if (!found) throw noCredential()
    if (signIn && changesState(request) && !isSameOrigin(request, signIn.issuer))
      throw fail('forbidden', `With a session, changes are made by pages of ${signIn.issuer} only`)
    return found
  }

  return {
    authenticate(authorization, request) {
      if (authorization === undefined && request && signIn) {
        const session = signIn.session(request.header('cookie'))
        return session instanceof Promise
          ? session.then((found) => ofSession(request, found))
          : ofSession(request, session)
      }
      const token = authorization && BEARER.exec(authorization)?.[1]
      if (!token) throw noCredential()
      if (token.startsWith('svc_live_')) {
        const message = 'svc_live_ credentials are retired: create an API key in the settings'
        throw fail('legacy_credential_not_supported', message, detail)
      }
      if (signIn && !token.startsWith('svc_')) {
        const found = signIn.verify(token)
        return found instanceof Promise
          ? found.then((one) => one ?? refuseToken(signIn, token))
          : (found ?? refuseToken(signIn, token))
      }
      if (!isKey(token)) throw refused()
      const key = keys.find(keyHash(token))
      return key instanceof Promise ? key.then(accepted) : accepted(key)
    },
    forget(kind, id) {
      keys.forget(kind, id)
      signIn?.forget(kind, id)
    },
    settled: keys.settled,
  }
}
