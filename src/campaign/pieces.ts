import { setImmediate } from 'node:timers/promises'

const AT_ONCE = 100

/** Many items piece by piece: what else waits for the event loop has its turn between them. */
export async function* inPieces<Item>(items: readonly Item[]): AsyncGenerator<Item[]> {
  for (let at = 0; at < items.length; at += AT_ONCE) {
    await setImmediate()
    yield items.slice(at, at + AT_ONCE)
  }
}
