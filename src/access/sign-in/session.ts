import { hash, randomBytes } from 'node:crypto'
import { fail } from '../../errors.ts'
import type { Statements } from '../../op.ts'
import { cookieName, signedCookie } from './cookie.ts'
import type { Standing, Standings } from './standing.ts'

const NAME = 'recoup_session'
const LIFETIME_S = 14 * 24 * 3600
const ID = 32

/** Name of the cookie where the service has this public origin. */
export const sessionCookieName = (baseUrl: string) => cookieName(NAME, baseUrl.startsWith('https:'))

/** Browsers that are signed in to the web app. */
export interface Sessions {
  /**
   * Makes one; the value is that of the Set-Cookie header. `passwordHash`: of the password that the user gave. Throws
   * `unauthorized` when it is the user's no more.
   */
  start(userId: string, brandId: string, passwordHash: string): Promise<string>
  /** The one that a Cookie header names; a value that was not signed here costs no query. */
  find(cookies: string | undefined): Standing | undefined | Promise<Standing | undefined>
  /** Lets it act for another brand of its user. */
  setBrand(session: Standing, brandId: string): Promise<void>
  /** Ends the one that a Cookie header names, if any; the value removes the cookie. */
  end(cookies: string | undefined): Promise<string>
}

interface Deps {
  pipeline: Statements
  standings: Standings
  /** Signs cookies. */
  secret: Buffer
  /** Whether browsers come by TLS. */
  isSecure: boolean
  now: () => number
}

export function createSessions({ pipeline, standings, secret, isSecure, now }: Deps): Sessions {
  const cookie = signedCookie({ name: NAME, secret, isSecure, seconds: LIFETIME_S })
  const current = (standing: Standing | undefined) =>
    standing && standing.expiresAt > now() ? standing : undefined
  const idOf = (cookies: string | undefined) => {
    const id = cookie.read(cookies)
    return id && storedId(id)
  }

  return {
    async start(userId, brandId, passwordHash) {
      const id = randomBytes(ID)
      const made = await pipeline.run('session_insert', [
        storedId(id),
        userId,
        brandId,
        LIFETIME_S,
        passwordHash,
      ])
      if (made === 0) throw fail('unauthorized', 'The email or the password is wrong')
      return cookie.set(id)
    },

    find(cookies) {
      const id = idOf(cookies)
      const standing = id === undefined ? undefined : standings.find(id)
      return standing instanceof Promise ? standing.then(current) : current(standing)
    },

    async setBrand(session, brandId) {
      await pipeline.run('session_set_brand', [session.id, brandId])
      standings.forget(({ id }) => id === session.id)
    },

    async end(cookies) {
      const ended = idOf(cookies)
      if (ended) {
        await pipeline.run('session_end', [ended])
        standings.forget(({ id }) => id === ended)
      }
      return cookie.remove()
    },
  }
}

/** What is stored of an id: a copy of the table signs nobody in. */
const storedId = (id: Buffer) => hash('sha256', id, 'hex')
