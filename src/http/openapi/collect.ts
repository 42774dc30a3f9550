import { LEAST_DIGITS } from '../../event/check.ts'
import { NO_IDS } from '../../event/id.ts'
import { MAX_EVENTS, MAX_ID, MAX_NAME } from '../../event/shape.ts'
import type { JsonSchema } from '../json-schema.ts'
import { type Answer, errorAnswer, errorAnswers } from './answers.ts'
import type { Components } from './components.ts'
import type { DocumentedRoute } from './document.ts'

const identifier = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: ['string', 'null'],
  minLength: 1,
  maxLength: MAX_NAME,
  description,
  ...more,
})

const NO_ID = `None of ${NO_IDS.map((word) => `\`${word}\``).join(', ')} in any case: leave it out where there is none.`

export const EVENT: JsonSchema = {
  type: 'object',
  description:
    'What happened, and to whom: at least one of profileId, anonymousId, email, phone and storeCustomerId. The API key decides whose event it is, so `scope`, `shopDomain` and `source` are refused.',
  properties: {
    eventType: {
      type: 'string',
      pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
      description: 'A built-in type such as `product_viewed`, or one of your own.',
    },
    eventId: identifier('Your id of the event. Repeats are dropped, within 14 days of the first.', {
      maxLength: MAX_ID,
    }),
    timeStamp: {
      type: ['string', 'null'],
      format: 'date-time',
      description:
        'When it happened; the time of receipt unless given. At most 24 hours ahead and 1,095 days back.',
    },
    properties: {
      type: 'object',
      description: 'Details of the event. Unknown names are kept.',
      additionalProperties: {},
    },
    profileId: identifier(`A customer id of this service. ${NO_ID}`),
    anonymousId: identifier(`The id of a visitor. ${NO_ID}`),
    email: identifier('An email address.'),
    phone: identifier(
      `A phone number, best in E.164 form; of at least ${LEAST_DIGITS} digits where nothing else says who it is.`,
    ),
    storeCustomerId: identifier(
      `The store's id of the customer, also as \`gid://shopify/Customer/1\`; not the id of anything else. ${NO_ID}`,
      { type: ['string', 'integer', 'null'] },
    ),
  },
  required: ['eventType', 'properties'],
  additionalProperties: false,
}

export const REJECTED: JsonSchema = {
  type: 'array',
  description: 'The events that are wrong, with the path to each problem.',
  items: {
    type: 'object',
    properties: {
      index: { type: 'integer', description: 'Position in `events`.' },
      path: { type: 'string', examples: ['events[3].scope'] },
      message: { type: 'string' },
    },
    required: ['index', 'path', 'message'],
  },
}

const MESSAGE: JsonSchema = {
  type: 'object',
  properties: { message: { type: 'string' } },
  required: ['message'],
}

/** The answers without an error code: `{ message }` and no X-Request-Id. */
export const messageOnly = (description: string, message: string): Answer => ({
  description,
  content: { 'application/json': { schema: MESSAGE, example: { message } } },
})

/** 503 with an `error` object, or with a message only when it is unknown what was stored. */
export function unavailable(components: Components): Answer {
  const partial = {
    accepted: { type: 'integer', description: 'How many events were stored.' },
    failed: {
      type: 'array',
      items: { type: 'integer' },
      description: 'Positions in `events`: send only these again.',
    },
  }
  const { headers: _, ...answer } = errorAnswer(['unavailable'], components, partial)
  const content = (answer.content as Record<string, { schema: JsonSchema; example: object }>)[
    'application/json'
  ]
  return {
    description:
      'Not all events were stored. With `failed`: send only those events again. With `error` and without `failed`: nothing was stored, send all again. With only `message`: it is unknown, and what is sent again may be recorded twice.',
    content: { 'application/json': { ...content, schema: { anyOf: [content?.schema, MESSAGE] } } },
  }
}

/** POST /cdp/events. */
export const collectDocumented = (components: Components): DocumentedRoute[] => [
  {
    route: 'POST /cdp/events',
    host: 'cdp',
    operation: {
      operationId: 'collect_events',
      tags: ['Data collection'],
      summary: 'Collect events',
      description: `Send up to ${MAX_EVENTS} events, at most 256 KB. Either all of them are valid or none is stored. They are in the lake, and in timelines, sessions and counts, within 60 seconds; in lists of customers, segments and insights after the next refresh.\n\nTakes any API key (\`svc_…\`) of a brand with customer-data features and a connected store.`,
      security: components.security('apiKey'),
      'x-scopes': [],
      'x-sign-in': false,
      'x-feature': 'cdp',
      'x-mcp-tool': false,
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: {
                events: {
                  type: 'array',
                  minItems: 1,
                  maxItems: MAX_EVENTS,
                  items: components.schema('Event', () => EVENT),
                },
              },
              required: ['events'],
              additionalProperties: false,
            },
            example: {
              events: [
                {
                  eventType: 'product_viewed',
                  eventId: 'pv-70241',
                  timeStamp: '2026-11-20T09:15:00Z',
                  email: 'ada@example.com',
                  properties: { product_id: '632910392', product_title: 'Linen shirt', price: '49.00' },
                },
              ],
            },
          },
        },
      },
      responses: {
        200: {
          description: 'All events are stored.',
          headers: components.requestId(),
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  accepted: { type: 'integer', minimum: 0, description: 'Events stored.' },
                  deduplicated: {
                    type: 'integer',
                    minimum: 0,
                    description:
                      'Events left out because an earlier one of the request has the same eventId.',
                  },
                },
                required: ['accepted', 'deduplicated'],
              },
              example: { accepted: 1, deduplicated: 0 },
            },
          },
        },
        400: errorAnswer(['bad_request'], components, { rejected: REJECTED }),
        ...errorAnswers(
          [
            'unauthorized',
            'legacy_credential_not_supported',
            'insufficient_scope',
            'payload_too_large',
            'internal',
          ],
          components,
        ),
        429: messageOnly(
          'Too many requests. Try again with exponential backoff and jitter.',
          'Too Many Requests',
        ),
        503: unavailable(components),
      },
    },
  },
]
