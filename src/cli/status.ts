import { movedProblem } from '../lake/moved.ts'
import { lakeProblem } from '../lake/owner.ts'
import { command } from './command.ts'
import { table } from './table.ts'

export interface BrandStatus {
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

export interface LakeStatus {
  tick: number
  waiting_events: number
  export_lag_seconds: number
  log_bytes: number
  dead_events: number
  /** Deliveries of custom data sources. */
  dead_letters: number
  dead_store_webhooks: number
}

interface ShownLake extends LakeStatus {
  /** Why nothing is written to it. */
  problem: string | null
}

export const statusCommands = [
  command({
    name: 'status',
    what: 'What each brand has, how far the lake is behind, and what failed',
    options: {},
    run: async ({ app: open }) => {
      const { postgres, pipeline } = await open()
      const lake: ShownLake = {
        ...(await postgres.pipeline.one<LakeStatus>('status_lake')),
        problem: (await lakeProblem(pipeline)) ?? (await movedProblem(pipeline)),
      }
      const brands = await postgres.pipeline.many<BrandStatus>('status_brands')
      return { lake, brands }
    },
    text: ({ lake, brands }) =>
      [
        `lake: tick ${lake.tick}, ${lake.waiting_events} events waiting, ${lake.export_lag_seconds} s behind, ${lake.dead_events} dead; ${lake.dead_letters} dead letters of webhooks, ${lake.dead_store_webhooks} dead webhooks of stores`,
        ...(lake.problem ? [`lake: ${lake.problem} Events wait in Postgres meanwhile.`] : []),
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
]
