import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { errorCode, type Failure, fail } from '../errors.ts'
import { hasNoLink } from '../store/no-link.ts'
import type { Pipeline } from './pipeline.ts'

/** Says whose the lake folder is: the first service that wrote there, or was restored into it. */
const OWNER = 'service-id'

type Lake = Pick<Pipeline, 'postgres' | 'lakeDir'>

/**
 * Called before anything is written to the lake, published or removed. Throws `conflict` where the folder is another
 * service's, and `unavailable` where it is not known to be this one's: the folder on which its disk is mounted is empty
 * while that is not.
 */
export async function requireOwnLake(lake: Lake): Promise<void> {
  const { own, owner, problem } = await lookAt(lake)
  if (problem) throw problem
  if (owner === null) await claimLake(lake.lakeDir, own)
}

/** Why nothing is written to the lake, in words; null when it is this service's, or nobody's yet. */
export const lakeProblem = async (lake: Lake): Promise<string | null> =>
  (await lookAt(lake)).problem?.message ?? null

/** From here on the lake is that service's. Throws `conflict` where it is another one's. */
export async function claimLake(lakeDir: string, serviceId: string): Promise<void> {
  const owner = (await ownerOf(lakeDir)) ?? (await claim(lakeDir, serviceId))
  if (owner !== serviceId) throw foreign(lakeDir)
}

const foreign = (lakeDir: string) =>
  fail(
    'conflict',
    `${lakeDir} is the lake of another service: set LAKE_DIR to a folder of its own. If that service is gone for good, remove ${join(lakeDir, OWNER)}.`,
  )

interface Look {
  /** Id of this service. */
  own: string
  /** Whose the folder is; null: nobody's. */
  owner: string | null
  problem: Failure | null
}

async function lookAt({ postgres, lakeDir }: Lake): Promise<Look> {
  const { service_id: own, some } = await postgres.pipeline.one<{ service_id: string; some: string[] }>(
    'lake_known_by',
  )
  const owner = await ownerOf(lakeDir)
  const look = (problem: Failure | null) => ({ own, owner, problem })
  if (owner !== null && owner !== own) return look(foreign(lakeDir))
  if (some.length === 0 || (owner !== null && (await countThere(lakeDir, some)) > 0)) return look(null)

  // A brand's files may lie side by side in the manifest, and be lost together.
  const all = await postgres.pipeline.many<{ path: string }>('lake_files_live', [null])
  const paths = all.map(({ path }) => path)
  const there = await countThere(lakeDir, paths)
  // A lake of before its owner was noted has most of them. A few may have been written beside it while it was away.
  if (there > (owner === null ? paths.length / 2 : 0) || paths.length === 0) return look(null)
  const asked = 'of this service: is LAKE_DIR as it was, and mounted?'
  const message =
    there === 0
      ? `${lakeDir} has none of the files ${asked}`
      : `${lakeDir} has no ${OWNER}, and ${there} of ${paths.length} files ${asked} If it is, write ${own} into ${join(lakeDir, OWNER)}.`
  return look(fail('unavailable', message))
}

async function countThere(lakeDir: string, paths: readonly string[]): Promise<number> {
  let there = 0
  for (const path of paths) if (await stat(join(lakeDir, path)).catch(() => null)) there++
  return there
}

/** Whoever wrote it by hand may have ended the line. */
const ownerOf = (lakeDir: string): Promise<string | null> =>
  readFile(join(lakeDir, OWNER), 'utf8').then(
    (text) => text.trim(),
    (error: unknown) => {
      if (errorCode(error) === 'ENOENT') return null
      throw error
    },
  )

/** Whose it is then: somebody else may have been first. */
async function claim(lakeDir: string, serviceId: string): Promise<string | null> {
  const written = join(lakeDir, 'tmp', `${OWNER}-${uuidv7()}`)
  await mkdir(dirname(written), { recursive: true, mode: 0o700 })
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
