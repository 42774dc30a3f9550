import * as v from 'valibot'
import { list, paging } from '../fields.ts'
import { type Op, op, type Page } from '../op.ts'
import { type CatalogPosition, catalogPart } from './catalog.ts'
import * as example from './commerce-example.ts'
import { Product } from './commerce-fields.ts'

const LISTED: Page = { default: 25, max: 100, over: 'refuse' }

export const productOps: readonly Op[] = [
  op({
    name: 'list_products',
    route: 'GET /v1/commerce/products',
    scopes: ['commerce:read'],
    page: LISTED,
    what: 'The catalog of the live store as it is now, page by page as the store gives them; without a live store the imported catalog. Of one store 5 pages can be read at once and then one a second. When the store itself asks to wait, the answer is 429 with the wait in its message.',
    input: { query: v.strictObject(paging(LISTED)) },
    output: list(Product),
    tool: false,
    example: example.PRODUCTS,
    run: async (ctx, { query: { limit, cursor } }) => {
      const from = ctx.cursors.open<CatalogPosition>(cursor)
      const { products, next } = await catalogPart(ctx, { limit, from, surface: 'rest' })
      return { data: products, next_cursor: next && ctx.cursors.seal(next) }
    },
  }),
]
