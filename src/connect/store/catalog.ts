import { Failure, fail } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { Fields, Unreadable } from './fields.ts'
import type { ProductRecord } from './record.ts'
import { type AdminApi, openAdminApi } from './shopify/client.ts'
import { affordable } from './shopify/cost.ts'
import { productOf } from './shopify/nodes.ts'
import { PAGES } from './shopify/queries.ts'

/** How long a call of ours may try to be let through by the store; with the last try it takes 11 s at most. */
const PATIENCE_MS = 3_000
const TIMEOUT_MS = 8_000

export interface CatalogPage {
  products: ProductRecord[]
  /** The store's own cursor; null at the end. */
  nextCursor: string | null
}

export interface CatalogOptions {
  api?: AdminApi
  signal?: AbortSignal
}

/**
 * One page of the live catalog by the store's own cursor. Throws `integration_not_connected` without a token, `forbidden`
 * when it may not read products, `bad_request` for a cursor that the store does not take, `rate_limited` with the wait in
 * its text and `retry-after` when the store throttles beyond a short patience, `upstream_…` when it fails.
 */
export async function catalogPage(
  { apiOrigin, accessToken }: Pick<Connection, 'apiOrigin' | 'accessToken'>,
  wanted: { limit: number; cursor: string | null },
  { api: given, signal }: CatalogOptions = {},
): Promise<CatalogPage> {
  if (accessToken === null) throw fail('integration_not_connected', 'No store is connected to this brand.')
  const api =
    given ??
    openAdminApi({ origin: apiOrigin, accessToken, patienceMs: PATIENCE_MS, timeoutMs: TIMEOUT_MS, signal })
  try {
    return await affordable(wanted.limit, async (first) => {
      const variables = { first, after: wanted.cursor, query: null, sortKey: 'ID' }
      return pageOf(new Fields(await api.query(PAGES.products, variables)), new Date().toISOString())
    })
  } catch (cause) {
    throw asRefusal(cause, wanted.cursor)
  }
}

/** What a caller may know of a failure: nothing that stands beside it. */
function asRefusal(cause: unknown, cursor: string | null): unknown {
  if (cause instanceof Unreadable)
    return fail('upstream_error', 'The store answered with products that cannot be read.', { cause })
  if (!(cause instanceof Failure) || cause.code !== 'upstream_error') return cause
  if (cursor !== null && /cursor/i.test(cause.message))
    return fail('bad_request', 'cursor is not known to the store any more: start again without it')
  return fail('upstream_error', cause.message)
}

function pageOf(data: Fields, readAt: string): CatalogPage {
  const page = data.object('page')
  if (!page) throw new Unreadable('page must be given')
  const info = page.object('pageInfo')
  return {
    products: page.list('nodes').map((node) => productOf(node, readAt)),
    nextCursor: info?.flag('hasNextPage') ? info.text('endCursor') : null,
  }
}
