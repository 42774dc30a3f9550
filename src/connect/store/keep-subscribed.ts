import { errorFields, log } from '../../log.ts'
import type { Db } from '../../op.ts'
import type { Connection } from './connection.ts'
import { openAdminApi } from './shopify/client.ts'
import { subscribeWebhooks } from './shopify/subscribe.ts'
import { webhookAddress } from './webhook-address.ts'

/** A store that does not answer is asked an hour later. */
const PATIENCE_MS = 10_000

/**
 * Has a store send its webhooks where it does not: the platform ends what it could not deliver for hours, and a topic
 * may be new. Nothing depends on it: what goes wrong is logged.
 */
export async function keepSubscribed(
  db: Pick<Db, 'maybe'>,
  connection: Connection,
  webhookUrl: string,
  signal: AbortSignal,
): Promise<void> {
  const { brandId: brand_id, apiOrigin: origin, accessToken, subscribes } = connection
  const address = webhookAddress(webhookUrl, connection)
  if (!subscribes || accessToken === null || address === null) return
  try {
    const api = openAdminApi({ origin, accessToken, patienceMs: PATIENCE_MS, signal })
    const { made, refused } = await subscribeWebhooks(api, address)
    if (made.length) log('info', 'store_webhooks_subscribed', { brand_id, topics: made })
    if (await db.maybe('store_topics_refused', [refused.map(({ topic }) => topic)]))
      log('warn', 'store_webhooks_refused', { brand_id, refused })
  } catch (error) {
    if (!signal.aborted) log('warn', 'store_webhooks_unknown', { brand_id, ...errorFields(error) })
  }
}
