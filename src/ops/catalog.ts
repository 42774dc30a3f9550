import { catalogPage } from '../connect/store/catalog.ts'
import { connectionOf } from '../connect/store/connection.ts'
import { amountOf } from '../connect/store/money.ts'
import { Failure, fail } from '../errors.ts'
import type { Ctx, Op, Rate } from '../op.ts'
import { paged } from './walk.ts'

/** The product catalog: the live store's where one is connected, else what was imported. */

/** Of the live store, whoever calls. */
const LIVE_RATE: Rate = { count: 1, per: 'second', burst: 5 }

export interface CatalogProduct {
  id: string
  title: string
  status: string
  variants: { id: string; price: string | null; sku: string | null }[]
  images: { id: string; url: string; alt_text: string | null }[]
}

export interface CatalogPart {
  products: CatalogProduct[]
  next: CatalogPosition | null
}

/** The store's own cursor, or the last product of the imported catalog. */
export type CatalogPosition = { live: string } | { after: string }

export interface CatalogAsked {
  limit: number
  from: CatalogPosition | null
  /** On REST calls of the live store are counted, and its refusals are told in the words of REST. */
  surface: Op['surface']
}

/** A page of the catalog as it is now. */
export async function catalogPart(ctx: Ctx, { limit, from, surface }: CatalogAsked): Promise<CatalogPart> {
  const connection = await connectionOf(ctx.db, ctx.seal)
  if (from && 'live' in from !== (connection !== null))
    throw fail(
      'bad_request',
      'cursor is of the catalog before the store was connected or left: start again without it',
    )
  if (!connection) return await importedPart(ctx, limit, from && 'after' in from ? from.after : null)
  if (surface === 'rest') await ctx.limit('product catalog', LIVE_RATE)
  const cursor = from && 'live' in from ? from.live : null
  try {
    const page = await catalogPage(connection, { limit, cursor }, { signal: ctx.signal })
    return {
      products: page.products.map(({ externalId, title, status, variants, images }) => ({
        id: externalId,
        title,
        status,
        variants,
        images,
      })),
      next: page.nextCursor === null ? null : { live: page.nextCursor },
    }
  } catch (error) {
    throw error instanceof Failure ? told(error, surface) : error
  }
}

/** A failure of the store: on REST the wait stands in the text alone, and there is no 502; the other host knows no 503. */
function told(failure: Failure, surface: Op['surface']): Failure {
  const { code, message } = failure
  if (surface === 'rest' && code === 'rate_limited') return fail('rate_limited', message)
  if (code === 'upstream_error' || code === 'upstream_unavailable')
    return fail(surface === 'rest' ? 'unavailable' : 'upstream_error', message, { cause: failure })
  return failure
}

async function importedPart({ db }: Ctx, limit: number, after: string | null): Promise<CatalogPart> {
  const found = await db.many<CatalogProduct>('products_page', [after, limit + 1])
  const { rows, last } = paged(found, limit)
  return {
    products: rows.map((row) => ({
      ...row,
      variants: row.variants.map((variant) => ({
        ...variant,
        price: variant.price === null ? null : amountOf(variant.price),
      })),
    })),
    next: last ? { after: last.id } : null,
  }
}
