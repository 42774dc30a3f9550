import { lakeProblem } from '../lake/owner.ts'
import type { Pipeline } from '../lake/pipeline.ts'

/** A refresh that failed. */
export interface Tried {
  /** What results were made with when it began: with others it is tried again. */
  results: string | null
  ms: number
}

/**
 * Notes in the status of a brand that its refresh failed, and when it is tried again; not while nothing is written to the
 * lake, which is no fault of the brand.
 */
export async function noteFailed(
  pipeline: Pipeline,
  brandId: string,
  error: unknown,
  { results, ms }: Tried,
): Promise<void> {
  if (await lakeProblem(pipeline)) return
  await pipeline.postgres.pipeline.run('lake_brand_failed', [
    brandId,
    error instanceof Error ? error.message : String(error),
    results,
    ms,
  ])
}
