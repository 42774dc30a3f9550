/** The kinds of identifier, strongest first; the names are those of the table `identifier`. */
export const KINDS = ['store_customer_id', 'profile_id', 'email', 'phone', 'anonymous_id'] as const

export const [STORE, PROFILE, EMAIL, PHONE, ANONYMOUS] = [0, 1, 2, 3, 4] as const

/** A customer or visitor as it was sent, while one call is worked on. */
export interface Profile {
  /** 0: made by this call. */
  subject: number
  /** Order of making; the less the older. */
  age: number
  storeCustomerId: string | null
  /** The sender's own id of the person, where one was given. */
  profileId: string | null
  email: string | null
  phone: string | null
  /** The store's record alone says the email, or that there is none. */
  emailByRecord: boolean
  phoneByRecord: boolean
  /** pixel: a visitor, known by nothing but the id that its browser carries. */
  provenance: 'server' | 'pixel'
  /** Milliseconds since 1970. */
  createdAt: number
  /** The profile that it belongs to since a merge. */
  into: Profile | null
  /** Of a visitor: it belongs there on a browser's word. */
  byBrowser: boolean
  /** The database knows of that merge. */
  retired: boolean
  /** The store removed it: it is shown nowhere, and its addresses are of whoever is named with them next. */
  hidden: boolean
  /** Has fields that the database does not hold yet. */
  changed: boolean
}

/** The profile that stands for it now. */
export function survivorOf(profile: Profile): Profile {
  let survivor = profile
  while (survivor.into) survivor = survivor.into
  return survivor
}

export const isVisitor = ({ provenance }: Pick<Profile, 'provenance'>) => provenance === 'pixel'

/** Whether a profile id or an email that nobody has may be theirs: they have none, and the store does not say so. */
export const lacks = ({ profileId, email, emailByRecord }: Profile, kind: number): boolean =>
  kind === PROFILE ? profileId === null : email === null && !emailByRecord

type Ranked = Pick<Profile, 'storeCustomerId' | 'age'>

/** Of two survivors the one that stays: the store-linked one, else the older. */
export function outlives(one: Ranked, other: Ranked): boolean {
  if ((one.storeCustomerId === null) !== (other.storeCustomerId === null)) return one.storeCustomerId !== null
  return one.age < other.age
}

/** What an event or record says of its own profile: channels that it lacked, an earlier first sight. */
export function describe(profile: Profile, tuple: Tuple, seenAt: number): void {
  const { email, phone, createdAt } = profile
  if (!isVisitor(profile)) {
    if (!profile.emailByRecord) profile.email ??= tuple[EMAIL] ?? null
    if (!profile.phoneByRecord) profile.phone ??= tuple[PHONE] ?? null
  }
  profile.createdAt = Math.min(createdAt, seenAt)
  profile.changed ||= profile.email !== email || profile.phone !== phone || profile.createdAt !== createdAt
}

/** The identifiers of one event or order by kind, normalised; undefined where there is none. */
export type Tuple = readonly (string | undefined)[]
