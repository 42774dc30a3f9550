import { fail } from '../errors.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import type { Brand } from '../op.ts'

/** A brand as lake_brand_row has it. */
export interface BrandRow extends Brand {
  /** Never later than the rules that are read after it. */
  definitions_version: number
  /** That of the last refresh. */
  refreshed_definitions_version: number
  refreshed_tick: number
  generation: number
  as_of: Date | null
  recipe: string | null
  full_at: Date | null
  changed_customers: number
  /** Of models, which other refreshes may have made than segments. */
  models_tick: number
  models_as_of: Date | null
  models_changed_customers: number
  /** Refreshes that failed since the last one that did not. */
  failures: number
  /** Of events and orders, in files of the brand's own. */
  own_rows: number
  /** So far. */
  erasures: number
  /** Null before the first refresh. */
  no_erasure_since: boolean | null
}

/** Throws `not_found`. */
export async function brandRow({ postgres }: Pipeline, brandId: string): Promise<BrandRow> {
  const brand = await postgres.pipeline.maybe<BrandRow>('lake_brand_row', [brandId])
  if (!brand) throw fail('not_found', `There is no brand ${brandId}.`)
  return brand
}
