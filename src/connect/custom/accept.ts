import { v7 } from 'uuid'
import { fail, isOvertaken, unfitCode } from '../../errors.ts'
import { appendEvent } from '../../event/append.ts'
import { parseExactly } from '../../event/exact.ts'
import { validatePayload } from '../../event/payload-schema.ts'
import { shown } from '../../event/walk.ts'
import { channelsOf, linkContact, upsertContact } from '../../identity/contact.ts'
import { erasedAmong } from '../../identity/subject.ts'
import type { Db, Statements } from '../../op.ts'
import { persistently } from '../../store/persistently.ts'
import type { Delivery } from './delivery.ts'
import { type Identified, identify, noChannel, propertiesOf } from './identify.ts'
import type { Mappings } from './mappings.ts'
import { refuse } from './refuse.ts'

/** Whose webhook a delivery came to. */
export interface Receiver {
  brandId: string
  providerId: string
}

/** Where deliveries of a receiver are stored. */
export interface Place extends Receiver {
  db: Db
  storePlatformDomain: string
}

/** What is answered with 200 when the event is stored, by this delivery or an earlier one, or stays out for good. */
export type Accepted = { ok: true; custom_event_id: string; flow_event_id: null } | { deduplicated: true }

/** What could not be stored: the SQLSTATE, by which definition, and whom it is about. */
export interface Unfit {
  unfit: string
  definitionId: string
  email: string | null
  phone: string | null
}

/** Not stored, nor when it is sent again: whom it is about was erased after it came. */
export interface Late {
  erased: true
}

interface DefinitionRow {
  known: boolean
  id: string | null
  /** As text: read as JSON, it would lose digits. */
  payload_schema: string
  identifier_mappings: Mappings
}

/** What a delivery tells of, by its definition. */
interface Entity extends Identified {
  definitionId: string
  properties: object
}

/** Senders give up after some seconds: rather say so in time, and have it sent again. */
const DEADLINE_MS = 5_000

/**
 * Stores a delivery, once per event id: contact, record and event in one transaction. Throws a refusal, after which
 * the event id can be used again.
 */
export async function accept(place: Place, delivery: Delivery): Promise<Accepted | Unfit | Late> {
  const { db, providerId } = place
  const { type, eventId, data } = delivery
  const definition = await db.one<DefinitionRow>('custom_definition', [providerId, type, eventId])
  if (definition.known) return { deduplicated: true }
  const { id: definitionId } = definition
  if (definitionId === null)
    throw refuse(
      'unknown_event_type',
      `type: no enabled event definition of this provider is called ${shown(type)}`,
    )
  const problem = validatePayload(parseExactly(definition.payload_schema) as object, data)
  if (problem !== null) throw refuse('schema_violation', problem)
  const mappings = definition.identifier_mappings
  const identified = identify(data, mappings)
  const entity = { ...identified, definitionId, properties: propertiesOf(data, mappings, identified) }

  try {
    return await persistently(() => db.tx((tx) => store(tx, place, delivery, entity)))
  } catch (error) {
    if (isOvertaken(error))
      throw fail('unavailable', 'Others were first. Send it again later.', { cause: error })
    const unfit = unfitCode(error)
    if (unfit === undefined) throw error
    return { unfit, definitionId, ...(await channelsOf(db, identified)) }
  }
}

async function store(
  tx: Statements,
  { brandId, providerId, storePlatformDomain }: Place,
  { type, eventId, data, receivedAt, occurredAt }: Delivery,
  { definitionId, externalId, properties, ...sent }: Entity,
): Promise<Accepted | Late> {
  await tx.one('store_deadline', [DEADLINE_MS])
  const { email, phone } = await channelsOf(tx, sent)
  if (email === null && phone === null) throw noChannel()
  const said = { email: email ?? undefined, phone: phone ?? undefined }
  const [erasedAt] = await erasedAmong(tx, brandId, [{ ...said, seenAt: receivedAt }], {
    storePlatformDomain,
  })
  if (erasedAt) {
    await tx.run('custom_delivery_late', [providerId, eventId, definitionId])
    return { erased: true }
  }
  const claimed = await tx.run('custom_delivery_claim', [providerId, eventId, definitionId])
  if (claimed === 0) return { deduplicated: true }
  const contact = await upsertContact(tx, { subject: null, email, phone, firstName: null, lastName: null })
  if ('conflict' in contact)
    throw refuse('contact_channel_conflict', `The ${contact.conflict} belongs to another contact already`)

  await linkContact(tx, contact.contactId, { email, phone })
  const record = [v7(), providerId, definitionId, externalId, contact.contactId, eventId]
  const { id, store_customer_id } = await tx.one<{ id: string; store_customer_id: string | null }>(
    'custom_event_put',
    [...record, JSON.stringify(data)],
  )
  await tx.run('custom_delivery_told', [providerId, eventId, id, contact.contactId])
  await tx.run('dead_letter_resolve', [providerId, eventId])
  await appendEvent(tx, brandId, {
    event_type: type,
    // Event ids are a provider's own; the lake knows one name space per brand.
    event_id: `${providerId}:${eventId}`,
    occurred_at: occurredAt.getTime(),
    ...said,
    ...(store_customer_id === null ? {} : { store_customer_id }),
    properties,
  })
  return { ok: true, custom_event_id: id, flow_event_id: null }
}
