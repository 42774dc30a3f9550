const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/**
 * Milliseconds since 1970 of an ISO 8601 date (`2026-11-30`) or date-time (`2026-11-30T08:15:00.123+01:00`), NaN for
 * any other text. Without an offset it is UTC; digits beyond the millisecond are cut. Date.parse takes `2026-02-31`
 * for a day of March and a time without offset for local time, so it is not used.
 */
export function parseTime(text: string, from = 0, to = text.length): number {
  const year = digits(text, from, 4)
  const month = digits(text, from + 5, 2)
  const day = digits(text, from + 8, 2)
  // Date.UTC takes years below 100 for those of the 20th century.
  if (!(year >= 100 && day >= 1 && day <= daysOf(year, month))) return Number.NaN
  if (text[from + 4] !== '-' || text[from + 7] !== '-' || to - from < 10) return Number.NaN
  const midnight = Date.UTC(year, month - 1, day)
  if (to - from === 10) return midnight

  const hour = digits(text, from + 11, 2)
  const minute = digits(text, from + 14, 2)
  if (text[from + 10] !== 'T' || text[from + 13] !== ':' || !(hour < 24 && minute < 60)) return Number.NaN
  let at = from + 16
  let millis = 0
  if (text[at] === ':' && at < to) {
    const second = digits(text, at + 1, 2)
    if (!(second < 60)) return Number.NaN
    millis = second * 1000
    at += 3
    if (text[at] === '.' || text[at] === ',') {
      const start = ++at
      for (let scale = 100; isDigit(text.charCodeAt(at)); at++, scale /= 10) {
        millis += Math.floor((text.charCodeAt(at) - 48) * scale)
      }
      if (at === start || at - start > 9) return Number.NaN
    }
  }
  return midnight + hour * 3_600_000 + minute * 60_000 + millis - offset(text, at, to)
}

/** Milliseconds that a zone is ahead of UTC: nothing or `Z`, `+hh`, `+hhmm`, `+hh:mm`; NaN for any other text. */
function offset(text: string, at: number, to: number): number {
  const rest = to - at
  if (rest === 0 || (rest === 1 && text[at] === 'Z')) return 0
  const sign = text[at] === '+' ? 1 : text[at] === '-' ? -1 : Number.NaN
  const hours = digits(text, at + 1, 2)
  const colon = text[at + 3] === ':' ? 1 : 0
  const minutes = rest === 3 ? 0 : rest === 5 + colon ? digits(text, at + 3 + colon, 2) : Number.NaN
  return hours < 24 && minutes < 60 ? sign * (hours * 60 + minutes) * 60_000 : Number.NaN
}

const isDigit = (code: number) => code >= 48 && code <= 57

function digits(text: string, from: number, count: number): number {
  let value = 0
  for (let at = from; at < from + count; at++) {
    const code = text.charCodeAt(at)
    if (!isDigit(code)) return Number.NaN
    value = value * 10 + code - 48
  }
  return value
}

function daysOf(year: number, month: number): number {
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return leap ? 29 : (DAYS_OF_MONTH[month - 1] ?? 0)
}
