import type { Duck } from '../../store/duckdb.ts'
import { loadEmails, loadPhones } from './channels.ts'
import type { ImportKind } from './targets.ts'

/** Ids that say whose something is; customers and events that nothing says it of are rejected. */
const NAMING: Partial<Record<ImportKind, readonly string[]>> = {
  orders: ['customer_external_id'],
  refunds: ['order_external_id', 'customer_external_id'],
  checkouts: ['customer_external_id', 'anonymous_id'],
  subscriptions: ['customer_external_id'],
}

/** As stored, of what the file has; those of orders are already. */
const CHANNELS = [
  '(select address from email where given = ready.email)',
  '(select number from phone where given = ready.phone)',
]

/** How many things of the table `ready` name nobody; `region`: of phones without a country code. */
export async function countNameless(duck: Duck, kind: ImportKind, region: string): Promise<number> {
  const ids = NAMING[kind]
  if (!ids) return 0
  if (kind !== 'orders') {
    await loadEmails(duck)
    await loadPhones(duck, region)
  }
  const channels = kind === 'orders' ? ['email', 'phone'] : CHANNELS
  const [row] = await duck.rows<{ nameless: number }>(
    `select count(*) as nameless from ready where coalesce(${[...ids, ...channels].join(', ')}) is null`,
  )
  return row?.nameless ?? 0
}
