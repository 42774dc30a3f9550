import { CronExpressionParser } from 'cron-parser'
import type { Job } from '../src/job.ts'
import { FOLDED_SCHEMAS, STAGED_HOURS } from '../src/lake/compact.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { OWN_FILE_ROWS } from '../src/lake/stage.ts'
import { currentResults } from '../src/segment/recipe.ts'

interface Due {
  brand_id: string
  refresh_ms: number | null
}

/** Brands whose last refresh took longer than this get a job each; quick ones share one. */
const SLOW_MS = 5_000
const BRANDS_A_JOB = 50

/** Once a minute: picks the brands whose turn it is, spread over the refresh interval, and hands them to the workers. */
export const plan: Job<Pipeline & { refreshCron: string }> = {
  queue: 'plan',
  every: '* * * * *',
  timeoutSeconds: 60,
  policy: 'one',
  async run({ postgres, refreshCron }, _data, control) {
    await control.send('snapshot')
    await postgres.pipeline.run('set_back_brands')
    const { slot, interval } = slotAt(refreshCron, new Date())
    const results = await currentResults()
    // Brands that a planner handed to nobody before it was killed have had no turn: another may hand them out twice.
    await postgres.pipeline.tx(async (tx) => {
      const due = await tx.many<Due>('brands_to_refresh', [slot, interval, results])
      const slow = due.filter(({ refresh_ms }) => (refresh_ms ?? 0) > SLOW_MS)
      const quick = due.filter(({ refresh_ms }) => (refresh_ms ?? 0) <= SLOW_MS)
      for (const { brand_id } of slow) await control.send('refresh_slow', { brands: [brand_id] })
      for (const brands of groupsOf(quick)) await control.send('refresh', { brands })
    })
    const compact = await postgres.pipeline.many<Due>('brands_to_compact', [
      OWN_FILE_ROWS,
      STAGED_HOURS,
      JSON.stringify(FOLDED_SCHEMAS),
    ])
    for (const brands of groupsOf(compact)) await control.send('compact', { brands })
  },
}

function* groupsOf(due: readonly Due[]): Generator<string[]> {
  for (let at = 0; at < due.length; at += BRANDS_A_JOB)
    yield due.slice(at, at + BRANDS_A_JOB).map(({ brand_id }) => brand_id)
}

/** Start of the running refresh interval, and its length in seconds. */
function slotAt(cron: string, now: Date): { slot: Date; interval: number } {
  const options = { currentDate: now, tz: 'UTC' }
  const slot = CronExpressionParser.parse(cron, options).prev().toDate()
  const next = CronExpressionParser.parse(cron, options).next().toDate()
  return { slot, interval: Math.max(60, (next.getTime() - slot.getTime()) / 1000) }
}
