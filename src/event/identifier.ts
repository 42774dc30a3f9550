import { LEAST_DIGITS } from './check.ts'
import { LONGEST_NO_ID, LONGEST_NO_ID_OF_DIGITS, NO_IDS } from './id.ts'
import { isWord } from './opening.ts'
import { isDigit, placeOf } from './scan.ts'

// What quickEvents asks of the bytes of an identifier.

const AT_SIGN = 64
const GLOBAL = Buffer.from('gid://')
const WORDS = Int32Array.from(NO_IDS, (word) => lowerHash(Buffer.from(word), 0, word.length))

/** Whether an id has another form than those that are kept as they are, or the hash of one that has. */
export function isUnusualId(body: Uint8Array, start: number, end: number, hasDigit: boolean): boolean {
  if (isWord(body, start, GLOBAL)) return true
  if (end - start > (hasDigit ? LONGEST_NO_ID_OF_DIGITS : LONGEST_NO_ID)) return false
  return placeOf(lowerHash(body, start, end), WORDS) >= 0
}

/** The same for letters of either case. */
function lowerHash(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0
  for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + ((bytes[at] as number) | 32)) | 0
  return hash
}

/** One @ that is not at an end. */
export function hasOneSign(body: Uint8Array, start: number, end: number): boolean {
  let signs = 0
  for (let at = start; at < end; at++) if (body[at] === AT_SIGN) signs++
  return signs === 1 && body[start] !== AT_SIGN && body[end - 1] !== AT_SIGN
}

/** Enough digits for a phone number. */
export function hasNumber(body: Uint8Array, start: number, end: number): boolean {
  let digits = 0
  for (let at = start; at < end; at++) if (isDigit(body[at])) digits++
  return digits >= LEAST_DIGITS
}
