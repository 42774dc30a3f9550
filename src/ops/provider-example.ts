import type { Example } from '../op.ts'

/** One provider and one event definition, as the documents show them. */

const PROVIDER_ID = '0193d2c1-5b1e-7a60-8c3f-91d7e2a4b605'
const DEFINITION_ID = '0193d2c2-0f4d-7e18-a2b6-4c8d91f3e720'

const PROVIDER = {
  id: PROVIDER_ID,
  key: 'stamp_club',
  name: 'Stamp Club',
  lookup_id: 'Zk3vQ8hT1mXy7BdLr0pWc5Na',
  source_template_key: 'loyalty_points',
  is_enabled: true,
  settings: { request_mapping: { type_matchers: [{ path: 'kind', equals: 'earn', type: 'points_earned' }] } },
}

const NEW_SETTINGS = { region: 'eu' }

const PAYLOAD_SCHEMA = {
  type: 'object',
  properties: {
    transaction_id: { type: 'string', minLength: 1 },
    member: {
      type: 'object',
      properties: { email: { type: 'string', format: 'email' } },
      required: ['email'],
    },
    points: { type: 'integer', minimum: 1 },
  },
  required: ['transaction_id', 'member', 'points'],
}

const MAPPINGS = { external_id_path: 'transaction_id', email_path: 'member.email' }

const DEFINITION = {
  id: DEFINITION_ID,
  provider_id: PROVIDER_ID,
  type: 'points_earned',
  name: 'Points earned',
  description: 'A member was credited points.',
  payload_schema: PAYLOAD_SCHEMA,
  identifier_mappings: MAPPINGS,
  schema_version: 1,
  source_template_key: 'loyalty_points',
  is_enabled: true,
  created_at: '2026-11-20T08:03:41.000Z',
  updated_at: '2026-11-20T08:03:41.000Z',
}

const providerPath = { provider_id: PROVIDER_ID }
const definitionPath = { provider_id: PROVIDER_ID, definition_id: DEFINITION_ID }

export const PROVIDERS: Example = { output: { data: [PROVIDER], next_cursor: null } }
export const PROVIDER_CREATED: Example = {
  body: {
    name: PROVIDER.name,
    source_template_key: PROVIDER.source_template_key,
    settings: PROVIDER.settings,
  },
  output: {
    ...PROVIDER,
    api_key: null,
    webhook_secret: 'whsec_9Yc2mVtQkR7xLbN4pZsW1dHfGj8uEaToKi3vCq0yBxM',
    webhook_url: `https://hooks.example.com/custom/${PROVIDER.lookup_id}`,
  },
}
export const PROVIDER_READ: Example = { path: providerPath, output: PROVIDER }
export const PROVIDER_UPDATED: Example = {
  path: providerPath,
  body: { settings: NEW_SETTINGS },
  output: { ...PROVIDER, settings: { ...PROVIDER.settings, ...NEW_SETTINGS } },
}

export const DEFINITIONS: Example = {
  path: providerPath,
  output: { data: [DEFINITION], next_cursor: null },
}
export const DEFINITION_CREATED: Example = {
  path: providerPath,
  body: {
    type: DEFINITION.type,
    name: DEFINITION.name,
    description: DEFINITION.description,
    payload_schema: PAYLOAD_SCHEMA,
    identifier_mappings: MAPPINGS,
  },
  output: { ...DEFINITION, source_template_key: null },
}
export const DEFINITION_READ: Example = { path: definitionPath, output: DEFINITION }
export const DEFINITION_UPDATED: Example = {
  path: definitionPath,
  body: { payload_schema: { ...PAYLOAD_SCHEMA, additionalProperties: false }, schema_version: 1 },
  output: {
    ...DEFINITION,
    payload_schema: { ...PAYLOAD_SCHEMA, additionalProperties: false },
    schema_version: 2,
    updated_at: '2026-11-21T09:30:00.000Z',
  },
}

export const EVENT_TYPES: Example = {
  output: {
    data: [
      {
        event_type: 'search_submitted',
        group: 'storefront',
        description: 'The store is searched.',
        provider_id: null,
        schema: {
          type: 'object',
          properties: { query: { type: 'string', description: 'What was searched for' } },
        },
      },
      {
        event_type: DEFINITION.type,
        group: 'custom',
        description: DEFINITION.description,
        provider_id: PROVIDER_ID,
        schema: PAYLOAD_SCHEMA,
      },
    ],
    next_cursor: null,
  },
}

export const INTEGRATIONS: Example = {
  output: {
    data: [
      {
        id: '0193d1f0-7a42-7c3e-b5d1-8e2f6a9c4b10',
        integration_id: 'lumen-home.myshopify.com',
        provider: 'shopify',
        status: 'connected',
        enabled: true,
        connected_at: '2026-11-02T10:41:07.000Z',
      },
      {
        id: PROVIDER_ID,
        integration_id: PROVIDER.lookup_id,
        provider: PROVIDER.key,
        status: 'connected',
        enabled: true,
        connected_at: '2026-11-20T08:03:40.000Z',
      },
    ],
    next_cursor: null,
  },
}
