/** What a run can be about to do, in the order in which it does it. */
export const STEPS = {
  start: 'The trigger occurred: is there somebody to message, and do the filters hold?',
  delay: 'The trigger delay passes.',
  check: 'What may have changed meanwhile is looked at again, just before a message.',
  split: 'One of the branches is chosen, the same one whenever the same contact comes to this campaign.',
  message: 'The message is written to the outbox, from which its channel takes it.',
  wait: 'An answer or an order is waited for.',
  reply: 'The contact wrote, and is answered.',
  end: 'Nothing more is to be done.',
} as const

export type Step = keyof typeof STEPS

export type Level = 'success' | 'info' | 'warning' | 'error'

/** How a run ended. */
export const OUTCOMES = {
  completed: 'Everything was said that the campaign says, and there was no order.',
  converted: 'The contact bought.',
  replied: 'The contact wrote; the conversation goes on without the run.',
  stopped: 'A rule kept it from going on.',
  not_started: 'A rule kept it from starting.',
  failed: 'Something that should work did not.',
} as const

export type Outcome = keyof typeof OUTCOMES

interface Reason {
  step: Step
  label: string
  level: Level
  /** The rule that was applied, for people who ask why. */
  rule: string
  /** Where the run ends with it. */
  outcome?: Outcome
}

/** Why a step of a run ended as it did. The event journey shows them; the table of docs/campaigns.md is made of them. */
export const REASONS = {
  started: {
    step: 'start',
    label: 'Started',
    level: 'info',
    rule: 'The trigger occurred while the campaign was active, and all filters hold.',
  },
  filters_not_met: {
    step: 'start',
    label: 'Filters do not hold',
    level: 'info',
    rule: 'Every filter of the campaign must hold for the customer and what happened.',
    outcome: 'not_started',
  },
  contact_missing: {
    step: 'start',
    label: 'Nobody to message',
    level: 'warning',
    rule: 'The customer must have a contact with an email address or a phone number.',
    outcome: 'not_started',
  },
  phone_missing: {
    step: 'start',
    label: 'No phone number',
    level: 'warning',
    rule: 'Actions sms and agent need a contact with a phone number.',
    outcome: 'not_started',
  },
  email_missing: {
    step: 'start',
    label: 'No email address',
    level: 'warning',
    rule: 'The action email needs a contact with an email address.',
    outcome: 'not_started',
  },
  trigger_delay: {
    step: 'delay',
    label: 'Waits for the trigger delay',
    level: 'info',
    rule: 'The trigger delay of the campaign passes before the first message.',
  },
  checked: {
    step: 'check',
    label: 'May be messaged',
    level: 'info',
    rule: 'No order, no opt-out, consent where it is required, no quiet hours, fewer messages than the cap, and the filters hold.',
  },
  already_bought: {
    step: 'check',
    label: 'Bought already',
    level: 'success',
    rule: 'An order of the customer since the trigger, or since they left the checkout, makes the message needless.',
    outcome: 'converted',
  },
  opted_out: {
    step: 'check',
    label: 'Opted out',
    level: 'warning',
    rule: 'Nothing is sent over a channel that the contact opted out of.',
    outcome: 'stopped',
  },
  no_consent: {
    step: 'check',
    label: 'No consent',
    level: 'warning',
    rule: 'A campaign messages nobody who has not confirmed a double opt-in, and where the brand requires consent only who agreed.',
    outcome: 'stopped',
  },
  quiet_hours: {
    step: 'check',
    label: 'Waits for the end of the quiet hours',
    level: 'info',
    rule: 'Nothing is sent during the brand’s quiet hours, by every clock of the country of the contact’s number; where that is the brand’s and has several, by the brand’s.',
  },
  store_awaited: {
    step: 'check',
    label: 'Waits for the store’s orders',
    level: 'info',
    rule: 'After a time in which the service did not run nothing is sent before the orders that came meanwhile were read from the store, for an hour at most.',
  },
  too_late: {
    step: 'check',
    label: 'Too late',
    level: 'warning',
    rule: 'Nothing is sent more than three days after it was to be, because the service did not run or was told of it late.',
    outcome: 'stopped',
  },
  frequency_cap: {
    step: 'check',
    label: 'Messaged enough',
    level: 'warning',
    rule: 'A customer gets at most as many campaign messages as the brand’s cap allows, whichever of their contacts they go to.',
    outcome: 'stopped',
  },
  filters_changed: {
    step: 'check',
    label: 'Filters hold no longer',
    level: 'info',
    rule: 'Every filter must still hold just before the message, and who entered a segment must still be a member of it.',
    outcome: 'stopped',
  },
  superseded: {
    step: 'check',
    label: 'Another run messages',
    level: 'info',
    rule: 'A campaign messages a customer once about checkouts, segments, products or winbacks whose messages are due within an hour: about the newest checkout, else about what was first; and not again about what happened before a message.',
    outcome: 'stopped',
  },
  campaign_off: {
    step: 'check',
    label: 'Campaign is off',
    level: 'warning',
    rule: 'A campaign that is paused or archived sends nothing more, and past its end it only answers.',
    outcome: 'stopped',
  },
  branch_chosen: {
    step: 'split',
    label: 'Branch chosen',
    level: 'info',
    rule: 'The branch follows from the contact and the weights.',
  },
  message_queued: {
    step: 'message',
    label: 'Message written',
    level: 'info',
    rule: 'The message is in the outbox, written together with this step.',
  },
  message_sent: {
    step: 'message',
    label: 'Message sent',
    level: 'success',
    rule: 'The channel took the message.',
  },
  message_delivered: {
    step: 'message',
    label: 'Message delivered',
    level: 'success',
    rule: 'The channel says that the message arrived.',
  },
  discount_failed: {
    step: 'message',
    label: 'No discount code',
    level: 'error',
    rule: 'A message that offers a discount is sent only with a code that exists.',
    outcome: 'failed',
  },
  send_retried: {
    step: 'message',
    label: 'Sending is tried again',
    level: 'warning',
    rule: 'What the channel could not take now is tried again, each time later.',
  },
  send_failed: {
    step: 'message',
    label: 'Message failed',
    level: 'error',
    rule: 'The channel refused the message, or could not take it however often it was tried.',
    outcome: 'failed',
  },
  send_unknown: {
    step: 'message',
    label: 'Unknown whether it was sent',
    level: 'error',
    rule: 'The channel gave no answer, or the sender was stopped before it came: the message may have arrived, and is not sent again.',
    outcome: 'failed',
  },
  waiting: {
    step: 'wait',
    label: 'Waits',
    level: 'info',
    rule: 'The wait of the campaign passes for an answer or an order.',
  },
  bought: {
    step: 'wait',
    label: 'Bought',
    level: 'success',
    rule: 'An order came after the message.',
    outcome: 'converted',
  },
  agent_replied: {
    step: 'reply',
    label: 'Agent answered',
    level: 'success',
    rule: 'The agent drafted the answer from what the campaign offers.',
    outcome: 'replied',
  },
  campaign_replied: {
    step: 'reply',
    label: 'Answered with the campaign’s reply',
    level: 'info',
    rule: 'Without an agent, or when it gives no answer that may be sent, the campaign’s own reply is.',
    outcome: 'replied',
  },
  completed: {
    step: 'end',
    label: 'Completed',
    level: 'info',
    rule: 'The wait is over.',
    outcome: 'completed',
  },
  contact_erased: {
    step: 'end',
    label: 'Contact erased',
    level: 'info',
    rule: 'Nothing of an erased contact goes on.',
    outcome: 'stopped',
  },
  internal_error: {
    step: 'end',
    label: 'Internal error',
    level: 'error',
    rule: 'A step that keeps failing ends the run, so that it holds up no other.',
    outcome: 'failed',
  },
} as const satisfies Record<string, Reason>

export type ReasonCode = keyof typeof REASONS

/** A reason as the event journey shows it; null for a step without one. */
export function shownReason(code: string | null) {
  if (code === null || !(code in REASONS)) return null
  const { label, level, rule } = REASONS[code as ReasonCode]
  return { code, label, level, rule }
}
