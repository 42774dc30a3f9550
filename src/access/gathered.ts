import { fail } from '../errors.ts'

/** More keys than this do not wait. */
const MOST_WAITING = 5_000

interface Asked<Row> {
  key: string
  answer: PromiseWithResolvers<Row | undefined>
}

/**
 * Looks up one row per key with one statement at a time, for all keys that were asked for while the last one ran: many
 * callers cost no more statements than one.
 */
export function gathered<Row>(read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Row>>) {
  let waiting: Asked<Row>[] = []
  let reading = false

  const readAll = async (): Promise<void> => {
    reading = true
    while (waiting.length > 0) {
      const asked = waiting
      waiting = []
      try {
        const rows = await read([...new Set(asked.map(({ key }) => key))])
        for (const { key, answer } of asked) answer.resolve(rows.get(key))
      } catch (error) {
        for (const { answer } of asked) answer.reject(error)
      }
    }
    reading = false
  }

  return (key: string): Promise<Row | undefined> => {
    if (waiting.length >= MOST_WAITING)
      return Promise.reject(fail('unavailable', 'Too many requests are waiting. Send it again later.'))
    const answer = Promise.withResolvers<Row | undefined>()
    waiting.push({ key, answer })
    if (!reading) void readAll()
    return answer.promise
  }
}
