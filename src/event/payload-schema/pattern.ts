import { RE2JS, RE2JSException } from 're2js'
import { translate } from './translate.ts'

/** A pattern that never backtracks: matching takes text × size steps at most. */
export interface Pattern {
  size: number
  test(text: string): boolean
}

/** Of one pattern, and of all of one schema: 0.1 ms to build for each 100. */
export const MAX_SIZE = 500
export const MAX_SIZES = 2_000

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
    const pattern = { size: engine.programSize(), test: (text: string) => engine.test(text) }
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(text, pattern)
    return pattern
  } catch (error) {
    if (error instanceof RE2JSException) return { problem: 'must be a regular expression' }
    throw error
  }
}
