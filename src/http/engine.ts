import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js'
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

/** Whether other sockets that say so, too, may have the same port. */
export const [SHARED_PORT, OWN_PORT] = [0, 1]

/** The engine takes them for a host, too; its types do not know. */
interface ListensWith {
  listen(host: string, port: number, options: number, taken: (socket: us_listen_socket | false) => void): void
}

/** The socket; false when the port is taken. */
export function listenOn(app: TemplatedApp, host: string, port: number, options: number) {
  let listening: us_listen_socket | false = false
  const listens = app as unknown as ListensWith
  listens.listen(host, port, options, (socket) => {
    listening = socket
  })
  return listening as us_listen_socket | false
}
