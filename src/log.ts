/** One JSON object per line on stderr. Personal data and secrets never belong in a field. */
export const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]

let threshold = LEVELS.indexOf('info')

export function setLogLevel(level: Level): void {
  threshold = LEVELS.indexOf(level)
}

/** False for lines that would not be written, where making one costs. */
export const isLogged = (level: Level) => LEVELS.indexOf(level) >= threshold

export function log(level: Level, event: string, fields: Record<string, unknown> = {}): void {
  if (!isLogged(level)) return
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`)
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
