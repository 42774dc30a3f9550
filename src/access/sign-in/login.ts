import { hash } from 'node:crypto'
import { fail } from '../../errors.ts'
import type { Statements } from '../../op.ts'
import { networkOf } from '../network.ts'
import { isPassword } from './password.ts'
import { emailOf, findUser, type Membership, membershipsOf, type User } from './user.ts'

/** Failures without a wait, before each doubles it: of one account, and of an address, which an office may share. */
const FREE = { account: 5, address: 20 }

export interface Attempt {
  email: string
  password: string
  /** Of the client. */
  address: string
  /** Name of a browser in which the account was signed in before. */
  device?: string
}

export interface LoggedIn extends User {
  /** Of the password that was given. */
  passwordHash: string
  /** At least one. */
  memberships: Membership[]
}

/**
 * Checks email and password. Throws `unauthorized` without saying which of them is wrong, or `rate_limited` with
 * Retry-After, which the right password does not get past either.
 */
export async function logIn(
  pipeline: Statements,
  { email, password, address, device }: Attempt,
): Promise<LoggedIn> {
  const keys = {
    account: device ? keyOf('device', device) : keyOf('account', emailOf(email)),
    address: keyOf('address', networkOf(address)),
  }
  await take(pipeline, keys.address, FREE.address)
  await take(pipeline, keys.account, FREE.account)

  const user = await findUser(pipeline, email)
  const isRight = await isPassword(password, user?.password_hash)
  if (!user || !isRight || user.disabled_at) throw fail('unauthorized', 'The email or the password is wrong')

  const memberships = await membershipsOf(pipeline, user.id)
  // Whoever owns one account must not thereby get to guess at others.
  await pipeline.run('attempt_forgive', [keys.address, false])
  await pipeline.run('attempt_forgive', [keys.account, true])
  if (memberships.length === 0) throw fail('unauthorized', 'This account does not belong to a brand yet')
  return { id: user.id, email: user.email, passwordHash: user.password_hash, memberships }
}

async function take(pipeline: Statements, key: Buffer, free: number): Promise<void> {
  const answer = await pipeline.maybe<{ wait_s: number }>('attempt_take', [key, free])
  // No row: refused by one at the same moment, which can only be read by now.
  if (!answer) return await take(pipeline, key, free)
  if (answer.wait_s === 0) return
  const seconds = Math.ceil(answer.wait_s)
  const headers = { 'retry-after': String(seconds) }
  throw fail('rate_limited', `Too many failed attempts. Try again in ${spoken(seconds)}`, { headers })
}

const spoken = (seconds: number) =>
  seconds < 90 ? `${seconds} ${seconds === 1 ? 'second' : 'seconds'}` : `${Math.ceil(seconds / 60)} minutes`

const keyOf = (kind: string, value: string) => Buffer.from(hash('sha256', `${kind} ${value}`, 'hex'), 'hex')
