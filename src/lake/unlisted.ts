import type { Pipeline } from './pipeline.ts'

/** Whoever publishes waits while they go. */
const AT_ONCE = 1_000

/** Calls `remove` for those of these files that no manifest lists; none of them is listed meanwhile. */
export async function removeUnlisted(
  { postgres }: Pick<Pipeline, 'postgres'>,
  paths: readonly string[],
  remove: (path: string) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    const some = paths.slice(at, at + AT_ONCE)
    await postgres.pipeline.tx(async (tx) => {
      await tx.run('lake_files_hold')
      const listed = await tx.many<{ path: string }>('lake_paths_among', [some])
      const known = new Set(listed.map(({ path }) => path))
      for (const path of some) if (!known.has(path)) await remove(path)
    })
  }
}
