import { storeIdOf } from '../event/id.ts'
import type { SourceKind } from './trigger.ts'

/** Something that happened and that campaigns start at. */
export interface Occurrence {
  /** A predefined trigger, or an event type of the brand. */
  trigger: string
  /** Of an event of a provider; null: campaigns of any provider start at it. */
  providerId: string | null
  /** By which definition a provider's event was taken; null: by none that is known. */
  definitionId: string | null
  /** The same one starts nothing again. */
  key: string
  /** Of the lake's event, where there is one. */
  eventId: string | null
  source: { kind: SourceKind; id: string }
  /** The customer, by any of their ordinals. */
  subject: number | null
  at: Date
  facts: Readonly<Record<string, unknown>>
}

/** An event of the lake that campaigns wait for. */
export interface TriggerEvent {
  event_id: string
  event_type: string
  subject: number | null
  occurred_at: Date
  properties: Record<string, unknown>
}

/** What the tables say beside the event. */
export interface Beside {
  /** Whether there is a record of a checkout or an order, by the store's id. */
  hasRecord(kind: 'checkout' | 'order', id: string): boolean
  /** By the store's id of the order; `is_shipped` is null where nobody has said what became of it. */
  order(id: string): { number: string | null; is_shipped: boolean | null } | undefined
  /** By the store's id of the subscription. */
  subscription(id: string): Readonly<Record<string, unknown>> | undefined
  /** The record that a delivery of a provider told of, and by which definition. */
  delivery(providerId: string, eventId: string): { recordId: string | null; definitionId: string } | undefined
}

/** Ids of the service's own events begin with this in the lake. */
const SERVICE = /^service:/
const OF_PROVIDER = /^service:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(.+)$/s

/** What a provider sent, and under which id. */
export interface Sent {
  providerId: string
  eventId: string
}

/** The delivery of a provider that an event of the lake was; undefined for any other event. */
export function deliveryOf(eventId: string): Sent | undefined {
  const [, providerId, sentAs] = OF_PROVIDER.exec(eventId) ?? []
  return providerId !== undefined && sentAs !== undefined ? { providerId, eventId: sentAs } : undefined
}

const idIn = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? storeIdOf(String(value)) : null

/** What an event stands for; null when it is none of what campaigns start at. */
export function occurrenceOf(event: TriggerEvent, beside: Beside): Occurrence | null {
  const { event_type, properties } = event
  switch (event_type) {
    case 'checkout_abandoned':
      return ofRecord(event, 'checkout_abandoned', 'checkout', idIn(properties.checkout_id), beside)
    case 'order_created':
      return ofRecord(event, 'order_created', 'order', idIn(properties.order_id), beside)
    case 'fulfillment_updated':
      return ofFulfillment(event, idIn(properties.order_id), beside)
    case 'subscription_changed':
      return properties.change === 'stopped' ? ofSubscription(event, beside) : null
    // Refreshes alone find who is meant, whatever a server says.
    case 'browse_abandoned':
    case 'customer_winback':
    case 'segment_entered':
      return null
    default:
      return ofCustomEvent(event, beside)
  }
}

/** A server told of it, and there is no record of it. */
export const isOnlyTold = ({ eventId, source }: Occurrence): boolean =>
  source.kind === 'custom_event' && eventId !== null && !SERVICE.test(eventId)

/** An event's id as runs name it. */
export const ownId = ({ event_id }: Pick<TriggerEvent, 'event_id'>) => event_id.replace(SERVICE, '')

/**
 * Of a record that has an id in the store, once for each; of one without, once for each event. Where a server told of
 * it and there is no such record, the event is all that there is to tell of.
 */
function ofRecord(
  event: TriggerEvent,
  trigger: string,
  kind: 'checkout' | 'order',
  recordId: string | null,
  beside: Beside,
): Occurrence {
  const source: Occurrence['source'] =
    recordId !== null && beside.hasRecord(kind, recordId)
      ? { kind, id: recordId }
      : { kind: 'custom_event', id: ownId(event) }
  return { ...told(event, trigger), key: `${trigger}:${recordId ?? ownId(event)}`, source }
}

/** The record says whether all of the order is on its way, else a server. */
function ofFulfillment(event: TriggerEvent, orderId: string | null, beside: Beside): Occurrence | null {
  const { properties } = event
  const order = orderId === null ? undefined : beside.order(orderId)
  const isToldOf = !SERVICE.test(event.event_id) && properties.status === 'fulfilled'
  if (!(order?.is_shipped ?? isToldOf)) return null
  const number = order?.number ?? orderId
  const told = { ...event, properties: { ...(number !== null && { order_number: number }), ...properties } }
  return ofRecord(told, 'order_fulfilled', 'order', orderId, beside)
}

function ofSubscription(event: TriggerEvent, beside: Beside): Occurrence {
  const id = ownId(event)
  const subscription = beside.subscription(idIn(event.properties.subscription_id) ?? '')
  return {
    ...told(event, 'subscription_cancelled'),
    key: id,
    source: { kind: 'subscription_event', id },
    facts: { ...subscription, ...event.properties },
  }
}

function ofCustomEvent(event: TriggerEvent, beside: Beside): Occurrence {
  const id = ownId(event)
  const sent = deliveryOf(event.event_id)
  const delivery = sent && beside.delivery(sent.providerId, sent.eventId)
  return {
    ...told(event, event.event_type),
    providerId: sent?.providerId ?? null,
    definitionId: delivery?.definitionId ?? null,
    key: `${event.event_type}:${id}`,
    source: { kind: 'custom_event', id: delivery?.recordId ?? id },
  }
}

const told = ({ event_id, subject, occurred_at, properties }: TriggerEvent, trigger: string) => ({
  trigger,
  providerId: null,
  definitionId: null,
  eventId: event_id,
  subject,
  at: occurred_at,
  facts: properties,
})
