import type { Fields } from '../fields.ts'
import { type Batch, batchOf, type Removal } from '../record.ts'
import { readConsent, readCustomer } from './customer.ts'
import { readFulfillment, readOrder, readRefund, type Sent } from './order.ts'
import {
  type Own,
  ownOfDataRequest,
  ownOfRedact,
  ownOfRemoval,
  ownOfShopRedact,
  ownOfUninstall,
} from './own-body.ts'
import { readCart, readCheckout, readProduct, readSubscription } from './shopping.ts'

/** What a topic means: records to write, or one of the few things that concern the connection as a whole. */
export type Meaning =
  | { records: Batch }
  | { uninstalled: true }
  | { redactCustomer: Fields }
  | { redactShop: true }
  | { dataRequest: Fields }

type Topic = (fields: Fields, sent: Sent) => Meaning

const order: Topic = (fields, sent) => ({ records: readOrder(fields, sent) })
const customer: Topic = (fields, { triggeredAt }) => ({ records: readCustomer(fields, triggeredAt) })
const consent: Topic = (fields, { triggeredAt }) => ({ records: readConsent(fields, triggeredAt) })
const checkout: Topic = (fields, sent) => ({ records: batchOf({ checkouts: [readCheckout(fields, sent)] }) })
const cart: Topic = (fields, { triggeredAt }) => ({
  records: batchOf({ carts: [readCart(fields, triggeredAt)] }),
})
const product: Topic = (fields, { triggeredAt }) => ({
  records: batchOf({ products: [readProduct(fields, triggeredAt)] }),
})
const fulfillment: Topic = (fields, { triggeredAt }) => {
  fields.id('order_id')
  return { records: batchOf({ fulfillments: [readFulfillment(fields, triggeredAt)] }) }
}
const subscription =
  (made: boolean): Topic =>
  (fields, { triggeredAt }) => ({
    records: batchOf({ subscriptions: [readSubscription(fields, triggeredAt, made)] }),
  })
/** A topic that takes no body but its own. */
const ofOwn =
  (own: Own, meaning: Topic): Topic =>
  (fields, sent) => {
    own(fields, sent)
    return meaning(fields, sent)
  }
const removal = (kind: Removal['kind']): Topic =>
  ofOwn(ownOfRemoval, (fields, { triggeredAt }) => ({
    records: batchOf({
      removals: [{ kind, externalId: fields.id('id'), version: { updatedAt: triggeredAt, triggeredAt } }],
    }),
  }))

/** Every topic that is understood; docs/store.md lists them. */
export const TOPICS: Readonly<Record<string, Topic>> = {
  'orders/create': order,
  'orders/updated': order,
  'orders/paid': order,
  'orders/cancelled': order,
  // Tells only which lines were edited; the order as it is now follows as orders/updated.
  'orders/edited': (fields, sent) =>
    fields.has('order_edit') ? { records: batchOf({}) } : order(fields, sent),
  'orders/delete': removal('order'),
  'refunds/create': (fields, sent) => ({ records: batchOf({ refunds: [readRefund(fields, sent)] }) }),
  'fulfillments/create': fulfillment,
  'fulfillments/update': fulfillment,
  'customers/create': customer,
  'customers/update': customer,
  'customers/delete': removal('customer'),
  'customers_marketing_consent/update': consent,
  'customers_email_marketing_consent/update': consent,
  'checkouts/create': checkout,
  'checkouts/update': checkout,
  'checkouts/delete': removal('checkout'),
  'carts/create': cart,
  'carts/update': cart,
  'products/create': product,
  'products/update': product,
  'products/delete': removal('product'),
  'subscription_contracts/create': subscription(true),
  'subscription_contracts/update': subscription(false),
  'app/uninstalled': ofOwn(ownOfUninstall, () => ({ uninstalled: true })),
  'customers/redact': ofOwn(ownOfRedact, (fields) => ({ redactCustomer: fields })),
  'customers/data_request': ofOwn(ownOfDataRequest, (fields) => ({ dataRequest: fields })),
  'shop/redact': ofOwn(ownOfShopRedact, () => ({ redactShop: true })),
}

/** Topics that an app subscribes to by itself; the others are set in the platform's app settings. */
export const COMPLIANCE_TOPICS = ['customers/redact', 'customers/data_request', 'shop/redact']
