import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createKey } from '../src/access/key.ts'
import { CHECKOUT } from '../src/config.ts'
import { lakeLag } from '../src/lake/horizon.ts'
import { startCollectHost } from './collect-host.ts'
import { openLoad } from './loads.ts'
import { options } from './options.ts'
import { progress, RESULTS, report, rounded } from './report.ts'
import { stage } from './stage.ts'

// The rate that lasts: events at a fixed rate while a worker brings them into the lake, and how far that lags behind.
// Over minutes (--minutes 10) also whether the server's memory stays what it is.
const { values } = options({
  options: {
    rates: { type: 'string', default: '100000' },
    minutes: { type: 'string', default: '3' },
    json: { type: 'string', default: join(RESULTS, 'lag.json') },
  },
})
const seconds = Number(values.minutes) * 60
const EVENTS = 50
const ALLOWED_LAG_SECONDS = 60

const { app, brand, dataDir, end } = await stage()
const rows: object[] = []
try {
  const { plaintext } = await createKey(app.postgres.forBrand(brand.id), { scopes: ['customers:read'] })
  for (const rate of values.rates.split(',').map(Number)) rows.push(await measure(rate, plaintext))
} finally {
  await end()
}
const says = `${EVENTS} events of 250 bytes a request on a fixed schedule, recoup work beside it; at most ${ALLOWED_LAG_SECONDS} s of lag are allowed.
RSS of the server: means of the 2nd and 5th fifth of the time (minutes 2 to 4 and 8 to 10 of ten)`
const command = `node bench/lag.ts --rates ${values.rates} --minutes ${values.minutes}`
report({ command, says, json: values.json }, rows)

async function measure(rate: number, key: string): Promise<object> {
  const worker = spawn(process.execPath, [join(CHECKOUT, 'src/cli.ts'), 'work'], {
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'error',
      UV_THREADPOOL_SIZE: '16',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(worker, 'message')
  const server = await startCollectHost(app.postgres.url, 'commit')
  try {
    const headers = { authorization: `Bearer ${key}` }
    const senders = [{ name: 'all', headers, eventsPerRequest: EVENTS, eventBytes: 250, rate: rate / EVENTS }]
    const load = openLoad({ host: '127.0.0.1', port: server.port, path: '/cdp/events', seconds, senders })
    const lags: number[] = []
    const rss: number[] = []
    for (let second = 0; second < seconds; second++) {
      await pause(1_000)
      lags.push((await lakeLag(app.pipeline)).seconds)
      rss.push((await server.usage()).rss / 1e6)
      if (second % 10 === 9)
        progress(`${second + 1} s: lag ${rounded(lags.at(-1) ?? 0)} s, RSS ${rounded(rss.at(-1) ?? 0)} MB`)
    }
    const [result] = await load
    const fifth = Math.floor(seconds / 5)
    const mean = (from: number) =>
      rss.slice(from * fifth, (from + 1) * fifth).reduce((sum, one) => sum + one, 0) / fifth
    return {
      offered_events_per_second: rate,
      stored_events_per_second: rounded(((result?.ok ?? 0) * EVENTS) / seconds),
      refused: result?.refused,
      failed: (result?.failed ?? 0) + (result?.unsent ?? 0),
      p99_ms: result?.p99,
      most_lag_seconds: rounded(Math.max(...lags), 1),
      early_rss_mb: rounded(mean(1)),
      late_rss_mb: rounded(mean(4)),
      rss_growth: rounded(mean(4) / mean(1), 3),
    }
  } finally {
    await server.stop()
    worker.kill('SIGTERM')
    await once(worker, 'exit')
  }
}
