import type { Manifest } from '../lake/manifest.ts'
import { RELATIONS } from '../lake/relations.ts'
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

/**
 * Why a refresh computes all customers, in a word for the log; null when it is enough to compute those whose data
 * changed or whom time passed. All that results are made of beside the customers' own rows must be as it was.
 */
export function whyFull(
  brand: BrandRow,
  segments: readonly SegmentRow[],
  manifest: Manifest,
  now: { asOf: Date; recipe: string; fullRows: number },
): string | null {
  if (brand.as_of === null || brand.generation === 0) return 'first'
  if (brand.recipe !== now.recipe) return 'recipe'
  if (!brand.no_erasure_since) return 'erasure'
  if (brand.definitions_version !== brand.refreshed_definitions_version) return 'definitions'
  if (segments.some(({ failed }) => failed)) return 'failure'
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

/** Rows of the sources, each version of one counted. */
export const rowsOf = ({ files, staged }: Manifest): number =>
  [...files, ...staged].reduce((sum, { relation, rows }) => sum + (relation in RELATIONS ? rows : 0), 0)

/** Whether so many touched customers, with those of the generations since the base, are too many of them all. */
export const tooMany = (touched: number, brand: BrandRow, customers: number, most = MOST_TOUCHED): boolean =>
  touched + brand.changed_customers > most * customers
