import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../errors.ts'
import { Outrun } from './manifest.ts'
import type { Pipeline } from './pipeline.ts'
import { type SnapshotReport, snapshot } from './snapshot.ts'

/** How long a refresh by hand waits for transactions that were open when it began. */
const HORIZON_WAIT_MS = 10_000
const RETRY_MS = 100

/**
 * Brings everything that was committed at the time of the call into the lake. Waits up to 10 s for transactions that
 * are still open, then fails with the process and database that hold the lake back.
 */
export async function snapshotAll(
  pipeline: Pipeline,
  onTick?: (report: SnapshotReport) => void,
): Promise<number> {
  let events = 0
  // The second round takes the profiles that the events of the first one made.
  for (let round = 0; round < 2; round++) {
    const { xid } = await pipeline.postgres.pipeline.one<{ xid: string }>('lake_xmax')
    const deadline = Date.now() + HORIZON_WAIT_MS
    for (;;) {
      const report = await snapshot(pipeline).catch((error: unknown) => {
        if (error instanceof Outrun) return null
        throw error
      })
      if (report?.published) {
        events += report.read
        onTick?.(report)
      }
      if (report && BigInt(report.below) >= BigInt(xid)) break
      if (report?.more) continue
      if (Date.now() > deadline) throw await heldBack(pipeline)
      await sleep(RETRY_MS)
    }
  }
  return events
}

async function heldBack({ postgres }: Pipeline) {
  const blocker = await postgres.pipeline.maybe<{ pid: number; datname: string; seconds: number }>(
    'lake_blocker',
  )
  const who = blocker
    ? `process ${blocker.pid} in database "${blocker.datname}" has held a write transaction open for ${blocker.seconds} s`
    : 'a prepared transaction holds it back'
  return fail('unavailable', `The lake cannot follow: ${who}. End it, then refresh again.`)
}
