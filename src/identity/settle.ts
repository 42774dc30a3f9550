import { v7 } from 'uuid'
import { MOST_SHARING } from './claim.ts'
import { KINDS, outlives } from './profile.ts'
import type { Source } from './resolve.ts'
import type { Ask } from './subject.ts'

/** A merge in force. */
export interface Edge {
  id: string
  from_subject: number
  to_subject: number
  evidence: { kind: string; source: Source }
}

interface Member {
  subject: number
  /** Whose it is now; itself for a survivor. */
  customer: number
  store_customer_id: string | null
}

interface Claim {
  kind: string
  source: Source
  subject: number
  holder: number
  claims: number
}

/** Takes apart whom identifiers joined that turned out to be shared by too many, and joins what other evidence joins. */
export async function settleShared(
  ask: Ask,
  identifiers: readonly { kind: number; value: string }[],
): Promise<void> {
  if (identifiers.length === 0) return
  const sharers = await ask<{ kind: string; subject: number; holder: number }>('sharers_of', [
    identifiers.map(({ kind }) => KINDS[kind]),
    identifiers.map(({ value }) => value),
  ])
  const shared = new Set(sharers.map(({ kind, subject, holder }) => pairOf(kind, subject, holder)))
  const rests = ({ evidence, from_subject, to_subject }: Edge) =>
    shared.has(pairOf(evidence.kind, from_subject, to_subject))
  const subjects = new Set(sharers.flatMap(({ subject, holder }) => [subject, holder]))
  await settle(ask, [...subjects], rests, 'shared by too many')
}

const pairOf = (kind: string, one: number, other: number) =>
  `${kind} ${Math.min(one, other)} ${Math.max(one, other)}`

/**
 * Ends the merges of these customers that `ends` names, and works out from all other evidence, oldest first, who belongs
 * together now. Visitors follow the customer whom they were attached to.
 */
export async function settle(
  ask: Ask,
  subjects: readonly number[],
  ends: (edge: Edge) => boolean,
  by: string,
): Promise<void> {
  const members = await ask<Member>('members_with', [subjects])
  const named = [members.map(({ subject }) => subject)]
  const edges = await ask<Edge>('merges_among', named)
  const ended = edges.filter(ends)
  await ask('merges_end', [ended.map(({ id }) => id), by])
  const groups = new Groups(members, await ask<{ from: number; to: number }>('merges_barred'))
  for (const edge of edges) if (!ends(edge)) groups.join(edge.from_subject, edge.to_subject)
  const made: { from: number; to: number; kind: string; source: Source }[] = []
  for (const { kind, source, subject, holder, claims } of await ask<Claim>('claims_among', named)) {
    if (claims >= MOST_SHARING) continue
    const joined = groups.join(subject, holder)
    if (joined) made.push({ ...joined, kind, source })
  }
  if (made.length) {
    const evidence = made.map(({ kind, source }) => JSON.stringify({ kind, source }))
    await ask('merges_add', [
      made.map(() => v7()),
      made.map(({ from }) => from),
      made.map(({ to }) => to),
      evidence,
    ])
  }
  await redirect(ask, members, groups)
}

async function redirect(ask: Ask, members: readonly Member[], groups: Groups): Promise<void> {
  const standing = members.map((member) => ({ ...member, now: groups.survivorOf(member.subject) }))
  const moved = standing.filter(({ customer, now }) => customer !== now)
  const freed = moved.filter(({ subject, now }) => subject === now)
  const others = moved.filter(({ subject, now }) => subject !== now)
  await ask('redirects_end', [freed.map(({ subject }) => subject)])
  await ask('redirects_add', [
    others.map(({ subject }) => subject),
    others.map(({ now }) => now),
    others.map(() => 0),
  ])
  await ask('consents_merged', [others.map(({ subject }) => subject)])
  await ask('visitors_follow', [standing.map(({ subject }) => subject), standing.map(({ now }) => now)])
}

/** Customers that belong together. */
class Groups {
  readonly #of = new Map<number, Member[]>()
  readonly #bars: readonly { from: number; to: number }[]

  constructor(members: readonly Member[], bars: readonly { from: number; to: number }[]) {
    for (const member of members) this.#of.set(member.subject, [member])
    this.#bars = bars.filter(({ from, to }) => this.#of.has(from) && this.#of.has(to))
  }

  survivorOf(subject: number): number {
    return this.#survivor(this.#of.get(subject) ?? []).subject
  }

  /** Null when they are one already, or must stay two. */
  join(one: number, other: number): { from: number; to: number } | null {
    const [ours, theirs] = [this.#of.get(one), this.#of.get(other)]
    if (!ours || !theirs || ours === theirs) return null
    const [survivor, loser] = [this.#survivor(ours), this.#survivor(theirs)]
    if (survivor.storeCustomerId !== null && loser.storeCustomerId !== null) return null
    const barred = ({ from, to }: { from: number; to: number }) =>
      (this.#of.get(from) === ours && this.#of.get(to) === theirs) ||
      (this.#of.get(from) === theirs && this.#of.get(to) === ours)
    if (this.#bars.some(barred)) return null
    for (const member of theirs) {
      ours.push(member)
      this.#of.set(member.subject, ours)
    }
    return outlives(survivor, loser) ? { from: other, to: one } : { from: one, to: other }
  }

  #survivor(group: readonly Member[]) {
    const ranked = group.map(({ subject, store_customer_id }) => ({
      subject,
      age: subject,
      storeCustomerId: store_customer_id,
    }))
    const first = ranked.reduce((best, one) => (outlives(one, best) ? one : best))
    return first
  }
}
