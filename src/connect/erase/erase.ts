import { setTimeout as pause } from 'node:timers/promises'
import { type Identifiers, peopleWith } from '../../identity/people.ts'
import { PATIENCE, type Patience, removeErasedFiles } from '../../lake/erase-disk.ts'
import { eraseFromFiles } from '../../lake/erase-files.ts'
import { eraseNotedLines, eraseOtherLines } from '../../lake/erase-log.ts'
import { snapshotAll } from '../../lake/horizon.ts'
import { Outrun } from '../../lake/manifest.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import { snapshot } from '../../lake/snapshot.ts'
import type { Statements } from '../../op.ts'
import { refreshBrand } from '../../segment/refresh.ts'
import { removeStale } from '../import/folder.ts'
import { eraseBodies, eraseRejects } from './bodies.ts'
import { certify } from './certificate.ts'
import { cutIdentity, type Requested } from './cut.ts'
import { type Counts, eraseRows, together } from './tables.ts'

export interface EraseOptions {
  patience?: Patience
  onStep?: (step: string) => void
  onProgress?: (done: number, total: number) => void
  tickMs?: number
}

/** An erasure whose customer is cut out of the tables. */
export interface Begun {
  id: string
  requested_by: string
  requested_at: Date
  subjects: number[]
  customer_ids: string[]
  identifiers: Identifiers
  erased_at: Date
}

/** Others work on the same files: whose turn it is, is decided at each publish. */
const TRIES = 20
const RETRY_MS = 200
/** A cut voids the ticks that began before it. After so long one is made between two cuts, by who would void it. */
const TICK_MS = 10_000

/**
 * Erases the customers of some requests of one brand everywhere: tables, event log, lake, results, what imports and
 * receivers left. Every step can be killed and done again. Afterwards each request has its certificate, but those that
 * `failed` was told of: a person who cannot be cut out of the tables keeps nobody else from being erased.
 */
export async function eraseCustomers(
  pipeline: Pipeline,
  brandId: string,
  requested: readonly Requested[],
  failed: (one: Requested, error: unknown) => Promise<void>,
  options: EraseOptions = {},
): Promise<void> {
  const { patience = PATIENCE, onStep = () => {}, onProgress, tickMs = TICK_MS } = options
  onStep('tables')
  let ticked = performance.now()
  const ids = new Set(requested.map(({ id }) => id))
  for (const one of requested) {
    await cutIdentity(pipeline, one).catch(async (error: unknown) => {
      ids.delete(one.id)
      await failed(one, error)
    })
    if (performance.now() - ticked <= tickMs) continue
    await inTurn(() => snapshot(pipeline))
    ticked = performance.now()
  }
  const begun = await pipeline.postgres.pipeline.many<Begun>('erasures_begun', [brandId, [...ids]])
  if (begun.length === 0) return
  const run = openRun(pipeline, brandId, begun)

  // Transactions that knew the customer from before the cut have ended when the lake is past them.
  onStep('snapshot')
  await inTurn(() => snapshotAll(pipeline))
  await run.rows()
  await inTurn(() => snapshotAll(pipeline))
  onStep('lake')
  await run.files()
  onStep('log')
  await run.log(onProgress)
  onStep('results')
  await run.results()
  onStep('disk')
  await run.disk(patience)
  onStep('certificate')
  await run.rows()
  for (const one of begun) await certify(pipeline, brandId, one, begun.length)
}

interface Results {
  generation: number
  no_erasure_since: boolean | null
}

/** The steps for all customers of a run at once. */
function openRun(pipeline: Pipeline, brandId: string, begun: readonly Begun[]) {
  const { pipeline: db } = pipeline.postgres
  const ids = begun.map(({ id }) => id)
  const subjects = begun.flatMap((one) => one.subjects)
  const identifiers = together(begun.map((one) => one.identifiers))
  const erasedAt = new Date(Math.max(...begun.map((one) => one.erased_at.getTime())))
  const note = (tx: Statements, counts: Counts) =>
    tx.run('erasures_counted', [brandId, ids, JSON.stringify(counts)])
  const people = async () => {
    const { region } = await db.one<{ region: string }>('erasure_region', [brandId])
    return peopleWith(identifiers, region)
  }
  return {
    async rows(): Promise<void> {
      await db.tx(async (tx) => {
        await tx.one('erasure_brand', [brandId])
        await note(tx, await eraseRows(tx, { brandId, subjects, identifiers, erasedAt }))
        await note(tx, { 'postgres.fulfillment': await tx.run('erase_fulfillments_late', [brandId]) })
      })
      const wanted = { brandId, erasedAt, people: await people() }
      await note(db, await eraseBodies(db, wanted))
      await note(db, await eraseRejects(db, wanted))
    },

    async files(): Promise<void> {
      const noteFiles = async (
        tx: Statements,
        relation: string,
        { files, rows }: { files: number; rows: number },
      ) => void (await note(tx, { 'lake.files_rewritten': files, [`lake.${relation}`]: rows }))
      while (await inTurn(() => eraseFromFiles(pipeline, brandId, subjects, noteFiles)));
    },

    async log(onProgress?: (done: number, total: number) => void): Promise<void> {
      const noteLog = async (tx: Statements, { batches, events }: { batches: number; events: number }) =>
        void (await note(tx, { 'event_log.batches_rewritten': batches, 'event_log.events': events }))
      await eraseNotedLines(pipeline, noteLog)
      await eraseOtherLines(pipeline, { brandId, people: await people() }, noteLog, onProgress)
    },

    /** Published anew by whoever is first, and by nobody from the files of before; not where there are none. */
    async results(): Promise<void> {
      await inTurn(async () => {
        const row = await db.one<Results>('lake_brand_row', [brandId])
        if (row.generation > 0 && !row.no_erasure_since) await refreshBrand(pipeline, brandId)
      })
      await db.run('served_generations_end', [brandId])
    },

    async disk(patience: Patience): Promise<void> {
      await removeStale()
      await note(db, { 'lake.files_removed': await removeErasedFiles(pipeline, brandId, patience) })
    },
  }
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  for (let left = TRIES; ; left--) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Outrun) || left === 0) throw error
    }
    await pause(RETRY_MS)
  }
}
