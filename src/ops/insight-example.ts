/** Insights, as the documents show them. */

const VALUE = {
  total_revenue: '184220.40',
  customer_count: 1204,
  average_ltv: '153.01',
  currency_code: 'USD',
  distribution: [
    { label: '0-100', min: 0, max: 100, customer_count: 702 },
    { label: '100-250', min: 100, max: 250, customer_count: 291 },
    { label: '250-500', min: 250, max: 500, customer_count: 148 },
    { label: '500-1000', min: 500, max: 1000, customer_count: 51 },
    { label: '1000+', min: 1000, max: null, customer_count: 12 },
  ],
}

const AS_OF = '2026-11-21T09:15:04.000Z'

export const LIFETIME_VALUE = {
  output: {
    ...VALUE,
    other_currencies: [{ currency_code: 'CAD', total_revenue: '930.00', order_count: 11, customer_count: 8 }],
    as_of: AS_OF,
  },
}

export const CDP_LTV = { output: { scope: 'lumen-home.myshopify.com', ...VALUE } }

export const RFM_TIERS = {
  query: { as_of: '2026-10-31T23:59:59Z' },
  output: {
    customer_count: 1204,
    currency_code: 'USD',
    tiers: [
      {
        tier: 'Champions',
        customer_count: 61,
        order_count: 498,
        total_revenue: '61310.25',
        average_ltv: '1005.09',
      },
      {
        tier: 'At Risk',
        customer_count: 88,
        order_count: 301,
        total_revenue: '30118.80',
        average_ltv: '342.26',
      },
    ],
    as_of: '2026-10-31T23:59:59.000Z',
  },
}

export const TOP_PRODUCTS = {
  query: { limit: 1 },
  output: {
    data: [
      {
        product_id: '8100000000017',
        title: 'Brass desk lamp',
        quantity: 812,
        order_count: 640,
        customer_count: 571,
        revenue: '49910.00',
        repeat_purchase_rate: 0.1016,
        currency_code: 'USD',
      },
    ],
    next_cursor: null,
  },
}

export const AT_RISK = {
  query: { limit: 1 },
  output: {
    data: [
      {
        customer_id: 'myshopify:lumen-home:7100000000046',
        contact_id: '0193d2b4-6a1e-7f35-8c90-2d4b7e6f1a58',
        email: 'ada@example.com',
        phone: '+12015550123',
        days_since_last_order: 96,
        median_inter_order_days: 31.5,
        brand_median_inter_order_days: 44,
        at_risk_score: 3.0476,
        last_order_at: '2026-08-17T12:04:55.000Z',
        order_count: 7,
        ltv: '818.20',
        currency_code: 'USD',
      },
    ],
    next_cursor: 'AVq3mW9c',
  },
}

export const COHORTS = {
  output: {
    data: [
      {
        cohort_month: '2026-10-01',
        customer_count: 120,
        currency_code: 'USD',
        months: [
          { month_number: 0, active_customers: 120, retention: 1, revenue: '10240.00' },
          { month_number: 1, active_customers: 31, retention: 0.2583, revenue: '2890.50' },
        ],
      },
    ],
    next_cursor: null,
  },
}
