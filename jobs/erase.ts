import { eraseAllDue, eraseLate } from '../src/connect/erase/due.ts'
import type { Job } from '../src/job.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'

/** Once a minute: customers whose erasure was asked for are erased everywhere. */
export const erase: Job<Pipeline> = {
  queue: 'erase',
  every: '* * * * *',
  timeoutSeconds: 3_600,
  policy: 'one',
  writesLake: true,
  async run(pipeline, _data, control) {
    const late = eraseLate(pipeline)
    // What fails of the earlier ones is thrown after those that wait.
    await Promise.allSettled([late])
    await eraseAllDue(pipeline, control.signal)
    await late
  },
}
