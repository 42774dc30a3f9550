import * as v from 'valibot'
import { count, named, paging } from '../fields.ts'
import { type Op, op } from '../op.ts'
import { type CatalogPosition, catalogPart } from './catalog.ts'
import { cdpMartsOf, LISTED, PAST_COUNTED } from './cdp-fields.ts'
import { CDP_PRODUCTS } from './commerce-example.ts'
import { Product } from './commerce-fields.ts'
import { CDP_LTV } from './insight-example.ts'
import { asOf } from './insights.ts'
import { BRAND_LTV, brandValueOf } from './lifetime-value.ts'

const CdpProduct = named('CdpProduct', {
  id: Product.entries.id,
  title: Product.entries.title,
  status: Product.entries.status,
  variants: Product.entries.variants,
  images: v.array(v.object({ id: v.string(), url: v.string(), altText: v.nullable(v.string()) })),
})

const reading = { surface: 'cdp', feature: 'beta:cdp-commerce', tool: false } as const

export const cdpCommerceOps: readonly Op[] = [
  op({
    ...reading,
    name: 'get_cdp_lifetime_value',
    route: 'GET /cdp/insights/ltv',
    scopes: ['customers:read'],
    what: `What the customers of the brand spent in all, as of the last refresh or of a past instant: the total, the average, and how many customers lie in each of five fixed buckets, whose counts sum to that of all. ${PAST_COUNTED}`,
    errors: ['upstream_error'],
    input: { query: v.strictObject({ as_of: asOf }) },
    output: named('BrandLtv', { scope: v.nullable(v.string()), ...BRAND_LTV }),
    example: CDP_LTV,
    run: async (ctx, { query: { as_of } }) => {
      const value = await brandValueOf(await cdpMartsOf(ctx, as_of))
      return { scope: ctx.brand.shop_domain, ...value }
    },
  }),

  op({
    ...reading,
    name: 'list_cdp_products',
    route: 'GET /cdp/commerce/products',
    scopes: ['commerce:read'],
    page: LISTED,
    errors: ['forbidden', 'integration_not_connected', 'upstream_error'],
    what: 'The catalog of the live store as it is now, page by page as the store gives them; without a live store the imported catalog.',
    input: { query: v.strictObject(paging(LISTED)) },
    output: v.object({
      list: v.array(CdpProduct),
      pageSize: count,
      scope: v.string(),
      nextCursor: v.nullable(v.string()),
    }),
    example: CDP_PRODUCTS,
    run: async (ctx, { query: { limit, cursor } }) => {
      const from = ctx.cursors.open<CatalogPosition>(cursor)
      const { products, next } = await catalogPart(ctx, { limit, from, surface: 'cdp' })
      return {
        list: products.map(({ images, ...product }) => ({
          ...product,
          images: images.map(({ id, url, alt_text }) => ({ id, url, altText: alt_text })),
        })),
        pageSize: limit,
        scope: ctx.brand.shop_domain,
        nextCursor: next && ctx.cursors.seal(next),
      }
    },
  }),
]
