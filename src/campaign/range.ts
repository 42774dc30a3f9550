import { fail } from '../errors.ts'
import { DAY_MS } from '../time.ts'

/** Days of some time zone, both included, such as 2026-11-30. */
export interface DateRange {
  from: string
  to: string
}

/** Dates as they were sent, each of which may be missing. */
export interface SentRanges {
  from?: string | undefined
  to?: string | undefined
  compare_from?: string | undefined
  compare_to?: string | undefined
}

const DEFAULT_DAYS = 30
/** Of a range, its first and its last day counted. */
export const MOST_DAYS = 1_095

const at = (day: string) => Date.parse(`${day}T00:00:00Z`)
/** The day so many days after another one. */
export const plus = (day: string, days: number) =>
  new Date(at(day) + days * DAY_MS).toISOString().slice(0, 10)
const lengthOf = ({ from, to }: DateRange) => Math.round((at(to) - at(from)) / DAY_MS) + 1

/** All days of a range. */
export const daysOf = (range: DateRange): string[] =>
  Array.from({ length: lengthOf(range) }, (_, n) => plus(range.from, n))

/** The day that it is in a time zone. */
export const dayIn = (timezone: string, now: Date): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone: timezone }).format(now)

/**
 * The ranges that are asked for: by default the last 30 days up to today, against as many days before them. Throws
 * `bad_request`.
 */
export function rangesOf(sent: SentRanges, today: string): { range: DateRange; compare: DateRange } {
  const range = rangeOf('', sent.from, sent.to, DEFAULT_DAYS, today)
  const days = lengthOf(range)
  const before = plus(range.from, -1)
  return { range, compare: rangeOf('compare_', sent.compare_from, sent.compare_to, days, before) }
}

/** Of so many days up to the last one, where one of its ends is missing. */
function rangeOf(
  name: string,
  from: string | undefined,
  to: string | undefined,
  days: number,
  last: string,
): DateRange {
  const end = to ?? (from !== undefined && name !== '' ? plus(from, days - 1) : last)
  const range = { from: from ?? plus(end, 1 - days), to: end }
  if (range.to < range.from) throw fail('bad_request', `${name}to must not be before ${name}from`)
  if (lengthOf(range) > MOST_DAYS)
    throw fail(
      'bad_request',
      `${name}from must be at most ${(MOST_DAYS - 1).toLocaleString('en')} days before ${name}to`,
    )
  return range
}
