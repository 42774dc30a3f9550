import type { SessionCaller, Statements } from '../../op.ts'
import type { Identified } from '../authenticate.ts'
import type { Announced } from '../invalidation.ts'
import type { Lease } from '../lease.ts'
import { signInScopes } from '../scopes.ts'
import type { Seal } from '../seal.ts'
import { serviceSecret } from '../secret.ts'
import { createDevices, type Devices } from './device.ts'
import { createSessions, type Sessions } from './session.ts'
import { type SigningKey, signingKey } from './signing-key.ts'
import { createStandings, forgetStandings, type Standing, type Standings } from './standing.ts'
import { createTokenVerifier, type TokenVerifier } from './token.ts'

/** All that knows of people who are signed in, in a browser or by a client. */
export interface SignIn {
  /** BASE_URL as an origin. */
  issuer: string
  pipeline: Statements
  seal: Seal
  key: SigningKey
  /** Signs cookies. */
  cookieSecret: Buffer
  sessions: Sessions
  devices: Devices
  grants: Standings
  verify: TokenVerifier['verify']
  madeFor: TokenVerifier['madeFor']
  /** Who a Cookie header says is signed in to the web app. */
  session(cookies: string | undefined): Identified | undefined | Promise<Identified | undefined>
  /** Makes this process forget what it read of a row that changed. */
  forget(kind: Announced, id: string): void
}

interface Deps {
  pipeline: Statements
  seal: Seal
  baseUrl: string
  now?: () => number
  lease?: Lease
}

export async function openSignIn({ pipeline, seal, baseUrl, now = Date.now, lease }: Deps): Promise<SignIn> {
  const issuer = new URL(baseUrl).origin
  const key = await signingKey(pipeline, seal)
  const cookieSecret = await serviceSecret(pipeline, 'sign-in-cookie', seal)
  const grants = createStandings(pipeline, 'grant', now, lease)
  const standings = createStandings(pipeline, 'session', now, lease)
  const isSecure = issuer.startsWith('https:')
  const sessions = createSessions({ pipeline, standings, secret: cookieSecret, isSecure, now })
  const { verify, madeFor } = createTokenVerifier({ key, issuer, grants, now })

  const identified = (standing: Standing | undefined): Identified | undefined =>
    standing && { caller: callerOf(standing), brand: standing.brand }

  return {
    issuer,
    pipeline,
    seal,
    key,
    cookieSecret,
    sessions,
    devices: createDevices(cookieSecret, isSecure),
    grants,
    verify,
    madeFor,
    session(cookies) {
      const standing = sessions.find(cookies)
      return standing instanceof Promise ? standing.then(identified) : identified(standing)
    },
    forget(kind, id) {
      forgetStandings(grants, kind, id)
      forgetStandings(standings, kind, id)
    },
  }
}

const callerOf = ({ userId, role, isStaff, brand }: Standing): SessionCaller => ({
  kind: 'session',
  id: userId,
  brandId: brand.id,
  scopes: signInScopes(role),
  userId,
  role,
  isStaff,
})
