import type { DuckDBConnection } from './duckdb-api.ts'

/** One statement of a text as it was written. */
interface Piece {
  text: string
  /** How many statements DuckDB makes of the text up to its end: a PIVOT is several. */
  made: number
}

/** The statements of a text up to its first mistake, and the rest from there. They end where DuckDB can read all before. */
async function piecesOf(
  connection: DuckDBConnection,
  text: string,
): Promise<{ whole: Piece[]; rest: string }> {
  const whole: Piece[] = []
  let begin = 0
  for (const end of [...[...text.matchAll(/;/g)].map(({ index }) => index + 1), text.length]) {
    const made = await connection.extractStatements(text.slice(0, end)).then(
      ({ count }) => count,
      () => 0,
    )
    if (made <= (whole.at(-1)?.made ?? 0)) continue
    whole.push({ text: text.slice(begin, end), made })
    begin = end
  }
  return { whole, rest: text.slice(begin) }
}

const SHOWN = 40

/** Without comments before it, on one line. */
function firstWords(text: string): string {
  const said = text
    .replace(/^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, '')
    .replace(/[\s;]+$/, '')
    .replace(/\s+/g, ' ')
  return said.length > SHOWN ? `${said.slice(0, SHOWN)}…` : said
}

/**
 * Which statement of a text it is that failed, of those that DuckDB makes the one at `at`, or the first that it cannot read;
 * null where the text has one alone.
 */
export async function placeOf(
  connection: DuckDBConnection,
  text: string,
  at: number | null,
): Promise<string | null> {
  const { whole, rest } = await piecesOf(connection, text)
  if (at === null) return whole.length ? `Statement ${whole.length + 1} (${firstWords(rest)})` : null
  const index = whole.findIndex(({ made }) => made > at)
  const failed = whole[index]
  if (whole.length < 2 || !failed) return null
  return `Statement ${index + 1} of ${whole.length} (${firstWords(failed.text)})`
}
