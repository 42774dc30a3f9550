import type { Statements } from '../op.ts'
import type { ActionType } from './message-rule.ts'
import type { Step } from './reason.ts'

/** A run that a transaction has locked. */
export interface LockedRun {
  id: string
  state: 'waiting' | 'ended'
  step: Step
  /** The place of its next step. */
  ordinal: number
}

export interface ConversationRun extends LockedRun {
  action_type: ActionType
  /** Something was sent to its contact. */
  has_said: boolean
}

/** The run of a conversation; undefined when a contact began it. */
export async function runOfConversation(
  tx: Statements,
  conversationId: string,
): Promise<ConversationRun | undefined> {
  const [run] = await placed(
    tx,
    await tx.many<Omit<ConversationRun, 'ordinal'>>('run_of_conversation', [conversationId]),
  )
  return run
}

/** Runs, by id. */
export async function lockRuns(tx: Statements, ids: readonly string[]): Promise<Map<string, LockedRun>> {
  const runs = await placed(tx, await tx.many<Omit<LockedRun, 'ordinal'>>('runs_of_messages', [ids]))
  return new Map(runs.map((run) => [run.id, run]))
}

async function placed<Run extends { id: string }>(
  tx: Statements,
  runs: readonly Run[],
): Promise<(Run & { ordinal: number })[]> {
  if (runs.length === 0) return []
  const places = await tx.many<{ id: string; ordinal: number }>('runs_next_steps', [runs.map(({ id }) => id)])
  const ordinals = new Map(places.map(({ id, ordinal }) => [id, ordinal]))
  return runs.map((run) => ({ ...run, ordinal: ordinals.get(run.id) ?? 0 }))
}
