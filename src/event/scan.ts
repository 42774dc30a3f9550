import { MAX_DEPTH, MAX_NODES } from './walk.ts'

// Readers of JSON in its usual form. Each takes the bytes and a place in them and returns the place after what it read,
// or -1 when it is not JSON or not usual. The place is an argument since a module's variable costs twice per byte.

/** The bytes of JSON. Read an exported name once, into a constant of the module: in a loop it costs twice the rest. */
export const BYTES = {
  space: 32,
  quote: 34,
  comma: 44,
  minus: 45,
  point: 46,
  zero: 48,
  colon: 58,
  openArray: 91,
  backslash: 92,
  closeArray: 93,
  openObject: 123,
  closeObject: 125,
} as const
const SPACE = BYTES.space
const QUOTE = BYTES.quote
const COMMA = BYTES.comma
const COLON = BYTES.colon
const BACKSLASH = BYTES.backslash
const CLOSE_OBJECT = BYTES.closeObject
const LEVELS = MAX_DEPTH
const NODES = MAX_NODES

/** Bytes that end the plain part of a string: the quote, the backslash and control characters, which JSON escapes. */
const ENDS = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte < SPACE || byte === QUOTE || byte === BACKSLASH),
)
/** Bytes that may follow a backslash; \u is not usual. */
const ESCAPES = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number('"\\/bfnrt'.includes(String.fromCharCode(byte))),
)
const LITERALS = ['true', 'false', 'null'].map((literal) => Buffer.from(literal))
const FORBIDDEN = hashes(['__proto__', 'constructor', 'prototype'])

/** A double holds so many digits, whatever they are. */
const MOST_DIGITS = 15

let nameHash = 0
let nodes = 0
/** More names than this in one object are not usual: each is compared with those before it. */
const MOST_NAMES = 64
/** Hashes of the names of the objects that are open. */
const names = new Int32Array(MOST_NAMES * LEVELS)
let namesTop = 0

/** Skips spaces. A line break is not usual: lines are cut out of the body as they are. */
export function spaces(bytes: Uint8Array, at: number): number {
  let next = at
  while (bytes[next] === SPACE) next++
  return next
}

/** A string without escapes, from after its opening quote; equal ones are equal bytes. */
export function name(bytes: Uint8Array, at: number): number {
  const end = bytes.length
  let hash = 0
  for (let next = at; next < end; next++) {
    const byte = bytes[next] as number
    if (ENDS[byte]) {
      nameHash = hash
      return byte === QUOTE ? next + 1 : -1
    }
    hash = (Math.imul(hash, 31) + byte) | 0
  }
  return -1
}

/** Hash of the name that was read last. */
export const hashOfName = () => nameHash

/** The object at a place, on a level of the body: at most MAX_DEPTH levels and MAX_NODES values. */
export function objectAt(bytes: Uint8Array, at: number, level: number): number {
  nodes = 1
  namesTop = 0
  return object(bytes, at, level)
}

function object(bytes: Uint8Array, at: number, level: number): number {
  if (level > LEVELS) return -1
  let next = spaces(bytes, at + 1)
  if (bytes[next] === CLOSE_OBJECT) return next + 1
  const base = namesTop
  for (;;) {
    if (bytes[next] !== QUOTE) return -1
    next = name(bytes, next + 1)
    if (next < 0 || !isNewName(base)) return -1
    next = spaces(bytes, next)
    if (bytes[next] !== COLON) return -1
    next = value(bytes, spaces(bytes, next + 1), level + 1)
    if (next < 0) return -1
    next = spaces(bytes, next)
    if (bytes[next] === CLOSE_OBJECT) break
    if (bytes[next] !== COMMA) return -1
    next = spaces(bytes, next + 1)
  }
  namesTop = base
  return next + 1
}

/** False for a forbidden name and for one whose hash its object had: it may be repeated, and JSON.parse keeps the last. */
function isNewName(base: number): boolean {
  if (namesTop - base === MOST_NAMES || placeOf(nameHash, FORBIDDEN) >= 0) return false
  for (let index = base; index < namesTop; index++) if (names[index] === nameHash) return false
  names[namesTop++] = nameHash
  return true
}

function array(bytes: Uint8Array, at: number, level: number): number {
  if (level > LEVELS) return -1
  let next = spaces(bytes, at + 1)
  if (bytes[next] === BYTES.closeArray) return next + 1
  for (;;) {
    next = value(bytes, next, level + 1)
    if (next < 0) return -1
    next = spaces(bytes, next)
    if (bytes[next] === BYTES.closeArray) return next + 1
    if (bytes[next] !== COMMA) return -1
    next = spaces(bytes, next + 1)
  }
}

function value(bytes: Uint8Array, at: number, level: number): number {
  if (++nodes > NODES) return -1
  const byte = bytes[at] as number
  if (byte === QUOTE) return string(bytes, at + 1)
  if (byte === BYTES.minus || isDigit(byte)) return number(bytes, at)
  if (byte === BYTES.openObject) return object(bytes, at, level)
  if (byte === BYTES.openArray) return array(bytes, at, level)
  return literal(bytes, at)
}

function string(bytes: Uint8Array, at: number): number {
  const end = bytes.length
  for (let next = at; next < end; next++) {
    const byte = bytes[next] as number
    if (!ENDS[byte]) continue
    if (byte === QUOTE) return next + 1
    if (byte !== BACKSLASH || !ESCAPES[bytes[++next] ?? 0]) return -1
  }
  return -1
}

/**
 * A number of at most 15 digits without exponent, which JSON.stringify would write with the same ones: neither -0 nor a
 * whole one with a fraction, since 632910392.0 is another id as text. Zeros at the end of a fraction say nothing.
 */
function number(bytes: Uint8Array, at: number): number {
  const digits = bytes[at] === BYTES.minus ? at + 1 : at
  let next = integer(bytes, digits)
  if (bytes[next] !== BYTES.point) return digits > at && bytes[digits] === BYTES.zero ? -1 : next
  let isWhole = true
  while (isDigit(bytes[++next])) if (bytes[next] !== BYTES.zero) isWhole = false
  return isWhole || next - digits > MOST_DIGITS + 1 ? -1 : next
}

/** Up to 15 digits. */
export function integer(bytes: Uint8Array, at: number): number {
  let next = at
  while (isDigit(bytes[next])) next++
  const digits = next - at
  return digits === 1 || (digits > 1 && digits <= MOST_DIGITS && bytes[at] !== BYTES.zero) ? next : -1
}

export const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 48 && byte <= 57

function literal(bytes: Uint8Array, at: number): number {
  for (const word of LITERALS) {
    let length = 0
    while (length < word.length && bytes[at + length] === word[length]) length++
    if (length === word.length) return at + length
  }
  return -1
}

/** Hashes of words as `name` counts them. */
export function hashes(words: readonly string[]): Int32Array {
  return Int32Array.from(words, (word) =>
    Buffer.from(word).reduce((hash, byte) => (Math.imul(hash, 31) + byte) | 0, 0),
  )
}

// A loop: on a few elements the methods of typed arrays cost several times as much.
export function placeOf(hash: number, among: Int32Array): number {
  for (let index = 0; index < among.length; index++) if (among[index] === hash) return index
  return -1
}
