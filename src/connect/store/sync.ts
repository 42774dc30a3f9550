import { Failure, fail } from '../../errors.ts'
import { errorFields, log } from '../../log.ts'
import type { Db } from '../../op.ts'
import { DAY_MS } from '../../time.ts'
import { type AdminApi, openAdminApi } from './shopify/client.ts'
import type { Entity } from './shopify/nodes.ts'
import { countOf, type PageRead, readPage } from './shopify/pages.ts'
import { type PageWriter, type Purpose, writePage } from './write-page.ts'

export interface SyncState {
  purpose: Purpose
  entity: Entity
  since: Date | null
  position: string | null
  /** When it lost its place, which the store refused. */
  began_anew_at: Date | null
  done: number
  total: number
  started_at: Date
  finished_at: Date | null
}

export interface SyncOptions extends PageWriter {
  /** Made from the connection unless given. */
  api?: AdminApi
  /** How long one query may wait for the store. */
  patienceMs?: number
  signal?: AbortSignal
  now?: () => Date
  onProgress?: (entity: Entity, done: number, total: number) => void
}

/** Customers before the orders that name them: their descriptions come with the first. */
const ENTITIES: readonly Entity[] = ['customers', 'products', 'orders', 'subscriptions']
const PAGE_SIZES: Record<Entity, number> = { customers: 100, products: 50, orders: 50, subscriptions: 50 }
/** What changed shortly before the last walk may not have been in it: the store's index follows its records. */
const OVERLAP_MS = 15 * 60_000
/** A store that goes on refusing has no more read of it than this often. */
const ANEW_MS = DAY_MS

export interface Walked {
  entity: Entity
  /** Records read now; a walk that goes on counts from where it was. */
  read: number
  /** Why it was left out. */
  skipped?: string
}

/**
 * Reads all of a store's history once. A walk that was killed goes on behind its last page; a finished one does nothing,
 * unless it is to be read `again`.
 */
export async function backfill(options: SyncOptions & { again?: boolean }): Promise<Walked[]> {
  const { db, again, now = () => new Date() } = options
  if (again) await db.run('store_sync_again', [now()])
  return await walkAll(options, 'backfill', (known) => (known ? null : { since: null }))
}

/**
 * Reads what changed since the last time, a little more than needed: what webhooks left out comes with it. The first
 * time it begins where the back-fill began, or at the connection.
 */
export async function reconcile(options: SyncOptions): Promise<Walked[]> {
  const { connection, now = () => new Date() } = options
  return await walkAll(options, 'reconcile', (known, filled) => {
    // A walk that a clock which was ahead began later than now says nothing: the one before it does.
    const begun = [known?.started_at, known?.since, filled?.started_at].find((at) => at && at <= now())
    return { since: new Date((begun ?? connection.connectedAt).getTime() - OVERLAP_MS) }
  })
}

export const syncStates = (db: Pick<Db, 'many'>) => db.many<SyncState>('store_sync_of')

/** Where a new walk begins; null: there is nothing to do. */
type Begin = (known: SyncState | undefined, filled: SyncState | undefined) => { since: Date | null } | null

async function walkAll(options: SyncOptions, purpose: Purpose, begin: Begin): Promise<Walked[]> {
  const { connection, signal, patienceMs } = options
  if (connection.accessToken === null)
    throw fail('integration_not_connected', 'The store has removed the app. Connect it again.')
  const { apiOrigin: origin, accessToken } = connection
  const api = options.api ?? openAdminApi({ origin, accessToken, signal, patienceMs })
  const walked: Walked[] = []
  const failures: Failure[] = []
  for (const entity of ENTITIES) {
    try {
      walked.push(await walk({ ...options, api }, purpose, entity, begin))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const about = { brand_id: connection.brandId, entity }
      if (error.code === 'forbidden') {
        log('warn', 'store_scope_missing', about)
        if (purpose === 'backfill') await options.db.run('store_sync_leave', [entity])
        walked.push({ entity, read: 0, skipped: error.message })
      } else if (isOfOne(error, failures)) {
        log('warn', 'store_walk_failed', { ...about, ...errorFields(error) })
        failures.push(error)
      } else throw error
    }
  }
  if (failures[0]) throw failures[0]
  return walked
}

/** The others may be read all the same; not of a store that has not answered before. */
const isOfOne = ({ code }: Failure, before: readonly Failure[]) =>
  code === 'upstream_error' ||
  (code === 'upstream_unavailable' && before.every((other) => other.code !== code))

async function walk(
  options: SyncOptions & { api: AdminApi },
  purpose: Purpose,
  entity: Entity,
  begin: Begin,
): Promise<Walked> {
  const { db, api, connection, signal, now = () => new Date() } = options
  const find = async (of: Purpose) =>
    (await syncStates(db)).find((state) => state.purpose === of && state.entity === entity)
  const beginAt = async (since: Date | null, total: number, anewAt: Date | null = null) => {
    await db.run('store_sync_begin', [purpose, entity, since, total, now(), anewAt])
    const begun = await find(purpose)
    if (!begun) throw new Error('a walk was removed while it began')
    return begun
  }
  let state = await find(purpose)
  if (!state || state.finished_at) {
    const start = begin(state, await find('backfill'))
    if (!start) return { entity, read: 0 }
    state = await beginAt(start.since, start.since ? 0 : await countOf(api, entity))
  }
  try {
    return await walkOn(options, state)
  } catch (error) {
    const { position, began_anew_at: anewAt, since, total } = state
    const isRefused = error instanceof Failure && error.code === 'upstream_error' && position !== null
    const isRecent = anewAt !== null && now().getTime() - anewAt.getTime() < ANEW_MS
    if (!isRefused || isRecent || (await find(purpose))?.position !== position) throw error
    // The store may have forgotten the place; not where it gives the first page no more than this one.
    const page = await readPage(api, { entity, after: null, first: PAGE_SIZES[entity], since }).catch(() => {
      signal?.throwIfAborted()
      throw error
    })
    log('warn', 'store_walk_begins_anew', { brand_id: connection.brandId, entity, ...errorFields(error) })
    return await walkOn(options, await beginAt(since, total, now()), page)
  }
}

/** `begun`: the page behind its place, where that has been read. */
async function walkOn(
  options: SyncOptions & { api: AdminApi },
  state: SyncState,
  begun?: PageRead,
): Promise<Walked> {
  const { api, signal, onProgress } = options
  const { purpose, entity, since } = state
  let { position, done } = state
  let first = PAGE_SIZES[entity]
  let read = 0
  let page = begun
  do {
    signal?.throwIfAborted()
    page ??= await readPage(api, { entity, after: position, first, since })
    await writePage(options, { purpose, entity, position }, page)
    position = page.next
    first = page.first
    read += page.count
    done += page.count
    page = undefined
    onProgress?.(entity, done, Math.max(done, state.total))
  } while (position !== null)
  return { entity, read }
}
