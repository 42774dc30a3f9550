import { errorCode, isOvertaken } from '../errors.ts'
import type { LineFile } from './line-file.ts'

/** Of DuckDB; the others are of the memory, the disk or the statement. */
const DUCKDB = /^(Conversion|Invalid Input|Out of Range|Mismatch Type|INTERNAL) Error/
/** Of Postgres: what a value is, what it breaks, how large it is. */
const POSTGRES = /^(22|23|54)/

/** Whether what was read may be to blame for an error. The state of a file may be, too. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof Error &&
  !isOvertaken(error) &&
  (DUCKDB.test(error.message) || POSTGRES.test(errorCode(error) ?? ''))

/** Of an error its code, or what DuckDB calls it: the message may quote what was read. */
export const kindOf = (error: unknown): string =>
  errorCode(error) ?? /^[\w ]* Error(?=:)/.exec(error instanceof Error ? error.message : '')?.[0] ?? 'Error'

/** Which lines of a file are refused by themselves. `isRead` is asked for lines from `low` until before `high`. */
export async function refusedLines(
  { lines }: LineFile,
  isRead: (low: number, high: number) => Promise<boolean>,
): Promise<Set<number>> {
  const refused = new Set<number>()
  const find = async (low: number, high: number): Promise<void> => {
    if (low === high || (await isRead(low, high))) return
    if (high - low === 1) {
      refused.add(low)
      return
    }
    const middle = (low + high) >> 1
    await find(low, middle)
    await find(middle, high)
  }
  await find(0, lines)
  return refused
}
