/** A customer, as the documents show it. */

export const ID = 'myshopify:lumen-home:6940095564'

export const CUSTOMER = {
  id: ID,
  email: 'ada@example.com',
  phone: '+12025550123',
  first_name: 'Ada',
  last_name: 'Byron',
  provenance: 'server',
  contact_id: '0193d2a4-7b21-7c44-8f0e-6a1d2c3b4e5f',
  store_customer_id: '6940095564',
  tags: ['vip'],
  attributes: { loyalty_tier: 'gold' },
  total_spend: '612.40',
  orders_count: 3,
  average_order_value: '204.13',
  currency_code: 'USD',
  first_order_at: '2025-03-02T08:21:40.000Z',
  last_order_at: '2026-10-11T17:40:03.000Z',
  last_event_at: '2026-11-20T19:02:11.000Z',
  created_at: '2025-03-02T08:15:00.000Z',
  updated_at: '2026-10-11T17:40:04.000Z',
}

export const ENTRIES = [
  {
    id: '0193d2b4-6a1e-7f35-8c90-2d4b7e6f1a58-0',
    kind: 'event',
    type: 'product_viewed',
    occurred_at: '2026-11-20T19:02:11.000Z',
    data: { product_id: '8801', product_title: 'Lamp', price: '49.00', currency_code: 'USD' },
  },
  {
    id: '0193d2a4-6c5e-7b1a-9f43-2d0c8e5b7a11-96',
    kind: 'segment',
    type: 'entered',
    occurred_at: '2026-10-11T17:45:04.000Z',
    data: {
      segment_id: '0193d2a4-6c5e-7b1a-9f43-2d0c8e5b7a11',
      name: 'Big spenders who look around',
      reason: 'data_changed',
      generation: 96,
    },
  },
]

export const FIELDS = [
  {
    field: 'total_spend',
    name: 'Total spend',
    description: 'Spent on complete orders, less refunds, in the currency of the brand',
    type: 'decimal',
    multivalued: false,
    source: 'built-in',
    sortable: true,
    rule: { source: 'customer_profile', field: 'total_spend' },
  },
  {
    field: 'attributes.loyalty_tier',
    name: 'loyalty_tier',
    description: null,
    type: 'string',
    multivalued: false,
    source: 'custom',
    sortable: false,
    rule: { source: 'customer_attributes', field: 'attributes.loyalty_tier' },
  },
]
