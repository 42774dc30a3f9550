import { errorFields, log } from '../log.ts'
import { isOutOfMemory } from '../store/duckdb.ts'
import { Outrun } from './manifest.ts'

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

/** Works on every relation, also after one that failed, and throws the first failure then. */
export async function onEach<Name>(
  names: readonly Name[],
  work: (name: Name) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = []
  for (const relation of names) {
    try {
      await work(relation)
    } catch (error) {
      if (error instanceof Outrun) throw error
      failures.push(error)
      log('error', 'compact_relation_failed', { relation, ...errorFields(error) })
    }
  }
  if (failures.length) throw failures[0]
}
