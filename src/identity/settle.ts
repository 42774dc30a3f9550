import { v7 } from 'uuid'
import { mergeConsents } from './consents.ts'
import { type GroupMember, Groups } from './groups.ts'
import { KINDS } from './profile.ts'
import type { Source } from './resolve.ts'
import type { Ask } from './subject.ts'

/** A merge in force. */
export interface Edge {
  id: string
  from_subject: number
  to_subject: number
  evidence: { kind: string; source: Source }
}

interface Member extends GroupMember {
  /** Whose it is now; itself for a survivor. */
  customer: number
}

interface Claim {
  kind: string
  source: Source
  subject: number
  holder: number
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
  for (const { kind, source, subject, holder } of await ask<Claim>('claims_among', named)) {
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
  // Those who were left as well as those who went: what either said counts for themselves again.
  await mergeConsents(ask, [...new Set(moved.flatMap(({ subject, customer }) => [subject, customer]))])
  await ask('visitors_follow', [standing.map(({ subject }) => subject), standing.map(({ now }) => now)])
}
