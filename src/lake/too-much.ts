import { Failure, fail } from '../errors.ts'
import { isOutOfMemory } from '../store/duckdb.ts'

const WHAT =
  'It takes more memory than one request may have. Ask for less at once, such as fewer conditions or a smaller page.'

/** Throws what went wrong; what DuckDB says of memory is for operators. */
export function tooMuch(cause: unknown): never {
  throw isOutOfMemory(cause) ? fail('unavailable', WHAT, { cause }) : cause
}

export const isTooMuch = (error: unknown): boolean => error instanceof Failure && isOutOfMemory(error.cause)
