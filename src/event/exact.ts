import { randomUUID } from 'node:crypto'
import { writtenOut } from './written-out.ts'

/** JSON in which integers beyond 2^53, and other numbers with more digits than a double holds, keep their digits. */

// The lake keeps those of integers only: DuckDB reads and writes the decimals of JSON as doubles.

// What TypeScript does not know of yet: raw JSON.
interface RawJson {
  rawJSON: string
}
const json = JSON as unknown as {
  rawJSON(text: string): RawJson
  isRawJSON(value: unknown): value is RawJson
}

/** From here on a double has no room for two decimals. */
const NO_CENTS = 1e13

/** False for a number that a double may have changed: an integer, or an amount of money. */
export const isExact = (value: number) =>
  Number.isSafeInteger(value) || (!Number.isInteger(value) && Math.abs(value) < NO_CENTS)

/** The decimal text of a number of an exact value that kept its digits, undefined for anything else. */
export const decimalOf = (value: unknown): string | undefined =>
  json.isRawJSON(value) ? writtenOut(value.rawJSON) : undefined

/** As decimalOf, of integers only. */
export function digitsOf(value: unknown): string | undefined {
  const decimal = decimalOf(value)
  return decimal?.includes('.') ? undefined : decimal
}

/** A number of an exact value, undefined for anything else. Integers compare by `<` and `>` with every digit. */
export function numberOf(value: unknown): number | bigint | undefined {
  if (typeof value === 'number') return value
  if (!json.isRawJSON(value)) return undefined
  const digits = digitsOf(value)
  return digits === undefined ? Number(value.rawJSON) : BigInt(digits)
}

export const isInteger = (number: number | bigint) => typeof number === 'bigint' || Number.isInteger(number)

/** An object of an exact value: no list, and none of such numbers. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !json.isRawJSON(value)

/** Begins the texts that stand for such numbers while the rest is parsed: nobody knows it. */
const MARK = randomUUID()

/** Parses JSON with every such number as JSON.rawJSON of its digits. A reviver would take ten times as long. */
export const parseExactly = (text: string): unknown => parsed(text, json.rawJSON)

/** The same with the decimal text of such a number in its place, where ids and amounts may be numbers or texts. */
export const parseWithTexts = (text: string): unknown => parsed(text, writtenOut)

type Kept = (digits: string) => RawJson | string

function parsed(text: string, kept: Kept): unknown {
  const marked = withMarks(text)
  const root = { value: JSON.parse(marked) as unknown }
  if (marked !== text) unmark(root, kept)
  return root.value
}

/** Digits that a double may not hold. */
const LONG_NUMBER = /\d[\d.]{15}/

/** Whether text may have such a number that is written out: only then is the costlier exact reading needed. */
export const mayBeLong = (text: string): boolean => LONG_NUMBER.test(text)

/** As parseExactly, of text that writes numbers out. */
export const parseStored = (text: string): unknown =>
  mayBeLong(text) ? parseExactly(text) : JSON.parse(text)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/** The text with each such number in the form of a marked string. What is no JSON stays none. */
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
      if (!isHeld(token) && NUMBER.test(token)) {
        marked += `${text.slice(done, start)}"${MARK}${token}"`
        done = at + 1
      }
    }
  }
  return done === 0 ? text : marked + text.slice(done)
}

/** Every double holds so many characters of a number. */
const HELD = 15

/** Whether a double has the value of a number that is written so. Integers beyond 2^53 never count as held. */
function isHeld(token: string): boolean {
  const number = Number(token)
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) return false
  if (token.length <= HELD || number === 0 || !Number.isFinite(number)) return true
  const printed = String(number)
  if (token === printed) return true
  if (WRITTEN_OUT.test(token) && WRITTEN_OUT.test(printed)) return false
  return writtenOut(token) === writtenOut(printed)
}

/** As writtenOut has it: of a megabyte of long numbers 90 ms instead of 130. */
const WRITTEN_OUT = /^-?(0|[1-9]\d*)\.\d*[1-9]$/

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

/** Replaces marked strings, without recursion: JSON may be nested as deep as its sender likes. */
function unmark(root: object, kept: Kept): void {
  const waiting: object[] = [root]
  const inPlaceOf = (value: unknown): ReturnType<Kept> | undefined => {
    if (typeof value === 'object' && value !== null) waiting.push(value)
    return typeof value === 'string' && value.startsWith(MARK) ? kept(value.slice(MARK.length)) : undefined
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
