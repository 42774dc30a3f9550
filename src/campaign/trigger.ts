import type { PREDEFINED_TRIGGERS } from '../event/types.ts'
import type { FieldType } from '../segment/operators.ts'

export type Predefined = (typeof PREDEFINED_TRIGGERS)[number]

export const CAMPAIGN_TYPES = [
  'checkout_recovery',
  'browse_recovery',
  'post_purchase',
  'winback',
  'subscription',
  'segment',
  'custom_event',
] as const
export type CampaignType = (typeof CAMPAIGN_TYPES)[number]

const SOURCE_KINDS = [
  'checkout',
  'order',
  'custom_event',
  'subscription_event',
  'segment',
  'customer',
] as const
export type SourceKind = (typeof SOURCE_KINDS)[number]

/** Something that a trigger carries: filters compare it as `event.<name>`, messages say it as `{{event.<name>}}`. */
export interface Fact {
  type: FieldType
  /** The fact is a list, such as of the products of an order: one of its elements has to satisfy a filter. */
  each?: true
  help: string
}

export interface Trigger {
  label: string
  /** Type of the campaigns that it starts. */
  type: CampaignType
  what: string
  /** What the event journey calls it, and which id it takes. */
  source: SourceKind
  /** How the occurrence of a run is written: the same one starts nothing again. */
  occurrence: string
  facts: Readonly<Record<string, Fact>>
}

const fact = (type: FieldType, help: string): Fact => ({ type, help })
const each = (help: string): Fact => ({ type: 'string', each: true, help })

const SUM = {
  total: fact('money', 'sum in the currency of currency_code'),
  currency_code: fact('string', 'three letters of ISO 4217'),
  item_count: fact('number', 'units of all items'),
}
const ITEMS = {
  product_id: each('product of an item'),
  product_title: each('product title of an item'),
  sku: each('stock keeping unit of an item'),
}

/** What campaigns can start at, beside the event types of the brand itself. */
export const TRIGGERS: Readonly<Record<Predefined, Trigger>> = {
  checkout_abandoned: {
    label: 'Checkout abandoned',
    type: 'checkout_recovery',
    what: 'A checkout has had no order and no activity for the brand’s time.',
    source: 'checkout',
    occurrence: 'checkout_abandoned:<checkout id of the store>',
    facts: { ...SUM, ...ITEMS, checkout_id: fact('string', 'checkout') },
  },
  browse_abandoned: {
    label: 'Product viewed, not bought',
    type: 'browse_recovery',
    what: 'A customer looked at a product, and neither put anything into a cart nor bought since.',
    source: 'customer',
    occurrence: 'browse_abandoned:<customer id>:<product>:<day>',
    facts: {
      product_id: fact('string', 'product'),
      product_title: fact('string', 'product title'),
      price: fact('money', 'unit price in the currency of currency_code'),
      currency_code: SUM.currency_code,
    },
  },
  order_created: {
    label: 'Order paid',
    type: 'post_purchase',
    what: 'An order is paid.',
    source: 'order',
    occurrence: 'order_created:<order id of the store>',
    facts: {
      ...SUM,
      ...ITEMS,
      order_number: fact('string', 'number that the customer knows the order by'),
      discount_code: fact('string', 'discount code that was used'),
    },
  },
  order_fulfilled: {
    label: 'Order shipped',
    type: 'post_purchase',
    what: 'All of an order is on its way.',
    source: 'order',
    occurrence: 'order_fulfilled:<order id of the store>',
    facts: {
      order_number: fact('string', 'number that the customer knows the order by'),
      status: fact('string', 'state of the delivery'),
      tracking_company: fact('string', 'carrier'),
    },
  },
  customer_winback: {
    label: 'Customer at risk',
    type: 'winback',
    what: 'A customer has not ordered for longer than their habit lets expect, and becomes at risk.',
    source: 'customer',
    occurrence: 'customer_winback:<customer id>:<day of the last order>',
    facts: {
      days_since_last_order: fact('number', 'days since the last order'),
      at_risk_score: fact('number', 'days since the last order ÷ days between orders'),
    },
  },
  subscription_cancelled: {
    label: 'Subscription cancelled',
    type: 'subscription',
    what: 'A subscription stops.',
    source: 'subscription_event',
    occurrence: '<id of the event subscription_changed>',
    facts: {
      subscription_id: fact('string', 'subscription'),
      product_id: fact('string', 'product'),
      title: fact('string', 'title of the product'),
      price: fact('money', 'price in the currency of currency_code'),
      currency_code: SUM.currency_code,
    },
  },
  segment_entered: {
    label: 'Segment entered',
    type: 'segment',
    what: 'A customer becomes a member of a segment, which a filter of the campaign names.',
    source: 'segment',
    occurrence: 'segment_entered:<segment id>:<customer id>:<generation>',
    facts: { segment_id: fact('string', 'segment that was entered') },
  },
}

export const isPredefined = (event: string): event is Predefined => Object.hasOwn(TRIGGERS, event)
