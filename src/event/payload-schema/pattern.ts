import { RE2JS, RE2JSException } from 're2js'
import { translate } from './translate.ts'

/** A pattern that never backtracks. */
export interface Pattern {
  /** Work for each character at most: of the whole pattern, unless it can read every text in one way only. */
  steps: number
  test(text: string): boolean
}

/** Of one pattern, and of all of one schema: 0.1 ms to build for each 100. */
const MAX_SIZE = 500
export const MAX_SIZES = 2_000

const ONE_WAY = 2

const kept = new Map<string, Pattern>()
const MOST_KEPT = 500

/** The pattern of a schema, or what is wrong with it, in words that follow its path. */
export function patternOf(text: string): Pattern | { problem: string } {
  const known = kept.get(text)
  if (known) return known
  const translated = translate(text)
  if ('problem' in translated) return translated
  const { source, size } = translated
  if (size > MAX_SIZE) return { problem: 'is too large a pattern: repeat less' }
  try {
    const engine = RE2JS.compile(source)
    const steps = engine.re2().onepass ? ONE_WAY : engine.programSize()
    const pattern = { steps, test: (text: string) => engine.test(text) }
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(text, pattern)
    return pattern
  } catch (error) {
    if (error instanceof RE2JSException) return { problem: 'must be a regular expression' }
    throw error
  }
}
