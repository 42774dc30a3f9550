import { fail } from '../errors.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import { openSession, type Session } from '../lake/session.ts'
import { log } from '../log.ts'
import { loadModels } from '../model/graph.ts'
import { runModels } from '../model/run.ts'
import { statement } from '../store/sqlfile.ts'
import { goesOnFrom, turnsNow } from './cadence.ts'
import { evaluateSegments } from './evaluate.ts'
import { isHeld } from './held.ts'
import { diffMembers, openMembers } from './members.ts'
import { narrow } from './narrow.ts'
import { noteUnchanged, type Publication, publish } from './publish.ts'
import { withoutScored } from './scored.ts'
import { DATED_SOURCES } from './slices.ts'
import { openChanged } from './touched.ts'
import { type BrandRow, nextChangeOf, recipeOf, type Task, type Way, type WayOptions, wayOf } from './way.ts'

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

export interface RefreshOptions extends WayOptions {
  /** Evaluate as of this instant instead of now. */
  asOf?: Date
  onStep?: (step: Step) => void
  /** Aborted: the refresh fails and changes nothing. */
  signal?: AbortSignal
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
  const asOf = options.asOf ?? new Date()
  const models = await loadModels()
  const recipe = recipeOf(models, brand)
  const isAnew = brand.recipe !== recipe || !brand.no_erasure_since
  const turns = await turnsNow(pipeline, brand.id, asOf, isAnew)
  await db.run('segments_lease', [brandId, LEASE_SECONDS, turns.due.map(({ id }) => id)])
  let session: Session | undefined
  const stop = () => session?.duck.stop(options.signal?.reason)
  try {
    const on = brand.as_of !== null && asOf >= brand.as_of ? goesOnFrom(brand, turns.due) : null
    session = await openSession(pipeline, brand, asOf, on?.ticks)
    options.signal?.throwIfAborted()
    options.signal?.addEventListener('abort', stop)
    return await refreshIn(session, pipeline, brand, { models, turns, recipe, options }, options)
  } catch (error) {
    await db.run('segments_release', [brandId]).catch(() => {})
    throw error
  } finally {
    options.signal?.removeEventListener('abort', stop)
    await session?.close()
  }
}

async function refreshIn(
  session: Session,
  pipeline: Pipeline,
  brand: BrandRow,
  task: Task,
  { asOf: given, onStep, signal }: RefreshOptions,
): Promise<RefreshReport> {
  const { models, turns, recipe } = task
  const startedAt = performance.now()
  const { duck, asOf } = session
  const steps: Step[] = []
  const timed = async <T>(step: string, work: () => Promise<T>, rows: (result: T) => number): Promise<T> => {
    signal?.throwIfAborted()
    const started = performance.now()
    const result = await work()
    const done = { step, rows: rows(result), ms: Math.round(performance.now() - started) }
    steps.push(done)
    onStep?.(done)
    return result
  }

  await runModels(
    duck.connection,
    models.filter(({ layer }) => layer === 'staging'),
  )
  await openChanged(duck)
  await openMembers(session, pipeline.lakeDir, 'table')
  const way = await timed(
    'touched',
    () => wayOf(session, pipeline, brand, task),
    ({ touched }) => touched,
  )
  await timed(
    'models',
    () =>
      runModels(
        duck.connection,
        models.filter(({ layer, by }) => layer === 'mart' && (way.whole || by)),
        { materialize: ({ name }) => (way.whole && !isHeld(name) ? 'view' : 'table') },
      ),
    (ran) => ran.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
  )
  const evaluation = await timed(
    'segments',
    async () => {
      if (way.plan) await narrow(duck, way.plan)
      return await evaluateSegments(duck, turns.due, turns.waiting)
    },
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
    nextChangeAt: way.whole ? await nextChangeOf(session, turns, evaluation) : null,
    startedAt,
  }
  if (task.options.verify) await compareWithPublished(session, pipeline, brand, task)
  const unchanged = !given && (await isUnchanged(session, publication, way))
  const generation = await timed(
    'publish',
    () =>
      unchanged ? noteUnchanged(pipeline, session, publication) : publish(pipeline, session, publication),
    () => turns.due.length,
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
/** A full refresh of what was published incrementally just before must find nothing but what came since. */
async function compareWithPublished(
  { duck }: Session,
  { postgres }: Pipeline,
  brand: BrandRow,
  { turns: { due }, models }: Task,
): Promise<void> {
  // Those that did not see the last refresh differ as they should.
  const seen = withoutScored(due).filter(
    ({ every_minutes, evaluated_at }) =>
      every_minutes === null || (evaluated_at && brand.as_of && evaluated_at >= brand.as_of),
  )
  const ordinals = seen.map(({ ordinal }) => Math.trunc(ordinal)).join(', ') || 'null'
  const rows = models.flatMap(({ layer, by, name }) =>
    layer === 'mart' && by
      ? `select customer from ((from ${name} except from published.${name}) union all (from published.${name} except from ${name}))`
      : [],
  )
  const [found] = await duck.rows<{ memberships: number; customers: number }>(`
    select
      (select count(*) from member_diff anti join changed_customers using (customer) where segment in (${ordinals})) as memberships,
      (
        select count(distinct customer) from (${rows.join(' union all ')})
        anti join changed_customers using (customer) where customer is not null
      ) as customers`)
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
  if (await dayTurned(session, brand.as_of)) return false
  if (!way.whole) return way.touched === 0
  const same = brand.recipe === recipe && brand.changed_tick <= brand.refreshed_tick
  return same && !(await datedBetween(session, brand.as_of, session.asOf))
}

/** Whether rows came of age, or are ahead again, since results were made as of another instant. */
async function datedBetween({ duck }: Session, from: Date, to: Date): Promise<boolean> {
  const passed = Object.entries(DATED_SOURCES).map(
    ([source, column]) => `exists (from ${source}, span where ${column} > lo and ${column} <= hi)`,
  )
  const [row] = await duck.rows<{ some: boolean }>(
    `with span as (select least($1::timestamp, $2::timestamp) as lo, greatest($1::timestamp, $2::timestamp) as hi)
     select ${passed.join(' or ')} as some`,
    [from, to],
  )
  return row?.some ?? false
}

/** Whether it is another day for the brand, so that scores are others. */
async function dayTurned({ duck }: Session, from: Date): Promise<boolean> {
  const [row] = await duck.rows<{ turned: boolean }>(statement('duckdb', 'day_turned'), [from])
  return row?.turned ?? false
}
