import type { Serving } from '../lake/serving.ts'
import { type Model, upstreamOf } from '../model/graph.ts'
import { runModels, type Step } from '../model/run.ts'
import type { Duck } from '../store/duckdb.ts'
import type { Parts } from './part.ts'
import { openPublishedScores } from './scored.ts'
import { placeCustomers } from './served-tables.ts'
import { mergeMarts } from './touched.ts'

/** The mart that conditions on profiles read, and member pages: it is published with the segments. */
const OF_SEGMENTS = 'customers'

/**
 * Computes what a refresh needs of the marts: everyone's straight into the file that is to be published, where the next
 * ones and the segments read them; or, without a file, those by customer as tables of the touched customers' rows.
 * Returns how many rows that made.
 */
export async function computeMarts(
  duck: Duck,
  models: readonly Model[],
  parts: Parts,
  serving: Serving | null,
): Promise<number> {
  const needed = parts.has('models') ? models : upstreamOf([OF_SEGMENTS], models)
  const marts = needed.filter(({ layer, by }) => layer === 'mart' && (serving !== null || by))
  if (!serving) return rowsOf(await runModels(duck.connection, marts))
  if (!parts.has('models')) await openPublishedScores(duck)
  let rows = 0
  for (const model of marts) {
    if (model.name !== OF_SEGMENTS)
      rows += rowsOf(await runModels(duck.connection, [model], { into: serving.name }))
    else if (!parts.has('segments')) rows += rowsOf(await runModels(duck.connection, [model]))
    else {
      await runModels(duck.connection, [model], { materialize: () => 'view' })
      await placeCustomers(duck, serving)
    }
  }
  return rows
}

/** Computes the rows of the touched customers only, and shows everyone's: the others are as they were published. */
export async function carryCustomers(duck: Duck, models: readonly Model[]): Promise<number> {
  const needed = models.filter(({ layer, name }) => layer === 'staging' || name === OF_SEGMENTS)
  const steps = await runModels(
    duck.connection,
    needed.filter(({ layer }) => layer === 'mart'),
  )
  await mergeMarts(duck, needed)
  return rowsOf(steps)
}

const rowsOf = (steps: readonly Step[]): number => steps.reduce((sum, { rows }) => sum + (rows ?? 0), 0)
