import type { Duck } from '../store/duckdb.ts'
import { type Model, upstreamOf } from './graph.ts'
import { naming } from './run.ts'

/** What DuckDB says of a value that it meets while it computes rows. */
const isOfValue = (error: unknown): boolean =>
  error instanceof Error && /^(Conversion|Out of Range|Invalid Input) Error/.test(error.message)

/**
 * Why a statement over some models failed: of the first model that cannot be computed by itself, with its file; the error as
 * it is where all can.
 */
export async function causeOf(
  error: unknown,
  duck: Pick<Duck, 'rows'>,
  names: readonly string[],
  models: readonly Model[],
): Promise<unknown> {
  if (!isOfValue(error)) return error
  for (const model of upstreamOf(names, models))
    try {
      await naming(model, () => duck.rows(`select count(hash(each)) from ${model.name} as each`))
    } catch (failed) {
      return failed
    }
  return error
}
