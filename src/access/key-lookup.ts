import { errorFields, log } from '../log.ts'
import type { Brand, KeyCaller, Statements } from '../op.ts'
import type { Announced } from './invalidation.ts'
import type { KeyClass } from './key.ts'
import { agedLease, type Lease } from './lease.ts'

/** Without a lease on changes: how long what was read of a key is trusted. */
const TRUSTED_MS = 1_000
/** A key that does not exist is not looked for again for so long. */
const UNKNOWN_MS = 1_000
const USE_NOTED_MS = 60_000
const MOST_KEYS = 10_000
const MOST_UNKNOWN = 1_000

/** A key, valid or not, and its brand. */
export interface FoundKey {
  caller: KeyCaller
  brand: Brand
  expiresAt: number
  revoked: boolean
  lastUsedAt: number
}

export interface KeyLookup {
  /** The key with this hash; at once when it was read a moment ago. */
  find(hash: string): FoundKey | undefined | Promise<FoundKey | undefined>
  /** Notes, in the background and at most once a minute, that the key was used. */
  used(key: FoundKey): void
  /** Forgets a row that changed: no call that starts after this sees what was read before it. */
  forget(kind: Announced, id: string): void
  /** Resolves when no write is running. */
  settled(): Promise<void>
}

/** What was read, or is being read, since the mark. */
interface Read<Value> {
  value: Value
  mark: number
}

/** Keys by hash, read across brands and kept while the lease covers them. `now` is in milliseconds. */
export function createKeyLookup(
  pipeline: Statements,
  now: () => number = Date.now,
  lease: Lease = agedLease(TRUSTED_MS, now),
): KeyLookup {
  const kept = new Map<string, Read<FoundKey>>()
  const reading = new Map<string, Read<Promise<FoundKey | undefined>>>()
  const unknown = new Map<string, number>()
  const writes = new Set<Promise<void>>()

  const read = (hash: string): Promise<FoundKey | undefined> => {
    const mark = lease.mark()
    const value = pipeline
      .maybe<KeyRow>('key_by_hash', [Buffer.from(hash, 'hex')])
      .then((row) => {
        const key = row && found(row)
        // A change in the meantime took this reading off the list: it may be older than the change.
        if (key && reading.get(hash)?.value === value) keep(kept, MOST_KEYS, hash, { value: key, mark })
        if (!key) keep(unknown, MOST_UNKNOWN, hash, now() + UNKNOWN_MS)
        return key
      })
      .finally(() => reading.get(hash)?.value === value && reading.delete(hash))
    reading.set(hash, { value, mark })
    return value
  }

  return {
    find(hash) {
      const key = kept.get(hash)
      if (key && lease.covers(key.mark)) return key.value
      const pending = reading.get(hash)
      if (pending && lease.covers(pending.mark)) return pending.value
      return (unknown.get(hash) ?? 0) > now() ? undefined : read(hash)
    },

    used(key) {
      if (key.lastUsedAt > now() - USE_NOTED_MS) return
      key.lastUsedAt = now()
      const write = pipeline
        .run('key_used', [key.brand.id, key.caller.id])
        .then(() => {})
        .catch((error) => log('warn', 'key_use_not_noted', errorFields(error)))
        .finally(() => writes.delete(write))
      writes.add(write)
    },

    forget(kind, id) {
      if (kind !== 'key' && kind !== 'brand') return
      reading.clear()
      for (const [hash, { value }] of kept)
        if ((kind === 'key' ? value.caller.id : value.brand.id) === id) kept.delete(hash)
    },

    async settled() {
      await Promise.all(writes)
    },
  }
}

/** Adds to a map that forgets its oldest entry. */
function keep<Value>(map: Map<string, Value>, most: number, hash: string, value: Value): void {
  map.delete(hash)
  map.set(hash, value)
  const [oldest] = map.keys()
  if (map.size > most && oldest !== undefined) map.delete(oldest)
}

interface KeyRow extends Omit<Brand, 'created_at'> {
  key_id: string
  key_class: KeyClass
  scopes: string[]
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
  created_at: Date
}

function found({
  key_id,
  key_class,
  scopes,
  expires_at,
  revoked_at,
  last_used_at,
  ...brand
}: KeyRow): FoundKey {
  return {
    caller: { kind: 'key', id: key_id, brandId: brand.id, scopes, keyClass: key_class },
    brand: { ...brand, created_at: brand.created_at.toISOString() },
    expiresAt: expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
    revoked: revoked_at !== null,
    lastUsedAt: last_used_at?.getTime() ?? 0,
  }
}
