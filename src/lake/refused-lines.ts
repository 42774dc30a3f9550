import { errorCode, isOvertaken } from '../errors.ts'

/** Of DuckDB; the others are of the memory, the disk or the statement. */
const DUCKDB = /^(Conversion|Invalid Input|Out of Range|Mismatch Type|INTERNAL|FATAL) Error/
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

/**
 * Which of so many lines are refused by themselves. `isRead` is asked for lines from `low` until before `high`: of all first,
 * then of ever smaller parts, so that what is refused is soon down to few. After `most` times parts that are refused are
 * left out as they are.
 */
export async function refusedLines(
  lines: number,
  isRead: (low: number, high: number) => Promise<boolean>,
  most = Number.POSITIVE_INFINITY,
): Promise<Set<number>> {
  const refused = new Set<number>()
  const parts: [low: number, high: number][] = [[0, lines]]
  for (const [asked, [low, high]] of parts.entries()) {
    if (low === high || (await isRead(low, high))) continue
    if (high - low === 1 || asked >= most) {
      for (let line = low; line < high; line++) refused.add(line)
      continue
    }
    const middle = (low + high) >> 1
    parts.push([low, middle], [middle, high])
  }
  return refused
}
