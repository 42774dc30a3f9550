import { type Control, type Job, Stopped } from '../src/job.ts'
import { Outrun } from '../src/lake/manifest.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { errorFields, log } from '../src/log.ts'
import { noteFailed, type Tried } from '../src/segment/failed.ts'
import { currentResults } from '../src/segment/recipe.ts'
import { type RefreshOptions, refreshBrand } from '../src/segment/refresh.ts'

interface Brands {
  brands: string[]
}

/** A brand that takes longer than this among the quick ones is left to the slow lane. */
const QUICK_MS = 10_000
/** One that takes longer than this has failed; less than the time of the job, which would be run again. */
const SLOW_MS = 840_000
const TIMEOUT_SECONDS = 900

/** Models and segments of the brands; one that fails is noted in its status and stops no other. */
export async function runSlow(
  pipeline: Pipeline,
  { brands }: Brands,
  control: Control,
  mostMs = SLOW_MS,
): Promise<void> {
  const { signal } = control
  for (const brandId of brands) {
    if (signal.aborted) return
    await inTurn(pipeline, brandId, control, async () => {
      const late = AbortSignal.timeout(mostMs)
      if (await refreshOne(pipeline, brandId, AbortSignal.any([signal, late]))) return
      if (signal.reason instanceof Stopped) return
      await failed(pipeline, brandId, new Error(`It took longer than ${mostMs / 1000} s`), {
        results: await currentResults(),
        ms: mostMs,
      })
    })
  }
}

/** The same, but a brand that turns out to be slow goes on in the slow lane; to wait for room is not to be slow. */
export async function runQuick(
  pipeline: Pipeline,
  { brands }: Brands,
  control: Control,
  mostMs = QUICK_MS,
  jobMs = SLOW_MS,
): Promise<void> {
  const { signal, send } = control
  const end = performance.now() + jobMs
  for (const [n, brandId] of brands.entries()) {
    if (signal.aborted) return
    // Waiting for room takes time of the job, which would be run again from its first brand.
    if (performance.now() > end) return await send(refresh.queue, { brands: brands.slice(n) })
    await inTurn(pipeline, brandId, control, async () => {
      const late = allowed(mostMs)
      try {
        const until = AbortSignal.any([signal, late.signal])
        if (await refreshOne(pipeline, brandId, until, late.onWait)) return
      } finally {
        late.end()
      }
      if (late.signal.aborted) await send(refreshSlow.queue, { brands: [brandId] })
    })
  }
}

/** A signal that aborts after so long, while what it is for does not wait. */
function allowed(ms: number) {
  const late = new AbortController()
  let [left, since] = [ms, performance.now()]
  const start = () => setTimeout(() => late.abort(), left)
  let timer = start()
  return {
    signal: late.signal,
    onWait: (waits: boolean) => {
      clearTimeout(timer)
      if (waits) left -= performance.now() - since
      else [since, timer] = [performance.now(), start()]
    },
    end: () => clearTimeout(timer),
  }
}

/**
 * Not for a brand that failed since it was planned, in a job before this one. One with which the worker died that ran
 * this job before has failed: it would take the next worker with it, and those behind it would never have their turn.
 */
async function inTurn(
  pipeline: Pipeline,
  brandId: string,
  { job, worker }: Control,
  work: () => Promise<void>,
): Promise<void> {
  const { pipeline: db } = pipeline.postgres
  const { waits, died_after_ms: ms } = await db.one<{ waits: boolean; died_after_ms: number | null }>(
    'lake_brand_try',
    [brandId, job, worker],
  )
  if (waits) return
  try {
    if (ms === null) return await work()
    const error = new Error('The worker that refreshed it ended in the middle')
    await failed(pipeline, brandId, error, { results: await currentResults(), ms })
  } finally {
    await db.run('lake_brand_tried', [brandId, job])
  }
}

/** A refresh that something else outran, such as a segment that was archived meanwhile, is tried so often at once. */
const MOST_TRIES = 5

/** False when it was given up because the signal says so. */
async function refreshOne(
  pipeline: Pipeline,
  brandId: string,
  signal: AbortSignal,
  onWait: (waits: boolean) => void = () => {},
  tries = MOST_TRIES,
): Promise<boolean> {
  const started = performance.now()
  // Before it: what is mended while it runs is another reason to try again.
  const results = await currentResults()
  try {
    const report = await refreshBrand(pipeline, brandId, { signal, onWait })
    const { as_of, generation, published, full, failed, steps } = report
    if (!full) await verifyNightly(pipeline, brandId, new Date(as_of), { signal, onWait })
    const ms = steps.reduce((sum, step) => sum + step.ms, 0)
    log('info', 'refresh', { brand_id: brandId, generation, published, full, failed: failed.length, ms })
  } catch (error) {
    if (signal.aborted) return false
    if (error instanceof Outrun)
      return tries === 1 || (await refreshOne(pipeline, brandId, signal, onWait, tries - 1))
    await failed(pipeline, brandId, error, { results, ms: performance.now() - started })
  }
  return true
}

async function failed(pipeline: Pipeline, brandId: string, error: unknown, tried: Tried): Promise<void> {
  log('error', 'refresh_failed', { brand_id: brandId, ...errorFields(error) })
  await noteFailed(pipeline, brandId, error, tried)
}

/** Once a night, in the brand's hours of sleep, all is computed anew and must equal what the steps led to. */
async function verifyNightly(
  pipeline: Pipeline,
  brandId: string,
  asOf: Date,
  options: Pick<RefreshOptions, 'signal' | 'onWait'>,
): Promise<void> {
  const { due } = await pipeline.postgres.pipeline.one<{ due: boolean }>('lake_brand_verify_due', [brandId])
  if (due) await refreshBrand(pipeline, brandId, { ...options, asOf, verify: true })
}

export const refresh: Job<Pipeline, Brands> = {
  queue: 'refresh',
  timeoutSeconds: TIMEOUT_SECONDS,
  policy: 'many',
  // Small brands are computed by one thread each; what one waits for (the disk, Postgres) others use.
  workers: 6,
  writesLake: true,
  run: runQuick,
}

/** A lane of its own for brands over their time: they delay no other. */
export const refreshSlow: Job<Pipeline, Brands> = {
  ...refresh,
  queue: 'refresh_slow',
  policy: 'each',
  workers: 1,
  run: runSlow,
}
