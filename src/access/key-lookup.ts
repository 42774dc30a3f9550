import { errorFields, log } from '../log.ts'
import type { Brand, Caller, Statements } from '../op.ts'
import type { KeyClass } from './key.ts'

/** How long a process trusts what it read of a key; a key revoked by another process works for no longer than this. */
const TRUSTED_MS = 1_000
const USE_NOTED_MS = 60_000
const MOST_KEYS = 10_000

/** A key, valid or not, and its brand. */
export interface FoundKey {
  caller: Caller
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
  /** Forgets a key: no call that starts after this sees what was read before it. */
  drop(keyId: string): void
  /** Resolves when no write is running. */
  settled(): Promise<void>
}

interface Entry {
  key: FoundKey | undefined
  until: number
}

/** Keys by hash, read across brands and kept for a second. `now` is in milliseconds. */
export function createKeyLookup(pipeline: Statements, now: () => number = Date.now): KeyLookup {
  const kept = new Map<string, Entry>()
  const reading = new Map<string, Promise<FoundKey | undefined>>()
  const writes = new Set<Promise<void>>()

  const read = (hash: string): Promise<FoundKey | undefined> => {
    const until = now() + TRUSTED_MS
    const read = pipeline
      .maybe<KeyRow>('key_by_hash', [Buffer.from(hash, 'hex')])
      .then((row) => {
        const key = row && found(row)
        // A drop in the meantime took this reading off the list: it may be older than the revocation.
        if (reading.get(hash) === read) keep(hash, { key, until })
        return key
      })
      .finally(() => reading.get(hash) === read && reading.delete(hash))
    reading.set(hash, read)
    return read
  }

  const keep = (hash: string, entry: Entry) => {
    kept.delete(hash)
    kept.set(hash, entry)
    const [oldest] = kept.keys()
    if (kept.size > MOST_KEYS && oldest !== undefined) kept.delete(oldest)
  }

  return {
    find(hash) {
      const entry = kept.get(hash)
      return entry && entry.until > now() ? entry.key : (reading.get(hash) ?? read(hash))
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

    drop(keyId) {
      reading.clear()
      for (const [hash, { key }] of kept) if (key?.caller.id === keyId) kept.delete(hash)
    },

    async settled() {
      await Promise.all(writes)
    },
  }
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
