import { accessors } from './duckdb-api.ts'

/**
 * A text that DuckDB answers keeps the U+FEFF that it begins with: the binding reads each as if it were a file, whose byte
 * order mark is none of its text. It has no setting for that.
 */
export function keepByteOrderMarks(): void {
  Object.assign(accessors, { textDecoder: new TextDecoder('utf-8', { ignoreBOM: true }) })
}

/** As DuckDB orders texts; `<` would put an emoji before a letter of full width. */
export const byBytes = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other))
