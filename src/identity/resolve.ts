import { ANONYMOUS, EMAIL, KINDS, meet, PHONE, PROFILE, type Profile, STORE, survivorOf } from './profile.ts'

/** The identifiers of one event or order by kind, normalised; undefined where there is none. */
export type Tuple = readonly (string | undefined)[]

/** An identifier that the database does not hold yet. */
export interface NewIdentifier {
  kind: number
  value: string
  owner: Profile
}

/**
 * Works out in memory whom each tuple is about, in the order given, starting from the profiles that are known. It
 * writes nothing: `added`, `identifiers`, `merged` and `changed` are what the database lacks afterwards.
 */
export class Resolution {
  readonly identifiers: NewIdentifier[] = []
  readonly #owners: readonly Map<string, Profile>[] = KINDS.map(() => new Map())
  readonly #added: Profile[] = []
  readonly #known = new Set<Profile>()

  /** Says who holds an identifier. */
  know(kind: number, value: string, owner: Profile): void {
    this.#owners[kind]?.set(value, owner)
    this.#known.add(owner)
    this.#known.add(survivorOf(owner))
  }

  /** New profiles that nobody absorbed, in the order of their making. */
  get added(): Profile[] {
    return this.#added.filter((profile) => !profile.into)
  }

  /** Known profiles that were absorbed. */
  get merged(): Profile[] {
    return [...this.#known].filter((profile) => profile.into && !profile.retired)
  }

  /** Known profiles with new values. */
  get changed(): Profile[] {
    return [...this.#known].filter((profile) => profile.changed && !profile.into)
  }

  /** Whom the tuple is about: the holder of its strongest identifier; null when it names nobody. */
  resolve(tuple: Tuple, seenAt: number): Profile | null {
    const owner = this.#ownerOf(tuple)
    if (!owner) return null
    let survivor = survivorOf(owner)
    describe(survivor, tuple, seenAt)
    for (const [kind, value] of tuple.entries()) {
      if (value === undefined) continue
      const holder = this.#owners[kind]?.get(value)
      if (!holder) {
        this.#owners[kind]?.set(value, owner)
        this.identifiers.push({ kind, value, owner })
      } else {
        const other = survivorOf(holder)
        if (other !== survivor) survivor = meet(survivor, other, kind)
      }
    }
    return owner
  }

  #ownerOf(tuple: Tuple): Profile | null {
    const storeCustomerId = tuple[STORE]
    if (storeCustomerId !== undefined) return this.#held(tuple, STORE) ?? this.#add('server', storeCustomerId)
    const holder = this.#held(tuple, PROFILE) ?? this.#held(tuple, EMAIL) ?? this.#heldByPhone(tuple)
    if (holder) return holder
    if ((tuple[PROFILE] ?? tuple[EMAIL] ?? tuple[PHONE]) !== undefined) return this.#add('server', null)
    if (tuple[ANONYMOUS] === undefined) return null
    return this.#held(tuple, ANONYMOUS) ?? this.#add('pixel', null)
  }

  #held(tuple: Tuple, kind: number): Profile | undefined {
    const value = tuple[kind]
    return value === undefined ? undefined : this.#owners[kind]?.get(value)
  }

  /** A phone is shared in a family: it says nothing about a new email when its holder has another one. */
  #heldByPhone(tuple: Tuple): Profile | undefined {
    const holder = this.#held(tuple, PHONE)
    const email = holder && survivorOf(holder).email
    return !email || tuple[EMAIL] === undefined || tuple[EMAIL] === email ? holder : undefined
  }

  #add(provenance: 'server' | 'pixel', storeCustomerId: string | null): Profile {
    const profile: Profile = {
      subject: 0,
      // After every subject of the database.
      age: 2 ** 31 + this.#added.length,
      storeCustomerId,
      email: null,
      phone: null,
      provenance,
      createdAt: Number.POSITIVE_INFINITY,
      into: null,
      retired: false,
      changed: false,
    }
    this.#added.push(profile)
    return profile
  }
}

function describe(profile: Profile, tuple: Tuple, seenAt: number): void {
  const { email, phone, createdAt } = profile
  profile.email ??= tuple[EMAIL] ?? null
  profile.phone ??= tuple[PHONE] ?? null
  profile.createdAt = Math.min(createdAt, seenAt)
  if (profile.email !== email || profile.phone !== phone || profile.createdAt !== createdAt)
    profile.changed = true
}
