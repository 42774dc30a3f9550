import type { Bar } from './bar.ts'
import { ANONYMOUS, KINDS, PROFILE, type Profile, STORE, type Tuple } from './profile.ts'
import type { Resolution } from './resolve.ts'
import type { Ask } from './subject.ts'

/** What a brand has beside its identifiers; where it has nothing, nobody asks. */
export interface Extent {
  has_claims: boolean
  has_waiting: boolean
  bars: readonly Bar[]
}

/** Tells the resolution who holds the identifiers of the tuples, and what else was said of them. */
export async function loadKnown(
  ask: Ask,
  tuples: readonly Tuple[],
  resolution: Resolution,
  extent: Extent,
): Promise<void> {
  const held: Held[] = []
  const claimed: Held[] = []
  const waiting: Held[] = []
  for (const kind of KINDS.keys()) {
    const values = valuesOf(tuples, kind)
    if (values.length === 0) continue
    const { holders, shared } = await holdersOf(ask, kind, values)
    for (const value of shared) resolution.claims.knowShared(kind, value)
    held.push({ kind, pairs: [...holders] })
    if (extent.has_claims && kind !== STORE && kind !== ANONYMOUS)
      claimed.push({ kind, pairs: await pairs(ask, 'claims_held', [KINDS[kind], values]) })
    if (extent.has_waiting && kind !== ANONYMOUS) {
      const free = values.filter((value) => !holders.has(value))
      if (free.length)
        waiting.push({ kind, pairs: await pairs(ask, 'visitor_claims_held', [KINDS[kind], free]) })
    }
  }
  const subjects = new Set(extent.bars.flatMap(({ from, to }) => [from, to]))
  for (const { pairs } of [...held, ...claimed, ...waiting])
    for (const [, subject] of pairs) subjects.add(subject)
  await loadProfiles(ask, subjects, resolution)
  const each = (of: readonly Held[], tell: (kind: number, value: string, profile: Profile) => void) => {
    for (const { kind, pairs } of of) {
      for (const [value, subject] of pairs) {
        const profile = resolution.profile(subject)
        if (!profile) throw new Error(`subject ${subject} has an identifier but no customer row`)
        tell(kind, value, profile)
      }
    }
  }
  each(held, (...known) => resolution.know(...known))
  each(claimed, (...known) => resolution.claims.know(...known))
  each(waiting, (...known) => resolution.claims.knowWaiting(...known))
}

interface Held {
  kind: number
  pairs: (readonly [value: string, subject: number])[]
}

function valuesOf(tuples: readonly Tuple[], kind: number): string[] {
  const values = new Set<string>()
  for (const tuple of tuples) {
    const value = tuple[kind]
    if (value !== undefined) values.add(value)
  }
  return [...values]
}

async function holdersOf(ask: Ask, kind: number, values: string[]): Promise<Holders> {
  // A public id is a profile id, too.
  const byId = kind === PROFILE ? await pairs(ask, 'public_ids_held', [values, true]) : []
  const held = await ask<Columnar & { shared: string[] }>('identifiers_held', [KINDS[kind], values])
  return {
    holders: new Map([...byId, ...held.flatMap(paired)]),
    shared: held.flatMap(({ shared }) => shared),
  }
}

interface Holders {
  holders: Map<string, number>
  /** Of too many to say who somebody is. */
  shared: string[]
}

interface Columnar {
  values: string[]
  subjects: number[]
}

const paired = ({ values, subjects }: Columnar) =>
  values.map((value, at) => [value, subjects[at] ?? 0] as const)

async function pairs(ask: Ask, name: string, args: unknown[]): Promise<Held['pairs']> {
  return (await ask<Columnar>(name, args)).flatMap(paired)
}

/** The profiles of the subjects and those that they belong to. */
async function loadProfiles(ask: Ask, subjects: ReadonlySet<number>, resolution: Resolution): Promise<void> {
  if (subjects.size === 0) return
  const redirects = await ask<Redirect>('redirects_of', [[...subjects]])
  const all = new Set([...subjects, ...redirects.map(({ customer }) => customer)])
  const [rows] = await ask<Columns>('profiles_of', [[...all]])
  for (const [at, subject] of rows?.subject.entries() ?? []) {
    resolution.introduce({
      subject,
      age: subject,
      storeCustomerId: rows?.store_customer_id[at] ?? null,
      profileId: rows?.profile_id[at] ?? null,
      email: rows?.email[at] ?? null,
      phone: rows?.phone[at] ?? null,
      emailByRecord: rows?.email_by_record[at] ?? false,
      phoneByRecord: rows?.phone_by_record[at] ?? false,
      provenance: rows?.provenance[at] ?? 'server',
      createdAt: rows?.created_ms[at] ?? 0,
      into: null,
      byBrowser: false,
      retired: false,
      hidden: rows?.hidden[at] ?? false,
      changed: false,
    })
  }
  for (const { subject, customer, by_browser } of redirects) {
    const profile = resolution.profile(subject)
    const into = resolution.profile(customer)
    if (profile && into) Object.assign(profile, { into, byBrowser: by_browser, retired: true })
  }
}

interface Redirect {
  subject: number
  customer: number
  by_browser: boolean
}

interface Columns {
  subject: number[]
  store_customer_id: (string | null)[]
  profile_id: (string | null)[]
  email: (string | null)[]
  phone: (string | null)[]
  email_by_record: boolean[]
  phone_by_record: boolean[]
  provenance: Profile['provenance'][]
  created_ms: number[]
  hidden: boolean[]
}
