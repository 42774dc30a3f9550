import { type Bar, Bars } from './bar.ts'
import { Claims } from './claim.ts'
import {
  ANONYMOUS,
  describe,
  EMAIL,
  isVisitor,
  KINDS,
  lacks,
  outlives,
  PHONE,
  PROFILE,
  type Profile,
  STORE,
  survivorOf,
  type Tuple,
} from './profile.ts'

export type { Tuple } from './profile.ts'

/** Who says what a tuple says. A browser's word attaches its visitor to at most one customer, and does nothing else. */
export type Source = 'browser' | 'server' | 'import' | 'store'

/** A row of the ledger to be: `from` belongs to whom `to` belongs to. */
export interface Merge {
  from: Profile
  to: Profile
  kind: number
  source: Source
}

/**
 * Works out in memory whom each tuple is about, in the order given, starting from the profiles that are known. It
 * writes nothing: its lists are what the database lacks afterwards.
 */
export class Resolution {
  readonly claims = new Claims()
  /** Identifiers that the database does not hold yet. */
  readonly identifiers: { kind: number; value: string; owner: Profile }[] = []
  /** Identifiers that the database has with a customer whom the store removed, and who has them now. */
  readonly handedOn: { kind: number; value: string; owner: Profile }[] = []
  /** Visitors whom the database has with a customer on a browser's word, and who belong elsewhere. */
  readonly detached = new Set<Profile>()
  readonly #merges = new Map<Profile, Merge[]>()
  readonly #owners: readonly Map<string, Profile>[] = KINDS.map(() => new Map())
  readonly #added: Profile[] = []
  readonly #known = new Map<number, Profile>()
  readonly #bars: Bars
  /** Of browsers: what may mean several customers. */
  readonly #unclear: { visitor: Profile; tuple: Tuple }[] = []

  constructor(bars: readonly Bar[] = []) {
    this.#bars = new Bars(bars, this.#known)
  }

  /** Makes a profile of the database known. */
  introduce(profile: Profile): void {
    this.#known.set(profile.subject, profile)
  }

  profile(subject: number): Profile | undefined {
    return this.#known.get(subject)
  }

  /** Says who holds an identifier. */
  know(kind: number, value: string, owner: Profile): void {
    this.#owners[kind]?.set(value, owner)
  }

  /** Profiles made by this call, in the order of their making. */
  get added(): readonly Profile[] {
    return this.#added
  }

  get merges(): Merge[] {
    return [...this.#merges.values()].flat()
  }

  /** Profiles that belong to another one and of which the database does not know it. */
  get redirected(): Profile[] {
    return [...this.#known.values(), ...this.#added].filter(({ into, retired }) => into && !retired)
  }

  /** Known profiles with new values. */
  get changed(): Profile[] {
    return [...this.#known.values()].filter(({ changed }) => changed)
  }

  /** Whom the tuple is about: the holder of its strongest identifier; null when it names nobody. */
  resolve(tuple: Tuple, seenAt: number, source: Source): Profile | null {
    return source === 'browser' ? this.#hear(tuple, seenAt) : this.#believe(tuple, seenAt, source)
  }

  #believe(tuple: Tuple, seenAt: number, source: Source): Profile | null {
    const owner = this.#ownerOf(tuple)
    if (!owner) return null
    describe(owner, tuple, seenAt)
    // Of another visitor it says nothing.
    if (isVisitor(owner)) return owner
    for (const [kind, value] of tuple.entries()) {
      if (value === undefined) continue
      const holder = this.#owners[kind]?.get(value)
      if (!holder) this.#give(kind, value, owner)
      else if (this.#isFree(kind, holder, owner)) this.#handOn(kind, value, owner)
      else if (kind === ANONYMOUS || isVisitor(holder)) this.#attach(holder, owner, ANONYMOUS, source)
      else if (holder !== owner && this.claims.add(kind, value, owner, source))
        this.#join(owner, holder, kind, source)
    }
    return owner
  }

  /** Of a customer whom the store removed, the next who is named with an address or a browser has it. */
  #isFree(kind: number, holder: Profile, owner: Profile): boolean {
    if (kind === STORE || kind === PROFILE || isVisitor(holder)) return false
    return survivorOf(holder).hidden && !survivorOf(owner).hidden
  }

  #handOn(kind: number, value: string, owner: Profile): void {
    this.#owners[kind]?.set(value, owner)
    this.handedOn.push({ kind, value, owner })
  }

  /** A profile per strongest identifier; one that is new may be the first of its kind of somebody known by a weaker one. */
  #ownerOf(tuple: Tuple): Profile | null {
    const storeCustomerId = tuple[STORE]
    if (storeCustomerId !== undefined) return this.#held(tuple, STORE) ?? this.#add('server', storeCustomerId)
    const named = this.#held(tuple, PROFILE)
    if (named && !isVisitor(named)) return named
    // A visitor's public id says no more than the one of its browser.
    const given = [PROFILE, EMAIL, PHONE].filter(
      (kind) => tuple[kind] !== undefined && !(named && kind === PROFILE),
    )
    if (given.length > 0) return this.#reached(tuple, given) ?? this.#add('server', null)
    const browser = tuple[ANONYMOUS]
    return named ?? (browser === undefined ? null : this.#browser(browser))
  }

  /** Who has the strongest of these identifiers that somebody has; none of whom a stronger one cannot be. */
  #reached(tuple: Tuple, given: readonly number[]): Profile | undefined {
    for (const [at, kind] of given.entries()) {
      const holder = this.#held(tuple, kind)
      if (!holder) continue
      const isOthers = at > 0 && this.claims.isShared(kind, tuple[kind] ?? '')
      return !isOthers && given.slice(0, at).every((stronger) => lacks(holder, stronger)) ? holder : undefined
    }
    return undefined
  }

  /** The visitor whom a browser carries, or the customer who has been its only one. */
  #browser(id: string): Profile {
    const held = this.#owners[ANONYMOUS]?.get(id)
    if (held) return held
    const visitor = this.#add('pixel', null)
    this.#give(ANONYMOUS, id, visitor)
    return visitor
  }

  #held(tuple: Tuple, kind: number): Profile | undefined {
    const value = tuple[kind]
    return value === undefined ? undefined : this.#owners[kind]?.get(value)
  }

  /** What a browser says: the visitor is its own profile, and joins the customer when exactly one is meant. */
  #hear(tuple: Tuple, seenAt: number): Profile | null {
    const value = tuple[ANONYMOUS]
    const meant = this.#meant(tuple)
    const [one] = meant
    if (value === undefined)
      return meant.length > 1 ? null : (one?.holder ?? this.#held(tuple, PROFILE) ?? null)
    const visitor = this.#browser(value)
    if (!isVisitor(visitor)) return visitor
    describe(visitor, tuple, seenAt)
    if (isTaken(visitor)) return visitor
    if (one && meant.length === 1) this.#attach(visitor, one.holder, one.kind, 'browser')
    else if (one) this.#unclear.push({ visitor, tuple })
    else {
      for (const kind of [STORE, PROFILE, EMAIL, PHONE]) {
        const claimed = tuple[kind]
        if (claimed !== undefined && !this.#held(tuple, kind)) this.claims.wait(kind, claimed, visitor)
      }
    }
    return visitor
  }

  /** Call it last. Whoever seemed to be two may be one by now; so the same call again brings nothing new. */
  clear(): void {
    for (const { visitor, tuple } of this.#unclear) {
      const [one, other] = this.#meant(tuple)
      if (one && !other && !isTaken(visitor)) this.#attach(visitor, one.holder, one.kind, 'browser')
    }
  }

  /** The customers whom the identifiers of a tuple can mean, each by the strongest. */
  #meant(tuple: Tuple): { holder: Profile; kind: number }[] {
    const meant = new Map<Profile, { holder: Profile; kind: number }>()
    for (const kind of [STORE, PROFILE, EMAIL, PHONE]) {
      const value = tuple[kind]
      const holder = value === undefined ? undefined : this.#owners[kind]?.get(value)
      if (value === undefined || !holder || isVisitor(holder)) continue
      for (const profile of [holder, ...this.claims.of(kind, value)]) {
        const survivor = survivorOf(profile)
        if (!meant.has(survivor)) meant.set(survivor, { holder: profile, kind })
      }
    }
    return [...meant.values()]
  }

  #add(provenance: 'server' | 'pixel', storeCustomerId: string | null): Profile {
    const profile: Profile = {
      subject: 0,
      // After every subject of the database.
      age: 2 ** 31 + this.#added.length,
      storeCustomerId,
      profileId: null,
      email: null,
      phone: null,
      emailByRecord: false,
      phoneByRecord: false,
      provenance,
      createdAt: Number.POSITIVE_INFINITY,
      into: null,
      byBrowser: false,
      retired: false,
      hidden: false,
      changed: false,
    }
    this.#added.push(profile)
    return profile
  }

  #give(kind: number, value: string, owner: Profile): void {
    this.#owners[kind]?.set(value, owner)
    this.identifiers.push({ kind, value, owner })
    if (kind === PROFILE && owner.profileId === null)
      Object.assign(owner, { profileId: value, changed: true })
    for (const visitor of this.claims.answer(kind, value))
      if (!visitor.into) this.#attach(visitor, owner, kind, 'browser')
  }

  #join(one: Profile, other: Profile, kind: number, source: Source): void {
    const [ours, theirs] = [survivorOf(one), survivorOf(other)]
    if (ours === theirs) return
    // The store says that they are two.
    if (ours.storeCustomerId !== null && theirs.storeCustomerId !== null) return
    if (this.#bars.stand(ours, theirs)) return
    const [from, to] = outlives(ours, theirs) ? [other, one] : [one, other]
    survivorOf(from).into = survivorOf(to)
    this.#note({ from, to, kind, source })
  }

  /** A browser is shared more often than an address: it makes one of nobody, and follows the first who named it. */
  #attach(visitor: Profile, customer: Profile, kind: number, source: Source): void {
    if (!isVisitor(visitor) || isVisitor(customer)) return
    const survivor = survivorOf(customer)
    const isFreed = !isTaken(visitor) && !survivor.hidden
    if (visitor.into && !isFreed && (source === 'browser' || !visitor.byBrowser)) return
    if (this.#bars.stand(visitor, survivor)) return
    if (visitor.into && visitor.retired) this.detached.add(visitor)
    // Of this call, and overruled.
    this.#merges.delete(visitor)
    Object.assign(visitor, { into: survivor, byBrowser: source === 'browser', retired: false })
    this.#note({ from: visitor, to: customer, kind, source })
  }

  #note(merge: Merge): void {
    const noted = this.#merges.get(merge.from)
    if (noted) noted.push(merge)
    else this.#merges.set(merge.from, [merge])
  }
}

/** By somebody who is still there. */
const isTaken = (visitor: Profile) => visitor.into !== null && !survivorOf(visitor).hidden
