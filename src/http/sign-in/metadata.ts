import { API_SCOPES } from '../../access/sign-in/provider.ts'
import { audiences } from '../../access/sign-in/token.ts'
import type { Route } from '../server.ts'
import { openly, PREFLIGHT } from './cors.ts'

const PATH = '/.well-known/oauth-protected-resource'

/** Where clients learn who signs users in, at the root and under the path of MCP. */
export function resourceRoutes(issuer: string): Route[] {
  const [resource] = audiences(issuer)
  const body = {
    // At both paths the address of MCP, which is what clients compare it with.
    resource,
    authorization_servers: [issuer],
    scopes_supported: API_SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: 'Recoup',
    resource_documentation: `${issuer}/docs`,
  }
  const headers = { 'cache-control': 'public, max-age=3600' }
  return [PATH, `${PATH}/mcp`].map((path) => ({
    path,
    surface: 'plain',
    begin: openly,
    bodyLimit: 0,
    methods: { GET: () => ({ status: 200, headers, body }), OPTIONS: PREFLIGHT },
  }))
}
