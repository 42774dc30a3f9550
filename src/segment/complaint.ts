import { type Failure, fail } from '../errors.ts'
import { decimalOf } from '../event/exact.ts'
import { didYouMean } from '../model/nearest.ts'

const SHOWN = 80

/** A definition that is refused: the message begins with the failing path. */
export const refusal = (path: string, text: string): Failure => fail('bad_request', `${path}: ${text}`)

/** As `is required. Known: …`. */
export const missing = (path: string, known?: readonly string[]): Failure =>
  refusal(path, known ? `is required. Known: ${known.join(', ')}` : 'is required')

/**
 * As `"totl_spend" is not a field of customer_profile. Did you mean "total_spend"? Known: …`.
 * `suggested`: what may be meant, where that is not all that is known or more. `meant`: given as it is spelt here.
 */
export function unknownName(
  path: string,
  given: unknown,
  what: string,
  known: readonly string[],
  suggested: readonly string[] = known,
  meant = given,
): Failure {
  if (given === undefined) return missing(path, known)
  const hint = typeof meant === 'string' ? didYouMean(meant.slice(0, SHOWN), suggested) : ''
  return refusal(path, `${shown(given)} is not ${what}.${hint} Known: ${known.join(', ')}`)
}

/** What was given, short enough and safe to print whatever it is. */
export function shown(given: unknown): string {
  if (given === undefined) return 'nothing'
  if (given === null || typeof given === 'boolean' || typeof given === 'number') return String(given)
  if (typeof given === 'string')
    return JSON.stringify(given.length > SHOWN ? `${given.slice(0, SHOWN)}…` : given)
  if (!Array.isArray(given)) return decimalOf(given) ?? 'an object'
  return given.length > 0 ? 'a list' : 'an empty list'
}

/** The path of a member, quoted unless it is a plain name. */
export const member = (path: string, key: string): string =>
  /^[A-Za-z_]\w{0,63}$/.test(key) ? `${path}.${key}` : `${path}[${shown(key)}]`
