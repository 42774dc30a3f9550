import { KINDS, type Profile } from './profile.ts'
import type { Source } from './resolve.ts'

/** An identifier of more profiles than this says nothing about who somebody is: it merges nobody. */
const MOST_SHARING = 10

/** What was said of identifiers beside who holds them, as far as one call needs it. */
export class Claims {
  /** Claims that the database does not hold yet. */
  readonly added: { kind: number; value: string; owner: Profile; source: Source }[] = []
  /** Identifiers that are shared by too many, of which the database does not know it. */
  readonly crossed: { kind: number; value: string }[] = []
  readonly #shared: readonly Set<string>[] = KINDS.map(() => new Set())
  readonly #of: readonly Map<string, Set<Profile>>[] = KINDS.map(() => new Map())
  readonly #waiting: readonly Map<string, Set<Profile>>[] = KINDS.map(() => new Map())
  readonly #waits: { kind: number; value: string; visitor: Profile }[] = []
  readonly #answered: { kind: number; value: string }[] = []

  /** Too many were named with it, though not all of them may be known any more. */
  knowShared(kind: number, value: string): void {
    this.#shared[kind]?.add(value)
  }

  know(kind: number, value: string, owner: Profile): void {
    put(this.#of[kind], value, owner)
  }

  knowWaiting(kind: number, value: string, visitor: Profile): void {
    put(this.#waiting[kind], value, visitor)
  }

  /** The profiles that were named with an identifier which another one holds; as many as tell that it is shared by too many. */
  of(kind: number, value: string): Iterable<Profile> {
    return this.#of[kind]?.get(value) ?? []
  }

  /** Notes that somebody was named with an identifier that another one holds; whether it may join the two. */
  add(kind: number, value: string, owner: Profile, source: Source): boolean {
    const claimants = put(this.#of[kind], value)
    // With its holder they are one more.
    if (!claimants.has(owner) && claimants.size < MOST_SHARING) {
      claimants.add(owner)
      this.added.push({ kind, value, owner, source })
    }
    // Also where the last of them was noted by a server of before, which marks nothing.
    if (claimants.size >= MOST_SHARING && !this.#shared[kind]?.has(value)) {
      this.knowShared(kind, value)
      this.crossed.push({ kind, value })
    }
    return !this.isShared(kind, value)
  }

  /** By too many to say who somebody is. */
  isShared(kind: number, value: string): boolean {
    return this.#shared[kind]?.has(value) || (this.#of[kind]?.get(value)?.size ?? 0) >= MOST_SHARING
  }

  /** A browser gave a visitor an identifier that nobody holds. */
  wait(kind: number, value: string, visitor: Profile): void {
    const waiting = put(this.#waiting[kind], value)
    if (waiting.has(visitor)) return
    waiting.add(visitor)
    this.#waits.push({ kind, value, visitor })
  }

  /** The visitors that wait for an identifier, which has a holder now. */
  answer(kind: number, value: string): Iterable<Profile> {
    const waiting = this.#waiting[kind]?.get(value)
    if (!waiting) return []
    this.#waiting[kind]?.delete(value)
    this.#answered.push({ kind, value })
    return waiting
  }

  /** Claims of visitors that the database does not hold yet. */
  get waits(): { kind: number; value: string; visitor: Profile }[] {
    return this.#waits.filter(({ kind, value, visitor }) => !visitor.into && this.#waiting[kind]?.has(value))
  }

  /** Identifiers that no visitor waits for any more. */
  get answered(): readonly { kind: number; value: string }[] {
    return this.#answered
  }
}

function put(of: Map<string, Set<Profile>> | undefined, value: string, profile?: Profile): Set<Profile> {
  const set = of?.get(value) ?? new Set()
  of?.set(value, set)
  if (profile) set.add(profile)
  return set
}
