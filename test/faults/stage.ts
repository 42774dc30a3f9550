import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { snapshotAll } from '../../src/lake/horizon.ts'
import { createPipeline, type Pipeline } from '../../src/lake/pipeline.ts'
import { snapshot } from '../../src/lake/snapshot.ts'
import type { Brand } from '../../src/op.ts'
import type { Embedded } from '../../src/store/embedded.ts'
import { migrate } from '../../src/store/migrate.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { brand as makeBrand } from '../fixtures/brand.ts'
import { cluster, emptyFolder } from '../fixtures/cluster.ts'
import { eventually } from '../fixtures/eventually.ts'
import { freePort } from '../fixtures/free-port.ts'
import { sourceRows } from '../fixtures/lake.ts'
import { proxy } from '../fixtures/proxy.ts'
import type { RandomSource } from '../fixtures/random.ts'
import { type Clients, startClients } from './clients.ts'
import { makeSender, type Sender, settings } from './doors.ts'
import { Journal, type Stored } from './journal.ts'
import { type Servers, serversOf } from './servers.ts'

/** A service of the test's own with two brands: Postgres, a proxy before it, servers, a worker's snapshots. */
export interface Stage extends Servers {
  postgres: Embedded
  between: Awaited<ReturnType<typeof proxy>>
  pipeline: Pipeline
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
  const pipeline = createPipeline({
    postgres: db,
    lakeDir: join(dataDir, 'lake'),
    storePlatformDomain: 'myshopify.com',
    memoryMb: 512,
    threads: 1,
  })
  const journal = new Journal()

  const url = `http://127.0.0.1:${port}`
  const servers = serversOf(t, url, env)

  return {
    postgres,
    between,
    pipeline,
    ...servers,
    async during(t, random, work) {
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
      await eventually(async () => (await snapshotAll(pipeline)) >= 0, { withinMs: 120_000 })
      for (const brand of brands) journal.compare(t, brand.id, await stored(pipeline, brand))
      return clients
    },
  }
}

/** What is stored of a brand: in the lake, and the records of its custom webhooks, which are in Postgres. */
async function stored(pipeline: Pipeline, brand: Brand): Promise<Stored> {
  const numbers = (rows: readonly { name: string; number: number }[]) =>
    new Map(rows.map(({ name, number }) => [name, number]))
  const inLake = async (select: string) =>
    numbers(await sourceRows<{ name: string; number: number }>(pipeline, brand, select))
  const records = await pipeline.postgres.sql<{ name: string; number: number }[]>`
    select external_id as name, (data ->> 'points')::integer as number from custom_event
    where brand_id = ${brand.id}`
  return {
    events: await inLake('select event_id as name, count(*)::integer as number from events group by all'),
    orders: await inLake('select external_id as name, floor(total)::integer as number from orders_source'),
    records: numbers(records),
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
