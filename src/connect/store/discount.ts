import { fail } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { openAdminApi } from './shopify/client.ts'
import { createCode } from './shopify/discount.ts'

/** A code for one order of one shopper, as any store takes it. */
export interface NewCode {
  /** Name that the store's staff sees. */
  title: string
  code: string
  type: 'percentage' | 'fixed_amount' | 'free_shipping'
  /** Percent or amount; null for free shipping. */
  value: string | null
  minimum: { type: 'amount' | 'quantity'; value: string } | null
  startsAt: Date
  endsAt: Date | null
}

/** How long making one code may take with all waiting. */
const PATIENCE_MS = 10_000
const TIMEOUT_MS = 8_000

/**
 * Makes a code in the live store; again, it changes nothing. Throws `integration_not_connected` without a token,
 * `forbidden` when it may not make discounts, `rate_limited` and `upstream_…` for what another try may mend.
 */
export async function makeCode(
  { apiOrigin: origin, accessToken }: Pick<Connection, 'apiOrigin' | 'accessToken'>,
  code: NewCode,
  signal?: AbortSignal,
): Promise<void> {
  if (accessToken === null) throw fail('integration_not_connected', 'No store is connected to this brand.')
  const api = openAdminApi({ origin, accessToken, patienceMs: PATIENCE_MS, timeoutMs: TIMEOUT_MS, signal })
  await createCode(api, code)
}
