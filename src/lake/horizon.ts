import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../errors.ts'
import { Outrun } from './manifest.ts'
import { positionOf } from './moved.ts'
import type { Pipeline } from './pipeline.ts'
import { type SnapshotReport, snapshot } from './snapshot.ts'

/** How long a refresh by hand waits for transactions that were open when it began. */
const HORIZON_WAIT_MS = 10_000
const RETRY_MS = 100

export interface SnapshotOptions {
  waitMs?: number
  onTick?: (report: SnapshotReport) => void
  /** Called before each further try while an open transaction holds the lake back. */
  onWait?: () => void
}

/**
 * Brings everything that was committed at the time of the call into the lake. Waits up to 10 s for transactions that
 * are still open, then fails with the process and database that hold the lake back.
 */
export async function snapshotAll(pipeline: Pipeline, options: SnapshotOptions = {}): Promise<number> {
  const { waitMs = HORIZON_WAIT_MS, onTick, onWait } = options
  let events = 0
  // The second round takes the profiles that the events of the first one made.
  for (let round = 0; round < 2; round++) {
    const { xid } = await pipeline.postgres.pipeline.one<{ xid: string }>('lake_xmax')
    const deadline = performance.now() + waitMs
    for (;;) {
      const report = await snapshot(pipeline).catch((error: unknown) => {
        if (error instanceof Outrun) return null
        throw error
      })
      if (report?.published) {
        events += report.read
        onTick?.(report)
      }
      // Where another worker was first, what it published counts as well.
      const below = report?.below ?? (await positionOf(pipeline)).exported_below
      if (BigInt(below) >= BigInt(xid)) break
      if (report?.more) continue
      // Read anew: a tick takes its time, and what it waited for may have ended meanwhile.
      if (performance.now() > deadline && BigInt((await positionOf(pipeline)).horizon) < BigInt(xid))
        throw await heldBack(pipeline)
      onWait?.()
      await sleep(RETRY_MS)
    }
  }
  return events
}

interface Blocker {
  pid: number | null
  gid: string | null
  datname: string
  seconds: number | null
}

async function heldBack(pipeline: Pipeline) {
  const blocker = await blockerOf(pipeline)
  if (!blocker) return fail('unavailable', 'The lake could not follow for a while: refresh again.')
  return fail('unavailable', `The lake cannot follow: ${blocker}. End it, then refresh again.`)
}

/** Who holds the oldest write transaction of the cluster, in words; null when nobody does. */
async function blockerOf({ postgres }: Pipeline): Promise<string | null> {
  const blocker = await postgres.pipeline.maybe<Blocker>('lake_blocker')
  if (!blocker) return null
  const { pid, gid, datname, seconds } = blocker
  const who = gid === null ? `process ${pid}` : `the prepared transaction "${gid}"`
  const since = seconds === null ? '' : ` for ${seconds} s`
  return `${who} in database "${datname}" has held a write transaction open${since}`
}

/** Seconds since the oldest event that the lake does not have was received, and who holds the lake back. */
export async function lakeLag(pipeline: Pipeline): Promise<{ seconds: number; blocker: string | null }> {
  return { seconds: await lagSeconds(pipeline), blocker: await blockerOf(pipeline) }
}

const lagSeconds = async ({ postgres }: Pipeline): Promise<number> =>
  (await postgres.pipeline.one<{ seconds: number }>('lake_lag')).seconds

/** New events go first: while they reach the lake later than this, work waits that can. */
const LATE_SECONDS = 30

export const isLate = async (pipeline: Pipeline): Promise<boolean> =>
  (await lagSeconds(pipeline)) > LATE_SECONDS
