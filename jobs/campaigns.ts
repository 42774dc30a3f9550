import { workCampaigns } from '../src/campaign/round.ts'
import type { RunnerParts } from '../src/campaign/runner.ts'
import type { Job } from '../src/job.ts'

const EVERY_SECONDS = 1

/** Every second or two: campaigns start at what happened, and runs go on when they are due. */
export const campaigns: Job<RunnerParts> = {
  queue: 'campaigns',
  every: '* * * * *',
  timeoutSeconds: 300,
  policy: 'one',
  followsLake: true,
  async run(parts, _data, { signal, send }) {
    try {
      await workCampaigns({ ...parts, signal }, () => new Date())
    } finally {
      await send('campaigns', {}, EVERY_SECONDS)
    }
  },
}
