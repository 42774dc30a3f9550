import type { JsonSchema } from '../json-schema.ts'
import type { Answer } from './answers.ts'
import type { Components } from './components.ts'
import type { DocumentedRoute } from './document.ts'
import { deadLetter, refusals } from './refusal.ts'

const header = (name: string, description: string, schema: JsonSchema) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
})

const HEADERS = [
  header(
    'x-svc-signature',
    'HMAC-SHA256 of the raw body in lower-case hexadecimal. The key is the text of the webhook secret.',
    { type: 'string', pattern: '^[0-9a-f]{64}$' },
  ),
  header('x-svc-event-id', 'Equals `event_id` of the body. Send it again when you retry.', {
    type: 'string',
    maxLength: 128,
  }),
  header('x-svc-topic', 'Equals `type` of the body.', { type: 'string', maxLength: 64 }),
]

const BODY: JsonSchema = {
  type: 'object',
  properties: {
    type: { type: 'string', description: 'The slug of a registered event definition.' },
    event_id: { type: 'string', maxLength: 128, description: 'Yours; the same one is taken once.' },
    data: { type: 'object', additionalProperties: {}, description: 'As payload_schema has it.' },
  },
  required: ['type', 'event_id', 'data'],
}

const EXAMPLE = {
  type: 'points_earned',
  event_id: 'evt_1',
  data: { id: 'acct_7', email: 'ada@example.com', points: 40 },
}

const ACCEPTED: JsonSchema = {
  type: 'object',
  properties: {
    ok: { type: 'boolean', const: true },
    custom_event_id: { type: 'string', format: 'uuid', description: 'The record of the entity.' },
    flow_event_id: { type: 'null' },
  },
  required: ['ok', 'custom_event_id', 'flow_event_id'],
}

const REPEATED: JsonSchema = {
  type: 'object',
  properties: {
    deduplicated: {
      type: 'boolean',
      const: true,
      description: 'This event id was accepted before, or whom it tells of was erased as it came.',
    },
  },
  required: ['deduplicated'],
}

const DEAD = deadLetter('It could not be processed, and is kept. Stop retrying.')

/** POST /custom/{webhookId}. */
export const webhookDocumented = (components: Components): DocumentedRoute[] => [
  {
    route: 'POST /custom/{webhookId}',
    host: 'webhook',
    operation: {
      operationId: 'receive_custom_event',
      tags: ['Data collection'],
      summary: 'Send an event of a custom data source',
      description:
        'One signed JSON event of a provider; answered after the commit. A refused event does not use up its event_id. Another event of the same entity, which external_id_path names, updates its record. At most 256 KB.',
      security: [],
      'x-scopes': [],
      'x-sign-in': false,
      'x-mcp-tool': false,
      parameters: [
        {
          name: 'webhookId',
          in: 'path',
          required: true,
          description: 'The last part of the webhook URL of the provider.',
          schema: { type: 'string' },
        },
        ...HEADERS,
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: BODY, example: EXAMPLE } },
      },
      responses: responses(components),
    },
  },
]

function responses(components: Components): Record<string, Answer> {
  const refused = refusals(components)
  return {
    200: {
      description:
        'It is stored, by this delivery or an earlier one, or kept because it cannot be processed.',
      headers: components.requestId(),
      content: {
        'application/json': {
          schema: { anyOf: [ACCEPTED, REPEATED, DEAD] },
          example: {
            ok: true,
            custom_event_id: '01930c7e-5b1a-7c3e-9f00-3a5a1c2b4d6e',
            flow_event_id: null,
          },
        },
      },
    },
    400: refused(
      'The body, a header or the data is wrong. Fix it and send it with the same event_id.',
      'schema_violation',
      'data.points must be a number',
    ),
    401: refused(
      'The signature is missing or wrong, or no secret is set.',
      'invalid_signature',
      'The header x-svc-signature must be the lower-case hexadecimal HMAC-SHA256 of the body, by the webhook secret',
    ),
    404: refused(
      'The webhook id is unknown, its provider disabled, or no enabled definition has this type.',
      'unknown_event_type',
      'type: no enabled event definition of this provider is called points_earned',
    ),
    422: refused(
      'The mappings give no external id or no contact channel, or a channel belongs to another contact.',
      'contact_channel_conflict',
      'The phone belongs to another contact already',
    ),
    500: refused(
      'An unexpected error. Send it again, with backoff.',
      'internal',
      'Something went wrong on our side.',
    ),
    503: refused(
      'Temporarily unavailable. Send it again, with backoff.',
      'unavailable',
      'The service is temporarily unavailable. Try again with backoff.',
    ),
  }
}
