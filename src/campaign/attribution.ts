import type { StoreWork } from '../connect/store/apply.ts'
import { recordEvents } from '../connect/store/events.ts'
import { recoveries } from '../connect/store/recovered.ts'
import { errorFields, log } from '../log.ts'
import type { Statements } from '../op.ts'
import type { Postgres } from '../store/postgres.ts'

/** Customers of one transaction. */
const MOST = 500

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

/**
 * Looks at everything that committed since the last call: the orders of each customer whose orders, messages, clicks or
 * profiles changed are attributed anew. It may be called again, and cut off, at any time: what it writes follows from
 * the rows alone. While a brand's step fails, the next calls look at all of it again; it stops no other brand. Resolves
 * with how many attributions changed.
 */
export async function attribute(parts: AttributionParts, signal?: AbortSignal): Promise<number> {
  const { pipeline } = parts.postgres
  const { looked_below: from, horizon: below } = await pipeline.one<Cursor>('attribution_cursor')
  if (from === below) return 0
  const brands = await pipeline.many<{ brand_id: string; customers: number[] }>('attribution_changed', [
    from,
    below,
  ])
  let changed = await pipeline.run('attribution_settle', [from, below])
  let failed = false
  for (const { brand_id: brandId, customers } of brands) {
    try {
      for (let at = 0; at < customers.length; at += MOST) {
        if (signal?.aborted) return changed
        changed += await attributeSome(parts, brandId, customers.slice(at, at + MOST))
      }
    } catch (error) {
      if (signal?.aborted) throw error
      failed = true
      log('error', 'attribution_failed', { brand_id: brandId, ...errorFields(error) })
    }
  }
  if (!failed) await pipeline.run('attribution_advance', [from, below])
  return changed
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
