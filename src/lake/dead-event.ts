import { zstdCompressSync } from 'node:zlib'
import { v7 } from 'uuid'
import { fail } from '../errors.ts'
import type { Db, Statements } from '../op.ts'
import { sliceBySlice } from '../store/slices.ts'

/** A line of the event log that the lake refused. */
export interface DeadEvent {
  batch_id: string
  line: number
  reason: string
  created_at: Date
}

/** With where it stands in the list. */
export type ListedEvent = DeadEvent & { position: string }

/** The id of a dead event: its record batch and line. */
export const deadEventId = ({ batch_id, line }: Pick<DeadEvent, 'batch_id' | 'line'>) => `${batch_id}:${line}`

/** Dead events of a brand, oldest first, after the given one. `pipeline` sees all brands. */
export const listDeadEvents = (
  pipeline: Statements,
  brandId: string,
  after: ListedEvent | null,
  limit: number,
): Promise<ListedEvent[]> =>
  pipeline.many<ListedEvent>('dead_events_of_brand', [
    brandId,
    after?.position ?? '-infinity',
    after?.batch_id ?? '00000000-0000-0000-0000-000000000000',
    after?.line ?? 0,
    limit,
  ])

/** One with its line as it was written; throws `not_found`. */
export const showDeadEvent = (
  pipeline: Statements,
  brandId: string,
  id: string,
): Promise<DeadEvent & { payload: Buffer }> => pipeline.one('dead_event_one', [brandId, ...partsOf(id)])

/**
 * Puts the line into the event log again, and takes it off the list, in one transaction. The next snapshot reads it, or
 * lists it anew when it is still refused. Throws `not_found` when it is not on the list.
 */
export const replayDeadEvent = (
  pipeline: Db,
  brandId: string,
  id: string,
): Promise<'in the event log again' | 'no longer kept'> =>
  pipeline.tx(async (tx) => {
    const { payload } = await tx.one<{ payload: Buffer }>('dead_event_take', [brandId, ...partsOf(id)])
    if (payload.length === 0) return 'no longer kept'
    const lines = zstdCompressSync(Buffer.concat([payload, Buffer.from('\n')]))
    await tx.run('event_log_append', [new Date(), v7(), 1, lines])
    return 'in the event log again'
  })

/** As long as dead letters. */
const DAYS = 180
/** Of a brand. More than webhooks have: these were acknowledged as stored, and nobody sends them again. */
const MOST_BYTES = 256 << 20
const NO_LONGER_KEPT = '; its line is no longer kept: newer ones came to 256 MB'

/** Forgets old lines, and of each brand those beyond its room; resolves with how many were dropped of these. */
export async function forgetDeadEvents(
  pipeline: Statements,
): Promise<{ forgotten: number; dropped: number }> {
  const forgotten = await sliceBySlice((most) => pipeline.run('dead_events_forget', [DAYS, most]))
  const dropped = await sliceBySlice((most) =>
    pipeline.run('dead_events_drop', [MOST_BYTES, NO_LONGER_KEPT, most]),
  )
  return { forgotten, dropped }
}

function partsOf(id: string): [batchId: string, line: number] {
  const [, batchId, line] = /^([\da-f-]{36}):(\d{1,9})$/i.exec(id) ?? []
  if (!batchId || !line) throw fail('not_found', 'There is no such record.')
  return [batchId, Number(line)]
}
