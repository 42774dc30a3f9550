import { appendEvents, type RecordedEvent } from '../../event/append.ts'
import { DAY_MS } from '../../time.ts'
import type { StoreWork } from './apply.ts'
import type { News, Owner } from './news.ts'

/** Whom an order or a cart belongs to; an event of a test order counts nowhere. */
interface Known {
  subject: number
  test: boolean
}

/** What waits for its owner. */
interface Content {
  event_type: string
  occurred_at: number
  properties: Record<string, unknown>
}

interface Due extends Content {
  id: string
  subject: number
}

/** Of these there is one per version; what was noted of them is forgotten after 60 days (store_events_forget). */
const OF_VERSIONS = ['cart_updated', 'customer_updated', 'consent_updated', 'fulfillment_updated']
const NEWS_MS = 30 * DAY_MS

function isNews({ type, occurredAt }: News, { connectedAt, now = () => new Date() }: StoreWork): boolean {
  const oldest = OF_VERSIONS.includes(type) ? now().getTime() - NEWS_MS : 0
  return occurredAt.getTime() >= Math.max(oldest, connectedAt.getTime())
}

/** The order's or cart's external id, told apart. */
const ownerKey = ({ kind, externalId }: Owner) => (kind === 'order' ? externalId : `cart:${externalId}`)

/**
 * Records each event once, in the log and as noted. What was before the connection is history, no news; what is about
 * an order or a cart waits until somebody is known to have it. `owners`: orders and carts of which that may have
 * become known just now.
 */
export async function recordEvents(
  work: StoreWork,
  owners: readonly Owner[],
  all: readonly News[],
): Promise<void> {
  const { tx, brandId } = work
  const fresh = [...new Map(all.map((news) => [news.id, news])).values()].filter((news) => isNews(news, work))
  const known = await knownOwners(work, [...owners, ...fresh.flatMap(({ owner }) => owner ?? [])])
  const waitsFor = ({ owner, subject }: News) =>
    owner && subject === 0 && !known.has(ownerKey(owner)) ? ownerKey(owner) : null
  const taken = fresh.length
    ? await tx.many<{ id: string }>('store_events_take', [
        fresh.map(({ id }) => id),
        fresh.map(waitsFor),
        fresh.map((news) => (waitsFor(news) === null ? null : JSON.stringify(contentOf(news)))),
      ])
    : []
  const isNew = new Set(taken.map(({ id }) => id))
  const released = known.size
    ? await tx.many<{ id: string; waits_for: string; content: Content }>('store_events_release', [
        [...known.keys()],
      ])
    : []
  const due = [
    ...fresh
      .filter((news) => isNew.has(news.id) && waitsFor(news) === null)
      .map((news) => ({ id: news.id, content: contentOf(news), of: ofOwner(news, known) })),
    ...released.map(({ id, waits_for, content }) => ({ id, content, of: known.get(waits_for) })),
  ]
  const counted = due.filter(({ of }) => of && !of.test && of.subject !== 0)
  await append(
    work,
    brandId,
    counted.map(({ id, content, of }) => ({ ...content, id, subject: of?.subject ?? 0 })),
  )
}

const ofOwner = ({ owner, subject }: News, known: ReadonlyMap<string, Known>): Known | undefined =>
  (owner && known.get(ownerKey(owner))) ?? { subject, test: false }

/** Those of which it is known who has them, or that nobody counts. */
async function knownOwners({ tx }: StoreWork, owners: readonly Owner[]): Promise<Map<string, Known>> {
  const idsOf = (wanted: Owner['kind']) => [
    ...new Set(owners.flatMap(({ kind, externalId }) => (kind === wanted ? externalId : []))),
  ]
  const [orders, carts] = [idsOf('order'), idsOf('cart')]
  const known = new Map<string, Known>()
  if (orders.length) {
    const rows = await tx.many<Known & { external_id: string; erased: boolean }>('store_orders_known', [
      orders,
    ])
    for (const { external_id, subject, test, erased } of rows)
      if (subject !== 0 || test || erased)
        known.set(ownerKey({ kind: 'order', externalId: external_id }), { subject, test })
  }
  if (carts.length) {
    const rows = await tx.many<Known & { external_id: string }>('store_carts_known', [carts])
    for (const { external_id, subject } of rows)
      known.set(ownerKey({ kind: 'cart', externalId: external_id }), { subject, test: false })
  }
  return known
}

const contentOf = ({ type, occurredAt, properties }: News): Content => ({
  event_type: type,
  occurred_at: occurredAt.getTime(),
  properties,
})

/** Events name customers by their public ids, and nobody by an address. */
async function append({ tx }: StoreWork, brandId: string, due: readonly Due[]): Promise<void> {
  if (due.length === 0) return
  const subjects = [...new Set(due.map(({ subject }) => subject))]
  const rows = await tx.many<{ subject: number; id: string }>('store_profiles', [subjects])
  const profiles = new Map(rows.map(({ subject, id }) => [subject, id]))
  const inOrder = [...due].sort(
    (one, other) => one.occurred_at - other.occurred_at || (one.id < other.id ? -1 : 1),
  )
  await appendEvents(
    tx,
    brandId,
    inOrder.map(
      ({ id, subject, ...event }): RecordedEvent => ({
        ...event,
        event_id: id,
        profile_id: profiles.get(subject) ?? '',
      }),
    ),
  )
}
