import { Fields, MOST_ENTRIES, Unreadable } from '../fields.ts'
import type { AdminApi } from './client.ts'
import { affordable } from './cost.ts'
import type { Entity } from './nodes.ts'
import { type InnerList, LISTS, restOf } from './queries.ts'

/** The store's cursor behind a page; null at the end. */
export const nextOf = (page: Fields): string | null => {
  const info = page.object('pageInfo')
  return info?.flag('hasNextPage') ? info.text('endCursor') : null
}

/** A record with all of the lists in it, of which a page of records brings the beginning. Few records have more. */
export async function withLists(api: AdminApi, entity: Entity, record: Fields): Promise<Fields> {
  let whole = record
  for (const list of LISTS[entity]) {
    if (list.within === undefined) whole = await withPages(api, whole, list)
    else {
      const entries: Fields[] = []
      for (const entry of whole.list(list.within)) entries.push(await withPages(api, entry, list))
      whole = whole.with(list.within, entries)
    }
  }
  return whole
}

async function withPages(api: AdminApi, record: Fields, list: InnerList): Promise<Fields> {
  const begun = record.object(list.name)
  let after = begun && nextOf(begun)
  if (!begun || after === null) return record
  const nodes = begun.list('nodes')
  const asked = new Set<string>()
  while (after !== null) {
    if (nodes.length >= MOST_ENTRIES || asked.size >= MOST_ENTRIES || asked.has(after))
      throw new Unreadable(`${record.at(list.name)} must have an end within ${MOST_ENTRIES} entries`)
    asked.add(after)
    const page: Fields | null = (await restPage(api, record, list, after))?.object('list') ?? null
    nodes.push(...(page?.list('nodes') ?? []))
    after = page && nextOf(page)
  }
  return record.with(list.name, begun.with('nodes', nodes))
}

/** The record with nothing but a part of the list. */
const restPage = (api: AdminApi, record: Fields, list: InnerList, after: string | null) =>
  affordable(list.most, async (first) =>
    new Fields(await api.query(restOf(list), { id: record.text('id'), after, first })).object('record'),
  )
