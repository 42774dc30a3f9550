/** Hours without messages: from one time of the day until another, perhaps over midnight; the same twice: none. */
export interface QuietHours {
  /** HH:MM, or with seconds. */
  from: string
  until: string
}

const MINUTE_MS = 60_000
const DAY_MINUTES = 1_440
/** Within two days each clock shows every time of the day, also where clocks are changed. */
const LONGEST_MS = 2 * DAY_MINUTES * MINUTE_MS

/**
 * When it is next quiet in none of the zones that somebody may be in; null when it is so now. Where it is always quiet in
 * some of them, the first counts alone.
 */
export function quietUntilInAll(now: Date, zones: readonly string[], hours: QuietHours): Date | null {
  let at = now
  while (at.getTime() - now.getTime() < LONGEST_MS) {
    const ends = zones.flatMap((zone) => quietUntil(at, zone, hours) ?? [])
    if (ends.length === 0) return at === now ? null : at
    at = new Date(Math.max(...ends.map((end) => end.getTime())))
  }
  return quietUntil(now, zones[0] ?? 'UTC', hours)
}

/** When the quiet hours end that it is now at a place; null when there are none now. Of a zone that is none UTC counts. */
export function quietUntil(now: Date, timezone: string, { from, until }: QuietHours): Date | null {
  const [begin, end] = [minutesOf(from), minutesOf(until)]
  const isQuiet = (minute: number) =>
    begin <= end ? minute >= begin && minute < end : minute >= begin || minute < end
  const clock = clockOf(timezone)
  if (!isQuiet(clock(now))) return null
  const whole = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS
  // Where clocks are changed meanwhile, the end comes earlier or later than the clock of now says.
  let at = whole
  for (let looked = 0; looked < 4; looked++) {
    const minute = clock(new Date(at))
    if (!isQuiet(minute)) break
    at += ((end - minute + DAY_MINUTES) % DAY_MINUTES || DAY_MINUTES) * MINUTE_MS
  }
  while (at - MINUTE_MS > whole && !isQuiet(clock(new Date(at - MINUTE_MS)))) at -= MINUTE_MS
  return new Date(at)
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return hours * 60 + minutes
}

const clocks = new Map<string, (at: Date) => number>()

/** The minute of the day that clocks of a zone show. */
function clockOf(timezone: string): (at: Date) => number {
  const known = clocks.get(timezone)
  if (known) return known
  const format = formatOf(timezone)
  const clock = (at: Date) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
    return Number(parts.hour) * 60 + Number(parts.minute)
  }
  clocks.set(timezone, clock)
  return clock
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const options = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  try {
    return new Intl.DateTimeFormat('en-GB', { ...options, timeZone })
  } catch {
    return new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
  }
}
