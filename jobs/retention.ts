import { forgetDeadLetters, forgetDeliveries, forgetFormerSecrets } from '../src/connect/custom/forget.ts'
import { forgetCarts, forgetStoreDeliveries, forgetVersions } from '../src/connect/store/forget.ts'
import { forgetClaims } from '../src/identity/forget.ts'
import type { Job } from '../src/job.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { retain } from '../src/lake/retention.ts'
import { log } from '../src/log.ts'

/**
 * Hourly: event_log days made ahead and dropped, retired and orphaned lake files removed, old webhooks and their ids, what
 * stores told of old carts and versions, claims of old visitors, dead letters and secrets that were replaced forgotten.
 */
export const retention: Job<Pipeline> = {
  queue: 'retention',
  every: '17 * * * *',
  timeoutSeconds: 600,
  policy: 'one',
  async run(pipeline) {
    const { pipeline: db } = pipeline.postgres
    const works = [
      retain(pipeline),
      forgetDeliveries(db),
      forgetClaims(db),
      forgetDeadLetters(db),
      forgetFormerSecrets(db),
      forgetStoreDeliveries(db),
      forgetCarts(db),
      forgetVersions(db),
    ] as const
    // One that fails stops no other.
    await Promise.allSettled(works)
    const [{ removed, orphans }, deliveries, claims, letters, secrets, webhooks, carts, versions] =
      await Promise.all(works)
    log('info', 'retention', {
      removed,
      orphans,
      deliveries,
      claims,
      letters,
      secrets,
      webhooks,
      carts,
      versions,
    })
  },
}
