/** Orders, subscriptions and products, as the documents show them. */

const ID = '0193d2c8-51f4-7a09-9b3e-6f0d7c2a4e81'

const ORDER = {
  id: ID,
  external_id: '5400000001207',
  number: '#2207',
  state: 'complete',
  billing_status: 'partially_refunded',
  total: '118.00',
  subtotal: '130.00',
  discount_total: '12.00',
  refunded_total: '29.50',
  currency_code: 'USD',
  discount_codes: ['WELCOME12'],
  customer_id: 'myshopify:lumen-home:7100000000046',
  customer: {
    contact_id: '0193d2b4-6a1e-7f35-8c90-2d4b7e6f1a58',
    email: 'ada@example.com',
    phone: '+12015550123',
  },
  lines: [
    {
      id: '13200000003311',
      product_id: '8100000000017',
      variant_id: '44100000000171',
      title: 'Brass desk lamp',
      sku: 'LAMP-BRASS',
      quantity: 2,
      price: '65.00',
      total: '118.00',
    },
  ],
  created_at: '2026-11-20T18:22:07.000Z',
  recovered_at: null,
  cancelled_at: null,
  updated_at: '2026-11-21T07:40:31.000Z',
}

export const ORDERS = {
  query: { state: 'complete', created_at_gte: '2026-11-01T00:00:00Z', limit: 1 },
  output: { data: [ORDER], next_cursor: 'AVq3mW9c' },
}

export const ORDER_READ = { path: { id: '5400000001207' }, output: ORDER }

export const SUBSCRIPTIONS = {
  output: {
    data: [
      {
        id: '0193d2c9-0b16-7d4c-8e27-9a5f3b1c6d02',
        external_id: '9900000000451',
        status: 'active',
        customer_id: 'myshopify:lumen-home:7100000000046',
        product_id: '8100000000023',
        title: 'Bulbs every quarter',
        interval: { unit: 'month', count: 3 },
        price: '24.00',
        currency_code: 'USD',
        started_at: '2026-05-02T09:15:00.000Z',
        next_billing_at: '2027-02-02T09:15:00.000Z',
        cancelled_at: null,
      },
    ],
    next_cursor: null,
  },
}

const IMAGE = { id: '39200000000081', url: 'https://cdn.example.com/lamp.jpg' }

const PRODUCT = {
  id: '8100000000017',
  title: 'Brass desk lamp',
  status: 'active',
  variants: [{ id: '44100000000171', price: '65.00', sku: 'LAMP-BRASS' }],
}

export const PRODUCTS = {
  query: { limit: 1 },
  output: {
    data: [{ ...PRODUCT, images: [{ ...IMAGE, alt_text: 'A desk lamp' }] }],
    next_cursor: 'AVq3mW9c',
  },
}

export const CDP_PRODUCTS = {
  query: { limit: 1 },
  output: {
    list: [{ ...PRODUCT, images: [{ ...IMAGE, altText: 'A desk lamp' }] }],
    pageSize: 1,
    scope: 'lumen-home.myshopify.com',
    nextCursor: 'AVq3mW9c',
  },
}
