import type { StoreWork } from '../connect/store/apply.ts'
import { recordEvents } from '../connect/store/events.ts'
import { recoveries } from '../connect/store/recovered.ts'
import { errorFields, log } from '../log.ts'
import type { Statements } from '../op.ts'
import type { Postgres } from '../store/postgres.ts'

/** Customers of one transaction. */
const MOST = 500

/** So long a call begins with more of them: what changed meanwhile waits for the next one. */
const MOST_MS = 30_000

export interface AttributionParts {
  postgres: Postgres
  storePlatformDomain: string
}

/** An order with another attribution; the time as text, to the microsecond. */
interface Changed {
  order_id: string
  recovered_at: string | null
}

interface Cursor {
  looked_below: string
  horizon: string
}

interface Behind {
  brand_id: string
  looked_below: string
  /** Of a round that was cut off: what it is about, and the last customer who is done. */
  round_below: string | null
  done_to: number | null
  /** As text, to the microsecond. */
  due_at: string
  is_due: boolean
}

/** Customers of a brand that changed since a place, and below another, in the order of their numbers. */
interface Share {
  brandId: string
  from: string
  below: string
  customers: readonly number[]
}

/** What came of a share that was not done to the end. */
interface Left {
  isTried: boolean
  /** The last customer who is done. */
  doneTo: number | null
}

/**
 * Looks at everything that committed since the last call: the orders of each customer whose orders, messages, clicks or
 * profiles changed are attributed anew. It may be called again, and cut off, at any time: what it writes follows from
 * the rows alone. A brand whose step fails, that is too large for one call, or that was not come to before the call was
 * cut off, stops no other: a later one goes on where it was. Resolves with how many attributions changed.
 */
export async function attribute(parts: AttributionParts, signal?: AbortSignal): Promise<number> {
  const { pipeline } = parts.postgres
  const { looked_below: from, horizon: below } = await pipeline.one<Cursor>('attribution_cursor')
  const behind = await pipeline.many<Behind>('attribution_behind')
  const due = behind.filter(({ is_due }) => is_due)
  if (from === below && due.length === 0) return 0
  const settled = await pipeline.run('attribution_settle', [from, below])
  const shares = await sharesOf(pipeline, [from, below], behind)
  const { changed, left } = await attributeShares(parts, shares, signal)
  await pipeline.tx(async (tx) => {
    // Another call was first: it has seen to all of this.
    if ((await tx.run('attribution_advance', [from, below])) === 0) return
    await noteLeft(tx, shares, left, due)
    for (const { brand_id, due_at, round_below } of due) {
      if (left.has(brand_id)) continue
      const isNewest = round_below === null || round_below === below
      await tx.run(isNewest ? 'attribution_catch_up' : 'attribution_next_round', [brand_id, due_at])
    }
  })
  return settled + changed
}

async function noteLeft(
  tx: Statements,
  shares: readonly Share[],
  left: ReadonlyMap<string, Left>,
  due: readonly Behind[],
): Promise<void> {
  const behind = new Map(due.map((each) => [each.brand_id, each]))
  for (const share of shares) {
    const found = left.get(share.brandId)
    const before = behind.get(share.brandId)
    // One that was behind, and that nobody has come to, is still due.
    if (!found || (before && !found.isTried)) continue
    const doneTo = found.doneTo ?? before?.done_to ?? null
    const round = doneTo === null ? null : share.below
    await tx.run('attribution_fall_behind', [
      share.brandId,
      share.from,
      round,
      doneTo,
      before?.due_at ?? null,
    ])
  }
}

/** The smallest shares come first, so that none waits for a large one. */
async function attributeShares(
  parts: AttributionParts,
  shares: readonly Share[],
  signal?: AbortSignal,
): Promise<{ changed: number; left: Map<string, Left> }> {
  const left = new Map<string, Left>(shares.map(({ brandId }) => [brandId, { isTried: false, doneTo: null }]))
  const until = performance.now() + MOST_MS
  let changed = 0
  for (const { brandId, customers } of shares.toSorted((a, b) => a.customers.length - b.customers.length))
    try {
      for (let at = 0; at < customers.length; at += MOST) {
        if (signal?.aborted || performance.now() > until) return { changed, left }
        const doneTo = customers[at - 1] ?? null
        left.set(brandId, { isTried: true, doneTo })
        changed += await attributeSome(parts, brandId, customers.slice(at, at + MOST))
        left.set(brandId, { isTried: true, doneTo: customers[at + MOST - 1] ?? doneTo })
      }
      left.delete(brandId)
    } catch (error) {
      log('error', 'attribution_failed', { brand_id: brandId, ...errorFields(error) })
    }
  return { changed, left }
}

/** What changed in [from, below) of all brands, of those that are behind since their own place, if they are due. */
async function sharesOf(
  pipeline: Statements,
  [from, below]: readonly [string, string],
  behind: readonly Behind[],
): Promise<Share[]> {
  const rows = await pipeline.many<{ brand_id: string; place: string; below: string; customers: number[] }>(
    'attribution_changed',
    [
      from,
      below,
      behind.map(({ brand_id }) => brand_id),
      behind.map(({ is_due, looked_below }) => (is_due ? looked_below : null)),
      behind.map(({ round_below }) => round_below),
      behind.map(({ done_to }) => done_to),
    ],
  )
  return rows.map(({ brand_id: brandId, place, ...share }) => ({ brandId, from: place, ...share }))
}

async function attributeSome(
  { postgres, storePlatformDomain }: AttributionParts,
  brandId: string,
  customers: readonly number[],
): Promise<number> {
  return await postgres.forBrand(brandId).tx(async (tx) => {
    await tx.one('store_lock')
    const changed = await tx.many<Changed>('attribution_put', [customers])
    if (changed.length)
      await tx.run('orders_recovered', [
        changed.map(({ order_id }) => order_id),
        changed.map(({ recovered_at }) => recovered_at),
      ])
    await noteMessaged(tx, brandId, storePlatformDomain, customers)
    return changed.length
  })
}

/** A checkout whose order came before it was known that its shopper had been messaged is recovered, too. */
async function noteMessaged(
  tx: Statements,
  brandId: string,
  storePlatformDomain: string,
  customers: readonly number[],
): Promise<void> {
  const messaged = await tx.many<{ external_id: string }>('checkouts_first_messaged', [customers])
  if (messaged.length === 0) return
  const ids = messaged.map(({ external_id }) => external_id)
  const nothing = ids.map(() => null)
  await tx.run('store_checkouts_settle', [ids, nothing, nothing])
  const connection = await tx.maybe<{ connected_at: Date; region: string }>('store_connection_of')
  const work: StoreWork = {
    tx,
    brandId,
    storePlatformDomain,
    region: connection?.region ?? '',
    connectedAt: connection?.connected_at ?? new Date(0),
  }
  await recordEvents(work, [], await recoveries(work, ids))
}
