import * as v from 'valibot'
import { journeyOf } from '../campaign/journey.ts'
import type { JOURNEY_IDS } from '../campaign/journey-source.ts'
import { OUTCOMES, STEPS } from '../campaign/reason.ts'
import { currencyCode, id, money, named, time } from '../fields.ts'
import { type Op, op } from '../op.ts'
import { BILLING_STATUSES } from './commerce-fields.ts'
import * as example from './journey-example.ts'

const someId = v.nullable(id)
const someText = v.nullable(v.string())
const someTime = v.nullable(time)
const amount = v.object({ amount: money, currency: currencyCode })

const source = v.variant('kind', [
  v.object({
    kind: v.literal('custom_event'),
    custom_event: v.object({
      ...{ id: v.string(), type: v.string(), name: v.string(), source: v.string() },
      ...{ external_event_id: v.string(), received_at: time },
    }),
  }),
  v.object({
    kind: v.literal('checkout'),
    checkout: v.object({
      ...{ id, state: v.string(), total: amount },
      ...{ created_at: time, abandoned_at: someTime, completed_at: someTime },
    }),
  }),
  v.object({
    kind: v.literal('order'),
    order: v.object({ id, number: v.string(), total: amount, created_at: time }),
  }),
  v.object({
    kind: v.literal('subscription_event'),
    subscription_event: v.object({ id: v.string(), type: v.string(), triggered_at: time }),
  }),
])

const Journey = named('EventJourney', {
  source,
  campaigns: v.array(
    v.object({
      campaign_id: id,
      campaign_name: v.string(),
      outcome: v.picklist(['in_progress', ...Object.keys(OUTCOMES)]),
      run: v.array(
        named('JourneyStep', {
          at: time,
          state: v.picklist(['done', 'waiting', 'skipped', 'stopped', 'failed']),
          step: v.picklist(Object.keys(STEPS)),
          step_id: id,
          event_type: v.string(),
          event_id: someText,
          campaign_id: id,
          campaign_name: v.string(),
          conversation_id: someId,
          contact_id: someId,
          reason: v.nullable(
            v.object({
              code: v.string(),
              label: v.string(),
              level: v.picklist(['success', 'info', 'warning', 'error']),
              rule: v.string(),
            }),
          ),
          error: someText,
        }),
      ),
    }),
  ),
  conversations: v.array(
    v.object({ conversation_id: id, created_at: time, campaign_id: someId, campaign_name: someText }),
  ),
  outcome: v.object({
    recovered: v.boolean(),
    recovered_amount: amount,
    goals: v.array(
      v.object({
        at: time,
        conversation_id: id,
        campaign_id: someId,
        order_id: id,
        order_number: v.string(),
        amount,
        attribution: v.picklist(['message', 'click']),
        billing_status: v.picklist(BILLING_STATUSES),
        recovered: v.boolean(),
      }),
    ),
  }),
})

const someRecord = v.optional(v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(200)))

export const journeyOps: readonly Op[] = [
  op({
    name: 'get_event_journey',
    route: 'GET /v1/events/journey',
    scopes: ['campaigns:read'],
    errors: ['not_found'],
    rate: { count: 10, per: 'second' },
    what: 'What became of something that happened: the campaigns that it started, each step of theirs and why it ended as it did, the conversations that followed, and the orders that these recovered. Give exactly one id: of a record that a webhook told of or of an event of your own, of a checkout or an order (ours or the store’s), or of an event subscription_changed.',
    input: {
      query: v.strictObject({
        custom_event_id: someRecord,
        checkout_id: someRecord,
        order_id: someRecord,
        subscription_event_id: someRecord,
      } satisfies Record<(typeof JOURNEY_IDS)[number], unknown>),
    },
    output: Journey,
    example: example.JOURNEY,
    run: async (ctx, { query }) => await journeyOf(ctx, query),
  }),
]
