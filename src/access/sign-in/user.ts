import { v7 } from 'uuid'
import { fail } from '../../errors.ts'
import type { Role, Statements } from '../../op.ts'
import { hashPassword, passwordProblem } from './password.ts'

/** A person who can sign in. */
export interface User {
  id: string
  email: string
}

/** A brand that a user works for. */
export interface Membership {
  brand_id: string
  name: string
  shop_domain: string
  role: Role
}

/** A user who works for a brand. */
export interface Member {
  email: string
  role: Role
  is_staff: boolean
  disabled_at: Date | null
  user_id: string
}

interface UserRow extends User {
  password_hash: string
  is_staff: boolean
  disabled_at: Date | null
}

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

/** As it is stored and looked for. */
export const emailOf = (text: string) => text.trim().toLowerCase()

/** Throws a 400 for what cannot be an address. */
function checkedEmail(text: string): string {
  const email = emailOf(text)
  if (!EMAIL.test(email) || email.length > 254) throw fail('bad_request', 'email must be an email address')
  return email
}

/** Across brands; with the hash of the password. */
export const findUser = (pipeline: Statements, email: string) =>
  pipeline.maybe<UserRow>('user_by_email', [emailOf(email)])

/** Throws a 409 for an email that is taken. */
export async function createUser(
  pipeline: Statements,
  { email, password, isStaff = false }: { email: string; password: string; isStaff?: boolean },
): Promise<User> {
  const user = { id: v7(), email: checkedEmail(email) }
  const made = await pipeline.run('user_insert', [user.id, user.email, await newHash(password), isStaff])
  if (made === 0) throw fail('conflict', `${user.email} has an account already`)
  return user
}

/** A new password ends all sessions and grants of the user. */
export async function changePassword(pipeline: Statements, userId: string, password: string): Promise<void> {
  await pipeline.run('user_set_password', [userId, await newHash(password)])
  await pipeline.run('user_sign_out', [userId])
}

/** Lets a user work for a brand, or changes the role. */
export async function setMembership(
  pipeline: Statements,
  { brandId, userId, role }: { brandId: string; userId: string; role: Role },
): Promise<void> {
  await pipeline.run('membership_put', [brandId, userId, role])
}

/**
 * Ends the membership, if there is one, and with it the sign-ins for the brand; of a user who belongs to no other brand also
 * the account.
 */
export async function endMembership(
  tx: Statements,
  { brandId, userId }: { brandId: string; userId: string },
): Promise<{ ended: boolean; accountRemoved: boolean }> {
  await tx.maybe('user_hold', [userId])
  const ended = (await tx.run('membership_end', [brandId, userId])) > 0
  return { ended, accountRemoved: ended && (await tx.run('user_remove', [userId])) > 0 }
}

/** Brands of a user by name. */
export const membershipsOf = (pipeline: Statements, userId: string) =>
  pipeline.many<Membership>('memberships_of_user', [userId])

/** Who works for a brand, by email. */
export const membersOf = (pipeline: Statements, brandId: string) =>
  pipeline.many<Member>('members_of_brand', [brandId])

async function newHash(password: string): Promise<string> {
  const problem = passwordProblem(password)
  if (problem) throw fail('bad_request', problem)
  return await hashPassword(password)
}
