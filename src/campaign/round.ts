import { isRunDue, type RunnerParts, workDueRuns } from './runner.ts'
import type { SenderParts } from './send.ts'
import { sendMessages } from './sending.ts'
import { startByEvents } from './start-events.ts'

export type CampaignParts = RunnerParts & SenderParts

/** What one round did. */
export interface Round {
  /** Runs that began. */
  started: number
  /** Runs that were due. */
  worked: number
  /** Messages that were due. */
  sent: number
}

/** Once through everything that is due at the moment. `now` may be a clock of a test. */
export async function runCampaigns(parts: CampaignParts, now: () => Date): Promise<Round> {
  const { started, worked } = await workCampaigns(parts, now)
  return { started, worked, sent: await sendMessages(parts, now) }
}

/** Starts what waits for events and works on what is due, until there is nothing more; events wait for one look of runs at most. */
export async function workCampaigns(
  parts: RunnerParts,
  now: () => Date,
): Promise<Pick<Round, 'started' | 'worked'>> {
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
