import * as v from 'valibot'
import { composerOptions } from '../campaign/composer.ts'
import { count, id, named, text, texts } from '../fields.ts'
import { type Op, op } from '../op.ts'
import * as example from './campaign-example.ts'

const words = v.string()

const ComposerOptions = named('ComposerOptions', {
  trigger_events: v.object({
    predefined: v.array(v.object({ id: words, label: words })),
    custom: v.array(v.object({ slug: words, label: words, provider_id: id, provider: words })),
  }),
  discount_rules: v.array(
    v.object({
      id,
      name: words,
      type: v.picklist(['percentage', 'fixed_amount', 'free_shipping']),
      value: v.nullable(words),
      minimum: v.nullable(v.object({ type: words, value: words })),
      duration_days: v.nullable(count),
      is_static: v.boolean(),
    }),
  ),
  message_variables: v.object({
    max_length: count,
    namespaces: v.array(v.object({ namespace: words, usage: words, examples: texts })),
    note: words,
  }),
  message_rules: v.object({
    rules: texts,
    opt_out_example: words,
    agent_reply_example: words,
    agent_reply_example_note: words,
    checkout_url_token: words,
    checkout_trigger_events: texts,
    default_wait_minutes: count,
  }),
  message_variants: v.object({ explainer: words, tools: texts, note: words }),
  filters: v.object({
    trigger_event: v.nullable(words),
    fields: v.array(
      v.object({
        field: words,
        fact: words,
        path: words,
        label: words,
        group: words,
        description: words,
        value_type: words,
        operators: v.array(v.object({ operator: words, label: words })),
        values: v.nullable(v.array(v.object({ value: words, label: words }))),
      }),
    ),
  }),
})

export const campaignComposerOps: readonly Op[] = [
  op({
    name: 'get_campaign_composer_options',
    route: 'GET /v1/campaigns/composer-options',
    scopes: ['campaigns:read', 'campaigns:write'],
    what: 'What campaigns can be made of: trigger events with those of the brand’s own, saved discounts, variables and rules of messages, and the fields that filters compare; with trigger_event also those that it carries.',
    input: { query: v.strictObject({ trigger_event: v.optional(text({ min: 1, max: 64 })) }) },
    output: ComposerOptions,
    example: example.COMPOSER,
    run: async ({ db }, { query }) => composerOptions(db, query.trigger_event),
  }),
]
