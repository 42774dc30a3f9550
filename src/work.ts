import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { PgBoss, type Job as Taken } from 'pg-boss'
import { attribution } from '../jobs/attribution.ts'
import { campaignResults } from '../jobs/campaign-results.ts'
import { campaigns } from '../jobs/campaigns.ts'
import { checkouts } from '../jobs/checkouts.ts'
import { compact } from '../jobs/compact.ts'
import { compactStaging } from '../jobs/compact-staging.ts'
import { erase } from '../jobs/erase.ts'
import { insights } from '../jobs/insights.ts'
import { plan } from '../jobs/plan.ts'
import { reconcile } from '../jobs/reconcile.ts'
import { refresh, refreshSlow } from '../jobs/refresh.ts'
import { retention } from '../jobs/retention.ts'
import { sending } from '../jobs/sending.ts'
import { signIns } from '../jobs/sign-ins.ts'
import { snapshot } from '../jobs/snapshot.ts'
import type { Seal } from './access/seal.ts'
import { serviceSeal } from './access/service-seal.ts'
import type { App } from './app.ts'
import type { CampaignParts } from './campaign/round.ts'
import { filledWith } from './connect/demo/filled.ts'
import { removeStale } from './connect/import/folder.ts'
import { isPassing } from './errors.ts'
import { following, type Job, Stopped } from './job.ts'
import { lakeProblem } from './lake/owner.ts'
import type { Pipeline } from './lake/pipeline.ts'
import { openLakes } from './lake/reader.ts'
import { openServed } from './lake/served.ts'
import { removeKilledWorkspaces } from './lake/workspace.ts'
import { errorFields, log, rareLog } from './log.ts'
import { openReading } from './segment/reading.ts'
import { clusterOf } from './store/embedded.ts'
import { SESSION_OF } from './store/postgres.ts'
import { statement } from './store/sqlfile.ts'
import { pgConnection } from './store/tls.ts'
import { openWatch, type Watch } from './store/watch.ts'

type Services = Pipeline & CampaignParts & { refreshCron: string; seal: Seal; webhookUrl: string }

const JOBS = [
  plan,
  snapshot,
  refresh,
  refreshSlow,
  compact,
  compactStaging,
  erase,
  retention,
  signIns,
  checkouts,
  attribution,
  campaigns,
  sending,
  insights,
  campaignResults,
  reconcile,
] as unknown as Job<Services>[]

/** A killed worker's jobs are taken up again after this long without a sign of life. */
const HEARTBEAT_SECONDS = 20
/** An idle worker does some 79,000 jobs a day; of one that is done nothing is looked up but when it was. */
const DONE_SECONDS = 86_400
/** How long running jobs may take when the worker stops; then they are told, and may end what they are at. */
const GRACE_MS = 18_000
const END_MS = 2_000
/** Work is refused while less is free of a disk that it writes to. */
const LEAST_FREE_SHARE = 0.05
const CRON_CHECK_SECONDS = 2
/** A queued job is announced at once, but nobody announces that the time of a delayed one has come. */
export const POLL_SECONDS = 2
const SUPERVISE_SECONDS = 10
/** A Postgres whose host is gone says nothing; queries of the scheduler, which take milliseconds, wait for it so long. */
const QUERY_MS = 60_000
/** Each queue says every two seconds that Postgres is away. */
const SAY_MS = 60_000
const KEEP_ALIVE_MS = 10_000
/** So often is looked for what a clock that was set back would have wait. */
const SET_BACK_MS = 60_000

export interface Worker {
  /** Lets running jobs finish for a while; those that do not are run again by another worker. */
  stop(): Promise<void>
}

/** Runs the jobs of all queues in this process. */
export async function startWorker(
  app: App,
  { graceMs = GRACE_MS, queryMs = QUERY_MS, setBackMs = SET_BACK_MS } = {},
): Promise<Worker> {
  const seal = await serviceSeal(app)
  await Promise.all([removeStale(), removeKilledWorkspaces(app.pipeline)])
  const stopping = new AbortController()
  const over = new AbortController()
  const boss = await startScheduler(app.postgres.url, queryMs, over.signal)
  const lakes = openLakes(openServed(app.pipeline), (brand, asked) =>
    openReading(app.pipeline, brand, asked.past, asked),
  )
  const services: Services = {
    ...app.pipeline,
    lake: lakes.forBrand,
    isDemo: (brandId) => filledWith(app.config, brandId) !== null,
    baseUrl: app.config.baseUrl,
    webhookUrl: app.config.webhookUrl,
    agent: app.config.agent,
    refreshCron: app.config.refreshCron,
    seal,
  }
  const running = {
    ...{ boss, services, worker: randomUUID(), stopping: stopping.signal, over: over.signal },
    watch: openWatch(app.postgres),
    postgresDir: app.config.databaseUrl === null ? clusterOf(app.config.dataDir) : null,
  }
  // Jobs send each other.
  for (const job of JOBS) await openQueue(boss, job)
  await bringBack(boss)
  const clock = setInterval(() => void bringBack(boss), setBackMs)
  for (const job of JOBS) await work(running, job)
  await boss.send(plan.queue, {}, groupOf(plan.queue))
  log('info', 'worker_started', { queues: JOBS.map(({ queue }) => queue) })

  return {
    stop: async () => {
      stopping.abort(new Stopped())
      clearInterval(clock)
      const timer = setTimeout(() => over.abort(new Stopped()), graceMs)
      await boss.stop({ graceful: true, timeout: graceMs + END_MS, close: true })
      clearTimeout(timer)
      await lakes.close()
    },
  }
}

/** Says what goes wrong, until it is `over`. */
async function startScheduler(url: string, queryMs: number, over: AbortSignal): Promise<PgBoss> {
  // For pg, to which pg-boss hands on what its types do not name.
  const connection = {
    query_timeout: queryMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  }
  const boss = new PgBoss({
    ...connection,
    ...(await pgConnection(url)),
    application_name: SESSION_OF.worker,
    schema: 'pgboss',
    max: 4,
    useListenNotify: true,
    cronWorkerIntervalSeconds: CRON_CHECK_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    warningQueueSize: 10_000,
  })
  const saidAway = rareLog(SAY_MS)
  boss.on('error', (error) => {
    if (!over.aborted) (isPassing(error) ? saidAway : log)('error', 'jobs_error', errorFields(error))
  })
  boss.on('warning', (warning) => log('warn', 'jobs_warning', { ...warning }))
  await boss.start()
  return boss
}

/** Has queues go on whose times are ahead of the clock of Postgres. Not a job: none would be queued then. */
async function bringBack(boss: PgBoss): Promise<void> {
  try {
    const { rows } = await boss.getDb().executeSql(statement('postgres', 'set_back_queues'))
    const queues = rows.map(({ name }: { name: string }) => name)
    if (queues.length) log('warn', 'clock_was_set_back', { queues })
  } catch (error) {
    log(isPassing(error) ? 'warn' : 'error', 'queues_not_brought_back', errorFields(error))
  }
}

interface Running {
  boss: PgBoss
  services: Services
  /** Id of this worker. */
  worker: string
  stopping: AbortSignal
  over: AbortSignal
  watch: Watch
  /** Of the embedded Postgres, to which all work writes. */
  postgresDir: string | null
}

/** Takes the jobs of a queue, and has them queued by the clock. */
async function work(running: Running, job: Job<Services>): Promise<void> {
  const { boss } = running
  await boss.work(
    job.queue,
    {
      localConcurrency: job.workers ?? 1,
      pollingIntervalSeconds: POLL_SECONDS,
      notifyPollingIntervalSeconds: POLL_SECONDS,
      ...(job.policy === 'one' && { groupConcurrency: 1 }),
    },
    async ([taken]) => {
      if (taken) await runJob(running, job, taken as Taken<object>)
    },
  )
  if (job.every) await boss.schedule(job.queue, job.every, {}, { ...groupOf(job.queue), missed: 'once' })
}

/** What it throws the scheduler keeps, and tells nobody. */
async function runJob(
  { boss, services, worker, stopping, over, watch, postgresDir }: Running,
  job: Job<Services>,
  { id, data, signal }: Taken<object>,
): Promise<void> {
  const send = async (queue: string, payload: object = {}, afterSeconds = 0) => {
    await boss.send(queue, payload, {
      ...groupOf(queue),
      ...(isEach(queue) && { singletonKey: JSON.stringify(payload) }),
      ...(afterSeconds && { startAfter: afterSeconds }),
    })
  }
  const cut = following([over, signal])
  const asked = following([stopping])
  try {
    if (await watch()) {
      log('warn', 'jobs_resumed')
      await send(reconcile.queue)
    }
    // Retention is what frees space; all else would only use more.
    const onLake = job.writesLake || job.followsLake
    for (const path of [onLake ? services.lakeDir : null, postgresDir])
      if (path && job.queue !== retention.queue && (await freeShare(path)) < LEAST_FREE_SHARE)
        return log('error', 'disk_nearly_full', { queue: job.queue, path })
    const problem = job.writesLake ? await lakeProblem(services) : null
    if (problem) return log('error', 'lake_away', { queue: job.queue, problem })
    const control = { job: id, worker, send, signal: cut.signal, stopping: asked.signal }
    await job.run(services, data, control)
  } catch (error) {
    if (!over.aborted) {
      log('error', 'job_failed', { queue: job.queue, ...errorFields(error) })
      throw error
    }
  } finally {
    cut.end()
    asked.end()
  }
  if (!over.aborted) return
  // Another worker runs it again: it may have left something undone.
  log('info', 'job_stopped', { queue: job.queue })
  throw over.reason
}

async function freeShare(folder: string): Promise<number> {
  const { bavail, blocks } = await statfs(folder)
  return bavail / blocks
}

/** One group per queue: how many of its jobs run at a time is looked up with each fetch. */
const groupOf = (queue: string) => ({ group: { id: queue } })

const isEach = (queue: string) => JOBS.some((job) => job.queue === queue && job.policy === 'each')

async function openQueue(boss: PgBoss, job: Job<Services>): Promise<void> {
  const { policy, ...others } = queueOptions(job)
  // The policy of a queue cannot change; what waits in it is sent again.
  const before = await boss.getQueue(job.queue)
  if (before && before.policy !== policy) await boss.deleteQueue(job.queue)
  await boss.createQueue(job.queue, { policy, ...others })
  // One that was there is left as it was.
  await boss.updateQueue(job.queue, others)
}

// At most one waits, of the same key if there is one: `short`. That at most one runs is up to the group. `stately` would
// say both, but skips a queue for up to a minute after its job has ended, when its statistics, which are kept so long, were
// taken while that ran.
const queueOptions = (job: Job<Services>) => ({
  policy: job.policy === 'many' ? ('standard' as const) : ('short' as const),
  expireInSeconds: job.timeoutSeconds,
  heartbeatSeconds: HEARTBEAT_SECONDS,
  deleteAfterSeconds: DONE_SECONDS,
  retryLimit: 2,
  retryDelay: 5,
  notify: true,
})
