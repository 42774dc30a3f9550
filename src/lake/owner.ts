import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, fail } from '../errors.ts'
import type { Pipeline } from './pipeline.ts'

/** Says whose the lake folder is: the first service that cleared up there. */
const OWNER = 'service-id'

/**
 * Called before files are removed that no manifest of this service lists. Throws `conflict` where they are another
 * service's.
 */
export async function refuseForeignLake({ postgres, lakeDir }: Pick<Pipeline, 'postgres' | 'lakeDir'>) {
  const { service_id: own } = await postgres.pipeline.one<{ service_id: string }>('service_id')
  const owner = (await ownerOf(lakeDir)) ?? (await claim(lakeDir, own))
  if (owner !== own)
    throw fail('conflict', `${lakeDir} is the lake of another service: set LAKE_DIR to a folder of its own.`)
}

/** Makes it that service's, whosever it was. */
export async function handOver(lakeDir: string, serviceId: string): Promise<void> {
  await rm(join(lakeDir, OWNER), { force: true })
  await claim(lakeDir, serviceId)
}

const ownerOf = (lakeDir: string): Promise<string | null> =>
  readFile(join(lakeDir, OWNER), 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  })

/** Whose it is then: somebody else may have been first. */
async function claim(lakeDir: string, serviceId: string): Promise<string | null> {
  await mkdir(lakeDir, { recursive: true })
  const written = join(lakeDir, `${OWNER}.${serviceId}`)
  await writeFile(written, serviceId, { flush: true })
  try {
    await link(written, join(lakeDir, OWNER))
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  } finally {
    await rm(written, { force: true })
  }
  return await ownerOf(lakeDir)
}
