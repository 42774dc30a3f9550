import { hash } from 'node:crypto'
import { decodeJwt, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { v7 } from 'uuid'
import type { Statements, TokenCaller } from '../../op.ts'
import type { Identified } from '../authenticate.ts'
import { keep } from '../remembered.ts'
import { currentScope, signInScopes } from '../scopes.ts'
import { ALGORITHM, type SigningKey } from './signing-key.ts'
import type { Standing, Standings } from './standing.ts'

/** Claims of ours beside the standard ones. */
export interface OwnClaims {
  brand_id: string
  grant_id: string
}

interface Claims {
  userId: string
  brandId: string
  grantId: string
  clientId: string
  scopes: readonly string[]
  /** In milliseconds. */
  expiresAt: number
}

export interface TokenVerifier {
  /**
   * Who calls with an access token; undefined unless it was issued here, for this service, has not expired, and its
   * grant, user and membership are there still. At once when it was verified before.
   */
  verify(jwt: string): Identified | undefined | Promise<Identified | undefined>
  /** The address (BASE_URL) that a token was made for which would be good there, and is not here; else undefined. */
  madeFor(jwt: string): Promise<string | undefined>
}

interface Deps {
  key: SigningKey
  issuer: string
  /** Standings of grants. */
  grants: Standings
  now?: () => number
}

const LOOKS_LIKE_JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
const MOST_VERIFIED = 10_000
const TOLERANCE_S = 5

/** What a token may be for. */
export const audiences = (issuer: string) => [`${issuer}/mcp`, issuer]

export function createTokenVerifier({ key, issuer, grants, now = Date.now }: Deps): TokenVerifier {
  const verified = new Map<string, Claims>()

  const identified = (claims: Claims, standing: Standing | undefined): Identified | undefined => {
    if (!standing || standing.expiresAt <= now()) return undefined
    const { userId, brandId, clientId } = claims
    if (standing.userId !== userId || standing.brand.id !== brandId || standing.clientId !== clientId)
      return undefined
    return { caller: callerOf(claims, standing), brand: standing.brand }
  }

  const accepted = (claims: Claims): Identified | undefined | Promise<Identified | undefined> => {
    if (claims.expiresAt + TOLERANCE_S * 1000 <= now()) return undefined
    const standing = grants.find(claims.grantId)
    return standing instanceof Promise
      ? standing.then((found) => identified(claims, found))
      : identified(claims, standing)
  }

  return {
    verify(jwt) {
      if (!LOOKS_LIKE_JWT.test(jwt)) return undefined
      const id = hash('sha256', jwt, 'hex')
      const known = verified.get(id)
      if (known) return accepted(known)
      return claimsOf(jwt, key, issuer, now).then((claims) => {
        if (!claims) return undefined
        keep(verified, MOST_VERIFIED, id, claims)
        return accepted(claims)
      })
    },
    async madeFor(jwt) {
      if (!LOOKS_LIKE_JWT.test(jwt)) return undefined
      const { iss } = unverified(jwt)
      if (!iss || iss === issuer) return undefined
      const claims = await claimsOf(jwt, key, iss, now)
      return claims && (await accepted(claims)) ? iss : undefined
    },
  }
}

function unverified(jwt: string): JWTPayload {
  try {
    return decodeJwt(jwt)
  } catch (error) {
    if (error instanceof errors.JOSEError) return {}
    throw error
  }
}

async function claimsOf(
  jwt: string,
  key: SigningKey,
  issuer: string,
  now: () => number,
): Promise<Claims | undefined> {
  try {
    const { payload } = await jwtVerify<OwnClaims & { client_id: string; scope?: string }>(jwt, key.public, {
      algorithms: [ALGORITHM],
      typ: 'at+jwt',
      issuer,
      audience: audiences(issuer),
      requiredClaims: ['sub', 'exp', 'jti', 'client_id', 'brand_id', 'grant_id'],
      clockTolerance: TOLERANCE_S,
      currentDate: new Date(now()),
    })
    return {
      userId: String(payload.sub),
      brandId: payload.brand_id,
      grantId: payload.grant_id,
      clientId: payload.client_id,
      scopes: payload.scope?.split(' ') ?? [],
      expiresAt: Number(payload.exp) * 1000,
    }
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined
    throw error
  }
}

/** With the scopes that the token carries and the user's role has still. */
function callerOf({ userId, clientId, scopes }: Claims, { role, isStaff, brand }: Standing): TokenCaller {
  const allowed = signInScopes(role)
  return {
    kind: 'token',
    id: `${userId} ${clientId}`,
    brandId: brand.id,
    scopes: scopes.map(currentScope).filter((scope) => allowed.includes(scope)),
    userId,
    role,
    isStaff,
    clientId,
  }
}

/** The client of tokens that the command line makes. */
const COMMAND_CLIENT = 'recoup-command'

export interface NewToken {
  userId: string
  brandId: string
  scopes: readonly string[]
  ttlSeconds: number
}

/** An access token without a sign-in, for scripts; it has a grant of its own, which ends with it. */
export async function issueToken(
  pipeline: Statements,
  { key, issuer }: { key: SigningKey; issuer: string },
  { userId, brandId, scopes, ttlSeconds }: NewToken,
): Promise<string> {
  const grantId = v7()
  await pipeline.run('grant_insert', [grantId, userId, brandId, COMMAND_CLIENT, ttlSeconds])
  const claims: OwnClaims = { brand_id: brandId, grant_id: grantId }
  return await new SignJWT({ ...claims, client_id: COMMAND_CLIENT, scope: scopes.join(' ') })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'at+jwt', kid: key.id })
    .setIssuer(issuer)
    .setAudience(issuer)
    .setSubject(userId)
    .setJti(v7())
    .setIssuedAt()
    .setExpirationTime(`${ttlSeconds}s`)
    .sign(key.private)
}
