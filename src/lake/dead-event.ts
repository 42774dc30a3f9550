import { zstdCompressSync } from 'node:zlib'
import { v7 } from 'uuid'
import { noSuchRecord } from '../errors.ts'
import type { Db, Statements } from '../op.ts'

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
export const replayDeadEvent = (pipeline: Db, brandId: string, id: string): Promise<void> =>
  pipeline.tx(async (tx) => {
    const { payload } = await tx.one<{ payload: Buffer }>('dead_event_take', [brandId, ...partsOf(id)])
    const lines = zstdCompressSync(Buffer.concat([payload, Buffer.from('\n')]))
    await tx.run('event_log_append', [new Date(), v7(), 1, lines])
  })

function partsOf(id: string): [batchId: string, line: number] {
  const [, batchId, line] = /^([\da-f-]{36}):(\d{1,9})$/i.exec(id) ?? []
  if (!batchId || !line) throw noSuchRecord()
  return [batchId, Number(line)]
}
