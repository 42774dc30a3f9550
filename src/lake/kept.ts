import { errorFields, log } from '../log.ts'

/** One of what is kept, in use. Either of the two ends the use. */
export interface Taken<One> {
  readonly one: One
  /** The next user may have it. */
  keep(): Promise<void>
  /** Nobody has it any more. */
  end(): Promise<void>
}

/** What is dear to open, and one user has after the other. */
export interface Kept<One> {
  /** As many are open as are taken at the same time. */
  take(): Promise<Taken<One>>
  /** From here on whoever is done with one closes it. */
  close(): Promise<void>
}

/** One that nobody takes for so long is closed: ticks come every half a minute. */
const IDLE_MS = 75_000
/** Another takes its place then: what DuckDB keeps of files that it read, 0.1 MB a turn, is of no use to the next. */
const MOST_TURNS = 200

export interface KeptOptions<One> {
  open(): Promise<One>
  close(one: One): Promise<void>
  /** False of one that somebody outside took something from; default: nobody does. */
  isWhole?(one: One): boolean
  /** For the log. */
  name: string
}

interface Free<One> {
  one: One
  turns: number
  idle: NodeJS.Timeout
}

export function createKept<One>({ open, close, isWhole = () => true, name }: KeptOptions<One>): Kept<One> {
  const free: Free<One>[] = []
  let closed = false
  // Retention removes what it leaves behind.
  const end = (one: One) =>
    close(one).catch((error: unknown) => log('warn', `${name}_left`, errorFields(error)))
  const keep = async (one: One, turns: number) => {
    if (closed || turns === MOST_TURNS) return await end(one)
    const idle = setTimeout(() => {
      free.splice(free.indexOf(kept), 1)
      void end(one)
    }, IDLE_MS).unref()
    const kept = { one, turns, idle }
    free.push(kept)
  }
  const nextWhole = async () => {
    for (;;) {
      const kept = free.pop()
      clearTimeout(kept?.idle)
      if (!kept || isWhole(kept.one)) return kept
      await end(kept.one)
    }
  }
  return {
    take: async () => {
      const kept = await nextWhole()
      const one = kept ? kept.one : await open()
      return {
        one,
        keep: () => keep(one, (kept?.turns ?? 0) + 1),
        end: () => end(one),
      }
    },
    close: async () => {
      closed = true
      await Promise.all(
        free.splice(0).map(({ one, idle }) => {
          clearTimeout(idle)
          return end(one)
        }),
      )
    },
  }
}
