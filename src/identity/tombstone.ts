import { ANONYMOUS, KINDS, PHONE, PROFILE } from './profile.ts'
import type { Tuple } from './resolve.ts'
import type { Ask } from './subject.ts'

interface Tombstone {
  kind: string
  value: string
  erased_at: Date
}

interface Held {
  values: string[]
  subjects: number[]
}

/** An identifier as the key of a map. */
const keyOf = (kind: number, value: string) => `${kind} ${value}`

/** Whom something said at an instant names. */
export interface Said {
  tuple: Tuple
  saidAt: Date
  origin?: 'browser' | undefined
}

/** What tombstones say of it: one from before that instant says nothing. */
export interface Verdict {
  /** Whom the tuple is about was erased: what happened up to this instant stays out. Null when nobody was. */
  erasedAt: Date | null
  /** The tuple without identifiers that belonged to somebody who was erased. */
  left: Tuple
}

/**
 * Whom of the tuples an erasure concerns. The strongest identifier that was erased decides, unless a stronger one
 * belongs to a living customer: then the tuple is about that one. A phone or a browser is shared by many, so it says
 * who somebody is only where nothing stronger does; of what a page says, of which nothing is sure but the browser, that does.
 */
export async function verdicts(ask: Ask, said: readonly Said[]): Promise<Verdict[]> {
  const tuples = said.map(({ tuple }) => tuple)
  const tombstones = await tombstonesAmong(ask, tuples)
  if (tombstones.size === 0) return tuples.map((left) => ({ erasedAt: null, left }))
  const named = (tuple: Tuple) =>
    tuple.some((value, kind) => value !== undefined && tombstones.has(keyOf(kind, value)))
  const living = await livingAmong(ask, tuples.filter(named))
  return said.map((one) => verdictOf(one, tombstones, living))
}

function verdictOf(
  { tuple, saidAt, origin }: Said,
  tombstones: ReadonlyMap<string, Date>,
  living: ReadonlySet<string>,
): Verdict {
  let erasedAt: Date | null = null
  let isOther = false
  let strongerGiven = false
  const left = tuple.map((value, kind) => {
    if (value === undefined) return undefined
    const key = keyOf(kind, value)
    const stone = tombstones.get(key)
    const isWeak = kind === PHONE || (kind === ANONYMOUS && origin !== 'browser')
    const decides = !isOther && !(isWeak && strongerGiven)
    strongerGiven = true
    if (stone === undefined || stone < saidAt) {
      if (living.has(key) && erasedAt === null) isOther = true
      return value
    }
    if (decides && (erasedAt === null || stone > erasedAt)) erasedAt = stone
    return undefined
  })
  return { erasedAt, left }
}

async function tombstonesAmong(ask: Ask, tuples: readonly Tuple[]): Promise<Map<string, Date>> {
  const wanted = new Map<string, [kind: string, value: string]>()
  for (const tuple of tuples) {
    for (const [kind, value] of tuple.entries())
      if (value !== undefined) wanted.set(keyOf(kind, value), [KINDS[kind] as string, value])
  }
  const pairs = [...wanted.values()]
  const found = await ask<Tombstone>('tombstones_among', [
    pairs.map(([kind]) => kind),
    pairs.map(([, value]) => value),
  ])
  return new Map(
    found.map(({ kind, value, erased_at }) => [keyOf(KINDS.indexOf(kind as never), value), erased_at]),
  )
}

/** The identifiers that customers hold now, or visitors as that of their browser. */
async function livingAmong(ask: Ask, tuples: readonly Tuple[]): Promise<Set<string>> {
  const living = new Set<string>()
  for (const [kind, name] of KINDS.entries()) {
    const values = new Set<string>()
    for (const tuple of tuples) {
      const value = tuple[kind]
      if (value !== undefined) values.add(value)
    }
    if (values.size === 0) continue
    const held = await ask<Held>('identifiers_held', [name, [...values]])
    if (kind === PROFILE) held.push(...(await ask<Held>('public_ids_held', [[...values], false])))
    for (const { values } of held) for (const value of values) living.add(keyOf(kind, value))
  }
  return living
}
