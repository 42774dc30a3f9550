import type { JsonSchema } from '../json-schema.ts'
import type { Components } from './components.ts'
import type { DocumentedRoute } from './document.ts'
import { refusals } from './refusal.ts'

const BODY: JsonSchema = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['message', 'delivered', 'failed'] },
    id: {
      type: ['string', 'integer'],
      description: 'What the gateway calls the message; of `message` it is required, and taken once.',
    },
    idempotency_key: {
      type: 'string',
      description: 'Of `delivered` and `failed`: the header Idempotency-Key that the message was sent with.',
    },
    from: { type: 'string', description: 'Of `message`: the number or address that it came from.' },
    text: { type: 'string', maxLength: 10_000, description: 'Of `message`.' },
    error: { type: 'string', description: 'Of `failed`: why.' },
    at: { type: 'string', format: 'date-time', description: 'When it was; absent: now.' },
  },
  required: ['type'],
}

const TAKEN: JsonSchema = {
  type: 'object',
  properties: {
    ok: { type: 'boolean', const: true },
    message_id: { type: 'string', format: 'uuid' },
    ignored: {
      type: 'boolean',
      const: true,
      description: 'No message has this id, or it is over, or its sender was erased since.',
    },
  },
  required: ['ok'],
}
const REPEATED: JsonSchema = {
  type: 'object',
  properties: { deduplicated: { type: 'boolean', const: true } },
  required: ['deduplicated'],
}

/** POST /gateway/{channelId}. */
export function gatewayDocumented(components: Components): DocumentedRoute[] {
  const refused = refusals(components)
  return [
    {
      route: 'POST /gateway/{channelId}',
      host: 'webhook',
      operation: {
        operationId: 'receive_gateway_word',
        tags: ['Campaigns'],
        summary: 'Tell of a delivery, or of a message that came in',
        description:
          'What the gateway of a message channel tells, signed; answered after the commit. A message goes to the newest open conversation of its sender, or begins one; STOP and its like are honoured at once. What was written before its sender was erased is ignored.',
        security: [],
        'x-scopes': [],
        'x-sign-in': false,
        'x-mcp-tool': false,
        parameters: [
          {
            name: 'channelId',
            in: 'path',
            required: true,
            description: 'The last part of the callback URL of the channel.',
            schema: { type: 'string' },
          },
          {
            name: 'x-svc-signature',
            in: 'header',
            required: true,
            description:
              'HMAC-SHA256 of the raw body in lower-case hexadecimal. The key is the text of the channel’s signing secret.',
            schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
          },
        ],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: BODY,
              example: { type: 'message', id: 'in_17', from: '+12025550101', text: 'Is it still there?' },
            },
          },
        },
        responses: {
          200: {
            description: 'It is noted, by this call or an earlier one.',
            headers: components.requestId(),
            content: {
              'application/json': { schema: { anyOf: [TAKEN, REPEATED] }, example: { ok: true } },
            },
          },
          400: refused('A field is missing or wrong.', 'bad_request', 'from: must be a phone number'),
          401: refused(
            'The signature is missing or wrong, or there is no such channel.',
            'unauthorized',
            'The header x-svc-signature must be the lower-case hexadecimal HMAC-SHA256 of the body, by the signing secret of the channel',
          ),
          409: refused(
            'The sender is several contacts.',
            'conflict',
            'The address belongs to several contacts.',
          ),
          413: refused('The body is over 64 KB.', 'bad_request', 'The body must be at most 64 KB'),
          415: refused(
            'The body has a Content-Encoding.',
            'bad_request',
            'Content-Encoding must be identity, not gzip: send the body uncompressed',
          ),
          500: refused(
            'An unexpected error. Send it again.',
            'internal',
            'Something went wrong on our side.',
          ),
          503: refused(
            'Temporarily unavailable. Send it again.',
            'unavailable',
            'The service is temporarily unavailable. Try again with backoff.',
          ),
        },
      },
    },
  ]
}
