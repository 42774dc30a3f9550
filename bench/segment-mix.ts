/**
 * The published mix of 100 segments over the demo store: 40 with a `where` of their own (half equality, half contains
 * or range), 30 counts, 20 aggregates, 10 without a window. Another `hundred` (1, 2) asks the same of other values.
 */
export function segmentMix(hundred = 0): object[] {
  return [
    ...equalities(hundred),
    ...texts(hundred),
    ...ranges(hundred),
    ...counts(hundred),
    ...aggregates(hundred),
    ...unbounded(hundred),
  ]
}

const product = (n: number) => String(8_200_000_000_000 + n)
const is = (field: string, op: string, value?: unknown) => ({
  field,
  op,
  ...(value === undefined ? {} : { value }),
})
const WINDOWS = [7, 14, 30, 60, 90, 180, 365]
const window = (n: number) => ({ days: WINDOWS[n % WINDOWS.length] as number })

const counted = (source: string, n: number, times: number, where: object[]) => ({
  source,
  rule: { op: 'count-over-window', window: window(n), times: { op: '>=', n: times }, where },
})

const equalities = (hundred: number) =>
  Array.from({ length: 20 }, (_, n) =>
    n % 4 === 3
      ? counted('commerce_orders', n, 1, [is('product_id', '=', product(n * 7 + hundred))])
      : counted('product_events', n, 1 + (n % 3), [
          is('event_kind', '=', 'product_viewed'),
          is('product_id', '=', product(n * 9 + hundred)),
        ]),
  )

const WORDS = ['Jasmine', 'Oat', 'Glass', 'Walnut', 'Almond', 'Slate', 'Kenya', 'Bamboo', 'Rust', 'Vanilla']
const texts = (hundred: number) =>
  WORDS.map((word, n) =>
    counted('product_events', n + hundred, 1 + (n % 2), [is('product_title', 'contains', word)]),
  )

const ranges = (hundred: number) =>
  Array.from({ length: 10 }, (_, n) =>
    counted('product_events', n + 3, 1 + (n % 4), [
      is('event_kind', '=', n % 2 ? 'product_added_to_cart' : 'product_viewed'),
      is('price', 'between', [`${5 + n * 2 + hundred}.00`, `${12 + n * 3 + hundred}.00`]),
    ]),
  )

const counts = (hundred: number) =>
  Array.from({ length: 30 }, (_, n) =>
    n % 5 === 4
      ? counted('commerce_orders', n + hundred, 1 + (n % 6), [is('state', '=', 'complete')])
      : counted('product_events', n + hundred, 1 + ((n * 7) % 20), [
          is('event_kind', '=', ['product_viewed', 'product_added_to_cart'][n % 2]),
        ]),
  )

const aggregates = (hundred: number) =>
  Array.from({ length: 20 }, (_, n) => {
    const more = n + hundred
    const kinds = [
      { source: 'commerce_orders', agg: 'sum', field: 'total', op: '>=', value: `${40 + more * 5}.00` },
      { source: 'commerce_orders', agg: 'avg', field: 'total', op: '>', value: `${25 + more}.00` },
      {
        source: 'product_events',
        agg: 'countDistinct',
        field: 'product_id',
        op: '>=',
        value: 2 + (more % 4),
      },
      { source: 'product_events', agg: 'max', field: 'price', op: '>', value: `${20 + more}.00` },
    ]
    const { source, ...rule } = kinds[n % 4] as (typeof kinds)[number]
    return { source, rule: { ...rule, window: window(n) } }
  })

const unbounded = (hundred: number) => [
  { source: 'commerce_orders', rule: is('product_id', '=', product(12 + hundred)) },
  {
    source: 'commerce_orders',
    rule: hundred ? is('discount_code', 'contains', `E${hundred}`) : is('discount_code', 'exists'),
  },
  { source: 'product_events', rule: is('product_id', 'in', [product(3 + hundred), product(5 + hundred)]) },
  { source: 'carts', rule: is('state', '=', ['abandoned', 'open', 'completed'][hundred]) },
  { source: 'utm_attribution', rule: is('medium', '=', ['email', 'cpc', 'social'][hundred]) },
  { source: 'subscription_contracts', rule: is('status', '=', ['active', 'paused', 'cancelled'][hundred]) },
  { source: 'customer_profile', rule: is('total_spend', '>=', `${150 + hundred}.00`) },
  { source: 'customer_profile', rule: is('last_order_at', 'notWithinLast', { days: 90 + hundred }) },
  {
    source: 'customer_profile',
    rule: { all: [is('orders_count', '>=', 2 + hundred), is('last_event_at', 'withinLast', { days: 30 })] },
  },
  {
    source: 'customer_profile',
    rule: { not: { source: 'carts', ...is('total', '>', `${50 + hundred}.00`) } },
  },
]
