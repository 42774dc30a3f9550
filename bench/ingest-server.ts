import { createAuthenticator } from '../src/access/authenticate.ts'
import { createOrigins } from '../src/access/origin.ts'
import type { BatcherOptions } from '../src/event/batcher.ts'
import { createIngest, type Ingest, openIngest } from '../src/event/ingest.ts'
import { collectRoutes } from '../src/http/collect.ts'
import { ingestRoutes } from '../src/http/ingest.ts'
import { createServer } from '../src/http/server.ts'
import { setLogLevel } from '../src/log.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { openRows } from './rows.ts'

// The collect host alone, as `recoup serve` runs it. With `discard` it parses and checks, and stores nothing; with
// `rows` each event is a row of Postgres.
setLogLevel('error')
const [url = '', mode = 'commit', settings = '{}'] = process.argv.slice(2)
const postgres = openPostgres(url)
const authenticator = createAuthenticator(postgres.pipeline)
const ingest = await openMode()
const origins = createOrigins(postgres.pipeline)
const server = createServer([
  ...collectRoutes({ authenticator, ingest }),
  ...ingestRoutes({ origins, ingest }),
])
const port = await server.listen('127.0.0.1', 0)

async function openMode(): Promise<Ingest> {
  if (mode === 'discard')
    return createIngest({ admit: () => () => {}, store: async () => {}, close: async () => {} })
  if (mode === 'rows') return createIngest(await openRows(postgres))
  return await openIngest(postgres, JSON.parse(settings) as BatcherOptions)
}

process.on('message', async (message) => {
  const { user, system } = process.cpuUsage()
  const maxRss = process.resourceUsage().maxRSS * 1024
  if (message === 'usage')
    process.send?.({ rss: process.memoryUsage.rss(), maxRss, cpuMs: (user + system) / 1000 })
  if (message !== 'stop') return
  await server.drain(5_000)
  await ingest.close()
  await postgres.close()
  process.disconnect?.()
})
process.send?.({ port })
