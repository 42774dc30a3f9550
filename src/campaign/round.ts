import { isRunDue, type RunnerParts, workDueRuns } from './runner.ts'
import type { SenderParts } from './send.ts'
import { startByEvents } from './start-events.ts'

export type CampaignParts = RunnerParts & SenderParts

export interface Worked {
  /** Runs that began. */
  started: number
  /** Runs that were due. */
  worked: number
}

/** Starts what waits for events and works on what is due, until there is nothing more; events wait for one look of runs at most. */
export async function workCampaigns(parts: RunnerParts, now: () => Date): Promise<Worked> {
  const done = { started: 0, worked: 0 }
  const { postgres, signal } = parts
  while (!signal?.aborted) {
    const started = await startByEvents(postgres, now(), signal)
    const worked = (await isRunDue(parts, now())) ? await workDueRuns(parts, now()) : 0
    done.started += started
    done.worked += worked
    // What is due besides is in the hands of another worker.
    if (started + worked === 0) break
  }
  return done
}
