import { createAuthenticator } from '../src/access/authenticate.ts'
import { createOrigins } from '../src/access/origin.ts'
import { createIngest, openIngest } from '../src/event/ingest.ts'
import { collectRoutes } from '../src/http/collect.ts'
import { ingestRoutes } from '../src/http/ingest.ts'
import { createServer } from '../src/http/server.ts'
import { setLogLevel } from '../src/log.ts'
import { openPostgres } from '../src/store/postgres.ts'

// The collect host alone, as `recoup serve` runs it. With `discard` it parses and checks, and stores nothing.
setLogLevel('warn')
const [url = '', mode] = process.argv.slice(2)
const postgres = openPostgres(url)
const authenticator = createAuthenticator(postgres.pipeline)
const ingest =
  mode === 'discard'
    ? createIngest({ admit: () => {}, store: async () => {}, close: async () => {} })
    : await openIngest(postgres)
const origins = createOrigins(postgres.pipeline)
const server = createServer([
  ...collectRoutes({ authenticator, ingest }),
  ...ingestRoutes({ origins, ingest }),
])
const port = await server.listen('127.0.0.1', 0)

process.on('message', async (message) => {
  const { user, system } = process.cpuUsage()
  if (message === 'usage')
    process.send?.({ maxRss: process.resourceUsage().maxRSS * 1024, cpuMs: (user + system) / 1000 })
  if (message !== 'stop') return
  await server.drain(5_000)
  await ingest.close()
  await postgres.close()
  process.disconnect?.()
})
process.send?.({ port })
