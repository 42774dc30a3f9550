import type { Db } from '../op.ts'
import { DEFAULT_WAIT_MINUTES } from './definition.ts'
import { type Discount, discounts } from './discount.ts'
import { filterFields } from './filter-field.ts'
import { AGENT_REPLY_EXAMPLE, MAX_LENGTH, OPT_OUT_EXAMPLE, RULES } from './message-rule.ts'
import { CHECKOUT_TRIGGERS, type CustomEvent, customEvents, customStart, unknownTrigger } from './start.ts'
import { type Fact, isPredefined, TRIGGERS } from './trigger.ts'
import { CHECKOUT_URL, NAMESPACES, tokenOf, VARIABLES } from './variable.ts'

/**
 * All that somebody needs to write a campaign. Of a trigger event its facts are among the filters. Throws
 * `bad_request` for an event that starts none.
 */
export async function composerOptions(db: Db, triggerEvent: string | undefined) {
  const custom = await customEvents(db)
  const facts = triggerEvent === undefined ? {} : factsOf(triggerEvent, custom)
  const segments = await db.many<{ id: string; name: string }>('campaign_segments')
  return {
    trigger_events: {
      predefined: Object.entries(TRIGGERS).map(([id, { label }]) => ({ id, label })),
      custom: custom.map(({ type, name, provider_id, provider }) => ({
        slug: type,
        label: name,
        provider_id,
        provider,
      })),
    },
    discount_rules: (await discounts(db)).map(ruleOf),
    message_variables: variablesPart(facts),
    message_rules: MESSAGE_RULES,
    message_variants: VARIANTS,
    filters: { trigger_event: triggerEvent ?? null, fields: filterFields(facts, segments) },
  }
}

const ruleOf = ({ id, name, type, value, code, minimum_type, minimum_value, duration_days }: Discount) => ({
  id,
  name,
  type,
  value,
  minimum: minimum_type && minimum_value ? { type: minimum_type, value: minimum_value } : null,
  duration_days,
  is_static: code !== null,
})

/** Providers may share the name of an event type: a campaign says whose it means. */
function factsOf(event: string, custom: readonly CustomEvent[]): Record<string, Fact> {
  if (isPredefined(event)) return { ...TRIGGERS[event].facts }
  const named = custom.filter(({ type }) => type === event)
  if (named.length === 0) throw unknownTrigger(event, custom)
  return Object.assign({}, ...named.map((one) => customStart(one).facts))
}

function variablesPart(facts: Readonly<Record<string, Fact>>) {
  const names = [...VARIABLES.map(({ name }) => name), ...Object.keys(facts).map((fact) => `event.${fact}`)]
  return {
    max_length: MAX_LENGTH,
    namespaces: Object.entries(NAMESPACES).map(([namespace, usage]) => ({
      namespace,
      usage,
      examples: names.filter((name) => name.startsWith(`${namespace}.`)).map(tokenOf),
    })),
    note: 'A variable is written {{name}}; {{name|fallback}} says the fallback where it is missing. Others are refused.',
  }
}

const MESSAGE_RULES = {
  rules: [...RULES],
  opt_out_example: OPT_OUT_EXAMPLE,
  agent_reply_example: AGENT_REPLY_EXAMPLE,
  agent_reply_example_note:
    'Sent when the contact writes back and the agent drafts no answer, or there is no agent; it needs no way to opt out.',
  checkout_url_token: tokenOf(CHECKOUT_URL),
  checkout_trigger_events: [...CHECKOUT_TRIGGERS],
  default_wait_minutes: DEFAULT_WAIT_MINUTES,
}

const VARIANTS = {
  explainer:
    'split.branches sends different messages to different contacts: up to five branches with a name, a weight and messages. Which branch a contact gets follows from the weights, and is the same one every time; a message that a branch leaves out is the campaign’s own.',
  tools: ['create_campaign', 'update_campaign', 'compare_campaigns'],
  note: 'Weights are relative: 1 and 1 halve, 3 and 1 send three of four contacts to the first branch.',
}
