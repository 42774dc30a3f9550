import type { Config } from '../../config.ts'
import type { Op } from '../../op.ts'
import { ABOUT } from './about.ts'
import { collectDocumented } from './collect.ts'
import { Components } from './components.ts'
import { gatewayDocumented } from './gateway.ts'
import { ingestDocumented } from './ingest.ts'
import { linkDocumented } from './link.ts'
import { operation } from './operation.ts'
import { signInDocumented } from './sign-in.ts'
import { storeDocumented } from './store.ts'
import { tagObjects } from './tags.ts'
import { webhookDocumented } from './webhook.ts'

/** A public route that is no operation. */
export interface DocumentedRoute {
  route: string
  host: 'base' | 'cdp' | 'webhook'
  /** An operation object of OpenAPI. */
  operation: { operationId: string; tags: string[]; responses: object; [field: string]: unknown }
}

/** Public routes that no operation declares; each part of them documents its own. */
const OTHERS: readonly ((components: Components) => DocumentedRoute[])[] = [
  collectDocumented,
  gatewayDocumented,
  ingestDocumented,
  linkDocumented,
  signInDocumented,
  storeDocumented,
  webhookDocumented,
]

export type Origins = Pick<Config, 'baseUrl' | 'cdpUrl' | 'webhookUrl'>

/** The OpenAPI 3.1 document of these operations and of the public routes beside them; plain JSON. */
export function openapiDocument(
  ops: readonly Op[],
  origins: Origins,
  version: string,
): Record<string, unknown> {
  const components = new Components(origins.baseUrl)
  const routes: DocumentedRoute[] = ops.flatMap((op) =>
    op.route
      ? {
          route: op.route,
          host: op.surface === 'cdp' ? ('cdp' as const) : ('base' as const),
          operation: operation(op, components) as DocumentedRoute['operation'],
        }
      : [],
  )
  routes.push(...OTHERS.flatMap((documented) => documented(components)))
  const used = new Set(routes.flatMap((route) => route.operation.tags))
  const document = {
    openapi: '3.1.0',
    info: { title: 'Recoup API', version, description: ABOUT },
    servers: [{ url: origins.baseUrl, description: 'REST' }],
    tags: tagObjects(used),
    paths: pathsOf(routes, origins),
    components,
  }
  return JSON.parse(JSON.stringify(document))
}

function pathsOf(routes: readonly DocumentedRoute[], origins: Origins): Record<string, object> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { route, host, operation } of routes) {
    const [method, path] = route.split(' ') as [string, string]
    paths[path] ??= host === 'base' ? {} : { servers: [server(host, origins)] }
    paths[path][method.toLowerCase()] = operation
  }
  return paths
}

const server = (host: 'cdp' | 'webhook', { cdpUrl, webhookUrl }: Origins) =>
  host === 'cdp'
    ? { url: cdpUrl, description: 'Customer data and collection' }
    : { url: webhookUrl, description: 'Webhook receiver' }
