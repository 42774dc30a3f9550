import type { Identity } from '../identity/subject.ts'

/** Whom lines of the log name, by the text that they share. */
export interface IdentityRow {
  identity: string
  brand_id: string
  store_customer_id: string | null
  profile_id: string | null
  email: string | null
  phone: string | null
  anonymous_id: string | null
  /** Absent: nobody asked. */
  by_browser?: boolean
  seen_at: Date
}

/** Identities are resolved so many at a time: a call is one transaction of a second or two at most. */
export const IDENTITIES_A_CALL = 10_000

export const identityOf = (row: IdentityRow): Identity => ({
  storeCustomerId: row.store_customer_id ?? undefined,
  profileId: row.profile_id ?? undefined,
  email: row.email ?? undefined,
  phone: row.phone ?? undefined,
  anonymousId: row.anonymous_id ?? undefined,
  seenAt: row.seen_at,
  origin: row.by_browser ? 'browser' : undefined,
})

/** Once heard says all. What a browser says of its visitor may mean a customer later whom it does not mean yet. */
export const isSettled = (row: IdentityRow): boolean =>
  !row.by_browser || (row.store_customer_id ?? row.profile_id ?? row.email ?? row.phone) === null
