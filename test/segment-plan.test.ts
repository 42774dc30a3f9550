import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CHECKOUT } from '../src/config.ts'
import { loadModels } from '../src/model/graph.ts'
import { SOURCES, type SourceName } from '../src/segment/catalog.ts'
import { parseDefinition } from '../src/segment/definition.ts'
import { LIMITS, OPERATORS } from '../src/segment/operators.ts'
import { compileOne, compileSegments, plan } from '../src/segment/plan.ts'
import { agree, ascending, customers, planned, type Sent } from './fixtures/evaluators.ts'
import { withModels } from './fixtures/model-case.ts'
import { oracle } from './fixtures/oracle.ts'
import { DAY, type Row } from './fixtures/oracle-rows.ts'
import { randomSource } from './fixtures/random.ts'
import { randomComparison, randomLong, takes } from './fixtures/random-definition.ts'
import { openStore, randomStore, storeOf } from './fixtures/segment-store.ts'
import { AS_OF } from './fixtures/segment-values.ts'

type Json = Record<string, unknown>
const sourceNames = Object.keys(SOURCES) as SourceName[]

t.test('each operator and its complement part all customers', async (t) => {
  const random = randomSource(t)
  const store = randomStore(random, 60)
  const connection = await openStore(t, store)
  const everyone = oracle(
    { source: 'customer_profile', rule: { not: { field: 'orders_count', op: '=', value: -1 } } },
    store,
  )
  for (const op of Object.keys(OPERATORS)) {
    t.test(op, async (t) => {
      const taking = sourceNames.filter((name) =>
        Object.values(SOURCES[name].fields).some(({ type }) => takes(op, type)),
      )
      const rules = taking.flatMap((source) =>
        Array.from({ length: 3 }, () => ({ source, rule: randomComparison(random, source, op) })),
      )
      const both = rules.flatMap(({ source, rule }) => [
        { source, rule },
        { source, rule: { not: rule } },
      ])
      const found = await agree(t, connection, store, both)
      for (const index of rules.keys()) {
        const [is, isNot] = [found[2 * index] ?? [], found[2 * index + 1] ?? []]
        t.same([...is, ...isNot].sort(ascending), everyone, JSON.stringify(rules[index]))
      }
    })
  }
})

const count = (rest: Json): Sent => ({ source: 'product_events', rule: { op: 'count-over-window', ...rest } })
const where = (field: string, op: string, value: unknown) => ({ field, op, value })
const DAYS = [1, 7, 30, 90]

t.test('the planner shares work in each of its ways, and every way is right', async (t) => {
  const random = randomSource(t)
  const store = randomStore(random, 40)
  const connection = await openStore(t, store)
  const orders = (rule: Json): Sent => ({ source: 'commerce_orders', rule })
  const line = where('quantity', '>=', 2)
  const cases: Record<string, { definitions: Sent[]; passes: unknown[] }> = {
    'equal conditions of several segments are one': {
      definitions: [
        count({ where: [where('price', '>', 1), where('quantity', '=', 2)] }),
        count({
          where: [where('quantity', '=', '2.0'), where('price', '>', '1.000')],
          times: { op: '>', n: 0 },
        }),
      ],
      passes: [{ is: 'scan', level: 'row', aggregations: [{ how: 'some' }] }],
    },
    'thresholds of one count are one aggregate': {
      definitions: ['=', '!=', '<', '<=', '>', '>='].map((op) => count({ times: { op, n: 2 } })),
      passes: [{ is: 'scan', aggregations: [{ how: 'count' }] }],
    },
    'windows over the same rows are the latest time': {
      definitions: DAYS.map((days) => count({ window: { days } })),
      passes: [{ is: 'scan', aggregations: [{ how: 'latest', days: 90 }] }],
    },
    'windows with a count are counted, each once': {
      definitions: DAYS.map((days, n) => count({ window: { days }, times: { op: '=', n: n + 2 } })),
      passes: [{ is: 'scan', aggregations: DAYS.map((days) => ({ how: 'count', days })) }],
    },
    'a greatest value above a bound, or a least below one, is that there is such a row': {
      definitions: [
        ['max', '>', 5],
        ['max', '>=', 5],
        ['min', '<', 5],
        ['min', '<=', 5],
      ].map(([agg, op, value]) => ({
        source: 'product_events',
        rule: { agg, field: 'price', op, value, where: [where('quantity', '>', 1)] },
      })),
      passes: [{ is: 'scan', aggregations: Array(4).fill({ how: 'some' }) }],
    },
    'a greatest value below a bound is a value': {
      definitions: [{ source: 'product_events', rule: { agg: 'max', field: 'price', op: '<', value: 5 } }],
      passes: [{ is: 'scan', aggregations: [{ how: 'aggregate', measure: { agg: 'max' } }] }],
    },
    'windows of more than a year are read by themselves': {
      definitions: [...DAYS, 366, 367, 1095].map((days) =>
        count({ window: { days }, times: { op: '>=', n: 2 } }),
      ),
      passes: [
        { is: 'scan', days: 366 },
        { is: 'scan', days: 1095, aggregations: { length: 2 } },
      ],
    },
    'of few conditions only rows that satisfy one are grouped': {
      definitions: [where('state', '=', 'open'), where('total', '>', 5)].map((rule) => ({
        source: 'carts',
        rule,
      })),
      passes: [{ is: 'scan', only: [{ is: 'or', parts: { length: 2 } }] }],
    },
    'equality with products is a lookup': {
      definitions: ['p1', 'p2', 'P1', "it's"].map((product, n) =>
        count({
          window: { days: 30 },
          times: { op: '>=', n: n + 1 },
          where: [where('product_id', '=', product)],
        }),
      ),
      passes: [
        { is: 'lookup', level: 'row', entries: [1, 2, 3, 4].map((times) => ({ times, days: 30, rest: [] })) },
      ],
    },
    'a lookup asks what else there is to ask': {
      definitions: ['p1', 'p2', 'P1'].map((product) =>
        count({ where: [where('product_id', 'in', [product, 'p12']), where('price', '!=', 10)] }),
      ),
      passes: [{ is: 'lookup', entries: [{ values: ['p1', 'p12'], rest: [{ is: 'not' }] }, Object, Object] }],
    },
    'a kind of event that is asked for often has its own scan': {
      definitions: ['product_viewed', 'custom'].flatMap((kind, n) =>
        [1, 2, 3, 5, 10]
          .slice(n)
          .map((price) => count({ where: [where('event_kind', '=', kind), where('price', '>', price)] })),
      ),
      passes: [
        { only: [{ is: 'compare', right: { value: 'product_viewed' } }], aggregations: { length: 5 } },
        { only: [{ is: 'oneOf', values: [{ value: 'custom' }] }], aggregations: { length: 4 } },
      ],
    },
    'different values are counted by the latest row of each': {
      definitions: DAYS.map((days) => ({
        source: 'product_events',
        rule: { agg: 'countDistinct', field: 'product_id', op: '>', value: 1, window: { days } },
      })),
      passes: [{ is: 'distinct', level: 'row', days: 90, groups: [[]] }],
    },
    'a product of an order is looked up among the lines': {
      definitions: ['p1', 'p2', 'P1'].map((product) => orders(where('product_id', '=', product))),
      passes: [{ is: 'lookup', level: 'line', withRows: false }],
    },
    'of what asks for products of orders alone these are read': {
      definitions: [
        ...['=', '!=', 'contains'].map((op) => orders(where('product_id', op, 'p1'))),
        orders({
          op: 'count-over-window',
          where: [where('product_id', '!=', 'p1'), { field: 'product_id', op: 'exists' }],
        }),
        orders({
          op: 'count-over-window',
          where: [where('state', '=', 'complete'), where('product_id', '=', 'p1')],
        }),
        orders({
          op: 'count-over-window',
          times: { op: '>=', n: 2 },
          where: [where('product_id', '=', 'p1')],
        }),
        orders({ agg: 'sum', field: 'total', op: '>', value: 5, where: [where('product_id', '=', 'p1')] }),
      ],
      passes: [false, true, undefined].map((withRows) => ({
        lines: { name: 'stg_order_products' },
        ...(withRows === undefined ? { level: 'matched' } : { level: 'line', withRows }),
      })),
    },
    'of what asks for lines without a product, or how many have one, lines are': {
      definitions: [
        orders({ op: 'count-over-window', where: [where('product_id', '!=', 'p1')] }),
        orders({ op: 'count-over-window', where: [{ field: 'product_id', op: 'missing' }] }),
        orders({ agg: 'sum', field: 'quantity', op: '>', value: 2, where: [where('product_id', '=', 'p1')] }),
        orders({ agg: 'countDistinct', field: 'product_id', op: '>=', value: 2 }),
        orders({ op: 'count-over-window', where: [where('product_id', '=', 'p1'), line] }),
      ],
      passes: [{ is: 'scan', level: 'matched' }, { is: 'distinct' }, { is: 'scan', level: 'line' }].map(
        (pass) => ({ ...pass, lines: { name: 'stg_order_lines' } }),
      ),
    },
    'lines bound to their order are joined with it': {
      definitions: [orders({ op: 'count-over-window', where: [where('state', '=', 'complete'), line] })],
      passes: [{ is: 'scan', level: 'line', withRows: true }],
    },
    'orders with such a line are counted once': {
      definitions: [2, 3].map((n) =>
        orders({ op: 'count-over-window', times: { op: '>=', n }, where: [line] }),
      ),
      passes: [
        { is: 'scan', level: 'matched', matches: [[Object]], aggregations: [{ how: 'count', match: 0 }] },
      ],
    },
  }
  for (const [fact, { definitions, passes }] of Object.entries(cases)) {
    t.test(fact, async (t) => {
      const made = plan(definitions.map((each, ordinal) => ({ ordinal, tree: parseDefinition(each) })))
      t.match(made.passes, passes)
      t.equal(made.passes.length, passes.length)
      await agree(t, connection, store, definitions)
    })
  }
})

t.test('as many conditions as there may be are evaluated within 64 MB', async (t) => {
  const store = randomStore(randomSource(t), 60)
  const connection = await openStore(t, store)
  await connection.run(`set memory_limit = '64MB'`)
  const conditions = Array.from(
    { length: LIMITS.conditions },
    (_, n) => count({ window: { days: 1 + n } }).rule,
  )
  const [members = []] = await agree(t, connection, store, [
    { source: 'product_events', rule: { any: conditions } },
  ])
  t.ok(members.length > 0)
})

t.test('many long definitions are evaluated together within 64 MB', async (t) => {
  const random = randomSource(t)
  const store = randomStore(random, 60)
  const connection = await openStore(t, store)
  await connection.run(`set memory_limit = '64MB'`)
  const found = await planned(
    connection,
    Array.from({ length: 10 }, () => parseDefinition(randomLong(random))),
  )
  t.ok(found.some((members) => members.length > 0))
})

t.test('a window of N days ends exactly N × 24 hours ago, over a leap day too', async (t) => {
  const event = (at: number): Row => ({ customer: 0, occurred_at: at, event_kind: 'product_viewed' })
  for (const days of [1, 365, 1095]) {
    for (const [distance, inside] of [
      [1, true],
      [0, false],
      [-1, false],
    ] as const) {
      const time = AS_OF - days * DAY + distance
      const store = storeOf({
        customers: [{ customer: 0, email: 'a@example.com', last_order_at: time }],
        stg_product_events: [event(time)],
        stg_orders: [{ customer: 0, order_id: 'o', created_at: time, total: '1.00', currency_code: 'USD' }],
        stg_checkouts: [{ customer: 0, created_at: time, abandoned_at: time }],
        stg_subscriptions: [{ customer: 0, dated_at: time }],
      })
      const connection = await openStore(t, store)
      const last = { op: 'withinLast', value: { days } }
      const definitions = [
        count({ window: { days } }),
        ...['commerce_orders', 'carts', 'subscription_contracts'].map((source) => ({
          source,
          rule: { op: 'count-over-window', window: { days } },
        })),
        {
          source: 'commerce_orders',
          rule: { agg: 'sum', field: 'total', window: { days }, op: '>', value: 0 },
        },
        { source: 'carts', rule: { op: 'count-over-window', where: [{ field: 'abandoned_at', ...last }] } },
        { source: 'customer_profile', rule: { field: 'last_order_at', ...last } },
        {
          source: 'customer_profile',
          rule: { not: { field: 'last_order_at', ...last, op: 'notWithinLast' } },
        },
      ]
      const found = await agree(t, connection, store, definitions)
      t.same(found, Array(definitions.length).fill(inside ? [0] : []), `${days} days less ${distance} ms`)
    }
  }
})

t.test('a day of a window is 24 hours where clocks are put forward or back', async (t) => {
  const hour = DAY / 24
  for (const now of ['2028-03-13T05:30:00Z', '2028-11-06T06:30:00Z']) {
    const asOf = Date.parse(now)
    const distances = [23 * hour, DAY - 1, DAY, DAY + 1, 25 * hour]
    const rows = storeOf({
      customers: distances.map((ago, customer) => ({ customer, phone: '+1', last_order_at: asOf - ago })),
      stg_product_events: distances.map((ago, customer) => ({ customer, occurred_at: asOf - ago })),
    })
    const store = { ...rows, asOf }
    const connection = await openStore(t, store, 'America/New_York')
    const found = await agree(t, connection, store, [
      count({ window: { days: 1 } }),
      { source: 'customer_profile', rule: { field: 'last_order_at', op: 'withinLast', value: { days: 1 } } },
      { source: 'customer_profile', rule: { field: 'days_since_last_order', op: '=', value: 0 } },
    ])
    t.same(found, Array(3).fill([0, 1]), now)
  }
})

t.test('what happens at the evaluation time counts, what comes after does not', async (t) => {
  const store = storeOf({
    customers: [0, 1].map((customer) => ({ customer, email: 'a@example.com' })),
    stg_product_events: [0, 1].map((customer) => ({ customer, occurred_at: AS_OF + customer })),
  })
  const connection = await openStore(t, store)
  t.same(await agree(t, connection, store, [count({})]), [[0]])
})

t.test('inside where a negative operator complements the row, outside the customer', async (t) => {
  const order = (customer: number, order_id: string, state: string | null): Row => ({
    customer,
    order_id,
    state,
    created_at: AS_OF - DAY,
  })
  const store = storeOf({
    customers: [0, 1, 2, 3].map((customer) => ({ customer, phone: '+1' })),
    stg_orders: [
      order(0, 'a', 'cancelled'),
      order(0, 'b', 'complete'),
      order(1, 'c', 'cancelled'),
      order(2, 'd', null),
    ],
  })
  const connection = await openStore(t, store)
  const notCancelled = where('state', '!=', 'cancelled')
  const found = await agree(t, connection, store, [
    { source: 'commerce_orders', rule: notCancelled },
    { source: 'commerce_orders', rule: { op: 'count-over-window', where: [notCancelled] } },
  ])
  t.same(found, [
    [2, 3],
    [0, 2],
  ])
})

t.test('conditions on lines in one where look at one and the same line', async (t) => {
  const line = (order_id: string, product_id: string, quantity: string): Row => ({
    order_id,
    customer: order_id === 'a' ? 0 : 1,
    created_at: AS_OF - DAY,
    product_id,
    quantity,
  })
  const store = storeOf({
    customers: [0, 1].map((customer) => ({ customer, store_customer_id: 's' })),
    stg_orders: ['a', 'b'].map((order_id, customer) => ({ order_id, customer, created_at: AS_OF - DAY })),
    stg_order_lines: [line('a', 'p1', '1'), line('a', 'p2', '5'), line('b', 'p1', '5')],
  })
  const connection = await openStore(t, store)
  const [product, quantity] = [where('product_id', '=', 'p1'), where('quantity', '>=', 5)]
  const found = await agree(t, connection, store, [
    { source: 'commerce_orders', rule: { op: 'count-over-window', where: [product, quantity] } },
    { source: 'commerce_orders', rule: { all: [product, quantity] } },
    { source: 'commerce_orders', rule: { agg: 'sum', field: 'quantity', op: '=', value: 6 } },
  ])
  t.same(found, [[1], [0, 1], [0]])
})

t.test('negative tests of a line hold in where for an order without lines', async (t) => {
  const store = storeOf({
    customers: [0, 1, 2].map((customer) => ({ customer, store_customer_id: 's' })),
    stg_orders: ['none', 'p1', 'p2'].map((order_id, customer) => ({
      order_id,
      customer,
      created_at: AS_OF - DAY,
    })),
    stg_order_lines: ['p1', 'p2'].map((product_id, index) => ({
      order_id: product_id,
      customer: index + 1,
      created_at: AS_OF - DAY,
      product_id,
    })),
  })
  const connection = await openStore(t, store)
  const [without, unnamed] = [where('product_id', '!=', 'p1'), { field: 'sku', op: 'missing' }]
  const orders = (...tests: object[]) => ({
    source: 'commerce_orders',
    rule: { op: 'count-over-window', where: tests },
  })
  const found = await agree(t, connection, store, [
    orders(without),
    orders(where('product_id', 'notIn', ['p1', 'p3']), unnamed),
    orders(without, { field: 'product_id', op: 'exists' }),
    orders(where('product_id', '=', 'p1')),
  ])
  t.same(found, [[0, 2], [0, 2], [2], [1]])
})

t.test('counts of codes take orders that have one, and each of its codes', async (t) => {
  const store = storeOf({
    customers: [0, 1].map((customer) => ({ customer, phone: '+1' })),
    stg_orders: [
      [['A', 'B'], ['B'], [], null],
      [['A'], []],
    ].flatMap((codes, customer) =>
      codes.map((discount_codes) => ({ customer, created_at: AS_OF - DAY, discount_codes })),
    ),
  })
  const connection = await openStore(t, store)
  const counted = (agg: string, value: number, rest: object = {}) => ({
    source: 'commerce_orders',
    rule: { agg, field: 'discount_code', op: '=', value, ...rest },
  })
  const found = await agree(t, connection, store, [
    counted('count', 2),
    counted('count', 1),
    counted('countDistinct', 2),
    counted('countDistinct', 1),
    counted('countDistinct', 2, { op: '!=' }),
    counted('countDistinct', 0, { where: [where('state', '=', 'pending')] }),
  ])
  t.same(found, [[0], [1], [0], [1], [1], [0, 1]])
})

t.test('sums and averages of money take orders in the brand’s currency only', async (t) => {
  const store = storeOf({
    customers: [{ customer: 0, email: 'a@example.com' }],
    stg_orders: [
      ['a', 'USD', '10.00'],
      ['b', 'EUR', '90.00'],
    ].map(([order_id, currency_code, total]) => ({
      customer: 0,
      created_at: AS_OF - DAY,
      ...{ order_id, currency_code, total },
    })) as Row[],
  })
  const connection = await openStore(t, store)
  const total = (agg: string, value: number) => ({
    source: 'commerce_orders',
    rule: { agg, field: 'total', op: '=', value },
  })
  const found = await agree(t, connection, store, [total('sum', 10), total('avg', 10), total('max', 90)])
  t.same(found, [[0], [0], [0]])
})

t.test('an average is compared with every decimal of the value', async (t) => {
  const store = storeOf({
    customers: [{ customer: 0, phone: '+1' }],
    stg_orders: ['1.00', '1.00', '2.00'].map((total) => ({
      ...{ customer: 0, created_at: AS_OF - DAY, currency_code: 'USD', item_count: '1', total },
    })),
  })
  const connection = await openStore(t, store)
  const averaged = (op: string, value: number) => ({
    source: 'commerce_orders',
    rule: { agg: 'avg', field: 'total', op, value },
  })
  const found = await agree(t, connection, store, [
    averaged('>', 1.33333333),
    averaged('>', 1.33333334),
    averaged('<', 1.33333334),
    averaged('<', 1.33333333),
  ])
  t.same(found, [[0], [], [0], []])
})

t.test('nobody without an email, a phone or a store id is a member', async (t) => {
  const store = storeOf({
    customers: [
      { customer: 0, orders_count: '0' },
      { customer: 1, phone: '+1' },
    ],
  })
  const connection = await openStore(t, store)
  const definition = { source: 'customer_profile', rule: { not: where('orders_count', '>', 0) } }
  t.same(await agree(t, connection, store, [definition]), [[1]])
})

t.test('a brand without segments has no members', async (t) => {
  const connection = await openStore(t, storeOf({ customers: [{ customer: 0, phone: '+1' }] }))
  const { statements, levels } = compileSegments([], new Date(AS_OF))
  for (const { text, values } of statements) await connection.run(text, values)
  t.same(levels, [])
})

t.test('every field and operator evaluates over the real models, planned as plain', async (t) => {
  const random = randomSource(t)
  await withModels(await loadModels(), { as_of: '2026-01-01' }, async (connection) => {
    await connection.run(readFileSync(join(CHECKOUT, 'test/fixtures/random-store.sql'), 'utf8'))
    await connection.run(`update customers_source set email = customer_id || '@example.com'`)
    const trees = sourceNames.flatMap((source) =>
      Object.keys(SOURCES[source].fields).flatMap((field) =>
        Object.keys(OPERATORS)
          .filter((op) => takes(op, SOURCES[source].fields[field]?.type ?? 'tag'))
          .map((op) => parseDefinition({ source, rule: randomComparison(random, source, op, field) })),
      ),
    )
    for (const op of Object.keys(OPERATORS)) {
      const source = 'customer_attributes'
      trees.push(
        ...Array.from({ length: 4 }, () =>
          parseDefinition({ source, rule: randomComparison(random, source, op) }),
        ),
      )
    }
    const together = await planned(connection, trees)
    const each = trees.map((tree, ordinal) => {
      const { text, values } = compileOne(tree)
      return { ordinal, text, values }
    })
    t.ok(each.length > 200, `${each.length} statements`)
    for (const { ordinal, text, values } of each)
      if (ordinal % 7 === 0)
        t.same(together[ordinal], await customers(connection, text, values), `segment ${ordinal}`)
      else await connection.prepare(text)
  })
})
