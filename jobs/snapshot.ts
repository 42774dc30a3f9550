import type { Job } from '../src/job.ts'
import { lakeLag } from '../src/lake/horizon.ts'
import { Outrun } from '../src/lake/manifest.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { snapshot as tick } from '../src/lake/snapshot.ts'
import { log } from '../src/log.ts'

const EVERY_SECONDS = 30
/** The same where an erasure or another worker was first, so that what was read waits on. */
const OUTRUN_SECONDS = 1
/** The same after a turn with many events: the next ones need more of the time until they are late. */
const BUSY_SECONDS = 5
const BUSY_EVENTS = 250_000
/** A backlog is worked off in turns well within the job's time: after each its lag is told. */
const TURN_MS = 60_000
/** Accepted events are to be in every read within this time. */
const ALARM_SECONDS = 60

/** Every 30 s, or sooner: what committed since the last tick becomes lake files. */
export const snapshot: Job<Pipeline> = {
  queue: 'snapshot',
  timeoutSeconds: 300,
  policy: 'one',
  writesLake: true,
  async run(pipeline, _data, control) {
    const end = performance.now() + TURN_MS
    let more = false
    let read = 0
    let isOutrun = false
    try {
      let profiles = false
      const go = async () => {
        const report = await tick(pipeline)
        if (report.published) log('info', 'snapshot', { ...report })
        ;({ more, profiles } = report)
        read += report.read
      }
      do await go()
      while (more && performance.now() < end && !control.signal.aborted)
      // A turn later they would be late: reads that ask who somebody is need the profile.
      if (profiles && pauseAfter(read, more) === EVERY_SECONDS && !control.signal.aborted) await go()
      const lag = await lakeLag(pipeline)
      if (lag.seconds > ALARM_SECONDS) log('error', 'lake_lags', { ...lag })
      await control.send('compact-staging')
    } catch (error) {
      if (!(error instanceof Outrun)) throw error
      isOutrun = true
    } finally {
      await control.send('snapshot', {}, isOutrun ? OUTRUN_SECONDS : pauseAfter(read, more))
    }
  },
}

/** Seconds to wait after so many events were read. */
function pauseAfter(read: number, more: boolean): number {
  if (more) return 0
  return read < BUSY_EVENTS ? EVERY_SECONDS : BUSY_SECONDS
}
