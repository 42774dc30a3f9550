/** What a value is read as. `price` keeps six decimals until it is multiplied, `whole` is an integer. */
export type TargetType =
  | 'id'
  | 'text'
  | 'email'
  | 'phone'
  | 'money'
  | 'price'
  | 'whole'
  | 'time'
  | 'flag'
  | 'choice'
  | 'consent'
  | 'currency'
  | 'type'
  | 'list'
  | 'array'
  | 'object'

export interface Target {
  type: TargetType
  what: string
  /** A row without it is rejected, and a mapping without it refused. */
  required?: true
  /** Of a `choice`. */
  values?: readonly string[]
  /** An `id` that the store did not make: it is read as it is. */
  own?: true
  /** An `id` of a customer: the store's global id of anything else is refused. */
  ofCustomer?: true
  /** A `time` that has been: a row that says one more than 24 hours ahead is rejected. */
  isPast?: true
  /** What a word that stands for no id is (`event/id.ts`), of an `id` that says whose a row is. */
  noId?: 'missing' | 'refused'
}

export const KINDS = [
  'orders',
  'refunds',
  'customers',
  'products',
  'checkouts',
  'subscriptions',
  'events',
] as const
export type ImportKind = (typeof KINDS)[number]

const customer = {
  customer_external_id: {
    type: 'id',
    ofCustomer: true,
    noId: 'missing',
    what: 'the store’s id of the customer',
  },
  email: { type: 'text', what: 'email address of the customer' },
  phone: { type: 'text', what: 'phone number; without country code it is of the brand’s default region' },
} as const satisfies Record<string, Target>

/** Fields of an order line: `line.<name>` where the file has one row per line, keys of `lines` where it has one per order. */
export const LINE_TARGETS = {
  id: { type: 'id', what: 'id of the line, unique within the order; default its position' },
  product_id: { type: 'id', what: 'the store’s id of the product' },
  variant_id: { type: 'id', what: 'the store’s id of the variant' },
  title: { type: 'text', what: 'title of the product' },
  sku: { type: 'text', what: 'stock keeping unit' },
  quantity: { type: 'whole', what: 'units; default 1' },
  price: { type: 'price', what: 'price of one unit' },
  total: { type: 'money', what: 'total of the line; default quantity × price, rounded half up' },
} as const satisfies Record<string, Target>

const lines = Object.fromEntries(
  Object.entries(LINE_TARGETS).map(([name, target]) => [`line.${name}`, target] as const),
) as { [Name in keyof typeof LINE_TARGETS as `line.${Name}`]: Target }

/** Every field that a mapping can fill, by kind of import. The README's table is generated from it. */
export const TARGETS: Record<ImportKind, Readonly<Record<string, Target>>> = {
  orders: {
    external_id: {
      type: 'id',
      required: true,
      what: 'the store’s id of the order; rows that share it are one order',
    },
    number: { type: 'text', what: 'number shown to the customer; default external_id' },
    state: {
      type: 'choice',
      values: ['complete', 'pending', 'cancelled', 'refunded'],
      what: 'state; default follows from billing_status, cancelled_at and refunded_total, else complete',
    },
    billing_status: {
      type: 'choice',
      values: ['pending', 'paid', 'partially_refunded', 'refunded', 'voided'],
      what: 'billing status; default follows from state and refunded_total, else paid',
    },
    currency_code: { type: 'currency', what: 'ISO 4217 code; default the brand’s currency' },
    subtotal: { type: 'money', what: 'before discounts; default the sum of the line totals' },
    discount_total: { type: 'money', what: 'discounts; default 0' },
    total: {
      type: 'money',
      what: 'total of the order; default the sum of the line totals, less discount_total where no line says its total',
    },
    refunded_total: { type: 'money', what: 'refunded so far; default 0, or total when refunded' },
    discount_codes: { type: 'list', what: 'codes used: a list, a JSON array or a text with commas' },
    test: { type: 'flag', what: 'a test order counts nowhere; default false' },
    created_at: {
      type: 'time',
      required: true,
      isPast: true,
      what: 'placed at; the earliest of an order’s rows',
    },
    updated_at: { type: 'time', isPast: true, what: 'last change: an older one never replaces a newer one' },
    cancelled_at: { type: 'time', what: 'cancelled at' },
    recovered_at: { type: 'time', what: 'attributed as recovered at' },
    ...customer,
    lines: {
      type: 'array',
      what: 'the lines of an order of one row: a JSON array or nested list of the line fields',
    },
    ...lines,
  },
  refunds: {
    external_id: {
      type: 'id',
      required: true,
      what: 'the store’s id of the refund; rows that share it are one refund',
    },
    order_external_id: {
      type: 'id',
      noId: 'missing',
      what: 'the store’s id of the order, whose refunded_total has it already; without it the refund lowers what its customer spent',
    },
    total: { type: 'money', required: true, what: 'given back; of several rows the sum' },
    currency_code: { type: 'currency', what: 'ISO 4217 code; default the brand’s currency' },
    created_at: {
      type: 'time',
      required: true,
      isPast: true,
      what: 'given back at; the earliest of its rows',
    },
    ...customer,
  },
  customers: {
    ...customer,
    customer_external_id: { ...customer.customer_external_id, noId: 'refused' },
    email: { type: 'email', what: customer.email.what },
    phone: { type: 'phone', what: customer.phone.what },
    first_name: { type: 'text', what: 'first name' },
    last_name: { type: 'text', what: 'last name' },
    tags: { type: 'list', what: 'tags: a list, a JSON array or a text with commas' },
    email_consent: { type: 'consent', what: 'whether they may be sent marketing email; blank says nothing' },
    email_consent_at: { type: 'time', what: 'when they said so of email' },
    sms_consent: { type: 'consent', what: 'the same of text messages' },
    sms_consent_at: { type: 'time', what: 'when they said so of text messages' },
    created_at: { type: 'time', isPast: true, what: 'first known; the earliest that anything says' },
    updated_at: { type: 'time', isPast: true, what: 'last change: an older one never replaces a newer one' },
  },
  products: {
    id: { type: 'id', required: true, what: 'the store’s id of the product' },
    title: { type: 'text', required: true, what: 'title' },
    status: { type: 'text', what: 'status; default active' },
    variants: { type: 'array', what: 'a JSON array or nested list of { id, price, sku }' },
    images: { type: 'array', what: 'a JSON array or nested list of { id, url, alt_text }' },
    updated_at: { type: 'time', isPast: true, what: 'last change: an older one never replaces a newer one' },
  },
  checkouts: {
    external_id: { type: 'id', required: true, what: 'the store’s id of the checkout' },
    ...customer,
    anonymous_id: { type: 'id', own: true, noId: 'missing', what: 'visitor id' },
    state: {
      type: 'choice',
      values: ['open', 'abandoned', 'recovered', 'completed'],
      what: 'state; default follows from completed_at and abandoned_at, else open',
    },
    currency_code: { type: 'currency', what: 'ISO 4217 code; default the brand’s currency' },
    total: { type: 'money', what: 'value; default 0' },
    item_count: { type: 'whole', what: 'items; default 0' },
    url: { type: 'text', what: 'address to go on at' },
    created_at: { type: 'time', required: true, isPast: true, what: 'started at' },
    updated_at: { type: 'time', isPast: true, what: 'last change: an older one never replaces a newer one' },
    abandoned_at: { type: 'time', what: 'abandoned at' },
    completed_at: { type: 'time', what: 'completed at' },
  },
  subscriptions: {
    external_id: { type: 'id', required: true, what: 'the store’s id of the subscription' },
    ...customer,
    status: {
      type: 'choice',
      values: ['active', 'paused', 'cancelled', 'expired', 'failed'],
      what: 'status; default cancelled when cancelled_at is given, else active',
    },
    product_id: { type: 'id', what: 'the store’s id of the product' },
    title: { type: 'text', what: 'title of the product' },
    interval_unit: { type: 'choice', values: ['day', 'week', 'month', 'year'], what: 'unit of the interval' },
    interval_count: { type: 'whole', what: 'units between billings' },
    price: { type: 'money', what: 'price of one billing' },
    currency_code: { type: 'currency', what: 'ISO 4217 code; default the brand’s currency' },
    started_at: { type: 'time', what: 'started at' },
    next_billing_at: { type: 'time', what: 'next billing' },
    cancelled_at: { type: 'time', what: 'cancelled at' },
    updated_at: { type: 'time', isPast: true, what: 'last change: an older one never replaces a newer one' },
  },
  events: {
    event_id: { type: 'id', own: true, what: 'the sender’s id; default a hash of the row' },
    event_type: { type: 'type', required: true, what: 'type: a letter, then letters, digits or underscores' },
    occurred_at: {
      type: 'time',
      required: true,
      isPast: true,
      what: 'when it happened; any time in the past',
    },
    ...customer,
    profile_id: {
      type: 'id',
      own: true,
      noId: 'missing',
      what: 'public customer id, or the sender’s own id of a person',
    },
    anonymous_id: { type: 'id', own: true, noId: 'missing', what: 'visitor id' },
    properties: { type: 'object', what: 'a JSON object or a struct; `properties.<name>` sets one of them' },
  },
}

/** As the public resources name them, and exports of stores, in lower case. */
const OTHER_NAMES: Partial<Record<ImportKind, Readonly<Record<string, string>>>> = {
  customers: {
    external_id: 'customer_external_id',
    'accepts email marketing': 'email_consent',
    accepts_email_marketing: 'email_consent',
    'accepts marketing': 'email_consent',
    accepts_marketing: 'email_consent',
    'accepts sms marketing': 'sms_consent',
    accepts_sms_marketing: 'sms_consent',
  },
}

/** The target that a name stands for. */
export function targetNamed(kind: ImportKind, name: string): string | undefined {
  const names: Readonly<Record<string, string>> = {
    ...OTHER_NAMES[kind],
    store_customer_id: 'customer_external_id',
  }
  const target = Object.hasOwn(names, name) ? (names[name] ?? name) : name
  return Object.hasOwn(TARGETS[kind], target) || (kind === 'events' && PROPERTY.test(name))
    ? target
    : undefined
}

/** Event properties can have any name. */
export const PROPERTY = /^properties\.(.+)$/
