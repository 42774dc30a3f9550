import { createRequire } from 'node:module'

export type { Request as EngineRequest, Response as EngineResponse, Server as Engine } from 'hyper-express'

// The native engine reads this once, when it is loaded, so it cannot be an import: the default of 4,096 bytes
// of headers is less than a sign-in token behind proxies takes.
process.env.UWS_HTTP_MAX_HEADERS_SIZE = '16384'

export const { Server: EngineServer } = createRequire(import.meta.url)(
  'hyper-express',
) as typeof import('hyper-express')
