import type { ConsentChannel } from '../identity/contact.ts'
import type { Branch, CampaignDefinition } from './definition.ts'
import { type Duration, minutesOf } from './duration.ts'
import { barrierTo, hasOptedOut, type Policy } from './gate.ts'
import { type ActionType, FIRST } from './message-rule.ts'
import { type Outcome, REASONS, type ReasonCode, type Step } from './reason.ts'
import { addressOf, type Recipient } from './recipient.ts'
import { branchOf } from './split.ts'

/** A run that is due, with what was found out about it. */
export interface DueRun {
  id: string
  campaign_id: string
  contact_id: string | null
  /** The branch that was chosen. */
  branch: string | null
  step: Step
  /** Of one that is about to answer: how it had ended before; null: not yet. */
  former_outcome: Outcome | null
  triggered_at: Date
  /** When its customer bought since; null: not yet. */
  bought_at: Date | null
  /** Of the message that it waits after: when it was sent, whether it has still to be, and when that is tried next. */
  sent_at: Date | null
  is_unsent: boolean | null
  sending_due_at: Date | null
}

/** What a run is judged by. */
export interface Circumstances {
  now: Date
  definition: CampaignDefinition
  isActive: boolean
  policy: Policy
  recipient: Recipient | null
  /** Whether the filters hold for what the trigger carried, and for the customer as they are now. */
  factsHold: boolean
  customerHolds: boolean
  /** Another run of the campaign is to message the customer before this one, or has since it began. */
  isBehind: boolean
  /** Campaign messages to the person within the days of the cap. */
  messages: number
  /** Of a run that is about to answer. */
  replying: Replying | null
  /** What the agent answers; null: nothing that may be sent. */
  draft: string | null
}

/** The conversation of a run, in which the contact wrote. */
export interface Replying {
  conversation_id: string
  channel: ConsentChannel
  /** The newest message that came in. */
  answers: string | null
  /** The campaign’s own reply was given before. */
  has_campaign_reply: boolean
  agent_drafts: number
  agent_tokens: number
}

export type StepState = 'done' | 'waiting' | 'skipped' | 'stopped' | 'failed'

export interface StepDone {
  step: Step
  state: StepState
  reason: ReasonCode
  error?: string
}

/** A message, and what it answers: nothing when it begins a conversation. */
export interface Said {
  channel: ConsentChannel
  template: string
  author: 'campaign' | 'agent'
  answers: string | null
}

/** What is to be done about a run: steps that it takes now, and where it stands then. */
export interface Progress {
  steps: StepDone[]
  /** A message is to be written. */
  message: Said | null
  branch: string | null
  next: { step: Step; dueAt: Date } | { outcome: Outcome }
}

/** Over which channel a campaign begins. */
export const channelOf = (action: ActionType): ConsentChannel => (action === 'email' ? 'email' : 'sms')

const after = (from: Date, duration: Duration) => new Date(from.getTime() + minutesOf(duration) * 60_000)

/** The next steps of a run. */
export function advance(run: DueRun, given: Circumstances): Progress {
  switch (run.step) {
    case 'start':
    case 'delay':
      return start(run, given)
    case 'check':
    case 'split':
    case 'message':
      return check(run, given)
    case 'reply':
      return reply(run, given)
    default:
      return wait(run, given)
  }
}

const progress = (steps: StepDone[], next: Progress['next']): Progress => ({
  steps,
  message: null,
  branch: null,
  next,
})

/** The run ends, for a reason that says how. */
export function ending(reason: ReasonCode, error?: string): Progress {
  const { step, outcome, level } = REASONS[reason] as { step: Step; outcome?: Outcome; level: string }
  if (!outcome) throw new Error(`no run ends with ${reason}`)
  const state =
    outcome === 'failed' ? 'failed' : level === 'success' || outcome === 'completed' ? 'done' : 'stopped'
  return progress([{ step, state, reason, ...(error === undefined ? {} : { error }) }], { outcome })
}

/** As `ending`, of a run that may have ended before its contact wrote: it stays as it was. */
export function endingOf(
  { step, former_outcome: former }: Pick<DueRun, 'step' | 'former_outcome'>,
  reason: ReasonCode,
  error?: string,
): Progress {
  const end = ending(reason, error)
  return step === 'reply' && former !== null ? { ...end, next: { outcome: former } } : end
}

function start(run: DueRun, given: Circumstances): Progress {
  const { definition, recipient, isActive, now } = given
  const channel = channelOf(definition.action_type)
  if (!isActive) return ending('campaign_off')
  if (!given.factsHold || !given.customerHolds) return ending('filters_not_met')
  if (recipient === null) return ending('contact_missing')
  if (addressOf(recipient, channel) === null)
    return ending(channel === 'sms' ? 'phone_missing' : 'email_missing')
  const dueAt = after(run.triggered_at, definition.trigger_delay)
  const steps: StepDone[] = [{ step: 'start', state: 'done', reason: 'started' }]
  if (dueAt > now) steps.push({ step: 'delay', state: 'waiting', reason: 'trigger_delay' })
  return progress(steps, { step: 'check', dueAt: new Date(Math.max(dueAt.getTime(), now.getTime())) })
}

function check(run: DueRun, given: Circumstances): Progress {
  const { definition, recipient, isActive, policy, now } = given
  const channel = channelOf(definition.action_type)
  if (run.contact_id === null || recipient === null) return ending('contact_erased')
  const isOver = definition.ends_at !== null && new Date(definition.ends_at) <= now
  if (!isActive || isOver) return ending('campaign_off')
  const dueAt = after(run.triggered_at, definition.trigger_delay)
  const barrier = barrierTo(recipient, { channel, dueAt, boughtAt: run.bought_at }, policy, now)
  if (barrier?.until)
    return progress([{ step: 'check', state: 'waiting', reason: barrier.reason }], {
      step: 'check',
      dueAt: barrier.until,
    })
  if (barrier) return ending(barrier.reason)
  // The address may have gone to somebody else meanwhile.
  if (addressOf(recipient, channel) === null)
    return ending(channel === 'sms' ? 'phone_missing' : 'email_missing')
  if (!given.factsHold || !given.customerHolds) return ending('filters_changed')
  if (given.isBehind) return ending('superseded')
  if (given.messages >= policy.cap.messages) return ending('frequency_cap')
  return say(run, given, channel)
}

function say(
  { campaign_id, contact_id }: DueRun,
  { definition, now }: Circumstances,
  channel: ConsentChannel,
): Progress {
  const { branches } = definition.split
  const branch: Branch | undefined = branchOf(branches, campaign_id, contact_id ?? '')
  const texts = branch?.messages ?? definition.messages
  const steps: StepDone[] = [
    { step: 'check', state: 'done', reason: 'checked' },
    ...(branch ? [{ step: 'split', state: 'done', reason: 'branch_chosen' } as const] : []),
    { step: 'message', state: 'done', reason: 'message_queued' },
    { step: 'wait', state: 'waiting', reason: 'waiting' },
  ]
  return {
    steps,
    message: { channel, template: texts[FIRST[definition.action_type]], author: 'campaign', answers: null },
    branch: branch?.name ?? null,
    next: { step: 'wait', dueAt: after(now, definition.wait) },
  }
}

/** So much later than it was written is a message sent at once, with the work of the moment before it. */
const AT_ONCE_MS = 60_000

/** The wait is after the message was sent, which may be long after it was written. */
function wait(run: DueRun, { definition, now }: Circumstances): Progress {
  if (run.bought_at !== null) return ending('bought')
  if (run.is_unsent) {
    const soonest = Math.max(now.getTime() + AT_ONCE_MS, run.sending_due_at?.getTime() ?? 0)
    return progress([], { step: 'wait', dueAt: new Date(soonest) })
  }
  const over = run.sent_at === null ? now : after(run.sent_at, definition.wait)
  if (over.getTime() > now.getTime() + AT_ONCE_MS) return progress([], { step: 'wait', dueAt: over })
  return ending('completed')
}

/**
 * Who wrote is answered once by the campaign's own reply, and by the agent as often as they write. Of a run that had ended
 * a purchase stays one, and what keeps it from answering changes nothing.
 */
function reply(run: DueRun, { definition, recipient, isActive, replying, draft }: Circumstances): Progress {
  const { former_outcome: former } = run
  if (run.contact_id === null || recipient === null) return endingOf(run, 'contact_erased')
  if (!isActive) return endingOf(run, 'campaign_off')
  const reason = draft === null ? 'campaign_replied' : 'agent_replied'
  const next = { outcome: former === 'converted' ? former : REASONS[reason].outcome }
  const { channel = 'sms', answers = null, has_campaign_reply: isRepeat = false } = replying ?? {}
  if (hasOptedOut(recipient, channel)) return endingOf(run, 'opted_out')
  if (answers === null || (draft === null && isRepeat))
    return progress([{ step: 'reply', state: 'skipped', reason }], next)
  const branch = definition.split.branches.find(({ name }) => name === run.branch)
  const template = draft ?? (branch?.messages ?? definition.messages).agent_reply
  return {
    steps: [{ step: 'reply', state: 'done', reason }],
    message: { channel, template, author: draft === null ? 'campaign' : 'agent', answers },
    branch: null,
    next,
  }
}
