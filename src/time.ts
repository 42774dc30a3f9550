/** The first instant of the year 10000: from there on Date writes years as neither Postgres nor DuckDB reads them. */
export const YEAR_10000 = Date.UTC(10_000, 0)

export const DAY_MS = 86_400_000

const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const [MINUS, PLUS, COMMA, POINT, COLON, T, Z] = [45, 43, 44, 46, 58, 84, 90] as const

/**
 * Milliseconds since 1970 of an ISO 8601 date (`2026-11-30`) or date-time (`2026-11-30T08:15:00.123+01:00`) in ASCII,
 * NaN for anything else. Without an offset it is UTC; digits beyond the millisecond are cut. Date.parse takes
 * `2026-02-31` for a day of March and a time without offset for local time, so it is not used.
 */
export function parseTime(bytes: Uint8Array, from = 0, to = bytes.length): number {
  const year = digits(bytes, from, 4)
  const month = digits(bytes, from + 5, 2)
  const day = digits(bytes, from + 8, 2)
  // Date.UTC takes years below 100 for those of the 20th century.
  if (!(year >= 100 && day >= 1 && day <= daysOf(year, month)) || to - from < 10) return Number.NaN
  if (bytes[from + 4] !== MINUS || bytes[from + 7] !== MINUS) return Number.NaN
  const midnight = Date.UTC(year, month - 1, day)
  if (to - from === 10) return midnight

  const hour = digits(bytes, from + 11, 2)
  const minute = digits(bytes, from + 14, 2)
  if (bytes[from + 10] !== T || bytes[from + 13] !== COLON || !(hour < 24 && minute < 60)) return Number.NaN
  let at = from + 16
  let millis = 0
  if (bytes[at] === COLON && at < to) {
    const second = digits(bytes, at + 1, 2)
    if (!(second < 60)) return Number.NaN
    millis = second * 1000
    at += 3
    if (bytes[at] === POINT || bytes[at] === COMMA) {
      const start = ++at
      for (let scale = 100; isDigit(bytes[at]); at++, scale /= 10)
        millis += Math.floor(((bytes[at] ?? 0) - 48) * scale)
      if (at === start || at - start > 9) return Number.NaN
    }
  }
  return midnight + hour * 3_600_000 + minute * 60_000 + millis - offset(bytes, at, to)
}

/** Milliseconds that a zone is ahead of UTC: nothing or `Z`, `+hh`, `+hhmm`, `+hh:mm`; NaN for anything else. */
function offset(bytes: Uint8Array, at: number, to: number): number {
  const rest = to - at
  if (rest === 0 || (rest === 1 && bytes[at] === Z)) return 0
  const sign = bytes[at] === PLUS ? 1 : bytes[at] === MINUS ? -1 : Number.NaN
  const hours = digits(bytes, at + 1, 2)
  const colon = bytes[at + 3] === COLON ? 1 : 0
  const minutes = rest === 3 ? 0 : rest === 5 + colon ? digits(bytes, at + 3 + colon, 2) : Number.NaN
  return hours < 24 && minutes < 60 ? sign * (hours * 60 + minutes) * 60_000 : Number.NaN
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 48 && byte <= 57

function digits(bytes: Uint8Array, from: number, count: number): number {
  let value = 0
  for (let at = from; at < from + count; at++) {
    const byte = bytes[at]
    if (!isDigit(byte)) return Number.NaN
    value = value * 10 + (byte ?? 0) - 48
  }
  return value
}

function daysOf(year: number, month: number): number {
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return leap ? 29 : (DAYS_OF_MONTH[month - 1] ?? 0)
}

/** The name that ICU has for a time zone, such as Asia/Calcutta for Asia/Kolkata; undefined when there is none of this name. */
export function knownTimezone(name: string): string | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}
