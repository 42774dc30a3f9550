import { errorCode, Failure, isOvertaken } from '../errors.ts'
import { Outrun } from './manifest.ts'

/** Of Postgres: what a value is, what it breaks, how large it is. */
const POSTGRES = /^(22|23|54)/
/** Of Node: what is asked of it, but not that a stream ended with who wrote into it. */
const NODE = /^(ERR_(?!STREAM_PREMATURE_CLOSE)|ZSTD_)/
/** Of DuckDB: the memory, the disk, the end of the work. */
const DUCKDB_PASSING = /^(Out of Memory|IO|Permission|INTERRUPT) Error/

/**
 * Whether what was read may be to blame for an error: for all of which nobody knows better. Those of a neighbour pass by
 * themselves, and other lines would fare as these. The state of a file may be to blame, too.
 */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || isOvertaken(error)) return false
  if (error instanceof Failure || error instanceof Outrun || error instanceof DOMException) return false
  const code = errorCode(error)
  return code === undefined ? !DUCKDB_PASSING.test(error.message) : POSTGRES.test(code) || NODE.test(code)
}

/** Of an error its code, or what DuckDB calls it: the message may quote what was read. */
export const kindOf = (error: unknown): string =>
  errorCode(error) ??
  (error instanceof Error ? (/^[\w ]* Error(?=:)/.exec(error.message)?.[0] ?? error.name) : 'Error')

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
