import * as v from 'valibot'
import { currencyCode, id, named, texts, time } from '../fields.ts'
import { type Op, op } from '../op.ts'

const Brand = named('Brand', {
  id,
  name: v.string(),
  shop_domain: v.string(),
  storefront_domains: texts,
  currency_code: currencyCode,
  timezone: v.string(),
  default_phone_region: v.string(),
  features: texts,
  created_at: time,
})

export const brandOps: readonly Op[] = [
  op({
    name: 'get_brand',
    route: 'GET /v1/brand',
    scopes: ['brand:read'],
    what: 'The business that the credential belongs to, with its settings.',
    output: Brand,
    example: {
      output: {
        id: '0193d1f0-7a42-7c3e-b5d1-8e2f6a9c4b10',
        name: 'Lumen Home',
        shop_domain: 'lumen-home.myshopify.com',
        storefront_domains: ['www.lumenhome.example'],
        currency_code: 'USD',
        timezone: 'America/New_York',
        default_phone_region: 'US',
        features: ['cdp', 'beta:cdp-commerce'],
        created_at: '2026-11-02T10:41:07.000Z',
      },
    },
    run: async ({ brand: { store_left: _, ...brand } }) => brand,
  }),
]
