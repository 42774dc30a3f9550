import { setTimeout as startTimer } from 'node:timers'
import { setTimeout } from 'node:timers/promises'
import { errorFields, log } from '../log.ts'
import { EngineServer } from './engine.ts'
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
}

export interface Server {
  /** Resolves with the port (of use when 0 was asked for). */
  listen(host: string, port: number): Promise<number>
  /** Stops listening, lets running requests finish, then closes every connection; the deadline cuts it short. */
  drain(deadlineMs: number): Promise<void>
}

const FLUSH_MS = 50

/** The HTTP server: one table of routes, and everything of HTTP that routes should not have to know. */
export function createServer(routes: readonly Route[], options: ServerOptions = {}): Server {
  const engine = new EngineServer({ max_body_length: Number.MAX_SAFE_INTEGER, auto_close: false })
  const running = new Set<Exchange>()
  let idle = () => {}

  const surroundings = {
    find: createRouter(routes.map(servedRoute)),
    trustedHops: options.trustedHops ?? 0,
    draining: false,
    started: (exchange: Exchange) => void running.add(exchange),
    ended: (exchange: Exchange) => {
      running.delete(exchange)
      if (running.size === 0) idle()
    },
  }
  // One entry for all paths: the engine's own routing knows neither HEAD nor 405 and does not decode parameters.
  engine.any('/*', (request, response) => {
    new Exchange(request, response, surroundings).run()
  })
  // Exchanges answer their own errors; this is for what would break out of one.
  engine.set_error_handler((_request, response, error) => {
    log('error', 'exchange_failed', errorFields(error))
    response.status(500).send()
  })

  return {
    async listen(host, port) {
      if (port !== 0 && !options.sharedPort) await portIsFree(host, port)
      try {
        await engine.listen(port, host)
      } catch (error) {
        throw cannotListen(host, port, error)
      }
      return engine.port
    },

    async drain(deadlineMs) {
      surroundings.draining = true
      engine.close()
      if (running.size > 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        idle = resolve
        const timer = startTimer(resolve, deadlineMs)
        await promise
        clearTimeout(timer)
        // The last answer is still in the engine's hands: a close right now would take it back.
        await setTimeout(FLUSH_MS)
      }
      // Idle keep-alive connections would hold the process for as long as their timeout.
      engine.uws_instance.close()
    },
  }
}
