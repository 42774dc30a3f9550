import * as v from 'valibot'
import { createProvider, getProvider, listProviders, updateProvider } from '../connect/custom/providers.ts'
import { KEY, KEY_SAYS } from '../connect/custom/slug.ts'
import { sourceTemplates } from '../connect/custom/templates.ts'
import { id, jsonObject, list, named, text, uuid } from '../fields.ts'
import { type Caller, type Op, op } from '../op.ts'
import * as example from './provider-example.ts'

const providerFields = {
  id,
  key: v.string(),
  name: v.string(),
  lookup_id: v.string(),
  source_template_key: v.nullable(v.string()),
  is_enabled: v.boolean(),
  settings: jsonObject,
}
const Provider = named('Provider', providerFields)
const NewProvider = named('NewProvider', {
  ...providerFields,
  api_key: v.nullable(v.string()),
  webhook_secret: v.string(),
  webhook_url: v.pipe(v.string(), v.url()),
})

const name = text({ min: 1, max: 200 })
const path = v.strictObject({ provider_id: uuid })

/** A key can make no key that outlives it: only an administrator who signed in is given one. */
const mayGetKey = (caller: Caller) =>
  caller.kind === 'token' &&
  (caller.role === 'admin' || caller.isStaff) &&
  caller.scopes.includes('keys:manage')

export const providerOps: readonly Op[] = [
  op({
    name: 'list_providers',
    route: 'GET /v1/providers',
    scopes: ['providers:read'],
    what: 'All custom data sources of the brand, oldest first, without their credentials.',
    output: list(Provider),
    example: example.PROVIDERS,
    run: async ({ db }) => ({ data: await listProviders(db), next_cursor: null }),
  }),

  op({
    name: 'create_provider',
    route: 'POST /v1/providers',
    scopes: ['providers:write'],
    exact: true,
    errors: ['conflict', 'limit_reached'],
    what: `Make a custom data source. webhook_secret and, for a sign-in with keys:manage, api_key are in this answer only. A source_template_key also makes the event definitions of the template: ${[...sourceTemplates().keys()].join(', ')}.`,
    input: {
      body: v.strictObject({
        name,
        key: v.optional(v.pipe(v.string('must be a string'), v.regex(KEY, KEY_SAYS))),
        source_template_key: v.optional(text({ min: 1, max: 64 })),
        is_enabled: v.optional(v.boolean()),
        settings: v.optional(jsonObject),
      }),
    },
    output: NewProvider,
    example: example.PROVIDER_CREATED,
    run: ({ db, seal, webhookUrl, caller }, { body }) =>
      createProvider(db, body, { seal, webhookUrl, withKey: mayGetKey(caller) }),
  }),

  op({
    name: 'get_provider',
    route: 'GET /v1/providers/{provider_id}',
    scopes: ['providers:read'],
    what: 'One custom data source, without its credentials.',
    input: { path },
    output: Provider,
    example: example.PROVIDER_READ,
    run: ({ db }, { path }) => getProvider(db, path.provider_id),
  }),

  op({
    name: 'update_provider',
    route: 'PATCH /v1/providers/{provider_id}',
    scopes: ['providers:write'],
    exact: true,
    what: 'Change the name, status or settings of a custom data source. Settings are merged level by level: what is not sent stays, null removes. The type_matchers of request_mapping go only when they are null themselves; they name event types as the type of a matcher, or as the values of an object of your own words.',
    input: {
      path,
      body: v.strictObject({
        name: v.optional(name),
        is_enabled: v.optional(v.boolean()),
        settings: v.optional(jsonObject),
      }),
    },
    output: Provider,
    example: example.PROVIDER_UPDATED,
    run: async ({ db, everywhere }, { path, body }) => {
      const provider = await updateProvider(db, path.provider_id, body)
      // Deliveries to one that is disabled are refused from now on, whichever process they come to.
      if (body.is_enabled !== undefined) await everywhere()
      return provider
    },
  }),
]
