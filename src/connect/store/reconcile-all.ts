import type { Seal } from '../../access/seal.ts'
import { Failure } from '../../errors.ts'
import { errorFields, log } from '../../log.ts'
import type { Postgres } from '../../store/postgres.ts'
import { connectionOf } from './connection.ts'
import { reconcile } from './sync.ts'

export interface ReconcileParts {
  postgres: Postgres
  seal: Seal
  storePlatformDomain: string
}

/** Reconciles every connected store, one after the other. One that fails is noted in its status and stops no other. */
export async function reconcileAll(
  { postgres, seal, storePlatformDomain }: ReconcileParts,
  signal: AbortSignal,
): Promise<void> {
  for (const { brand_id: brandId } of await postgres.pipeline.many<{ brand_id: string }>(
    'store_connections_live',
  )) {
    if (signal.aborted) return
    const db = postgres.forBrand(brandId)
    try {
      const connection = await connectionOf(db, seal)
      if (!connection?.accessToken) continue
      const walked = await reconcile({ db, connection, storePlatformDomain, signal })
      await db.run('store_connection_refused', [null])
      const read = walked.reduce((sum, one) => sum + one.read, 0)
      log('info', 'store_reconciled', { brand_id: brandId, read })
    } catch (error) {
      if (signal.aborted) throw error
      log('error', 'reconcile_failed', { brand_id: brandId, ...errorFields(error) })
      if (error instanceof Failure && error.code === 'integration_not_connected')
        await db.run('store_connection_refused', [error.message])
    }
  }
  await postgres.pipeline.one('store_prune', [new Date()])
}
