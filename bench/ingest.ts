import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createKey } from '../src/access/key.ts'
import { table } from '../src/cli/table.ts'
import type { LoadOrder, LoadResult } from './generator.ts'
import { stage } from './stage.ts'

// Events over HTTP until they are committed, beside the same server that parses, checks and throws them away.
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    runs: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    only: { type: 'string' },
    json: { type: 'string' },
  },
})
const seconds = Number(values.seconds)
const connections = Number(values.connections)

const CASES = [
  { path: '/cdp/events', events: 50, bytes: 250 },
  { path: '/cdp/events', events: 50, bytes: 1_500 },
  { path: '/cdp/events', events: 1, bytes: 250 },
  { path: '/cdp/events', events: 1, bytes: 1_500 },
  { path: '/cdp/ingest', events: 1, bytes: 250 },
] as const
const ACKNOWLEDGED =
  'commit: 200 after COMMIT with fsync and synchronous_commit on; discard: 200 after parse and checks'
const MODES = ['commit', 'discard'] as const

interface Measured {
  mode: (typeof MODES)[number]
  path: string
  events_per_request: number
  event_bytes: number
  events_per_second: number
  requests_per_second: number
  p50_ms: number
  p99_ms: number
  not_2xx: number
  server_max_rss_mb: number
  server_cores: number
  generator_cores: number
}

const { app, brand, end } = await stage()
try {
  const { plaintext: key } = await createKey(app.postgres.forBrand(brand.id), { scopes: ['customers:read'] })
  const senders = {
    '/cdp/events': { headers: { authorization: `Bearer ${key}` } },
    '/cdp/ingest': { headers: { origin: `https://${brand.shop_domain}` }, scope: brand.shop_domain },
  }
  const measured: Measured[] = []
  for (const { path, events, bytes } of CASES) {
    for (const mode of MODES) {
      if (values.only && values.only !== `${mode}-${path.slice(5)}-${events}-${bytes}`) continue
      measured.push(await measure(app.postgres.url, mode, { ...senders[path], path, events, bytes }))
      process.stderr.write(
        `${mode}, ${path}, ${events} × ${bytes} bytes: ${measured.at(-1)?.events_per_second} events/s\n`,
      )
    }
  }
  const [stored] = await app.postgres.sql<
    { events: number }[]
  >`select coalesce(sum(event_count), 0)::float8 as events from event_log`
  print(measured, stored?.events ?? 0)
  if (values.json)
    writeFileSync(
      values.json,
      `${JSON.stringify({ command: command(), cpus: cpus().length, acknowledged: ACKNOWLEDGED, results: measured }, null, 2)}\n`,
    )
  if (measured.some((row) => row.not_2xx > 0)) process.exitCode = 1
} finally {
  await end()
}

/** A server of its own, warmed up; the median run by requests. */
async function measure(
  url: string,
  mode: Measured['mode'],
  load: Pick<LoadOrder, 'headers' | 'scope'> & { path: string; events: number; bytes: number },
): Promise<Measured> {
  const server = fork(join(import.meta.dirname, 'ingest-server.ts'), [url, mode])
  try {
    const [{ port }] = (await once(server, 'message')) as [{ port: number }]
    const order: LoadOrder = {
      url: `http://127.0.0.1:${port}${load.path}`,
      headers: load.headers,
      scope: load.scope,
      connections,
      seconds: 2,
      eventsPerRequest: load.events,
      eventBytes: load.bytes,
    }
    await generate(order)
    const before = await usage(server)
    const started = performance.now()
    const runs: LoadResult[] = []
    for (let run = 0; run < Number(values.runs); run++) runs.push(await generate({ ...order, seconds }))
    const after = await usage(server)
    const median = runs.toSorted((a, b) => a.requests / a.seconds - b.requests / b.seconds)[
      Math.floor(runs.length / 2)
    ] as LoadResult
    const perSecond = median.requests / median.seconds
    return {
      mode,
      path: load.path,
      events_per_request: load.events,
      event_bytes: load.bytes,
      events_per_second: Math.round(perSecond * load.events),
      requests_per_second: Math.round(perSecond),
      p50_ms: median.p50,
      p99_ms: median.p99,
      not_2xx: runs.reduce((sum, run) => sum + run.failed, 0),
      server_max_rss_mb: Math.round(after.maxRss / 1e6),
      server_cores: Math.round(((after.cpuMs - before.cpuMs) / (performance.now() - started)) * 100) / 100,
      generator_cores: Math.round(median.cpu * 100) / 100,
    }
  } finally {
    server.send('stop')
    await once(server, 'exit')
  }
}

async function usage(server: ChildProcess): Promise<{ maxRss: number; cpuMs: number }> {
  server.send('usage')
  const [answer] = await once(server, 'message')
  return answer
}

async function generate(order: LoadOrder): Promise<LoadResult> {
  const generator = fork(join(import.meta.dirname, 'generator.ts'))
  generator.send(order)
  const [{ result, error }] = (await once(generator, 'message')) as [{ result?: LoadResult; error?: string }]
  await once(generator, 'exit')
  if (!result) throw new Error(`the generator failed: ${error}`)
  return result
}

function print(rows: readonly Measured[], stored: number): void {
  const header = [
    'server',
    'path',
    'events/request',
    'bytes/event',
    'events/s',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'not 2xx',
    'max RSS MB',
    'server cores',
    'generator cores',
  ]
  const cells = rows.map((row) => Object.values(row))
  process.stdout.write(`${command()}\n`)
  process.stdout.write(
    `autocannon 9 on the same ${cpus().length} cores, ${connections} keep-alive connections, unique events, median of ${values.runs} runs\n`,
  )
  process.stdout.write(`${ACKNOWLEDGED}\n${table(header, cells)}\n${stored} events are in event_log\n`)
}

function command(): string {
  return `node bench/ingest.ts --seconds ${seconds} --runs ${values.runs} --connections ${connections}`
}
