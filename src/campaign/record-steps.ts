import { v7 } from 'uuid'
import type { Statements } from '../op.ts'
import type { StepDone } from './advance.ts'

/** A step of a run, as it is written. */
export interface RecordedStep extends StepDone {
  runId: string
  /** Its place in the run. */
  ordinal: number
  eventType?: string | null
  eventId?: string | null
  conversationId?: string | null
  messageId?: string | null
}

/** Writes steps, within the transaction of their effect and with their run locked. */
export async function recordSteps(
  tx: Pick<Statements, 'run'>,
  steps: readonly RecordedStep[],
  now: Date,
): Promise<void> {
  if (steps.length === 0) return
  const column = <K extends keyof RecordedStep>(key: K) => steps.map((step) => step[key] ?? null)
  await tx.run('run_steps_add', [
    now,
    column('runId'),
    column('ordinal'),
    steps.map(() => v7()),
    column('step'),
    column('state'),
    column('eventType'),
    column('eventId'),
    column('conversationId'),
    column('messageId'),
    column('reason'),
    column('error'),
  ])
}
