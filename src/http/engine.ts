import { createRequire } from 'node:module'

export type {
  HttpRequest as EngineRequest,
  HttpResponse as EngineResponse,
  us_listen_socket as ListenSocket,
} from 'uWebSockets.js'

// The engine reads this once, when it is loaded, so it cannot be an import: the default of 4,096 bytes of headers is
// less than a sign-in token behind proxies takes.
process.env.UWS_HTTP_MAX_HEADERS_SIZE = '16384'

export const engine = createRequire(import.meta.url)('uWebSockets.js') as typeof import('uWebSockets.js')
