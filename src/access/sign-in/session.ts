import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Statements } from '../../op.ts'
import type { Standing, Standings } from './standing.ts'

const LIFETIME_S = 14 * 24 * 3600
const ID = 32
const MAC = 32

/** Browsers that are signed in to the web app. */
export interface Sessions {
  /** Makes one; the value is that of the Set-Cookie header. */
  start(userId: string, brandId: string): Promise<string>
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
  const current = (standing: Standing | undefined) =>
    standing && standing.expiresAt > now() ? standing : undefined

  // The prefix makes browsers refuse a cookie that another host or an unprotected page set.
  const name = isSecure ? '__Host-recoup_session' : 'recoup_session'
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`

  const signed = (id: Buffer) =>
    Buffer.concat([id, createHmac('sha256', secret).update('session').update(id).digest()])

  const idOf = (cookies: string | undefined): string | undefined => {
    const value = cookies && cookieOf(cookies, name)
    if (!value) return undefined
    const bytes = Buffer.from(value, 'base64url')
    if (bytes.length !== ID + MAC || bytes.toString('base64url') !== value) return undefined
    const id = bytes.subarray(0, ID)
    return timingSafeEqual(signed(id), bytes) ? storedId(id) : undefined
  }

  return {
    async start(userId, brandId) {
      const id = randomBytes(ID)
      await pipeline.run('session_insert', [storedId(id), userId, brandId, LIFETIME_S])
      return `${name}=${signed(id).toString('base64url')}; Max-Age=${LIFETIME_S}; ${attributes}`
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
      return `${name}=; Max-Age=0; ${attributes}`
    },
  }
}

/** The first cookie of a name in a Cookie header. */
function cookieOf(cookies: string, name: string): string | undefined {
  for (const pair of cookies.split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return undefined
}

/** What is stored of an id: a copy of the table signs nobody in. */
const storedId = (id: Buffer) => hash('sha256', id, 'hex')
