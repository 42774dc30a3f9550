import type { RunnerParts } from '../src/campaign/runner.ts'
import { startByResults } from '../src/campaign/start-results.ts'
import type { Job } from '../src/job.ts'
import { log } from '../src/log.ts'

/** Once a minute: campaigns start at what refreshes have found since. */
export const campaignResults: Job<RunnerParts> = {
  queue: 'campaign-results',
  every: '* * * * *',
  timeoutSeconds: 600,
  policy: 'one',
  async run(parts, _data, { signal }) {
    const started = await startByResults(parts, () => new Date(), signal)
    if (started) log('info', 'campaigns_started', { count: started })
  },
}
