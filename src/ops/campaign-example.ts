import type { CampaignDefinition } from '../campaign/definition.ts'
import type { Campaign } from '../campaign/saved.ts'
import { campaignDraft, wholeCampaign } from '../campaign/shown.ts'
import { predefinedStart } from '../campaign/start.ts'

/** One campaign, as the documents show it. */

const ID = '0193d2c9-41aa-7c1e-b0a5-6de0f7123b94'
const BASE_URL = 'https://recoup.example.com'

const MESSAGES = {
  initial:
    'Hi {{contact.first_name|there}}, you left something at {{brand.name}}: {{cart.link}} Reply STOP to opt out.',
}

const DEFINITION: CampaignDefinition = {
  trigger_event: 'checkout_abandoned',
  provider_id: null,
  action_type: 'agent',
  trigger_delay: { amount: 30, unit: 'minutes' },
  wait: { amount: 1, unit: 'days' },
  cart_link: { type: 'checkout', url: null },
  discount_id: null,
  messages: {
    ...MESSAGES,
    agent_reply: 'Happy to help! Your checkout is still here: {{cart.link}}',
    sms: MESSAGES.initial,
  },
  filters: [{ field: 'event.total', operator: '>=', value: '50.00' }],
  split: { branches: [] },
  starts_at: null,
  ends_at: null,
}

const CAMPAIGN: Campaign = {
  id: ID,
  name: 'Abandoned checkouts over 50',
  type: 'checkout_recovery',
  status: 'draft',
  version: 1,
  definition: DEFINITION,
  created_by: '0193c0de-7a10-7b6b-9d6f-1f0c52a1e9d0',
  created_at: new Date('2026-11-20T08:00:12.000Z'),
  updated_at: new Date('2026-11-20T08:00:12.000Z'),
  activated_at: null,
}

const START = predefinedStart('checkout_abandoned')
const ITEM = {
  id: ID,
  name: CAMPAIGN.name,
  type: CAMPAIGN.type,
  status: 'active',
  is_paused: false,
}

export const LISTED = { query: { status: 'active' }, output: { data: [ITEM], next_cursor: null } }

export const CREATED = {
  body: {
    trigger_event: 'checkout_abandoned',
    action_type: 'agent',
    name: CAMPAIGN.name,
    messages: { ...MESSAGES, agent_reply: DEFINITION.messages.agent_reply },
    filters: DEFINITION.filters,
  },
  output: {
    ...campaignDraft(CAMPAIGN, START, BASE_URL),
    note: 'Saved as a paused draft: nothing is sent until it is turned on, with the tool set_campaign_status or in the editor.',
  },
}

export const READ = { path: { campaign_id: ID }, output: wholeCampaign(CAMPAIGN, START, BASE_URL) }

const LATER = { ...DEFINITION, trigger_delay: { amount: 2, unit: 'hours' } } as const

export const UPDATED = {
  path: { campaign_id: ID },
  body: { trigger_delay: LATER.trigger_delay, version: 1 },
  output: wholeCampaign({ ...CAMPAIGN, version: 2, definition: LATER }, START, BASE_URL),
}

export const TURNED_ON = {
  body: { campaign_id: ID, status: 'active', confirm: true },
  output: wholeCampaign({ ...CAMPAIGN, status: 'active' }, START, BASE_URL),
}

export const COMPOSER = {
  query: { trigger_event: 'checkout_abandoned' },
  output: {
    trigger_events: {
      predefined: [{ id: 'checkout_abandoned', label: 'Checkout abandoned' }],
      custom: [
        {
          slug: 'points_earned',
          label: 'Points earned',
          provider_id: '0193d2c1-5b1e-7a60-8c3f-91d7e2a4b605',
          provider: 'Stamp Club',
        },
      ],
    },
    discount_rules: [],
    message_variables: {
      max_length: 1600,
      namespaces: [
        {
          namespace: 'contact',
          usage: 'Whom the message goes to.',
          examples: ['{{contact.first_name}}', '{{contact.last_name}}'],
        },
      ],
      note: 'A variable is written {{name}}.',
    },
    message_rules: {
      rules: ['A message has 1 to 1600 characters.'],
      opt_out_example: 'Reply STOP to opt out.',
      agent_reply_example: 'Happy to help!',
      agent_reply_example_note: 'Sent when the agent drafts no answer.',
      checkout_url_token: '{{checkout.url}}',
      checkout_trigger_events: ['checkout_abandoned'],
      default_wait_minutes: 1440,
    },
    message_variants: {
      explainer: 'split.branches sends different messages to different contacts.',
      tools: ['create_campaign', 'update_campaign', 'compare_campaigns'],
      note: 'Weights are relative.',
    },
    filters: {
      trigger_event: 'checkout_abandoned',
      fields: [
        {
          field: 'event.total',
          fact: 'event',
          path: 'total',
          label: 'Total',
          group: 'Trigger',
          description: 'sum in the currency of currency_code',
          value_type: 'money',
          operators: [{ operator: '>=', label: 'is greater than or equal to' }],
          values: null,
        },
      ],
    },
  },
}
