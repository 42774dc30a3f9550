import { requireOwnLake } from '../lake/owner.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import { SMALL_ROWS } from '../lake/session.ts'
import { loadModels } from '../model/graph.ts'
import { checkPublished } from '../model/published.ts'
import { type BrandRow, brandRow } from './brand-row.ts'
import { turnsNow } from './cadence.ts'
import { editedOf } from './edited.ts'
import type { SegmentRow } from './evaluate.ts'
import { Instant } from './instant.ts'
import { BOTH, type Part, type Parts, roundsOf } from './part.ts'
import { checkRuled } from './ruled.ts'
import { type RefreshOptions, type RefreshReport, type Run, refreshParts } from './run.ts'
import { isAnew } from './way.ts'

export type { RefreshOptions, RefreshReport, Step } from './run.ts'

/**
 * Runs the models and all active segments of one brand over the newest manifest and publishes them: together, or one
 * after the other where the brand is so large that neither should wait for the other.
 */
export async function refreshBrand(
  pipeline: Pipeline,
  brandId: string,
  options: RefreshOptions = {},
): Promise<RefreshReport> {
  await requireOwnLake(pipeline)
  const models = await loadModels()
  checkPublished(models)
  checkRuled(models)
  let brand = await brandRow(pipeline, brandId)
  const asked = options.verify ? [...BOTH] : options.parts
  const [first, second] = roundsOf(brand, isAnew(brand, models), asked)
  const run = { models, asOf: new Instant(options.asOf), worked: { since: performance.now() } }
  const { failures } = brand
  let report = await refreshRound(pipeline, brand, { ...run, parts: first }, options)
  if (second) {
    brand = await brandRow(pipeline, brandId)
    // Segments are published with what they are made with: models made with something else would pass for theirs.
    const parts = isAnew(brand, models) ? BOTH : second
    report = joined(report, await refreshRound(pipeline, brand, { ...run, parts }, options))
  }
  // Not with the first of the two: a brand whose segments fail each time would never come to three failures.
  if (failures && !options.parts) await pipeline.postgres.pipeline.run('lake_brand_recovered', [brandId])
  return report
}

const joined = (first: RefreshReport, second: RefreshReport): RefreshReport => ({
  ...second,
  published: first.published || second.published,
  full: first.full || second.full,
  failed: [...first.failed, ...second.failed],
  steps: [...first.steps, ...second.steps],
})

/**
 * Of a large brand edited segments are evaluated of everyone by themselves, after the others, which need not be for one
 * of a hundred.
 */
async function refreshRound(
  pipeline: Pipeline,
  brand: BrandRow,
  run: Run,
  options: RefreshOptions,
): Promise<RefreshReport> {
  const edited = await editedNow(pipeline, brand, run, options)
  if (edited.size === 0) return await refreshParts(pipeline, brand, run, options)
  const others = { ...run, waits: ({ id }: SegmentRow) => edited.has(id) }
  const first = await refreshParts(pipeline, brand, others, options)
  const after = await brandRow(pipeline, brand.id)
  const parts = isAnew(after, run.models) ? BOTH : SEGMENTS
  const alone = { ...run, parts, waits: ({ id }: SegmentRow) => !edited.has(id) }
  return joined(first, await refreshParts(pipeline, after, alone, options))
}

const SEGMENTS: Parts = new Set<Part>(['segments'])

async function editedNow(
  pipeline: Pipeline,
  brand: BrandRow,
  { parts, models, asOf }: Run,
  { verify, smallRows = SMALL_ROWS }: RefreshOptions,
): Promise<ReadonlySet<string>> {
  if (verify || !parts.has('segments') || brand.own_rows < smallRows || isAnew(brand, models))
    return new Set()
  return editedOf((await turnsNow(pipeline, brand.id, asOf.now, false)).due)
}
