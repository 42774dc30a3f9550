import { isGiven, type Sent, setBy, setIdentifier, UPDATE } from './check.ts'
import { decimalOf } from './exact.ts'
import { isNoId, isOfAnotherKind, storeIdOf } from './id.ts'

/** The lines of one request, ready for a record batch. */
export interface Checked {
  /** NDJSON in UTF-8, one line per event; they stay until the next request is read. */
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
   * nothing more. 'service': recorded by the service itself. Absent: sent with a credential.
   */
  origin?: 'browser' | 'service'
  properties: object
}

/** How the senders of a route are told apart, and their times read. */
export interface LineForm {
  brandId: string
  receivedAt: number
  origin?: EventLine['origin']
  /** Milliseconds since 1970 of a timeStamp that is given. */
  time(timeStamp: unknown): number
}

/** The lines of checked events. */
export function linesOf(events: unknown[], form: LineForm): Checked {
  const seen = new Set<string>()
  const repeats: number[] = []
  let text = ''
  for (const [index, event] of (events as Sent[]).entries()) {
    const id = (event.eventId ?? undefined) as string | undefined
    if (id !== undefined && seen.size === seen.add(id).size) repeats.push(index)
    else text += `${JSON.stringify(lineOf(event, id, form))}\n`
  }
  return { lines: Buffer.from(text), events: events.length - repeats.length, repeats }
}

function lineOf(
  event: Sent,
  id: string | undefined,
  { brandId, receivedAt, origin, time }: LineForm,
): EventLine {
  const text = (value: unknown) => (isGiven(value) ? (decimalOf(value) ?? String(value)).trim() : undefined)
  // Servers are refused what is no id; a page's event is kept without it.
  const idIn = (value: unknown) => {
    const found = text(value)
    return found !== undefined && isNoId(found) ? undefined : found
  }
  const storeCustomerId = idIn(event.storeCustomerId)
  return {
    brand_id: brandId,
    origin,
    received_at: receivedAt,
    occurred_at: isGiven(event.timeStamp) ? Math.min(time(event.timeStamp), receivedAt) : receivedAt,
    event_type: event.eventType as string,
    event_id: id,
    profile_id: idIn(event.profileId),
    anonymous_id: idIn(event.anonymousId),
    email: text(event.email ?? setIdentifier(event, 'email'))?.toLowerCase(),
    phone: text(event.phone ?? setIdentifier(event, 'phone')),
    store_customer_id:
      storeCustomerId && !isOfAnotherKind(storeCustomerId) ? storeIdOf(storeCustomerId) : undefined,
    properties: event.eventType === UPDATE ? setBy(event.properties as Sent) : (event.properties as object),
  }
}
