import { Unreadable } from './fields.ts'
import type { Batch } from './record.ts'

/** As JSON. An order of the most lines, with ids and titles as stores have them, has half of it. */
const LONGEST_RECORD = 2 << 20

/** The batch, unless a record of it is longer than a row should be. */
export function bounded(batch: Batch): Batch {
  for (const record of Object.values(batch).flat())
    if (Buffer.byteLength(JSON.stringify(record)) > LONGEST_RECORD)
      throw new Unreadable('what the body tells must come to at most 2 MB')
  return batch
}
