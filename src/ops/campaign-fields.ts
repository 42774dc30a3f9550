import * as v from 'valibot'
import { CART_LINKS, type CartLinkType, MOST_BRANCHES } from '../campaign/definition.ts'
import { UNITS, type Unit } from '../campaign/duration.ts'
import { MOST_FILTERS } from '../campaign/filter.ts'
import { ACTION_TYPES } from '../campaign/message-rule.ts'
import { CAMPAIGN_STATUSES } from '../campaign/saved.ts'
import { CAMPAIGN_TYPES } from '../campaign/trigger.ts'
import { isObject } from '../event/exact.ts'
import { count, id, named, text, time, timestamp, uuid } from '../fields.ts'

const oneOf = <const Options extends readonly string[]>(options: Options) =>
  v.picklist(options, `must be one of ${options.join(', ')}`)

const units = Object.keys(UNITS) as [Unit, ...Unit[]]
const cartLinks = Object.keys(CART_LINKS) as [CartLinkType, ...CartLinkType[]]

export const campaignPath = v.strictObject({ campaign_id: uuid })
export const campaignStatus = oneOf(CAMPAIGN_STATUSES)

// Input

const LONGEST_MESSAGE = 10_000
const sentDuration = v.strictObject({
  amount: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(129_600)),
  unit: oneOf(units),
})
const messageSchema = (description: string) => ({ type: 'string', maxLength: LONGEST_MESSAGE, description })
const MESSAGES = {
  initial: messageSchema(
    'First message of the actions agent and email: of an email its text, whose first line may be "Subject: …". Where it is left out, sms, else the default of the trigger.',
  ),
  agent_reply: messageSchema(
    'What whoever writes back gets, whatever the action, where no agent drafts an answer; it needs no way to opt out.',
  ),
  sms: messageSchema(
    'First message of the action sms. Where it is left out, initial, else the default of the trigger.',
  ),
}
const message = v.optional(text({ max: LONGEST_MESSAGE }))
const sentMessages = v.pipe(
  v.unknown(),
  // A list without elements would pass for an object without fields.
  v.check(isObject, 'must be an object'),
  v.strictObject({ initial: message, agent_reply: message, sms: message }, 'must be an object'),
  v.metadata({
    jsonSchema: {
      type: 'object',
      properties: MESSAGES,
      additionalProperties: false,
    },
  }),
)
const sentFilters = v.pipe(
  v.array(
    v.strictObject({
      field: text({ min: 1, max: 200 }),
      operator: text({ min: 1, max: 40 }),
      value: v.optional(v.unknown()),
    }),
  ),
  v.maxLength(MOST_FILTERS),
)
const sentSplit = v.strictObject({
  branches: v.pipe(
    v.array(
      v.strictObject({
        name: text({ min: 1, max: 100 }),
        weight: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000)),
        messages: v.optional(sentMessages),
      }),
    ),
    v.maxLength(MOST_BRANCHES),
  ),
})

const fields = {
  name: text({ min: 1, max: 200 }),
  type: oneOf(CAMPAIGN_TYPES),
  messages: sentMessages,
  trigger_delay: v.pipe(
    sentDuration,
    v.description('From what starts the campaign to the first message; 30 minutes unless given.'),
  ),
  wait: v.pipe(
    sentDuration,
    v.description(
      'After the message: how long an answer or an order is waited for, a day unless given. It does not delay the message.',
    ),
  ),
  cart_link: v.strictObject({ type: oneOf(cartLinks), url: v.optional(v.nullable(text({ max: 2_000 }))) }),
  discount_id: uuid,
  filters: sentFilters,
  split: sentSplit,
  provider_id: uuid,
  starts_at: timestamp,
  ends_at: timestamp,
}
const triggerEvent = text({ min: 1, max: 64 })

export const sentCampaign = v.strictObject({
  trigger_event: triggerEvent,
  action_type: oneOf(ACTION_TYPES),
  ...v.partial(v.strictObject(fields)).entries,
})

const orNone = <const Schema extends v.GenericSchema>(schema: Schema) => v.optional(v.nullable(schema))

export const sentChange = v.strictObject({
  trigger_event: v.optional(triggerEvent),
  action_type: v.optional(oneOf(ACTION_TYPES)),
  name: orNone(fields.name),
  type: orNone(fields.type),
  messages: orNone(fields.messages),
  trigger_delay: orNone(fields.trigger_delay),
  wait: orNone(fields.wait),
  cart_link: orNone(fields.cart_link),
  discount_id: orNone(fields.discount_id),
  filters: orNone(fields.filters),
  split: orNone(fields.split),
  provider_id: orNone(fields.provider_id),
  starts_at: orNone(fields.starts_at),
  ends_at: orNone(fields.ends_at),
  version: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
})

// Output

const itemFields = {
  id,
  name: v.string(),
  type: v.picklist(CAMPAIGN_TYPES),
  status: v.picklist(CAMPAIGN_STATUSES),
  is_paused: v.boolean(),
}
export const CampaignItem = named('CampaignItem', itemFields)

const duration = { amount: v.number(), unit: v.picklist(units) }
const messages = v.object({ initial: v.string(), agent_reply: v.string(), sms: v.string() })

const draftFields = {
  ...itemFields,
  draft: v.boolean(),
  action_type: v.picklist(ACTION_TYPES),
  editor_url: v.string(),
  starts_at: v.nullable(time),
  ends_at: v.nullable(time),
  trigger: v.object({ kind: v.picklist(['predefined', 'custom']), event: v.string(), label: v.string() }),
  wait: v.object(duration),
  trigger_delay: v.object({ ...duration, minutes: count }),
  cart_link: v.object({ type: v.picklist(cartLinks), url: v.nullable(v.string()) }),
  discount: v.nullable(v.object({ id })),
  messages,
  split: v.object({ branches: v.array(v.object({ name: v.string(), weight: v.number(), messages })) }),
  variables: v.array(v.object({ token: v.string(), label: v.string(), hint: v.string() })),
}
export const CampaignDraft = named('CampaignDraft', { ...draftFields, note: v.string() })
export const Campaign = named('Campaign', {
  ...draftFields,
  provider_id: v.nullable(id),
  filters: v.array(v.object({ field: v.string(), operator: v.string(), value: v.optional(v.unknown()) })),
  version: count,
  created_by: v.string(),
  created_at: time,
  updated_at: time,
})
