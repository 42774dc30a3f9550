import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { log } from '../log.ts'
import { hashOf } from '../store/hash.ts'
import { type FileRelation, retireFiles } from './manifest.ts'
import { lakeProblem } from './owner.ts'
import type { Pipeline } from './pipeline.ts'

export interface ListedFile {
  id: number
  brand_id: string | null
  relation: FileRelation
  path: string
  bytes: number
  sha256: Buffer
}

/** Of a brand, or all: files that count, by the manifest. */
export const listedFiles = (
  { postgres }: Pick<Pipeline, 'postgres'>,
  brandId: string | null,
): Promise<ListedFile[]> => postgres.pipeline.many<ListedFile>('lake_files_live', [brandId])

/** Whether a file that the manifest lists is gone, or cut off. */
export async function isLost(lakeDir: string, { path, bytes }: ListedFile): Promise<boolean> {
  const found = await stat(join(lakeDir, path)).catch(() => null)
  return found?.size !== bytes
}

/**
 * Published files of a brand that are gone or damaged, when all else of it is there: sources and models make them anew.
 * None while the lake is not there. The log names them.
 */
async function lostServed(pipeline: Pipeline, brandId: string): Promise<ListedFile[]> {
  if (await lakeProblem(pipeline)) return []
  const { lakeDir } = pipeline
  const lost: ListedFile[] = []
  for (const file of await listedFiles(pipeline, brandId)) {
    const isServed = file.relation === 'served'
    if (await isLost(lakeDir, file)) {
      if (!isServed) return []
      lost.push(file)
    } else if (isServed) {
      const hash = await hashOf(join(lakeDir, file.path), file.bytes)
      if (!hash.equals(file.sha256)) lost.push(file)
    }
  }
  if (lost.length)
    log('warn', 'served_files_lost', { brand_id: brandId, paths: lost.map(({ path }) => path) })
  return lost
}

/** Has the next refresh make everything anew when published files are lost; whether they are. */
export async function noteLostServed(pipeline: Pipeline, brandId: string): Promise<boolean> {
  const lost = await lostServed(pipeline, brandId)
  if (lost.length === 0) return false
  await pipeline.postgres.pipeline.run('lake_brand_anew', [brandId])
  return true
}

/** Leaves lost files out, so that a refresh that makes everything anew misses them no more; whether there were any. */
export async function leaveLostServed(pipeline: Pipeline, brandId: string): Promise<boolean> {
  const lost = await lostServed(pipeline, brandId)
  if (lost.length === 0) return false
  await pipeline.postgres.pipeline.tx(async (tx) => {
    await retireFiles(
      tx,
      lost.map(({ id }) => id),
      'refresh',
    )
    await tx.run('served_generations_drop', [brandId])
    await tx.run('lake_brand_anew', [brandId])
  })
  return true
}
