import { isUtf8 } from 'node:buffer'
import { parseTime } from '../time.ts'
import { browserTime, type Shop } from './browser.ts'
import { EVENT_LEVEL, MAX_ID, MAX_NAME, MAX_TYPE, UPDATE } from './check.ts'
import { hasNumber, hasOneSign, isUnusualId } from './identifier.ts'
import type { Checked } from './line.ts'
import { begin, put, putByte, putNumber, written } from './line-buffer.ts'
import { isWord, openingOf } from './opening.ts'
import { BYTES, hashes, hashOfName, integer, isDigit, name, objectAt, placeOf, spaces } from './scan.ts'
import { FIELDS, MAX_AGE_MS, MAX_AHEAD_MS, MAX_EVENTS } from './shape.ts'
import { SERVICE_EVENT_TYPES } from './types.ts'

const SPACE = BYTES.space
const QUOTE = BYTES.quote
const COMMA = BYTES.comma
const COLON = BYTES.colon
const OPEN_OBJECT = BYTES.openObject
const CLOSE_OBJECT = BYTES.closeObject
const LINE_BREAK = 10
const UNDERSCORE = 95
// The fields of an event by number, in the order of FIELDS. Those of browsers have one more.
const READ = [...FIELDS, 'scope']
const EVENT_TYPE = 0
const EVENT_ID = 1
const TIME_STAMP = 2
const PROPERTIES = 3
const FIRST_IDENTIFIER = 4
const EMAIL = 6
const PHONE = 7
const STORE_ID = 8
const SCOPE = 9
const LINE_NAMES = [
  'event_type',
  'event_id',
  '',
  '',
  'profile_id',
  'anonymous_id',
  'email',
  'phone',
  'store_customer_id',
].map((name, field) => Buffer.from(field === PROPERTIES ? ',"properties":' : `,"${name}":"`))
/** More than a line needs beside its opening and what comes from the body. */
const LINE_EXTRA = 256
const NAMES = READ.map((field) => Buffer.from(field))
const HASHES = hashes(READ)
/** Types that have rules of their own. */
const UNUSUAL = hashes([UPDATE])
const UNUSUAL_OF_BROWSERS = hashes([UPDATE, ...SERVICE_EVENT_TYPES])

// Kinds of bytes, and per field the kinds that leave it to checkEvents and the most bytes.
const ODD = 1
const UPPER = 2
const BLANK = 4
const SIGN = 8
const DIGIT = 16
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => kindOf(byte))
const REFUSED = READ.map((_, field) =>
  field === EVENT_TYPE ? ODD | BLANK | SIGN : field === EMAIL ? ODD | UPPER | BLANK : ODD,
)
const IS_ID = READ.map((field) => ['profileId', 'anonymousId', 'storeCustomerId'].includes(field))
const LONGEST = READ.map((_, field) =>
  field === EVENT_TYPE ? MAX_TYPE : field === EVENT_ID ? MAX_ID : MAX_NAME,
)

function kindOf(byte: number): number {
  if (byte < SPACE || byte > 126 || byte === BYTES.backslash) return ODD
  if (byte === SPACE) return BLANK
  if (byte >= 65 && byte <= 90) return UPPER
  if (isDigit(byte)) return DIGIT
  return (byte >= 97 && byte <= 122) || byte === UNDERSCORE ? 0 : SIGN
}

// Where the current event has each field; an end of 0 means that it has not.
const starts = new Int32Array(READ.length)
const ends = new Int32Array(READ.length)
let typeHash = 0
let idHash = 0
const idHashes = new Int32Array(MAX_EVENTS)

/**
 * Reads the lines that checkEvents would, straight from the bytes and without building values, in half of its time.
 * It knows the usual form only and answers undefined for everything else: errors, but also \u escapes, exponents,
 * numbers of over 15 digits, whole ones with a fraction, line breaks, names that may be repeated, identifiers to trim or
 * beyond ASCII, what is no id.
 */
export function quickEvents(body: Buffer, brandId: string, receivedAt: number): Checked | undefined {
  return read(body, `{"brand_id":"${brandId}","received_at":${receivedAt},"occurred_at":`, receivedAt)
}

/** As quickEvents, for checkBrowserEvents: `source`, with nothing but its scope, comes before the events. */
export function quickBrowserEvents(body: Buffer, shop: Shop, receivedAt: number): Checked | undefined {
  const opening = `{"brand_id":"${shop.brandId}","origin":"browser","received_at":${receivedAt},"occurred_at":`
  return read(body, opening, receivedAt, Buffer.from(`"${shop.scope}"`))
}

/** `scope`: the text, in quotes, that every scope of a browser's body has to be; undefined for a server's. */
function read(body: Buffer, lineOpening: string, receivedAt: number, scope?: Buffer): Checked | undefined {
  if (!isUtf8(body)) return undefined
  const opening = Buffer.from(lineOpening)
  begin(body.length + MAX_EVENTS * (opening.length + LINE_EXTRA))
  let events = 0
  let at = openingOf(body, scope)
  if (at < 0) return undefined
  for (;;) {
    at = event(body, at)
    if (at < 0 || events === MAX_EVENTS || !isWhole(body, scope) || repeatsId(events)) return undefined
    const occurredAt = time(body, receivedAt, scope === undefined)
    if (Number.isNaN(occurredAt)) return undefined
    put(opening, 0, opening.length)
    putNumber(occurredAt)
    putFields(body)
    events++
    at = spaces(body, at)
    if (body[at] === BYTES.closeArray) break
    if (body[at] !== COMMA) return undefined
    at = spaces(body, at + 1)
  }
  at = spaces(body, at + 1)
  if (body[at] !== CLOSE_OBJECT || spaces(body, at + 1) !== body.length) return undefined
  return { lines: written(), events, repeats: [] }
}

function putFields(body: Buffer): void {
  for (let field = 0; field < LINE_NAMES.length; field++) {
    if (!ends[field] || field === TIME_STAMP || field === PROPERTIES) continue
    const before = LINE_NAMES[field] as Buffer
    put(before, 0, before.length)
    put(body, starts[field] as number, ends[field] as number)
    putByte(QUOTE)
  }
  const before = LINE_NAMES[PROPERTIES] as Buffer
  put(before, 0, before.length)
  put(body, starts[PROPERTIES] as number, ends[PROPERTIES] as number)
  putByte(CLOSE_OBJECT)
  putByte(LINE_BREAK)
}

/** Reads one event and notes where its fields are. */
function event(body: Uint8Array, at: number): number {
  for (let field = 0; field < ends.length; field++) ends[field] = 0
  if (body[at] !== OPEN_OBJECT) return -1
  let next = spaces(body, at + 1)
  for (;;) {
    if (body[next] !== QUOTE) return -1
    const start = next + 1
    next = name(body, start)
    if (next < 0) return -1
    const field = placeOf(hashOfName(), HASHES)
    const word = NAMES[field]
    // A repeated field has an end already.
    if (!word || ends[field] || next - 1 - start !== word.length || !isWord(body, start, word)) return -1
    next = spaces(body, next)
    if (body[next] !== COLON) return -1
    next = fieldValue(body, spaces(body, next + 1), field)
    if (next < 0) return -1
    next = spaces(body, next)
    if (body[next] === CLOSE_OBJECT) return next + 1
    if (body[next] !== COMMA) return -1
    next = spaces(body, next + 1)
  }
}

function fieldValue(body: Uint8Array, at: number, field: number): number {
  if (field === PROPERTIES) {
    if (body[at] !== OPEN_OBJECT) return -1
    starts[field] = at
    ends[field] = objectAt(body, at, EVENT_LEVEL + 1)
    return ends[field] as number
  }
  if (body[at] === QUOTE) return text(body, at + 1, field)
  if (field !== STORE_ID) return -1
  starts[field] = at
  ends[field] = integer(body, at)
  return body[at] === BYTES.zero ? -1 : (ends[field] as number)
}

/** A text field of printable ASCII: its bytes are its characters, and nothing of it is trimmed, lowered or escaped. */
function text(body: Uint8Array, at: number, field: number): number {
  const end = body.length
  let seen = 0
  let hash = 0
  let next = at
  for (; next < end; next++) {
    const byte = body[next] as number
    if (byte === QUOTE) break
    seen |= KINDS[byte] as number
    hash = (Math.imul(hash, 31) + byte) | 0
  }
  const length = next - at
  if (next === end || length < 1 || length > (LONGEST[field] as number)) return -1
  if (seen & (REFUSED[field] as number)) return -1
  if (seen & BLANK && (body[at] === SPACE || body[next - 1] === SPACE)) return -1
  if (field === EVENT_ID) idHash = hash
  if (field === EVENT_TYPE) typeHash = hash
  if (field === EVENT_TYPE && (isDigit(body[at]) || body[at] === UNDERSCORE)) return -1
  if (field === PHONE && !(seen & DIGIT)) return -1
  if (IS_ID[field] && isUnusualId(body, at, next, (seen & DIGIT) > 0)) return -1
  if (field === EMAIL && !hasOneSign(body, at, next)) return -1
  starts[field] = at
  ends[field] = next
  return next + 1
}

/** Whether the current event has a usual type, properties and, of a server, somebody it is about; else the scope. */
function isWhole(body: Uint8Array, scope: Buffer | undefined): boolean {
  if (!ends[EVENT_TYPE] || !ends[PROPERTIES]) return false
  if (placeOf(typeHash, scope ? UNUSUAL_OF_BROWSERS : UNUSUAL) >= 0) return false
  if (scope) {
    const start = (starts[SCOPE] as number) - 1
    return ends[SCOPE] === start + scope.length - 1 && isWord(body, start, scope)
  }
  if (ends[SCOPE]) return false
  for (let field = FIRST_IDENTIFIER; field < FIELDS.length; field++)
    if (ends[field] && field !== PHONE) return true
  return hasNumber(body, starts[PHONE] as number, ends[PHONE] as number)
}

/** True when an earlier event has an id of the same hash: the same id, or one that only checkEvents can tell from it. */
function repeatsId(events: number): boolean {
  if (!ends[EVENT_ID]) idHash = 0
  else for (let index = 0; index < events; index++) if (idHashes[index] === idHash) return true
  idHashes[events] = idHash
  return false
}

/** When the current event occurred, NaN when something is wrong with the time that a server sent. */
function time(body: Uint8Array, receivedAt: number, ofServer: boolean): number {
  if (!ends[TIME_STAMP]) return receivedAt
  const sent = parseTime(body, starts[TIME_STAMP], ends[TIME_STAMP])
  if (!ofServer) return browserTime(sent, receivedAt)
  return sent <= receivedAt + MAX_AHEAD_MS && sent >= receivedAt - MAX_AGE_MS
    ? Math.min(sent, receivedAt)
    : Number.NaN
}
