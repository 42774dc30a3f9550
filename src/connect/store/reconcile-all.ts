import { abreast } from '../../abreast.ts'
import type { Seal } from '../../access/seal.ts'
import { Failure } from '../../errors.ts'
import { errorFields, log } from '../../log.ts'
import type { Postgres } from '../../store/postgres.ts'
import { type Connection, connectionOf } from './connection.ts'
import { keepSubscribed } from './keep-subscribed.ts'
import { reconcile } from './sync.ts'

export interface ReconcileParts {
  postgres: Postgres
  seal: Seal
  storePlatformDomain: string
  /** Origin of the receiver of webhooks. */
  webhookUrl: string
}

export interface Shares {
  /** Stores that are read at the same time. */
  atOnce: number
  /** What one store may take of a run; a walk that takes longer goes on in the next one. */
  shareMs: number
}

const SHARES: Shares = { atOnce: 4, shareMs: 10 * 60_000 }
/** A store that is down is asked again an hour later. */
const PATIENCE_MS = 60_000

/**
 * Reconciles every connected store, a few at once, those first that waited longest. One that fails, or takes all of its
 * share, stops no other; one that refuses its token is noted in its status.
 */
export async function reconcileAll(
  parts: ReconcileParts,
  signal: AbortSignal,
  { atOnce, shareMs }: Shares = SHARES,
): Promise<void> {
  const brands = await parts.postgres.pipeline.many<{ brand_id: string }>('store_connections_live')
  await abreast(brands, atOnce, async ({ brand_id }) => {
    if (signal.aborted) return
    await reconcileOne(parts, brand_id, signal, shareMs).catch((error: unknown) => {
      if (!signal.aborted) log('error', 'reconcile_failed', { brand_id, ...errorFields(error) })
    })
  })
  signal.throwIfAborted()
}

async function reconcileOne(
  { postgres, seal, storePlatformDomain, webhookUrl }: ReconcileParts,
  brandId: string,
  signal: AbortSignal,
  shareMs: number,
): Promise<void> {
  const db = postgres.forBrand(brandId)
  const share = AbortSignal.timeout(shareMs)
  let connection: Connection | null = null
  try {
    await db.run('store_reconcile_begin')
    connection = await connectionOf(db, seal)
    if (!connection?.accessToken) return
    const cut = AbortSignal.any([signal, share])
    await keepSubscribed(db, connection, webhookUrl, cut)
    const walked = await reconcile({
      db,
      connection,
      storePlatformDomain,
      signal: cut,
      patienceMs: PATIENCE_MS,
    }).finally(() => db.run('store_awaited_over'))
    await db.run('store_connection_refused', [connection.tokenAt, null])
    const read = walked.reduce((sum, one) => sum + one.read, 0)
    log('info', 'store_reconciled', { brand_id: brandId, read })
  } catch (error) {
    if (share.aborted && !signal.aborted) {
      log('warn', 'reconcile_unfinished', { brand_id: brandId })
      return
    }
    if (connection && error instanceof Failure && error.code === 'integration_not_connected')
      await db.run('store_connection_refused', [connection.tokenAt, error.message])
    throw error
  }
}
