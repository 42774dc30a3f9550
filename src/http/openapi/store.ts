import { PLATFORMS } from '../../connect/store/connection.ts'
import { TOPICS } from '../../connect/store/shopify/topics.ts'
import type { JsonSchema } from '../json-schema.ts'
import type { Components } from './components.ts'
import type { DocumentedRoute } from './document.ts'
import { deadLetter, refusals } from './refusal.ts'

const header = (name: string, description: string, schema: JsonSchema, required = true) => ({
  name: `X-Shopify-${name}`,
  in: 'header',
  required,
  description,
  schema,
})

const HEADERS = [
  header('Topic', 'What the webhook is about.', { type: 'string', examples: Object.keys(TOPICS) }),
  header('Shop-Domain', 'The shop, such as `lumen-home.myshopify.com`.', { type: 'string', maxLength: 253 }),
  header('Webhook-Id', 'Id of the delivery; the same one again is taken once.', {
    type: 'string',
    maxLength: 128,
  }),
  header(
    'Triggered-At',
    'When it happened; the time of receipt unless given.',
    { type: 'string', format: 'date-time' },
    false,
  ),
  header('Hmac-Sha256', 'HMAC-SHA256 of the raw body under the secret of the app, in base64.', {
    type: 'string',
    minLength: 44,
    maxLength: 44,
  }),
]

const DONE: JsonSchema = {
  type: 'object',
  properties: {
    ok: { type: 'boolean', const: true },
    deduplicated: { type: 'boolean', const: true, description: 'It was taken before.' },
  },
  required: ['ok'],
}

const DEAD = deadLetter('It cannot be read, and is kept with the reason. Sending it again does not help.')

/** POST /store/{platform}/webhooks. */
export const storeDocumented = (components: Components): DocumentedRoute[] => {
  const refused = refusals(components)
  return [
    {
      route: 'POST /store/{platform}/webhooks',
      host: 'webhook',
      operation: {
        operationId: 'receive_store_webhook',
        tags: ['Data collection'],
        summary: 'Receive a webhook of the store',
        description:
          'Where the store platform sends its webhooks; answered after the commit. The signature is checked over the raw bytes. Of two versions of a record the newer one wins, whatever the order in which they come, and a webhook that comes again changes nothing. At most 2 MB.',
        security: [],
        'x-scopes': [],
        'x-sign-in': false,
        'x-mcp-tool': false,
        parameters: [
          {
            name: 'platform',
            in: 'path',
            required: true,
            description: 'The store platform.',
            schema: { type: 'string', enum: PLATFORMS },
          },
          ...HEADERS,
        ],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: { type: 'object', additionalProperties: {} },
              example: { id: 632910392, title: 'Linen shirt', updated_at: '2026-11-20T09:15:00Z' },
            },
          },
        },
        responses: {
          200: {
            description: 'It was taken, or kept because it cannot be read.',
            headers: components.requestId(),
            content: { 'application/json': { schema: { anyOf: [DONE, DEAD] }, example: { ok: true } } },
          },
          400: refused(
            'A header is missing or malformed.',
            'bad_request',
            'X-Shopify-Topic must be a topic such as orders/create',
          ),
          401: refused(
            'The signature is missing or wrong, or the shop is not connected.',
            'unauthorized',
            'The signature is not that of this body with the secret of this store',
          ),
          404: refused('The platform is unknown.', 'not_found', 'platform must be one of shopify'),
          413: refused('The body is over 2 MB.', 'bad_request', 'The body must be at most 2 MB'),
          415: refused(
            'The body has a Content-Encoding.',
            'bad_request',
            'Content-Encoding must be identity, not gzip: send the body uncompressed',
          ),
          500: refused(
            'An unexpected error. The platform sends it again.',
            'internal',
            'Something went wrong on our side.',
          ),
          503: refused(
            'Temporarily unavailable. The platform sends it again.',
            'unavailable',
            'The service is temporarily unavailable. Try again with backoff.',
          ),
        },
      },
    },
  ]
}
