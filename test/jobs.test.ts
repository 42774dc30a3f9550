import { hash, randomUUID } from 'node:crypto'
import { getEventListeners } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type TransactionSql } from 'postgres'
import t from 'tap'
import { plan } from '../jobs/plan.ts'
import { refresh, refreshSlow, runQuick, runSlow } from '../jobs/refresh.ts'
import { retention } from '../jobs/retention.ts'
import { snapshot } from '../jobs/snapshot.ts'
import { type App, openApp } from '../src/app.ts'
import { statusCommands } from '../src/cli/status.ts'
import { readConfig } from '../src/config.ts'
import { following, Stopped } from '../src/job.ts'
import { retain } from '../src/lake/retention.ts'
import { openServed } from '../src/lake/served.ts'
import { withWorkspace } from '../src/lake/workspace.ts'
import { setLogLevel } from '../src/log.ts'
import { loadModels } from '../src/model/graph.ts'
import type { Statements } from '../src/op.ts'
import { openReading } from '../src/segment/reading.ts'
import { currentResults } from '../src/segment/recipe.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { archiveSegment, audienceOf, createSegment, type SavedSegment } from '../src/segment/saved.ts'
import { SESSION_OF } from '../src/store/postgres.ts'
import { startWorker } from '../src/work.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { noOpenssl } from './fixtures/certificate.ts'
import type { Teardown } from './fixtures/cluster.ts'
import { controlled } from './fixtures/control.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { failingAt, killable } from './fixtures/killed.ts'
import { lake, logBatch, passed, sourceRows, tick } from './fixtures/lake.ts'
import { proxy } from './fixtures/proxy.ts'
import { tlsProxy } from './fixtures/tls-proxy.ts'
import { nextTurn } from './fixtures/turn.ts'

setLogLevel('error')

const REACHED = { source: 'customer_profile', rule: { field: 'has_email', op: '=', value: true } }

async function app(t: Teardown, settings: Record<string, string> = {}): Promise<App> {
  const { url } = await database(t)
  const dataDir = mkdtempSync(`${tmpdir()}/recoup-jobs-`)
  const opened = await openApp(
    readConfig({ DATABASE_URL: url, DATA_DIR: dataDir, REFRESH_CRON: '* * * * *', ...settings }),
  )
  t.teardown(async () => {
    await opened.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  return opened
}

/** A brand with a segment, and its first results. */
async function evaluated({ pipeline, postgres }: Pick<App, 'pipeline' | 'postgres'>) {
  const brand = await newBrand({ postgres })
  await createSegment(postgres.forBrand(brand.id), {
    name: 'reached',
    definition: REACHED,
    createdBy: 'test',
  })
  await refreshBrand(pipeline, brand.id)
  return brand
}

/** To the tables of the scheduler, which those of a request and of the lake cannot reach. */
function scheduler(t: Teardown, { postgres: { url } }: App) {
  const sql = postgres(url, { max: 1 })
  t.teardown(() => sql.end())
  return sql
}

/** A snapshot of what is committed cannot be published until what is returned is called. */
async function holdSnapshots(running: App) {
  // A tick that found nothing to do yet would have its next turn after what is held here may last.
  await passed(running.pipeline)
  return await holding(running, (tx) => tx`select from lake_state for update`)
}

/** What the statement locks is held until what is returned is called. */
async function holding(
  { postgres: { sql } }: App,
  lock: (tx: TransactionSql) => PromiseLike<unknown>,
): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holder = sql.begin(async (tx) => {
    // It says nothing for as long as workers start here.
    await tx`set local idle_in_transaction_session_timeout = 0`
    await lock(tx)
    locked.resolve()
    await held.promise
  })
  await Promise.race([locked.promise, holder])
  return async () => {
    held.resolve()
    await holder
  }
}

interface Brand {
  changed_tick: number
  refreshed_tick: number
  generation: number
}

t.test('work on the lake has the memory and the threads that are set', async (t) => {
  const { pipeline } = await app(t, { DUCKDB_MEMORY_MB: '1024', DUCKDB_THREADS: '3' })
  const settings = `select current_setting('memory_limit') as memory, current_setting('threads')::integer as threads`
  t.same(await withWorkspace(pipeline, (duck) => duck.rows(settings)), [{ memory: '976.5 MiB', threads: 3 }])
})

t.test('a worker that starts removes the scratch folders of killed work, and no other', async (t) => {
  const running = await app(t)
  const { pipeline } = running
  const scratch = join(pipeline.lakeDir, 'tmp')
  const killed = killable(t, 'workspace-killed.ts', pipeline)
  const ended = killed(60_000)
  // The owner of the lake is noted before.
  const isFolder = (name: string) => !name.endsWith('.lock') && !name.startsWith('service-id')
  const left = await eventually(async () => {
    const names = existsSync(scratch) ? readdirSync(scratch) : []
    return names.some(isFolder) && names
  })
  killed.kill()
  await ended
  const place = join(scratch, randomUUID())
  mkdirSync(place)
  await withWorkspace(pipeline, async (_, folder) => {
    const worker = await startWorker(running)
    t.same(
      left.filter((name) => existsSync(join(scratch, name))),
      [],
    )
    t.ok(existsSync(folder), 'what is at work stays')
    t.ok(existsSync(place), 'so does what has no lock')
    await worker.stop()
  })
})

t.test('events that an erasure kept out of the lake are read again at once', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  await passed(pipeline)
  const { pipeline: db } = pipeline.postgres
  const tx: typeof db.tx = async (work) => {
    await db.run('lake_erasures_count')
    return await db.tx(work)
  }
  const erasing = { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...db, tx } } }
  const sent: unknown[] = []
  const send = async (...job: unknown[]) => void sent.push(job)
  await snapshot.run(erasing, {}, controlled({ send }))
  t.same(sent, [['snapshot', {}, 1]])
})

t.test('the profile that an event makes reaches the lake in the same turn', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  await passed(pipeline)
  await snapshot.run(pipeline, {}, controlled())
  const known = 'select email from stg_events inner join stg_customers using (customer)'
  const session = await openReading(pipeline, brand)
  t.same(await session.duck.rows(known).finally(session.close), [{ email: 'ann@example.com' }])
})

t.test('a worker brings events into the lake and refreshes their brand without being asked', async (t) => {
  const running = await app(t)
  const { sql } = running.postgres
  const brand = await newBrand(running)
  await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  const worker = await startWorker(running)
  const row = () =>
    sql<Brand[]>`select changed_tick, refreshed_tick, generation from lake_brand where brand_id = ${brand.id}`
  try {
    await eventually(async () => (await row()).find(({ changed_tick }) => changed_tick > 0))
    t.pass('snapshot ran')
    await eventually(async () => (await row()).find(({ generation }) => generation > 0))
    t.pass('refresh ran')
  } finally {
    await worker.stop()
  }
})

for (const mode of ['require', 'prefer'])
  t.test(
    `a worker works by TLS with a certificate of the server's own (${mode})`,
    { skip: noOpenssl },
    async (t) => {
      const running = await app(t)
      const url = await tlsProxy(t, running.postgres.url)
      url.searchParams.set('sslmode', mode)
      const worker = await startWorker({ ...running, postgres: { ...running.postgres, url: url.href } })
      await worker.stop()
      t.pass('it started')
    },
  )

t.test('a worker that prefers TLS works without', async (t) => {
  const running = await app(t)
  const url = new URL(running.postgres.url)
  url.searchParams.set('sslmode', 'prefer')
  const worker = await startWorker({ ...running, postgres: { ...running.postgres, url: url.href } })
  await worker.stop()
  t.pass('it started')
})

t.test('a worker goes on when a Postgres that fell silent answers again', async (t) => {
  const running = await app(t)
  const { sql } = running.postgres
  const between = await proxy(t, running.postgres.url)
  const behind = { ...running, postgres: { ...running.postgres, url: between.url } }
  // The tables of the scheduler are made by one that may take its time.
  await (await startWorker(running)).stop()
  const said = t.capture(process.stderr, 'write')
  const worker = await startWorker(behind, { queryMs: 1_000 })
  t.teardown(() => worker.stop())
  between.silent = true
  const error = await eventually(async () =>
    said()
      .map(({ args }) => String(args[0]))
      .find((line) => line.includes('"jobs_error"')),
  )
  t.notMatch(error, /\[object Object\]/)
  between.silent = false
  const brand = await newBrand(running)
  await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  const ticks = () => sql`select from lake_brand where brand_id = ${brand.id} and changed_tick > 0`
  t.ok(await eventually(async () => (await ticks()).count === 1))
})

t.test('statements of the scheduler that are stopped are told once', async (t) => {
  const running = await app(t)
  const said = t.capture(process.stderr, 'write')
  const saidNow = () => said().map(({ args }): string => JSON.parse(String(args[0])).event)
  const worker = await startWorker(running, { setBackMs: 50 })
  const [holder, other] = [scheduler(t, running), scheduler(t, running)]
  const events: string[] = []
  let stopped = 0
  try {
    await holder.begin(async (tx) => {
      await tx`lock table pgboss.job`
      await eventually(async () => {
        const waiting = await other`
          select pg_cancel_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = ${SESSION_OF.worker} and wait_event_type = 'Lock'`
        stopped += waiting.count
        events.push(...saidNow())
        return stopped > 40 && events.includes('jobs_error')
      })
    })
  } finally {
    await worker.stop()
  }
  events.push(...saidNow())
  // A job that sends another one fails with it.
  t.same(
    events.filter((event) => event !== 'job_failed'),
    ['jobs_error'],
  )
})

t.test('a job that has ended leaves nothing with the signals of its worker', async (t) => {
  const [over, stopping] = [new AbortController(), new AbortController()]
  const held = () => [over, stopping].map(({ signal }) => getEventListeners(signal, 'abort').length)
  const ended = following([over.signal, stopping.signal])
  t.same(held(), [1, 1])
  ended.end()
  t.same(held(), [0, 0])
  const running = following([over.signal, stopping.signal])
  over.abort(new Stopped())
  t.type(running.signal.reason, Stopped)
  t.notOk(ended.signal.aborted)
  t.type(following([over.signal]).signal.reason, Stopped)
})

t.test('a worker says that the folder of the lake is gone', async (t) => {
  const running = await app(t)
  const said = t.capture(process.stderr, 'write')
  const worker = await startWorker(running)
  t.teardown(() => worker.stop())
  rmSync(running.pipeline.lakeDir, { recursive: true })
  const failed = await eventually(async () =>
    said().find(({ args }) => String(args[0]).includes('"job_failed"')),
  )
  t.match(String(failed.args[0]), /"queue":"\w+".*ENOENT/)
})

t.test(
  'on a disk that is nearly full what writes the lake or goes by it waits, and nothing else where Postgres is not on it',
  async (t) => {
    const running = await app(t)
    const { statfs } = files
    t.teardown(() => {
      files.statfs = statfs
      syncBuiltinESMExports()
    })
    files.statfs = (async () => ({ bavail: 4, blocks: 100 })) as unknown as typeof statfs
    syncBuiltinESMExports()
    const said = t.capture(process.stderr, 'write')
    const queues = scheduler(t, running)
    const worker = await startWorker(running)
    t.teardown(() => worker.stop())
    const done = async () => {
      const jobs = await queues<{ name: string }[]>`
      select distinct name from pgboss.job where name = any(${['sending', 'attribution', 'refresh']}) and state = 'completed'`
      return jobs.length === 3
    }
    await queues`
    insert into pgboss.job (name, policy, group_id, data) values
    ('sending', 'short', 'sending', '{}'), ('attribution', 'short', 'attribution', '{}'), ('refresh', 'standard', 'refresh', '{"brands": []}')
    on conflict do nothing`
    await eventually(done)
    const lines = said().map(({ args }) => JSON.parse(String(args[0])))
    const refused = new Set(lines.flatMap(({ event, queue }) => (event === 'disk_nearly_full' ? queue : [])))
    t.ok(refused.has('refresh'))
    t.ok(refused.has('sending'))
    t.notOk(refused.has('attribution'))
  },
)

t.test('of a queue that allows one job two workers run one, and one more waits at most', async (t) => {
  const running = await app(t)
  const { sql } = running.postgres
  const brand = await newBrand(running)
  await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  const release = await holdSnapshots(running)
  const workers = await Promise.all([startWorker(running), startWorker(running)])
  const queues = scheduler(t, running)
  const jobs = () => queues<{ state: string; n: number }[]>`
    select state, count(*)::integer as n from pgboss.job
    where name = 'snapshot' and state in ('created', 'active') group by state order by state`
  const plans = async () =>
    (await queues`select from pgboss.job where name = 'plan' and state = 'completed'`).length
  try {
    await eventually(async () => (await jobs()).some(({ state }) => state === 'active'))
    // Each asks for a snapshot.
    for (let more = 0; more < 3; more++) {
      const before = await plans()
      await queues`insert into pgboss.job (name, policy, group_id) values ('plan', 'short', 'plan') on conflict do nothing`
      await eventually(async () => (await plans()) > before)
    }
    t.same(await jobs(), [
      { state: 'created', n: 1 },
      { state: 'active', n: 1 },
    ])
  } finally {
    await release()
    await Promise.all(workers.map((worker) => worker.stop()))
  }
})

t.test('queues go on when the clock of Postgres, which was ahead, is set back', async (t) => {
  const running = await app(t)
  const queues = scheduler(t, running)
  const worker = await startWorker(running, { setBackMs: 500 })
  t.teardown(() => worker.stop())
  const waiting = () => queues<{ id: string }[]>`
    update pgboss.job set start_after = now() + interval '1 day'
    where name = 'snapshot' and state = 'created'
    returning id`
  const next = await eventually(async () => (await waiting())[0])
  await queues`insert into pgboss.job (name, policy, state, started_on, heartbeat_on, heartbeat_seconds)
    values ('refresh', 'standard', 'active', now() + interval '1 day', now() + interval '1 day', 20)`
  await queues`insert into pgboss.job (name, policy, state, singleton_on)
    values ('__pgboss__send-it', 'standard', 'completed', now() + interval '1 day')`
  await queues`update pgboss.version set cron_on = now() + interval '1 day'`
  await queues`update pgboss.queue set monitor_claim_on = now() + interval '1 day', maintain_on = now() + interval '1 day'`
  const ahead = () => queues`
    select from pgboss.job
    where greatest(start_after, started_on, heartbeat_on, singleton_on) > now() + interval '1 hour'
    union all
    select from pgboss.version where cron_on > now() + interval '1 hour'
    union all
    select from pgboss.queue where greatest(monitor_claim_on, maintain_on) > now() + interval '1 hour'`
  await eventually(async () => (await ahead()).count === 0)
  const done = () => queues`select from pgboss.job where id = ${next.id} and state = 'completed'`
  await eventually(async () => (await done()).count)
  t.pass('they do')
})

t.test('a worker that comes after a day without one has the stores asked at once', async (t) => {
  const running = await app(t)
  await running.postgres.sql`update worker_watch set seen_at = now() - interval '1 day'`
  const worker = await startWorker(running)
  t.teardown(() => worker.stop())
  const queues = scheduler(t, running)
  const [asked] = await eventually(async () => {
    const found = await queues`select priority from pgboss.job where name = 'reconcile'`
    return found.length > 0 && found
  })
  t.ok(asked)
})

t.test('brands have their turns when the clock of Postgres, which was ahead, is set back', async (t) => {
  const { pipeline, postgres } = await app(t)
  const { sql } = postgres
  const brand = await newBrand({ postgres })
  await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  await tick(pipeline)
  await sql`update lake_brand set refresh_planned_at = now() + interval '1 day', compact_planned_at = now() + interval '1 day',
    retry_at = now() + interval '1 day', failed_at = now() + interval '1 day', failures = 1`
  await sql`insert into erasure (brand_id, id, requested_by, tried_at)
    values (${brand.id}, gen_random_uuid(), 'test', now() + interval '1 day')`
  await sql`insert into attribution_behind (brand_id, looked_below, due_at)
    values (${brand.id}, '1', now() + interval '1 day')`
  t.same(await nextTurn({ plan, refresh }, pipeline), [brand.id])
  const [times] = await sql`
    select greatest(refresh_planned_at, compact_planned_at, retry_at, failed_at, erasures.tried_at, due_at) <= now() as past
    from lake_brand, (select tried_at from erasure) as erasures, (select due_at from attribution_behind) as behind`
  t.same(times, { past: true })
})

t.test(
  'so do the messages of a channel, what refreshes found for campaigns, and the removal of files',
  async (t) => {
    const { pipeline, postgres } = await app(t)
    const { sql } = postgres
    const brand = await newBrand({ postgres })
    await postgres.forBrand(brand.id).run('message_channel_put', ['sms', 'http_sms', '{}', null, 'lookup', 1])
    await sql`update message_channel set next_send_at = now() + interval '1 day'`
    await sql`insert into trigger_cursor (brand_id, generation, as_of) values (${brand.id}, 1, now() + interval '1 day')`
    await sql`update lake_state set removal_paused_until = now() + interval '1 day'`
    await nextTurn({ plan, refresh }, pipeline)
    const [times] = await sql`
    select greatest(next_send_at, as_of, removal_paused_until) <= now() as past
    from message_channel, trigger_cursor, lake_state`
    t.same(times, { past: true })
  },
)

t.test('what waits for as long as it should is left to wait', async (t) => {
  const { pipeline, postgres } = await app(t)
  const { sql } = postgres
  const brand = await newBrand({ postgres })
  await sql`update lake_brand set retry_at = now() + interval '4 hours'`
  await sql`insert into attribution_behind (brand_id, looked_below, due_at)
    values (${brand.id}, '1', now() + interval '1 hour')`
  const times = () => sql`select retry_at, due_at from lake_brand, attribution_behind`
  const before = [...(await times())]
  await nextTurn({ plan, refresh }, pipeline)
  t.same([...(await times())], before)
})

t.test('a queue of an earlier version gets the policy of this one', async (t) => {
  const running = await app(t)
  const queues = scheduler(t, running)
  const run = async () => (await startWorker(running)).stop()
  await run()
  await queues`update pgboss.queue set policy = 'stately' where name = 'snapshot'`
  await run()
  const [queue] = await queues`select policy from pgboss.queue where name = 'snapshot'`
  t.equal(queue?.policy, 'short')
})

t.test('an hourly job whose minute passed while no worker ran is made up for', async (t) => {
  const running = await app(t)
  await (await startWorker(running)).stop()
  const queues = scheduler(t, running)
  await queues`update pgboss.schedule set created_on = now() - interval '3 hours'`
  await queues`update pgboss.version set cron_on = now() - interval '2 hours'`
  await queues`delete from pgboss.job where name = 'retention'`
  const worker = await startWorker(running)
  t.teardown(() => worker.stop())
  t.ok(
    await eventually(async () => (await queues`select from pgboss.job where name = 'retention'`).count > 0),
  )
})

t.test('a job that was done is kept for a day', async (t) => {
  const running = await app(t)
  await (await startWorker(running)).stop()
  const [planned] = await scheduler(t, running)`select deletion_seconds from pgboss.job where name = 'plan'`
  t.equal(planned?.deletion_seconds, 86_400)
})

t.test('a worker merges the files that brands share', async (t) => {
  const running = await app(t)
  const { pipeline, postgres } = running
  const brand = await newBrand(running)
  for (let n = 0; n < 12; n++) {
    await logBatch(postgres.sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
    await tick(pipeline)
  }
  const shared = () => postgres.pipeline.many('lake_shared_files', ['events'])
  t.equal((await shared()).length, 12)
  const worker = await startWorker(running)
  try {
    await eventually(async () => (await shared()).length === 1)
    t.pass('they are one')
  } finally {
    await worker.stop()
  }
})

t.test(
  'a brand without segments is refreshed when only a model, what customers are found by, its currency or its time zone changed',
  async (t) => {
    const { pipeline, postgres } = await app(t)
    const { sql } = postgres
    const brand = await newBrand({ postgres })
    const failing = await newBrand({ postgres })
    await logBatch(
      sql,
      [brand, failing].map(({ id }) => ({ brand_id: id, email: 'ann@example.com' })),
    )
    await tick(pipeline)
    const planned = async () => {
      await sql`update lake_brand set refresh_planned_at = null`
      return await nextTurn({ plan, refresh }, pipeline)
    }
    const recipe = (id: string, made: string) =>
      sql`update lake_brand set results = ${sql.json({ recipe: made })} where brand_id = ${id}`
    const fail = async (models: string | null) => {
      for (let at = 0; at < 3; at++)
        await postgres.pipeline.run('lake_brand_failed', [failing.id, 'It broke', models, 0])
    }

    t.same(await planned(), [brand.id, failing.id].sort(), 'there are events')
    t.same(await planned(), [], 'nothing changed')
    await recipe(brand.id, 'older UTC USD')
    t.same(await planned(), [brand.id], 'another model')
    t.same(await planned(), [])
    await sql`update brand set currency_code = 'EUR' where id = ${brand.id}`
    t.same(await planned(), [brand.id], 'another currency')
    await sql`update brand set timezone = 'Europe/Berlin' where id = ${brand.id}`
    t.same(await planned(), [brand.id], 'another time zone')
    t.same(await planned(), [])
    const models = (await loadModels()).map(({ name, sql }) => [name, sql])
    await recipe(brand.id, `${hash('sha256', JSON.stringify(models))} Europe/Berlin EUR`)
    t.same(await planned(), [brand.id], 'the same models, but not what their rows are found by')
    t.same(await planned(), [])

    await recipe(failing.id, 'older UTC USD')
    await fail(await currentResults())
    t.same(await planned(), [], 'the models that it failed with three times')
    await fail('broken')
    t.same(await planned(), [failing.id], 'mended models')
  },
)

t.test('a worker that stops cuts off what does not end in time, and says that nothing failed', async (t) => {
  const running = await app(t)
  const { sql } = running.postgres
  const said = t.capture(process.stderr, 'write')
  const lines = () => said().map(({ args }) => JSON.parse(String(args[0])))
  setLogLevel('info')
  t.teardown(() => setLogLevel('error'))
  const brand = await newBrand(running)
  await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  const stale = `${tmpdir()}/recoup-import-${randomUUID()}`
  mkdirSync(stale)
  const release = await holdSnapshots(running)
  const worker = await startWorker(running, { graceMs: 300 })
  t.notOk(existsSync(stale), 'what a killed import left is gone')
  try {
    await eventually(async () => {
      const waiting = await sql`
        select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()`
      return waiting.count > 0
    })
  } finally {
    await worker.stop()
    await release()
  }
  await running.close()
  // On a busy machine another job may not have ended either.
  const heard = await eventually(async () => {
    const all = lines()
    return all.some(({ event, queue }) => event === 'job_stopped' && queue === 'snapshot') && all
  })
  t.same(
    heard.filter(({ level }) => level === 'error' || level === 'warn'),
    [],
  )
})

t.test('a worker that stops waits for no turn of a channel', async (t) => {
  const running = await app(t)
  const { sql } = running.postgres
  const queues = scheduler(t, running)
  const said = t.capture(process.stderr, 'write')
  setLogLevel('info')
  t.teardown(() => setLogLevel('error'))
  const brand = await newBrand(running)
  await sql`
    insert into message_channel (brand_id, channel, lookup_id, next_send_at)
    values (${brand.id}, 'sms', 'x', now() + interval '1 hour')`
  await sql`
    with begun as (
      insert into conversation (brand_id, id, channel) values (${brand.id}, gen_random_uuid(), 'sms') returning id
    )
    insert into message (brand_id, id, conversation_id, idempotency_key, direction, author, channel, body, next_attempt_at)
    select ${brand.id}, gen_random_uuid(), id, 'x', 'outbound', 'campaign', 'sms', 'Hello', now() from begun`
  const worker = await startWorker(running, { graceMs: 5_000 })
  try {
    await queues`insert into pgboss.job (name, policy, group_id) values ('sending', 'short', 'sending') on conflict do nothing`
    await eventually(async () => {
      const active = await queues`select from pgboss.job where name = 'sending' and state = 'active'`
      return active.count > 0
    })
  } finally {
    await worker.stop()
  }
  await running.close()
  const stopped = said()
    .map(({ args }) => JSON.parse(String(args[0])))
    .filter(({ event }) => event === 'job_stopped')
  t.notOk(stopped.some(({ queue }) => queue === 'sending'))
})

t.test('of two planners at once one hands a brand to the workers', async (t) => {
  const { pipeline, postgres } = await app(t)
  const brand = await newBrand({ postgres })
  await logBatch(postgres.sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  await tick(pipeline)
  const handed: string[] = []
  const run = (during: () => Promise<unknown>) => {
    const send = async (_queue: string, { brands = [] }: { brands?: string[] } = {}) => {
      if (brands.length) await during()
      handed.push(...brands)
    }
    const control = controlled({ send: send as never })
    return plan.run({ ...pipeline, refreshCron: '* * * * *' }, {}, control)
  }
  await run(() => run(async () => {}))
  await run(async () => {})
  t.same(handed, [brand.id])
})

t.test('a brand whose id has the least of all hashes has its turn, and stops no other', async (t) => {
  const { postgres } = await app(t)
  const { sql, pipeline } = postgres
  const other = await newBrand({ postgres })
  const id = '01a1c000-0000-7000-8000-0000aeb373cf'
  t.same(await sql`select hashtext(${id})`, [{ hashtext: -(2 ** 31) }])
  await sql`insert into brand (id, name, shop_domain, currency_code, timezone)
    values (${id}, 'Least', 'least.myshopify.com', 'USD', 'UTC')`
  await sql`insert into lake_brand (brand_id) values (${id})`
  await sql`update lake_brand set changed_tick = 1`
  const slot = new Date(Date.now() - 3_600_000)
  const due = await pipeline.many<{ brand_id: string }>('brands_to_refresh', [slot, 900, null])
  t.same(due.map(({ brand_id }) => brand_id).sort(), [id, other.id].sort())
})

t.test('a brand whose results are gone says so to who reads them, and has its turn at once', async (t) => {
  const { pipeline, postgres } = await app(t)
  const brand = await evaluated({ pipeline, postgres })
  const served = openServed(pipeline)
  t.teardown(() => served.close())
  const due = async () => {
    const slot = new Date(Date.now() - 900_000)
    return (await postgres.pipeline.many('brands_to_refresh', [slot, 86_400, null])).length
  }
  await postgres.sql`update lake_brand set refresh_planned_at = now() - interval '3 minutes'`
  t.equal(await due(), 0)
  await postgres.sql`delete from served_generation`
  await t.rejects(served.reader(brand.id), { code: 'unavailable', message: /computed anew/ })
  t.equal(await due(), 1)
  await refreshBrand(pipeline, brand.id)
  t.ok(await served.reader(brand.id))
})

t.test('a refresh by hand, or one that ended late, takes no turn of the interval', async (t) => {
  const { pipeline, postgres } = await app(t)
  const brand = await newBrand({ postgres })
  const come = async () => {
    await logBatch(postgres.sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
    await tick(pipeline)
  }
  await come()
  await refreshBrand(pipeline, brand.id)
  await come()
  t.same(await nextTurn({ plan, refresh }, pipeline), [brand.id])
})

t.test('a brand that failed three times is tried again for time alone an hour later', async (t) => {
  const { pipeline, postgres } = await app(t)
  const { sql } = postgres
  const brand = await evaluated({ pipeline, postgres })
  const results = await currentResults()
  for (let n = 0; n < 3; n++)
    await postgres.pipeline.run('lake_brand_failed', [brand.id, 'It broke', results, 0])
  await sql`update lake_brand set next_change_at = now() - interval '1 minute'`
  t.same(await nextTurn({ plan, refresh }, pipeline), [], 'time alone is no reason to try again')
  await sql`update lake_brand set failed_at = failed_at - interval '61 minutes'`
  t.same(await nextTurn({ plan, refresh }, pipeline), [brand.id], 'until an hour later')
})

for (const [failures, what, hours] of [
  [1, 'once', 0],
  [3, 'three times, an hour later', 1],
] as const)
  t.test(`a brand that has nothing left to do is tried again when it failed ${what}`, async (t) => {
    const { pipeline, postgres } = await app(t)
    const { sql } = postgres
    const brand = await evaluated({ pipeline, postgres })
    await sql`update lake_brand set next_change_at = 'infinity'`
    const results = await currentResults()
    for (let n = 0; n < failures; n++)
      await postgres.pipeline.run('lake_brand_failed', [brand.id, 'It broke', results, 0])
    if (hours) t.same(await nextTurn({ plan, refresh }, pipeline), [], 'not before')
    await sql`update lake_brand set failed_at = failed_at - make_interval(hours => ${hours}, mins => 1)`
    t.same(await nextTurn({ plan, refresh }, pipeline), [brand.id])
    t.match(await sql`select failures, error from lake_brand`, [{ failures: 0, error: null }])
  })

t.test(
  'a brand that failed three times with other models than it has results of is tried an hour later',
  async (t) => {
    const { pipeline, postgres } = await app(t)
    const { sql } = postgres
    const brand = await evaluated({ pipeline, postgres })
    await sql`
    update lake_brand
    set next_change_at = 'infinity', results = results || '{"recipe": "of before the upgrade"}'`
    const results = await currentResults()
    for (let n = 0; n < 3; n++)
      await postgres.pipeline.run('lake_brand_failed', [brand.id, 'It broke', results, 0])
    t.same(await nextTurn({ plan, refresh }, pipeline), [], 'not before')
    await sql`update lake_brand set failed_at = failed_at - interval '61 minutes'`
    t.same(await nextTurn({ plan, refresh }, pipeline), [brand.id])
  },
)

t.test('what a planner did not hand to the workers before it was killed the next one does', async (t) => {
  const { pipeline, postgres } = await app(t)
  const brand = await newBrand({ postgres })
  await logBatch(postgres.sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  await tick(pipeline)
  const handed: string[] = []
  const send = async (_queue: string, { brands = [] }: { brands?: string[] } = {}) =>
    void handed.push(...brands)
  const killed = async (_queue: string, { brands = [] }: { brands?: string[] } = {}) => {
    if (brands.length === 0) return
    await postgres.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state = 'idle in transaction'`
    throw new Error('killed')
  }
  const run = (sends: unknown) =>
    plan.run({ ...pipeline, refreshCron: '* * * * *' }, {}, controlled({ send: sends as never }))
  await t.rejects(run(killed))
  await run(send)
  t.same(handed, [brand.id])
})

t.test('what comes while the planner runs is later than any time that it says of a segment', async (t) => {
  const { pipeline, postgres } = await app(t)
  const { sql } = postgres
  const brand = await evaluated({ pipeline, postgres })
  await sql`
    update lake_brand set next_change_at = 'infinity'
    where brand_id = ${brand.id}`
  const [before] = await sql`select extract(epoch from now())::float8 as at`
  let news: number | undefined
  const many: Statements['many'] = async (name, args) => {
    const rows = await postgres.pipeline.many<never>(name, args)
    const come = () => sql<{ at: number }[]>`
      update lake_brand set changed_tick = changed_tick + 1 where brand_id = ${brand.id}
      returning extract(epoch from clock_timestamp())::float8 as at`
    news ??= (await come())[0]?.at
    return rows
  }
  const meanwhile = { ...postgres, pipeline: { ...postgres.pipeline, many } }
  const control = controlled()
  await plan.run({ ...pipeline, postgres: meanwhile, refreshCron: '* * * * *' }, {}, control)
  const [said] = await sql`
    select extract(epoch from evaluated_at)::float8 as at from segment where brand_id = ${brand.id}`
  t.ok(said?.at >= before?.at, 'nothing had changed')
  t.ok(said?.at < (news ?? 0), 'before the news')
})

t.test('brands over their time have a lane of their own', async (t) => {
  const { pipeline, postgres } = await app(t)
  const { sql } = postgres
  const [quick, slow, other] = [
    await newBrand({ postgres }),
    await newBrand({ postgres }),
    await newBrand({ postgres }),
  ]
  const sent: [queue: string, brands: string[]][] = []
  const send = async (queue: string, { brands = [] }: { brands?: string[] } = {}) =>
    void (brands.length && sent.push([queue, brands.sort()]))
  const control = controlled({ send: send as never })
  const record = async () => {
    const brands = [quick, slow, other]
    await logBatch(
      sql,
      brands.map(({ id }) => ({ brand_id: id, email: `${sent.length}@example.com` })),
    )
    await tick(pipeline)
  }
  const ahead = async () =>
    (await sql`select brand_id from lake_brand where refreshed_tick < changed_tick`).map(
      ({ brand_id }) => brand_id,
    )

  await t.test('when it is known that they are', async (t) => {
    await record()
    await sql`update lake_brand set refresh_ms = 5001 where brand_id = ${slow.id}`
    await plan.run({ ...pipeline, refreshCron: '* * * * *' }, {}, control)
    t.same(sent, [
      [refreshSlow.queue, [slow.id]],
      [refresh.queue, [quick.id, other.id].sort()],
    ])
    for (const [queue, brands] of sent)
      await (queue === refresh.queue ? refresh : refreshSlow).run(pipeline, { brands }, control)
    t.same(await ahead(), [])
  })

  await t.test('when they turn out to be, and those beside them have their turn meanwhile', async (t) => {
    await record()
    sent.length = 0
    // Those beside it take a tenth of that.
    const time = 4_000
    const tried = { ...postgres.pipeline, many: waiting(postgres.pipeline.many, slow.id, time + 100) }
    const delayed = { ...pipeline, postgres: { ...postgres, pipeline: tried } }
    await runQuick(delayed, { brands: [slow.id, quick.id, other.id] }, control, time)
    t.same(await ahead(), [slow.id])
    t.same(sent, [[refreshSlow.queue, [slow.id]]])
    t.match(await sql`select failures from lake_brand where brand_id = ${slow.id}`, [{ failures: 0 }])
    await refreshSlow.run(delayed, { brands: [slow.id] }, control)
    t.same(await ahead(), [])
  })

  await t.test('and those that a job has no time left for are another’s', async (t) => {
    await record()
    sent.length = 0
    const brands = [quick.id, other.id]
    await runQuick(pipeline, { brands }, control, 10_000, 0)
    t.same(sent, [[refresh.queue, brands]])
  })
})

t.test('a refresh that is cut by its time is a failure, and the brand waits longer each time', async (t) => {
  const { pipeline, postgres } = await app(t)
  const { sql } = postgres
  const brand = await newBrand({ postgres })
  const { id } = await createSegment(postgres.forBrand(brand.id), {
    name: 'reached',
    definition: REACHED,
    createdBy: 'test',
  })
  const planned: string[] = []
  const send = async (_queue: string, { brands = [] }: { brands?: string[] } = {}) =>
    void planned.push(...brands)
  const control = controlled({ send: send as never })
  const time = 100
  const many = waiting(postgres.pipeline.many, brand.id, time + 50)
  const slow = { ...pipeline, postgres: { ...postgres, pipeline: { ...postgres.pipeline, many } } }
  const turn = async () => {
    await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
    await tick(pipeline)
    await sql`update lake_brand set refresh_planned_at = null`
    await plan.run({ ...pipeline, refreshCron: '* * * * *' }, {}, control)
    return planned.splice(0)
  }
  const failures = async () =>
    await sql<{ failures: number; waits: boolean; s: number }[]>`
      select failures, retry_at > now() as waits, extract(epoch from retry_at - failed_at)::float8 as s
      from lake_brand where brand_id = ${brand.id}`
  const told = async () => {
    const [row] = await postgres.forBrand(brand.id).many<SavedSegment>('segment_by_id', [id])
    return row && [audienceOf(row).evaluation_status, row.error]
  }
  const wakesIn = (seconds: number) =>
    sql`update lake_brand set retry_at = now() + make_interval(secs => ${seconds}) where brand_id = ${brand.id}`
  const logged: string[] = []
  t.capture(process.stderr, 'write', (line: string) => logged.push(line))

  for (const [count, wait] of [0.1, 0.2, 0.4].entries()) {
    t.same(await turn(), [brand.id])
    await runSlow(slow, { brands: [brand.id] }, control, time)
    t.match(await failures(), [{ failures: count + 1, s: wait }])
    await wakesIn(60)
    t.same(await turn(), [], 'others have their turn')
    await runSlow(slow, { brands: [brand.id] }, control, time)
    t.match(await failures(), [{ failures: count + 1 }], 'nor is it tried by a job that was queued before')
    await wakesIn(0)
  }
  t.match(logged.join(''), '"event":"refresh_failed"')
  t.same(await told(), ['failed', 'It took longer than 0.1 s'])
  t.equal(
    (await postgres.pipeline.one<{ due: boolean }>('lake_brand_verify_due', [brand.id])).due ?? false,
    false,
  )

  t.same(await turn(), [brand.id])
  await refreshSlow.run(pipeline, { brands: [brand.id] }, control)
  t.match(await failures(), [{ failures: 0, waits: null }])
  t.same(await told(), ['evaluated', null])
})

t.test('a brand whose refresh', async (t) => {
  const { pipeline, postgres } = await app(t)
  const { sql } = postgres
  const [bad, good] = [await newBrand({ postgres }), await newBrand({ postgres })]
  const brands = [bad.id, good.id]
  const news = async () => {
    for (const { id } of [bad, good]) await logBatch(sql, [{ brand_id: id, email: 'ann@example.com' }])
    await tick(pipeline)
  }
  const stateOf = ({ id }: { id: string }) => sql`
    select failures, error, refreshed_tick >= changed_tick as fresh, retry_at > now() as waits
    from lake_brand where brand_id = ${id}`

  await t.test('took the worker with it has failed when the job is run again', async (t) => {
    await news()
    const job = randomUUID()
    await killable(t, 'refresh-job-killed.ts', pipeline, ...brands)(60_000, job)
    t.match(await stateOf(bad), [{ failures: 0, fresh: false }])
    t.match(await stateOf(good), [{ fresh: false }], 'it was behind the other')
    // A job is run again once its worker has given no sign of life for a while.
    await sql`update lake_brand set tried_at = tried_at - interval '12 hours'`
    await refresh.run(pipeline, { brands }, controlled({ job }))
    t.match(await stateOf(bad), [
      { failures: 1, error: 'The worker that refreshed it ended in the middle', fresh: false, waits: true },
    ])
    t.match(await stateOf(good), [{ failures: 0, error: null, fresh: true }])
    const [{ seconds } = {}] = await sql`
      select extract(epoch from retry_at - failed_at)::float8 as seconds from lake_brand where brand_id = ${bad.id}`
    t.equal(seconds, 900, 'for how long the service was down is not its fault')
    await refresh.run(pipeline, { brands }, controlled({ job }))
    t.match(await stateOf(bad), [{ failures: 1 }], 'it is counted once')
    await sql`update lake_brand set retry_at = null`
    await refresh.run(pipeline, { brands }, controlled())
    t.match(await stateOf(bad), [{ failures: 0, error: null, fresh: true }])
  })

  await t.test('was stopped with the worker is taken up by the next one', async (t) => {
    await news()
    const job = randomUUID()
    const stop = new AbortController()
    const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()))
    const many = waiting(postgres.pipeline.many, bad.id, stopped)
    const slow = { ...pipeline, postgres: { ...postgres, pipeline: { ...postgres.pipeline, many } } }
    const run = refresh.run(slow, { brands }, controlled({ job, signal: stop.signal }))
    await eventually(async () => {
      const [row] = await sql`select tried_at is not null as begun from lake_brand where brand_id = ${bad.id}`
      return row?.begun
    })
    stop.abort(new Stopped())
    await run
    t.match(await stateOf(bad), [{ failures: 0, fresh: false }])
    await refresh.run(pipeline, { brands }, controlled({ job }))
    t.match(await stateOf(bad), [{ failures: 0, fresh: true }])
  })

  await t.test('was outrun, by a segment that was archived, is tried again at once', async (t) => {
    await news()
    const db = postgres.forBrand(bad.id)
    const { id } = await createSegment(db, { name: 'reached', definition: REACHED, createdBy: 'test' })
    let archived: Promise<unknown> | undefined
    const many: Statements['many'] = async (name, args) => {
      const rows = await postgres.pipeline.many<never>(name, args)
      if (name === 'segments_to_evaluate') {
        archived ??= archiveSegment(db, id)
        await archived
      }
      return rows
    }
    const meanwhile = { ...pipeline, postgres: { ...postgres, pipeline: { ...postgres.pipeline, many } } }
    await refresh.run(meanwhile, { brands: [bad.id] }, controlled())
    t.ok(archived)
    t.match(await stateOf(bad), [{ failures: 0, fresh: true }])
  })

  await t.test('ended with Postgres is taken up by the same worker', async (t) => {
    await news()
    const control = controlled()
    const failing = failingAt(pipeline, 5, { staysAway: true })
    await t.rejects(refresh.run(failing, { brands }, control), /no answer/)
    await refresh.run(pipeline, { brands }, control)
    t.match(await stateOf(bad), [{ failures: 0, fresh: true }])
  })
})

t.test('a brand that failed is tried at once with other rules', async (t) => {
  const { pipeline, postgres } = await app(t)
  const { sql } = postgres
  const brand = await newBrand({ postgres })
  await postgres.pipeline.run('lake_brand_failed', [brand.id, 'It broke', null, 3_600_000])
  const waits = () => postgres.pipeline.one('lake_brand_try', [brand.id, randomUUID(), randomUUID()])
  t.match(await waits(), { waits: true })
  await createSegment(postgres.forBrand(brand.id), {
    name: 'reached',
    definition: REACHED,
    createdBy: 'test',
  })
  t.match(await waits(), { waits: false })
  await refreshBrand(pipeline, brand.id)
  t.match(await sql`select failures, error from lake_brand`, [{ failures: 0, error: null }])
})

t.test('a brand that was planned again waits once in the slow lane', async (t) => {
  const running = await app(t)
  const { sql } = running.postgres
  const queues = scheduler(t, running)
  const brand = await newBrand(running)
  await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  await tick(running.pipeline)
  await sql`update lake_brand set refresh_ms = 5001 where brand_id = ${brand.id}`
  const release = await holding(running, (tx) => tx`lock table segment_version`)
  const worker = await startWorker(running)
  const jobs = () => queues<{ state: string; n: number }[]>`
    select state, count(*)::integer as n from pgboss.job
    where name = 'refresh_slow' group by state order by state`
  const plans = async () =>
    (await queues`select from pgboss.job where name = 'plan' and state = 'completed'`).length
  try {
    await eventually(async () => (await jobs()).some(({ state }) => state === 'active'))
    for (let more = 0; more < 2; more++) {
      const before = await plans()
      await sql`update lake_brand set refresh_planned_at = null`
      await queues`insert into pgboss.job (name, policy, group_id) values ('plan', 'short', 'plan') on conflict do nothing`
      await eventually(async () => (await plans()) > before)
    }
    t.same(await jobs(), [
      { state: 'created', n: 1 },
      { state: 'active', n: 1 },
    ])
  } finally {
    await release()
    await worker.stop()
  }
})

/** A way to read that is slow for one brand: by so many milliseconds, or until something has happened. */
const waiting =
  (many: Statements['many'], brandId: string, until: number | Promise<void>): Statements['many'] =>
  async (name, args) => {
    if (args?.[0] === brandId && name === 'segments_to_evaluate')
      await (typeof until === 'number' ? sleep(until) : until)
    return await many(name, args)
  }

t.test('a full refresh that differs from those of what changed is an alarm in log and status', async (t) => {
  const running = await app(t)
  const { pipeline, postgres } = running
  const { sql } = postgres
  const brand = await newBrand(running)
  const definition = { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 0 } }
  await createSegment(postgres.forBrand(brand.id), { name: 'Everyone', definition, createdBy: 'test' })
  const logged: string[] = []
  const record = async (email: string) => {
    await logBatch(sql, [{ brand_id: brand.id, email }])
    await tick(pipeline)
    await tick(pipeline)
  }
  const run = async (options: object) => {
    t.capture(process.stderr, 'write', (line: string) => logged.push(line))
    return await refreshBrand(pipeline, brand.id, options)
  }
  const status = async () => {
    const [show] = statusCommands
    const shown = await show?.run({ app: async () => running } as never)
    return show?.text?.(shown as never)
  }
  const few = { smallRows: 0, mostTouched: 9 }
  await record('ann@example.com')
  await run({})
  await record('bob@example.com')
  t.match(await run(few), { full: false })
  t.match(await run({ verify: true }), { full: true })
  t.notMatch(logged.join(''), 'incremental_refresh_differs')
  t.notMatch(await status(), /memberships at/)

  await record('cy@example.com')
  // As if the step before had missed what came.
  await sql`
    with moved as (
      update lake_brand set refreshed_tick = changed_tick, models_tick = changed_tick
      where brand_id = ${brand.id} returning changed_tick
    )
    update segment set evaluated_tick = changed_tick from moved where brand_id = ${brand.id}`
  t.match(await run({ verify: true }), { full: true })
  t.match(
    logged.join(''),
    /"level":"error".*"event":"incremental_refresh_differs".*"memberships":1,"customers":1/,
  )
  t.match(await status(), /1 memberships at \d{4}-/)
})

t.test('the night of a brand is when all of it is computed again', async (t) => {
  const { postgres } = await app(t)
  const { sql } = postgres
  const brand = await newBrand({ postgres })
  const due = async (hours: number, hour: number) => {
    const zone = await sql`
      select name from pg_timezone_names
      where extract(hour from now() at time zone name) = ${hour} and name like 'Etc/GMT%' limit 1`
    await sql`update brand set timezone = ${zone[0]?.name} where id = ${brand.id}`
    await sql`update lake_brand set full_at = now() - make_interval(hours => ${hours}) where brand_id = ${brand.id}`
    return (await postgres.pipeline.one<{ due: boolean }>('lake_brand_verify_due', [brand.id])).due
  }
  t.equal(await due(19, 2), true)
  t.equal(await due(17, 2), false, 'this night it was')
  t.equal(await due(19, 12), false, 'by day')
  t.equal(await due(31, 12), true, 'when the night was missed')
})

/** Of so many days from now, as a partition of the log has it. */
const dayName = (days: number) =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')

t.test('a log day goes when the lake has held all of it for a week, and never before', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  const old = new Date(Date.now() - 10 * 86_400_000)
  await sql`call event_log_days(${old.toISOString().slice(0, 10)}::date, ${old.toISOString().slice(0, 10)}::date)`
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await sql`update event_log set received_at = ${old}`
  const left = async () => (await sql`select from event_log`).count
  await retain(pipeline)
  t.equal(await left(), 1, 'the lake does not hold it yet')
  await tick(pipeline)
  await retain(pipeline)
  t.equal(await left(), 1, 'the lake holds it only just now')
  await sql`update event_log_day set in_lake_since = now() - interval '6 days 23 hours'`
  await retain(pipeline)
  t.equal(await left(), 1, 'nor for a week')
  await sql`update event_log_day set in_lake_since = now() - interval '7 days'`
  await retain(pipeline)
  t.equal(await left(), 0)
})

const NOTES_LOG_DAYS = '20261124000120_log_days_before'

t.test('log days that the lake held at an upgrade have been there since they ended', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  const log = async (age: number) => {
    const received = new Date(Date.now() - age * 86_400_000)
    const day = received.toISOString().slice(0, 10)
    await sql`call event_log_days(${day}::date, ${day}::date)`
    await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
    await sql`update event_log set received_at = ${received} where received_at > now() - interval '1 day'`
  }
  for (const age of [12, 11, 6]) await log(age)
  await tick(pipeline)
  await log(10)
  await sql.unsafe(readFileSync(join(import.meta.dirname, `../migrations/${NOTES_LOG_DAYS}.sql`), 'utf8'))
  await retain(pipeline)
  const left = await sql`
    select (now() at time zone 'UTC')::date - (received_at at time zone 'UTC')::date as age
    from event_log
    order by received_at`
  t.same(
    left.map(({ age }) => age),
    [10, 6],
    'from the first on that it awaits they stay',
  )
})

t.test('batches of days that nobody made in time move to where they belong, unchanged', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await sql`call event_log_drop_before((now() at time zone 'UTC')::date + 2)`
  for (const day of [-1, 0]) {
    await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
    const received = new Date(Date.now() + day * 86_400_000)
    await sql`update event_log set received_at = ${received} where received_at > now() - interval '1 hour'`
  }
  const batches = () => sql`select * from event_log order by received_at`
  const places = async () =>
    (await sql`select distinct tableoid::regclass::text as name from event_log order by 1`).map(
      ({ name }) => name,
    )
  const before = await batches()
  t.equal(before.length, 2)
  t.same(await places(), ['event_log_default'])
  const missing = await pipeline.postgres.pipeline.many<{ day: string }>('event_log_days_missing', [1])
  t.same(
    missing.map(({ day }) => day.replaceAll('-', '')),
    [0, 1, -1].map(dayName),
    'today is first: what comes waits for days that move out of where it goes',
  )
  await retain(pipeline)
  t.same(await batches(), before)
  t.same(
    await places(),
    [-1, 0].map((day) => `event_log_${dayName(day)}`),
  )
  await tick(pipeline)
  t.match(await sourceRows(pipeline, brand, 'select count(*) as n from events'), [{ n: 2 }])
})

t.test('whoever reads the log for long is not waited for: the days go an hour later', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await sql`call event_log_days(current_date - 10, current_date - 10)`
  await sql`insert into event_log_day select day::date, day from generate_series(current_date - 60, current_date - 8, interval '1 day') as day`
  const old = async () =>
    (await sql`select from pg_class where relname = ${`event_log_${dayName(-10)}`}`).count
  await sql.begin('isolation level repeatable read read only', async (reader) => {
    await reader`select count(*) from event_log`
    await retain(pipeline)
    await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  })
  t.equal(await old(), 1)
  await retain(pipeline)
  t.equal(await old(), 0)
})

t.test('retired lake files are removed after 26 hours, live ones stay', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await tick(pipeline)
  t.match(await retain(pipeline), { removed: 0, orphans: 0 })
  await sql`update lake_file set retired_at = now() - interval '25 hours' where relation = 'events'`
  t.match(await retain(pipeline), { removed: 0 })
  await sql`update lake_file set retired_at = now() - interval '27 hours' where relation = 'events'`
  t.match(await retain(pipeline), { removed: 1 })
  t.equal((await sql`select from lake_file where relation = 'events'`).count, 0)
})

t.test('a lake file that cannot be removed keeps none of the others', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  for (let n = 0; n < 2; n++) {
    await logBatch(sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
    await tick(pipeline)
  }
  const [stuck, other] = await sql<{ path: string }[]>`
    update lake_file set retired_at = now() - id * interval '-1 minute' - interval '2 days'
    where relation = 'events' returning path`
  const paths = [stuck, other].map((file) => join(pipeline.lakeDir, file?.path as string)) as [string, string]
  rmSync(paths[0])
  mkdirSync(paths[0])
  const orphan = oldFile(join(pipeline.lakeDir, 'staging/events-1.parquet'))
  const said = t.capture(process.stderr, 'write')
  await t.rejects(retain(pipeline, 1), { code: 'ERR_FS_EISDIR' })
  t.same([paths[1], orphan].filter(existsSync), [])
  const left = await sql`select path from lake_file where relation = 'events'`
  t.same([...left], [{ path: stuck?.path }], 'it is tried again')
  t.match(String(said()[0]?.args[0]), /"lake_files_not_removed","files":1,/)
})

/** The file system refuses links, as exFAT does. */
function withoutLinks(t: Teardown): void {
  const { link } = files
  const put = (as: typeof link) => {
    files.link = as
    syncBuiltinESMExports()
  }
  put(async () => {
    throw Object.assign(new Error('not permitted'), { code: 'EPERM' })
  })
  t.teardown(() => put(link))
}

/** A file of two days ago. */
function oldFile(path: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, '')
  utimesSync(path, Date.now() / 1000, Date.now() / 1000 - 172_800)
  return path
}

t.test(
  'old files that no manifest names go, but nothing beside the lake or of another service',
  async (t) => {
    const pipeline = await lake(t)
    const at = (path: string) => oldFile(join(pipeline.lakeDir, path))
    const [orphan, beside] = [
      at('staging/events-1.parquet'),
      at('backups/monday/lake/staging/events-1.parquet'),
    ]
    t.match(await retain(pipeline), { orphans: 1 })
    t.same([existsSync(orphan), existsSync(beside)], [false, true])
    const another = { ...(await lake(t)), lakeDir: pipeline.lakeDir }
    await another.postgres.sql`update lake_state set service_id = gen_random_uuid()`
    at('staging/events-1.parquet')
    await t.rejects(retain(another), { code: 'conflict', message: /is the lake of another service/ })
    t.ok(existsSync(orphan))
    t.match(await retain(pipeline), { orphans: 1 })
  },
)

t.test('a lake on a file system without links is claimed by one service all the same', async (t) => {
  const one = await lake(t)
  const another = { ...(await lake(t)), lakeDir: one.lakeDir }
  await another.postgres.sql`update lake_state set service_id = gen_random_uuid()`
  withoutLinks(t)
  t.match(await retain(one), { orphans: 0 })
  await t.rejects(retain(another), { code: 'conflict' })
})

t.test('ids of webhooks are kept for three months and claims of visitors for 13', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await sql`
    insert into custom_delivery (brand_id, provider_id, event_id, definition_id, received_at)
    select ${brand.id}, gen_random_uuid(), days::text, gen_random_uuid(), now() - make_interval(days => days)
    from (select 89 as days union all select 91 + n from generate_series(0, 20000) as n) as given`
  await sql`
    insert into visitor_claim (brand_id, kind, value, subject, claimed_at)
    select ${brand.id}, 'email', days::text, 1, now() - make_interval(days => days) from unnest(array[399, 401]) as days`
  await retention.run(pipeline, {}, controlled())
  t.same([...(await sql`select event_id from custom_delivery`)], [{ event_id: '89' }])
  t.same([...(await sql`select value from visitor_claim`)], [{ value: '399' }])
})

t.test('webhooks of stores are kept for 30 days', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await sql`
    insert into store_delivery (brand_id, webhook_id, topic, triggered_at, received_at, outcome)
    select ${brand.id}, days::text, 'orders/create', now(), now() - make_interval(days => days), 'applied'
    from (select 29 as days union all select 31 + n from generate_series(0, 20000) as n) as given`
  await retention.run(pipeline, {}, controlled())
  t.same([...(await sql`select webhook_id from store_delivery`)], [{ webhook_id: '29' }])
})

t.test(
  'whose carts were, and which versions were told, is kept for 60 days, what orders did for good',
  async (t) => {
    const pipeline = await lake(t)
    const { sql } = pipeline.postgres
    const brand = await newBrand(pipeline)
    await sql`
    insert into store_cart (brand_id, external_id, subject, created_at)
    select ${brand.id}, days::text, 1, now() - make_interval(days => days)
    from (select 59 as days union all select 61 + n from generate_series(0, 20000) as n) as given`
    await sql`
    insert into store_event (brand_id, id, created_at)
    select ${brand.id}::uuid, type || ':' || days, now() - make_interval(days => days)
    from
      (select 59 as days union all select 61 + n from generate_series(0, 5000) as n) as given,
      unnest('{cart_updated,customer_updated,consent_updated,fulfillment_updated}'::text[]) as type
    union all
    select ${brand.id}::uuid, 'order_created:1', now() - interval '2 years'`
    await retention.run(pipeline, {}, controlled())
    t.same([...(await sql`select external_id from store_cart`)], [{ external_id: '59' }])
    t.same(
      (await sql`select id from store_event order by id`).map(({ id }) => id),
      [
        'cart_updated:59',
        'consent_updated:59',
        'customer_updated:59',
        'fulfillment_updated:59',
        'order_created:1',
      ],
    )
  },
)

t.test('dead letters are kept for 180 days, dead events until they are replayed', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  await sql`
    insert into dead_letter (brand_id, id, provider_id, event_id, event_type, reason, body, received_at, failed_at)
    select
      ${brand.id}, gen_random_uuid(), gen_random_uuid(), days::text, 'told', 'full', 'x',
      now() - make_interval(days => 400), now() - make_interval(days => days)
    from (select 179 as days union all select 181 + n from generate_series(0, 20000) as n) as given`
  await sql`
    insert into dead_event (batch_id, line, brand_id, reason, payload, created_at)
    values (gen_random_uuid(), 1, null, 'unread', 'x', now() - interval '2 years')`
  await retention.run(pipeline, {}, controlled())
  t.same([...(await sql`select event_id from dead_letter`)], [{ event_id: '179' }])
  t.same([...(await sql`select line from dead_event`)], [{ line: 1 }])
})
