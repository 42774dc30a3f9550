import { createHmac, timingSafeEqual } from 'node:crypto'

/** A cookie for our pages alone, whose content only we can have written. */
export interface SignedCookie {
  /** Value of a Set-Cookie header. */
  set(content: Buffer): string
  /** Its content in a Cookie header; undefined for what was not signed here. */
  read(cookies: string | undefined): Buffer | undefined
  /** Value of a Set-Cookie header that removes it. */
  remove(): string
}

const MAC = 32

interface Options {
  name: string
  secret: Buffer
  /** Whether browsers come by TLS. */
  isSecure: boolean
  seconds: number
}

/** As browsers have it: with TLS its prefix makes them refuse one that another host or an unprotected page set. */
export const cookieName = (name: string, isSecure: boolean) => (isSecure ? `__Host-${name}` : name)

export function signedCookie({ name: plainName, secret, isSecure, seconds }: Options): SignedCookie {
  const name = cookieName(plainName, isSecure)
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const mac = (content: Buffer) =>
    createHmac('sha256', secret).update(`${plainName} `).update(content).digest()

  return {
    set: (content) => {
      const value = Buffer.concat([mac(content), content]).toString('base64url')
      return `${name}=${value}; Max-Age=${seconds}; ${attributes}`
    },

    read(cookies) {
      const value = cookies && cookieValue(cookies, name)
      if (!value) return undefined
      const bytes = Buffer.from(value, 'base64url')
      // Decoding is lenient: only the one spelling that was issued counts.
      if (bytes.length <= MAC || bytes.toString('base64url') !== value) return undefined
      const content = bytes.subarray(MAC)
      return timingSafeEqual(mac(content), bytes.subarray(0, MAC)) ? content : undefined
    },

    remove: () => `${name}=; Max-Age=0; ${attributes}`,
  }
}

/** The first cookie of a name in a Cookie header. */
function cookieValue(cookies: string, name: string): string | undefined {
  for (const pair of cookies.split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return undefined
}
