import type { DuckDBConnection } from '@duckdb/node-api'
import t from 'tap'
import { loadModels } from '../src/model/graph.ts'
import { runModels } from '../src/model/run.ts'
import { fillRelations, withModels } from './fixtures/model-case.ts'
import {
  bucketOf,
  buyersOf,
  churnOf,
  cohortsOf,
  type NaiveBrand,
  type NaiveOrder,
  type NaiveRefund,
  type NaiveUpdate,
  productsOf,
  propertiesOf,
  rfmOf,
} from './fixtures/naive-models.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'

const BRANDS = Number(process.env.MODEL_BRANDS ?? 200)
const DAY = 86_400_000
const AS_OF = Date.parse('2026-03-08T06:30:00Z')
const ZONES = ['UTC', 'America/New_York', 'Pacific/Auckland', 'Asia/Kolkata']

/** Few customers with much in common, so that quantiles fall between equal values, and on them. */
function randomBrand(random: RandomSource): NaiveBrand {
  const customers = Array.from({ length: random.pick([0, 1, 2, 5, 10, 40]) }, (_, n) => n + 1)
  // One more than there is a profile of.
  const subject = () => (random.chance(0.05) ? null : 1 + random.below(customers.length + 1))
  const at = () =>
    AS_OF - random.pick([0, 1, 3, 10, 30, 31, 90, 400]) * DAY - random.pick([0, 1, -1, random.below(DAY)])
  const cents = () => random.pick([0, 100, 999, 1_000, 9_999, 10_000, 24_999, 25_000, random.below(120_000)])
  const order = (): NaiveOrder => ({
    subject: subject(),
    state: random.pick(['complete', 'complete', 'complete', 'pending', 'cancelled', 'refunded']),
    currency: random.pick(['USD', 'USD', 'USD', 'EUR', null]),
    total: cents(),
    refunded: random.chance(0.2) ? cents() : 0,
    test: random.chance(0.1),
    at: at(),
    lines: random.list(0, random.chance(0.02) ? 200 : 4, () => ({
      product: random.pick(['p1', 'p2', 'p3', null]),
      quantity: random.below(4),
      price: cents(),
      total: random.chance(0.5) ? cents() : null,
    })),
  })
  const refund = (): NaiveRefund => ({
    subject: subject(),
    order: random.chance(0.3) ? 'x' : null,
    currency: random.pick(['USD', 'USD', 'EUR']),
    total: cents(),
    at: at(),
  })
  const merged = customers.filter((customer) => customer > 1 && random.chance(0.1))
  return {
    asOf: AS_OF + random.pick([0, 0, -5 * DAY, random.below(DAY)]),
    timezone: random.pick(ZONES),
    currency: 'USD',
    customers,
    redirects: new Map(merged.map((customer) => [customer, 1])),
    orders: random.list(0, customers.length * 4, order),
    refunds: random.list(0, customers.length, refund),
  }
}

const money = (cents: number) => (cents / 100).toFixed(2)
const time = (at: number) => new Date(at).toISOString().replace('T', ' ').replace('Z', '')

async function fill(connection: DuckDBConnection, brand: NaiveBrand): Promise<void> {
  await fillRelations(connection, {
    customers_source: brand.customers.map((subject) => ({ subject, customer_id: `c${subject}` })),
    subject_redirect: [...brand.redirects].map(([subject, customer]) => ({ subject, customer })),
    orders_source: brand.orders.map(({ subject, state, currency, total, refunded, test, at, lines }, n) => ({
      order_id: `o${n}`,
      lines: lines.map(({ product, quantity, price, total }) => ({
        ...{ product_id: product, quantity, price: money(price) },
        total: total === null ? null : money(total),
      })),
      ...{ subject, state, currency_code: currency, test, created_at: time(at) },
      ...{ total: money(total), refunded_total: money(refunded) },
    })),
    refunds: brand.refunds.map(({ subject, order, currency, total, at }, n) => ({
      refund_id: `r${n}`,
      ...{ subject, order_external_id: order, currency_code: currency, created_at: time(at) },
      total: money(total),
    })),
    params: [{ as_of: time(brand.asOf), timezone: brand.timezone, currency_code: brand.currency }],
  })
}

const models = await loadModels()
/** Computed once for each brand; the staging models stay the views that they are. */
const MARTS = models.filter(({ name }) =>
  [
    ...['orders', 'cadence', 'customers', 'ltv', 'ltv_buckets', 'rfm', 'churn', 'cohorts'],
    ...['customer_products', 'product_performance'],
  ].includes(name),
)

t.test(`models equal a second implementation on ${BRANDS} random brands`, async (t) => {
  const random = randomSource(t)
  let [buyersInAll, atRisk] = [0, 0]
  const tiers = new Set<string>()
  await withModels(models, {}, async (connection) => {
    for (const { name } of MARTS) await connection.run(`drop view ${name}`)
    const rows = async (text: string) => (await connection.runAndReadAll(text)).getRowObjectsJson()
    for (let n = 0; n < BRANDS; n++) {
      const brand = randomBrand(random)
      await fill(connection, brand)
      await runModels(connection, MARTS)
      const buyers = buyersOf(brand)
      const found = {
        ltv: await rows('select customer, ltv, order_count, bucket from ltv order by customer'),
        buckets: await rows(
          'select bucket, customer_count::integer as customers from ltv_buckets order by at_least',
        ),
        rfm: await rows(
          `select customer, recency_score as r, frequency_score as f, monetary_score as m, tier from rfm order by customer`,
        ),
        churn: await rows(
          `select customer, days_since_last_order as days, median_inter_order_days as own,
             brand_median_inter_order_days as usual, at_risk_score as score, at_risk
           from churn order by customer`,
        ),
        cohorts: await rows(
          `select (year(cohort_month) * 12 + month(cohort_month) - 1)::integer as month, month_number as n,
             customers::integer as customers, active_customers::integer as active, revenue
           from cohorts order by cohort_month, month_number`,
        ),
        products: await rows(
          `select product_id, quantity::integer as quantity, order_count::integer as order_count,
             customer_count::integer as customer_count, revenue, repeat_purchase_rate as repeat
           from product_performance order by product_id`,
        ),
      }
      const counts = Object.groupBy(buyers, ({ ltv }) => bucketOf(ltv))
      const wanted = {
        ltv: buyers.map(({ customer, ltv, orders }) => ({
          customer,
          ltv: money(ltv),
          order_count: orders.length,
          bucket: bucketOf(ltv),
        })),
        buckets: ['0-100', '100-250', '250-500', '500-1000', '1000+'].map((bucket) => ({
          bucket,
          customers: counts[bucket]?.length ?? 0,
        })),
        rfm: rfmOf(brand, buyers),
        churn: churnOf(brand, buyers),
        cohorts: cohortsOf(brand, buyers).map((row) => ({ ...row, revenue: money(row.revenue) })),
        products: productsOf(brand).map((row) => ({ ...row, revenue: money(row.revenue) })),
      }
      if (JSON.stringify(found) !== JSON.stringify(wanted)) {
        t.same(found, wanted, `brand ${n}`)
        return
      }
      buyersInAll += buyers.length
      atRisk += wanted.churn.filter(({ at_risk }) => at_risk).length
      for (const { tier } of wanted.rfm) tiers.add(tier)
    }
  })
  t.ok(buyersInAll > BRANDS && atRisk > 0, `${buyersInAll} customers with orders, ${atRisk} of them at risk`)
  t.ok(tiers.size >= 9, `${tiers.size} tiers`)
})

/** Events that set few or many names, short or long ones, of few profiles: some come to more than what counts. */
function randomUpdates(random: RandomSource): NaiveUpdate[] {
  const people = random.pick([1, 3])
  const names = random.pick([5, 400])
  const longest = random.pick([0, 50, 400])
  const value = () =>
    random.pick([
      ...[null, true, 12.5, '', 'é', '12', ['a', 1, null], { a: { b: 1 } }],
      ...Array.from({ length: 8 }, () => 'x'.repeat(random.below(longest + 1))),
    ])
  const properties = (count: number) =>
    Object.fromEntries(
      random.list(0, count, () => [random.chance(0.01) ? '' : `n${random.below(names)}`, value()]),
    )
  return Array.from({ length: random.below(30) }, (_, n) => ({
    subject: random.chance(0.05) ? null : 1 + random.below(people),
    at: AS_OF - random.pick([0, 1, 2, 3, -1]) * DAY,
    n,
    properties: random.chance(0.03)
      ? { large: 'x'.repeat(16_000 + random.below(700)) }
      : properties(random.pick([2, 100])),
  }))
}

t.test(`properties of profiles equal a second implementation on ${BRANDS} random brands`, async (t) => {
  const random = randomSource(t)
  let [names, bytes] = [0, 0]
  await withModels(models, {}, async (connection) => {
    for (let n = 0; n < BRANDS; n++) {
      const updates = randomUpdates(random)
      const redirects = new Map(random.chance(0.5) ? [[2, 1]] : [])
      await fillRelations(connection, {
        subject_redirect: [...redirects].map(([subject, customer]) => ({ subject, customer })),
        events: updates.map(({ subject, at, n, properties }) => ({
          ...{ event_id: `e${n}`, event_type: 'updateProperties', subject, occurred_at: time(at) },
          // Requests of one instant in a batch or two, and lines of one request.
          ...{ received_at: time(AS_OF + Math.trunc(n / 6)), line: n },
          batch_id: `00000000-0000-7000-8000-00000000000${Math.trunc(n / 3) % 2}`,
          properties,
        })),
        params: [{ as_of: time(AS_OF), timezone: 'UTC', currency_code: 'USD' }],
      })
      const rows = (await connection.runAndReadAll('from profile_properties')).getRowObjectsJson()
      const found = new Map(
        rows.map(({ customer, properties }) => [customer, JSON.parse(String(properties))]),
      )
      const wanted = propertiesOf(updates, { asOf: AS_OF, redirects })
      if (!t.same(found, wanted, `brand ${n}`)) return
      for (const set of wanted.values()) {
        names = Math.max(names, Object.keys(set).length)
        bytes = Math.max(bytes, JSON.stringify(set).length)
      }
    }
  })
  t.ok(names === 250 && bytes > 16_000, `at most ${names} names, ${bytes} bytes`)
})
