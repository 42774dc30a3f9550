import type { Statements } from '../op.ts'
import type { Announced } from './invalidation.ts'
import { agedLease, type Lease } from './lease.ts'

/** Without a lease on changes: how long what was read of an origin is trusted. */
const TRUSTED_MS = 1_000
/** An origin that belongs to no shop is not looked for again for so long, unless a brand changes. */
const UNKNOWN_MS = 1_000
const MOST_ORIGINS = 10_000
const MOST_UNKNOWN = 1_000

/** Pages of shops come over https from a host name; a port is there only when it is not the usual one. */
const ORIGIN = /^https:\/\/([a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,9}(?::[1-9]\d{0,4})?)$/

/** A shop whose pages may send events. */
export interface Shop {
  brandId: string
  /** Its domain on the store platform. */
  scope: string
}

export interface Origins {
  /** The shop that an Origin header belongs to, compared exactly; at once when it was read a moment ago. */
  find(origin: string): Shop | undefined | Promise<Shop | undefined>
  /** Forgets a brand that changed: no call that starts after this sees what was read before it. */
  forget(kind: Announced, id: string): void
}

interface Reading {
  mark: number
  hosts: Set<string>
  /** A change since its start: what it read may be older, so it is not kept. */
  stale: boolean
  shops: Promise<ReadonlyMap<string, Shop>>
}

interface HostRow {
  host: string
  id: string
  shop_domain: string
}

/**
 * Shops by origin, read across brands and kept while the lease covers them. `now` is in milliseconds. One statement is
 * under way at a time, for all origins that wait: anyone can send origins that nobody has asked for yet.
 */
export function createOrigins(
  pipeline: Statements,
  now: () => number = Date.now,
  lease: Lease = agedLease(TRUSTED_MS, now),
): Origins {
  const kept = new Map<string, { shop: Shop; mark: number }>()
  const unknown = new Map<string, number>()
  let running: Reading | undefined
  let next: Reading | undefined

  const keepAll = ({ hosts, mark, stale }: Reading, shops: ReadonlyMap<string, Shop>) => {
    if (stale) return
    for (const host of hosts) {
      const shop = shops.get(host)
      if (shop) keep(kept, MOST_ORIGINS, `https://${host}`, { shop, mark })
      else keep(unknown, MOST_UNKNOWN, `https://${host}`, now() + UNKNOWN_MS)
    }
  }

  const run = async (reading: Reading, before: Reading | undefined): Promise<ReadonlyMap<string, Shop>> => {
    await before?.shops.catch(() => {})
    next = undefined
    running = reading
    reading.mark = lease.mark()
    try {
      const rows = await pipeline.many<HostRow>('brands_of_hosts', [[...reading.hosts]])
      const shops = shopsOf(rows)
      keepAll(reading, shops)
      return shops
    } finally {
      if (running === reading) running = undefined
    }
  }

  const read = async (host: string): Promise<Shop | undefined> => {
    if (!next) {
      const reading: Reading = { mark: 0, hosts: new Set(), stale: false, shops: NOTHING }
      next = reading
      reading.shops = run(reading, running)
    }
    next.hosts.add(host)
    return (await next.shops).get(host)
  }

  return {
    find(origin) {
      const found = kept.get(origin)
      if (found && lease.covers(found.mark)) return found.shop
      if ((unknown.get(origin) ?? 0) > now()) return undefined
      const host = ORIGIN.exec(origin)?.[1]
      return host === undefined ? undefined : read(host)
    },

    forget(kind, id) {
      if (kind !== 'brand') return
      if (running) running.stale = true
      unknown.clear()
      for (const [origin, { shop }] of kept) if (shop.brandId === id) kept.delete(origin)
    },
  }
}

const NOTHING: Promise<ReadonlyMap<string, Shop>> = Promise.resolve(new Map())

/** The first row of a host counts. */
function shopsOf(rows: readonly HostRow[]): Map<string, Shop> {
  const shops = new Map<string, Shop>()
  for (const { host, id, shop_domain } of rows)
    if (!shops.has(host)) shops.set(host, { brandId: id, scope: shop_domain })
  return shops
}

/** Adds to a map that forgets its oldest entry. */
function keep<Value>(map: Map<string, Value>, most: number, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > most && oldest !== undefined) map.delete(oldest)
}
