import { isBlank } from '../fields.ts'
import { refusal } from '../segment/complaint.ts'
import { checkTemplate } from './check-template.ts'
import { emailOf } from './headline.ts'
import { variablesIn } from './template.ts'
import { type Available, CHECKOUT_URL, OPT_OUT_LINK, tokenOf } from './variable.ts'

export const ACTION_TYPES = ['agent', 'sms', 'email'] as const
export type ActionType = (typeof ACTION_TYPES)[number]

export interface Messages {
  /** First message of an agent's conversation, or the email. */
  initial: string
  /** What is answered when the agent drafts nothing. */
  agent_reply: string
  /** First message of the action sms. */
  sms: string
}

/** The message that a campaign of the action begins with. */
export const FIRST: Readonly<Record<ActionType, keyof Messages>> = {
  agent: 'initial',
  sms: 'sms',
  email: 'initial',
}

/** Ten parts of an SMS. */
export const MAX_LENGTH = 1_600
export const OPT_OUT_EXAMPLE = 'Reply STOP to opt out.'
export const AGENT_REPLY_EXAMPLE =
  'Happy to help, {{contact.first_name|there}}! You can find us here: {{cart.link}}'

/** What the checks below hold messages to, for people who write them. */
export const RULES: readonly string[] = [
  `A message has 1 to ${MAX_LENGTH} characters, its variables as they are written.`,
  'A variable is {{name}}, or {{name|fallback}} for where it is missing; only those that are listed exist.',
  `The first message says how to opt out: over sms the word STOP or ${tokenOf(OPT_OUT_LINK)}, by email ${tokenOf(OPT_OUT_LINK)}.`,
  `${tokenOf(CHECKOUT_URL)} is there for triggers that tell of a checkout, {{discount.…}} for campaigns with a discount_id.`,
  'Addresses that begin with https:// are shortened with the variables behind their host, and their clicks are counted. A link such as {{cart.link}} is a whole address: nothing follows it without a space but punctuation.',
  'The first line of an email may be "Subject: …"; otherwise the name of the brand is its subject.',
]

export interface MessageRules {
  action: ActionType
  available: Available
  /** Under which name a message was given. */
  nameOf(name: keyof Messages): keyof Messages
}

/** Throws `bad_request` that begins with the path of the message that breaks a rule. */
export function checkMessages(
  messages: Messages,
  path: string,
  { action, available, nameOf }: MessageRules,
): void {
  for (const [name, text] of Object.entries(messages)) {
    const at = `${path}.${nameOf(name as keyof Messages)}`
    const length = [...text].length
    if (isBlank(text) || length > MAX_LENGTH)
      throw refusal(at, `must have 1 to ${MAX_LENGTH} characters, not ${isBlank(text) ? 0 : length}`)
    if (!text.isWellFormed() || text.includes('\0'))
      throw refusal(at, 'must be well-formed Unicode without NUL')
    checkTemplate(text, at, available)
  }
  const first = FIRST[action]
  if (saysHowToOptOut(messages[first], action)) return
  throw refusal(
    `${path}.${nameOf(first)}`,
    action === 'email'
      ? `must say how to opt out: add ${tokenOf(OPT_OUT_LINK)}`
      : `must say how to opt out: add "${OPT_OUT_EXAMPLE}" or ${tokenOf(OPT_OUT_LINK)}`,
  )
}

/** Of an email its text: nobody follows a link in a subject. */
const saysHowToOptOut = (text: string, action: ActionType): boolean =>
  action === 'email'
    ? variablesIn(emailOf(text).body).includes(OPT_OUT_LINK)
    : variablesIn(text).includes(OPT_OUT_LINK) || /\bSTOP\b/.test(text)
