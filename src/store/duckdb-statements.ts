import { StatementType } from './duckdb-api.ts'

/** Those that write a file, or that run one of these unseen. */
const WRITING: ReadonlySet<StatementType> = new Set([
  StatementType.ATTACH,
  StatementType.COPY,
  StatementType.COPY_DATABASE,
  StatementType.EXPORT,
  StatementType.PREPARE,
  StatementType.EXECUTE,
])

const COMMENT = String.raw`--[^\n\r]*|/\*(?:(?!\*/|/\*)[\s\S])*\*/`

/** Literals and comments. What follows e'…' may be more of it, in which \' is no end. */
const UNSAID = [
  String.raw`e'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*'(?!(?:\s|${COMMENT})*')`,
  `'[^']*'`,
  String.raw`(\$(?:[a-z_]\w*)?\$)[\s\S]*?\2`,
  COMMENT,
].join('|')

/** Names, parameters and numbers, each where it is one thing with what stands behind it. */
const SAID = ['"[^"]*"', String.raw`(?!e')[a-z_][\w$]*`, String.raw`[$\d]\w*(?![\w$'])`].join('|')

/** Begun and not ended, or read in two ways: comments within comments, $é$, 1e'…'. */
const UNCLEAR = String.raw`e'|['"$\d]|/\*|[^\0-\x7f]`

const PARTS = new RegExp(`(${UNSAID})|${SAID}|(${UNCLEAR})`, 'gi')

/** A text without its literals and comments; null where it is not clear what they are. */
function saidBy(text: string): string | null {
  let isClear = true
  const said = text.replace(PARTS, (part, unsaid?: string, _tag?: string, unclear?: string) => {
    if (unclear !== undefined) isClear = false
    return unsaid === undefined ? part : ' '
  })
  return isClear ? said : null
}

/**
 * Functions that write logs and profiles to files, locked or not; those that run a text, which may call them; and one by
 * which texts are read otherwise than here. EXPORT has made its folder by the time that it is prepared, before its type
 * is known.
 */
const WRITERS =
  /\benable_(logging|profiling|peg_parser)\b|\b(query|json_execute_serialized_sql)\b"?\s*\(|\bexport\s+database\b/i
const WRITERS_ANYWHERE =
  /\b(enable_(logging|profiling|peg_parser)|query|json_execute_serialized_sql|export)\b/i

/** Whether some statement of a text may write a file, as far as that shows by its words. */
export function namesWriter(text: string): boolean {
  const said = saidBy(text)
  return said === null ? WRITERS_ANYWHERE.test(text) : WRITERS.test(said)
}

/** Whether a statement of a text may write a file where one may: DuckDB has no folders that are only read. */
export const mayWrite = (type: StatementType, text: string): boolean =>
  // EXPLAIN ANALYZE runs what it explains, which it does not tell.
  WRITING.has(type) || (type === StatementType.EXPLAIN && /\bcopy\b/i.test(saidBy(text) ?? text))
