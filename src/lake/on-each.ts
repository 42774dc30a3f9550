import { errorFields, log } from '../log.ts'
import { Outrun } from './manifest.ts'

/** Works on each, also after one that failed, which the log is told of, and throws the first failure then. */
export async function onEach<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  failed: (item: Item) => { event: string } & Record<string, unknown>,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = []
  for await (const item of items) {
    try {
      await work(item)
    } catch (error) {
      if (error instanceof Outrun) throw error
      failures.push(error)
      const { event, ...fields } = failed(item)
      log('error', event, { ...fields, ...errorFields(error) })
    }
  }
  if (failures.length) throw failures[0]
}
