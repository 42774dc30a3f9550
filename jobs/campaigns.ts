import { type CampaignParts, runCampaigns } from '../src/campaign/round.ts'
import type { Job } from '../src/job.ts'

const EVERY_SECONDS = 1

/** Every second or two: campaigns start at what happened, runs go on when they are due, and messages leave. */
export const campaigns: Job<CampaignParts> = {
  queue: 'campaigns',
  every: '* * * * *',
  timeoutSeconds: 300,
  policy: 'one',
  async run(parts, _data, { signal, send }) {
    try {
      await runCampaigns({ ...parts, signal }, () => new Date())
    } finally {
      await send('campaigns', {}, EVERY_SECONDS)
    }
  },
}
