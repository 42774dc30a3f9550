import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { errorCode, fail } from '../errors.ts'
import { hasNoLink } from '../store/no-link.ts'
import type { Pipeline } from './pipeline.ts'

/** Says whose the lake folder is: the first service that cleared up there, or was restored into it. */
const OWNER = 'service-id'

/**
 * Called before files are removed that no manifest of this service lists. Throws `conflict` where they are another
 * service's.
 */
export async function refuseForeignLake({ postgres, lakeDir }: Pick<Pipeline, 'postgres' | 'lakeDir'>) {
  const { service_id: own } = await postgres.pipeline.one<{ service_id: string }>('service_id')
  await claimLake(lakeDir, own)
}

/** From here on the lake is that service's. Throws `conflict` where it is another one's. */
export async function claimLake(lakeDir: string, serviceId: string): Promise<void> {
  const owner = (await ownerOf(lakeDir)) ?? (await claim(lakeDir, serviceId))
  if (owner !== serviceId)
    throw fail(
      'conflict',
      `${lakeDir} is the lake of another service: set LAKE_DIR to a folder of its own. If that service is gone for good, remove ${join(lakeDir, OWNER)}.`,
    )
}

const ownerOf = (lakeDir: string): Promise<string | null> =>
  readFile(join(lakeDir, OWNER), 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  })

/** Whose it is then: somebody else may have been first. */
async function claim(lakeDir: string, serviceId: string): Promise<string | null> {
  const written = join(lakeDir, 'tmp', `${OWNER}-${uuidv7()}`)
  await mkdir(dirname(written), { recursive: true })
  await writeFile(written, serviceId, { flush: true })
  const owner = join(lakeDir, OWNER)
  try {
    await link(written, owner).catch(async (error: unknown) => {
      if (!hasNoLink(error)) throw error
      await writeFile(owner, serviceId, { flag: 'wx', flush: true })
    })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  } finally {
    await rm(written, { force: true })
  }
  return await ownerOf(lakeDir)
}
