import { StatementType } from '@duckdb/node-api'

/** Those that write a file, or that run one of these unseen. */
const WRITING: ReadonlySet<StatementType> = new Set([
  StatementType.ATTACH,
  StatementType.COPY,
  StatementType.COPY_DATABASE,
  StatementType.EXPORT,
  StatementType.PREPARE,
  StatementType.EXECUTE,
])

const GAP = String.raw`(?:\s|--[^\n]*\n|/\*(?:(?!\*/)[\s\S])*\*/)+`

/** Functions that write logs and profiles to files, locked or not; and those that run a text, which may call them. */
const WRITERS = /\benable_(logging|profiling)\b|\b(query|json_execute_serialized_sql)\b"?\s*\(/i

/** EXPORT has made its folder by the time that it is prepared, before its type is known. */
const EXPORT = new RegExp(String.raw`\bexport${GAP}database\b`, 'i')

/** Whether some statement of a text may write a file, as far as that shows by its words. */
export const namesWriter = (text: string): boolean => WRITERS.test(text) || EXPORT.test(text)

/** Whether a statement of a text may write a file where one may: DuckDB has no folders that are only read. */
export const mayWrite = (type: StatementType, text: string): boolean =>
  // EXPLAIN ANALYZE runs what it explains, which it does not tell.
  WRITING.has(type) || (type === StatementType.EXPLAIN && /\bcopy\b/i.test(text))
