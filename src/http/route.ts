import type { Failure } from '../errors.ts'
import type { Reply, Surface } from './reply.ts'
import type { Request } from './request.ts'
import { parameterNames } from './router.ts'

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

export type Handler = (request: Request) => Reply | Promise<Reply>

/**
 * A handler in two steps: `admit` runs before the body is judged (so that 401, 403 and 429 come before 413 and 415)
 * and returns what handles the request once the body is there.
 */
export interface Admission {
  admit(request: Request): Handler | Promise<Handler>
}

export interface Route {
  /** Such as `/v1/segments/{id}`. */
  path: string
  /** HEAD follows from GET, and OPTIONS from the others where it is not given. */
  methods: Partial<Record<HttpMethod, Handler | Admission>>
  /** Bytes; a longer body is 413. */
  bodyLimit: number
  surface: Surface
  /** Runs before anything of a request is judged: headers that it sets are those of a refused method, too. */
  begin?(request: Request): void
  /** Its handlers read the body during their call, not after it: it is lent to them without a copy where it can be. */
  borrows?: boolean
  /** An empty value in its path is an invalid one, not another path. */
  takesEmpty?: boolean
  /** Status of a body with a Content-Encoding other than identity; 415 unless said. `handler`: its handler sees to it. */
  encodings?: 400 | 415 | 'handler'
  /** What a body over the limit is answered with; 413 with the limit unless said. */
  tooLarge?(): Failure
  /** What shows a failure to a person; what its surface answers unless given. */
  failed?(failure: Failure): Reply
}

/** A route with what is worked out once. */
export interface ServedRoute extends Route {
  names: readonly string[]
  /** Value of the Allow header. */
  allow: string
}

export function servedRoute(route: Route): ServedRoute {
  const given = Object.keys(route.methods)
  const implied = [
    ...(given.includes('GET') ? ['HEAD'] : []),
    ...(given.includes('OPTIONS') ? [] : ['OPTIONS']),
  ]
  return { ...route, names: parameterNames(route.path), allow: [...given, ...implied].join(', ') }
}
