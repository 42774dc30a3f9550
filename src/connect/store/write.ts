import type { StoreWork } from './apply.ts'
import type { Connection } from './connection.ts'
import { channelsIn, hideRemoved, type Subjects } from './people.ts'
import type {
  Batch,
  CheckoutRecord,
  FulfillmentRecord,
  OrderRecord,
  ProductRecord,
  RefundRecord,
  Removal,
} from './record.ts'

const json = JSON.stringify

/**
 * Newest versions of orders, and what all that was told changes about orders that are there already: refunds, and the
 * checkout, which not every version names.
 */
export async function writeOrders(
  { tx, region, currency }: StoreWork & Pick<Connection, 'currency'>,
  orders: readonly OrderRecord[],
  told: Pick<Batch, 'orders' | 'refunds'>,
  subjects: Subjects,
): Promise<void> {
  if (orders.length) {
    const rows = orders.map((order) => ({
      external_id: order.externalId,
      number: order.number,
      ...channelsIn(order.person, region),
      // Until they follow from what is known of refunds, below.
      state: 'pending',
      billing_status: 'pending',
      refunded_total: '0.00',
      currency_code: order.currencyCode,
      subtotal: order.subtotal,
      discount_total: order.discountTotal,
      total: order.total,
      discount_codes: order.discountCodes,
      test: order.test,
      created_at: order.createdAt,
      updated_at: order.version.updatedAt,
      cancelled_at: order.cancelledAt,
      recovered_at: null,
      erased: order.erased,
    }))
    const lines = orders.map((order) => json(order.lines)).join('\n')
    await tx.run('import_orders', [
      json(rows),
      lines,
      orders.map(({ person }) => subjects.get(person) ?? 0),
      true,
      true,
    ])
    const other = orders.find(({ currencyCode }) => currencyCode !== currency)
    if (other) await tx.run('store_connection_currency', [other.currencyCode])
  }
  const known = new Map(orders.map((order) => [order.externalId, order]))
  const checkouts = new Map(
    told.orders.flatMap(({ externalId, checkoutExternalId: id }) => (id === null ? [] : [[externalId, id]])),
  )
  const tokens = new Map(
    told.orders.flatMap(({ externalId, checkoutToken: token }) =>
      token === null ? [] : [[externalId, token]],
    ),
  )
  const touched = [
    ...new Set([
      ...known.keys(),
      ...checkouts.keys(),
      ...tokens.keys(),
      ...told.refunds.flatMap(({ orderExternalId }) => orderExternalId ?? []),
    ]),
  ]
  if (touched.length === 0) return
  await tx.run('store_orders_settle', [
    touched,
    touched.map((id) => known.get(id)?.financialStatus ?? null),
    touched.map((id) => checkouts.get(id) ?? null),
    touched.map((id) => tokens.get(id) ?? null),
    touched.map((id) => known.get(id)?.fulfillmentStatus ?? null),
    touched.map((id) => known.get(id)?.version.updatedAt ?? null),
  ])
}

/** Newest versions of refunds. */
export async function writeRefunds(
  { tx }: StoreWork,
  refunds: readonly RefundRecord[],
  subjects: Subjects,
): Promise<void> {
  if (refunds.length === 0) return
  const rows = refunds.map((refund) => ({
    external_id: refund.externalId,
    order_external_id: refund.orderExternalId,
    currency_code: refund.currencyCode,
    total: refund.total,
    created_at: refund.createdAt,
  }))
  const holders = refunds.map(({ orderExternalId, person }) =>
    orderExternalId === null ? (subjects.get(person) ?? 0) : 0,
  )
  await tx.run('store_refunds_put', [json(rows), holders])
}

/**
 * Newest versions of checkouts, and the end of those that orders came from, whatever version names them. Resolves with
 * the ids of all these.
 */
export async function writeCheckouts(
  { tx, region }: StoreWork,
  checkouts: readonly CheckoutRecord[],
  orders: readonly OrderRecord[],
  subjects: Subjects,
): Promise<string[]> {
  const ids = checkouts.map(({ externalId }) => externalId)
  if (ids.length) {
    const kept = await tx.many<{ external_id: string; abandoned_at: Date | null }>('store_checkouts_kept', [
      ids,
    ])
    const abandonedAt = new Map(kept.map(({ external_id, abandoned_at }) => [external_id, abandoned_at]))
    const rows = checkouts.map((checkout) => ({
      external_id: checkout.externalId,
      state: 'open',
      currency_code: checkout.currencyCode,
      total: checkout.total,
      item_count: checkout.items.reduce((count, { quantity }) => count + quantity, 0),
      url: checkout.url,
      created_at: checkout.createdAt,
      updated_at: checkout.version.updatedAt,
      abandoned_at: abandonedAt.get(checkout.externalId) ?? null,
      completed_at: checkout.completedAt,
      token: checkout.token,
      ...channelsIn(checkout.person, region),
      erased: checkout.erased,
    }))
    const holders = checkouts.map(({ person }) => subjects.get(person) ?? 0)
    await tx.run('import_checkouts', [json(rows), true, holders, true])
  }
  const items = new Map(checkouts.map((checkout) => [checkout.externalId, json(checkout.items)]))
  const carts = new Map(checkouts.map(({ externalId, cartExternalId }) => [externalId, cartExternalId]))
  const tokens = [
    ...checkouts.flatMap(({ token }) => token ?? []),
    ...orders.flatMap(({ checkoutToken }) => checkoutToken ?? []),
  ]
  const linked = tokens.length
    ? await tx.many<{ checkout_external_id: string }>('store_orders_link', [tokens])
    : []
  const touched = [
    ...new Set([
      ...ids,
      ...orders.flatMap(({ checkoutExternalId }) => checkoutExternalId ?? []),
      ...linked.map(({ checkout_external_id }) => checkout_external_id),
    ]),
  ]
  if (touched.length)
    await tx.run('store_checkouts_settle', [
      touched,
      touched.map((id) => items.get(id) ?? null),
      touched.map((id) => carts.get(id) ?? null),
    ])
  return touched
}

export async function writeFulfillments(
  { tx }: StoreWork,
  fulfillments: readonly FulfillmentRecord[],
): Promise<void> {
  if (fulfillments.length === 0) return
  const rows = fulfillments.map((fulfillment) => ({
    external_id: fulfillment.externalId,
    order_external_id: fulfillment.orderExternalId,
    status: fulfillment.status,
    shipment_status: fulfillment.shipmentStatus,
    tracking_company: fulfillment.trackingCompany,
    tracking_numbers: fulfillment.trackingNumbers,
    tracking_urls: fulfillment.trackingUrls,
    created_at: fulfillment.createdAt,
    updated_at: fulfillment.version.updatedAt,
  }))
  await tx.run('store_fulfillments_put', [json(rows)])
}

export async function writeProducts({ tx }: StoreWork, products: readonly ProductRecord[]): Promise<void> {
  if (products.length === 0) return
  const rows = products.map(({ externalId, title, status, variants, images, version }) => ({
    id: externalId,
    title,
    status,
    variants,
    images,
    updated_at: version.updatedAt,
  }))
  await tx.run('import_products', [json(rows), true, true])
}

type Remove = (tx: StoreWork['tx'], externalIds: readonly string[]) => Promise<unknown>

const REMOVE: Partial<Record<Removal['kind'], Remove>> = {
  order: (tx, ids) => tx.run('store_orders_hide', [ids]),
  customer: hideRemoved,
  checkout: (tx, ids) => tx.run('store_checkouts_remove', [ids]),
  product: (tx, ids) => tx.run('store_products_remove', [ids]),
}

export async function removeRecords({ tx }: StoreWork, removals: readonly Removal[]): Promise<void> {
  for (const [kind, some] of Map.groupBy(removals, (removal) => removal.kind))
    await REMOVE[kind]?.(
      tx,
      some.map(({ externalId }) => externalId),
    )
}
