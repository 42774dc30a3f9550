import type { JsonSchema } from '../json-schema.ts'
import { type Answer, errorAnswer, errorAnswers } from './answers.ts'
import { EVENT, messageOnly, REJECTED, unavailable } from './collect.ts'
import type { Components } from './components.ts'
import type { DocumentedRoute } from './document.ts'

const SHOP = 'lumen-home.myshopify.com'

const SCOPE: JsonSchema = { type: 'string', description: "The shop's domain on the store platform." }

const BROWSER_EVENT: JsonSchema = {
  type: 'object',
  description:
    'What happened on a page. `email` and `phone` can attach the visitor to a customer, and change nothing else: anyone can send them. Types that only the service records, such as `order_created`, are refused.',
  properties: {
    ...EVENT.properties,
    scope: SCOPE,
    target: {
      type: ['object', 'null'],
      description: 'Not read but for its scope.',
      properties: { scope: { ...SCOPE, type: ['string', 'null'] } },
      additionalProperties: {},
    },
    timeStamp: {
      description:
        "When it happened by the browser's clock; the time of receipt where that is missing, no time, ahead, or more than 24 hours back.",
    },
  },
  required: ['scope', 'eventType', 'properties'],
  additionalProperties: {},
}

const BODY: JsonSchema = {
  type: 'object',
  properties: {
    source: {
      type: 'object',
      properties: { scope: SCOPE },
      required: ['scope'],
      additionalProperties: {},
    },
    events: { type: 'array', minItems: 1, items: BROWSER_EVENT },
  },
  required: ['source', 'events'],
  additionalProperties: {},
}

const EXAMPLE = {
  source: { scope: SHOP },
  events: [
    {
      scope: SHOP,
      eventType: 'product_viewed',
      eventId: '0f3c1b52-5d7e-4b8e-9f66-1d0c8f1f2a11',
      timeStamp: '2026-11-20T09:15:00Z',
      anonymousId: '5b0f6a8e-2f6e-4c0e-9f8b-7d1c2f3a4b5c',
      properties: { product_id: '632910392', product_title: 'Linen shirt', price: '49.00' },
    },
  ],
}

const tooMany = () =>
  messageOnly('More than 50 requests per second of one shop and address.', 'Too Many Requests')

const header = (description: string, schema: JsonSchema = { type: 'string' }) => ({
  description,
  required: true,
  schema,
})

const REFLECTED = {
  'Access-Control-Allow-Origin': header('The Origin of the request.'),
  Vary: header('Origin.'),
}

/** POST and OPTIONS /cdp/ingest, and GET /cdp/pixel.js: what pages of shops use. */
export const ingestDocumented = (components: Components): DocumentedRoute[] => [
  {
    route: 'POST /cdp/ingest',
    host: 'cdp',
    operation: {
      operationId: 'ingest_events',
      tags: ['Data collection'],
      summary: 'Ingest events of a browser',
      description:
        "For pages of a shop; the pixel sends here. No credential: the `Origin`, which must be the shop's domain on the store platform or one of its storefront domains, says whose events they are, and every scope in the body has to be that shop. At most 64 KB, read as JSON whatever Content-Type says. Either all events are valid or none is stored; fields that are not listed are ignored.",
      security: [],
      'x-scopes': [],
      'x-sign-in': false,
      'x-mcp-tool': false,
      requestBody: {
        required: true,
        content: { 'application/json': { schema: BODY, example: EXAMPLE } },
      },
      responses: {
        202: {
          description: 'All events are stored.',
          headers: { ...components.requestId(), ...REFLECTED },
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  accepted: {
                    type: 'integer',
                    minimum: 0,
                    description: 'Events stored; those that repeat an eventId of the request are not.',
                  },
                },
                required: ['accepted'],
              },
              example: { accepted: 1 },
            },
          },
        },
        400: errorAnswer(['bad_request'], components, { rejected: REJECTED }),
        403: originRefused(components),
        ...errorAnswers(['payload_too_large', 'internal'], components),
        429: tooMany(),
        503: unavailable(components),
      },
    },
  },
  {
    route: 'OPTIONS /cdp/ingest',
    host: 'cdp',
    operation: {
      operationId: 'ingest_preflight',
      tags: ['Data collection'],
      summary: 'What a page may send',
      description: 'The preflight request of browsers (CORS).',
      security: [],
      responses: {
        204: {
          description: 'Pages of this Origin may send events.',
          headers: {
            ...components.requestId(),
            ...REFLECTED,
            'Access-Control-Allow-Methods': header('POST.'),
            'Access-Control-Allow-Headers': header('Content-Type.'),
            'Access-Control-Max-Age': header('Seconds.', { type: 'integer' }),
          },
        },
        403: originRefused(components),
        ...errorAnswers(['bad_request', 'internal', 'unavailable'], components),
      },
    },
  },
  {
    route: 'GET /cdp/pixel.js',
    host: 'cdp',
    operation: {
      operationId: 'get_pixel',
      tags: ['Data collection'],
      summary: 'The pixel',
      description:
        'The script that pages of a shop include, with `data-shop` naming the shop: see docs/pixel.md.',
      security: [],
      responses: {
        200: {
          description: 'JavaScript. Kept for an hour, then asked for by its ETag.',
          headers: components.requestId(),
          content: { 'text/javascript': { schema: { type: 'string' } } },
        },
        304: { description: 'Not changed.', headers: components.requestId() },
        ...errorAnswers(['bad_request', 'payload_too_large', 'internal'], components),
        429: tooMany(),
      },
    },
  },
]

/** 403 without Access-Control-Allow-Origin. */
function originRefused(components: Components): Answer {
  const answer = errorAnswer(['insufficient_scope'], components)
  const message =
    'The Origin is not allowed: it is neither a shop of the store platform nor a storefront domain'
  const content = (answer.content as Record<string, object>)['application/json']
  return {
    ...answer,
    description:
      '`insufficient_scope`: the Origin is missing, null or of no shop, or a scope is not the shop of the Origin.',
    content: {
      'application/json': { ...content, example: { error: { code: 'insufficient_scope', message } } },
    },
  }
}
