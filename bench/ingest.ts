import { cpus } from 'node:os'
import { join } from 'node:path'
import { createKey } from '../src/access/key.ts'
import { type Host, type Mode, startCollectHost } from './collect-host.ts'
import type { LoadOrder, LoadResult } from './generator.ts'
import { closedLoad, type Generator, generators, pacedLoad } from './loads.ts'
import { options } from './options.ts'
import { progress, RESULTS, report, rounded } from './report.ts'
import { stage } from './stage.ts'
import { useLog } from './used-log.ts'

// Events over HTTP until they are committed, beside the same server that parses, checks and throws them away, and one
// that stores each event as a row. Then half of the peak rate by an open-loop generator, for its latency.
const { values } = options({
  options: {
    seconds: { type: 'string', default: '4' },
    runs: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    only: { type: 'string' },
    json: { type: 'string', default: join(RESULTS, 'ingest.json') },
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
  { path: '/cdp/ingest', events: 1, bytes: 1_500 },
] as const
const MODES: readonly Mode[] = ['commit', 'discard', 'rows']
const SAYS = `${connections} keep-alive connections, ${cpus().length} cores with the generator on them, unique bodies, median of ${values.runs} runs.
commit: 2xx after COMMIT with fsync and synchronous_commit on; discard: 2xx after parse and checks; rows: as commit,
with a Postgres row per event. Half: p99 at half of that rate, sent on a fixed schedule (by wrk where it is installed);
fixed: at 85,000 events/s in requests of 50, 12,500/s in single ones, however fast the machine is.`
/** Events of 250 bytes a second, by events a request. */
const FIXED = { 50: 85_000, 1: 12_500 } as const

interface Measured {
  server: Mode
  generator: Generator
  path: string
  events_per_request: number
  event_bytes: number
  events_per_second: number
  requests_per_second: number
  p50_ms: number
  p99_ms: number
  half_p99_ms: number | null
  fixed_p99_ms: number | null
  not_2xx: number
  max_rss_mb: number
  server_cores: number
}

type Case = (typeof CASES)[number]
const { app, brand, dataDir, end } = await stage()
try {
  await useLog(dataDir)
  const { plaintext: key } = await createKey(app.postgres.forBrand(brand.id), { scopes: ['customers:read'] })
  const senders = {
    '/cdp/events': { headers: { authorization: `Bearer ${key}` } },
    '/cdp/ingest': {
      headers: { origin: `https://${brand.shop_domain}` },
      scope: brand.shop_domain ?? undefined,
    },
  }
  const [first] = generators()
  if (first !== 'wrk') progress('wrk is not installed: measured with autocannon, whose own cost is greater')
  const measured: Measured[] = []
  for (const one of CASES) {
    for (const mode of MODES) {
      const name = `${mode}-${one.path.slice(5)}-${one.events}-${one.bytes}`
      if (values.only && !name.startsWith(values.only)) continue
      // Rows are there for comparison only: with one generator, for the smaller events.
      if (mode === 'rows' && one.bytes > 250) continue
      const by = mode === 'rows' ? generators().slice(0, 1) : generators()
      for (const row of await measure(mode, one, senders[one.path], by)) {
        measured.push(row)
        progress(`${row.generator}, ${name}: ${row.events_per_second} events/s`)
      }
    }
  }
  const command = `node bench/ingest.ts --seconds ${seconds} --runs ${values.runs} --connections ${connections}`
  report({ command, says: SAYS, json: values.json }, measured)
  if (measured.some((row) => row.not_2xx > 0)) process.exitCode = 1
} finally {
  await end()
}

/** A server of its own for each generator, warmed up. */
async function measure(
  mode: Mode,
  { path, events, bytes }: Case,
  sender: Pick<LoadOrder, 'headers' | 'scope'>,
  by: readonly Generator[],
): Promise<Measured[]> {
  const rows: Measured[] = []
  for (const generator of by) {
    const server = await startCollectHost(app.postgres.url, mode)
    try {
      const shape = { ...sender, eventsPerRequest: events, eventBytes: bytes }
      const order = { ...shape, url: `http://127.0.0.1:${server.port}${path}`, connections, seconds }
      await closedLoad(generator, { ...order, seconds: 2 })
      const { median, failed, cores } = await runs(server, generator, order)
      const perSecond = median.requests / median.seconds
      const p99At = async (rate: number) => rounded((await pacedLoad(order, rate)).p99, 1)
      const isCommit = mode === 'commit'
      rows.push({
        server: mode,
        generator,
        path,
        events_per_request: events,
        event_bytes: bytes,
        events_per_second: rounded(perSecond * events),
        requests_per_second: rounded(perSecond),
        p50_ms: rounded(median.p50, 1),
        p99_ms: rounded(median.p99, 1),
        half_p99_ms: isCommit ? await p99At(perSecond / 2) : null,
        fixed_p99_ms: isCommit && bytes === 250 ? await p99At(FIXED[events] / events) : null,
        not_2xx: failed,
        max_rss_mb: rounded((await server.usage()).maxRss / 1e6),
        server_cores: rounded(cores, 2),
      })
    } finally {
      await server.stop()
    }
  }
  return rows
}

async function runs(server: Host, generator: Generator, order: LoadOrder) {
  const before = await server.usage()
  const started = performance.now()
  const all: LoadResult[] = []
  for (let run = 0; run < Number(values.runs); run++) all.push(await closedLoad(generator, order))
  const cores = ((await server.usage()).cpuMs - before.cpuMs) / (performance.now() - started)
  const sorted = all.toSorted((a, b) => a.requests / a.seconds - b.requests / b.seconds)
  const median = sorted[Math.floor(all.length / 2)] as LoadResult
  return { median, cores, failed: all.reduce((sum, run) => sum + run.failed, 0) }
}
