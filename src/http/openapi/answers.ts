import { type Code, publicCode, STATUS } from '../../errors.ts'
import type { JsonSchema } from '../json-schema.ts'
import type { Components } from './components.ts'

/** A response object of OpenAPI, or a reference to one. */
export type Answer = Record<string, unknown>

const WHEN: Partial<Record<Code, string>> = {
  bad_request:
    'The request is malformed: an invalid id, filter, cursor, parameter or body, or an unknown field. The message names it.',
  payload_too_large: 'The body is too large.',
  unsupported_media_type: 'The body is not JSON, or has a Content-Encoding.',
  unauthorized: 'No credential, or an unknown, revoked or expired one.',
  legacy_credential_not_supported: 'A retired `svc_live_` credential.',
  insufficient_scope:
    'The credential lacks a scope, the operation needs a sign-in, or the brand lacks a feature.',
  forbidden:
    'The credential is of the wrong kind or role, the brand lacks a feature, or a cursor is of another brand.',
  beta_not_enabled: 'The brand does not have the feature `beta:cdp-commerce`.',
  integration_not_connected: 'No store is connected to the brand.',
  not_found: 'Nothing of the brand has this id.',
  conflict: 'It conflicts with the current state.',
  limit_reached:
    'A fixed limit of the brand is reached; trying again does not help until something is removed.',
  rate_limited: 'Too many requests. Wait as long as `Retry-After` says.',
  internal: 'An unexpected error. Try again with exponential backoff and jitter.',
  upstream_error: 'A system behind this one failed. Try again with exponential backoff and jitter.',
  unavailable: 'Temporarily unavailable. Try again with exponential backoff and jitter.',
  upstream_unavailable: 'Temporarily unavailable. Try again with exponential backoff and jitter.',
}

const EXAMPLES: Partial<Record<Code, string>> = {
  bad_request: 'limit must be at most 500',
  payload_too_large: 'The body must be at most 1 MB',
  unsupported_media_type: 'Content-Type must be application/json',
  unauthorized: 'The credential is unknown, revoked or expired',
  insufficient_scope: 'This operation needs the scope segments:read',
  forbidden: 'The brand does not have the feature cdp',
  beta_not_enabled: 'The brand does not have the feature beta:cdp-commerce',
  integration_not_connected: 'No store is connected to this brand',
  not_found: 'There is nothing with this id',
  conflict: 'An active segment is named "Big spenders" already.',
  rate_limited: 'Too many requests: try again in 2 seconds',
  internal: 'Something went wrong on our side. Quote the request id when you report it.',
  upstream_error: 'The store did not answer',
  unavailable: 'The service is temporarily unavailable. Try again with backoff.',
  upstream_unavailable: 'The service is temporarily unavailable. Try again with backoff.',
}

const HEADERS: Record<number, Record<string, unknown>> = {
  401: { 'WWW-Authenticate': { schema: { type: 'string' }, description: 'How to authenticate.' } },
  429: { 'Retry-After': { schema: { type: 'integer', minimum: 1 }, description: 'Seconds to wait.' } },
}

/** The answers of these codes by status, as references to shared responses. */
export function errorAnswers(codes: readonly Code[], components: Components): Record<string, Answer> {
  const byStatus = Map.groupBy(new Set(codes), (code) => STATUS[code])
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, group]) => [
        String(status),
        components.response(group.map(pascal).join('Or'), () => errorAnswer(group, components)),
      ]),
  )
}

/** The answer of codes that share a status; `beside` are fields that may stand beside `error`. */
export function errorAnswer(
  codes: readonly Code[],
  components: Components,
  beside: Record<string, JsonSchema> = {},
): Answer {
  const [first] = codes as [Code]
  const shown = [...new Set(codes.map(publicCode))]
  return {
    description: codes.map((code) => `\`${publicCode(code)}\`: ${WHEN[code] ?? pascal(code)}`).join('\n\n'),
    headers: { ...components.requestId(), ...HEADERS[STATUS[first]] },
    content: {
      'application/json': {
        schema: errorSchema(shown, beside),
        example: { error: { code: publicCode(first), message: EXAMPLES[first] ?? WHEN[first] ?? first } },
      },
    },
  }
}

const errorSchema = (codes: readonly string[], beside: Record<string, JsonSchema>): JsonSchema => ({
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        code: { type: 'string', enum: codes },
        message: { type: 'string', description: 'For people; it can change.' },
      },
      required: ['code', 'message'],
    },
    ...beside,
  },
  required: ['error'],
})

const pascal = (code: string) => code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
