import { type Body, parseBody } from '../../event/body.ts'
import { isObject } from '../../event/exact.ts'
import { EVENT_LEVEL, MAX_ID } from '../../event/shape.ts'
import { walk } from '../../event/walk.ts'
import { refuse } from './refuse.ts'

/** A delivery whose envelope is right. */
export interface Delivery {
  type: string
  eventId: string
  /** Numbers that a double would change are JSON.rawJSON of their digits. */
  data: Record<string, unknown>
  /** The body as it came. */
  raw: Buffer
  receivedAt: Date
  /** When its event happened; what is replayed happens as it is replayed. */
  occurredAt: Date
}

/** The headers that say again what the body says. */
export interface Stated {
  contentType: string | undefined
  eventId: string | undefined
  topic: string | undefined
}

const JSON_TYPE = /^application\/json[\t ]*(;|$)/i
/** What a header can carry unchanged. */
const EVENT_ID = new RegExp(`^[\\x21-\\x7e]([\\x20-\\x7e]{0,${MAX_ID - 2}}[\\x21-\\x7e])?$`)

/** Reads a body of which the signature was right, and holds it against its headers. Throws a refusal. */
export function readDelivery(raw: Buffer, stated: Stated): Delivery {
  if (!stated.contentType || !JSON_TYPE.test(stated.contentType))
    throw refuse('invalid_content_type', 'The header content-type must be application/json')
  const delivery = readBody(raw, new Date())
  const { type, eventId } = delivery
  if (stated.topic === undefined) throw refuse('missing_field', 'The header x-svc-topic is missing')
  if (stated.eventId === undefined) throw refuse('missing_field', 'The header x-svc-event-id is missing')
  if (stated.topic !== type)
    throw refuse('topic_mismatch', 'The header x-svc-topic and the field type of the body must be equal')
  if (stated.eventId !== eventId)
    throw refuse(
      'event_id_mismatch',
      'The header x-svc-event-id and the field event_id of the body must be equal',
    )
  return delivery
}

/** Reads a body alone, as when a dead letter is replayed. */
export function readBody(raw: Buffer, receivedAt: Date, occurredAt = receivedAt): Delivery {
  const body = parsed(raw)
  const sent = body.value
  if (!isObject(sent)) throw refuse('invalid_payload', 'The body must be a JSON object')
  const { type, event_id: eventId, data: read } = sent
  if (typeof type !== 'string' || type === '')
    throw refuse('missing_field', 'type: must be the slug of a registered event definition')
  if (typeof eventId !== 'string' || !EVENT_ID.test(eventId))
    throw refuse(
      'missing_field',
      `event_id: must be 1 to ${MAX_ID} printable ASCII characters, neither the first nor the last a space`,
    )
  if (!isObject(read)) throw refuse('invalid_payload', 'data: must be a JSON object')
  const problems: string[] = []
  // As deep as properties of an event may be, which it becomes.
  const inexact = walk(read, 'data', EVENT_LEVEL + 1, body.escaped, (path, message) => {
    if (problems.length === 0) problems.push(`${path}: ${message}`)
  })
  if (problems[0] !== undefined) throw refuse('invalid_payload', problems[0])
  const data = inexact ? (body.exact() as { data: Record<string, unknown> }).data : read
  return { type, eventId, data, raw, receivedAt, occurredAt }
}

function parsed(raw: Buffer): Body {
  if (raw.length === 0) throw refuse('empty_body', 'The body is empty: send a JSON object')
  try {
    return parseBody(raw)
  } catch (error) {
    throw refuse('malformed_json', (error as Error).message)
  }
}
