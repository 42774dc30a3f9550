/** One JSON object per line on stderr; the first after some that could not be written has `dropped_lines`. Personal data and secrets never belong in a field. */
export const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]

let threshold = LEVELS.indexOf('info')

/** Bytes that wait for a reader who does not read; lines beyond them are dropped. */
const MOST_WAITING = 1 << 20
let dropped = 0

// A line that cannot be written, as on a full disk, is no reason to end. The next one is tried anew.
process.stderr.on('error', () => {})

export function setLogLevel(level: Level): void {
  threshold = LEVELS.indexOf(level)
}

/** False for lines that would not be written, where making one costs. */
export const isLogged = (level: Level) => LEVELS.indexOf(level) >= threshold

export function log(level: Level, event: string, fields: Record<string, unknown> = {}): void {
  if (!isLogged(level)) return
  if (process.stderr.writableLength > MOST_WAITING) {
    dropped++
    return
  }
  const before = dropped
  dropped = 0
  const line = {
    at: new Date().toISOString(),
    level,
    event,
    ...fields,
    ...(before && { dropped_lines: before }),
  }
  // A part of a dropped one may have been written.
  process.stderr.write(`${before ? '\n' : ''}${JSON.stringify(line)}\n`, (error) => {
    if (error) dropped += before + 1
  })
}

/** For what fails again and again while something is away: a line at first, and one in each so many milliseconds. */
export function rareLog(everyMs: number): typeof log {
  let next = Number.NEGATIVE_INFINITY
  return (...line) => {
    if (performance.now() < next) return
    next = performance.now() + everyMs
    log(...line)
  }
}

/** What is left of an error that a library spread into an object of its own. */
const isSaid = (error: unknown): error is { message: string } =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string'

/** What does not parse is quoted by V8, whosever text it is. */
const said = (error: Error): string => (error instanceof SyntaxError ? error.name : error.message)

const stackOf = ({ stack = '', message }: Error, shown: string): string => stack.replace(message, () => shown)

/** An error as log fields: message, code and the messages of its causes; the stack for unexpected ones. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: isSaid(error) ? error.message : String(error) }
  const causes: string[] = []
  let cause = error.cause
  while (cause instanceof Error && causes.length < 5) {
    causes.push(said(cause))
    cause = cause.cause
  }
  const code = (error as { code?: unknown }).code
  return {
    error: said(error),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(causes.length ? { causes } : {}),
    ...(error.name === 'Failure' ? {} : { stack: stackOf(error, said(error)) }),
  }
}
