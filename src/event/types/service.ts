import {
  CART,
  CHECKOUT,
  CURRENCY,
  ITEMS,
  ORDER,
  type PropertySchema,
  TOTAL,
  text,
  textOrNumber,
} from './properties.ts'

const texts = (description: string): PropertySchema => ({
  type: 'array',
  items: { type: 'string' },
  description,
})

/** What the service itself records of the store and of messages, by event type. */
export const SERVICE_PROPERTIES: Record<
  string,
  { what: string; properties: Record<string, PropertySchema> }
> = {
  order_created: {
    what: 'An order is paid.',
    properties: {
      ...ORDER,
      checkout_id: textOrNumber('Checkout that the order came from'),
      cart_id: textOrNumber('Cart that the order came from'),
      total: TOTAL,
      currency_code: CURRENCY,
      ...ITEMS,
    },
  },
  checkout_abandoned: {
    what: 'A checkout has had no order and no activity for the time that the brand has set.',
    properties: CHECKOUT,
  },
  checkout_recovered: {
    what: 'An abandoned checkout is completed after its shopper was messaged.',
    properties: { ...CHECKOUT, ...ORDER },
  },
  cart_updated: { what: 'A cart changes.', properties: CART },
  customer_updated: {
    what: 'The record of a customer changes in the store.',
    properties: { tags: texts('Tags of the customer') },
  },
  consent_updated: {
    what: 'A customer agrees to be messaged, or does so no longer.',
    properties: {
      channel: { type: 'string', enum: ['sms', 'email'], description: 'What the consent is about' },
      state: {
        type: 'string',
        enum: ['subscribed', 'unsubscribed', 'unknown'],
        description: 'What the customer says now',
      },
    },
  },
  subscription_changed: {
    what: 'A subscription starts, stops or restarts.',
    properties: {
      subscription_id: textOrNumber('Subscription'),
      change: { type: 'string', enum: ['started', 'stopped', 'restarted'], description: 'What happened' },
    },
  },
  refund_issued: {
    what: 'Money is given back.',
    properties: {
      refund_id: textOrNumber('Refund'),
      order_id: textOrNumber('Order that it is for, if any'),
      total: TOTAL,
      currency_code: CURRENCY,
    },
  },
  fulfillment_updated: {
    what: 'The delivery of an order makes progress.',
    properties: {
      fulfillment_id: textOrNumber('Delivery'),
      order_id: textOrNumber('Order'),
      order_number: text('Number that the customer knows the order by'),
      status: text('State of the delivery; fulfilled: all of the order is on its way'),
      shipment_status: text('What the carrier says'),
      tracking_company: text('Carrier'),
      tracking_numbers: texts('Numbers that the carrier knows it by'),
      tracking_urls: texts('Addresses at which the carrier shows its progress'),
    },
  },
}
