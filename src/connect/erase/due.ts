import { PATIENCE, type Patience, sweepAfterErasure } from '../../lake/erase-disk.ts'
import { eraseNotedLines } from '../../lake/erase-log.ts'
import { onEach } from '../../lake/on-each.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import { errorFields, log } from '../../log.ts'
import type { Requested } from './cut.ts'
import { type EraseOptions, eraseCustomers } from './erase.ts'
import { askForEach } from './everybody.ts'

interface Taken extends Requested {
  everybody: boolean
}

/** Requests of one brand that are done in one pass over its files. */
const MOST = 1_000
/** Work that was under way during an erasure has ended after so long. */
const SWEPT_HOURS = 26

type Swept = Pick<Requested, 'brand_id'>

export interface DueOptions extends EraseOptions {
  /** Only these. */
  brandId?: string
  erasureId?: string
}

/**
 * Does the requests that wait, of one brand; false when there are none. One that fails says why in its row, and is tried
 * again later, at least once an hour, and as soon as a backup needs no files any more. The first failure is thrown, after
 * those that go on without it.
 */
export async function eraseDue(pipeline: Pipeline, options: DueOptions = {}): Promise<string | false> {
  const { pipeline: db } = pipeline.postgres
  const { brandId = null, erasureId = null } = options
  const taken = await db.many<Taken>('erasures_due', [brandId, erasureId, MOST])
  const [first] = taken
  if (!first) return false
  const left = new Set(taken.map(({ id }) => id))
  const failures: unknown[] = []
  const note = async (ids: Iterable<string>, error: unknown) => {
    const why = error instanceof Error ? error.message : String(error)
    await db.run('erasures_failed', [first.brand_id, [...ids], why])
  }
  const failed = async ({ id }: Requested, error: unknown) => {
    log('error', 'erasure_failed', { brand_id: first.brand_id, erasure_id: id, ...errorFields(error) })
    await note([id], error)
    left.delete(id)
    failures.push(error)
  }
  try {
    for (const one of taken)
      if (one.everybody) await askForEach(pipeline, one).catch((error: unknown) => failed(one, error))
    const persons = taken.filter(({ everybody }) => !everybody)
    await eraseCustomers(pipeline, first.brand_id, persons, failed, options)
  } catch (error) {
    await note(left, error)
    throw error
  }
  if (failures.length) throw failures[0]
  return first.brand_id
}

/**
 * What comes of earlier erasures: lines that the snapshot left out since, and files that killed work left. What fails
 * stops none of the others, and is thrown after them.
 */
export async function eraseLate(pipeline: Pipeline, patience: Patience = PATIENCE): Promise<void> {
  const lines = eraseNotedLines(pipeline)
  await Promise.allSettled([lines])
  const brands = await pipeline.postgres.pipeline.many<Swept>('erasures_swept', [SWEPT_HOURS])
  const failed = ({ brand_id }: Swept) => ({ event: 'sweep_failed', brand_id })
  await onEach(brands, failed, ({ brand_id }) => sweepAfterErasure(pipeline, brand_id, patience))
  await lines
}
