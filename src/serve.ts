import { accessSync, constants } from 'node:fs'
import type { App } from './app.ts'
import { openIngest } from './event/batcher.ts'
import { collectRoutes } from './http/collect.ts'
import { restRoutes } from './http/rest.ts'
import { createServer, type Route } from './http/server.ts'
import { openLakes } from './lake/reader.ts'
import { openServed } from './lake/served.ts'
import { log } from './log.ts'
import { loadModels } from './model/graph.ts'
import { runModels } from './model/run.ts'
import { OPS } from './ops/all.ts'
import { pendingMigrations } from './store/migrate.ts'

/** Running requests get this long when the server stops. */
const DRAIN_MS = 10_000

export interface Served {
  port: number
  /** Stops accepting, finishes what runs, then returns. */
  stop(): Promise<void>
}

/** The HTTP side of one process: REST, the collect host and the health routes. */
export async function startServer(app: App): Promise<Served> {
  const models = await loadModels()
  const lakes = openLakes({ ...app.pipeline, memoryMb: 1024 }, openServed(app.pipeline), async ({ duck }) => {
    await runModels(duck.connection, models)
  })
  const ingest = await openIngest(app.postgres)
  const routes = [
    ...healthRoutes(app),
    ...collectRoutes({ postgres: app.postgres, ingest }),
    ...restRoutes(OPS, { postgres: app.postgres, lakes }),
  ]
  const server = createServer(routes)
  const port = await server.listen(app.config.host, app.config.port)
  log('info', 'listening', { host: app.config.host, port, base_url: app.config.baseUrl })
  return {
    port,
    stop: async () => {
      await server.drain(DRAIN_MS)
      await ingest.close()
      await lakes.close()
      log('info', 'stopped')
    },
  }
}

function healthRoutes(app: App): Route[] {
  return [
    { path: '/healthz', surface: 'plain', bodyLimit: 0, methods: { GET: () => ({ status: 200, body: { ok: true } }) } },
    {
      path: '/readyz',
      surface: 'plain',
      bodyLimit: 0,
      methods: {
        GET: async () => {
          const missing = await missingOf(app)
          return { status: missing.length ? 503 : 200, body: { ok: missing.length === 0, missing } }
        },
      },
    },
  ]
}

/** What keeps the service from its work, in words; empty when it is ready. */
export async function missingOf({ postgres, config }: App): Promise<string[]> {
  const missing: string[] = []
  try {
    const pending = await pendingMigrations(postgres.sql)
    if (pending.length) missing.push(`migrations ${pending.join(', ')}: run recoup migrate`)
  } catch {
    missing.push('postgres: does not answer')
  }
  try {
    accessSync(config.lakeDir, constants.W_OK)
  } catch {
    missing.push(`lake: ${config.lakeDir} is not writable`)
  }
  return missing
}
