import * as v from 'valibot'
import { parseExactly } from '../event/exact.ts'
import { EVENT_TYPES } from '../event/types.ts'
import { id, list, named, time } from '../fields.ts'
import { type Op, op } from '../op.ts'
import * as example from './provider-example.ts'

const Integration = named('Integration', {
  id,
  integration_id: v.string(),
  provider: v.string(),
  status: v.picklist(['connected', 'refused', 'disconnected', 'disabled']),
  enabled: v.boolean(),
  connected_at: time,
})

const EventType = named('EventType', {
  event_type: v.string(),
  group: v.picklist(['storefront', 'store', 'custom']),
  description: v.string(),
  provider_id: v.nullable(id),
  schema: v.record(v.string(), v.unknown()),
})

interface IntegrationRow {
  id: string
  integration_id: string
  provider: string
  status: 'connected' | 'refused' | 'disconnected' | 'disabled'
  connected_at: Date
}

interface DefinitionRow {
  type: string
  name: string
  description: string | null
  provider_id: string
  /** As text: read as JSON, it would lose digits. */
  payload_schema: string
}

const BUILT_IN = EVENT_TYPES.map(({ event_type, group, description, schema }) => ({
  event_type,
  group,
  description,
  provider_id: null,
  schema: { ...schema },
}))

export const integrationOps: readonly Op[] = [
  op({
    name: 'list_integrations',
    route: 'GET /v1/integrations',
    scopes: ['integrations:read'],
    what: 'Connected apps: the store, then the custom data sources.',
    output: list(Integration),
    example: example.INTEGRATIONS,
    run: async ({ db }) => ({
      data: (await db.many<IntegrationRow>('integrations_of_brand')).map((row) => ({
        ...row,
        enabled: row.status === 'connected',
        connected_at: row.connected_at.toISOString(),
      })),
      next_cursor: null,
    }),
  }),

  op({
    name: 'list_event_types',
    route: 'GET /v1/event-types',
    scopes: ['campaigns:read', 'providers:read', 'integrations:read'],
    what: 'Types of events that are collected, each with a JSON Schema of its properties: those of the storefront, those that the service records of the store, and those that custom data sources may send.',
    output: list(EventType),
    example: example.EVENT_TYPES,
    run: async ({ db }) => {
      const custom = (await db.many<DefinitionRow>('definitions_enabled')).map((row) => ({
        event_type: row.type,
        group: 'custom' as const,
        description: row.description || row.name,
        provider_id: row.provider_id,
        schema: parseExactly(row.payload_schema) as Record<string, unknown>,
      }))
      return { data: [...BUILT_IN, ...custom], next_cursor: null }
    },
  }),
]
