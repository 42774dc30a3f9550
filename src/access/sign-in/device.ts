import { hash, randomBytes } from 'node:crypto'
import { signedCookie } from './cookie.ts'
import { emailOf } from './user.ts'

const LIFETIME_S = 365 * 24 * 3600
const ACCOUNT = 16
const NONCE = 16

/**
 * Browsers in which somebody has signed in before. Their failures are counted apart from those of the account, so that
 * whoever guesses at an account elsewhere cannot keep its owner out.
 */
export interface Devices {
  /** Name of the browser of a Cookie header, if this account was signed in there. */
  known(cookies: string | undefined, email: string): string | undefined
  /** Value of a Set-Cookie header that makes it known. */
  remember(email: string): string
}

export function createDevices(secret: Buffer, isSecure: boolean): Devices {
  const cookie = signedCookie({ name: 'recoup_device', secret, isSecure, seconds: LIFETIME_S })
  return {
    known(cookies, email) {
      const content = cookie.read(cookies)
      if (content?.length !== ACCOUNT + NONCE) return undefined
      return content.subarray(0, ACCOUNT).equals(account(email)) ? content.toString('hex') : undefined
    },
    remember: (email) => cookie.set(Buffer.concat([account(email), randomBytes(NONCE)])),
  }
}

const account = (email: string) =>
  Buffer.from(hash('sha256', emailOf(email), 'hex'), 'hex').subarray(0, ACCOUNT)
