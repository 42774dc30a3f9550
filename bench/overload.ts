import { join } from 'node:path'
import { createKey } from '../src/access/key.ts'
import { createBrand } from '../src/cli/brand.ts'
import connect from '../src/store/driver.ts'
import { adminUrl, readHome } from '../src/store/embedded/home.ts'
import { startCollectHost } from './collect-host.ts'
import { closedLoad, generators, openLoad } from './loads.ts'
import type { EventSender, OpenResult, OpenSender } from './open-loop.ts'
import { options } from './options.ts'
import { progress, RESULTS, report, rounded } from './report.ts'
import { stage } from './stage.ts'

// What a server does when more events arrive than it can store, by an open-loop generator: throughput and latency over
// offered load; goodput at three times the peak; and what one loud brand does to the others. For the last two the
// capacity is cut by a setting, so that the generator, on the same cores, can offer that much.
const { values } = options({
  options: {
    seconds: { type: 'string', default: '8' },
    only: { type: 'string' },
    results: { type: 'string', default: RESULTS },
  },
})
const seconds = Number(values.seconds)
const PATH = '/cdp/events'
const CURVE = [0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5]
/** Small batches, and a Postgres whose every commit takes this much longer. */
const BATCHES = { batchBytes: 16_384 }
const COMMIT_DELAY_MS = 20
const CUT = `capacity cut by batches of ${BATCHES.batchBytes >> 10} KB and commit_delay = ${COMMIT_DELAY_MS} ms`
/** Connections that fill every batch although a commit takes long. */
const MANY = 512
const OTHERS = 10
/** Of all that is offered in the run with the loud brand. */
const LOUD_SHARE = 0.95
const OVERLOAD = 3

const { app, brand, dataDir, end } = await stage()
const { url } = app.postgres
try {
  const wanted = (name: string) => !values.only || values.only === name
  if (wanted('curve')) await curve()
  await cutCapacity()
  if (wanted('overload')) await overload()
  if (wanted('fairness')) await fairness()
} finally {
  await end()
}

async function cutCapacity(): Promise<void> {
  const home = readHome(dataDir)
  if (!home) throw new Error('the embedded Postgres is not at home')
  const admin = connect(adminUrl(home), { max: 1 })
  await admin.unsafe(`alter system set commit_delay = ${COMMIT_DELAY_MS * 1_000}`)
  await admin`alter system set commit_siblings = 0`
  await admin`select pg_reload_conf()`
  await admin.end()
}

async function sender(brandId: string, name: string, eventsPerRequest: number): Promise<EventSender> {
  const { plaintext } = await createKey(app.postgres.forBrand(brandId), { scopes: ['customers:read'] })
  const headers = { authorization: `Bearer ${plaintext}` }
  return { name, headers, eventsPerRequest, eventBytes: 250, rate: 0 }
}

/** The most requests a second that clients get answered when each waits for its answer. */
async function peakOf(port: number, from: EventSender, connections: number): Promise<number> {
  const [generator = 'autocannon'] = generators()
  const order = { ...from, url: `http://127.0.0.1:${port}${PATH}`, connections }
  await closedLoad(generator, { ...order, seconds: 2 })
  const { requests, seconds: took } = await closedLoad(generator, { ...order, seconds })
  return requests / took
}

function offer(port: number, senders: readonly OpenSender[]): Promise<OpenResult[]> {
  return openLoad({ host: '127.0.0.1', port, path: PATH, seconds, senders: [...senders] })
}

async function curve(): Promise<void> {
  const from = await sender(brand.id, 'all', 50)
  const server = await startCollectHost(url, 'commit')
  const rows = []
  try {
    const peak = await peakOf(server.port, from, 64)
    for (const share of CURVE) {
      const [result] = (await offer(server.port, [{ ...from, rate: peak * share }])) as [OpenResult]
      rows.push({
        offered_events_per_second: rounded(peak * share * 50),
        stored_events_per_second: rounded((result.ok / seconds) * 50),
        p50_ms: result.p50,
        p99_ms: result.p99,
        refused: result.refused,
        failed: result.failed,
        unsent: result.unsent,
      })
      progress(`${rounded(share * 100)} % of the peak: ${JSON.stringify(rows.at(-1))}`)
    }
  } finally {
    await server.stop()
  }
  const says = '50 events of 250 bytes a request, sent on a fixed schedule; latency from when each was due'
  report({ command: command('curve'), says, json: join(values.results, 'curve.json') }, rows)
}

async function overload(): Promise<void> {
  const from = await sender(brand.id, 'all', 1)
  const server = await startCollectHost(url, 'commit', BATCHES)
  try {
    const peak = await peakOf(server.port, from, MANY)
    progress(`peak ${rounded(peak)} requests/s`)
    const [result] = (await offer(server.port, [{ ...from, rate: peak * OVERLOAD }])) as [OpenResult]
    // Without a restart or a pause: the load that is offered next is answered as before.
    const [after] = (await offer(server.port, [{ ...from, rate: peak / 2 }])) as [OpenResult]
    const row = {
      peak_per_second: rounded(peak),
      offered_per_second: rounded(result.offered / seconds),
      goodput_per_second: rounded(result.ok / seconds),
      goodput_share: rounded(result.ok / seconds / peak, 3),
      p99_ms: result.p99,
      refused: result.refused,
      failed: result.failed,
      unsent: result.unsent,
      half_after_p99_ms: after.p99,
      half_after_refused: after.refused + after.failed + after.unsent,
      max_rss_mb: rounded((await server.usage()).maxRss / 1e6),
    }
    const says = `${CUT}; single events of 250 bytes`
    report({ command: command('overload'), says, json: join(values.results, 'overload.json') }, [row])
  } finally {
    await server.stop()
  }
}

async function fairness(): Promise<void> {
  const loud = await sender(brand.id, 'loud', 1)
  const others: EventSender[] = []
  for (let n = 0; n < OTHERS; n++) {
    const other = await createBrand(app, { name: `Other ${n}`, shop_domain: `other-${n}.myshopify.com` })
    others.push(await sender(other.id, `other ${n}`, 1))
  }
  const server = await startCollectHost(url, 'commit', BATCHES)
  try {
    const all = (await peakOf(server.port, loud, MANY)) * OVERLOAD
    const quiet = others.map((one) => ({ ...one, rate: (all * (1 - LOUD_SHARE)) / OTHERS }))
    const rows = []
    for (const [run, senders] of [
      ['without the loud brand', quiet],
      ['with it', [...quiet, { ...loud, rate: all * LOUD_SHARE }]],
    ] as const) {
      const results = await offer(server.port, senders)
      const those = results.filter(({ name }) => name !== 'loud')
      const of = (pick: (one: OpenResult) => number) => those.map(pick).toSorted((a, b) => a - b)
      const sum = (pick: (one: OpenResult) => number) => of(pick).reduce((total, one) => total + one, 0)
      rows.push({
        run,
        offered_per_second: rounded(results.reduce((total, { offered }) => total + offered, 0) / seconds),
        others_offered: sum(({ offered }) => offered),
        others_ok: sum(({ ok }) => ok),
        others_median_p99_ms: of(({ p99 }) => p99)[OTHERS >> 1],
        others_worst_p99_ms: of(({ p99 }) => p99).at(-1),
        loud_ok: results.find(({ name }) => name === 'loud')?.ok ?? 0,
      })
      progress(JSON.stringify(rows.at(-1)))
    }
    const says = `${CUT}; one brand offers ${LOUD_SHARE * 100} % of three times the peak, ${OTHERS} others the rest`
    report({ command: command('fairness'), says, json: join(values.results, 'fairness.json') }, rows)
  } finally {
    await server.stop()
  }
}

function command(only: string): string {
  return `node bench/overload.ts --seconds ${seconds} --only ${only}`
}
