import { storable } from '../event/storable.ts'
import type { ConsentChannel, ConsentState } from '../identity/contact.ts'
import type { Statements } from '../op.ts'
import type { StepState } from './advance.ts'
import type { Sent } from './channel.ts'
import { barrierTo, hasOptedOut, type Policy } from './gate.ts'
import { lockRuns } from './locked-run.ts'
import { type Outcome, REASONS, type ReasonCode, type Step } from './reason.ts'
import { recordSteps } from './record-steps.ts'

/** A message of the outbox that somebody sends, locked. */
export interface HeldMessage {
  id: string
  conversation_id: string
  contact_id: string | null
  idempotency_key: string
  channel: ConsentChannel
  headline: string | null
  body: string
  /** The message that it answers; null: nobody asked for it. */
  answers: string | null
  written_at: Date
  attempts: number
  begun_at: Date | null
  /** An attempt may have sent it, which got no answer. */
  may_have_arrived: boolean
  /** Whoever may have it is no more the gateway of its channel. */
  gateway_replaced: boolean
  is_active: boolean
  /** The end of the campaign, as the run knows it. */
  ends_at: string | null
  email: string | null
  phone: string | null
  sms_consent: ConsentState
  email_consent: ConsentState
  run_id: string | null
  bought_at: Date | null
  /** Of its link to get no more messages, where it has one. */
  opt_out_code: string | null
}

/** What a message comes to now. */
export interface Settlement {
  message: HeldMessage
  status: 'queued' | 'sent' | 'failed'
  reason: ReasonCode
  providerMessageId?: string | null
  nextAttemptAt?: Date
  error?: string
  mayHave?: boolean
}

/** What the channel could not take is tried again after these pauses; then it is a dead letter. */
const PAUSES_MS = [30, 120, 600, 1_800, 3_600, 10_800, 21_600].map((seconds) => seconds * 1_000)

export const addressIn = ({ channel, phone, email }: HeldMessage): string | null =>
  channel === 'sms' ? phone : email

/** Why a message must not leave now; null: it may. The rules are those of its writing, looked at again. */
export function heldBack(message: HeldMessage, policy: Policy, now: Date): Settlement | null {
  const failed = (reason: ReasonCode): Settlement => ({ message, status: 'failed', reason })
  if (message.contact_id === null) return failed('contact_erased')
  if (addressIn(message) === null)
    return failed(message.channel === 'sms' ? 'phone_missing' : 'email_missing')
  if (!message.is_active) return failed('campaign_off')
  if (message.answers !== null) return hasOptedOut(message, message.channel) ? failed('opted_out') : null
  if (message.ends_at !== null && new Date(message.ends_at) <= now) return failed('campaign_off')
  const { channel, written_at, bought_at: boughtAt } = message
  // What a channel has had no turn for since is not late: thousands wait for one that takes few a second.
  const isInterrupted = policy.resumedAt !== null && policy.resumedAt > written_at
  const dueAt = isInterrupted ? written_at : now
  const barrier = barrierTo(message, { channel, dueAt, boughtAt }, policy, now)
  if (!barrier?.until) return barrier && failed(barrier.reason)
  return { message, status: 'queued', reason: barrier.reason, nextAttemptAt: barrier.until }
}

/** What a message comes to by an attempt. */
export function settlementOf(message: HeldMessage, sent: Sent, now: Date): Settlement {
  switch (sent.is) {
    case 'sent':
      return { message, status: 'sent', reason: 'message_sent', providerMessageId: sent.providerMessageId }
    case 'unknown':
      return { message, status: 'failed', reason: 'send_unknown', error: sent.error }
    case 'refused':
      return { message, status: 'failed', reason: 'send_failed', error: sent.error }
    case 'later': {
      // `attempts` is without this one.
      const pause = PAUSES_MS[message.attempts]
      if (pause === undefined) {
        const reason = sent.mayHave || message.may_have_arrived ? 'send_unknown' : 'send_failed'
        return { message, status: 'failed', reason, error: sent.error }
      }
      const nextAttemptAt = new Date(now.getTime() + Math.max(pause, sent.afterMs ?? 0))
      const { error, mayHave = false } = sent
      return { message, status: 'queued', reason: 'send_retried', nextAttemptAt, error, mayHave }
    }
  }
}

/** What gateways say as Postgres takes it: a message that could not be settled for it would be sent for ever. */
const storableIn = (settlement: Settlement): Settlement => {
  const { error, providerMessageId } = settlement
  return {
    ...settlement,
    ...(error !== undefined && { error: storable(error) }),
    ...(providerMessageId && { providerMessageId: storable(providerMessageId) }),
  }
}

/** Writes what messages came to and what that means for their runs, within a transaction. */
export async function settle(tx: Statements, given: readonly Settlement[], now: Date): Promise<void> {
  if (given.length === 0) return
  const settlements = given.map(storableIn)
  await tx.run('messages_settle', [
    now,
    settlements.map(({ message }) => message.id),
    settlements.map(({ status }) => status),
    settlements.map(({ providerMessageId }) => providerMessageId ?? null),
    settlements.map(({ nextAttemptAt }) => nextAttemptAt?.toISOString() ?? null),
    settlements.map(({ status, reason }) => (status === 'sent' ? null : reason)),
    settlements.map(({ error }) => error ?? null),
    settlements.map(({ mayHave = false }) => Number(mayHave)),
  ])
  const sent = settlements.filter(({ status }) => status === 'sent')
  if (sent.length) {
    const conversations = [...new Set(sent.map(({ message }) => message.conversation_id))]
    await tx.run('checkouts_of_conversations_sent', [conversations, now])
  }
  await tellRuns(tx, settlements, now)
}

async function tellRuns(tx: Statements, settlements: readonly Settlement[], now: Date): Promise<void> {
  const told = settlements.filter(({ message }) => message.run_id !== null)
  if (told.length === 0) return
  const ids = [...new Set(told.map(({ message }) => message.run_id as string))]
  const runs = await lockRuns(tx, ids)
  const ends = new Map<string, Outcome>()
  const steps = told.flatMap((settlement) => {
    const { message, reason, error } = settlement
    const run = runs.get(message.run_id as string)
    if (!run) return []
    const { step, outcome } = REASONS[reason] as { step: Step; outcome?: Outcome }
    if (settlement.status === 'failed' && message.answers === null && run.state === 'waiting' && outcome)
      ends.set(run.id, outcome)
    return [
      {
        step,
        state: stateOf(settlement),
        reason,
        ...(error !== undefined && { error }),
        runId: run.id,
        ordinal: run.ordinal++,
        conversationId: message.conversation_id,
        messageId: message.id,
      },
    ]
  })
  await recordSteps(tx, steps, now)
  if (ends.size) await tx.run('runs_end', [now, [...ends.keys()], [...ends.values()]])
}

function stateOf({ status, reason }: Settlement): StepState {
  if (status === 'sent') return 'done'
  if (status === 'queued') return 'waiting'
  return (REASONS[reason] as { outcome?: Outcome }).outcome === 'failed' ? 'failed' : 'stopped'
}
