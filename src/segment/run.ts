import { leaveLostServed } from '../lake/lost.ts'
import { Outrun } from '../lake/manifest.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import { openServing, type Serving } from '../lake/serving.ts'
import { openSession, type Session } from '../lake/session.ts'
import { errorFields, log } from '../log.ts'
import { checkGrains } from '../model/audit.ts'
import type { Model } from '../model/graph.ts'
import { customersMoved, leaveArchived } from './archived.ts'
import { type BrandRow, brandRow } from './brand-row.ts'
import { turnsNow } from './cadence.ts'
import { evaluateSegments, type SegmentRow } from './evaluate.ts'
import { ask } from './held.ts'
import type { Instant } from './instant.ts'
import { countKept } from './kept.ts'
import { carryCustomers, computeMarts, computeTouched, openStaging } from './marts.ts'
import { diffMembers } from './member-diff.ts'
import { needsOf } from './needed.ts'
import { nextChangeOf } from './next-change.ts'
import { type Part, type Parts, startOf } from './part.ts'
import { noteUnchanged, type Publication, publish } from './publish.ts'
import { type Staying, stayingOf } from './staying.ts'
import { isUnchanged } from './unchanged.ts'
import { compareWithPublished } from './verify.ts'
import { isAnew, recipeOf, rowsIn, type Task, type Way, type WayOptions, wayOf } from './way.ts'

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
  /** Called where it waits for room, and where it has it. */
  onWait?: (waits: boolean) => void
  /** Aborted: the refresh fails and changes nothing. */
  signal?: AbortSignal
  /** Make these only; default both. A brand that has nothing to carry on gets both. */
  parts?: readonly Part[]
}

type Timed = <T>(step: string, work: () => Promise<T>, rows: (result: T) => number) => Promise<T>

export interface Run {
  parts: Parts
  models: readonly Model[]
  asOf: Instant
  /** Since when, less what it waited for room. */
  worked: { since: number }
  /** Of segments that another run of the same refresh evaluates. */
  waits?: (segment: SegmentRow) => boolean
}

/** Makes and publishes these parts, of the segments those whose turn it is. */
export async function refreshParts(
  pipeline: Pipeline,
  brand: BrandRow,
  { parts, models, asOf, worked, waits }: Run,
  options: RefreshOptions,
): Promise<RefreshReport> {
  const { pipeline: db } = pipeline.postgres
  const turns = parts.has('segments')
    ? await turnsNow(pipeline, brand.id, asOf.now, isAnew(brand, models), waits)
    : { due: [], waiting: [] }
  const leased = turns.due.map(({ id }) => id)
  if (leased.length) await db.run('segments_lease', [brand.id, LEASE_SECONDS, leased])
  let session: Session | undefined
  try {
    const start = startOf(brand, parts, turns.due)
    const goesOn = start !== null && (brand.as_of === null || asOf.now >= brand.as_of)
    const needs = needsOf(models, turns, parts)
    session = await openSession(pipeline, brand, () => asOf.fix(), {
      since: goesOn ? start.ticks : [],
      read: needs.sources,
      brief: true,
      onWait: (isWaiting) => {
        worked.since += (isWaiting ? -1 : 1) * performance.now()
        options.onWait?.(isWaiting)
      },
      signal: options.signal,
      ...(options.smallRows !== undefined && { smallRows: options.smallRows }),
    })
    // What is made then was decided before, and would carry on what names the erased.
    if (session.manifest.erasures !== brand.erasures) throw new Outrun('refresh')
    const task = {
      ...(await needs.in(session)),
      ...{ parts, turns, recipe: recipeOf(models, brand), options, isApart: waits !== undefined },
    }
    return await refreshIn(session, pipeline, brand, task, worked.since)
  } catch (error) {
    if (leased.length) await db.run('segments_release', [brand.id, leased]).catch(() => {})
    if (options.signal?.aborted || error instanceof Outrun) throw error
    if ((await erasedSince(pipeline, brand)) || (await leavesLost(pipeline, brand)))
      throw new Outrun('refresh', { cause: error })
    throw error
  } finally {
    await session?.close()
  }
}

/** Then files that the refresh reads may be gone, which is no fault of the brand. */
const erasedSince = (pipeline: Pipeline, { id, erasures }: BrandRow): Promise<boolean> =>
  brandRow(pipeline, id).then(
    (now) => now.erasures !== erasures,
    () => false,
  )

/** Then it is made from the sources when it is tried again. What it failed with counts, not this. */
const leavesLost = (pipeline: Pipeline, { id }: BrandRow): Promise<boolean> =>
  leaveLostServed(pipeline, id).catch((error: unknown) => {
    log('warn', 'lost_files_not_looked_for', { brand_id: id, ...errorFields(error) })
    return false
  })

async function refreshIn(
  session: Session,
  pipeline: Pipeline,
  brand: BrandRow,
  task: Task & { options: RefreshOptions; isApart: boolean },
  startedAt: number,
): Promise<RefreshReport> {
  const { parts, models, turns, recipe, options, isApart } = task
  const { asOf } = session
  const steps: Step[] = []
  const timed: Timed = async (step, work, rows) => {
    options.signal?.throwIfAborted()
    const started = performance.now()
    const result = await work()
    const done = { step, rows: rows(result), ms: Math.round(performance.now() - started) }
    steps.push(done)
    options.onStep?.(done)
    return result
  }

  await openStaging(session, task)
  const way = await timed(
    'touched',
    () => wayOf(session, pipeline, brand, task),
    ({ touched }) => touched,
  )
  const serving = way.whole && !way.carries ? await openServing(session) : null
  try {
    const staying = serving && (await stayingOf(session, pipeline, brand, task))
    await timed(
      'models',
      async () => {
        const rows = await martsIn(session, way, task, serving, staying)
        // What an edited model makes must not replace what was right before it.
        if (brand.generation > 0 && brand.recipe !== recipe)
          await checkGrains(
            session.duck.connection,
            models.filter(({ stored }) => stored),
          )
        return rows
      },
      (rows) => rows,
    )
    const { evaluation, members, archived, kept } = parts.has('segments')
      ? await membersIn(session, pipeline, brand, way, task, timed)
      : NO_SEGMENTS
    const publication: Publication = {
      ...{ brand, parts, recipe, models, evaluation, members, archived, kept, serving, staying, startedAt },
      carries: way.carries,
      mostMoved: options.mostMoved,
      salesMoved: way.salesMoved,
      published: way.published ?? null,
      // Where it is not known the brand stays due: the other run may not come, or read other data.
      nextChangeAt:
        way.whole && parts.has('segments') && !isApart
          ? await nextChangeOf(session, turns, evaluation)
          : null,
    }
    if (options.verify) await compareWithPublished(session, pipeline, brand, task)
    const unchanged = !options.asOf && (await isUnchanged(session, publication, way))
    if (unchanged) await serving?.abandon()
    const made = unchanged ? noteUnchanged : publish
    const generation = await timed(
      'publish',
      () => made(pipeline, session, publication),
      () => turns.due.length,
    )
    const failed = evaluation.failed.map(({ segment, error }) => ({ segment_id: segment.id, error }))
    const report = { brand_id: brand.id, as_of: asOf.toISOString(), generation, published: !unchanged }
    return { ...report, full: way.whole, failed, steps }
  } catch (error) {
    await serving?.abandon()
    throw error
  }
}

/** Of a refresh that makes models only. */
const NO_SEGMENTS: Pick<Publication, 'evaluation' | 'members' | 'archived' | 'kept'> = {
  evaluation: { evaluated: [], members: [], failed: [] },
  members: { changes: 0, counts: new Map(), fold: false },
  archived: [],
  kept: new Map(),
}

/** The marts that are needed, of everyone or of the touched customers. */
async function martsIn(
  session: Session,
  way: Way,
  { models, parts, hollow }: Task,
  serving: Serving | null,
  staying: Staying | null,
) {
  if (way.carries) return await carryCustomers(session.duck, models)
  if (way.asks) return await computeTouched(session, models, parts, way.asks)
  if (!serving) throw new Error('there is no file to compute the marts of everyone into')
  return await computeMarts(session, { models, parts, hollow }, serving, staying)
}

/** The members of all segments that are due, and how they differ from those before. */
async function membersIn(
  session: Session,
  pipeline: Pipeline,
  brand: BrandRow,
  way: Way,
  { turns, models, hollow, options }: Task,
  timed: Timed,
) {
  const { asks } = way
  const asked = asks
    ? await timed(
        'asked',
        () => ask(session, asks, turns.due, models),
        ({ memberships }) => memberships,
      )
    : undefined
  const evaluation = await timed(
    'segments',
    () => evaluateSegments(session, turns.due, { waiting: turns.waiting, asked, hollow }),
    ({ evaluated }) => evaluated.length,
  )
  const compared = async () => {
    const members = await diffMembers(
      ...([session, evaluation, session.asOf, way.whole && { published: way.before }] as const),
    )
    const archived = await leaveArchived(session, pipeline, brand, way, options.verify)
    const isCounted = options.verify || customersMoved(session.manifest, brand)
    const others = isCounted ? [...turns.waiting, ...evaluation.failed.map(({ segment }) => segment)] : []
    const kept = [...others, ...archived]
    const changes = archived.length ? await rowsIn(session.duck, 'member_diff') : members.changes
    return { members: { ...members, changes }, archived, kept: await countKept(session.duck, kept, way) }
  }
  return { evaluation, ...(await timed('members', compared, ({ members }) => members.changes)) }
}
