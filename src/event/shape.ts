import { fail } from '../errors.ts'
import { digitsOf, isExact, parseBody } from './body.ts'
import { parseTime } from './time.ts'
import { type Report, shown, step, walk } from './walk.ts'

export const MAX_EVENTS = 50
export const MAX_AHEAD_MS = 24 * 3_600_000
export const MAX_AGE_MS = 1_095 * 24 * 3_600_000
/** Longest eventType, eventId and identifier, in characters. */
export const MAX_TYPE = 64
export const MAX_ID = 128
export const MAX_NAME = 256
const MAX_PROBLEMS = 100
/** The level of an event in its body: object, array, event. */
export const EVENT_LEVEL = 3

/** The lines of one request, ready for a record batch. */
export interface Checked {
  /** NDJSON in UTF-8, one line per event. */
  lines: Buffer
  events: number
  /** Indexes of events that repeat the eventId of an earlier one of the request; they have no line. */
  repeats: number[]
}

/** One line of a record batch: what the snapshot reads. Times in milliseconds since 1970; absent fields are left out. */
export interface EventLine {
  brand_id: string
  received_at: number
  /** The earlier of the sent time and receipt. */
  occurred_at: number
  event_type: string
  event_id?: string
  profile_id?: string
  anonymous_id?: string
  email?: string
  phone?: string
  store_customer_id?: string
  /**
   * 'browser': came through /cdp/ingest, whose Origin anyone can forge, so its identifiers may attach a visitor and
   * nothing more. Absent: sent with a credential or recorded by the service.
   */
  origin?: 'browser'
  properties: object
}

type Sent = Record<string, unknown>

export const FIELDS = [
  'eventType',
  'eventId',
  'timeStamp',
  'properties',
  'profileId',
  'anonymousId',
  'email',
  'phone',
  'storeCustomerId',
]
const KNOWN = `is not a field of an event; known are ${FIELDS.join(', ')}`
const TENANCY = ['scope', 'shopDomain', 'source']
const EVENT_TYPE = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const CONTROL = /[\0-\x1f\x7f]/

/**
 * Checks the body of POST /cdp/events, all of it or nothing: every problem of every event is in `rejected` of the 400.
 * Slow and complete: quickEvents reads most bodies first.
 */
export function checkEvents(bytes: Buffer, brandId: string, receivedAt: number): Checked {
  const body = parseBody(bytes)
  const sent = eventsOf(body.value)
  const problems = new Problems()
  let inexact = false
  for (const [index, event] of sent.entries()) {
    if (checkEvent(event, index, receivedAt, body.escaped, problems.of(index))) inexact = true
  }
  problems.refuse(sent.length)
  return lines(inexact ? eventsOf(body.exact()) : sent, brandId, receivedAt)
}

function eventsOf(body: unknown): unknown[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw fail('bad_request', 'The body must be a JSON object with an events array.')
  }
  const { events, ...others } = body as { events?: unknown }
  if (!Array.isArray(events)) throw fail('bad_request', 'events: must be an array of events.')
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw fail('bad_request', `${shown(unknown)}: is not a field of this request; it has only events.`)
  if (events.length === 0) throw fail('bad_request', 'events: must hold at least one event.')
  if (events.length > MAX_EVENTS) {
    throw fail('bad_request', `events: must hold at most ${MAX_EVENTS} events, got ${events.length}.`)
  }
  return events
}

/** True when the event holds an integer beyond 2^53. */
function checkEvent(
  event: unknown,
  index: number,
  receivedAt: number,
  escaped: boolean,
  report: Report,
): boolean {
  const path = `events[${index}]`
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    report(path, 'must be an object')
    return false
  }
  const sent = event as Sent
  const at = (field: string) => `${path}.${field}`
  for (const key of Object.keys(sent)) {
    if (TENANCY.includes(key)) report(at(key), 'must not be sent: the API key decides whose event it is')
    else if (!FIELDS.includes(key)) report(path + step(key), KNOWN)
  }
  if (typeof sent.eventType !== 'string' || !EVENT_TYPE.test(sent.eventType)) {
    report(
      at('eventType'),
      'must be a letter followed by letters, digits or underscores, at most 64 characters',
    )
  }
  if (isGiven(sent.eventId)) checkName(sent.eventId, MAX_ID, (message) => report(at('eventId'), message))
  if (isGiven(sent.timeStamp))
    checkTime(sent.timeStamp, receivedAt, (message) => report(at('timeStamp'), message))
  checkIdentifiers(sent, path, report)

  const properties = sent.properties
  const isObject = typeof properties === 'object' && properties !== null && !Array.isArray(properties)
  if (!isObject) report(at('properties'), 'must be an object')
  const inexact = isObject && walk(properties, at('properties'), EVENT_LEVEL + 1, escaped, report)
  return inexact || (typeof sent.storeCustomerId === 'number' && !isExact(sent.storeCustomerId))
}

const isGiven = (value: unknown) => value !== undefined && value !== null

function checkIdentifiers(sent: Sent, path: string, report: Report): void {
  let given = 0
  for (const field of ['profileId', 'anonymousId', 'email', 'phone', 'storeCustomerId']) {
    let value = sent[field]
    if (!isGiven(value)) continue
    given++
    const refuse = (message: string) => report(`${path}.${field}`, message)
    if (field === 'storeCustomerId' && typeof value === 'number') {
      if (!Number.isInteger(value) || Math.abs(value) > 1e20)
        refuse('must be a string or an integer of at most 20 digits')
      continue
    }
    if (typeof value === 'string') value = value.trim()
    if (!checkName(value, MAX_NAME, refuse)) continue
    if (field === 'email' && !/^[^\s@]+@[^\s@]+$/.test(value as string)) refuse('must be an email address')
    if (field === 'phone' && !/\d/.test(value as string)) refuse('must be a phone number')
  }
  if (given === 0) {
    report(path, 'must say who it is about: profileId, anonymousId, email, phone or storeCustomerId')
  }
}

function checkName(value: unknown, longest: number, refuse: (message: string) => void): boolean {
  const problem =
    typeof value !== 'string'
      ? 'must be a string'
      : value === ''
        ? 'must not be empty'
        : value.length > longest && [...value].length > longest
          ? `must be at most ${longest} characters`
          : CONTROL.test(value) || !value.isWellFormed()
            ? 'must not hold control characters or half of a surrogate pair'
            : null
  if (problem) refuse(problem)
  return !problem
}

const timeOf = (text: string) => parseTime(Buffer.from(text))

function checkTime(value: unknown, receivedAt: number, refuse: (message: string) => void): void {
  const time = typeof value === 'string' ? timeOf(value) : Number.NaN
  if (Number.isNaN(time)) refuse('must be an ISO 8601 time such as 2026-11-30T08:15:00Z')
  else if (time > receivedAt + MAX_AHEAD_MS) refuse('must not be more than 24 hours ahead')
  else if (time < receivedAt - MAX_AGE_MS) refuse('must not be older than 1,095 days')
}

/** Collects problems and refuses the request when there are any. */
class Problems {
  readonly #rejected: { index: number; path: string; message: string }[] = []
  readonly #events = new Set<number>()

  of(index: number): Report {
    return (path, message) => {
      this.#events.add(index)
      if (this.#rejected.length < MAX_PROBLEMS) this.#rejected.push({ index, path, message })
    }
  }

  refuse(events: number): void {
    const [first] = this.#rejected
    if (!first) return
    const message = `${this.#events.size} of ${events} events are not valid, so none was accepted. ${first.path}: ${first.message}.`
    throw fail('bad_request', message, { beside: { rejected: this.#rejected } })
  }
}

function lines(events: unknown[], brandId: string, receivedAt: number): Checked {
  const seen = new Set<string>()
  const repeats: number[] = []
  let text = ''
  for (const [index, event] of (events as Sent[]).entries()) {
    const id = (event.eventId ?? undefined) as string | undefined
    if (id !== undefined && seen.size === seen.add(id).size) repeats.push(index)
    else text += `${JSON.stringify(lineOf(event, id, brandId, receivedAt))}\n`
  }
  return { lines: Buffer.from(text), events: events.length - repeats.length, repeats }
}

function lineOf(event: Sent, id: string | undefined, brandId: string, receivedAt: number): EventLine {
  const text = (value: unknown) => (isGiven(value) ? (digitsOf(value) ?? String(value)).trim() : undefined)
  return {
    brand_id: brandId,
    received_at: receivedAt,
    occurred_at: isGiven(event.timeStamp)
      ? Math.min(timeOf(event.timeStamp as string), receivedAt)
      : receivedAt,
    event_type: event.eventType as string,
    event_id: id,
    profile_id: text(event.profileId),
    anonymous_id: text(event.anonymousId),
    email: text(event.email)?.toLowerCase(),
    phone: text(event.phone),
    store_customer_id: text(event.storeCustomerId),
    properties: event.properties as object,
  }
}
