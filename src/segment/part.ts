import type { BrandRow } from './brand-row.ts'
import { goesOnFrom } from './cadence.ts'
import type { SegmentRow } from './evaluate.ts'

/** What a refresh makes of a brand, each by itself or both at once: a publication carries on what it does not make. */
export type Part = 'models' | 'segments'
export type Parts = ReadonlySet<Part>

export const BOTH: Parts = new Set<Part>(['models', 'segments'])

/** With so many events and orders, segments and models do not wait for each other: each is published when it is made. */
const APART_ROWS = 5_000_000

/** What is made one after the other; models first, whose scores segments read. `isAnew`: nothing can be carried on. */
export function roundsOf(brand: BrandRow, isAnew: boolean, asked?: readonly Part[]): [Parts, Parts?] {
  if (isAnew || brand.generation === 0) return [BOTH]
  if (asked) return [new Set(asked)]
  return brand.own_rows < APART_ROWS ? [BOTH] : [new Set<Part>(['models']), new Set<Part>(['segments'])]
}

/** What results go on from: changes after the ticks are looked for, and what time did since the instant. */
export interface Start {
  ticks: number[]
  from: Date
}

/** Null when nothing was made so far. */
export function startOf(brand: BrandRow, parts: Parts, due: readonly SegmentRow[]): Start | null {
  if (brand.as_of === null || brand.models_as_of === null) return null
  // Models are made beside the customers that are published with the segments.
  const ofModels = {
    ticks: [Math.min(brand.models_tick, brand.refreshed_tick)],
    from: new Date(Math.min(Number(brand.models_as_of), Number(brand.as_of))),
  }
  if (!parts.has('segments')) return ofModels
  const ofSegments = goesOnFrom(brand, due)
  if (!parts.has('models')) return ofSegments
  return {
    ticks: [...new Set([...ofSegments.ticks, ...ofModels.ticks])],
    from: new Date(Math.min(Number(ofSegments.from), Number(ofModels.from))),
  }
}

/** Customers whose rows changed since the base that most of them did since. */
export const changedIn = (brand: BrandRow, parts: Parts): number =>
  Math.max(
    parts.has('segments') ? brand.changed_customers : 0,
    parts.has('models') ? brand.models_changed_customers : 0,
  )
