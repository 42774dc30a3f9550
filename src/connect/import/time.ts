import { literal } from '../../store/duckdb.ts'

const DAY = '[0-9]+([^a-z0-9:+][0-9]+){2}'
const WITHOUT_ZONE = `(?i)^${DAY}([ t]+[0-9:.]+)?$`
// As far from UTC as PostgreSQL reads: no place is, or ever was, further. DuckDB takes 99 hours.
const OFFSET = '[+-]([0-9](:[0-5][0-9])?|(0[0-9]|1[0-5])(:?[0-5][0-9](:[0-5][0-9])?)?)'
// DuckDB knows abbreviations, which several zones share, as others than are meant: BST is Bangladesh, AST Alaska.
const ZONE = `(z|(utc|gmt)?\\s*${OFFSET}|utc|gmt|[a-z_]+/[a-z0-9_/+-]+)`
const WITH_ZONE = `(?i)^${DAY}[ t]+[0-9:.]+\\s*${ZONE}$`

/**
 * In capitals, what DuckDB does not read becomes what it does: a zone behind minutes, UTC without a space before it, an offset
 * behind a space or GMT, and one of a single digit.
 */
const READABLE: readonly (readonly [found: string, written: string])[] = [
  ['([ T][0-9]+:[0-9]+)(\\s*[A-Z+-])', '\\1:00\\2'],
  ['([0-9:.])\\s*(UTC|GMT|Z)$', '\\1Z'],
  ['([0-9:.])\\s*(UTC|GMT)?\\s*([+-][0-9:]+)$', '\\1\\3'],
  ['([0-9:.][+-])([0-9](:[0-9]+)?)$', '\\10\\2'],
]

const readable = (text: string) =>
  READABLE.reduce(
    (read, [found, written]) => `regexp_replace(${read}, ${literal(found)}, ${literal(written)})`,
    `upper(${text})`,
  )

/** SQL of the time that a text is in UTC; null when it is none, or its zone is an abbreviation. */
export const timeOf = (text: string) =>
  // As TIMESTAMP a text loses its offset without a word; as TIMESTAMPTZ one without zone has that of the row before.
  `case when regexp_matches(${text}, ${literal(WITHOUT_ZONE)}) then try_cast(upper(${text}) as TIMESTAMP)
    when regexp_matches(${text}, ${literal(WITH_ZONE)})
      then try_cast(${readable(text)} as TIMESTAMPTZ)::TIMESTAMP end`

const SECONDS_UNTIL_1990 = 631_152_000

/** SQL of the time of a number as text, `otherwise` where it is none. */
export function epoch(value: string, otherwise: string): string {
  // Seconds since 1970, or milliseconds or microseconds when it is too large for that. Smaller ones are dates of another
  // form, such as 46035 of Excel or 20260113. The width of a column may have no room for a thousand times as much, or for the
  // least of its numbers without the sign.
  const isOf = (perSecond: string) =>
    `abs((${value})::DOUBLE) between ${SECONDS_UNTIL_1990} * ${perSecond} and 1e11 * ${perSecond}`
  return `case when ${isOf('1')} then epoch_ms(((${value})::DOUBLE * 1000)::BIGINT)::VARCHAR
    when ${isOf('1e3')} then epoch_ms((${value})::BIGINT)::VARCHAR
    when ${isOf('1e6')} then make_timestamp((${value})::BIGINT)::VARCHAR else ${otherwise} end`
}
