import type { StoreWork } from './apply.ts'
import type { News } from './news.ts'
import type { Subjects } from './people.ts'
import type { SubscriptionRecord } from './record.ts'
import type { Newest } from './versions.ts'

interface Kept {
  external_id: string
  product_id: string | null
  title: string | null
  interval_unit: string | null
  interval_count: number | null
  price: string | null
  currency_code: string | null
  started_at: Date | null
  next_billing_at: Date | null
}

interface Revision {
  occurred_at: Date
  active: boolean
  paused: boolean
}

/** Writes subscriptions and tells their starts, stops and restarts. */
export async function writeSubscriptions(
  work: StoreWork,
  subscriptions: readonly SubscriptionRecord[],
  newest: Newest,
  subjects: Subjects,
): Promise<News[]> {
  if (subscriptions.length === 0) return []
  const { tx } = work
  const latest = subscriptions.filter((subscription) => newest.has('subscription', subscription))
  await writeNewest(work, latest, subjects)
  await tx.run('store_revisions_add', [
    subscriptions.map(({ externalId }) => externalId),
    subscriptions.map(({ version, changedAt }) => revisionOf(version.revision, changedAt)),
    subscriptions.map(({ changedAt }) => changedAt),
    subscriptions.map(({ status }) => String(status === 'active')),
    subscriptions.map(({ status }) => String(status === 'paused')),
  ])
  const byId = Map.groupBy(subscriptions, ({ externalId }) => externalId)
  const rows = await tx.many<Revision & { external_id: string }>('store_revisions_of', [[...byId.keys()]])
  const runs = Map.groupBy(rows, ({ external_id }) => external_id)
  const started = [...byId].map(([, given]) => earliest(given))
  const turns = [...byId.keys()].map((id) => turnsOf(runs.get(id) ?? []))
  const ended = [...byId.keys()].map((id) => endOf(runs.get(id) ?? [])?.toISOString() ?? null)
  const times = new Map(latest.map(({ externalId, version }) => [externalId, version.updatedAt]))
  const ids = [...byId.keys()]
  await tx.run('store_subscriptions_settle', [ids, started, ended, ids.map((id) => times.get(id) ?? null)])
  return [...byId].flatMap(([id, given], at) =>
    newsOfTurns(id, given, started[at] ?? null, turns[at] ?? [], subjects),
  )
}

/** A platform without revisions tells them apart by their time. */
const revisionOf = (revision: string | undefined, changedAt: string) =>
  revision === undefined || revision === '0' ? String(Date.parse(changedAt)) : revision

async function writeNewest(
  { tx }: StoreWork,
  newest: readonly SubscriptionRecord[],
  subjects: Subjects,
): Promise<void> {
  if (newest.length === 0) return
  const ids = newest.map(({ externalId }) => externalId)
  const kept = new Map(
    (await tx.many<Kept>('store_subscriptions_kept', [ids])).map((row) => [row.external_id, row]),
  )
  const rows = newest.map((given) => {
    const known = kept.get(given.externalId)
    const said = <Value>(value: Value | undefined, before: Value | null | undefined) =>
      value === undefined ? (before ?? null) : value
    return {
      external_id: given.externalId,
      status: given.status,
      product_id: said(given.productId, known?.product_id),
      title: said(given.title, known?.title),
      interval_unit: said(given.intervalUnit, known?.interval_unit),
      interval_count: said(given.intervalCount, known?.interval_count),
      price: said(given.price, known?.price),
      currency_code: said(given.currencyCode, known?.currency_code),
      started_at: given.startedAt ?? known?.started_at ?? null,
      next_billing_at: said(given.nextBillingAt, known?.next_billing_at?.toISOString()),
      cancelled_at: null,
      updated_at: given.version.updatedAt,
    }
  })
  const holders = newest.map(({ person }) => subjects.get(person) ?? 0)
  await tx.run('import_subscriptions', [JSON.stringify(rows), false, holders, true])
}

const earliest = (given: readonly SubscriptionRecord[]) =>
  given.flatMap(({ startedAt }) => startedAt ?? []).sort()[0] ?? null

/** When a subscription that was active at first was stopped, restarted, stopped again and so on. */
function turnsOf(revisions: readonly Revision[]): Date[] {
  let active = true
  return revisions.flatMap((revision) => {
    if (revision.active === active) return []
    active = revision.active
    return [revision.occurred_at]
  })
}

/** Since when a subscription neither runs nor is paused. */
const endOf = (revisions: readonly Revision[]): Date | undefined =>
  revisions[revisions.findLastIndex(({ active, paused }) => active || paused) + 1]?.occurred_at

/**
 * An event is named by its place among the turns, not by the revision that showed it: a revision that comes late can add
 * turns and never takes one away, so that any order of the same revisions ends in the same events.
 */
function newsOfTurns(
  id: string,
  given: readonly SubscriptionRecord[],
  started: string | null,
  turns: readonly Date[],
  subjects: Subjects,
): News[] {
  const person = given.find(({ person }) => subjects.get(person))?.person
  const made = (place: number, change: string, occurredAt: Date): News => ({
    id: `subscription_changed:${id}:${place}`,
    type: 'subscription_changed',
    occurredAt,
    subject: (person && subjects.get(person)) ?? 0,
    properties: { subscription_id: id, change },
  })
  return [
    ...(started === null ? [] : [made(0, 'started', new Date(started))]),
    ...turns.map((at, place) => made(place + 1, place % 2 === 0 ? 'stopped' : 'restarted', at)),
  ]
}
