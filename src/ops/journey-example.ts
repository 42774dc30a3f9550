import { shownReason } from '../campaign/reason.ts'

/** The journey of an abandoned checkout, as the documents show it. */

const CAMPAIGN = {
  campaign_id: '0193d2c9-41aa-7c1e-b0a5-6de0f7123b94',
  campaign_name: 'Abandoned checkouts over 50',
}
const CONVERSATION_ID = '01a0c1f2-7d3e-7b21-9c4f-2e8a6d5b0c17'
const CONTACT_ID = '0193d2b4-6a1e-7f35-8c90-2d4b7e6f1a58'

const STEP = {
  ...CAMPAIGN,
  state: 'done',
  event_type: 'checkout_abandoned',
  event_id: 'service:checkout_abandoned:c1-8d2f',
  contact_id: CONTACT_ID,
  error: null,
}

const AMOUNT = { amount: '79.50', currency: 'USD' }

export const JOURNEY = {
  query: { checkout_id: '01a0c1e0-93b2-8c1d-a4f7-5d60b1e29a38' },
  output: {
    source: {
      kind: 'checkout',
      checkout: {
        id: '01a0c1e0-93b2-8c1d-a4f7-5d60b1e29a38',
        state: 'recovered',
        total: { amount: '84.50', currency: 'USD' },
        created_at: '2026-11-20T13:58:40.000Z',
        abandoned_at: '2026-11-20T15:00:00.000Z',
        completed_at: '2026-11-20T16:42:10.000Z',
      },
    },
    campaigns: [
      {
        ...CAMPAIGN,
        outcome: 'converted',
        run: [
          {
            ...STEP,
            at: '2026-11-20T15:00:04.000Z',
            step: 'start',
            step_id: '01a0c1f0-0a11-7d52-8b30-1f6c2e9d4a70',
            conversation_id: null,
            reason: shownReason('started'),
          },
          {
            ...STEP,
            at: '2026-11-20T15:30:04.000Z',
            step: 'message',
            step_id: '01a0c1f2-7d40-7e61-a2c8-90b5d3f7e124',
            conversation_id: CONVERSATION_ID,
            reason: shownReason('message_queued'),
          },
        ],
      },
    ],
    conversations: [
      { ...CAMPAIGN, conversation_id: CONVERSATION_ID, created_at: '2026-11-20T15:30:04.000Z' },
    ],
    outcome: {
      recovered: true,
      recovered_amount: AMOUNT,
      goals: [
        {
          at: '2026-11-20T16:42:10.000Z',
          conversation_id: CONVERSATION_ID,
          campaign_id: CAMPAIGN.campaign_id,
          order_id: '01a0c20a-4f17-8e93-b2c8-7a1d9e0f6b42',
          order_number: '1047',
          amount: AMOUNT,
          attribution: 'click',
          billing_status: 'paid',
          recovered: true,
        },
      ],
    },
  },
}
