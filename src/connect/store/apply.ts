import type { Statements } from '../../op.ts'
import type { Connection } from './connection.ts'
import { hearRefusals, passOnRemoved, writeContacts } from './contacts.ts'
import { withoutErased } from './erased.ts'
import { recordEvents } from './events.ts'
import { newsOf, type Owner } from './news.ts'
import { type Subjects, subjectsOf, writeCustomers } from './people.ts'
import type { Batch } from './record.ts'
import { recoveries } from './recovered.ts'
import { inOrderCurrency } from './refund-currency.ts'
import { writeSubscriptions } from './subscriptions.ts'
import { takeVersions } from './versions.ts'
import {
  removeRecords,
  writeCheckouts,
  writeFulfillments,
  writeOrders,
  writeProducts,
  writeRefunds,
} from './write.ts'

/** A transaction of a connected brand. */
export interface StoreWork {
  tx: Statements
  brandId: string
  storePlatformDomain: string
  /** ISO 3166 alpha-2: that of phone numbers without a country code. */
  region: string
  /** What happened before it makes no events. */
  connectedAt: Date
  /** Another clock than that of this machine. */
  now?: () => Date
}

/**
 * Writes records of the store and the service's own events that follow from them, within one transaction. Whatever the
 * order and number in which the versions of a record come, the same state and the same events are there in the end.
 */
export async function applyRecords(
  work: StoreWork & Pick<Connection, 'currency'>,
  given: Batch,
): Promise<void> {
  const { tx } = work
  await tx.one('store_lock')
  const told = await withoutErased(work, given)
  const batch = { ...told, refunds: await inOrderCurrency(work, told.refunds) }
  const newest = await takeVersions(tx, [
    ...batch.removals.map((removal) => ({ ...removal, removed: true })),
    ...batch.orders.map((order) => ({ kind: 'order' as const, ...order })),
    ...batch.refunds.map((refund) => ({ kind: 'refund' as const, ...refund })),
    ...batch.fulfillments.map((fulfillment) => ({ kind: 'fulfillment' as const, ...fulfillment })),
    ...batch.customers.map((customer) => ({ kind: 'customer' as const, ...customer })),
    ...batch.checkouts.map((checkout) => ({ kind: 'checkout' as const, ...checkout })),
    ...batch.products.map((product) => ({ kind: 'product' as const, ...product })),
    ...batch.subscriptions.map((subscription) => ({ kind: 'subscription' as const, ...subscription })),
  ])
  const subjects = await subjectsOf(work, batch)
  const cleared = await writeCustomers(work, batch.customers, newest, subjects)
  await writeContacts(work, batch, newest, subjects, cleared)
  await hearRefusals(
    work,
    given.consents.filter((consent) => !batch.consents.includes(consent)),
  )
  await writeProducts(
    work,
    batch.products.filter((product) => newest.has('product', product)),
  )
  await writeRefunds(
    work,
    batch.refunds.filter((refund) => newest.has('refund', refund)),
    subjects,
  )
  // Those that the store removed as well: somebody had ordered, whatever comes of it.
  const orders = batch.orders.filter((order) => newest.describes('order', order))
  await writeOrders(work, orders, batch, subjects)
  const checkouts = batch.checkouts.filter((checkout) => newest.has('checkout', checkout))
  const checkoutIds = await writeCheckouts(work, checkouts, batch.orders, subjects)
  await writeFulfillments(
    work,
    batch.fulfillments.filter((fulfillment) => newest.has('fulfillment', fulfillment)),
  )
  const changes = await writeSubscriptions(work, batch.subscriptions, newest, subjects)
  await removeRecords(work, batch.removals)
  await passOnRemoved(work, batch.removals)
  await recordEvents(work, await ownersOf(work, batch, subjects), [
    ...newsOf(batch, subjects),
    ...changes,
    ...(await recoveries(work, checkoutIds)),
  ])
}

/** Orders and carts whose holder the records say; a cart's is noted, since nothing else does. */
async function ownersOf(
  { tx }: StoreWork,
  { orders, checkouts }: Batch,
  subjects: Subjects,
): Promise<Owner[]> {
  const carts = new Map<string, number>()
  for (const { cartExternalId, person } of [...orders, ...checkouts]) {
    const subject = subjects.get(person) ?? 0
    if (cartExternalId !== null && subject !== 0) carts.set(cartExternalId, subject)
  }
  if (carts.size) await tx.run('store_carts_put', [[...carts.keys()], [...carts.values()]])
  return [
    ...orders.map(({ externalId }): Owner => ({ kind: 'order', externalId })),
    ...[...carts.keys()].map((externalId): Owner => ({ kind: 'cart', externalId })),
  ]
}
