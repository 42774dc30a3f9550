import type { Job } from '../src/job.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { Outrun } from '../src/lake/manifest.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { errorFields, log } from '../src/log.ts'

/** Brings staged rows into the brands' own files and merges these. */
export const compact: Job<Pipeline, { brands: string[] }> = {
  queue: 'compact',
  timeoutSeconds: 900,
  policy: 'many',
  workers: 1,
  writesLake: true,
  async run(pipeline, { brands }, control) {
    for (const brandId of brands) {
      if (control.signal.aborted) return
      try {
        const files = await compactBrand(pipeline, brandId)
        log('info', 'compact', { brand_id: brandId, files })
      } catch (error) {
        if (control.signal.aborted) throw error
        if (!(error instanceof Outrun))
          log('error', 'compact_failed', { brand_id: brandId, ...errorFields(error) })
      }
    }
  },
}
