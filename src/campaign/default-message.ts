import type { CampaignDefinition } from './definition.ts'
import { AGENT_REPLY_EXAMPLE, type Messages, OPT_OUT_EXAMPLE } from './message-rule.ts'
import { type CampaignType, isPredefined, TRIGGERS } from './trigger.ts'

/** What a campaign of a type says unless it is told otherwise, before the way to opt out. */
const SAYS: Readonly<Record<CampaignType, string>> = {
  checkout_recovery:
    'Hi {{contact.first_name|there}}, you left something at {{brand.name}}. Your checkout is still here: {{cart.link}}',
  browse_recovery:
    'Hi {{contact.first_name|there}}, still thinking it over? Have another look at {{brand.name}}: {{cart.link}}',
  post_purchase:
    'Hi {{contact.first_name|there}}, thank you for your order at {{brand.name}}! Any questions? Just reply.',
  winback:
    'Hi {{contact.first_name|there}}, it has been a while. See what is new at {{brand.name}}: {{cart.link}}',
  subscription:
    'Hi {{contact.first_name|there}}, we are sorry to see your {{brand.name}} subscription end. Changed your mind? {{cart.link}}',
  segment: 'Hi {{contact.first_name|there}}, there is something for you at {{brand.name}}: {{cart.link}}',
  custom_event: 'Hi {{contact.first_name|there}}, {{brand.name}} has news for you: {{cart.link}}',
}

const DISCOUNT = 'Your discount: {{discount.value}} with the code {{discount.code}}.'

/** What the messages of a campaign follow from, unless they are written. */
export type Saying = Pick<CampaignDefinition, 'trigger_event' | 'action_type'> & {
  discount_id?: string | null
}

/** What a campaign says unless it is told otherwise. */
export function defaultMessages({ trigger_event, action_type, discount_id }: Saying): Messages {
  const says = SAYS[isPredefined(trigger_event) ? TRIGGERS[trigger_event].type : 'custom_event']
  const optOut = action_type === 'email' ? 'No more emails: {{opt_out.link}}' : OPT_OUT_EXAMPLE
  const first = [says, ...(discount_id ? [DISCOUNT] : []), optOut].join(' ')
  return { initial: first, agent_reply: AGENT_REPLY_EXAMPLE, sms: first }
}

/** The given messages, completed: of `initial` and `sms` one stands in for the other. */
export function completed(given: Partial<Messages>, defaults: Messages): Messages {
  return {
    initial: given.initial ?? given.sms ?? defaults.initial,
    agent_reply: given.agent_reply ?? defaults.agent_reply,
    sms: given.sms ?? given.initial ?? defaults.sms,
  }
}

/** Under which name a message was given: another one's, where that stands in for it. */
export function givenName(name: keyof Messages, given: Partial<Messages>): keyof Messages {
  if (given[name] !== undefined) return name
  if (name === 'initial' && given.sms !== undefined) return 'sms'
  return name === 'sms' && given.initial !== undefined ? 'initial' : name
}
