import type { Job } from '../src/job.ts'
import { compactStaging as mergeShared } from '../src/lake/compact-staging.ts'
import { Outrun } from '../src/lake/manifest.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { log } from '../src/log.ts'

/** After each turn of the snapshot, which does not wait for it: merges the files that brands share. */
export const compactStaging: Job<Pipeline> = {
  queue: 'compact-staging',
  timeoutSeconds: 900,
  policy: 'one',
  writesLake: true,
  async run(pipeline) {
    try {
      const files = await mergeShared(pipeline)
      if (files) log('info', 'compact_staging', { files })
    } catch (error) {
      if (!(error instanceof Outrun)) throw error
    }
  },
}
