import { setTimeout as pause } from 'node:timers/promises'
import { type CampaignParts, runCampaigns } from '../src/campaign/round.ts'
import type { Job } from '../src/job.ts'

const POLL_MS = 1_000
/** Then the next job goes on, so that none is taken for stuck. */
const TURN_MS = 55_000

/** All the time: campaigns start at what happened, runs go on when they are due, and messages leave. */
export const campaigns: Job<CampaignParts> = {
  queue: 'campaigns',
  every: '* * * * *',
  timeoutSeconds: 120,
  policy: 'one',
  async run(parts, _data, { signal }) {
    const until = Date.now() + TURN_MS
    while (Date.now() < until && !signal.aborted) {
      await runCampaigns({ ...parts, signal }, () => new Date())
      await pause(POLL_MS, undefined, { signal }).catch(() => {})
    }
  },
}
