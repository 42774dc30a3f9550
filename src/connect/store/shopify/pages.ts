import { fail } from '../../../errors.ts'
import { bounded } from '../bounded.ts'
import { Fields, Unreadable } from '../fields.ts'
import { notAhead } from '../not-ahead.ts'
import type { Batch } from '../record.ts'
import type { AdminApi } from './client.ts'
import { affordable } from './cost.ts'
import { nextOf, withLists } from './lists.ts'
import { type Entity, NODES } from './nodes.ts'
import { COUNTS, PAGES } from './queries.ts'

/** A record that is not written, and why. */
export interface Refused {
  id: string
  updatedAt: string
  reason: string
}

export interface PageOf {
  /** What each record tells that is what it should be. */
  records: readonly Batch[]
  /** The others. */
  unreadable: readonly Refused[]
  count: number
  /** The store's cursor behind the page; null at the end. */
  next: string | null
}

export interface PageRead extends PageOf {
  /** What the page behind it can be asked for. */
  first: number
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
export async function readPage(api: AdminApi, wanted: PageWanted): Promise<PageRead> {
  const { entity, after, since } = wanted
  const query = since && `updated_at:>='${since.toISOString()}'`
  const sortKey = since ? 'UPDATED_AT' : 'ID'
  const { page, first, readAt } = await affordable(wanted.first, async (first) => {
    const readAt = new Date().toISOString()
    const answer = new Fields(await api.query(PAGES[entity], { first, after, query, sortKey }))
    return { page: answer.object('page'), first, readAt }
  })
  if (!page) throw fail('upstream_error', 'The store answered without a page.')
  const nodes = page.list('nodes')
  const records: Batch[] = []
  const unreadable: Refused[] = []
  // One after the other: the longer lists of all at once would wait for each other's points.
  for (const node of nodes)
    try {
      records.push(notAhead(bounded(NODES[entity](await withLists(api, entity, node), readAt)), readAt))
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      unreadable.push({ ...namedBy(node, readAt), reason: error.message })
    }
  return { records, unreadable, count: nodes.length, next: nextOf(page), first }
}

/** As far as that can be read. */
function namedBy(node: Fields, readAt: string): Pick<Refused, 'id' | 'updatedAt'> {
  const legible = (read: () => string | null) => {
    try {
      return read()
    } catch {
      return null
    }
  }
  return {
    id: legible(() => node.idOrNull('id')) ?? 'unknown',
    updatedAt: legible(() => node.timeOrNull('updatedAt')) ?? readAt,
  }
}

/** How many records there are; 0 where the store does not count them. */
export async function countOf(api: AdminApi, entity: Entity): Promise<number> {
  if (entity === 'subscriptions') return 0
  const answer = new Fields(await api.query(COUNTS[entity]))
  return answer.object('count')?.whole('count', Number.MAX_SAFE_INTEGER) ?? 0
}
