import { openApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { setLogLevel } from '../src/log.ts'
import { startServer } from '../src/serve.ts'

// The service as `recoup serve` runs it, over a data folder that is there; without rate limits.
setLogLevel('error')
const [dataDir = ''] = process.argv.slice(2)
const app = await openApp(readConfig({ DATA_DIR: dataDir, PORT: '0', RATE_LIMITS: 'off' }))
const served = await startServer(app)

process.on('message', async (message) => {
  const { user, system } = process.cpuUsage()
  const maxRss = process.resourceUsage().maxRSS * 1024
  if (message === 'usage')
    process.send?.({ rss: process.memoryUsage.rss(), maxRss, cpuMs: (user + system) / 1000 })
  if (message !== 'stop') return
  await served.stop()
  await app.close()
  process.disconnect?.()
})
process.send?.({ port: served.port })
