import { statfsSync, statSync } from 'node:fs'
import { sealProblem } from '../access/service-seal.ts'
import type { App } from '../app.ts'
import type { Config } from '../config.ts'
import { isLost, listedFiles } from '../lake/lost.ts'
import { lakeProblem } from '../lake/owner.ts'
import { loadModels } from '../model/graph.ts'
import { checkPublished } from '../model/published.ts'
import { missingOf } from '../ready.ts'
import { checkRuled } from '../segment/ruled.ts'
import connect from '../store/driver.ts'
import { clusterOf } from '../store/embedded.ts'
import { readOnlyReason } from '../store/read-only.ts'
import { runningOn } from '../store/running.ts'
import { command } from './command.ts'
import type { BrandStatus, LakeStatus } from './status.ts'

const LAG_ALARM_SECONDS = 60
const LEAST_FREE_SHARE = 0.05
const MOST_NAMED = 5
const SERVER_MS = 5_000
/** A worker plans every minute. */
const WORKER_ALARM_SECONDS = 180

const firstOf = (all: readonly string[], between: string) =>
  all.slice(0, MOST_NAMED).join(between) +
  (all.length > MOST_NAMED ? ` and ${all.length - MOST_NAMED} more` : '')

interface Finding {
  ok: boolean
  detail: string
}

type Look = (app: App, lake: () => Promise<LakeStatus>) => Finding | Promise<Finding>

const CHECKS: readonly (readonly [name: string, look: Look])[] = [
  ['node', node],
  ['ready', ready],
  ['secret key', secretKey],
  ['postgres', postgres],
  ['server', server],
  ['worker', worker],
  ['models', models],
  ['refreshes', refreshes],
  ['lake lag', lakeLag],
  ['lake files', lakeFiles],
  ['dead events', deadEvents],
  ['dead letters', deadLetters],
  ['store webhooks', storeWebhooks],
  ['disk', disk],
]

export const doctorCommands = [
  command({
    name: 'doctor',
    what: 'Check this machine and the service, and say what to do about what is wrong',
    options: {},
    run: async ({ app: open }) => {
      const app = await open()
      const checks: (Finding & { check: string })[] = []
      let status: Promise<LakeStatus> | undefined
      const lake = () => {
        status ??= app.postgres.pipeline.one<LakeStatus>('status_lake')
        return status
      }
      for (const [check, look] of CHECKS) checks.push({ check, ...(await finding(() => look(app, lake))) })
      return { ok: checks.every(({ ok }) => ok), checks }
    },
    fails: ({ ok }) => !ok,
    text: ({ checks }) =>
      checks.map(({ check, ok, detail }) => `${ok ? 'ok   ' : 'WRONG'}  ${check}: ${detail}`).join('\n'),
  }),
]

/** What cannot be looked at is wrong, too. */
async function finding(look: () => ReturnType<Look>): Promise<Finding> {
  try {
    return await look()
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}

function node(): Finding {
  return {
    ok: Number(process.versions.node.split('.')[0]) === 22,
    detail: `version ${process.versions.node}`,
  }
}

async function ready(app: App): Promise<Finding> {
  const missing = await missingOf(app)
  const detail = missing.join('; ') || 'Postgres answers, the schema is current, the lake is writable'
  return { ok: missing.length === 0, detail }
}

async function secretKey(app: App): Promise<Finding> {
  const problem = await sealProblem(app)
  return { ok: problem === null, detail: problem ?? 'opens what the database holds' }
}

async function postgres({ postgres }: App): Promise<Finding> {
  const { version, fsync, synchronous_commit } = await postgres.pipeline.one<{
    version: string
    fsync: string
    synchronous_commit: string
  }>('status_server')
  const readOnly = await readOnlyReason(postgres)
  const facts = `${version}, fsync ${fsync}, synchronous_commit ${synchronous_commit}`
  return { ok: fsync === 'on' && readOnly === null, detail: readOnly ? `${facts}: ${readOnly}` : facts }
}

async function server({ config, postgres: { url } }: App): Promise<Finding> {
  const problem = (await serverProblem(config)) ?? (await foreignServer(config, url))
  return { ok: problem === null, detail: problem ?? `ready at ${config.baseUrl}` }
}

async function serverProblem({ baseUrl }: Pick<Config, 'baseUrl'>): Promise<string | null> {
  try {
    const answer = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(SERVER_MS) })
    const said = (await answer.json()) as { ok?: unknown; missing?: unknown[] }
    if (said.ok === true) return null
    return `${baseUrl} is not ready: ${said.missing?.join('; ') ?? `it answers ${answer.status}`}`
  } catch {
    return `no Recoup answers at ${baseUrl}: run recoup dev or recoup serve, or give PORT or BASE_URL as the server has it`
  }
}

/** The address of another service, of which this one's may be a copy. */
async function foreignServer({ baseUrl }: Pick<Config, 'baseUrl'>, url: string): Promise<string | null> {
  const sql = connect(url, { max: 1, onnotice: () => {} })
  try {
    if ((await runningOn(sql)).server) return null
    return `the Recoup at ${baseUrl} is another service, and no server of this one runs: run recoup dev or recoup serve with a PORT of its own`
  } finally {
    await sql.end()
  }
}

async function worker({ postgres: { url } }: App): Promise<Finding> {
  const seconds = await secondsSincePlan(url)
  if (seconds === null) return { ok: false, detail: 'none has run: recoup dev or recoup work' }
  if (seconds <= WORKER_ALARM_SECONDS) return { ok: true, detail: `planned ${seconds} s ago` }
  return { ok: false, detail: `the last sign of life was ${seconds} s ago: run recoup dev or recoup work` }
}

/** The tables of the queues are there from the first worker on; only the owner of the database reads them. */
async function secondsSincePlan(url: string): Promise<number | null> {
  const sql = connect(url, { max: 1, onnotice: () => {} })
  try {
    const [queues] = await sql`select to_regclass('pgboss.job') is not null as made`
    if (!queues?.made) return null
    const [plan] = await sql<{ seconds: number | null }[]>`
      select extract(epoch from now() - max(completed_on))::integer as seconds
      from pgboss.job where name = 'plan' and state = 'completed'`
    return plan?.seconds ?? null
  } finally {
    await sql.end()
  }
}

async function models(): Promise<Finding> {
  const all = await loadModels()
  checkPublished(all)
  checkRuled(all)
  return { ok: true, detail: `${all.length} load` }
}

async function refreshes({ postgres }: App): Promise<Finding> {
  const brands = await postgres.pipeline.many<BrandStatus>('status_brands')
  const failed = brands.flatMap(({ shop_domain: shop, error }) =>
    error === null ? [] : [`${shop}: ${error}`],
  )
  if (failed.length === 0) return { ok: true, detail: 'none fails' }
  return {
    ok: false,
    detail: `${firstOf(failed, '; ')}. Reads of these brands go on from the results before`,
  }
}

async function lakeLag(_app: App, lake: () => Promise<LakeStatus>): Promise<Finding> {
  const { export_lag_seconds: lag } = await lake()
  if (lag < LAG_ALARM_SECONDS) return { ok: true, detail: `${lag} s` }
  return { ok: false, detail: `${lag} s: is a worker running (recoup work)?` }
}

const LOOKED_AT_ONCE = 64

/** Their sizes tell what is gone or cut off; to read them all takes too long. */
async function lakeFiles({ pipeline }: App): Promise<Finding> {
  const problem = await lakeProblem(pipeline)
  if (problem) return { ok: false, detail: problem }
  const files = await listedFiles(pipeline, null)
  const lost: string[] = []
  for (let at = 0; at < files.length; at += LOOKED_AT_ONCE)
    await Promise.all(
      files.slice(at, at + LOOKED_AT_ONCE).map(async (file) => {
        if (await isLost(pipeline.lakeDir, file)) lost.push(file.path)
      }),
    )
  // An erasure removes files at once.
  const listed = new Set((await listedFiles(pipeline, null)).map(({ path }) => path))
  const missing = lost.filter((path) => listed.has(path)).sort()
  if (missing.length === 0) return { ok: true, detail: `${listed.size} are there, none cut off` }
  const advice = 'recoup refresh makes served-… anew, all others are in a backup'
  return {
    ok: false,
    detail: `missing or cut off in ${pipeline.lakeDir}: ${firstOf(missing, ', ')}: ${advice}`,
  }
}

async function deadEvents(_app: App, lake: () => Promise<LakeStatus>): Promise<Finding> {
  const { dead_events: dead } = await lake()
  if (dead === 0) return { ok: true, detail: 'none' }
  return { ok: false, detail: `${dead} that the lake refused: see recoup dead-letter list, then replay` }
}

async function deadLetters(_app: App, lake: () => Promise<LakeStatus>): Promise<Finding> {
  const { dead_letters: dead } = await lake()
  if (dead === 0) return { ok: true, detail: 'none' }
  return { ok: false, detail: `${dead} deliveries of webhooks: see recoup dead-letter list, then replay` }
}

async function storeWebhooks({ postgres }: App): Promise<Finding> {
  const shops = await postgres.pipeline.many<{ shop_domain: string; dead: number }>('status_store_dead')
  if (shops.length === 0) return { ok: true, detail: 'none unread' }
  const each = shops.map(({ shop_domain, dead }) => `${dead} of ${shop_domain}`)
  return {
    ok: false,
    detail: `could not be read: ${firstOf(each, ', ')}: see recoup store status, then recoup store replay`,
  }
}

function disk({ config: { lakeDir, dataDir, databaseUrl } }: App): Finding {
  const folders = [lakeDir, ...(databaseUrl === null ? [clusterOf(dataDir) ?? dataDir] : [])]
  const dev = (path: string) => statSync(path).dev
  const disks = folders.filter((path, at) => folders.findIndex((other) => dev(other) === dev(path)) === at)
  return diskFinding(disks.map((path) => ({ path, free: freeShare(path) })))
}

function freeShare(path: string): number {
  const { bavail, blocks } = statfsSync(path)
  return bavail / blocks
}

export function diskFinding(disks: readonly { path: string; free: number }[]): Finding {
  const ok = disks.every(({ free }) => free >= LEAST_FREE_SHARE)
  const shown = disks.map(({ path, free }) => `${Math.floor(free * 100)} % free at ${path}`).join(', ')
  if (ok) return { ok, detail: shown }
  return {
    ok,
    detail: `${shown}: free some space. With less than ${LEAST_FREE_SHARE * 100} % nothing goes into the lake, nobody is erased and no message leaves, and on the disk of the embedded Postgres all work stands still but what frees space. It goes on by itself`,
  }
}
