import { isUtf8 } from 'node:buffer'
import { fail } from '../errors.ts'

/** A parsed body and what the checks of its values need to know about its text. */
export interface Body {
  value: unknown
  /** The text has \u escapes: only then can a string hold NUL or a lone surrogate. */
  escaped: boolean
  /** The same value with every integer beyond 2^53 as JSON.rawJSON of its digits, as they were sent. */
  exact(): unknown
}

/** Parses a JSON body; 400 when it is empty, not UTF-8 or not JSON. */
export function parseBody(bytes: Buffer): Body {
  if (bytes.length === 0)
    throw fail('bad_request', 'The body is empty; send a JSON object with an events array.')
  if (!isUtf8(bytes)) throw fail('bad_request', 'The body is not valid UTF-8.')
  const text = bytes.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw fail('bad_request', `The body is not valid JSON: ${(cause as SyntaxError).message}.`, { cause })
  }
  return { value, escaped: text.includes('\\u'), exact: () => JSON.parse(text, exactInteger) }
}

/** Digits that a double may not hold: only then is the costlier exact reading needed. */
const LONG_NUMBER = /\d{16}/

/** Parses JSON with every integer beyond 2^53 as JSON.rawJSON of its digits. */
export const parseExactly = (text: string): unknown =>
  LONG_NUMBER.test(text) ? JSON.parse(text, exactInteger) : JSON.parse(text)

// What TypeScript does not know of yet: the reviver's third argument and raw JSON.
interface RawJson {
  rawJSON: string
}
const json = JSON as unknown as {
  rawJSON(text: string): RawJson
  isRawJSON(value: unknown): value is RawJson
}

function exactInteger(this: unknown, _key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' && !isExact(value) && context ? json.rawJSON(context.source) : value
}

/** False for an integer that a double may have changed. */
export const isExact = (value: number) => Number.isSafeInteger(value) || !Number.isInteger(value)

/** The digits of an integer beyond 2^53 of an exact value, undefined for anything else. */
export function digitsOf(value: unknown): string | undefined {
  if (!json.isRawJSON(value)) return undefined
  return /^-?\d+$/.test(value.rawJSON) ? value.rawJSON : String(BigInt(Number(value.rawJSON)))
}
