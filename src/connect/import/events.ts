import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import { v7 } from 'uuid'
import type { EventLine } from '../../event/shape.ts'
import type { Duck } from '../../store/duckdb.ts'
import { statement } from '../../store/sqlfile.ts'
import { loadEmails, loadPhones } from './channels.ts'
import { erasedRows } from './erased.ts'
import { hashOf, type ImportRun, type Written } from './file.ts'
import { type KnownEvents, knownEvents } from './known-events.ts'
import { storable } from './storable.ts'

const compress = promisify(zstdCompress)
const ROWS_PER_CHUNK = 10_000
const BYTES_PER_CHUNK = 16 << 20

interface EventRow {
  /** Of the row of the file. */
  n: number
  properties: string
  occurred_ms: number
  head: string
  /** Where several rows of the file have its event id, the number of the first. */
  first: number | null
}

/**
 * Writes the events of the table `picked` as record batches of the event log. What is in the log of a chunk of a file is
 * not written again, only what was refused and is good now; nor is what the lake has, as of a file that has grown since.
 */
export async function importEvents(run: ImportRun): Promise<Written> {
  const { postgres, duck, brand } = run
  await loadEmails(duck)
  await loadPhones(duck, brand.default_phone_region)
  await setRowsPerChunk(duck)
  await duck.run(statement('duckdb', 'import_event_ready'))

  const source = await sourceOf(run)
  const noted = await postgres.pipeline.many<{ chunk: number; refused: number[] }>('import_chunks_done', [
    brand.id,
    source,
  ])
  const done = new Map(noted.map(({ chunk, refused }) => [chunk, new Set(refused.map(Number))]))
  const chunks = await duck.rows<{ chunk: number; rows: number }>(
    'select chunk, count(*) as rows from ready group by chunk order by chunk',
  )
  const missing = chunks.map(({ chunk }) => chunk).filter((chunk) => done.get(chunk)?.size !== 0)
  const known = await knownEvents(run, missing)
  try {
    return await writeEventChunks(run, { source, chunks, done, known })
  } finally {
    await known.close()
  }
}

interface Chunks {
  source: Buffer
  chunks: readonly { chunk: number; rows: number }[]
  /** Rows that were refused, of chunks that were written. */
  done: ReadonlyMap<number, ReadonlySet<number>>
  known: KnownEvents
}

async function writeEventChunks(run: ImportRun, { source, chunks, done, known }: Chunks): Promise<Written> {
  const total = chunks.reduce((sum, { rows }) => sum + rows, 0)
  const written = { imported: 0, unchanged: 0, of_erased: 0 }
  /** Rows whose event id is that of a later one, which takes their place. */
  const leftOut = new Set([...done.values()].flatMap((refused) => [...refused]))
  const isFirst = ({ n, first }: EventRow) => first === null || leftOut.delete(first) || first === n
  for (const { chunk, rows } of chunks) {
    const refused = done.get(chunk)
    if (refused?.size === 0) written.unchanged += rows
    else {
      const read = await run.duck.rows<EventRow>(statement('duckdb', 'import_event_chunk'), [chunk])
      const stored = await storable(run.duck, read)
      const good = await withoutErased(run, stored)
      const kept = new Set(good.map(({ n }) => n))
      for (const { n, first } of read) if (first === n && !kept.has(n)) leftOut.add(n)
      const there = await known.rowsOf(chunk)
      const isNew = ({ n }: EventRow) => !there.has(n) && (refused?.has(n) ?? true)
      const lines = good.filter((row) => isFirst(row) && isNew(row))
      const left = new Set(refused ?? (await rowsOfChunk(run.duck, chunk)))
      for (const { n } of good) left.delete(n)
      const isWritten = await writeBatch(run, { source, chunk, left }, lines)
      written.imported += isWritten ? lines.length : 0
      written.unchanged += good.length - (isWritten ? lines.length : 0)
      written.of_erased += stored.length - good.length
    }
    run.onProgress(written.imported + written.unchanged + written.of_erased, total)
  }
  return written
}

/** Fewer rows where rows are long. It follows from the file alone, so that the chunks of a file stay the same. */
async function setRowsPerChunk(duck: Duck): Promise<void> {
  const [row] = await duck.rows<{ bytes: number | null }>(
    'select avg(strlen(properties))::double as bytes from picked',
  )
  const rows = Math.floor(BYTES_PER_CHUNK / (300 + (row?.bytes ?? 0)))
  await duck.run(`set variable rows_per_chunk = ${Math.max(1, Math.min(ROWS_PER_CHUNK, rows))}`)
}

/** What the notes of written chunks go by: another mapping of the same file makes other events. */
async function sourceOf({ file, mapping }: ImportRun): Promise<Buffer> {
  const hash = await hashOf(file)
  const fields = Object.entries(mapping.fields).sort(([one], [other]) => (one < other ? -1 : 1))
  return hash.update(JSON.stringify([fields, mapping.where ?? null])).digest()
}

/** Events of erased customers from before the erasure are not even logged. */
async function withoutErased(run: ImportRun, rows: EventRow[]): Promise<EventRow[]> {
  const identities = rows.map(({ head, occurred_ms }) => {
    const named = JSON.parse(head) as Partial<EventLine>
    return {
      storeCustomerId: named.store_customer_id,
      profileId: named.profile_id,
      email: named.email,
      phone: named.phone,
      anonymousId: named.anonymous_id,
      seenAt: new Date(occurred_ms),
    }
  })
  const erased = await erasedRows(run.postgres.sql, run, identities)
  return rows.filter((_, at) => !erased[at])
}

/** Writes rows of a chunk, if any, and notes those that are not in after it. False where another import was first. */
async function writeBatch(
  { postgres, brand }: ImportRun,
  { source, chunk, left }: { source: Buffer; chunk: number; left: ReadonlySet<number> },
  rows: readonly EventRow[],
): Promise<boolean> {
  if (rows.length === 0) return false
  const receivedAt = Date.now()
  const lines = rows.map(({ head, occurred_ms, properties }) => {
    const times = `"received_at":${receivedAt},"occurred_at":${Math.min(occurred_ms, receivedAt)}`
    // In JSON a line break is white space between values, never part of one.
    const onOneLine = properties.replace(/[\r\n]/g, ' ')
    return `{"brand_id":"${brand.id}",${times},${head.slice(1, -1)},"properties":${onOneLine}}\n`
  })
  const payload = await compress(lines.join(''), { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
  const numbers = rows.map(({ n }) => n)
  const args = [
    brand.id,
    source,
    chunk,
    new Date(receivedAt),
    v7(),
    lines.length,
    payload,
    [...left],
    numbers,
  ]
  return (await postgres.pipeline.run('import_events', args)) > 0
}

async function rowsOfChunk(duck: Duck, chunk: number): Promise<number[]> {
  const rows = await duck.rows<{ n: number }>(
    `select n from picked
     where n > $1::bigint * getvariable('rows_per_chunk') and n <= ($1::bigint + 1) * getvariable('rows_per_chunk')`,
    [chunk],
  )
  return rows.map(({ n }) => n)
}
