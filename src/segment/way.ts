import type { Manifest } from '../lake/manifest.ts'
import { RELATIONS } from '../lake/relations.ts'
import type { Model } from '../model/graph.ts'
import { modelsHash } from '../model/recipe.ts'
import type { Brand } from '../op.ts'
import type { SegmentRow } from './evaluate.ts'

/** A brand as lake_brand_row has it. */
export interface BrandRow extends Brand {
  definitions_version: number
  refreshed_definitions_version: number
  changed_tick: number
  refreshed_tick: number
  generation: number
  as_of: Date | null
  recipe: string | null
  full_at: Date | null
  changed_customers: number
  /** Null before the first refresh. */
  no_erasure_since: boolean | null
}

/** Fewer rows are computed anew sooner than what changed of them is found. */
export const FULL_ROWS = 200_000
/** With more of the customers touched, a full refresh is quicker and a new base due. */
const MOST_TOUCHED = 0.1

/** What a session is about to compute with. */
export interface Conditions {
  asOf: Date
  recipe: string
  /** Brands with fewer rows are computed whole. */
  fullRows: number
}

/**
 * Why the marts of all customers are computed, in a word for the log; null when it is enough to compute those whose
 * data changed or whom time passed. All that they are made of beside the customers' own rows must be as it was.
 */
export function whyAnew(brand: BrandRow, manifest: Manifest, now: Conditions): string | null {
  if (brand.as_of === null || brand.generation === 0) return 'first'
  if (brand.recipe !== now.recipe) return 'recipe'
  if (!brand.no_erasure_since) return 'erasure'
  if (now.asOf < brand.as_of) return 'past'
  if (rowsOf(manifest) < now.fullRows) return 'small'
  const folded = manifest.files.some(
    ({ relation, level, tick_hi }) =>
      relation in RELATIONS &&
      RELATIONS[relation as keyof typeof RELATIONS].kind === 'versions' &&
      level > 0 &&
      tick_hi > brand.refreshed_tick,
  )
  return folded ? 'folded' : null
}

/** Why a refresh computes all customers; null when it need not. */
export function whyFull(
  brand: BrandRow,
  segments: readonly SegmentRow[],
  manifest: Manifest,
  now: Conditions,
): string | null {
  if (brand.definitions_version !== brand.refreshed_definitions_version) return 'definitions'
  if (segments.some(({ failed }) => failed)) return 'failure'
  return whyAnew(brand, manifest, now)
}

/**
 * What results are made with beside data and time: the SQL of the models and the settings that it reads. The planner
 * puts the same together in SQL.
 */
export const recipeOf = (models: readonly Model[], { timezone, currency_code }: Brand) =>
  `${modelsHash(models)} ${timezone} ${currency_code}`

/** Rows of the sources, each version of one counted. */
export const rowsOf = ({ files, staged }: Manifest): number =>
  [...files, ...staged].reduce((sum, { relation, rows }) => sum + (relation in RELATIONS ? rows : 0), 0)

/** Whether so many touched customers, with those of the generations since the base, are too many of them all. */
export const tooMany = (touched: number, brand: BrandRow, customers: number, most = MOST_TOUCHED): boolean =>
  touched + brand.changed_customers > most * customers
