import { fail } from '../errors.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import { attachGeneration, generationOf } from '../lake/served.ts'
import { openSession, type Session } from '../lake/session.ts'
import { errorFields, log } from '../log.ts'
import { loadModels } from '../model/graph.ts'
import { runModels } from '../model/run.ts'
import { statement } from '../store/sqlfile.ts'
import { parseDefinition } from './definition.ts'
import { type Evaluation, evaluateSegments, type SegmentRow } from './evaluate.ts'
import { diffMembers, openMembers } from './members.ts'
import { plan } from './plan.ts'
import { noteUnchanged, type Publication, publish } from './publish.ts'
import { type Slice, slicesOf } from './slices.ts'
import { nextChange, openChanged, openTouched, restrict, rootsOf } from './touched.ts'
import { type BrandRow, FULL_ROWS, recipeOf, rowsOf, tooMany, whyFull } from './way.ts'

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
  /** All customers were computed, not only those whose answers can have changed. */
  full: boolean
  failed: { segment_id: string; error: string }[]
  steps: Step[]
}

/** A run that dies leaves its segments `evaluating` for this long at most. */
const LEASE_SECONDS = 600

export interface RefreshOptions {
  /** Evaluate as of this instant instead of now. */
  asOf?: Date
  /** Compute all customers, and say where that differs from what was published incrementally as of the same instant. */
  verify?: boolean
  /** Brands with fewer rows are computed whole each time. */
  fullRows?: number
  /** Share of the customers that may be touched without computing all. */
  mostTouched?: number
  onStep?: (step: Step) => void
}

/** Runs the models and all active segments of one brand over the newest manifest and publishes them together. */
export async function refreshBrand(
  pipeline: Pipeline,
  brandId: string,
  options: RefreshOptions = {},
): Promise<RefreshReport> {
  const { pipeline: db } = pipeline.postgres
  const brand = await db.maybe<BrandRow>('lake_brand_row', [brandId])
  if (!brand) throw fail('not_found', `There is no brand ${brandId}.`)
  await db.run('segments_lease', [brandId, LEASE_SECONDS])
  let session: Session | undefined
  try {
    const asOf = options.asOf ?? new Date()
    const goesOn = brand.as_of !== null && asOf >= brand.as_of
    session = await openSession(pipeline, brand, asOf, goesOn ? brand.refreshed_tick : undefined)
    return await refreshIn(session, pipeline, brand, options)
  } catch (error) {
    await db.run('segments_release', [brandId]).catch(() => {})
    throw error
  } finally {
    await session?.close()
  }
}

async function refreshIn(
  session: Session,
  pipeline: Pipeline,
  brand: BrandRow,
  options: RefreshOptions,
): Promise<RefreshReport> {
  const startedAt = performance.now()
  const { duck, asOf } = session
  const steps: Step[] = []
  const timed = async <T>(step: string, work: () => Promise<T>, rows: (result: T) => number): Promise<T> => {
    const started = performance.now()
    const result = await work()
    const done = { step, rows: rows(result), ms: Math.round(performance.now() - started) }
    steps.push(done)
    options.onStep?.(done)
    return result
  }

  const segments = await pipeline.postgres.pipeline.many<SegmentRow>('segments_to_evaluate', [brand.id])
  const models = await loadModels()
  const recipe = recipeOf(models, brand)
  await runModels(
    duck.connection,
    models.filter(({ layer }) => layer === 'staging'),
  )
  await openChanged(duck)
  await openMembers(session, pipeline.lakeDir, 'table')
  const way = await timed(
    'touched',
    () => wayOf(session, pipeline, brand, segments, recipe, options),
    ({ touched }) => touched,
  )
  await timed(
    'models',
    () =>
      runModels(
        duck.connection,
        models.filter(({ layer, by }) => layer === 'mart' && (way.whole || by)),
      ),
    (ran) => ran.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
  )
  const evaluation = await timed(
    'segments',
    () => evaluateSegments(duck, segments),
    ({ evaluated }) => evaluated.length,
  )
  const members = await timed(
    'members',
    () => diffMembers(session, evaluation.evaluated, asOf, way.whole),
    ({ changes }) => changes,
  )
  const publication: Publication = {
    brand,
    recipe,
    models,
    evaluation,
    members,
    whole: way.whole,
    nextChangeAt: way.whole ? await nextChangeOf(session, segments, evaluation) : null,
    startedAt,
  }
  if (options.verify) await compareWithPublished(session, pipeline, brand)
  const unchanged = !options.asOf && (await isUnchanged(session, publication, way))
  const generation = await timed(
    'publish',
    () =>
      unchanged ? noteUnchanged(pipeline, session, publication) : publish(pipeline, session, publication),
    () => segments.length,
  )
  const failed = evaluation.failed.map(({ segment, error }) => ({ segment_id: segment.id, error }))
  return {
    brand_id: brand.id,
    as_of: asOf.toISOString(),
    generation,
    published: !unchanged,
    full: way.whole,
    failed,
    steps,
  }
}
interface Way {
  whole: boolean
  /** Customers that are computed, when not all are. */
  touched: number
}

/** Finds out whose results are to be computed; when not everyone's, the staging models are restricted to them. */
async function wayOf(
  { duck, manifest, asOf }: Session,
  pipeline: Pipeline,
  brand: BrandRow,
  segments: readonly SegmentRow[],
  recipe: string,
  options: RefreshOptions,
): Promise<Way> {
  const full = options.verify
    ? 'verify'
    : whyFull(brand, segments, manifest, { asOf, recipe, fullRows: options.fullRows ?? FULL_ROWS })
  const published = await generationOf(pipeline, brand.id)
  if (published) await attachGeneration(duck, pipeline.lakeDir, published)
  if (full || !published || brand.as_of === null) return { whole: true, touched: 0 }

  const slices = slicesOfAll(segments)
  if (!slices) return { whole: true, touched: 0 }
  await duck.run('create view customers as from published.customers')
  const touched = await openTouched(duck, slices, brand.as_of)
  const [all] = await duck.rows<{ customers: number }>('select count(*) as customers from customers')
  await duck.run('drop view customers')
  if (tooMany(touched, brand, all?.customers ?? 0, options.mostTouched)) return { whole: true, touched: 0 }
  await restrict(duck, await rootsOf(duck, await loadModels()))
  return { whole: false, touched }
}

/** Null when a definition cannot be read: its segment fails, and shows it. */
function slicesOfAll(segments: readonly SegmentRow[]): Slice[] | null {
  try {
    return slicesOf(
      plan(segments.map(({ ordinal, definition }) => ({ ordinal, tree: parseDefinition(definition) }))),
    )
  } catch (error) {
    log('warn', 'slices_unknown', errorFields(error))
    return null
  }
}

/** When time alone changes an answer next. Null where finding out would take long, or something failed. */
async function nextChangeOf(
  { duck, manifest }: Session,
  segments: readonly SegmentRow[],
  { failed }: Evaluation,
): Promise<string | null> {
  const slices = failed.length || rowsOf(manifest) >= FULL_ROWS ? null : slicesOfAll(segments)
  return slices && (await nextChange(duck, slices))
}

/** A full refresh of what was published incrementally just before must find nothing but what came since. */
async function compareWithPublished(
  { duck }: Session,
  { postgres }: Pipeline,
  brand: BrandRow,
): Promise<void> {
  const [found] = await duck.rows<{ memberships: number; customers: number }>(`
    select
      (select count(*) from member_diff anti join changed_customers using (customer)) as memberships,
      (select count(*) from (
        (from customers except from published.customers) union all (from published.customers except from customers)
      ) anti join changed_customers using (customer)) as customers`)
  if (!found || found.memberships + found.customers === 0) return
  log('error', 'incremental_refresh_differs', { brand_id: brand.id, ...found })
  await postgres.pipeline.run('lake_brand_differs', [brand.id, found.memberships, found.customers])
}

/** Whether members and results are as they were: then there is no new generation. */
async function isUnchanged(
  session: Session,
  { brand, recipe, members }: Publication,
  way: Way,
): Promise<boolean> {
  if (members.changes > 0 || brand.as_of === null || !brand.no_erasure_since) return false
  if (!way.whole) return way.touched === 0
  const same = brand.recipe === recipe && brand.changed_tick <= brand.refreshed_tick
  return same && !(await datedBetween(session, brand.as_of, session.asOf))
}

/** Whether rows came of age, or are ahead again, since results were made as of another instant. */
async function datedBetween({ duck }: Session, from: Date, to: Date): Promise<boolean> {
  const [row] = await duck.rows<{ some: boolean }>(statement('duckdb', 'dated_between'), [from, to])
  return row?.some ?? false
}
