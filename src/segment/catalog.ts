import { column, daysSince, type Expr, or, present } from './expression.ts'
import type { FieldType } from './operators.ts'

/** The other half of the catalog: the sources and their fields. */

export interface Field {
  type: FieldType
  /** What it reads; the column of its own name unless said. */
  reads: Expr
  /** The column holds a list: a comparison means that one of its elements satisfies it. */
  each?: true
  /** A field of the order's lines. */
  line?: true
  /** Has thousands of different values, so that equality finds few rows. */
  selective?: true
  /** All the values that there can be. */
  oneOf?: readonly string[]
  help: string
}

export interface Relation {
  name: string
  alias: string
}

export interface Lines extends Relation {
  key: string
  madeOf: readonly string[]
}

export interface Source {
  relation: Relation
  /** one: each customer has one row; many: rows of a time, looked back upon for at most 1,095 days. */
  rows: 'one' | 'many'
  /** Column that windows look at; without one all rows count, whenever they are of. */
  time?: string
  /** Column with the currency of the row's money. */
  currency?: string
  /** Rows of a second relation, made of columns of the first and bound to a row of it by `key`. */
  lines?: Lines & { products: Lines & { column: string } }
  /** The rows of the relation that belong to the source; all unless said. */
  only?: Expr
  /** How its rows follow from events: each is one of them, or they are made of those of some types; else of any. */
  events?: 'each' | readonly string[]
  /** Field whose equality with few different values parts the rows into kinds. */
  kind?: string
  fields: Readonly<Record<string, Field>>
  /** Fields under `attributes.`, whose names are the data's. */
  attributes?: true
  help: string
}

type Extra = Partial<Omit<Field, 'type' | 'help'>>
const field = (type: FieldType, help: string, extra: Extra = {}) => ({ type, help, ...extra })
const selective = { selective: true } as const
const line = { line: true } as const

type Written = Omit<Field, 'reads'> & { reads?: Expr }

/** Fields read the column of their own name unless the row says otherwise. */
const fields = (written: Record<string, Written>): Record<string, Field> =>
  Object.fromEntries(
    Object.entries(written).map(([name, row]) => [
      name,
      { ...row, reads: row.reads ?? column(name, row.line ? 'line' : 'row') },
    ]),
  )

const ENGAGEMENTS = ['message_sent', 'message_delivered', 'message_replied', 'link_clicked']

const SOURCE_TABLE = {
  customer_profile: {
    relation: { name: 'customers', alias: 'customers' },
    rows: 'one',
    time: 'created_at',
    help: 'The customer: one row each',
    fields: fields({
      total_spend: field('money', 'spent on complete orders, less refunds, in the brand’s currency'),
      orders_count: field('number', 'complete orders in the brand’s currency'),
      average_order_value: field('money', 'total_spend ÷ orders_count; missing without orders'),
      first_order_at: field('time', 'first complete order in the brand’s currency'),
      last_order_at: field('time', 'last complete order in the brand’s currency'),
      days_since_last_order: field('number', 'whole 24-hour periods since last_order_at', {
        reads: daysSince(column('last_order_at')),
      }),
      last_event_at: field('time', 'last event'),
      created_at: field('time', 'first known'),
      email: field('email', 'email address; compared trimmed and in lower case'),
      phone: field('string', 'phone number, E.164'),
      has_email: field('boolean', 'an email address is known', { reads: present(column('email')) }),
      has_phone: field('boolean', 'a phone number is known', { reads: present(column('phone')) }),
    }),
  },
  commerce_orders: {
    relation: { name: 'stg_orders', alias: 'orders' },
    rows: 'many',
    time: 'created_at',
    currency: 'currency_code',
    lines: {
      name: 'stg_order_lines',
      alias: 'lines',
      key: 'order_id',
      madeOf: ['order_id', 'customer', 'created_at', 'lines'],
      products: {
        name: 'stg_order_products',
        alias: 'products',
        key: 'order_id',
        madeOf: ['order_id', 'customer', 'created_at', 'product_ids'],
        column: 'product_id',
      },
    },
    help: 'Orders in every state; test orders are left out',
    fields: fields({
      state: field('string', 'state', { oneOf: ['complete', 'pending', 'cancelled', 'refunded'] }),
      billing_status: field('string', 'billing status', {
        oneOf: ['pending', 'paid', 'partially_refunded', 'refunded', 'voided'],
      }),
      total: field('money', 'total in the currency of the order'),
      currency_code: field('string', 'currency of the order'),
      created_at: field('time', 'placed'),
      recovered_at: field('time', 'attributed as recovered'),
      discount_code: field('string', 'one of the codes used', {
        each: true,
        reads: column('discount_codes'),
      }),
      item_count: field('number', 'items'),
      product_id: field('string', 'product of a line', { ...line, ...selective }),
      product_title: field('string', 'product title of a line', { ...line, ...selective }),
      sku: field('string', 'stock keeping unit of a line', { ...line, ...selective }),
      quantity: field('number', 'units of a line', line),
      price: field('money', 'unit price of a line', line),
    }),
  },
  carts: {
    relation: { name: 'stg_checkouts', alias: 'carts' },
    rows: 'many',
    time: 'created_at',
    currency: 'currency_code',
    help: 'Carts and checkouts, in their present state',
    fields: fields({
      state: field('string', 'state', { oneOf: ['open', 'abandoned', 'recovered', 'completed'] }),
      total: field('money', 'value in the currency of the cart'),
      item_count: field('number', 'items'),
      created_at: field('time', 'started'),
      abandoned_at: field('time', 'abandoned'),
    }),
  },
  product_events: {
    relation: { name: 'stg_product_events', alias: 'events' },
    rows: 'many',
    events: 'each',
    time: 'occurred_at',
    kind: 'event_kind',
    currency: 'currency_code',
    help: 'Events about a product, such as product_viewed, product_added_to_cart, product_removed_from_cart',
    fields: fields({
      event_kind: field('string', 'event type'),
      product_id: field('string', 'product', selective),
      product_title: field('string', 'product title', selective),
      variant_id: field('string', 'variant', selective),
      price: field('money', 'unit price in the currency of the event, else of the brand'),
      quantity: field('number', 'units'),
      occurred_at: field('time', 'when it happened'),
    }),
  },
  utm_attribution: {
    relation: { name: 'stg_events', alias: 'events' },
    rows: 'many',
    time: 'occurred_at',
    only: or(
      ...['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'landing_page'].map((name) =>
        present(column(name)),
      ),
    ),
    events: 'each',
    help: 'Events that carry a campaign parameter or a landing page',
    fields: fields({
      source: field('string', 'utm_source', { reads: column('utm_source') }),
      medium: field('string', 'utm_medium', { reads: column('utm_medium') }),
      campaign: field('string', 'utm_campaign', { reads: column('utm_campaign') }),
      term: field('string', 'utm_term', { reads: column('utm_term') }),
      content: field('string', 'utm_content', { reads: column('utm_content') }),
      landing_page: field('string', 'first page of the visit', selective),
      occurred_at: field('time', 'when it happened'),
    }),
  },
  subscription_contracts: {
    relation: { name: 'stg_subscriptions', alias: 'subscriptions' },
    rows: 'many',
    time: 'dated_at',
    currency: 'currency_code',
    help: 'Subscriptions, in their present state',
    fields: fields({
      status: field('string', 'status', { oneOf: ['active', 'paused', 'cancelled', 'expired', 'failed'] }),
      product_id: field('string', 'product', selective),
      interval: field('string', 'unit of the billing interval', {
        oneOf: ['day', 'week', 'month', 'year'],
        reads: column('interval_unit'),
      }),
      price: field('money', 'price in the currency of the subscription'),
      started_at: field('time', 'started'),
      cancelled_at: field('time', 'cancelled'),
      next_billing_at: field('time', 'next billing'),
    }),
  },
  engagement_events: {
    relation: { name: 'stg_engagement_events', alias: 'events' },
    rows: 'many',
    events: ENGAGEMENTS,
    time: 'occurred_at',
    kind: 'event_kind',
    help: 'Messages by SMS and agent, replies and clicks; not those of email',
    fields: fields({
      event_kind: field('string', 'what happened', {
        oneOf: ENGAGEMENTS,
      }),
      campaign_id: field('string', 'campaign', selective),
      occurred_at: field('time', 'when it happened'),
    }),
  },
  customer_attributes: {
    relation: { name: 'customers', alias: 'customers' },
    rows: 'one',
    attributes: true,
    help: 'What is said of the customer: tags, and properties that events set',
    fields: fields({
      tags: field('tag', 'one of the tags', { each: true }),
    }),
  },
} satisfies Record<string, Source>

export type SourceName = keyof typeof SOURCE_TABLE
export const SOURCES: Readonly<Record<SourceName, Source>> = SOURCE_TABLE

/** What conditions read that is no source of rules by this name. */
const INNER_TABLE = {
  /** The values of attributes: one row for each that a customer has. Rules say `customer_attributes`. */
  attributes: {
    relation: { name: 'stg_customer_attributes', alias: 'attributes' },
    rows: 'many',
    events: ['updateProperties'],
    fields: {},
    help: 'Properties that events set',
  },
  /** Only conditions of the customer-data host read these two. */
  any_event: {
    relation: { name: 'stg_events', alias: 'events' },
    rows: 'many',
    time: 'occurred_at',
    events: 'each',
    fields: {},
    help: 'Events of every type',
  },
  sessions: {
    relation: { name: 'stg_sessions', alias: 'sessions' },
    rows: 'many',
    time: 'started_at',
    fields: {},
    help: 'Visits',
  },
  /** Only built-in segments read these two. */
  rfm: { relation: { name: 'rfm', alias: 'rfm' }, rows: 'many', fields: {}, help: 'Scores and tiers' },
  churn: { relation: { name: 'churn', alias: 'churn' }, rows: 'many', fields: {}, help: 'Who is at risk' },
} satisfies Record<string, Source>

/** What the rows of a test are rows of. */
export type RowsName = SourceName | keyof typeof INNER_TABLE

const ROWS_TABLE: Readonly<Record<RowsName, Source>> = { ...SOURCES, ...INNER_TABLE }

export const rowsNamed = (name: RowsName): Source => ROWS_TABLE[name]

export const ATTRIBUTE_PREFIX = 'attributes.'
/** How the catalog and messages call the fields under the prefix. */
export const ATTRIBUTE_FIELD = `${ATTRIBUTE_PREFIX}<name>`
