/** A path pattern's node: literal segments first, then the parameter. */
interface Node<R> {
  literals: Map<string, Node<R>>
  parameter?: Node<R>
  route?: R
}

export interface Match<R> {
  route: R
  /** Raw (still percent-encoded) values of the pattern's parameters, in order. */
  values: readonly string[]
}

const NONE: readonly string[] = []

/** Names in braces of a pattern such as `/v1/segments/{id}`. */
export const parameterNames = (pattern: string) =>
  [...pattern.matchAll(/\{(\w+)\}/g)].map((found) => String(found[1]))

/**
 * Finds the route of a path. A trailing slash, a double slash or an encoded literal is another path, but of a route that
 * says itself what is missing.
 */
export function createRouter<R extends { path: string; takesEmpty?: boolean }>(routes: readonly R[]) {
  const literal = new Map<string, Match<R>>()
  const root: Node<R> = { literals: new Map() }

  for (const route of routes) {
    if (literal.has(route.path)) throw new Error(`two routes for ${route.path}`)
    if (!route.path.includes('{')) {
      literal.set(route.path, { route, values: NONE })
      continue
    }
    let node = root
    for (const segment of route.path.slice(1).split('/')) {
      if (segment.startsWith('{')) {
        node.parameter ??= { literals: new Map() }
        node = node.parameter
      } else {
        const next: Node<R> = node.literals.get(segment) ?? { literals: new Map() }
        node.literals.set(segment, next)
        node = next
      }
    }
    if (node.route) throw new Error(`two routes for ${route.path}`)
    node.route = route
  }

  const find = (node: Node<R>, segments: string[], at: number, values: string[]): R | undefined => {
    if (at === segments.length) return node.route
    const segment = segments[at] as string
    const next = node.literals.get(segment)
    const route = next && find(next, segments, at + 1, values)
    if (route) return route
    if (!node.parameter) return undefined
    values.push(segment)
    const found = find(node.parameter, segments, at + 1, values)
    if (found && (segment !== '' || found.takesEmpty)) return found
    values.pop()
    return undefined
  }

  return (path: string): Match<R> | undefined => {
    const exact = literal.get(path)
    if (exact) return exact
    const values: string[] = []
    const route = find(root, path.slice(1).split('/'), 0, values)
    return route && { route, values }
  }
}
