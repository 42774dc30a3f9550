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

/** Starts what waits for events and works on what is due, by turns, until there is nothing more: neither waits for all of the other. */
export async function workCampaigns(parts: RunnerParts, now: () => Date): Promise<Worked> {
  const done = { started: 0, worked: 0 }
  const { postgres, signal } = parts
  while (!signal?.aborted) {
    const { taken, made } = await startByEvents(postgres, now(), signal)
    const worked = (await isRunDue(parts, now())) ? await workDueRuns(parts, now()) : 0
    done.started += made
    done.worked += worked
    // What is due besides is in the hands of another worker.
    if (taken + worked === 0) break
  }
  return done
}
