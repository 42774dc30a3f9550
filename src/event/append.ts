import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import { v7 } from 'uuid'
import type { Statements } from '../op.ts'
import type { EventLine } from './shape.ts'

const compress = promisify(zstdCompress)
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/**
 * An event that the service records itself, checked and normalised as those of senders are. Without a time it happens
 * now; numbers in `properties` that a double would change are JSON.rawJSON of their digits.
 */
export interface RecordedEvent
  extends Omit<EventLine, 'brand_id' | 'origin' | 'received_at' | 'occurred_at'> {
  occurred_at?: number
}

/** As `appendEvents`, of a single event. */
export const appendEvent = (tx: Statements, brandId: string, event: RecordedEvent): Promise<void> =>
  appendEvents(tx, brandId, [event])

/**
 * Writes events to the log in the transaction of the brand that they tell of, as one record batch: they are in the lake
 * when the transaction commits, or never. Call it last: what is in the log waits for the transaction's end.
 */
export async function appendEvents(
  tx: Statements,
  brandId: string,
  events: readonly RecordedEvent[],
): Promise<void> {
  if (events.length === 0) return
  const receivedAt = Date.now()
  const lines = events.map((event) => `${JSON.stringify(lineOf(event, brandId, receivedAt))}\n`)
  const payload = await compress(lines.join(''), FAST)
  const row = [brandId, new Date(receivedAt), v7(), events.length, payload]
  const written = await tx.run('event_append', row)
  if (written !== 1) throw new Error('events of one brand in a transaction of another')
}

function lineOf({ occurred_at, ...event }: RecordedEvent, brandId: string, receivedAt: number): EventLine {
  const occurredAt = Math.min(occurred_at ?? receivedAt, receivedAt)
  return { brand_id: brandId, origin: 'service', received_at: receivedAt, occurred_at: occurredAt, ...event }
}
