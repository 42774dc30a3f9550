import { fail } from '../errors.ts'
import { emailOf } from '../event/email.ts'
import { phoneOf } from '../identity/channel.ts'
import { isOneOf } from '../lake/one-of.ts'
import type { Ctx, Published } from '../op.ts'
import { sourcesOf } from './cdp-fields.ts'
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
  /** The newest of published results, when it was found; 0 before the first. */
  generation: number
}

interface PartyRow extends Omit<FoundCustomer, 'customer'> {
  customer: number | null
  named_contact_id: string | null
  is_by_id: boolean
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
  if (value === undefined) throw unknown()
  const { customer, named_contact_id, is_by_id, ...row } = await db.one<PartyRow>('party_found', [
    kind,
    value,
  ])
  const profile = customer === null ? null : { ...row, customer }
  const contactId = named_contact_id ?? profile?.contact_id ?? null
  if (!profile && contactId === null) throw unknown()
  return { profile, contactId, kind: is_by_id ? 'none' : kind, generation: row.generation }
}

const unknown = () => fail('not_found', 'There is no customer with this identifier.')

/**
 * What the commerce side knows a party by: none when it has no contact, no order and no subscription. By the id of a
 * profile that is the first of the profile's own identifiers.
 */
export async function matchOf(
  ctx: Ctx,
  served: Published | null,
  { profile, contactId, kind }: Party,
): Promise<Match> {
  if (!profile) return kind
  if (contactId === null && !(served && (await hasBought(served, profile)))) return 'none'
  if (kind !== 'none') return kind
  const published = served && (await customerRow(served, profile.customer))
  const row = published ?? (await customerRow(await sourcesOf(ctx), profile.customer))
  return (['email', 'store_customer_id', 'phone'] as const).find((name) => row?.[name]) ?? 'contact_id'
}

async function hasBought(served: Published, { subjects }: FoundCustomer): Promise<boolean> {
  const ordered = await served.of(subjects, ['orders'])
  if (ordered.some((rows) => rows('orders').length > 0)) return true
  return (await served.rows(`from subscriptions where ${isOneOf(subjects)} limit 1`)).length > 0
}
