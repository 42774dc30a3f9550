import { eraseDue, eraseLate } from '../src/connect/erase/due.ts'
import type { Job } from '../src/job.ts'
import { isRemovalPaused } from '../src/lake/erase-disk.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { errorFields, log } from '../src/log.ts'

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
    while (!control.signal.aborted && (await eraseSome(pipeline)));
    await late
  },
}

/** False when nobody waits. */
async function eraseSome(pipeline: Pipeline): Promise<boolean> {
  try {
    const brandId = await eraseDue(pipeline)
    if (!brandId) return false
    log('info', 'erase', { brand_id: brandId })
  } catch (error) {
    if (!isRemovalPaused(error)) throw error
    log('info', 'erase_waits', errorFields(error))
  }
  return true
}
