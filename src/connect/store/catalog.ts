import { fail } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { Fields, Unreadable } from './fields.ts'
import type { ProductRecord } from './record.ts'
import { type AdminApi, openAdminApi } from './shopify/client.ts'
import { productOf } from './shopify/nodes.ts'
import { PAGES } from './shopify/queries.ts'

/** How long a call of ours may wait for the store to let it through. */
const PATIENCE_MS = 3_000
const TIMEOUT_MS = 8_000

export interface CatalogPage {
  products: ProductRecord[]
  /** The store's own cursor; null at the end. */
  nextCursor: string | null
}

/**
 * One page of the live catalog by the store's own cursor. Throws `integration_not_connected` without a token, `forbidden`
 * when it may not read products, `bad_request` for a cursor that the store does not take, `rate_limited` with the wait in
 * its text and `retry-after` when the store throttles beyond a short patience, `upstream_…` when it fails.
 */
export async function catalogPage(
  { apiOrigin, accessToken }: Pick<Connection, 'apiOrigin' | 'accessToken'>,
  { limit, cursor }: { limit: number; cursor: string | null },
  given?: AdminApi,
): Promise<CatalogPage> {
  if (accessToken === null) throw fail('integration_not_connected', 'No store is connected to this brand.')
  const api =
    given ?? openAdminApi({ origin: apiOrigin, accessToken, patienceMs: PATIENCE_MS, timeoutMs: TIMEOUT_MS })
  const variables = { first: limit, after: cursor, query: null, sortKey: 'ID' }
  const data = await api.query(PAGES.products, variables)
  try {
    return pageOf(new Fields(data), new Date().toISOString())
  } catch (cause) {
    if (!(cause instanceof Unreadable)) throw cause
    throw fail('upstream_error', 'The store answered with products that cannot be read.', { cause })
  }
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
