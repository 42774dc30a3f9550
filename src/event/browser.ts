import { fail } from '../errors.ts'
import { DAY_MS } from '../time.ts'
import { parseBody } from './body.ts'
import {
  checkIdentifiers,
  checkProperties,
  checkType,
  EVENT_LEVEL,
  hasInexactId,
  isGiven,
  Problems,
  type Sent,
} from './check.ts'
import { isObject } from './exact.ts'
import { type Checked, type LineForm, linesOf } from './line.ts'
import { FIELDS, timeOf } from './shape.ts'
import { SERVICE_EVENT_TYPES } from './types.ts'
import { type Report, walk } from './walk.ts'

/** Browser clocks are off by minutes or years: a time further back than this is one of those. */
const MAX_LATE_MS = DAY_MS

/** What a valid event takes at least. */
const LEAST_BYTES = '{"scope":"","eventType":"e","properties":{}}'.length

/** Whose page sent a body of POST /cdp/ingest. */
export interface Shop {
  brandId: string
  /** What every scope of the body has to be: the shop's domain on the store platform. */
  scope: string
}

/**
 * Checks the body of POST /cdp/ingest, all of it or nothing: 403 when a scope is another shop's, else 400 with every
 * problem in `rejected`. What it does not know beside the contract's fields it ignores: pixels of others send more.
 * Slow and complete: quickBrowserEvents reads most bodies first.
 */
export function checkBrowserEvents(bytes: Buffer, shop: Shop, receivedAt: number): Checked {
  const body = parseBody(bytes)
  const sent = eventsOf(body.value, shop)
  const problems = new Problems()
  let inexact = false
  // Of more than fit into the body when they are valid some of these are not: anyone can send tens of thousands.
  const looked = sent.slice(0, Math.floor(bytes.length / LEAST_BYTES) + 1)
  for (const [index, event] of looked.entries()) {
    if (checkEvent(event, `events[${index}]`, body.escaped, problems.of(index))) inexact = true
  }
  checkRest(body.value as Sent, body.escaped)
  problems.refuse(sent.length)
  return linesOf(inexact ? (body.exact() as { events: unknown[] }).events : sent, formOf(shop, receivedAt))
}

const formOf = ({ brandId }: Shop, receivedAt: number): LineForm => ({
  brandId,
  receivedAt,
  origin: 'browser',
  time: (timeStamp) =>
    browserTime(typeof timeStamp === 'string' ? timeOf(timeStamp) : Number.NaN, receivedAt),
})

/** When an event occurred by a browser's clock, or receipt when that clock cannot be right. */
export const browserTime = (time: number, receivedAt: number) =>
  time <= receivedAt && time >= receivedAt - MAX_LATE_MS ? time : receivedAt

function eventsOf(body: unknown, { scope }: Shop): unknown[] {
  if (!isObject(body)) {
    throw fail('bad_request', 'The body must be a JSON object with source and an events array.')
  }
  const { source, events } = body
  if (!Array.isArray(events)) throw fail('bad_request', 'events: must be an array of events.')
  if (!isObject(source)) throw fail('bad_request', 'source: must be an object with the scope of the shop.')
  if (typeof source.scope !== 'string') {
    throw fail('bad_request', 'source.scope: must be the domain of the shop on the store platform.')
  }
  for (const [path, found] of scopesOf(source, events)) {
    if (typeof found === 'string' && found !== scope)
      throw fail(
        'insufficient_scope',
        `${path}: is not the shop that pages of this origin may send events of.`,
      )
  }
  if (events.length === 0) throw fail('bad_request', 'events: must hold at least one event.')
  return events
}

/** Every scope of the body with its path. */
function* scopesOf(source: Sent, events: readonly unknown[]): Generator<[path: string, scope: unknown]> {
  yield ['source.scope', source.scope]
  for (const [index, event] of events.entries()) {
    if (!isObject(event)) continue
    yield [`events[${index}].scope`, event.scope]
    if (isObject(event.target)) yield [`events[${index}].target.scope`, event.target.scope]
  }
}

/** True when the event holds an integer beyond 2^53. */
function checkEvent(event: unknown, path: string, escaped: boolean, report: Report): boolean {
  if (!isObject(event)) {
    report(path, 'must be an object')
    return false
  }
  if (typeof event.scope !== 'string') report(`${path}.scope`, 'must be the domain of the shop')
  if (isObject(event.target)) {
    const { scope } = event.target
    if (isGiven(scope) && typeof scope !== 'string')
      report(`${path}.target.scope`, 'must be the domain of the shop')
  } else if (isGiven(event.target)) report(`${path}.target`, 'must be an object')
  checkType(event, path, report)
  if (SERVICE_EVENT_TYPES.has(event.eventType as string))
    report(`${path}.eventType`, `${event.eventType} is recorded by the service only`)
  checkIdentifiers(event, path, report)
  walk(event, path, EVENT_LEVEL, escaped, report, FIELDS)
  // A time of any shape is taken, which is as good as none.
  if (typeof event.timeStamp === 'object' && event.timeStamp !== null)
    walk(event.timeStamp, `${path}.timeStamp`, EVENT_LEVEL + 1, escaped, report)
  const inexact = checkProperties(event, path, escaped, report)
  return inexact || hasInexactId(event)
}

/** What is not read must be harmless too: a body is kept or refused as a whole. */
function checkRest(body: Sent, escaped: boolean): void {
  const problems: string[] = []
  const report: Report = (path, message) => problems.push(`${path}: ${message}.`)
  walk(body, 'body', 1, escaped, report, ['events'])
  if (problems[0]) throw fail('bad_request', problems[0])
}
