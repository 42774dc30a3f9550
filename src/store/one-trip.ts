import type postgres from 'postgres'
import type { Sql } from './postgres.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const CONNECTION_LOST = /^(CONNECTION_|ECONN|EPIPE|ETIMEDOUT)/

/**
 * Whether all of a statement is the call of a function that sets the brand for it. That is one message and one answer: a
 * third of the CPU less, on both sides, than one statement in a transaction.
 */
export const setsBrand = (text: string): boolean => /\nfrom in_brand_\w+\(\$1(, \$\d+)*\)$/.test(text)

/**
 * One statement in a transaction of its own with the brand set, all sent in one go: the driver's own transactions wait
 * for an answer three times. 2 to 4 times their rate, 64 at once on 2 cores.
 */
export async function inBrandAtOnce<Rows>(
  app: Sql,
  brandId: string,
  text: string,
  args: unknown[],
): Promise<Rows> {
  // It becomes text of a statement, since only a statement without arguments can be two.
  if (!UUID.test(brandId)) throw new TypeError('a brand id must be a UUID')
  const connection = await app.reserve()
  let lost = false
  try {
    const rows = await attempt(connection, brandId, text, args)
    return (rows ?? (await attempt(connection, brandId, text, args)) ?? []) as Rows
  } catch (error) {
    lost = CONNECTION_LOST.test(String((error as { code?: unknown }).code))
    throw error
  } finally {
    // The driver has taken a connection that broke back already.
    if (!lost) connection.release()
  }
}

/**
 * Null when the plan was stale: the driver then sends the statement once more by itself, but behind its transaction, so
 * without a brand, and row-level security lets it see and change nothing.
 */
async function attempt(
  connection: postgres.ReservedSql,
  brandId: string,
  text: string,
  args: unknown[],
): Promise<unknown> {
  const [begun, answered, ended] = await Promise.allSettled([
    connection.unsafe(`begin; select set_config('app.brand', '${brandId}', true)`).execute(),
    connection.unsafe(text, args as never[], { prepare: true }).execute(),
    connection.unsafe('commit').execute(),
  ])
  for (const result of [begun, answered, ended]) if (result.status === 'rejected') throw result.reason
  const { value } = ended as PromiseFulfilledResult<{ command: string }>
  return value.command === 'COMMIT' ? (answered as PromiseFulfilledResult<unknown>).value : null
}
