import type { Control, Job } from '../src/job.ts'
import { Outrun } from '../src/lake/manifest.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { errorFields, log } from '../src/log.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { currentResults } from './plan.ts'

interface Brands {
  brands: string[]
}

/** A brand that takes longer than this among the quick ones is left to the slow lane. */
const QUICK_MS = 10_000

/** Models and segments of the brands; one that fails is noted in its status and stops no other. */
async function run(pipeline: Pipeline, { brands }: Brands, { signal }: Control): Promise<void> {
  for (const brandId of brands) {
    if (signal.aborted) return
    await refreshOne(pipeline, brandId, signal)
  }
}

/** The same, but each brand has its time only: one that turns out to be slow goes on in the slow lane. */
export async function runQuick(
  pipeline: Pipeline,
  { brands }: Brands,
  { signal, send }: Control,
  mostMs = QUICK_MS,
): Promise<void> {
  for (const brandId of brands) {
    if (signal.aborted) return
    const late = AbortSignal.timeout(mostMs)
    if (await refreshOne(pipeline, brandId, AbortSignal.any([signal, late]))) continue
    if (late.aborted) await send(refreshSlow.queue, { brands: [brandId] })
  }
}

/** False when it was given up because the signal says so. */
async function refreshOne(pipeline: Pipeline, brandId: string, signal: AbortSignal): Promise<boolean> {
  try {
    const report = await refreshBrand(pipeline, brandId, { signal })
    const { as_of, generation, published, full, failed, steps } = report
    if (!full) await verifyNightly(pipeline, brandId, new Date(as_of), signal)
    const ms = steps.reduce((sum, step) => sum + step.ms, 0)
    log('info', 'refresh', { brand_id: brandId, generation, published, full, failed: failed.length, ms })
  } catch (error) {
    if (error instanceof Outrun) return true
    if (signal.aborted) return false
    log('error', 'refresh_failed', { brand_id: brandId, ...errorFields(error) })
    await pipeline.postgres.pipeline.run('lake_brand_failed', [
      brandId,
      error instanceof Error ? error.message : String(error),
      await currentResults(),
    ])
  }
  return true
}

/** Once a night, in the brand's hours of sleep, all is computed anew and must equal what the steps led to. */
async function verifyNightly(
  pipeline: Pipeline,
  brandId: string,
  asOf: Date,
  signal: AbortSignal,
): Promise<void> {
  const { due } = await pipeline.postgres.pipeline.one<{ due: boolean }>('lake_brand_verify_due', [brandId])
  if (due) await refreshBrand(pipeline, brandId, { asOf, verify: true, signal })
}

export const refresh: Job<Pipeline, Brands> = {
  queue: 'refresh',
  timeoutSeconds: 900,
  policy: 'many',
  // Small brands are computed by one thread each.
  workers: 2,
  run: runQuick,
}

/** A lane of its own for brands over their time: they delay no other. */
export const refreshSlow: Job<Pipeline, Brands> = { ...refresh, queue: 'refresh_slow', workers: 1, run }
