import { MEMBERS } from './cdp-example.ts'

/** Profiles and what customers bought, as the documents show them. */

const { list, identities, scope, ...page } = MEMBERS.output
const [profile] = list
const [[ID, identity] = ['', null]] = Object.entries(identities)

export const LISTED = {
  output: {
    bucket: 'customers',
    ...{ list, identities, scope, nextCursor: null },
    ...{ totalSize: page.totalSize, offset: page.offset, pageSize: page.pageSize },
  },
}

export const READ = { path: { id: ID }, output: { profile, identity, scope } }

export const SESSIONS = {
  path: { id: ID },
  output: {
    list: [
      {
        itemId: '7f3c9a10-52d7-4e39-9a53-0b8f6c1d2e4a',
        scope,
        profileId: ID,
        startedAt: '2026-11-20T18:58:40.000Z',
        endedAt: '2026-11-20T19:02:11.000Z',
        durationSeconds: 211,
        events: 6,
        entryUrl: `https://${scope}/collections/lamps?utm_source=newsletter`,
        referrer: null,
        utm: { source: 'newsletter', medium: 'email', campaign: 'november', term: null, content: null },
        device: 'mobile',
      },
    ],
    totalSize: 1,
    offset: 0,
    pageSize: 25,
  },
}

const ORDER = {
  id: '0193d2c8-51f4-7a09-9b3e-6f0d7c2a4e81',
  external_id: '5400000001207',
  number: '#2207',
  state: 'complete',
  billing_status: 'paid',
  total: '118.00',
  currency_code: 'USD',
  customer: { contact_id: '0193d2a4-7b21-7c44-8f0e-6a1d2c3b4e5f' },
  created_at: '2026-10-11T17:40:03.000Z',
  recovered_at: null,
}

export const ORDERS = {
  path: { identifier: 'ada@example.com' },
  output: { list: [ORDER], totalSize: 1, offset: 0, pageSize: 25, scope, nextCursor: null },
}

export const INSIGHTS = {
  path: { identifier: 'ada@example.com' },
  output: {
    identifier: 'ada@example.com',
    matched_by: 'email',
    scope,
    insights: {
      ltv: '612.40',
      order_count: 3,
      aov: '204.13',
      first_order_at: '2025-03-02T08:21:40.000Z',
      last_order_at: ORDER.created_at,
      currency_code: 'USD',
      rfm: {
        ...{ recency_score: 5, frequency_score: 4, monetary_score: 4, tier: 'Potential Loyalist' },
        ...{ last_order_at: ORDER.created_at, order_count: 3, ltv: '612.40' },
      },
      top_products: [
        {
          ...{ product_id: '8801', title: 'Lamp', quantity: 3, order_count: 2, customer_count: 1 },
          ...{ revenue: '354.00', repeat_purchase_rate: 1 },
        },
      ],
      churn: {
        ...{ days_since_last_order: 40, median_inter_order_days: 90, brand_median_inter_order_days: 45.5 },
        ...{ at_risk_score: 0.4444, at_risk: false },
      },
    },
  },
}
