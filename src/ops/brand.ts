import * as v from 'valibot'
import { currencyCode, id, texts, time } from '../fields.ts'
import { type Op, op } from '../op.ts'

const Brand = v.object({
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
    run: async ({ brand }) => brand,
  }),
]
