import { isDeepStrictEqual } from 'node:util'
import type { JsonSchema, Lift } from '../json-schema.ts'

/** Scopes are not roles of a scheme here, since any one of them is enough: see x-scopes. */
const SECURITY = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An API key (`svc_…`) of one brand, with the scopes chosen when it was created. Keep it on a server.',
  },
  signIn: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'An access token of a person who signed in (OAuth 2.1).',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'recoup_session',
    description: 'The session of the web app.',
  },
} as const

export type Scheme = keyof typeof SECURITY

/** What the document shares between operations; each part is there because something refers to it. */
export class Components {
  readonly #schemas: Record<string, JsonSchema> = {}
  readonly #responses: Record<string, object> = {}
  readonly #schemes: Partial<Record<Scheme, object>> = {}

  /** A reference to a named schema. Two different schemas of one name are a mistake. */
  readonly schema: Lift = (name, content) => {
    const made = content()
    if (name in this.#schemas && !isDeepStrictEqual(this.#schemas[name], made))
      throw new Error(`two different schemas are named ${name}`)
    this.#schemas[name] = made
    return { $ref: `#/components/schemas/${name}` }
  }

  response(name: string, content: () => object): { $ref: string } {
    this.#responses[name] ??= content()
    return { $ref: `#/components/responses/${name}` }
  }

  /** Alternatives: any one of the schemes is enough. */
  security(...schemes: Scheme[]): Record<string, []>[] {
    for (const scheme of schemes) this.#schemes[scheme] = SECURITY[scheme]
    return schemes.map((scheme) => ({ [scheme]: [] }))
  }

  requestId(): Record<string, object> {
    return { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } }
  }

  toJSON(): object {
    return {
      securitySchemes: this.#schemes,
      headers: {
        RequestId: {
          description: 'Id of the request: the X-Request-Id that was sent, or one of ours.',
          required: true,
          schema: { type: 'string', maxLength: 128 },
        },
      },
      responses: this.#responses,
      schemas: this.#schemas,
    }
  }
}
