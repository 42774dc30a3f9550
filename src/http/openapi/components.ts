import { isDeepStrictEqual } from 'node:util'
import { PATHS } from '../../access/sign-in/paths.ts'
import { sessionCookieName } from '../../access/sign-in/session.ts'
import type { JsonSchema, Lift } from '../json-schema.ts'
import { SCOPE_WORDS } from '../sign-in/words.ts'

const schemesAt = (baseUrl: string) => ({
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An API key (`svc_…`) of one brand, with the scopes chosen when it was created. Keep it on a server.',
  },
  signIn: {
    type: 'oauth2',
    description:
      'An access token of a person who signed in: OAuth 2.1 with PKCE. Clients register themselves or are known by the URL of their metadata document; see `/.well-known/oauth-authorization-server`.',
    flows: {
      authorizationCode: {
        authorizationUrl: baseUrl + PATHS.authorization,
        tokenUrl: baseUrl + PATHS.token,
        refreshUrl: baseUrl + PATHS.token,
        scopes: Object.fromEntries(Object.entries(SCOPE_WORDS).map(([scope, { says }]) => [scope, says])),
      },
    },
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookieName(baseUrl),
    description:
      'The session of the web app. What changes anything is taken from pages of the same origin only.',
  },
})

export type Scheme = keyof ReturnType<typeof schemesAt>

/** What the document shares between operations; each part is there because something refers to it. */
export class Components {
  readonly #schemas: Record<string, JsonSchema> = {}
  readonly #responses: Record<string, object> = {}
  readonly #schemes: Partial<Record<Scheme, object>> = {}
  readonly #known: Record<Scheme, object>

  constructor(baseUrl: string) {
    this.#known = schemesAt(baseUrl)
  }

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
  security(...schemes: Scheme[]): Record<string, string[]>[] {
    return this.callers([], schemes)
  }

  /** As `security`; of a sign-in any one of the scopes is enough. */
  callers(scopes: readonly string[], schemes: readonly Scheme[]): Record<string, string[]>[] {
    return schemes.flatMap((scheme) => {
      this.#schemes[scheme] = this.#known[scheme]
      const alternatives = scheme === 'signIn' && scopes.length > 0 ? scopes.map((scope) => [scope]) : [[]]
      return alternatives.map((listed) => ({ [scheme]: listed }))
    })
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
