import { toldConsent } from '../../identity/contact.ts'
import type { Subjects } from './people.ts'
import type {
  Batch,
  CartRecord,
  ConsentRecord,
  CustomerRecord,
  FulfillmentRecord,
  ItemRecord,
  OrderRecord,
  RefundRecord,
} from './record.ts'

/** An event of the service's own that a record gives rise to. The same fact has the same id, whatever tells it. */
export interface News {
  id: string
  type: string
  occurredAt: Date
  /** 0: about nobody who is known. */
  subject: number
  properties: Record<string, unknown>
  /** What says whose it is, where the subject is not known, and whether it counts. */
  owner?: Owner
}

export interface Owner {
  kind: 'order' | 'cart'
  externalId: string
}

const PAID = ['paid', 'partially_refunded', 'refunded']
const NOTHING = '0.00'
const MOST_ITEMS = 100

/** What the records tell, those of old versions included: each version of a cart or customer is a change of its own. */
export function newsOf(batch: Batch, subjects: Subjects): News[] {
  const subjectOf = ({ person }: Pick<OrderRecord, 'person'>) => subjects.get(person) ?? 0
  return [
    ...batch.orders.filter(({ financialStatus }) => PAID.includes(financialStatus)).map(orderCreated),
    ...batch.refunds.filter(({ total }) => total !== NOTHING).map((one) => refundIssued(one, subjectOf(one))),
    ...batch.fulfillments.map(fulfillmentUpdated),
    ...batch.orders.flatMap((order) => orderOnItsWay(order, batch.fulfillments)),
    ...batch.customers.map((one) => customerUpdated(one, subjectOf(one))),
    ...batch.consents.map((one) => consentUpdated(one, subjectOf(one))),
    ...batch.carts.map((one) => cartUpdated(one, subjectOf(one))),
  ]
}

function orderCreated(order: OrderRecord): News {
  const { externalId, number, total, currencyCode, discountCodes, lines } = order
  return {
    id: `order_created:${externalId}`,
    type: 'order_created',
    occurredAt: new Date(order.paidAt),
    subject: 0,
    owner: { kind: 'order', externalId },
    properties: without({
      order_id: externalId,
      order_number: number,
      checkout_id: order.checkoutExternalId,
      cart_id: order.cartExternalId,
      total,
      currency_code: currencyCode,
      discount_code: discountCodes[0] ?? null,
      ...itemsOf(lines.map(({ title, total: _, id: __, ...line }) => ({ ...line, product_title: title }))),
    }),
  }
}

function refundIssued(refund: RefundRecord, subject: number): News {
  const { externalId, orderExternalId, total, currencyCode, createdAt } = refund
  return {
    id: `refund_issued:${externalId}`,
    type: 'refund_issued',
    occurredAt: new Date(createdAt),
    subject: orderExternalId === null ? subject : 0,
    ...(orderExternalId === null ? {} : { owner: { kind: 'order', externalId: orderExternalId } }),
    properties: without({
      refund_id: externalId,
      order_id: orderExternalId,
      total,
      currency_code: currencyCode,
    }),
  }
}

const fulfillmentUpdated = (one: FulfillmentRecord): News => ({
  id: `fulfillment_updated:${one.externalId}:${ms(one)}`,
  type: 'fulfillment_updated',
  occurredAt: new Date(one.version.updatedAt),
  subject: 0,
  owner: { kind: 'order', externalId: one.orderExternalId },
  properties: without({
    fulfillment_id: one.externalId,
    order_id: one.orderExternalId,
    status: one.status,
    shipment_status: one.shipmentStatus,
    tracking_company: one.trackingCompany,
    tracking_numbers: one.trackingNumbers,
    tracking_urls: one.trackingUrls,
  }),
})

/**
 * That all of an order is on its way, which none of its deliveries can tell: it is so since the last one of them was
 * made, whichever version of the order says it.
 */
function orderOnItsWay(order: OrderRecord, all: readonly FulfillmentRecord[]): News[] {
  if (order.fulfillmentStatus !== 'fulfilled') return []
  const { externalId } = order
  const last = all
    .filter(({ orderExternalId, status }) => orderExternalId === externalId && status === 'success')
    .sort((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt))
    .at(-1)
  if (!last) return []
  return [
    {
      id: `fulfillment_updated:order:${externalId}:${Date.parse(last.createdAt)}`,
      type: 'fulfillment_updated',
      occurredAt: new Date(last.createdAt),
      subject: 0,
      owner: { kind: 'order', externalId },
      properties: without({
        order_id: externalId,
        order_number: order.number,
        status: 'fulfilled',
        tracking_company: last.trackingCompany,
      }),
    },
  ]
}

const customerUpdated = (one: CustomerRecord, subject: number): News => ({
  id: `customer_updated:${one.externalId}:${ms(one)}`,
  type: 'customer_updated',
  occurredAt: new Date(one.version.updatedAt),
  subject,
  properties: without({ tags: one.tags }),
})

const consentUpdated = ({ storeCustomerId, channel, at, ...said }: ConsentRecord, subject: number): News => {
  const state = toldConsent(said.state)
  return {
    id: `consent_updated:${storeCustomerId}:${channel}:${state}:${Date.parse(at)}`,
    type: 'consent_updated',
    occurredAt: new Date(at),
    subject,
    properties: { channel, state },
  }
}

const cartUpdated = (one: CartRecord, subject: number): News => ({
  id: `cart_updated:${one.externalId}:${ms(one)}`,
  type: 'cart_updated',
  occurredAt: new Date(one.version.updatedAt),
  subject,
  owner: { kind: 'cart', externalId: one.externalId },
  properties: without({
    cart_id: one.externalId,
    total: one.total,
    currency_code: one.currencyCode,
    ...itemsOf(one.items),
  }),
})

export const itemsOf = (items: readonly ItemRecord[]) => ({
  item_count: items.reduce((count, { quantity }) => count + quantity, 0),
  items: items.slice(0, MOST_ITEMS).map((item) => without({ ...item })),
})

const ms = ({ version }: { version: { updatedAt: string } }) => Date.parse(version.updatedAt)

/** Without what is null. */
export const without = (properties: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== null))
