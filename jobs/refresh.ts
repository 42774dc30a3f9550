import type { Job } from '../src/job.ts'
import { Outrun } from '../src/lake/manifest.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { errorFields, log } from '../src/log.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { currentModels } from './plan.ts'

interface Brands {
  brands: string[]
}

/** Models and segments of the brands; one that fails is noted in its status and stops no other. */
async function run(pipeline: Pipeline, { brands }: Brands, control: { signal: AbortSignal }): Promise<void> {
  for (const brandId of brands) {
    if (control.signal.aborted) return
    try {
      const { as_of, generation, published, full, failed, steps } = await refreshBrand(pipeline, brandId)
      if (!full) await verifyNightly(pipeline, brandId, new Date(as_of))
      const ms = steps.reduce((sum, step) => sum + step.ms, 0)
      log('info', 'refresh', { brand_id: brandId, generation, published, full, failed: failed.length, ms })
    } catch (error) {
      if (error instanceof Outrun) continue
      log('error', 'refresh_failed', { brand_id: brandId, ...errorFields(error) })
      await pipeline.postgres.pipeline.run('lake_brand_failed', [
        brandId,
        error instanceof Error ? error.message : String(error),
        await currentModels(),
      ])
    }
  }
}

/** Once a night, in the brand's hours of sleep, all is computed anew and must equal what the steps led to. */
async function verifyNightly(pipeline: Pipeline, brandId: string, asOf: Date): Promise<void> {
  const { due } = await pipeline.postgres.pipeline.one<{ due: boolean }>('lake_brand_verify_due', [brandId])
  if (due) await refreshBrand(pipeline, brandId, { asOf, verify: true })
}

export const refresh: Job<Pipeline, Brands> = {
  queue: 'refresh',
  timeoutSeconds: 900,
  policy: 'many',
  workers: 1,
  run,
}

/** A lane of its own for brands over their time: they delay no other. */
export const refreshSlow: Job<Pipeline, Brands> = { ...refresh, queue: 'refresh_slow' }
