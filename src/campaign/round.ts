import { isRunDue, type RunnerParts, workDueRuns } from './runner.ts'
import { type SenderParts, sendDue } from './send.ts'
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
  const round: Round = { started: 0, worked: 0, sent: 0 }
  const { signal } = parts
  round.started += await startByEvents(parts.postgres, now(), signal)
  while (!signal?.aborted && (await isRunDue(parts, now()))) {
    const worked = await workDueRuns(parts, now())
    round.worked += worked
    // What is due is in the hands of another worker.
    if (worked === 0) break
  }
  for (let sent = -1; sent !== 0 && !signal?.aborted; round.sent += sent) sent = await sendDue(parts, now)
  return round
}
