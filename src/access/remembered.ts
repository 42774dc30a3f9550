import { agedLease, type Lease } from './lease.ts'

/** Without a lease on changes: how long what was read is trusted. */
const TRUSTED_MS = 1_000
/** What does not exist is not looked for again for so long. */
const UNKNOWN_MS = 1_000
const MOST = 10_000
const MOST_UNKNOWN = 1_000

/** Rows by key, read from Postgres and kept while the lease covers them. */
export interface Remembered<Value> {
  /** At once when it was read a moment ago. */
  find(key: string): Value | undefined | Promise<Value | undefined>
  /** Forgets what changed: no call that starts after this sees what was read before it. */
  forget(changed: (value: Value, key: string) => boolean): void
}

interface Read<Value> {
  value: Value
  mark: number
}

/** `now` is in milliseconds. */
export function remembered<Value>(
  read: (key: string) => Promise<Value | undefined>,
  now: () => number,
  lease: Lease = agedLease(TRUSTED_MS, now),
): Remembered<Value> {
  const kept = new Map<string, Read<Value>>()
  const reading = new Map<string, Read<Promise<Value | undefined>>>()
  const unknown = new Map<string, number>()

  const look = (key: string): Promise<Value | undefined> => {
    const mark = lease.mark()
    const value = read(key)
      .then((found) => {
        // A change in the meantime took this reading off the list: it may be older than the change.
        const isCurrent = reading.get(key)?.value === value
        if (found !== undefined && isCurrent) keep(kept, MOST, key, { value: found, mark })
        if (found === undefined) keep(unknown, MOST_UNKNOWN, key, now() + UNKNOWN_MS)
        return found
      })
      .finally(() => reading.get(key)?.value === value && reading.delete(key))
    reading.set(key, { value, mark })
    return value
  }

  return {
    find(key) {
      const known = kept.get(key)
      if (known && lease.covers(known.mark)) return known.value
      const pending = reading.get(key)
      if (pending && lease.covers(pending.mark)) return pending.value
      return (unknown.get(key) ?? 0) > now() ? undefined : look(key)
    },

    forget(changed) {
      reading.clear()
      for (const [key, { value }] of kept) if (changed(value, key)) kept.delete(key)
    },
  }
}

/** Adds to a map that forgets its oldest entry. */
export function keep<Value>(map: Map<string, Value>, most: number, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > most && oldest !== undefined) map.delete(oldest)
}
