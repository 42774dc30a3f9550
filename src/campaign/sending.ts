import { setTimeout as pause } from 'node:timers/promises'
import { dueQueues, isStopped, type Queue, type SenderParts, sendQueue } from './send.ts'

/** Queues under way at the same time. Each has a bounded number of attempts. */
const AT_ONCE = 32
/** So long a look waits for the queues that it began; then the next one goes on with all others. */
const PATIENCE_MS = 1_000
/** After this long no queue is begun: what is under way ends within the time of the job. */
const LONGEST_MS = 150_000

/**
 * Sends until nothing is due that may leave now, each queue by itself: a slow channel holds up no other. With `wait` the
 * turns of channels that have just had one are waited for.
 */
export async function sendMessages(
  parts: SenderParts,
  now: () => Date,
  wait?: (ms: number) => Promise<unknown>,
): Promise<number> {
  const until = performance.now() + LONGEST_MS
  const underWay = new Map<string, Promise<void>>()
  const failures: unknown[] = []
  let sent = 0
  const goesOn = () => failures.length === 0 && !isStopped(parts) && performance.now() < until
  const begin = (key: string, queue: Queue): Promise<void> => {
    const turn = sendQueue(parts, queue, now)
      .then(
        (looked) => {
          sent += looked
        },
        (error: unknown) => {
          failures.push(error)
        },
      )
      .finally(() => underWay.delete(key))
    underWay.set(key, turn)
    return turn
  }
  try {
    while (goesOn()) {
      const before = sent
      const begun: Promise<void>[] = []
      const queues = await dueQueues(parts, now())
      for (const queue of queues) {
        if (queue.next_turn_at) continue
        const key = `${queue.brand_id} ${queue.channel}`
        if (underWay.has(key)) continue
        if (underWay.size >= AT_ONCE) await Promise.race(underWay.values())
        if (!goesOn()) break
        begun.push(begin(key, queue))
      }
      await patiently(Promise.all(begun))
      if (sent > before) continue
      if (underWay.size > 0) await patiently(Promise.race(underWay.values()))
      else {
        const turns = queues.flatMap(({ next_turn_at }) => next_turn_at?.getTime() ?? [])
        if (!wait || turns.length === 0) break
        await wait(Math.min(...turns) - now().getTime())
      }
    }
  } finally {
    await Promise.all(underWay.values())
  }
  if (failures.length > 0) throw failures[0]
  return sent
}

async function patiently(work: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  await Promise.race([work, pause(PATIENCE_MS, undefined, { signal: over.signal }).catch(() => {})])
  over.abort()
}
