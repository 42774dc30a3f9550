import { KINDS, PROFILE, type Profile } from './profile.ts'
import type { Resolution, Tuple } from './resolve.ts'
import type { Ask } from './subject.ts'

/** Tells the resolution who holds the identifiers of the tuples. */
export async function loadKnown(ask: Ask, tuples: readonly Tuple[], resolution: Resolution): Promise<void> {
  const held: { kind: number; holders: Map<string, number> }[] = []
  for (const kind of KINDS.keys()) {
    const values = new Set<string>()
    for (const tuple of tuples) {
      const value = tuple[kind]
      if (value !== undefined) values.add(value)
    }
    if (values.size) held.push({ kind, holders: await holdersOf(ask, kind, [...values]) })
  }
  const subjects = new Set<number>()
  for (const { holders } of held) for (const subject of holders.values()) subjects.add(subject)
  const profiles = await loadProfiles(ask, subjects)
  for (const { kind, holders } of held) {
    for (const [value, subject] of holders) {
      const profile = profiles.get(subject)
      if (!profile) throw new Error(`subject ${subject} has an identifier but no customer row`)
      resolution.know(kind, value, profile)
    }
  }
}

async function holdersOf(ask: Ask, kind: number, values: string[]): Promise<Map<string, number>> {
  const holders = new Map<string, number>()
  // A public id is a profile id, too.
  const found = [
    ...(kind === PROFILE ? await ask<Held>('public_ids_held', [values]) : []),
    ...(await ask<Held>('identifiers_held', [KINDS[kind], values])),
  ]
  for (const { values, subjects } of found) {
    for (const [at, value] of values.entries()) holders.set(value, subjects[at] ?? 0)
  }
  return holders
}

interface Held {
  values: string[]
  subjects: number[]
}

/** The profiles of the subjects, each with its survivor where it has one. */
async function loadProfiles(ask: Ask, holders: ReadonlySet<number>): Promise<Map<number, Profile>> {
  const profiles = new Map<number, Profile>()
  if (holders.size === 0) return profiles
  const redirects = await ask<{ subject: number; customer: number }>('redirects_of', [[...holders]])
  const living = new Set(holders)
  for (const { subject, customer } of redirects) {
    living.delete(subject)
    living.add(customer)
  }
  const [rows] = await ask<Columns>('profiles_of', [[...living]])
  for (const [at, subject] of rows?.subject.entries() ?? []) {
    profiles.set(subject, {
      subject,
      age: subject,
      storeCustomerId: rows?.store_customer_id[at] ?? null,
      email: rows?.email[at] ?? null,
      phone: rows?.phone[at] ?? null,
      provenance: rows?.provenance[at] ?? 'server',
      createdAt: rows?.created_ms[at] ?? 0,
      into: null,
      retired: false,
      changed: false,
    })
  }
  for (const { subject, customer } of redirects) {
    const into = profiles.get(customer)
    if (into) profiles.set(subject, { ...into, subject, age: subject, into, retired: true })
  }
  return profiles
}

interface Columns {
  subject: number[]
  store_customer_id: (string | null)[]
  email: (string | null)[]
  phone: (string | null)[]
  provenance: Profile['provenance'][]
  created_ms: number[]
}
