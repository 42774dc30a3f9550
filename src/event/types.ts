import type { PropertySchema } from './types/properties.ts'
import { SERVICE_PROPERTIES } from './types/service.ts'
import { STOREFRONT_PROPERTIES } from './types/storefront.ts'

/** A built-in event type, as it is listed and checked. */
export interface EventType {
  event_type: string
  /** storefront: sent by browsers and servers. store: see `recordedByService`. */
  group: 'storefront' | 'store'
  description: string
  /** True: only the service itself records it; a sender is refused on /cdp/ingest. */
  recordedByService: boolean
  /** JSON Schema of `properties`: every one is optional, unknown ones are kept. */
  schema: object
}

const schemaOf = (properties: Record<string, PropertySchema>) => ({ type: 'object', properties })

const typesOf = (
  group: EventType['group'],
  table: Record<string, { what: string; properties: Record<string, PropertySchema> }>,
): EventType[] =>
  Object.entries(table).map(([event_type, { what, properties }]) => ({
    event_type,
    group,
    description: what,
    recordedByService: group === 'store',
    schema: schemaOf(properties),
  }))

/** Every event type that is the service's own, in the contract's order. */
export const EVENT_TYPES: readonly EventType[] = [
  ...typesOf('storefront', STOREFRONT_PROPERTIES),
  ...typesOf('store', SERVICE_PROPERTIES),
]

/** Names of the types that only the service records. */
export const SERVICE_EVENT_TYPES: ReadonlySet<string> = new Set(
  EVENT_TYPES.filter((type) => type.recordedByService).map((type) => type.event_type),
)

/** What a campaign can start at, beside the types of the brand itself. */
export const PREDEFINED_TRIGGERS = [
  'checkout_abandoned',
  'browse_abandoned',
  'order_created',
  'order_fulfilled',
  'customer_winback',
  'subscription_cancelled',
  'segment_entered',
] as const

/** Names that no provider and no event definition can take. */
export const RESERVED_TYPES: ReadonlySet<string> = new Set([
  ...EVENT_TYPES.map((type) => type.event_type),
  ...PREDEFINED_TRIGGERS,
])
