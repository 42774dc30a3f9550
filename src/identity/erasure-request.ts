import { v7 } from 'uuid'
import { fail } from '../errors.ts'
import type { Statements } from '../op.ts'

/** Whom to erase, by any identifiers of theirs as they were sent. The strongest that somebody has decides. */
export interface Whom {
  storeCustomerId?: string | null
  /** A public customer id, or the sender's own id of a person. */
  profileId?: string | null
  email?: string | null
  phone?: string | null
}

/** The names of identifiers in the table `identifier`. */
const NAMES = {
  storeCustomerId: 'store_customer_id',
  profileId: 'profile_id',
  email: 'email',
  phone: 'phone',
}

/**
 * Asks for a customer to be erased, within a transaction of the brand; the job `erase` does it when that commits. Also
 * for somebody who is not known: then what comes later from before the request stays out. `requestedBy` goes into the
 * certificate. The same request again, while it waits, is the same one. Throws `bad_request` when nothing names anybody.
 */
export async function requestErasure(
  tx: Statements,
  whom: Whom,
  requestedBy: string,
): Promise<{ erasureId: string }> {
  const named = Object.entries(NAMES).flatMap(([field, kind]) => {
    const value = whom[field as keyof Whom]?.trim()
    return value ? [[kind, kind === 'email' ? value.toLowerCase() : value]] : []
  })
  if (named.length === 0)
    throw fail('bad_request', 'Whom to erase: give a store customer id, profile id, email or phone.')
  return await request(tx, Object.fromEntries(named), requestedBy)
}

/** Asks in the same way for everybody of the brand who is known when the job begins. */
export const requestErasureOfEverybody = (tx: Statements, requestedBy: string) =>
  request(tx, { everybody: true }, requestedBy)

async function request(tx: Statements, whom: object, requestedBy: string): Promise<{ erasureId: string }> {
  const row = [v7(), JSON.stringify(whom), requestedBy]
  const { id } = await tx.one<{ id: string }>('erasure_request', row)
  return { erasureId: id }
}
