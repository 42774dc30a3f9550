import { isRemovalPaused, PATIENCE, type Patience, sweepAfterErasure } from '../../lake/erase-disk.ts'
import { eraseNotedLines } from '../../lake/erase-log.ts'
import { refuseNewerSchema } from '../../lake/newer-schema.ts'
import { onEach } from '../../lake/on-each.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import { errorFields, log } from '../../log.ts'
import type { Requested } from './cut.ts'
import { type EraseOptions, eraseCustomers } from './erase.ts'
import { askForEach } from './everybody.ts'

interface Due extends Requested {
  everybody: boolean
}

/** Requests of one brand that are done in one pass. */
interface Taken {
  brand_id: string
  requests: readonly Due[]
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
  const taken = await takeDue(pipeline, options)
  if (!taken) return false
  await eraseTaken(pipeline, taken, options)
  return taken.brand_id
}

/**
 * Does the requests that wait, of each brand in its turn, until there are none. What fails of one brand keeps no other
 * from its turn, and is thrown after them; it is not due again for minutes.
 */
export async function eraseAllDue(pipeline: Pipeline, signal: AbortSignal): Promise<void> {
  const failed = ({ brand_id }: Taken) => ({ event: 'erase_failed', brand_id })
  await onEach(turns(pipeline, signal), failed, async (taken) => {
    try {
      await eraseTaken(pipeline, taken)
      log('info', 'erase', { brand_id: taken.brand_id })
    } catch (error) {
      if (!isRemovalPaused(error)) throw error
      log('info', 'erase_waits', errorFields(error))
    }
  })
}

async function* turns(pipeline: Pipeline, signal: AbortSignal): AsyncGenerator<Taken> {
  while (!signal.aborted) {
    const taken = await takeDue(pipeline, {})
    if (!taken) return
    yield taken
  }
}

async function takeDue(pipeline: Pipeline, options: DueOptions): Promise<Taken | null> {
  await refuseNewerSchema(pipeline)
  const { brandId = null, erasureId = null } = options
  const requests = await pipeline.postgres.pipeline.many<Due>('erasures_due', [brandId, erasureId, MOST])
  const [first] = requests
  return first ? { brand_id: first.brand_id, requests } : null
}

async function eraseTaken(
  pipeline: Pipeline,
  { brand_id: brandId, requests }: Taken,
  options: EraseOptions = {},
): Promise<void> {
  const { pipeline: db } = pipeline.postgres
  const left = new Set(requests.map(({ id }) => id))
  const failures: unknown[] = []
  const note = async (ids: Iterable<string>, error: unknown) => {
    const why = error instanceof Error ? error.message : String(error)
    await db.run('erasures_failed', [brandId, [...ids], why])
  }
  const failed = async ({ id }: Requested, error: unknown) => {
    log('error', 'erasure_failed', { brand_id: brandId, erasure_id: id, ...errorFields(error) })
    await note([id], error)
    left.delete(id)
    failures.push(error)
  }
  try {
    for (const one of requests)
      if (one.everybody) await askForEach(pipeline, one).catch((error: unknown) => failed(one, error))
    const persons = requests.filter(({ everybody }) => !everybody)
    await eraseCustomers(pipeline, brandId, persons, failed, options)
  } catch (error) {
    await note(left, error)
    throw error
  }
  if (failures.length) throw failures[0]
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
