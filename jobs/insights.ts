import { findInsights, type InsightParts } from '../src/campaign/insights.ts'
import type { Job } from '../src/job.ts'
import { log } from '../src/log.ts'

/** Hourly: what contacts write about, of each brand once a night. */
export const insights: Job<InsightParts> = {
  queue: 'insights',
  every: '23 * * * *',
  timeoutSeconds: 1_800,
  policy: 'one',
  async run(parts, _data, { signal }) {
    const brands = await findInsights(parts, new Date(), signal)
    if (brands) log('info', 'insights', { brands })
  },
}
