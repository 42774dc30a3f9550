import { snapshotAll } from '../../lake/horizon.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import { eraseAllRejects } from './bodies.ts'
import type { Requested } from './cut.ts'

/** Profiles that are asked for in one transaction. */
const SLICE = 10_000

/**
 * Puts requests for each person whom a brand knows in place of one for everybody, as if each had asked; done again, it
 * asks for nobody twice. Whom only events name that the lake does not have yet has no profile before the snapshot.
 */
export async function askForEach(pipeline: Pipeline, { brand_id: brandId, id }: Requested): Promise<void> {
  await snapshotAll(pipeline)
  const { pipeline: db } = pipeline.postgres
  await db.run('bodies_erase_all', [brandId])
  await eraseAllRejects(db, brandId)
  for (let after: number | null = 0; after !== null; ) {
    const slice: { last: number | null } = await db.one('erasures_of_profiles', [brandId, id, after, SLICE])
    after = slice.last
  }
  await db.tx(async (tx) => {
    await tx.run('erasures_of_contacts', [brandId, id])
    await tx.run('erasure_of_everybody_done', [brandId, id])
  })
}
