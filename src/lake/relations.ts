import { UPDATE } from '../event/check.ts'
import { CAMPAIGNS } from './campaign-relations.ts'
import { COMMERCE } from './commerce-relations.ts'
import { integer, money, quarterOf, type Relation, text, time } from './relation.ts'

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
  quantity: integer('units; null where what was sent is no whole number from 0 on'),
  currency_code: text('currency of price and total'),
  collection_id: text('collection'),
  query: text('search words'),
  cart_id: text('cart'),
  checkout_id: text('checkout'),
  order_id: text('store order id'),
  total: money('value of cart, checkout or order'),
  item_count: integer('items in cart or checkout; null as units are'),
  message_id: text('message whose link was clicked'),
  conversation_id: text('conversation of that message'),
  campaign_id: text('campaign of that message'),
} as const

/**
 * The relations of the lake: what a row of each Parquet file holds. `brand_id` and `tick` lead every row.
 * tick = number of the publish that wrote the row; it never decreases in commit order, so of a mutable
 * relation's versions the one with the greatest tick is the current one.
 */
export const RELATIONS = {
  events: {
    kind: 'append',
    schemaVersion: 1,
    key: ['event_id'],
    // What is set on profiles is read from the JSON, which is most of a file: few row groups hold any.
    order: [`event_type = '${UPDATE}'`, quarterOf('occurred_at'), 'subject', 'occurred_at'],
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
      properties: [
        'JSON',
        'all properties as sent, without identifying values; of a decimal that no double holds (99999999999999.99) the nearest one',
      ],
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
      source: text('who said so: browser, server (custom webhooks, too), import or store'),
      undone_at: time('undone'),
      undone_by: text('who or what undid it'),
      deleted: ['BOOLEAN', 'removed'],
    },
  },
  ...COMMERCE,
  ...CAMPAIGNS,
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
