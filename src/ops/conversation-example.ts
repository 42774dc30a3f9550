/** Conversations and messages, as the documents show them. */

const ID = '01a0c1f2-7d3e-7b21-9c4f-2e8a6d5b0c17'
const MESSAGE_ID = '01a0c1f2-7d41-7f08-b3a6-91c0e4d27f55'

export const CONVERSATION = {
  id: ID,
  contact_id: '0193d2b4-6a1e-7f35-8c90-2d4b7e6f1a58',
  campaign_id: '0193d2c0-11aa-7c3e-9f42-6b8d0e5a7c31',
  status: 'open',
  channel: 'sms',
  checkout: {
    id: '01a0c1e0-93b2-8c1d-a4f7-5d60b1e29a38',
    state: 'recovered',
    total: '84.50',
    currency_code: 'USD',
    url: 'https://lumen-home.example/checkouts/c1-8d2f',
  },
  goal: {
    state: 'recovered',
    order_id: '01a0c20a-4f17-8e93-b2c8-7a1d9e0f6b42',
    recovered_amount: '79.50',
    currency_code: 'USD',
  },
  last_message_at: '2026-11-20T16:42:10.000Z',
  created_at: '2026-11-20T15:30:04.000Z',
  updated_at: '2026-11-20T16:42:10.000Z',
}

const BODY = 'Is the blue lamp still there?'

export const MATCH = { message_id: MESSAGE_ID, body: BODY, created_at: '2026-11-20T16:40:31.000Z' }

export const LISTED = {
  query: { status: 'open', limit: 1 },
  output: { data: [CONVERSATION], next_cursor: null },
}

export const READ = { path: { id: ID }, output: CONVERSATION }

export const FOUND = {
  query: { query: 'blue lamp' },
  output: {
    data: [
      {
        ...CONVERSATION,
        match: MATCH,
      },
    ],
    next_cursor: null,
  },
}

export const MESSAGES = {
  path: { id: ID },
  output: {
    data: [
      {
        id: MESSAGE_ID,
        conversation_id: ID,
        direction: 'inbound',
        author: 'contact',
        channel: 'sms',
        body: BODY,
        status: 'received',
        error: null,
        created_at: '2026-11-20T16:40:31.000Z',
        sent_at: null,
        delivered_at: null,
      },
    ],
    next_cursor: null,
  },
}
