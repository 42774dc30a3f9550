import type { App } from '../app.ts'
import { RESULT_TRIGGERS } from '../campaign/start-results.ts'
import { campaignsTriggered } from '../campaign/starter.ts'
import { compactBrand } from '../lake/compact.ts'
import { snapshotAll } from '../lake/horizon.ts'
import { Outrun } from '../lake/manifest.ts'
import { waitingAfter } from '../segment/cadence.ts'
import { noteFailed } from '../segment/failed.ts'
import { currentResults } from '../segment/recipe.ts'
import { type RefreshOptions, refreshBrand, type Step } from '../segment/refresh.ts'
import { command, timeOption, UsageError } from './command.ts'
import { brand, ofBrand } from './of-brand.ts'
import { table } from './table.ts'

/** A worker may compact or refresh the same brand at the same time; whose turn it is, is decided at the publish. */
const TRIES = 5
const STEPS = 5

async function compactUnlessBusy({ pipeline }: App, brandId: string): Promise<void> {
  await compactBrand(pipeline, brandId).catch((error: unknown) => {
    if (!(error instanceof Outrun)) throw error
  })
}

async function refreshInTurn({ pipeline }: App, brandId: string, options: RefreshOptions) {
  for (let left = TRIES - 1; ; left--) {
    const started = performance.now()
    const results = await currentResults()
    try {
      return await refreshBrand(pipeline, brandId, options)
    } catch (error) {
      if (error instanceof Outrun && left > 0) continue
      if (!(error instanceof Outrun))
        await noteFailed(pipeline, brandId, error, { results, ms: performance.now() - started })
      throw error
    }
  }
}

/** Whoever enters a segment again with the refresh after one of the past is no news, and would be taken for it. */
async function refuseStarts({ postgres }: App, brandId: string): Promise<void> {
  const campaigns = await campaignsTriggered(postgres.forBrand(brandId), RESULT_TRIGGERS)
  if (campaigns.length === 0) return
  throw new UsageError(
    `--as-of would have campaigns message everybody who enters their segments again with the refresh after it. Pause those that start at ${RESULT_TRIGGERS.join(', ')} (recoup campaign list), and turn them on after the next refresh`,
  )
}

export const refreshCommands = [
  command({
    name: 'refresh',
    what: 'Bring everything committed into the lake, run models and segments of a brand, and wait',
    options: {
      brand,
      'as-of': {
        type: 'string',
        placeholder: 'TIME',
        what: 'Evaluate and publish as of this instant, over orders and attributes as they are now, until the next refresh (default: now)',
      },
    },
    run: async (run) => {
      const { values, progress } = run
      const asOf = timeOption(values, 'as-of')
      if (asOf && asOf > new Date())
        throw new UsageError('--as-of must be in the past: a refresh publishes what it finds')
      const { app, brand: found } = await ofBrand(run)
      if (asOf) await refuseStarts(app, found.id)
      const shown = progress('refresh')
      const started = performance.now()
      const events = await snapshotAll(app.pipeline)
      await compactUnlessBusy(app, found.id)
      const snapshot: Step = { step: 'snapshot', rows: events, ms: Math.round(performance.now() - started) }
      let done = 1
      shown.update(done, STEPS)
      const report = await refreshInTurn(app, found.id, {
        asOf,
        onStep: () => shown.update(Math.min(++done, STEPS), STEPS),
      })
      shown.end()
      const waiting = await waitingAfter(app.pipeline, found.id, new Date(report.as_of))
      return { ...report, steps: [snapshot, ...report.steps], waiting }
    },
    text: ({ generation, as_of, failed, steps, waiting }) =>
      [
        table(
          ['step', 'rows', 'ms'],
          steps.map(({ step, rows, ms }) => [step, rows, ms]),
        ),
        `generation ${generation} as of ${as_of}`,
        ...waiting.map(
          ({ name, next_from }) =>
            `${name} waits: evaluated by the first refresh from ${next_from.toISOString()} on`,
        ),
        ...failed.map(({ segment_id, error }) => `segment ${segment_id} failed: ${error}`),
      ].join('\n'),
    fails: ({ failed }) => failed.length > 0,
  }),
]
