import { log } from '../log.ts'
import { isOutOfMemory } from '../store/duckdb.ts'

/**
 * Works on as many of the first files as memory allows: on half of them after each time that it ran out; how many it
 * were. What a file takes in memory is known of none: 6,000 events of 250 KB are 250 KB on disk and 1.5 GB in an order.
 */
export async function withinMemory<File>(
  files: readonly File[],
  work: (files: readonly File[]) => Promise<void>,
): Promise<number> {
  for (let some = files; ; some = some.slice(0, Math.ceil(some.length / 2))) {
    try {
      await work(some)
      return some.length
    } catch (error) {
      if (!isOutOfMemory(error) || some.length === 1) throw error
      log('warn', 'compact_halved', { files: some.length })
    }
  }
}
