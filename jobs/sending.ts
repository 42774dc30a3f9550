import { setTimeout as pause } from 'node:timers/promises'
import type { SenderParts } from '../src/campaign/send.ts'
import { sendMessages } from '../src/campaign/sending.ts'
import type { Job } from '../src/job.ts'

const EVERY_SECONDS = 1

/** Every second or two: messages leave that are due. Apart from the runs, which no slow channel holds up. */
export const sending: Job<SenderParts> = {
  queue: 'sending',
  every: '* * * * *',
  timeoutSeconds: 300,
  policy: 'one',
  followsLake: true,
  async run(parts, _data, { signal, stopping, send }) {
    try {
      const over = AbortSignal.any([signal, stopping])
      const wait = (ms: number) => pause(ms, undefined, { signal: over }).catch(() => {})
      await sendMessages({ ...parts, signal, stopping }, () => new Date(), wait)
    } finally {
      await send('sending', {}, EVERY_SECONDS)
    }
  },
}
