import { outlives } from './profile.ts'

export interface GroupMember {
  subject: number
  store_customer_id: string | null
}

interface Bar {
  from: number
  to: number
}

interface Group {
  members: number[]
  /** As `outlives` ranks it: `age` is the subject, which is the older the less it is. */
  survivor: { age: number; storeCustomerId: string | null }
}

/** Customers that belong together. A group has no most members: joins take near-linear time all in all. */
export class Groups {
  readonly #of = new Map<number, Group>()
  readonly #bars: readonly Bar[]

  constructor(members: readonly GroupMember[], bars: readonly Bar[]) {
    for (const { subject, store_customer_id } of members) {
      const survivor = { age: subject, storeCustomerId: store_customer_id }
      this.#of.set(subject, { members: [subject], survivor })
    }
    this.#bars = bars.filter(({ from, to }) => this.#of.has(from) && this.#of.has(to))
  }

  /** Of a member. */
  survivorOf(subject: number): number {
    return this.#of.get(subject)?.survivor.age ?? subject
  }

  /** Null when they are one already, or must stay two. */
  join(one: number, other: number): { from: number; to: number } | null {
    const [ours, theirs] = [this.#of.get(one), this.#of.get(other)]
    if (!ours || !theirs || ours === theirs) return null
    const { survivor } = ours
    const { survivor: rival } = theirs
    if (survivor.storeCustomerId !== null && rival.storeCustomerId !== null) return null
    if (this.#bars.some((bar) => this.#keeps(bar, ours, theirs))) return null
    const stays = outlives(survivor, rival)
    const [larger, smaller] = ours.members.length < theirs.members.length ? [theirs, ours] : [ours, theirs]
    for (const subject of smaller.members) {
      larger.members.push(subject)
      this.#of.set(subject, larger)
    }
    larger.survivor = stays ? survivor : rival
    return stays ? { from: other, to: one } : { from: one, to: other }
  }

  #keeps({ from, to }: Bar, ours: Group, theirs: Group): boolean {
    const [left, right] = [this.#of.get(from), this.#of.get(to)]
    return (left === ours && right === theirs) || (left === theirs && right === ours)
  }
}
