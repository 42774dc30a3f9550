import { abandonCheckouts } from '../src/connect/store/abandon.ts'
import type { Job } from '../src/job.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { log } from '../src/log.ts'

/** Once a minute: checkouts that nobody came back to are abandoned. */
export const checkouts: Job<Pipeline> = {
  queue: 'checkouts',
  every: '* * * * *',
  timeoutSeconds: 300,
  policy: 'one',
  async run(pipeline, _data, { signal }) {
    const abandoned = await abandonCheckouts(pipeline, new Date(), signal)
    if (abandoned) log('info', 'checkouts_abandoned', { count: abandoned })
  },
}
