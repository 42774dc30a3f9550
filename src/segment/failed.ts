import type { Pipeline } from '../lake/pipeline.ts'

/** A refresh that failed. */
export interface Tried {
  /** What results were made with when it began: with others it is tried again. */
  results: string | null
  ms: number
}

/** Notes in the status of a brand that its refresh failed, and when it is tried again. */
export const noteFailed = (
  { postgres }: Pipeline,
  brandId: string,
  error: unknown,
  { results, ms }: Tried,
): Promise<unknown> =>
  postgres.pipeline.run('lake_brand_failed', [
    brandId,
    error instanceof Error ? error.message : String(error),
    results,
    ms,
  ])
