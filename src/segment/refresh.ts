import { fail } from '../errors.ts'
import { Outrun } from '../lake/manifest.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import { openSession, type Session } from '../lake/session.ts'
import { loadModels, type Model } from '../model/graph.ts'
import { modelsHash } from '../model/recipe.ts'
import { runModels } from '../model/run.ts'
import type { Brand } from '../op.ts'
import { statement } from '../store/sqlfile.ts'
import { evaluateSegments, type SegmentRow } from './evaluate.ts'
import { diffMembers, openMembers } from './members.ts'
import { publish, recordRun } from './publish.ts'

export interface Step {
  step: string
  rows: number
  ms: number
}

export interface RefreshReport {
  brand_id: string
  as_of: string
  generation: number
  /** False when models and members are as they were: no new generation. */
  published: boolean
  failed: { segment_id: string; error: string }[]
  steps: Step[]
}

interface BrandRow extends Brand {
  definitions_version: number
  refreshed_definitions_version: number
  changed_tick: number
  refreshed_tick: number
  generation: number
  as_of: Date | null
  recipe: string | null
}

/** A run that dies leaves its segments `evaluating` for this long at most. */
const LEASE_SECONDS = 600

export interface RefreshOptions {
  /** Evaluate as of this instant instead of now. */
  asOf?: Date
  onStep?: (step: Step) => void
}

/** Runs the models and all active segments of one brand over the newest manifest and publishes them together. */
export async function refreshBrand(
  pipeline: Pipeline,
  brandId: string,
  options: RefreshOptions = {},
): Promise<RefreshReport> {
  const startedAt = performance.now()
  const { pipeline: db } = pipeline.postgres
  const brand = await db.maybe<BrandRow>('lake_brand_row', [brandId])
  if (!brand) throw fail('not_found', `There is no brand ${brandId}.`)
  const asOf = options.asOf ?? new Date()
  const steps: Step[] = []
  const timed = async <T>(step: string, work: () => Promise<T>, rows: (result: T) => number): Promise<T> => {
    const started = performance.now()
    const result = await work()
    const done = { step, rows: rows(result), ms: Math.round(performance.now() - started) }
    steps.push(done)
    options.onStep?.(done)
    return result
  }

  let session: Session | undefined
  try {
    await db.run('segments_lease', [brandId, LEASE_SECONDS])
    const segments = await db.many<SegmentRow>('segments_to_evaluate', [brandId])
    const opened = await openSession(pipeline, brand, asOf)
    session = opened
    const models = await loadModels()
    const recipe = recipeOf(models, brand)
    const marts = models.filter(({ layer }) => layer === 'mart')
    await timed(
      'models',
      () => runModels(opened.duck.connection, models),
      (ran) => ran.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
    )
    await openMembers(opened, pipeline.lakeDir, 'table')
    const evaluation = await timed(
      'segments',
      () => evaluateSegments(opened.duck, segments),
      ({ evaluated }) => evaluated.length,
    )
    const members = await timed(
      'members',
      () => diffMembers(opened, evaluation.evaluated, asOf),
      ({ changes }) => changes,
    )
    const publication = {
      from: brand.generation,
      definitionsVersion: brand.definitions_version,
      recipe,
      marts,
      evaluation,
      members,
      changedAt: asOf,
      startedAt,
    }
    const unchanged =
      members.changes === 0 &&
      brand.changed_tick <= brand.refreshed_tick &&
      brand.generation > 0 &&
      brand.recipe === recipe &&
      !options.asOf &&
      !(await datedBetween(opened, brand.as_of, asOf))
    const generation = await timed(
      'publish',
      async () => {
        if (!unchanged) return await publish(pipeline, opened, publication)
        await db.tx(async (tx) => {
          const ms = Math.round(performance.now() - startedAt)
          const { tick, erasures } = opened.manifest
          const args = [brand.generation, tick, asOf, brand.definitions_version, ms, erasures]
          if ((await tx.run('lake_brand_refreshed', [brandId, ...args])) === 0) throw new Outrun('refresh')
          await recordRun(tx, brandId, brand.generation, publication)
        })
        return brand.generation
      },
      () => segments.length,
    )
    const failed = evaluation.failed.map(({ segment, error }) => ({ segment_id: segment.id, error }))
    return { brand_id: brandId, as_of: asOf.toISOString(), generation, published: !unchanged, failed, steps }
  } catch (error) {
    await db.run('segments_release', [brandId]).catch(() => {})
    throw error
  } finally {
    await session?.close()
  }
}

/**
 * What results are made with beside data and time: the SQL of the models and the settings that it reads. The planner
 * puts the same together in SQL.
 */
const recipeOf = (models: readonly Model[], { timezone, currency_code }: Brand) =>
  [modelsHash(models), timezone, currency_code].join(' ')

/** Whether rows came of age, or are ahead again, since results were made as of another instant. */
async function datedBetween({ duck }: Session, from: Date | null, to: Date): Promise<boolean> {
  if (from === null) return true
  const [row] = await duck.rows<{ some: boolean }>(statement('duckdb', 'dated_between'), [from, to])
  return row?.some ?? false
}
