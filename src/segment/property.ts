import { SOURCES } from './catalog.ts'
import { column, type Expr } from './expression.ts'
import type { FieldType } from './operators.ts'

/** What conditions of the customer-data host can ask of profiles and sessions: the built-in property types. */

export type Target = 'profiles' | 'sessions'
export type PropertyType = 'string' | 'integer' | 'decimal' | 'date' | 'boolean'

export interface Property {
  id: string
  target: Target
  /** What conditions call it. */
  propertyName: string
  type: PropertyType
  /** The column holds a list: compare with `in` and `notIn`. */
  multivalued: boolean
  name: string
  description: string
  field: { type: FieldType; reads: Expr; each?: true; oneOf?: readonly string[] }
  /** The field of rules that means the same; segments can be made of these. */
  rule?: { source: string; field: string }
}

/** As what the host shows values of fields. */
export const PROPERTY_TYPES: Readonly<Record<FieldType, PropertyType>> = {
  number: 'integer',
  money: 'decimal',
  time: 'date',
  string: 'string',
  email: 'string',
  tag: 'string',
  boolean: 'boolean',
}

type Row = [id: string, type: FieldType, column: string, description: string, more?: Partial<Property>]

const PROFILES: readonly Row[] = [
  ['itemId', 'string', 'customer_id', 'Id of the profile', { propertyName: 'itemId' }],
  [
    'provenance',
    'string',
    'provenance',
    'How the profile is known: server, pixel or merged',
    { propertyName: 'provenance' },
  ],
  ['email', 'email', 'email', 'Email address, in lower case', rule('email')],
  ['phoneNumber', 'string', 'phone', 'Phone number, E.164', rule('phone')],
  ['firstName', 'string', 'first_name', 'First name'],
  ['lastName', 'string', 'last_name', 'Last name'],
  ['storeCustomerId', 'string', 'store_customer_id', "The store's id of the customer"],
  ['tags', 'tag', 'tags', 'Tags of the store', { rule: { source: 'customer_attributes', field: 'tags' } }],
  ['firstVisit', 'time', 'created_at', 'When the profile was first known', rule('created_at')],
  ['lastVisit', 'time', 'last_event_at', 'When its last event happened', rule('last_event_at')],
  [
    'totalSpend',
    'money',
    'total_spend',
    'Spent on complete orders, less refunds, in the currency of the brand',
    rule('total_spend'),
  ],
  ['ordersCount', 'number', 'orders_count', 'Complete orders', rule('orders_count')],
  [
    'averageOrderValue',
    'money',
    'average_order_value',
    'Spent on average by complete order; missing without one',
    rule('average_order_value'),
  ],
  ['firstOrderAt', 'time', 'first_order_at', 'First complete order', rule('first_order_at')],
  ['lastOrderAt', 'time', 'last_order_at', 'Last complete order', rule('last_order_at')],
]

const SESSIONS: readonly Row[] = [
  ['itemId', 'string', 'session_id', 'Id of the session'],
  ['startedAt', 'time', 'started_at', 'First event'],
  ['endedAt', 'time', 'ended_at', 'Last event'],
  ['durationSeconds', 'number', 'duration_seconds', 'Whole seconds from the first to the last event'],
  ['events', 'number', 'events', 'Events of the session'],
  ['entryUrl', 'string', 'entry_url', 'Address of the first page'],
  ['entryPath', 'string', 'entry_path', 'Path of the first page'],
  ['landingPage', 'string', 'landing_page', 'First page of the visit, as the browser says'],
  ['referrer', 'string', 'referrer', 'Referring page'],
  ['device', 'string', 'device', 'Device, where events name it'],
  ['utm.source', 'string', 'utm_source', 'Campaign source'],
  ['utm.medium', 'string', 'utm_medium', 'Campaign medium'],
  ['utm.campaign', 'string', 'utm_campaign', 'Campaign name'],
  ['utm.term', 'string', 'utm_term', 'Campaign term'],
  ['utm.content', 'string', 'utm_content', 'Campaign content'],
]

function rule(field: string): Pick<Property, 'rule'> {
  return { rule: { source: 'customer_profile', field } }
}

function properties(target: Target, rows: readonly Row[], prefix: string): Property[] {
  return rows.map(([id, type, name, description, more]) => ({
    id,
    target,
    propertyName: `${prefix}${id}`,
    type: PROPERTY_TYPES[type],
    multivalued: type === 'tag',
    name: wordsOf(id),
    description,
    field: { type, reads: column(name), ...(type === 'tag' && { each: true as const }) },
    ...more,
  }))
}

/** "firstOrderAt" becomes "First order at". */
function wordsOf(id: string): string {
  const words = id.replace(/\.|(?=[A-Z])/g, ' ').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** By target, then by id. */
export const PROPERTIES: readonly Property[] = [
  ...properties('profiles', PROFILES, 'properties.'),
  ...properties('sessions', SESSIONS, ''),
].sort((a, b) => (a.target + a.id < b.target + b.id ? -1 : 1))

export const propertiesOf = (target: Target): readonly Property[] =>
  PROPERTIES.filter((property) => property.target === target)

export const PREFIX = 'properties.'

/** What conditions can name, for a message that says what is known. */
export const propertyNames = (target: Target): string[] => [
  ...propertiesOf(target).map(({ propertyName }) => propertyName),
  ...(target === 'profiles' ? [`${PREFIX}<any name that events set>`] : []),
]

/** Whether a rule can be made of the property in this version of the rules. */
export const inRules = ({ rule: said }: Property): boolean =>
  said !== undefined && Object.hasOwn(SOURCES, said.source)
