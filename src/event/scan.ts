import { isUtf8 } from 'node:buffer'
import { isPlain, isPlainEmail, isTypeName } from './plain.ts'
import { type Checked, MAX_AGE_MS, MAX_AHEAD_MS, MAX_EVENTS } from './shape.ts'
import { parseTime } from './time.ts'
import { MAX_DEPTH, MAX_NODES } from './walk.ts'

// Every reader below takes the bytes and a place in them and returns the place after what it read, or -1 for "not the
// usual form". The place is an argument because state of the module costs twice as much per byte.

const SPACE = 32
const QUOTE = 34
const COMMA = 44
const MINUS = 45
const POINT = 46
const ZERO = 48
const COLON = 58
const OPEN_ARRAY = 91
const BACKSLASH = 92
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** Bytes that may follow a backslash; \u is left to the slow form. */
const ESCAPES = Uint8Array.from({ length: 256 }, (_, byte) => Number('"\\/bfnrt'.includes(String.fromCharCode(byte))))
const LITERALS = ['true', 'false', 'null'].map((literal) => Buffer.from(literal))
const FORBIDDEN = Int32Array.from(['__proto__', 'constructor', 'prototype'], hashOf)

// Fields by number; first and last are where the current event has them, last is 0 when it has not.
const FIELDS = ['eventType', 'eventId', 'timeStamp', 'properties', 'profileId', 'anonymousId', 'email', 'phone', 'storeCustomerId']
const EVENT_TYPE = 0
const EVENT_ID = 1
const TIME_STAMP = 2
const PROPERTIES = 3
const FIRST_IDENTIFIER = 4
const EMAIL = 6
const PHONE = 7
const STORE_ID = 8
const LINE_NAMES = ['', '', '', '', 'profile_id', 'anonymous_id', 'email', 'phone', 'store_customer_id'].map((name) => `,"${name}":"`)
const FIELD_HASHES = Int32Array.from(FIELDS, hashOf)
const first = new Int32Array(FIELDS.length)
const last = new Int32Array(FIELDS.length)

let nodes = 0
let nameHash = 0
/** Hashes of the names of the objects that are open; an equal one in the same object may be a repeated name. */
const names = new Int32Array(64 * MAX_DEPTH)
let namesTop = 0
const idHashes = new Int32Array(MAX_EVENTS)

/**
 * Reads the same lines as checkEvents straight from the bytes, without building values, in about a third of its time.
 * It knows the usual form only and answers undefined for everything else: errors, but also \u escapes, exponents,
 * integers of over 15 digits, line breaks, names that may be repeated, identifiers to trim or beyond ASCII.
 */
export function scanEvents(body: Buffer, brandId: string, receivedAt: number): Checked | undefined {
  if (!isUtf8(body)) return undefined
  const text = body.toString('latin1')
  const start = `{"brand_id":"${brandId}","received_at":${receivedAt},"occurred_at":`
  let lines = ''
  let events = 0
  namesTop = 0
  let at = opening(body)
  if (at < 0) return undefined
  do {
    at = event(body, at)
    if (at < 0 || events === MAX_EVENTS || !isUsual(body) || repeatsId(events++)) return undefined
    const occurredAt = time(text, receivedAt)
    if (Number.isNaN(occurredAt)) return undefined
    lines += `${start}${occurredAt},"event_type":"${text.slice(first[EVENT_TYPE], last[EVENT_TYPE])}"${lineRest(text)}`
    at = spaces(body, at)
  } while (body[at++] === COMMA)
  at = body[at - 1] === CLOSE_ARRAY ? spaces(body, at) : -1
  if (body[at] !== CLOSE_OBJECT || spaces(body, at + 1) !== body.length) return undefined
  return { lines: Buffer.from(lines, 'latin1'), events, repeats: [] }
}
