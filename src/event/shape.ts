import { fail } from '../errors.ts'
import { DAY_MS, parseTime } from '../time.ts'
import { parseBody } from './body.ts'
import {
  checkIdentifiers,
  checkNamesSomebody,
  checkProperties,
  checkType,
  hasInexactId,
  isGiven,
  Problems,
} from './check.ts'
import { isObject } from './exact.ts'
import { type Checked, linesOf } from './line.ts'
import { checkSetOnce } from './set-once.ts'
import { type Report, shown, step } from './walk.ts'

export { EVENT_LEVEL, MAX_ID, MAX_NAME, MAX_TYPE } from './check.ts'
export type { Checked, EventLine } from './line.ts'

export const MAX_EVENTS = 50
export const MAX_AHEAD_MS = DAY_MS
export const MAX_AGE_MS = 1_095 * DAY_MS

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
  const time = (timeStamp: unknown) => timeOf(timeStamp as string)
  return linesOf(inexact ? eventsOf(body.exact()) : sent, { brandId, receivedAt, time })
}

function eventsOf(body: unknown): unknown[] {
  if (!isObject(body)) {
    throw fail('bad_request', 'The body must be a JSON object with an events array.')
  }
  const { events } = body
  if (!Array.isArray(events)) throw fail('bad_request', 'events: must be an array of events.')
  const unknown = Object.keys(body).find((name) => name !== 'events')
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
  if (!isObject(event)) {
    report(path, 'must be an object')
    return false
  }
  const sent = event
  for (const key of Object.keys(sent)) {
    if (TENANCY.includes(key))
      report(`${path}.${key}`, 'must not be sent: the API key decides whose event it is')
    else if (!FIELDS.includes(key)) report(path + step(key), KNOWN)
  }
  checkType(sent, path, report)
  if (isGiven(sent.timeStamp))
    checkTime(sent.timeStamp, receivedAt, (message) => report(`${path}.timeStamp`, message))
  checkIdentifiers(sent, path, report)
  checkNamesSomebody(sent, path, report)
  checkSetOnce(sent, path, report)
  const inexact = checkProperties(sent, path, escaped, report)
  return inexact || hasInexactId(sent)
}

export const timeOf = (text: string) => parseTime(Buffer.from(text))

function checkTime(value: unknown, receivedAt: number, refuse: (message: string) => void): void {
  const time = typeof value === 'string' ? timeOf(value) : Number.NaN
  if (Number.isNaN(time)) refuse('must be an ISO 8601 time such as 2026-11-30T08:15:00Z')
  else if (time > receivedAt + MAX_AHEAD_MS) refuse('must not be more than 24 hours ahead')
  else if (time < receivedAt - MAX_AGE_MS) refuse('must not be older than 1,095 days')
}
