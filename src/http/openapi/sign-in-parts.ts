import type { JsonSchema } from '../json-schema.ts'
import type { Answer } from './answers.ts'
import type { Components } from './components.ts'

/** The words in which the sign-in routes are documented: they answer by the standards of OAuth, or with pages. */

export const TEXT: JsonSchema = { type: 'string' }
export const URL: JsonSchema = { type: 'string', format: 'uri' }
export const TEXTS: JsonSchema = { type: 'array', items: TEXT }

/** An operation object without what all of them share. */
export interface Operation {
  summary: string
  description: string
  security?: Record<string, string[]>[]
  parameters?: object[]
  requestBody?: object
  responses: Record<string, Answer>
}

/** An object beside whose fields others may stand. */
export const object = (properties: Record<string, JsonSchema>, required: string[]): JsonSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: {},
})

/** A parameter of the query that a browser may come without: it is then told on a page. */
export const field = (name: string, description: string, schema: JsonSchema) => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
})

export const form = (properties: Record<string, JsonSchema>, required: string[]) => ({
  required: true,
  content: { 'application/x-www-form-urlencoded': { schema: object(properties, required) } },
})

type Answers = Record<string, Answer>

export function signInAnswers(components: Components) {
  const headers = components.requestId()
  const json = (
    description: string,
    schema: JsonSchema,
    example: object,
    type = 'application/json',
  ): Answer => ({ description, headers, content: { [type]: { schema, example } } })
  const flat = components.schema('OAuthError', () =>
    object({ error: TEXT, error_description: TEXT }, ['error']),
  )
  const refused = (error: string, description: string) =>
    json(description, flat, { error, error_description: description })
  const told = components.schema('PageError', () =>
    object({ error: object({ code: TEXT, message: TEXT }, ['code', 'message']) }, ['error']),
  )
  const location = { schema: TEXT, required: true, description: 'Where to.' }
  return {
    json,
    empty: (description: string): Answer => ({ description, headers }),
    redirect: (description: string): Answer => ({ description, headers: { ...headers, Location: location } }),

    /** Pages by status. What is wrong before a page is asked for is told as JSON. */
    page: (statuses: Record<number, string>): Answers =>
      Object.fromEntries(
        Object.entries(statuses).map(([status, description]) => [
          status,
          {
            description,
            headers,
            content: {
              'text/html': { schema: TEXT },
              ...(Number(status) >= 400 && { 'application/json': { schema: told } }),
            },
          },
        ]),
      ),

    /** What every endpoint of the protocol can answer; their errors are flat. */
    refusals: {
      400: refused('invalid_request', 'The request is malformed, or what it names is not valid.'),
      401: refused('invalid_client', 'The client could not be authenticated.'),
      413: refused('bad_request', 'The body is over 64 KB.'),
      415: refused('bad_request', 'The body has a Content-Encoding.'),
      429: refused('rate_limited', 'Too many requests. Wait as long as `Retry-After` says.'),
      500: refused('server_error', 'An unexpected error.'),
      503: refused('unavailable', 'Temporarily unavailable.'),
    } as Answers,
  }
}
