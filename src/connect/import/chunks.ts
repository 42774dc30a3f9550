import type { Identity } from '../../identity/subject.ts'
import type { Transaction } from '../../store/postgres.ts'
import { statement } from '../../store/sqlfile.ts'
import type { ImportRun, Written } from './file.ts'

/** Part of `ready`, as JSON for Postgres. */
export interface Chunk {
  rows: string
  /** Of orders: their lines, one JSON array a line of text. */
  lines?: string
  /** Of customers, where a row says any: JSON rows of what each says of the channels. */
  consents?: string | null
  count: number
  identities?: string
}

const ROWS = 10_000
/** A webhook waits for the chunk that is being written, and the platform for the webhook. */
const ROWS_BESIDE_STORE = 2_000
/** A chunk is one text of JavaScript, which has a longest one. */
const BYTES = 16 << 20

/** Tells DuckDB how many rows a chunk has, and how many bytes. */
export async function sizeChunks({ duck, postgres, brand }: Pick<ImportRun, 'duck' | 'postgres' | 'brand'>) {
  const store = await postgres.forBrand(brand.id).maybe<{ status: string }>('store_connection_of')
  const isLive = store !== undefined && store.status !== 'disconnected'
  await duck.run(
    `set variable chunk_size = ${isLive ? ROWS_BESIDE_STORE : ROWS}; set variable chunk_bytes = ${BYTES}`,
  )
}

/**
 * Writes the chunks of the table `ready` one after the other, each in one transaction of the caller's; the next one is
 * read meanwhile.
 */
export async function writeChunks(
  { duck, onProgress }: ImportRun,
  chunkStatement: string,
  write: (chunk: Chunk) => Promise<number>,
): Promise<Written> {
  const [size] = await duck.rows<{ chunks: number | null; total: number }>(
    'select max(chunk)::bigint + 1 as chunks, count(*) as total from ready',
  )
  const { chunks, total } = { chunks: size?.chunks ?? 0, total: size?.total ?? 0 }
  const read = async (chunk: number): Promise<Chunk | undefined> =>
    chunk < chunks ? (await duck.rows<Chunk>(statement('duckdb', chunkStatement), [chunk]))[0] : undefined
  const written = { imported: 0, unchanged: 0, of_erased: 0 }
  let next = read(0)
  try {
    for (let chunk = 0; chunk < chunks; chunk++) {
      const current = await next
      next = read(chunk + 1)
      // A read that fails while this one is written is heard of after it.
      next.catch(() => {})
      if (!current?.count) continue
      const imported = await write(current)
      written.imported += imported
      written.unchanged += current.count - imported
      onProgress(written.imported + written.unchanged, total)
    }
  } finally {
    // A read that is under way when a write fails must end before DuckDB is closed.
    await next.catch(() => {})
  }
  return written
}

/** In turn with what the live store says: what a file may say of a record depends on whether the store said anything. */
export const inStoreTurn = (
  { postgres, brand }: ImportRun,
  work: (tx: Transaction) => Promise<number>,
): Promise<number> =>
  postgres.sql.begin(async (tx) => {
    await tx.unsafe(statement('postgres', 'store_lock'), [brand.id])
    return await work(tx)
  }) as Promise<number>

/**
 * Identities from JSON rows of [store customer id, email, phone, milliseconds of the first sight, visitor id,
 * milliseconds of what is said where that is not the first sight].
 */
export function identitiesOf(text: string, now: Date): Identity[] {
  const rows = JSON.parse(text) as (string | null)[][]
  return rows.map(([storeCustomerId, email, phone, seenMs, anonymousId, saidMs]) => ({
    storeCustomerId: storeCustomerId ?? undefined,
    email: email ?? undefined,
    phone: phone ?? undefined,
    anonymousId: anonymousId ?? undefined,
    seenAt: seenMs == null ? now : new Date(Number(seenMs)),
    saidAt: saidMs == null ? undefined : new Date(Number(saidMs)),
  }))
}
