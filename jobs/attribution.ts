import { type AttributionParts, attribute } from '../src/campaign/attribution.ts'
import type { Job } from '../src/job.ts'
import { log } from '../src/log.ts'

/** Orders are to be attributed within a minute. */
const EVERY_SECONDS = 15

/** Every 15 s: orders and the conversations that they followed. */
export const attribution: Job<AttributionParts> = {
  queue: 'attribution',
  every: '* * * * *',
  timeoutSeconds: 300,
  policy: 'one',
  async run(parts, _data, control) {
    try {
      const changed = await attribute(parts, control.signal)
      if (changed) log('info', 'attribution', { changed })
    } finally {
      await control.send('attribution', {}, EVERY_SECONDS)
    }
  },
}
