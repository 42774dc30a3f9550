import type { Job } from '../src/job.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { retain } from '../src/lake/retention.ts'
import { log } from '../src/log.ts'

/** Hourly: event_log days made ahead and dropped, retired and orphaned lake files removed. */
export const retention: Job<Pipeline> = {
  queue: 'retention',
  every: '17 * * * *',
  timeoutSeconds: 600,
  policy: 'one',
  async run(pipeline) {
    log('info', 'retention', { ...(await retain(pipeline)) })
  },
}
