import { fail } from '../errors.ts'
import { emailOf, phoneOf } from '../identity/channel.ts'
import type { Ctx, Published } from '../op.ts'
import { isOneOf } from './customer-place.ts'
import { customerRow, type FoundCustomer } from './customer-rows.ts'

/** What an identifier of a customer was found by. */
export const MATCHES = ['email', 'store_customer_id', 'phone', 'contact_id', 'none'] as const
export type Match = (typeof MATCHES)[number]

/** Whom an identifier names: a profile, a contact, or both. */
export interface Party {
  profile: FoundCustomer | null
  contactId: string | null
  /** None: by the id of a profile. */
  kind: Match
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Tells the kind of an identifier by its shape; a UUID can be the id of a contact and of a profile. */
function kindOf(identifier: string): Match {
  if (identifier.includes('@')) return 'email'
  if (identifier.startsWith('+')) return 'phone'
  if (UUID.test(identifier)) return 'contact_id'
  return /^\d+$/.test(identifier) ? 'store_customer_id' : 'none'
}

/** As it is stored; undefined for what cannot be. */
function stored(kind: Match, identifier: string, region: string): string | undefined {
  if (kind === 'email') return emailOf(identifier)
  if (kind === 'phone') return phoneOf(identifier, region)
  return kind === 'contact_id' ? identifier.toLowerCase() : identifier
}

/** Fails with not_found when neither a profile nor a contact has the identifier. */
export async function partyOf({ db, brand }: Pick<Ctx, 'db' | 'brand'>, identifier: string): Promise<Party> {
  const kind = kindOf(identifier)
  const value = stored(kind, identifier, brand.default_phone_region)
  if (kind !== 'none' && value !== undefined) {
    const named = await db.one<{ subject: number | null; contact_id: string | null }>('identity_named', [
      kind,
      value,
    ])
    const profile =
      named.subject === null
        ? undefined
        : await db.maybe<FoundCustomer>('customer_found', [null, named.subject])
    const contactId = named.contact_id ?? profile?.contact_id ?? null
    if (profile || contactId) return { profile: profile ?? null, contactId, kind }
  }
  const profile =
    kind === 'none' || kind === 'contact_id'
      ? await db.maybe<FoundCustomer>('customer_found', [value, null])
      : undefined
  if (!profile) throw fail('not_found', 'There is no customer with this identifier.')
  return { profile, contactId: profile.contact_id, kind: 'none' }
}

/**
 * What the commerce side knows a party by: none when it has neither a contact nor an order. By the id of a profile that
 * is the first of the profile's own identifiers.
 */
export async function matchOf(served: Published | null, { profile, contactId, kind }: Party): Promise<Match> {
  if (!profile) return kind
  if (contactId === null && !(served && (await hasOrders(served, profile)))) return 'none'
  if (kind !== 'none') return kind
  const row = served ? await customerRow(served, profile.customer) : undefined
  return (['email', 'store_customer_id', 'phone'] as const).find((name) => row?.[name]) ?? 'contact_id'
}

async function hasOrders(served: Published, { subjects }: FoundCustomer): Promise<boolean> {
  const found = await served.rows(`select 1 from orders where ${isOneOf(subjects)} limit 1`)
  return found.length > 0
}
