/**
 * The relations of the lake: what a row of each Parquet file holds. `brand_id` and `tick` lead every row.
 * tick = number of the publish that wrote the row; it never decreases in commit order, so of a mutable
 * relation's versions the one with the greatest tick is the current one.
 */
export interface Relation {
  /** append: rows are final; versions: a row replaces the earlier one of its key. */
  kind: 'append' | 'versions'
  schemaVersion: number
  key: readonly string[]
  /** Sort order of a merged file. */
  order: readonly string[]
  /** Column → DuckDB type and meaning, without brand_id and tick. */
  columns: Readonly<Record<string, readonly [type: string, what: string]>>
}

const MONEY = 'DECIMAL(18,2)'
const text = (what: string) => ['VARCHAR', what] as const
const money = (what: string) => [MONEY, what] as const
const time = (what: string) => ['TIMESTAMP', `${what} (UTC)`] as const
const integer = (what: string) => ['INTEGER', what] as const

const LINE_FIELDS = {
  id: 'VARCHAR',
  product_id: 'VARCHAR',
  variant_id: 'VARCHAR',
  title: 'VARCHAR',
  sku: 'VARCHAR',
  quantity: 'INTEGER',
  price: MONEY,
  total: MONEY,
}
const LINE_TYPE = `STRUCT(${Object.entries(LINE_FIELDS)
  .map(([name, type]) => `${name} ${type}`)
  .join(', ')})`
/** An order's lines as a JSON structure of DuckDB's: fields that a line lacks become null. */
export const LINES_STRUCTURE = JSON.stringify([LINE_FIELDS])

/** Typed columns of an event that are read from its `properties` (property name = column name). */
export const EVENT_PROPERTIES = {
  session_id: text('browser session'),
  url: text('page address'),
  path: text('page path'),
  referrer: text('referring page'),
  landing_page: text('first page of the visit'),
  utm_source: text('campaign source'),
  utm_medium: text('campaign medium'),
  utm_campaign: text('campaign name'),
  utm_term: text('campaign term'),
  utm_content: text('campaign content'),
  product_id: text('product'),
  variant_id: text('variant'),
  product_title: text('product title'),
  sku: text('stock keeping unit'),
  price: money('unit price'),
  quantity: integer('units'),
  currency_code: text('currency of price and total'),
  collection_id: text('collection'),
  query: text('search words'),
  cart_id: text('cart'),
  checkout_id: text('checkout'),
  order_id: text('store order id'),
  total: money('value of cart, checkout or order'),
  item_count: integer('items in cart or checkout'),
  message_id: text('message whose link was clicked'),
  conversation_id: text('conversation of that message'),
  campaign_id: text('campaign of that message'),
} as const

export const RELATIONS = {
  events: {
    kind: 'append',
    schemaVersion: 1,
    key: ['event_id'],
    order: ['subject', 'occurred_at'],
    columns: {
      batch_id: ['UUID', 'record batch of the event log'],
      line: integer('line of the batch, from 0'),
      event_id: text(
        'the sender’s id, `browser:` before that of a page and `service:` before that of the service itself; else <batch_id>-<line>',
      ),
      received_at: time('receipt'),
      occurred_at: time('the earlier of the sent time and receipt'),
      event_type: text('type'),
      subject: integer('ordinal of the visitor or customer as sent; a merge never rewrites it'),
      ...EVENT_PROPERTIES,
      properties: ['JSON', 'all properties as sent, without identifying values'],
    },
  },
  customers: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['subject'],
    order: ['subject'],
    columns: {
      subject: integer('ordinal within the brand'),
      customer_id: text('public id'),
      store_customer_id: text('the store’s id'),
      email: text('trimmed, lower case'),
      phone: text('E.164'),
      first_name: text('first name'),
      last_name: text('last name'),
      tags: ['VARCHAR[]', 'tags'],
      provenance: text('server, pixel or merged'),
      created_at: time('first known'),
      updated_at: time('last change'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  subject_redirect: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['subject'],
    order: ['subject'],
    columns: {
      subject: integer('merged subject'),
      customer: integer('subject that it belongs to now'),
      deleted: ['BOOLEAN', 'merge undone'],
    },
  },
  visitors: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['visitor_id'],
    order: ['subject'],
    columns: {
      visitor_id: text('what the pixel calls a browser'),
      subject: integer('profile that it was first seen as'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  merges: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['merge_id'],
    order: ['merged_at'],
    columns: {
      merge_id: text('id in the ledger of merges'),
      merged_at: time('merged'),
      from_subject: integer('profile that was merged, as it was sent'),
      to_subject: integer('profile that it was merged with, as it was sent'),
      evidence_kind: text('what both have: email, phone, profile_id, store_customer_id or anonymous_id'),
      source: text('who said so: browser, server, import, store or webhook'),
      undone_at: time('undone'),
      undone_by: text('who or what undid it'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  orders: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['external_id'],
    order: ['subject', 'created_at'],
    columns: {
      order_id: text('public id'),
      external_id: text('the store’s id'),
      number: text('number shown to the customer'),
      subject: integer('ordinal of the customer, null when unknown'),
      state: text('complete, pending, cancelled or refunded'),
      billing_status: text('pending, paid, partially_refunded, refunded or voided'),
      currency_code: text('currency of every amount of the order'),
      subtotal: money('before discounts'),
      discount_total: money('discounts'),
      total: money('total'),
      refunded_total: money('refunded so far'),
      discount_codes: ['VARCHAR[]', 'codes used'],
      lines: [`${LINE_TYPE}[]`, 'order lines'],
      test: ['BOOLEAN', 'a test order: counts nowhere'],
      created_at: time('placed'),
      updated_at: time('last change'),
      cancelled_at: time('cancelled'),
      recovered_at: time('attributed as recovered'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  refunds: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['external_id'],
    order: ['subject', 'created_at'],
    columns: {
      refund_id: text('public id'),
      external_id: text('the store’s id'),
      order_external_id: text(
        'the store’s id of the order, whose refunded_total has it; null: it names no order',
      ),
      subject: integer('ordinal of the customer of a refund that names no order'),
      currency_code: text('currency'),
      total: money('refunded'),
      created_at: time('refunded'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  products: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['product_id'],
    order: ['product_id'],
    columns: {
      product_id: text('the store’s id'),
      title: text('title'),
      status: text('status'),
      variants: ['JSON', '[{ id, price, sku }]'],
      images: ['JSON', '[{ id, url, alt_text }]'],
      updated_at: time('last change'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  checkouts: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['external_id'],
    order: ['subject', 'created_at'],
    columns: {
      checkout_id: text('public id'),
      external_id: text('the store’s id'),
      subject: integer('ordinal of the customer or visitor'),
      state: text('open, abandoned, recovered or completed'),
      currency_code: text('currency'),
      total: money('value'),
      item_count: integer('items'),
      url: text('address to go on at'),
      created_at: time('started'),
      updated_at: time('last change'),
      abandoned_at: time('abandoned'),
      completed_at: time('completed'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  subscriptions: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['external_id'],
    order: ['subject', 'started_at'],
    columns: {
      subscription_id: text('public id'),
      external_id: text('the store’s id'),
      subject: integer('ordinal of the customer'),
      status: text('active, paused, cancelled, expired or failed'),
      product_id: text('product'),
      title: text('title'),
      interval_unit: text('day, week, month or year'),
      interval_count: integer('units between billings'),
      price: money('price'),
      currency_code: text('currency'),
      started_at: time('started'),
      next_billing_at: time('next billing'),
      cancelled_at: time('cancelled'),
      updated_at: time('last change'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  conversations: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['conversation_id'],
    order: ['subject', 'created_at'],
    columns: {
      conversation_id: text('public id'),
      subject: integer('ordinal of the customer, null when unknown'),
      campaign_id: text('campaign that began it, null when the contact did'),
      channel: text('sms or email'),
      status: text('open or closed'),
      checkout_id: text('checkout that it is about'),
      goal_until: time('until when it is to be recovered; null: it has no goal'),
      opted_out_at: time('when the contact asked for no more messages in it'),
      created_at: time('begun'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  // Without their text, which is read in Postgres.
  messages: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['message_id'],
    order: ['subject', 'created_at'],
    columns: {
      message_id: text('public id'),
      conversation_id: text('conversation'),
      campaign_id: text('campaign of the conversation'),
      subject: integer('ordinal of the customer, null when unknown'),
      direction: text('outbound or inbound'),
      author: text('campaign, agent, contact or system'),
      channel: text('sms or email'),
      status: text('queued, sent, delivered, failed or received'),
      created_at: time('written, or received'),
      sent_at: time('taken by the channel'),
      delivered_at: time('arrived, as the channel says'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  link_clicks: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['click_id'],
    order: ['clicked_at'],
    columns: {
      click_id: text('public id'),
      message_id: text('message that the link stands in'),
      conversation_id: text('conversation of that message'),
      clicked_at: time('clicked'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  attributions: {
    kind: 'versions',
    schemaVersion: 1,
    key: ['order_id'],
    order: ['ordered_at'],
    columns: {
      order_id: text('public id of the order'),
      conversation_id: text('conversation that it followed'),
      campaign_id: text('campaign of that conversation'),
      recovered: ['BOOLEAN', 'it counts; false: refunded, cancelled or found to be another’s'],
      touch: text('what it followed: message or click'),
      touch_at: time('when that was'),
      ordered_at: time('placed'),
      amount: money('total less refunds'),
      currency_code: text('currency of the amount'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
} as const satisfies Record<string, Relation>

export type RelationName = keyof typeof RELATIONS

/** Column names of a relation in file order, `brand_id` and `tick` first. */
export const columnsOf = (name: RelationName): string[] => [
  'brand_id',
  'tick',
  ...Object.keys(RELATIONS[name].columns),
]

/** Relations whose plain names are those of marts. */
const NAMED_AS_MARTS: readonly RelationName[] = ['customers', 'orders', 'products', 'subscriptions']

/** The name of a relation's source view in a session. */
export const sourceName = (relation: RelationName): string =>
  NAMED_AS_MARTS.includes(relation) ? `${relation}_source` : relation
