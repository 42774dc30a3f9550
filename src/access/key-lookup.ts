import { errorFields, log } from '../log.ts'
import type { Brand, KeyCaller, Statements } from '../op.ts'
import { gathered } from './gathered.ts'
import type { Announced } from './invalidation.ts'
import type { KeyClass } from './key.ts'
import type { Lease } from './lease.ts'
import { remembered } from './remembered.ts'

const USE_NOTED_MS = 60_000

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

/**
 * Keys by hash, read across brands and kept while the lease covers them. `now` is in milliseconds. Anybody may make up
 * keys: whatever is asked meanwhile shares a statement.
 */
export function createKeyLookup(
  pipeline: Statements,
  now: () => number = Date.now,
  lease?: Lease,
): KeyLookup {
  const writes = new Set<Promise<void>>()
  const look = gathered<KeyRow>(async (hashes) => {
    const rows = await pipeline.many<KeyRow>('keys_by_hash', [hashes])
    return new Map(rows.map((row) => [row.hash, row]))
  })
  const read = async (hash: string) => {
    const row = await look(hash)
    return row && found(row)
  }
  const keys = remembered(read, now, lease)

  return {
    find: keys.find,

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
      keys.forget((key) => (kind === 'key' ? key.caller.id : key.brand.id) === id)
    },

    async settled() {
      await Promise.all(writes)
    },
  }
}

interface KeyRow extends Omit<Brand, 'created_at'> {
  /** In hexadecimal. */
  hash: string
  key_id: string
  key_class: KeyClass
  scopes: string[]
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
  created_at: Date
}

function found({
  hash: _,
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
