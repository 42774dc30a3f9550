import { statfsSync } from 'node:fs'
import { missingOf } from '../ready.ts'
import { command } from './command.ts'
import { table } from './table.ts'

interface BrandStatus {
  brand_id: string
  shop_domain: string
  generation: number
  as_of: Date | null
  refreshed_at: Date | null
  refresh_ms: number | null
  segments: number
  files: number
  failures: number
  error: string | null
  /** What a full refresh found to differ from the incremental ones before it: memberships and customers. */
  difference: { at: string; memberships: number; customers: number } | null
  /** Identifiers of so many customers that they join nobody. */
  shared_identifiers: number
}

interface LakeStatus {
  tick: number
  waiting_events: number
  export_lag_seconds: number
  log_bytes: number
  dead_events: number
  dead_letters: number
}

const LAG_ALARM_SECONDS = 60
const LEAST_FREE_SHARE = 0.05

export const statusCommands = [
  command({
    name: 'status',
    what: 'What each brand has, how far the lake is behind, and what failed',
    options: {},
    run: async ({ app: open }) => {
      const { postgres } = await open()
      const lake = await postgres.pipeline.one<LakeStatus>('status_lake')
      const brands = await postgres.pipeline.many<BrandStatus>('status_brands')
      return { lake, brands }
    },
    text: ({ lake, brands }) =>
      [
        `lake: tick ${lake.tick}, ${lake.waiting_events} events waiting, ${lake.export_lag_seconds} s behind, ${lake.dead_events} dead; ${lake.dead_letters} dead letters of webhooks`,
        table(
          [
            'shop',
            'generation',
            'as of',
            'refreshed',
            'ms',
            'segments',
            'files',
            'failures',
            'error',
            'difference',
            'shared identifiers',
          ],
          brands.map((one) => [
            one.shop_domain,
            one.generation,
            one.as_of,
            one.refreshed_at,
            one.refresh_ms,
            one.segments,
            one.files,
            one.failures,
            one.error,
            one.difference && `${one.difference.memberships} memberships at ${one.difference.at}`,
            one.shared_identifiers,
          ]),
        ),
      ].join('\n'),
  }),

  command({
    name: 'doctor',
    what: 'Check this machine and the service, and say what to do about what is wrong',
    options: {},
    run: async ({ app: open, config }) => {
      const checks: { check: string; ok: boolean; detail: string }[] = []
      const check = (name: string, ok: boolean, detail: string) => checks.push({ check: name, ok, detail })
      check('node', Number(process.versions.node.split('.')[0]) === 22, `version ${process.versions.node}`)
      const app = await open()
      const missing = await missingOf(app)
      check(
        'ready',
        missing.length === 0,
        missing.join('; ') || 'Postgres answers, the schema is current, the lake is writable',
      )
      const server = await app.postgres.pipeline.one<{
        version: string
        fsync: string
        synchronous_commit: string
      }>('status_server')
      check(
        'postgres',
        server.fsync === 'on',
        `${server.version}, fsync ${server.fsync}, synchronous_commit ${server.synchronous_commit}`,
      )
      const lake = await app.postgres.pipeline.one<LakeStatus>('status_lake')
      const lag = lake.export_lag_seconds
      check(
        'lake lag',
        lag < LAG_ALARM_SECONDS,
        lag < LAG_ALARM_SECONDS ? `${lag} s` : `${lag} s: is a worker running (recoup work)?`,
      )
      check(
        'dead events',
        lake.dead_events === 0,
        lake.dead_events
          ? `${lake.dead_events} that the lake refused: see recoup dead-letter list, then replay`
          : 'none',
      )
      check(
        'dead letters',
        lake.dead_letters === 0,
        lake.dead_letters
          ? `${lake.dead_letters} deliveries of webhooks: see recoup dead-letter list, then replay`
          : 'none',
      )
      const disk = statfsSync(config.lakeDir)
      const free = disk.bavail / disk.blocks
      check('disk', free >= LEAST_FREE_SHARE, `${(free * 100).toFixed(0)} % free at ${config.lakeDir}`)
      return { ok: checks.every(({ ok }) => ok), checks }
    },
    fails: ({ ok }) => !ok,
    text: ({ checks }) =>
      checks.map(({ check, ok, detail }) => `${ok ? 'ok   ' : 'WRONG'}  ${check}: ${detail}`).join('\n'),
  }),
]
