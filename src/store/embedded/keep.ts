import { setTimeout as sleep } from 'node:timers/promises'
import { errorFields, type log as Log } from '../../log.ts'

const LOOK_MS = 1_000
/** One that does not start, as on a full disk, or ends at once, is tried again after this long at most. */
const LIMIT_MS = 30_000

export interface Keep {
  runs(): boolean
  start(): Promise<void>
  log: typeof Log
  /** Ends it. */
  signal: AbortSignal
}

/** Starts a server again whenever it has ended: what it ended of, such as a full disk, may be over. */
export async function keepRunning({ runs, start, log, signal }: Keep): Promise<void> {
  let pause = LOOK_MS
  for (;;) {
    await sleep(pause, undefined, { signal, ref: false }).catch(() => {})
    if (signal.aborted) return
    pause = runs() ? LOOK_MS : Math.min(pause * 2, LIMIT_MS)
    if (pause === LOOK_MS) continue
    await start().catch((error) =>
      log('error', 'postgres_not_started', { again_in_ms: pause, ...errorFields(error) }),
    )
  }
}
