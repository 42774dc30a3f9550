import { fail } from '../errors.ts'
import type { Brand, Caller, Statements } from '../op.ts'
import type { Announced } from './invalidation.ts'
import { isKey, keyHash } from './key.ts'
import { createKeyLookup, type FoundKey } from './key-lookup.ts'
import type { Lease } from './lease.ts'

/** Who calls, and for which brand. */
export interface Identified {
  caller: Caller
  brand: Brand
}

export interface Authenticator {
  /**
   * Reads an Authorization header. Throws `unauthorized` or `legacy_credential_not_supported`.
   * The answer is there at once (no promise) while the key is known to this process.
   */
  authenticate(authorization: string | undefined): Identified | Promise<Identified>
  /** Makes this process forget what it read of a row that changed. */
  forget(kind: Announced, id: string): void
  /** Resolves when the last background write is done. */
  settled(): Promise<void>
}

const BEARER = /^bearer +(\S+) *$/i
const CHALLENGE = { headers: { 'www-authenticate': 'Bearer' } }

/**
 * Answers who calls. `pipeline` sees all brands, since only the credential says which brand it is. Without a lease what
 * was read is trusted for a second.
 */
export function createAuthenticator(
  pipeline: Statements,
  now: () => number = Date.now,
  lease?: Lease,
): Authenticator {
  const keys = createKeyLookup(pipeline, now, lease)

  const accepted = (key: FoundKey | undefined): Identified => {
    if (!key || key.revoked || key.expiresAt <= now()) throw refused()
    keys.used(key)
    return key
  }

  return {
    authenticate(authorization) {
      const token = authorization && BEARER.exec(authorization)?.[1]
      if (!token)
        throw fail('unauthorized', 'Send a credential: "Authorization: Bearer <API key>"', CHALLENGE)
      if (token.startsWith('svc_live_')) {
        const message = 'svc_live_ credentials are retired: create an API key in the settings'
        throw fail('legacy_credential_not_supported', message, CHALLENGE)
      }
      if (!isKey(token)) throw refused()
      const key = keys.find(keyHash(token))
      return key instanceof Promise ? key.then(accepted) : accepted(key)
    },
    forget: keys.forget,
    settled: keys.settled,
  }
}

/** One answer for unknown, malformed, revoked and expired: it tells nobody which keys exist. */
const refused = () => fail('unauthorized', 'The credential is unknown, revoked or expired', CHALLENGE)
