import { attachGeneration, type Generation, generationSeen, type Places } from '../lake/generation.ts'
import { type Manifest, sourceRows } from '../lake/manifest.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import { RELATIONS } from '../lake/relations.ts'
import { type Session, SMALL_ROWS } from '../lake/session.ts'
import { errorFields, log } from '../log.ts'
import type { Columns, Model } from '../model/graph.ts'
import type { Brand } from '../op.ts'
import type { Duck } from '../store/duckdb.ts'
import { type AskedRows, openAskedRows } from './asked.ts'
import type { BrandRow } from './brand-row.ts'
import { SCORES } from './built-in.ts'
import { sawLast, type Turns } from './cadence.ts'
import { openCame } from './came.ts'
import { parseSaved } from './definition.ts'
import { isEdited } from './edited.ts'
import type { SegmentRow } from './evaluate.ts'
import type { PublishedMembers } from './member-words.ts'
import { openMembers, openPublishedMembers } from './members.ts'
import { areOfSales, salesMoved } from './moved.ts'
import type { Read } from './narrow.ts'
import { BOTH, changedIn, type Parts, startOf } from './part.ts'
import { type Plan, plan } from './plan.ts'
import { resultsHash } from './recipe.ts'
import { openPublishedScores, touchPublishedScores, touchScored } from './scored.ts'
import { type Slice, slicesOfProfiles } from './slices.ts'
import { openChanged, openDated, openSubjects, openTouched, restrict, rootsOf } from './touched.ts'

export interface WayOptions {
  /** Compute all customers, and say where that differs from what was published incrementally as of the same instant. */
  verify?: boolean
  /** Brands with fewer rows are computed whole each time. */
  smallRows?: number
  /** Share of the customers that may be touched without computing all. */
  mostTouched?: number
  /** Share of the customers whose memberships an edited rule may move without writing the members of everyone anew. */
  mostMoved?: number
}

/** With more of the customers touched, a full refresh is quicker and a new base due. */
const MOST_TOUCHED = 0.1

/** What a session is about to compute with. */
export interface Conditions {
  asOf: Date
  recipe: string
  /** Later changes are looked for. */
  since: number
  /** Brands with fewer rows are computed whole. */
  smallRows: number
}

/**
 * Why the marts of all customers are computed, in a word for the log; null when it is enough to compute those whose
 * data changed or whom time passed. All that they are made of beside the customers' own rows must be as it was.
 */
export function whyAnew(brand: BrandRow, manifest: Manifest, now: Conditions): string | null {
  if (brand.as_of === null || brand.generation === 0) return 'first'
  if (brand.recipe !== now.recipe) return 'recipe'
  if (!brand.no_erasure_since) return 'erasure'
  if (now.asOf < brand.as_of || (brand.models_as_of && now.asOf < brand.models_as_of)) return 'past'
  if (manifest.tick < Math.max(brand.refreshed_tick, brand.models_tick)) return 'past'
  if (sourceRows(manifest) < now.smallRows) return 'small'
  const folded = manifest.files.some(
    ({ relation, level, tick_hi }) =>
      relation in RELATIONS &&
      RELATIONS[relation as keyof typeof RELATIONS].kind === 'versions' &&
      level > 0 &&
      tick_hi > now.since,
  )
  return folded ? 'folded' : null
}

/**
 * What results are made with beside data and time: the SQL of the models and of what their rows are found by, and the
 * settings that it reads. The planner puts the same together in SQL.
 */
export const recipeOf = (models: readonly Model[], { timezone, currency_code }: Brand) =>
  `${resultsHash(models)} ${timezone} ${currency_code}`

/** Whether results are made with something else than data and time that changed. */
export const isAnew = (brand: BrandRow, models: readonly Model[]): boolean =>
  brand.recipe !== recipeOf(models, brand) || !brand.no_erasure_since

/** Whether so many touched customers, with those of the generations since the base, are too many of them all. */
export const tooMany = (touched: number, before: number, customers: number, most = MOST_TOUCHED): boolean =>
  touched + before > most * customers

/** What a refresh is to do. */
export interface Task {
  parts: Parts
  models: readonly Model[]
  /** Of a small brand: what rules read of models that nothing else reads. */
  narrow: ReadonlyMap<string, Read>
  /** Of a small brand: models without rows, and their columns. */
  hollow: ReadonlyMap<string, Columns>
  turns: Turns
  recipe: string
  options: WayOptions
}

export interface Way {
  whole: boolean
  /** Of everyone only members are computed: the rows of customers who are not touched are carried on. */
  carries: boolean
  /** Marts that are not made by customer can differ from the published ones. */
  salesMoved: boolean
  /** Customers whose rows are computed, when not all are. */
  touched: number
  /** What the brand shows so far, when it is needed. */
  published?: Generation
  /** Members before, where they are those that are published. */
  before: PublishedMembers | null
  /** What rules ask of the rows that changed, when not all customers are computed. */
  asks?: Asks
}

/** The rules that are due, and for whom conditions on rows are looked at. */
export interface Asks {
  plan: Plan
  rows: AskedRows[]
  from: Date
  roots: readonly Model[]
  /** Where what is published is. */
  places: Places
  /** Segments due that were evaluated over earlier data than the last refresh read. */
  stale: readonly SegmentRow[]
  /** Ordinals of the segments due that the last refresh did not evaluate. */
  skipped: ReadonlySet<number>
}

/** Finds out whose results are to be computed; when not everyone's, the staging models are restricted to them. */
export async function wayOf(
  session: Session,
  pipeline: Pipeline,
  brand: BrandRow,
  { parts, models, turns, recipe, options }: Task,
): Promise<Way> {
  const { duck, manifest, asOf } = session
  const start = startOf(brand, parts, turns.due)
  const since = Math.min(...(start?.ticks ?? []))
  const now = { asOf, recipe, since, smallRows: options.smallRows ?? SMALL_ROWS }
  const anew = options.verify ? 'verify' : whyAnew(brand, manifest, now)
  const everyone = parts.has('segments') && turns.due.some(isEdited)
  const carries = !anew && everyone && !parts.has('models')
  const full = !carries && (anew ?? everyone)
  // What is made anew altogether needs nothing of what is published, unless to compare it.
  const goesOn = !full || options.verify || parts.size < BOTH.size
  const published = goesOn ? await generationSeen(pipeline, session) : undefined
  // Scores carry on where models are not made.
  const only = full && !options.verify ? SCORES : undefined
  const places = published && (await attachGeneration(session, published, only))
  const isFresh = ({ evaluated_tick }: SegmentRow) => evaluated_tick === brand.refreshed_tick
  const fresh = [...turns.due, ...turns.waiting].filter(isFresh)
  const before = anew || !places ? null : { places, fresh }
  if (parts.has('segments'))
    await (before ? openPublishedMembers(session, fresh) : openMembers(session, 'table'))
  const whole: Way = { whole: true, carries: false, salesMoved: true, touched: 0, published, before }
  await openChanged(duck, full ? 'view' : 'table')
  if (full || !places || !start) return whole
  // Marts by customer stand among the sums of a small brand whose other marts stayed: it has grown since.
  if (parts.has('models') && published.models_sums_path && !published.models_changes_path) return whole

  const planned = carries ? null : planOf(turns.due)
  if (!planned && !carries) return whole
  // Rules do not move the rows of customers.
  const { from } = start
  await openDated(session, from)
  await openCame(duck, { models, since, from, asOf })
  const rows = planned ? await openAskedRows(session, planned, { models, since, from, asOf }) : []
  const slices = planned ? slicesOfProfiles(planned.profile) : []
  const touched = await touchedSince(duck, slices, from, rows)
  const all = await rowsIn(duck, 'base.customers')
  if (tooMany(touched, changedIn(brand, parts), all, options.mostTouched)) return whole
  const moved =
    parts.has('models') && (!areOfSales(models) || (await salesMoved(session, brand.models_tick, start.from)))
  if (carries) await openPublishedScores(duck)
  else if (!moved) await touchPublishedScores(duck, turns.due)
  const roots = rootsOf(models)
  if (carries || parts.has('models')) await restrict(duck, roots)
  else await openSubjects(duck)
  if (moved && (await touchScored(duck, models, turns.due))) await restrict(duck, roots)
  const way = {
    whole: carries,
    carries,
    salesMoved: moved,
    touched: await rowsIn(duck, 'touched'),
    published,
    before,
  }
  if (!planned) return way
  const stale = turns.due.filter((segment) => !isFresh(segment))
  const skipped = new Set(turns.due.flatMap((segment) => (sawLast(segment, brand) ? [] : [segment.ordinal])))
  return { ...way, asks: { plan: planned, rows, from: start.from, roots, places, stale, skipped } }
}

/** Slices of rules look at the customers as they were. */
async function touchedSince(
  duck: Duck,
  slices: readonly Slice[],
  from: Date,
  rows: readonly AskedRows[],
): Promise<number> {
  await duck.run('create view customers as from published.customers')
  const asked = rows.map(({ table }) => `select customer from ${table}`)
  const touched = await openTouched(duck, slices, from, asked)
  await duck.run('drop view customers')
  return touched
}

export const rowsIn = async (duck: Pick<Duck, 'rows'>, table: string): Promise<number> =>
  (await duck.rows<{ rows: number }>(`select count(*) as rows from ${table}`))[0]?.rows ?? 0

/** Null when a definition cannot be read: its segment fails, and shows it. */
export function planOf(segments: readonly SegmentRow[]): Plan | null {
  try {
    return plan(segments.map((segment) => ({ ...segment, tree: parseSaved(segment) })))
  } catch (error) {
    log('warn', 'definition_unreadable', errorFields(error))
    return null
  }
}
