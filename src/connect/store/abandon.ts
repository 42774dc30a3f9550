import { errorFields, log } from '../../log.ts'
import type { Postgres } from '../../store/postgres.ts'
import { recordEvents } from './events.ts'
import { type CheckoutRow, checkoutProperties } from './recovered.ts'

/** Checkouts of one transaction. */
const MOST = 500

export interface AbandonParts {
  postgres: Postgres
  storePlatformDomain: string
}

/**
 * Marks the checkouts that have had neither an order nor any activity for their brand's time, and records each once as
 * `checkout_abandoned`. A brand whose step fails stops no other. Resolves with how many there were.
 */
export async function abandonCheckouts(
  parts: AbandonParts,
  now = new Date(),
  signal?: AbortSignal,
): Promise<number> {
  const brands = await parts.postgres.pipeline.many<{ brand_id: string }>('store_brands_to_abandon', [now])
  let found = 0
  for (const { brand_id: brandId } of brands) {
    if (signal?.aborted) break
    try {
      for (let some = MOST; some === MOST && !signal?.aborted; found += some)
        some = await abandonSome(parts, brandId, now)
    } catch (error) {
      if (signal?.aborted) throw error
      log('error', 'abandon_failed', { brand_id: brandId, ...errorFields(error) })
    }
  }
  return found
}

async function abandonSome({ postgres, storePlatformDomain }: AbandonParts, brandId: string, now: Date) {
  return await postgres.forBrand(brandId).tx(async (tx) => {
    await tx.one('store_lock')
    const rows = await tx.many<CheckoutRow & { abandoned_at: Date }>('store_checkouts_abandon', [now, MOST])
    const { connected_at: connectedAt, region } = await tx.one<{ connected_at: Date; region: string }>(
      'store_connection_of',
    )
    await recordEvents(
      { tx, brandId, storePlatformDomain, region, connectedAt },
      [],
      rows.map((row) => ({
        id: `checkout_abandoned:${row.external_id}`,
        type: 'checkout_abandoned',
        occurredAt: row.abandoned_at,
        subject: row.subject,
        properties: checkoutProperties(row),
      })),
    )
    return rows.length
  })
}
