import { randomUUID } from 'node:crypto'

/** JSON in which integers beyond 2^53 keep their digits. */

// What TypeScript does not know of yet: raw JSON.
interface RawJson {
  rawJSON: string
}
const json = JSON as unknown as {
  rawJSON(text: string): RawJson
  isRawJSON(value: unknown): value is RawJson
}

/** False for an integer that a double may have changed. */
export const isExact = (value: number) => Number.isSafeInteger(value) || !Number.isInteger(value)

/** The digits of an integer beyond 2^53 of an exact value, undefined for anything else. */
export function digitsOf(value: unknown): string | undefined {
  if (!json.isRawJSON(value)) return undefined
  return isDigits(value.rawJSON) ? value.rawJSON : String(BigInt(Number(value.rawJSON)))
}

/** Not `1e20` or `9007199254740993.0`. */
const isDigits = (text: string) => /^-?\d+$/.test(text)

/** A number of an exact value, undefined for anything else. Both kinds compare by `<` and `>` with every digit. */
export function numberOf(value: unknown): number | bigint | undefined {
  if (typeof value === 'number') return value
  if (!json.isRawJSON(value)) return undefined
  return BigInt(isDigits(value.rawJSON) ? value.rawJSON : Number(value.rawJSON))
}

export const isInteger = (number: number | bigint) => typeof number === 'bigint' || Number.isInteger(number)

/** An object of an exact value: no list, and none of such integers. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !json.isRawJSON(value)

/** Begins the texts that stand for such integers while the rest is parsed: nobody knows it. */
const MARK = randomUUID()

/** Parses JSON with every integer beyond 2^53 as JSON.rawJSON of its digits. A reviver would take ten times as long. */
export function parseExactly(text: string): unknown {
  const marked = withMarks(text)
  const root = { value: JSON.parse(marked) as unknown }
  if (marked !== text) unmark(root)
  return root.value
}

/** Digits that a double may not hold. */
const LONG_NUMBER = /\d{16}/

/** Whether text may have an integer beyond 2^53 that is written out: only then is the costlier exact reading needed. */
export const mayBeLong = (text: string): boolean => LONG_NUMBER.test(text)

/** As parseExactly, of text that writes integers out. */
export const parseStored = (text: string): unknown =>
  mayBeLong(text) ? parseExactly(text) : JSON.parse(text)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/** The text with each such integer in the form of a marked string. What is no JSON stays none. */
function withMarks(text: string): string {
  let marked = ''
  let done = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (isDigit(code)) {
      const start = text[at - 1] === '-' ? at - 1 : at
      while (isOfNumber(text.charCodeAt(at + 1))) at++
      const token = text.slice(start, at + 1)
      if (!isExact(Number(token)) && NUMBER.test(token)) {
        marked += `${text.slice(done, start)}"${MARK}${token}"`
        done = at + 1
      }
    }
  }
  return done === 0 ? text : marked + text.slice(done)
}

/** Where the string ends that begins there. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === QUOTE) return at
  }
  return text.length
}

const isDigit = (code: number) => code >= 0x30 && code <= 0x39

/** Digits, `.`, `e`, `E`, `+` and `-`. */
const isOfNumber = (code: number) =>
  isDigit(code) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === 0x2d

/** Puts raw JSON in place of marked strings, without recursion: JSON may be nested as deep as its sender likes. */
function unmark(root: object): void {
  const waiting: object[] = [root]
  const inPlaceOf = (value: unknown): RawJson | undefined => {
    if (typeof value === 'object' && value !== null) waiting.push(value)
    return typeof value === 'string' && value.startsWith(MARK)
      ? json.rawJSON(value.slice(MARK.length))
      : undefined
  }
  for (let container = waiting.pop(); container; container = waiting.pop()) {
    if (Array.isArray(container)) {
      for (let index = 0; index < container.length; index++) {
        const value = inPlaceOf(container[index])
        if (value) container[index] = value
      }
      continue
    }
    for (const [key, found] of Object.entries(container)) {
      const value = inPlaceOf(found)
      // Assigned, a key called __proto__ would be another thing.
      if (value) Object.defineProperty(container, key, { value, ...PLAIN })
    }
  }
}

const PLAIN = { configurable: true, enumerable: true, writable: true }
