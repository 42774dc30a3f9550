import { Failure, fail } from '../../../errors.ts'
import { log } from '../../../log.ts'
import { Fields, Unreadable } from '../fields.ts'
import { type Batch, batchOf } from '../record.ts'
import type { AdminApi } from './client.ts'
import { type Entity, NODES, orderLine } from './nodes.ts'
import { COUNTS, MORE_LINES, PAGES } from './queries.ts'

export interface PageOf {
  records: Batch
  count: number
  /** The store's cursor behind the page; null at the end. */
  next: string | null
}

export interface PageWanted {
  entity: Entity
  /** Null: from the first. */
  after: string | null
  first: number
  /** Only what changed at or after it, in that order; null: all, in the order of their making. */
  since: Date | null
}

/** One page of the store's records. Smaller than asked for where the store finds the query too costly. */
export async function readPage(api: AdminApi, wanted: PageWanted): Promise<PageOf & { first: number }> {
  const { entity, after, since } = wanted
  for (let first = wanted.first; ; first = Math.floor(first / 2)) {
    const readAt = new Date().toISOString()
    try {
      const variables = {
        first,
        after,
        query: since && `updated_at:>='${since.toISOString()}'`,
        sortKey: since ? 'UPDATED_AT' : 'ID',
      }
      const page = new Fields(await api.query(PAGES[entity], variables)).object('page')
      if (!page) throw fail('upstream_error', 'The store answered without a page.')
      const nodes = page.list('nodes')
      const batches = await Promise.all(
        nodes.map(async (node) => withLines(api, node, recordOf(entity, node, readAt))),
      )
      return { records: joined(batches), count: nodes.length, next: nextOf(page), first }
    } catch (error) {
      if (!isTooCostly(error) || first === 1) throw error
    }
  }
}

/** Nothing of a record that is not what it should be; the others are worth having. */
function recordOf(entity: Entity, node: Fields, readAt: string): Batch {
  try {
    return NODES[entity](node, readAt)
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    log('warn', 'store_record_unreadable', { entity, reason: error.message })
    return batchOf({})
  }
}

/** The store would answer for fewer records. */
export const isTooCostly = (error: unknown) =>
  error instanceof Failure && error.beside.code === 'MAX_COST_EXCEEDED'

const nextOf = (list: Fields): string | null => {
  const info = list.object('pageInfo')
  return info?.flag('hasNextPage') ? info.text('endCursor') : null
}

/** The lines beyond the first page of an order, which few orders have. */
async function withLines(api: AdminApi, node: Fields, batch: Batch): Promise<Batch> {
  const [order] = batch.orders
  const items = order && node.object('lineItems')
  for (let after = items ? nextOf(items) : null; order && after !== null; ) {
    const variables = { id: node.text('id'), after }
    const more = new Fields(await api.query(MORE_LINES, variables)).object('order')?.object('lineItems')
    if (!more) break
    order.lines.push(...more.list('nodes').map(orderLine))
    after = nextOf(more)
  }
  return batch
}

function joined(batches: readonly Batch[]): Batch {
  const all = batchOf({})
  for (const batch of batches)
    for (const name of Object.keys(all) as (keyof Batch)[]) (all[name] as unknown[]).push(...batch[name])
  return all
}

/** How many records there are; 0 where the store does not count them. */
export async function countOf(api: AdminApi, entity: Entity): Promise<number> {
  if (entity === 'subscriptions') return 0
  return new Fields(await api.query(COUNTS[entity], { query: null })).object('count')?.whole('count') ?? 0
}
