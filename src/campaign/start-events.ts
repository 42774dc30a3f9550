import { parseWithTexts } from '../event/exact.ts'
import { storeIdOf } from '../event/id.ts'
import { errorFields, log } from '../log.ts'
import type { Statements } from '../op.ts'
import type { Postgres } from '../store/postgres.ts'
import {
  type Beside,
  deliveryOf,
  isOnlyTold,
  type Occurrence,
  occurrenceOf,
  type TriggerEvent,
} from './occurrence.ts'
import { startRuns } from './starter.ts'

/** Events of one transaction. */
const MOST = 500
/** Transactions of one brand, before others and runs have their turn. */
const TRANSACTIONS = 10
const BRANDS = 100
/** One that could not be worked on waits so long. */
const RETRY_MS = 60_000

/**
 * Starts the campaigns that wait for the events that came into the lake, brand after brand, of each at most so many. An
 * event that fails is tried again later and holds up no other. Resolves with how many events there were, and how many
 * runs were made.
 */
export async function startByEvents(postgres: Postgres, now: Date, signal?: AbortSignal): Promise<Started> {
  const brands = await postgres.pipeline.many<{ brand_id: string }>('trigger_brands_due', [now, BRANDS])
  const started = { taken: 0, made: 0 }
  for (const { brand_id: brandId } of brands)
    for (let n = 0; n < TRANSACTIONS && !signal?.aborted; n += 1) {
      const some = await startSome(postgres, brandId, now, MOST).catch((error: unknown) => {
        log('error', 'triggers_failed', { brand_id: brandId, ...errorFields(error) })
        return null
      })
      const { taken, made } = some ?? (await startEach(postgres, brandId, now))
      started.taken += taken
      started.made += made
      if (some === null || taken < MOST) break
    }
  return started
}

interface Started {
  taken: number
  made: number
}

/** The same, one by one: those that fail wait. */
async function startEach(postgres: Postgres, brandId: string, now: Date): Promise<Started> {
  const db = postgres.forBrand(brandId)
  const later = new Date(now.getTime() + RETRY_MS)
  const events = await db.tx((tx) => take(tx, 'trigger_events_take', [now, MOST]))
  let made = 0
  for (const { event_id } of events)
    try {
      // Its customer may have been erased since, or another one has started it.
      made += await db.tx(async (tx) =>
        startThese(tx, await take(tx, 'trigger_event_take', [event_id, now]), now),
      )
    } catch (error) {
      log('error', 'trigger_failed', { brand_id: brandId, event_id, ...errorFields(error) })
      await db.run('trigger_event_later', [event_id, later])
    }
  return { taken: events.length, made }
}

async function startSome(postgres: Postgres, brandId: string, now: Date, most: number): Promise<Started> {
  return await postgres.forBrand(brandId).tx(async (tx) => {
    const events = await take(tx, 'trigger_events_take', [now, most])
    return { taken: events.length, made: await startThese(tx, events, now) }
  })
}

/** Numbers that a double would change are texts of their digits: so filters compare them, and messages say them. */
async function take(tx: Statements, statement: string, args: unknown[]): Promise<TriggerEvent[]> {
  const rows = await tx.many<Omit<TriggerEvent, 'properties'> & { properties: string }>(statement, args)
  return rows.map((row) => ({
    ...row,
    properties: parseWithTexts(row.properties) as TriggerEvent['properties'],
  }))
}

async function startThese(tx: Statements, events: readonly TriggerEvent[], now: Date): Promise<number> {
  if (events.length === 0) return 0
  const beside = await besideOf(tx, events)
  const occurrences = events.flatMap((event): Occurrence[] => {
    const found = occurrenceOf(event, beside)
    return found ? [found] : []
  })
  const made = await startRuns(tx, occurrences, now)
  await endByOrders(
    tx,
    occurrences.filter(({ trigger, subject }) => trigger === 'order_created' && subject !== null),
    now,
  )
  await tx.run('trigger_events_done', [events.map(({ event_id }) => event_id)])
  return made
}

/** What waits for customers who bought does not wait any longer. */
async function endByOrders(tx: Statements, orders: readonly Occurrence[], now: Date): Promise<void> {
  if (orders.length === 0) return
  const told = orders.filter(isOnlyTold)
  if (told.length)
    await tx.run('runs_bought', [
      told.map(({ subject }) => subject),
      told.map(({ at }) => at.toISOString()),
      told.map(({ key }) => key),
    ])
  await tx.run('runs_wake', [[...new Set(orders.map(({ subject }) => subject))], now])
}

async function besideOf(tx: Statements, events: readonly TriggerEvent[]): Promise<Beside> {
  const valuesOf = (types: readonly string[], name: string) => [
    ...new Set(
      events.flatMap(({ event_type, properties }) =>
        types.includes(event_type) && properties[name] !== undefined
          ? [storeIdOf(String(properties[name]))]
          : [],
      ),
    ),
  ]
  const checkouts = valuesOf(['checkout_abandoned'], 'checkout_id')
  const orders = valuesOf(['order_created', 'fulfillment_updated'], 'order_id')
  const subscriptions = valuesOf(['subscription_changed'], 'subscription_id')
  const deliveries = events.flatMap(({ event_id }) => deliveryOf(event_id) ?? [])
  const rows =
    checkouts.length + orders.length ? await tx.many<RecordRow>('trigger_records', [checkouts, orders]) : []
  const known = subscriptions.length
    ? await tx.many<{ id: string }>('trigger_subscriptions', [subscriptions])
    : []
  const told = deliveries.length
    ? await tx.many<DeliveryRow>('trigger_deliveries', [
        deliveries.map(({ providerId }) => providerId),
        deliveries.map(({ eventId }) => eventId),
      ])
    : []
  const records = new Map(rows.map((row) => [`${row.kind} ${row.id}`, row]))
  const byId = new Map(known.map(({ id, ...facts }) => [id, facts]))
  const byEvent = new Map(told.map((row) => [`${row.provider_id}:${row.event_id}`, row]))
  return {
    hasRecord: (kind, id) => records.has(`${kind} ${id}`),
    order: (id) => records.get(`order ${id}`),
    subscription: (id) => byId.get(id),
    delivery: (providerId, eventId) => {
      const row = byEvent.get(`${providerId}:${eventId}`)
      return row && { recordId: row.custom_event_id, definitionId: row.definition_id }
    },
  }
}

interface RecordRow {
  kind: 'checkout' | 'order'
  id: string
  number: string | null
  is_shipped: boolean | null
}

interface DeliveryRow {
  provider_id: string
  event_id: string
  definition_id: string
  custom_event_id: string | null
}
