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

/** Whether a statement of a text may write a file where one may: DuckDB has no folders that are only read. */
export const mayWrite = (type: StatementType, text: string): boolean =>
  // EXPLAIN ANALYZE runs what it explains, which it does not tell.
  WRITING.has(type) || (type === StatementType.EXPLAIN && /\bcopy\b/i.test(text))
