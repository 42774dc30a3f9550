import t from 'tap'
import { loadModels } from '../src/model/graph.ts'
import { NUMBERS } from '../src/ops/numbers.ts'
import { SOURCES } from '../src/segment/catalog.ts'
import { parseDefinition } from '../src/segment/definition.ts'
import { compileOne } from '../src/segment/plan.ts'
import { planned } from './fixtures/evaluators.ts'
import { fillRelations, withModels } from './fixtures/model-case.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'

const models = await loadModels()

for (const [whose, subject] of Object.entries({ 'one profile': '1', 'many profiles': 'n' }))
  t.test(`properties that anyone sets on ${whose} need not fit into memory`, async (t) => {
    await withModels(models, {}, async (connection) => {
      await connection.run(`
        insert into events (event_id, subject, event_type, occurred_at, properties)
        select n, ${subject}, 'updateProperties', '2025-01-01'::timestamp + to_seconds(n),
          (select json_group_object('p' || n || '_' || k, repeat('x', 15)) from range(100) as names (k))
        from range(5000) as sent (n)`)
      // With lists and max_by these 14 MB took more than 200.
      await connection.run(`set temp_directory = '${t.testdir()}'; set memory_limit = '120MB'`)
      await t.resolves(connection.run('create table computed as from profile_properties'))
    })
  })

/** The most that an import takes, and the most that the lake can hold. */
const AMOUNTS = ['0.00', '0.01', '99999999999.99', '9999999999999999.99']
const MOST = 2_147_483_647

/** A hundred orders and refunds of each of two customers, of one who was removed, and of nobody; all amounts of a few. */
function extremes(random: RandomSource, amounts: readonly string[]) {
  const amount = () => random.pick(amounts)
  // Of a line, and of an event, a store may say that it is negative.
  const signed = () => `${random.pick(['', '-'])}${amount()}`
  const whole = () => random.pick([0, 1, MOST])
  const currency_code = random.pick(['USD', 'EUR'])
  const created_at = '2025-06-01'
  const each = [1, 2, 3, null].flatMap((subject) =>
    Array.from({ length: 100 }, (_, n) => ({ subject, id: `${subject}-${n}` })),
  )
  const line = () => ({
    ...{ product_id: random.pick(['p1', 'p2']), quantity: whole(), price: signed() },
    total: random.chance(0.5) ? signed() : null,
  })
  return {
    customers_source: [1, 2].map((subject) => ({
      subject,
      customer_id: `c${subject}`,
      email: `${subject}@example.com`,
      provenance: 'server',
    })),
    orders_source: each.map(({ subject, id }) => ({
      ...{
        order_id: id,
        subject,
        currency_code,
        created_at,
        state: 'complete',
        lines: random.list(0, 3, line),
      },
      ...{ total: amount(), refunded_total: amount(), subtotal: amount(), discount_total: amount() },
    })),
    refunds: each.map(({ subject, id }) => ({
      ...{ refund_id: id, subject, currency_code, created_at, total: amount() },
    })),
    checkouts: each.map(({ subject, id }) => ({
      ...{ checkout_id: id, subject, currency_code, created_at, total: amount(), item_count: whole() },
    })),
    subscriptions_source: each.map(({ subject, id }) => ({
      ...{ subscription_id: id, subject, currency_code, started_at: created_at, price: amount() },
    })),
    events: each.map(({ subject, id }) => ({
      ...{ event_id: id, subject, event_type: 'product_viewed', occurred_at: created_at, product_id: 'p1' },
      ...{ price: signed(), total: signed(), quantity: whole(), item_count: whole() },
    })),
    attributions: each.map(({ id }) => ({
      ...{ order_id: id, currency_code, ordered_at: created_at, amount: amount(), recovered: true },
    })),
    products_source: [{ product_id: 'p1', variants: [{ id: '1', price: amount() }] }],
  }
}

/** Everything that is made of many amounts or numbers of a customer. */
const MADE = Object.entries(SOURCES).flatMap(([source, { rows, fields }]) =>
  Object.entries(fields).flatMap(([field, { type }]) =>
    rows === 'many' && (type === 'money' || type === 'number')
      ? ['sum', 'avg', 'min', 'max'].map((agg) =>
          parseDefinition({ source, rule: { agg, field, window: { days: 90 }, op: '>', value: 1 } }),
        )
      : [],
  ),
)

t.test('models, numbers of operations and segments take the largest amounts and quantities', async (t) => {
  const random = randomSource(t)
  // Each by itself, and beside small ones.
  for (const amounts of [...AMOUNTS.map((amount) => [amount]), AMOUNTS])
    await withModels(models, { as_of: '2025-06-20' }, async (connection) => {
      await fillRelations(connection, extremes(random, amounts))
      for (const { name } of models)
        await t.resolves(
          connection.run(`create temp table computed_${name} as from ${name}`),
          `${name} of ${amounts}`,
        )
      for (const { operation, at, sql } of NUMBERS)
        if (!/\$|segment/.test(sql)) await t.resolves(connection.run(sql), `${operation} ${at} of ${amounts}`)
      await t.resolves(planned(connection, MADE), `segments of ${amounts}`)
      for (const { text, values } of MADE.map((tree) => compileOne(tree)))
        await t.resolves(connection.run(text, values), `${text} of ${amounts}`)
    })
})
