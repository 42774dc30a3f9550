import type { Pipeline } from './pipeline.ts'

/** Whoever publishes, of whatever brand, waits while so many go, and no longer. */
const AT_ONCE = { files: 50, ms: 500 }

/**
 * Calls `remove` for those of these files that no manifest lists; none of them is listed meanwhile. Throws what
 * `isLockTimeout` tells where somebody publishes for longer than a second.
 */
export async function removeUnlisted(
  { postgres }: Pick<Pipeline, 'postgres'>,
  paths: readonly string[],
  remove: (path: string) => Promise<unknown>,
  atOnce = AT_ONCE,
): Promise<void> {
  let done = 0
  while (done < paths.length)
    await postgres.pipeline.tx(async (tx) => {
      await tx.run('lock_deadline')
      await tx.run('lake_files_hold')
      const until = performance.now() + atOnce.ms
      for (const path of paths.slice(done, done + atOnce.files)) {
        // Asked one by one: it throws once the session is lost, and the lock with it.
        const listed = await tx.many('lake_paths_among', [[path]])
        if (listed.length === 0) await remove(path)
        done++
        if (performance.now() >= until) return
      }
    })
}
