import * as v from 'valibot'
import { userOf } from '../access/permit.ts'
import { renameEventInCampaigns } from '../campaign/rename-event.ts'
import {
  createDefinition,
  type EventDefinition,
  type Follower,
  getDefinition,
  listDefinitions,
  TYPE,
  TYPE_SAYS,
  updateDefinition,
} from '../connect/custom/definitions.ts'
import { renameEventInSettings } from '../connect/custom/providers.ts'
import { MAX_PATH } from '../event/singular-path.ts'
import { count, id, jsonObject, list, named, text, time, uuid } from '../fields.ts'
import { type Op, op } from '../op.ts'
import { renameEventInSegments } from '../segment/rename-event.ts'
import * as example from './provider-example.ts'

/** What takes up the new name of an event type. */
const FOLLOWERS: readonly Follower[] = [renameEventInSettings, renameEventInSegments, renameEventInCampaigns]

const jsonPath = text({ min: 1, max: MAX_PATH })

const Definition = named('EventDefinition', {
  id,
  provider_id: id,
  type: v.string(),
  name: v.string(),
  description: v.nullable(v.string()),
  payload_schema: jsonObject,
  identifier_mappings: jsonObject,
  schema_version: count,
  source_template_key: v.nullable(v.string()),
  is_enabled: v.boolean(),
  created_at: time,
  updated_at: time,
})

const fields = {
  type: v.pipe(v.string('must be a string'), v.regex(TYPE, TYPE_SAYS)),
  name: text({ min: 1, max: 200 }),
  description: v.optional(v.nullable(text({ max: 2_000 }))),
  payload_schema: jsonObject,
  identifier_mappings: v.strictObject({
    external_id_path: jsonPath,
    email_path: v.optional(jsonPath),
    phone_path: v.optional(jsonPath),
  }),
  is_enabled: v.optional(v.boolean()),
}
const ofProvider = v.strictObject({ provider_id: uuid })
const ofDefinition = v.strictObject({ provider_id: uuid, definition_id: uuid })

const shown = ({ created_at, updated_at, ...definition }: EventDefinition) => ({
  ...definition,
  identifier_mappings: { ...definition.identifier_mappings },
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
})

export const eventDefinitionOps: readonly Op[] = [
  op({
    name: 'list_event_definitions',
    route: 'GET /v1/providers/{provider_id}/event-definitions',
    scopes: ['providers:read'],
    what: 'All event types that a custom data source may send, oldest first.',
    input: { path: ofProvider },
    output: list(Definition),
    example: example.DEFINITIONS,
    run: async ({ db }, { path }) => ({
      data: (await listDefinitions(db, path.provider_id)).map(shown),
      next_cursor: null,
    }),
  }),

  op({
    name: 'create_event_definition',
    route: 'POST /v1/providers/{provider_id}/event-definitions',
    scopes: ['providers:write'],
    exact: true,
    errors: ['conflict', 'limit_reached'],
    what: 'Register an event type of a custom data source: how its data looks (JSON Schema 2020-12, or draft-07 by $schema) and where it says which entity and whom it is about (RFC 9535 paths relative to data).',
    input: { path: ofProvider, body: v.strictObject(fields) },
    output: Definition,
    example: example.DEFINITION_CREATED,
    run: async ({ db }, { path, body }) => shown(await createDefinition(db, path.provider_id, body)),
  }),

  op({
    name: 'get_event_definition',
    route: 'GET /v1/providers/{provider_id}/event-definitions/{definition_id}',
    scopes: ['providers:read'],
    what: 'One event type of a custom data source.',
    input: { path: ofDefinition },
    output: Definition,
    example: example.DEFINITION_READ,
    run: async ({ db }, { path }) => shown(await getDefinition(db, path.provider_id, path.definition_id)),
  }),

  op({
    name: 'update_event_definition',
    route: 'PATCH /v1/providers/{provider_id}/event-definitions/{definition_id}',
    scopes: ['providers:write'],
    exact: true,
    errors: ['conflict'],
    what: 'Change an event type of a custom data source; what is not sent stays. A new payload_schema needs the schema_version that it replaces: a stale one is a conflict. A new type is taken up by the campaigns, the rules of segments and the type_matchers of the data source that name the old one.',
    input: {
      path: ofDefinition,
      body: v.strictObject({
        type: v.optional(fields.type),
        name: v.optional(fields.name),
        description: fields.description,
        payload_schema: v.optional(fields.payload_schema),
        identifier_mappings: v.optional(fields.identifier_mappings),
        schema_version: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
        is_enabled: fields.is_enabled,
      }),
    },
    output: Definition,
    example: example.DEFINITION_UPDATED,
    run: async ({ db, caller }, { path, body }) => {
      const place = { providerId: path.provider_id, id: path.definition_id, by: userOf(caller) }
      return shown(await updateDefinition(db, place, body, FOLLOWERS))
    },
  }),
]
