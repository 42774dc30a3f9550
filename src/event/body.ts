import { isUtf8 } from 'node:buffer'
import { fail } from '../errors.ts'
import { parseExactly } from './exact.ts'

/** A parsed body and what the checks of its values need to know about its text. */
export interface Body {
  value: unknown
  /** The text has \u escapes: only then can a string hold NUL or a lone surrogate. */
  escaped: boolean
  /** The same value with every number that a double would change as JSON.rawJSON of its digits, as they were sent. */
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
  return { value, escaped: text.includes('\\u'), exact: () => parseExactly(text) }
}
