import { setTimeout as startTimer } from 'node:timers'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { errorFields, log } from '../log.ts'
import { Receiving } from './body.ts'
import { engine, type ListenSocket, listenOn, OWN_PORT, SHARED_PORT } from './engine.ts'
import { Exchange } from './exchange.ts'
import { cannotListen, portIsFree } from './listen.ts'
import { type Route, servedRoute } from './route.ts'
import { createRouter } from './router.ts'

export { messageOnly, type Reply, type Surface } from './reply.ts'
export type { Request } from './request.ts'
export type { Admission, Handler, HttpMethod, Route } from './route.ts'

export interface ServerOptions {
  /** True when several processes of ours share the port; else a port that is taken is an error. */
  sharedPort?: boolean
  /** Proxies in front that append to X-Forwarded-For; 0: the peer is the client. */
  trustedHops?: number
  /** Most bytes of all bodies together that are being received. */
  receivingBytes?: number
}

export interface Server {
  /** Resolves with the port (of use when 0 was asked for). */
  listen(host: string, port: number): Promise<number>
  /**
   * Stops listening, lets running requests finish, then closes every connection; the deadline cuts it short. For so
   * long as `lingerMs` says connections in use get another answer that asks their client to take a new one.
   */
  drain(deadlineMs: number, lingerMs?: number): Promise<void>
}

const FLUSH_MS = 50
const RECEIVING_BYTES = 64 << 20
const LINGER_STEP_MS = 20
/** How long a short turn of the event loop is waited for, and how short. */
const QUIET_MS = 100
const SHORT_TURN_MS = 0.1

/** The HTTP server: one table of routes, and everything of HTTP that routes should not have to know. */
export function createServer(routes: readonly Route[], options: ServerOptions = {}): Server {
  const app = engine.App()
  let idle = () => {}
  let running = 0
  let connections = 0
  let listening: ListenSocket | false = false

  const surroundings = {
    find: createRouter(routes.map(servedRoute)),
    trustedHops: options.trustedHops ?? 0,
    receiving: new Receiving(options.receivingBytes ?? RECEIVING_BYTES),
    draining: false,
    started: () => {
      running++
    },
    ended: () => {
      running--
      if (running === 0) idle()
    },
  }
  // One entry for all paths: the engine's own routing knows neither HEAD nor 405 and does not decode parameters.
  app.any('/*', (response, request) => {
    try {
      new Exchange(request, response, surroundings).run()
    } catch (error) {
      // Exchanges answer their own errors; this is for what would break out of one.
      log('error', 'exchange_failed', errorFields(error))
      response.close()
    }
  })
  const count = (_response: unknown, change: unknown) => {
    connections += Number(change)
  }
  app.filter(count)

  return {
    async listen(host, port) {
      listening = listenOn(app, host, port, options.sharedPort ? SHARED_PORT : OWN_PORT)
      if (!listening) {
        // The engine does not say why.
        await portIsFree(host, port)
        throw cannotListen(host, port, 'the system gives no socket')
      }
      return engine.us_socket_local_port(listening)
    },

    async drain(deadlineMs, lingerMs = 0) {
      // Where others share the port, not while this socket takes connections: a client that is asked to connect anew
      // would meet it right before it closes.
      surroundings.draining = lingerMs === 0
      await shortTurn()
      if (listening) engine.us_listen_socket_close(listening)
      surroundings.draining = true
      const lingered = performance.now() + Math.min(lingerMs, deadlineMs)
      while (connections > 0 && performance.now() < lingered) await setTimeout(LINGER_STEP_MS)
      if (running > 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        idle = resolve
        const timer = startTimer(resolve, deadlineMs)
        await promise
        clearTimeout(timer)
        // The last answer is still in the engine's hands: a close right now would take it back.
        await setTimeout(FLUSH_MS)
      }
      // Idle keep-alive connections would hold the process for as long as their timeout.
      app.close()
    },
  }
}

/**
 * Resolves right after a short turn of the event loop: all connections but those of that moment were accepted then.
 * One that the kernel holds for a socket that is closed is reset, also when another process listens on the port.
 */
async function shortTurn(): Promise<void> {
  const deadline = performance.now() + QUIET_MS
  for (let began = performance.now(); began < deadline; ) {
    await setImmediate()
    const now = performance.now()
    if (now - began < SHORT_TURN_MS) return
    began = now
  }
}
