/** The kinds of identifier, strongest first; the names are those of the table `identifier`. */
export const KINDS = ['store_customer_id', 'profile_id', 'email', 'phone', 'anonymous_id'] as const

export const [STORE, PROFILE, EMAIL, PHONE, ANONYMOUS] = [0, 1, 2, 3, 4] as const

/** A customer or visitor while one call is worked on. */
export interface Profile {
  /** 0: made by this call. */
  subject: number
  /** Order of making; the less the older. */
  age: number
  storeCustomerId: string | null
  email: string | null
  phone: string | null
  provenance: 'server' | 'pixel' | 'merged'
  /** Milliseconds since 1970. */
  createdAt: number
  /** The profile that it belongs to since a merge. */
  into: Profile | null
  /** The database knows of that merge. */
  retired: boolean
  /** Has fields that the database does not hold yet. */
  changed: boolean
}

/** The profile that stands for it now. */
export function survivorOf(profile: Profile): Profile {
  let survivor = profile
  while (survivor.into) survivor = survivor.into
  return survivor
}

const isVisitor = (profile: Profile) => profile.provenance === 'pixel'

/**
 * What becomes of two profiles that one tuple names: `named` by its strongest identifier, `other` by a weaker one of
 * the given kind. The survivor of `named` after it.
 */
export function meet(named: Profile, other: Profile, kind: number): Profile {
  if (isVisitor(other)) return absorb(named, other)
  // A browser is shared more often than an address: it joins nobody once it belongs to a customer.
  if (kind === ANONYMOUS) return named
  if (named.storeCustomerId !== null && other.storeCustomerId !== null) return named
  const emailsDiffer = named.email !== null && other.email !== null && named.email !== other.email
  const storeSaysSo = kind === EMAIL && named.storeCustomerId !== null
  if (emailsDiffer && !storeSaysSo) return named
  const survivor = outlives(named, other) ? named : other
  survivor.provenance = 'merged'
  return absorb(survivor, survivor === named ? other : named)
}

/** The store-linked one, else the older. */
function outlives(one: Profile, other: Profile): boolean {
  if (one.storeCustomerId !== null) return true
  return other.storeCustomerId === null && one.age < other.age
}

function absorb(survivor: Profile, absorbed: Profile): Profile {
  absorbed.into = survivor
  survivor.email ??= absorbed.email
  survivor.phone ??= absorbed.phone
  survivor.createdAt = Math.min(survivor.createdAt, absorbed.createdAt)
  survivor.changed = true
  return survivor
}
