import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { createSubjectCache } from '../../src/identity/cache.ts'
import { snapshotAll } from '../../src/lake/horizon.ts'
import type { Pipeline } from '../../src/lake/pipeline.ts'
import { snapshot } from '../../src/lake/snapshot.ts'
import type { Brand } from '../../src/op.ts'
import type { Embedded } from '../../src/store/embedded.ts'
import { migrate } from '../../src/store/migrate.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { brand as makeBrand } from '../fixtures/brand.ts'
import { cluster, emptyFolder } from '../fixtures/cluster.ts'
import { eventually } from '../fixtures/eventually.ts'
import { sourceRows } from '../fixtures/lake.ts'
import { proxy } from '../fixtures/proxy.ts'
import type { RandomSource } from '../fixtures/random.ts'
import { type Started, startRecoup } from '../fixtures/recoup.ts'
import { type Clients, startClients } from './clients.ts'
import { makeSender, type Sender, settings } from './doors.ts'
import { Journal } from './journal.ts'

/** A service of the test's own with two brands: Postgres, a proxy before it, servers, a worker's snapshots. */
export interface Stage {
  postgres: Embedded
  between: Awaited<ReturnType<typeof proxy>>
  pipeline: Pipeline
  /** Starts `recoup serve`, resolves when it listens. All share one port. */
  serve(): Promise<Started>
  /** One that runs already, or a new one. */
  server(): Promise<Started>
  /**
   * Runs the work while clients send events and the lake follows, waits until every door acknowledges again, and holds
   * the lake against what the clients were told.
   */
  during(t: Test, random: RandomSource, work: (clients: Clients) => Promise<void>): Promise<Clients>
}

const BRANDS = 2
const TICK_PAUSE_MS = 100

/** `prepare`: before there is a schema in the cluster. */
export async function openStage(
  t: Test,
  prepare: (postgres: Embedded) => Promise<void> = async () => {},
): Promise<Stage> {
  const postgres = await cluster(t)
  await prepare(postgres)
  await migrate(postgres.url)
  const between = await proxy(t, postgres.url)
  const [dataDir, port] = await Promise.all([emptyFolder(t), freePort()])
  const db = openPostgres(postgres.url)
  t.teardown(() => db.close())
  const brands: Brand[] = []
  for (let n = 0; n < BRANDS; n++) brands.push(await makeBrand({ postgres: db }, { features: ['cdp'] }))
  const { env, config } = settings({
    DATABASE_URL: between.url,
    DATA_DIR: dataDir,
    PORT: `${port}`,
    LOG_LEVEL: 'error',
  })
  const senders: Sender[] = []
  for (const brand of brands) senders.push(await makeSender(db, brand, config))
  const pipeline: Pipeline = {
    postgres: db,
    lakeDir: join(dataDir, 'lake'),
    storePlatformDomain: 'myshopify.com',
    subjects: createSubjectCache(),
    memoryMb: 512,
    threads: 1,
  }
  const journal = new Journal()

  const servers: Started[] = []
  const serve = async () => {
    const started = startRecoup(['serve', '--one-of', '1'], { env })
    t.teardown(async () => {
      started.child.kill('SIGKILL')
      await started.ended
    })
    started.child.on('exit', (code) => code && t.comment(started.output.stderr.slice(-3000)))
    const ended = started.ended.then(({ stderr }) => {
      throw new Error(`recoup serve ended: ${stderr}`)
    })
    await Promise.race([once(started.child, 'message'), ended])
    ended.catch(() => {})
    servers.push(started)
    return started
  }

  return {
    postgres,
    between,
    pipeline,
    serve,
    server: async () =>
      servers.find(({ child }) => child.exitCode === null && child.signalCode === null) ?? (await serve()),
    async during(t, random, work) {
      const url = `http://127.0.0.1:${port}`
      const clients = startClients(url, senders, journal, random)
      const follower = followLake(pipeline)
      const faults = async () => {
        await clients.served()
        await work(clients)
        await clients.served()
      }
      try {
        await Promise.race([faults(), clients.running])
      } finally {
        t.comment({ ...journal.counts(), ...Object.fromEntries(clients.seen), ...follower.seen() })
        await Promise.all([clients.stop(), follower.stop()])
      }
      await eventually(async () => (await snapshotAll(pipeline)) >= 0, { withinMs: 30_000 })
      for (const brand of brands) {
        const rows = await sourceRows<{ event_id: string; times: number }>(
          pipeline,
          brand,
          `select event_id, count(*)::integer as times from events group by all`,
        )
        journal.compare(t, brand.id, new Map(rows.map(({ event_id, times }) => [event_id, times])))
      }
      return clients
    },
  }
}

/** Takes ticks as a worker does, through whatever happens. */
function followLake(pipeline: Pipeline) {
  let running = true
  const seen = { ticks: 0, failed: 0 }
  const follow = async () => {
    while (running) {
      const report = await snapshot(pipeline).catch(() => null)
      if (report?.published) seen.ticks++
      if (!report) seen.failed++
      await pause(TICK_PAUSE_MS)
    }
  }
  const following = follow()
  return {
    seen: () => seen,
    stop: () => {
      running = false
      return following
    },
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}
