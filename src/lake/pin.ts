import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pin } from '../op.ts'
import { DAY_MS } from '../time.ts'
import { brandManifest, type LakeFile, type Manifest } from './manifest.ts'
import type { Pipeline } from './pipeline.ts'
import { RELATIONS } from './relations.ts'

/** Retired files are kept longer. */
const PINNED_MS = DAY_MS

/**
 * The manifest that a pin names: sources over it have the rows that they had then. Where it is over, a day later or
 * after an erasure, and where a restored lake lacks its files, the newest one.
 */
export async function manifestAt(pipeline: Pipeline, brandId: string, pin: Pin): Promise<Manifest> {
  const newest = await brandManifest(pipeline.postgres, brandId)
  const at = new Date(pin.at)
  const isOver = newest.erasures !== pin.erasures || newest.at.getTime() - at.getTime() > PINNED_MS
  // Ticks beyond the newest are of a database that was restored since.
  if (isOver || pin.tick > newest.tick) return newest
  const then = await unfolded(pipeline, newest.files, pin.tick)
  if (!then || !(await areThere(pipeline, then.retired))) return newest
  return { ...newest, tick: pin.tick, at, files: then.files }
}

/**
 * Of a mutable relation a base hides earlier versions from those that came later: one that has later ones is read as
 * the files that were folded into it, or as nothing where a later tick wrote it; null where nothing is known of these. All
 * else that compaction does keeps every row.
 */
async function unfolded(
  { postgres }: Pipeline,
  live: readonly LakeFile[],
  tick: number,
): Promise<{ files: LakeFile[]; retired: LakeFile[] } | null> {
  const hides = ({ relation, level, tick_hi }: LakeFile) =>
    level > 0 && tick_hi > tick && MUTABLE.has(relation)
  const retired: LakeFile[] = []
  for (let bases = live.filter(hides); bases.length; ) {
    const inputs = await postgres.pipeline.many<LakeFile>('lake_files_folded', [bases.map(({ id }) => id)])
    const unknown = bases.filter(({ relation }) => !inputs.some((file) => file.relation === relation))
    if (unknown.some(({ tick_lo }) => tick_lo <= tick)) return null
    retired.push(...inputs.filter((file) => !hides(file)))
    bases = inputs.filter(hides)
  }
  return { files: [...live.filter((file) => !hides(file)), ...retired], retired }
}

const MUTABLE: ReadonlySet<string> = new Set(
  Object.entries(RELATIONS).flatMap(([name, { kind }]) => (kind === 'versions' ? [name] : [])),
)

const areThere = ({ lakeDir }: Pipeline, files: readonly LakeFile[]): Promise<boolean> =>
  Promise.all(files.map(({ path }) => access(join(lakeDir, path)))).then(
    () => true,
    () => false,
  )
