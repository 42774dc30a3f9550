import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Pipeline } from '../../lake/pipeline.ts'
import type { Brand } from '../../op.ts'
import type { Duck } from '../../store/duckdb.ts'
import type { Postgres } from '../../store/postgres.ts'
import type { Mapped, Mapping } from './mapping.ts'
import type { Source } from './read.ts'

/** One import under way. `duck` holds the view `source` and what is made of it. */
export interface ImportRun {
  pipeline: Pipeline
  postgres: Postgres
  duck: Duck
  source: Source
  brand: Brand
  storePlatformDomain: string
  file: string
  mapping: Mapping
  mapped: readonly Mapped[]
  /** Units written of all that are to be written. */
  onProgress(done: number, total: number): void
}

/** Orders, customers, products or events. What was not imported now was there already, word for word. */
export interface Written {
  imported: number
  unchanged: number
  /** Rows that were left out, since they tell of persons who were erased after what they tell. */
  of_erased: number
}

/** SHA-256 of a file, read once from front to back. */
export async function hashOf(path: string): Promise<Hash> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash, { end: false })
  return hash
}
