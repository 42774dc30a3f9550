import { appendEvents, type RecordedEvent } from '../../event/append.ts'
import type { StoreWork } from './apply.ts'
import type { News } from './news.ts'

interface KnownOrder {
  external_id: string
  subject: number
  test: boolean
}

/** What waits for its order. */
interface Content {
  event_type: string
  occurred_at: number
  properties: Record<string, unknown>
}

/** Of these there is one per version; what was noted of them is forgotten after 60 days (store_prune). */
const OF_VERSIONS = ['cart_updated', 'customer_updated', 'consent_updated', 'fulfillment_updated']
const NEWS_MS = 30 * 86_400_000

function isNews({ type, occurredAt }: News, connectedAt: Date): boolean {
  const since = OF_VERSIONS.includes(type)
    ? Math.max(Date.now() - NEWS_MS, connectedAt.getTime())
    : connectedAt.getTime()
  return occurredAt.getTime() >= since
}

/**
 * Records each event once, in the log and as noted. What was before the connection is history, no news; what is about an
 * order waits until that is known; what is about a test order counts nowhere. `orders`: external ids of orders that may
 * just have become known.
 */
export async function recordEvents(
  { tx, brandId, connectedAt }: StoreWork,
  orders: readonly string[],
  all: readonly News[],
): Promise<void> {
  const fresh = [...new Map(all.map((news) => [news.id, news])).values()].filter((news) =>
    isNews(news, connectedAt),
  )
  const named = [...new Set([...orders, ...fresh.flatMap(({ order }) => order ?? [])])]
  if (fresh.length === 0 && named.length === 0) return
  const known = new Map(
    (named.length ? await tx.many<KnownOrder>('store_orders_known', [named]) : []).map((row) => [
      row.external_id,
      row,
    ]),
  )
  const waits = ({ order }: News) => order !== undefined && !known.has(order)
  const taken = fresh.length
    ? await tx.many<{ id: string }>('store_events_take', [
        fresh.map(({ id }) => id),
        fresh.map((news) => (waits(news) ? news.order : null)),
        fresh.map((news) => (waits(news) ? JSON.stringify(contentOf(news)) : null)),
      ])
    : []
  const isNew = new Set(taken.map(({ id }) => id))
  const now = fresh
    .filter((news) => isNew.has(news.id) && !waits(news))
    .map((news) => ({ ...contentOf(news), id: news.id, subject: news.subject, order: news.order }))
  const released = known.size
    ? await tx.many<{ id: string; waits_for: string; content: Content }>('store_events_release', [
        [...known.keys()],
      ])
    : []
  const due = [
    ...now,
    ...released.map(({ id, waits_for, content }) => ({ ...content, id, subject: 0, order: waits_for })),
  ]
    .map(({ order, ...event }) => ({ ...event, of: order === undefined ? undefined : known.get(order) }))
    .filter(({ of }) => of?.test !== true)
    .map(({ of, ...event }) => ({ ...event, subject: of?.subject ?? event.subject }))
  const profiles = await profilesOf({ tx }, [...new Set(due.map(({ subject }) => subject))])
  await appendEvents(
    tx,
    brandId,
    due
      .sort((one, other) => one.occurred_at - other.occurred_at || (one.id < other.id ? -1 : 1))
      .map(
        ({ id, subject, ...event }): RecordedEvent => ({
          ...event,
          event_id: id,
          ...(profiles.has(subject) ? { profile_id: profiles.get(subject) } : {}),
        }),
      ),
  )
}

const contentOf = ({ type, occurredAt, properties }: News): Content => ({
  event_type: type,
  occurred_at: occurredAt.getTime(),
  properties,
})

/** Public ids by subject: events name nobody by an address. */
async function profilesOf(
  { tx }: Pick<StoreWork, 'tx'>,
  subjects: readonly number[],
): Promise<Map<number, string>> {
  const named = subjects.filter((subject) => subject !== 0)
  if (named.length === 0) return new Map()
  const rows = await tx.many<{ subject: number; id: string }>('store_profiles', [named])
  return new Map(rows.map(({ subject, id }) => [subject, id]))
}
