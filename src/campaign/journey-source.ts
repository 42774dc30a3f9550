import { fail, noSuchRecord } from '../errors.ts'
import { storeIdOf } from '../event/id.ts'
import { madeAt } from '../event/made-at.ts'
import { MAX_AHEAD_MS } from '../event/shape.ts'
import { EVENT_TYPES } from '../event/types.ts'
import type { Ctx } from '../op.ts'
import { deliveryOf, ownId } from './occurrence.ts'
import type { SourceKind } from './trigger.ts'

/** What an event journey is asked about: exactly one of these. */
export const JOURNEY_IDS = ['custom_event_id', 'checkout_id', 'order_id', 'subscription_event_id'] as const
export type JourneyAsked = Partial<Record<(typeof JOURNEY_IDS)[number], string | undefined>>

export interface Amount {
  amount: string
  currency: string
}

/** What a journey began with, as it is shown. */
export type ShownSource =
  | { kind: 'custom_event'; custom_event: CustomEvent }
  | { kind: 'checkout'; checkout: Checkout }
  | { kind: 'order'; order: Order }
  | { kind: 'subscription_event'; subscription_event: SubscriptionEvent }

interface CustomEvent {
  id: string
  type: string
  name: string
  source: string
  external_event_id: string
  received_at: string
}

interface Checkout {
  id: string
  state: string
  total: Amount
  created_at: string
  abandoned_at: string | null
  completed_at: string | null
}

interface Order {
  id: string
  number: string
  total: Amount
  created_at: string
}

interface SubscriptionEvent {
  id: string
  type: string
  triggered_at: string
}

export interface JourneySource {
  shown: ShownSource
  /** How runs name it. */
  run: { kind: SourceKind; id: string }
  /** Our ids, of which conversations and orders know. */
  checkoutId: string | null
  orderId: string | null
}

/** Throws `bad_request` unless one is asked for, `not_found` when there is none. */
export async function sourceOf(ctx: Ctx, asked: JourneyAsked): Promise<JourneySource> {
  const [given, ...more] = JOURNEY_IDS.flatMap((kind) => {
    const id = asked[kind]
    return id === undefined ? [] : [{ kind, id }]
  })
  if (!given || more.length > 0)
    throw fail('bad_request', `Exactly one of ${JOURNEY_IDS.join(', ')} must be given.`)
  return await FINDERS[given.kind](ctx, given.id)
}

const FINDERS: Record<keyof JourneyAsked, (ctx: Ctx, id: string) => Promise<JourneySource>> = {
  custom_event_id: ofCustomEvent,
  checkout_id: ofCheckout,
  order_id: ofOrder,
  subscription_event_id: ofSubscriptionEvent,
}

async function ofCheckout({ db }: Ctx, id: string): Promise<JourneySource> {
  const { external_id, total, currency_code, ...row } = await db.one<{
    id: string
    external_id: string
    state: string
    total: string
    currency_code: string
    created_at: Date
    abandoned_at: Date | null
    completed_at: Date | null
  }>('journey_checkout', [id, storeIdOf(id)])
  const checkout: Checkout = {
    ...{ id: row.id, state: row.state, total: { amount: total, currency: currency_code } },
    created_at: row.created_at.toISOString(),
    abandoned_at: row.abandoned_at?.toISOString() ?? null,
    completed_at: row.completed_at?.toISOString() ?? null,
  }
  return {
    shown: { kind: 'checkout', checkout },
    run: { kind: 'checkout', id: external_id },
    ...{ checkoutId: row.id, orderId: null },
  }
}

async function ofOrder({ db }: Ctx, id: string): Promise<JourneySource> {
  const { external_id, total, currency_code, ...row } = await db.one<{
    id: string
    external_id: string
    number: string
    total: string
    currency_code: string
    created_at: Date
  }>('journey_order', [id, storeIdOf(id)])
  const order: Order = {
    ...{ id: row.id, number: row.number, total: { amount: total, currency: currency_code } },
    created_at: row.created_at.toISOString(),
  }
  return {
    shown: { kind: 'order', order },
    run: { kind: 'order', id: external_id },
    ...{ checkoutId: null, orderId: row.id },
  }
}

/** A record that a webhook told of, or an event of the brand's own types that was sent to the collect host. */
async function ofCustomEvent(ctx: Ctx, id: string): Promise<JourneySource> {
  const named = await ofRecord(ctx, id)
  if (named) return named
  const found = await eventOf(ctx, id, () => true)
  if (!found) return (await ofDelivery(ctx, id)) ?? missing()
  const { event_id, own, type, received_at } = found
  const told = await recordTold(ctx, event_id)
  const record = told && (await ofRecord(ctx, told))
  if (record) return record
  // Of an event of the service's own kinds there is its checkout or order to ask about, unless it told of none.
  if (BUILT_IN.has(type) && !(await ctx.db.maybe('journey_runs', ['custom_event', own]))) missing()
  const external_event_id = deliveryOf(event_id)?.eventId ?? event_id.replace(ORIGIN, '')
  const custom_event = { id, type, name: type, source: COLLECTED, external_event_id, received_at }
  return { shown: { kind: 'custom_event', custom_event }, ...ofEvent('custom_event', own) }
}

async function ofRecord({ db }: Ctx, id: string): Promise<JourneySource | undefined> {
  const found = await db.maybe<Omit<CustomEvent, 'received_at'> & { received_at: Date }>(
    'journey_custom_event',
    [id],
  )
  if (!found) return undefined
  const custom_event = { ...found, received_at: found.received_at.toISOString() }
  return { shown: { kind: 'custom_event', custom_event }, ...ofEvent('custom_event', found.id) }
}

/** The record that a webhook told of under an id of its sender's, where one provider alone has sent that. */
async function ofDelivery(ctx: Ctx, id: string): Promise<JourneySource | undefined> {
  const [told, ...others] = await ctx.db.many<{ record: string | null }>('journey_deliveries', [id])
  return told?.record && others.length === 0 ? await ofRecord(ctx, told.record) : undefined
}

/** The record that an event of the lake told of, where a webhook sent it. */
async function recordTold({ db }: Ctx, eventId: string): Promise<string | null> {
  const sent = deliveryOf(eventId)
  if (!sent) return null
  const [delivery] = await db.many<{ custom_event_id: string | null }>('trigger_deliveries', [
    [sent.providerId],
    [sent.eventId],
  ])
  return delivery?.custom_event_id ?? null
}

async function ofSubscriptionEvent(ctx: Ctx, id: string): Promise<JourneySource> {
  const { own, type, occurred_at } =
    (await eventOf(ctx, id, (name) => name === 'subscription_changed')) ?? missing()
  const subscription_event = { id: own, type, triggered_at: occurred_at }
  return { shown: { kind: 'subscription_event', subscription_event }, ...ofEvent('subscription_event', own) }
}

const ofEvent = (kind: SourceKind, id: string) => ({ run: { kind, id }, checkoutId: null, orderId: null })

const BUILT_IN: ReadonlySet<string> = new Set(EVENT_TYPES.map(({ event_type }) => event_type))
/** Where an event came from that no provider sent. */
const COLLECTED = 'events'

/** The lake tells where an event came from before its id. */
const ORIGIN = /^(service|browser|sender):/

const EVENT = `
  select event_id, event_type as type, strftime(received_at, '%Y-%m-%dT%H:%M:%S.%gZ') as received_at,
    strftime(occurred_at, '%Y-%m-%dT%H:%M:%S.%gZ') as occurred_at
  from events
  where event_id in ($1, 'service:' || $1, 'sender:' || $1, 'browser:' || $1) and received_at >= epoch_ms($2::bigint)
  order by event_id = $1 desc, event_id desc`

interface LakeEvent {
  event_id: string
  type: string
  received_at: string
  occurred_at: string
}

/** An event of the lake by its id, as runs name it. One whose id tells when it was made is searched from then on first. */
async function eventOf({ lake }: Ctx, id: string, isWanted: (type: string) => boolean) {
  const sources = await lake.sources()
  const since = async (ms: number) =>
    (await sources.rows<LakeEvent>(EVENT, [id, ms])).find(({ type }) => isWanted(type))
  const made = madeAt(id.replace(ORIGIN, ''))
  // The clock that an id was made by may be ahead by more than that.
  const found = (made === null ? undefined : await since(made - MAX_AHEAD_MS)) ?? (await since(0))
  return found && { ...found, own: ownId(found) }
}

function missing(): never {
  throw noSuchRecord()
}
