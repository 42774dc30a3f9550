import { createAuthenticator, type Identified } from './access/authenticate.ts'
import { createCursors } from './access/cursor.ts'
import { openInvalidation } from './access/invalidation.ts'
import { type Counted, createLimits } from './access/limits.ts'
import { createOrigins } from './access/origin.ts'
import { serviceSecret } from './access/secret.ts'
import { serviceSeal } from './access/service-seal.ts'
import { openSignIn } from './access/sign-in/open.ts'
import type { App } from './app.ts'
import { createReceivers } from './connect/custom/receivers.ts'
import { createReceiver } from './connect/store/receive.ts'
import { openIngest } from './event/ingest.ts'
import { campaignPageRoutes } from './http/campaign-page.ts'
import { collectRoutes } from './http/collect.ts'
import { docsRoutes } from './http/docs.ts'
import { gatewayRoutes } from './http/gateway.ts'
import { ingestRoutes } from './http/ingest.ts'
import { linkRoutes } from './http/link.ts'
import { mcpRoutes } from './http/mcp.ts'
import { openapiRoutes } from './http/openapi.ts'
import { pixelRoutes } from './http/pixel.ts'
import { restRoutes } from './http/rest.ts'
import { createServer, type Route } from './http/server.ts'
import { signInRoutes } from './http/sign-in.ts'
import { storeRoutes } from './http/store.ts'
import { webhookRoutes } from './http/webhook.ts'
import { openLakes } from './lake/reader.ts'
import { openServed, SERVED_MEMORY_MB } from './lake/served.ts'
import { log } from './log.ts'
import { OPS } from './ops/all.ts'
import { missingOf } from './ready.ts'
import { openReading } from './segment/reading.ts'

/** Running requests get this long when the server stops. */
const DRAIN_MS = 10_000
/** Of each session over sources that a request opens; two are kept. */
const SESSION_MEMORY_MB = 1024
const LEAST_SESSION_MB = 256

/** How long the clients of a server that shares its port keep connections to it when it stops. */
const LINGER_MS = 1_000
/** Of the batches of events that wait, in all and of one brand, and of bodies that are being received. */
const WAITING_BYTES = 64 << 20
const BRAND_BYTES = 8 << 20
const RECEIVING_BYTES = 64 << 20

export interface ServerShare {
  /** This is one of so many servers that share the port, and the memory that one may use. Alone when absent. */
  oneOf?: number
}

export interface Served {
  port: number
  /** Stops accepting, finishes what runs, then returns. */
  stop(): Promise<void>
}

/** The HTTP side of one process: REST, the collect host and the health routes. */
export async function startServer(app: App, { oneOf }: ServerShare = {}): Promise<Served> {
  const { config, postgres } = app
  const seal = await serviceSeal(app)
  const share = (whole: number) => Math.ceil(whole / (oneOf ?? 1))
  const pipeline = { ...app.pipeline, memoryMb: Math.max(share(SESSION_MEMORY_MB), LEAST_SESSION_MB) }
  const served = openServed(pipeline, { memoryMb: share(SERVED_MEMORY_MB) })
  const lakes = openLakes(served, (brand, asked) => openReading(pipeline, brand, asked.past, asked))
  const invalidation = await openInvalidation(postgres)
  const signIn = await openSignIn({
    pipeline: postgres.pipeline,
    seal,
    baseUrl: config.baseUrl,
    lease: invalidation.lease,
  })
  const authenticator = createAuthenticator(postgres.pipeline, Date.now, invalidation.lease, signIn)
  invalidation.onChange(authenticator.forget)
  const origins = createOrigins(postgres.pipeline, Date.now, invalidation.lease)
  invalidation.onChange(origins.forget)
  const receivers = createReceivers(postgres.pipeline, seal, invalidation.lease)
  invalidation.onChange(receivers.forget)
  const limits = createLimits(postgres.pipeline)
  const room = { total: share(WAITING_BYTES), brand: share(BRAND_BYTES) }
  const ingest = await openIngest(postgres, { totalBytes: room.total, brandBytes: room.brand })
  const deps = {
    authenticate: authenticator.authenticate,
    db: postgres.forBrand,
    lake: lakes.forBrand,
    cursors: createCursors(await serviceSecret(postgres.pipeline, 'cursor', seal)),
    everywhere: invalidation.everywhere,
    seal,
    webhookUrl: config.webhookUrl,
    limit: config.rateLimits
      ? (op: Counted, { caller }: Identified) => limits.call(op, caller.id)
      : undefined,
    limitShared: config.rateLimits ? limits.shared : undefined,
    baseUrl: config.baseUrl,
  }
  const server = createServer(
    [
      ...healthRoutes(app),
      ...collectRoutes({ authenticator, ingest }),
      ...ingestRoutes({ origins, ingest, limit: config.rateLimits ? limits.collect : undefined }),
      ...pixelRoutes({ origins, limit: config.rateLimits ? limits.collect : undefined }),
      ...webhookRoutes({
        receivers,
        db: postgres.forBrand,
        storePlatformDomain: config.storePlatformDomain,
        room,
      }),
      ...storeRoutes(
        createReceiver({ postgres, seal, storePlatformDomain: config.storePlatformDomain }),
        room,
      ),
      ...gatewayRoutes({ postgres, seal, storePlatformDomain: config.storePlatformDomain }),
      ...linkRoutes({ postgres, limit: config.rateLimits ? limits.collect : undefined }),
      ...restRoutes(OPS, deps),
      ...mcpRoutes(OPS, deps),
      ...openapiRoutes(OPS, config),
      ...docsRoutes(),
      ...campaignPageRoutes({ signIn, db: postgres.forBrand }),
      ...signInRoutes({
        signIn,
        limit: config.rateLimits ? limits.anonymous : undefined,
        limitShared: config.rateLimits ? limits.shared : undefined,
        everywhere: invalidation.everywhere,
      }),
    ],
    {
      sharedPort: oneOf !== undefined,
      receivingBytes: share(RECEIVING_BYTES),
      trustedHops: config.trustedProxies,
    },
  )
  const stop = async () => {
    await server.drain(DRAIN_MS, oneOf === undefined ? 0 : LINGER_MS)
    await ingest.close()
    await authenticator.settled()
    await limits.close()
    await invalidation.close()
    await lakes.close()
    log('info', 'stopped')
  }
  const port = await server.listen(config.host, config.port).catch(async (error: unknown) => {
    // What is open would keep a process alive that serves nobody.
    await stop()
    throw error
  })
  log('info', 'listening', { host: config.host, port, base_url: config.baseUrl })
  return { port, stop }
}

function healthRoutes(app: App): Route[] {
  return [
    {
      path: '/healthz',
      surface: 'plain',
      bodyLimit: 0,
      methods: { GET: () => ({ status: 200, body: { ok: true } }) },
    },
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
