import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import type { Sql } from '../store/postgres.ts'
import { statement } from '../store/sqlfile.ts'

/** A row of event_log that waits for the lake. */
export interface Batch {
  received_at: Date
  batch_id: string
  xid: string
  event_count: number
  bytes: number
}

const decompress = promisify(zstdDecompress)
const FETCH_BYTES = 8 << 20
const NEWLINE = 10

/** Writes the lines of the batches end to end into one NDJSON file; the first line number of each batch. */
export async function writeLines(sql: Sql, batches: readonly Batch[], path: string): Promise<number[]> {
  // Uncompressed: DuckDB reads one zstd stream with one thread (1M events: 7.6 s against 2.1 s on 2 busy cores).
  const file = createWriteStream(path, { highWaterMark: 4 << 20 })
  const firstLines: number[] = []
  let line = 0
  for (const group of groups(batches)) {
    const payloads = await payloadsOf(sql, group)
    for (const batch of group) {
      const payload = payloads.get(batch.batch_id)
      if (!payload)
        throw new Error(`batch ${batch.batch_id} vanished from event_log before it reached the lake`)
      const text = await decompress(payload)
      firstLines.push(line)
      line += countLines(text)
      if (!file.write(text)) await once(file, 'drain')
      if (text.at(-1) !== NEWLINE && !file.write('\n')) await once(file, 'drain')
    }
  }
  file.end()
  await finished(file)
  return firstLines
}

async function payloadsOf(sql: Sql, group: readonly Batch[]): Promise<Map<string, Buffer>> {
  const rows = await sql.unsafe<{ batch_id: string; payload: Buffer }[]>(
    statement('postgres', 'export_payloads'),
    [group.map((batch) => batch.received_at.toISOString()), group.map((batch) => batch.batch_id)] as never[],
  )
  return new Map(rows.map((row) => [row.batch_id, row.payload]))
}

function* groups(batches: readonly Batch[]): Generator<Batch[]> {
  let group: Batch[] = []
  let bytes = 0
  for (const batch of batches) {
    group.push(batch)
    bytes += batch.bytes
    if (bytes >= FETCH_BYTES) {
      yield group
      group = []
      bytes = 0
    }
  }
  if (group.length) yield group
}

function countLines(text: Buffer): number {
  let lines = 0
  for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) lines++
  return text.at(-1) === NEWLINE ? lines : lines + 1
}
