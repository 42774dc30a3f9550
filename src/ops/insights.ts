import * as v from 'valibot'
import { count, currencyCode, list, money, named, queryInteger, time, timestamp } from '../fields.ts'
import { currencyOf, martsOf } from '../model/as-of.ts'
import { type Op, op, type Rate, type Reader } from '../op.ts'
import * as example from './insight-example.ts'
import { averageOf, BRAND_LTV, brandValueOf } from './lifetime-value.ts'

/** A past instant to show an insight as of. */
export const asOf = v.optional(timestamp)

/** Of each insight and credential. */
export const INSIGHT_RATE: Rate = { count: 10, per: 'second' }

const LifetimeValue = named('LifetimeValue', {
  ...BRAND_LTV,
  other_currencies: v.array(
    v.object({
      currency_code: currencyCode,
      total_revenue: money,
      order_count: count,
      customer_count: count,
    }),
  ),
  as_of: time,
})

const RfmTiers = named('RfmTiers', {
  customer_count: count,
  currency_code: v.nullable(currencyCode),
  tiers: v.array(
    named('RfmTier', {
      tier: v.string(),
      customer_count: count,
      order_count: count,
      total_revenue: money,
      average_ltv: money,
    }),
  ),
  as_of: time,
})

const TopProduct = named('TopProduct', {
  product_id: v.string(),
  title: v.string(),
  quantity: v.pipe(v.number(), v.integer()),
  order_count: count,
  customer_count: count,
  revenue: money,
  repeat_purchase_rate: v.number(),
  currency_code: currencyCode,
})

const Cohort = named('Cohort', {
  cohort_month: v.pipe(v.string(), v.isoDate()),
  customer_count: count,
  currency_code: currencyCode,
  months: v.array(
    v.object({ month_number: count, active_customers: count, retention: v.number(), revenue: money }),
  ),
})

/** The instant that results are as of. */
async function instantOf(marts: Reader, now: Date): Promise<string> {
  const [row] = await marts.rows<{ as_of: Date }>('select as_of from params')
  return (row?.as_of ?? now).toISOString()
}

interface TierRow {
  tier: string
  customer_count: number
  order_count: number
  revenue: string
}

interface CohortRow {
  cohort_month: string
  month_number: number
  customers: number
  active_customers: number
  retention: number
  revenue: string
}

const insight = { scopes: ['customers:read'], feature: 'cdp', rate: INSIGHT_RATE } as const

export const insightOps: readonly Op[] = [
  op({
    ...insight,
    name: 'get_lifetime_value',
    route: 'GET /v1/insights/lifetime-value',
    what: 'What customers spent in all: the total, the average, and how many customers lie in each of five fixed buckets. Counted are complete orders of known customers in the currency of the brand, less refunds; other currencies are listed apart, of all complete orders. As of the last refresh (every 15 minutes), or of a past instant.',
    input: { query: v.strictObject({ as_of: asOf }) },
    output: LifetimeValue,
    example: example.LIFETIME_VALUE,
    run: async (ctx, { query }) => {
      const marts = await martsOf(ctx, query.as_of)
      const others = await marts.rows<{
        currency_code: string
        revenue: string
        order_count: number
        customer_count: number
      }>('from other_currencies order by currency_code')
      return {
        ...(await brandValueOf(marts)),
        other_currencies: others.map(({ revenue, ...row }) => ({ ...row, total_revenue: revenue })),
        as_of: await instantOf(marts, ctx.now),
      }
    },
  }),

  op({
    ...insight,
    name: 'get_rfm_tiers',
    route: 'GET /v1/insights/rfm-tiers',
    what: 'How many customers are in each tier that recency, frequency and money spent make, by the quantiles of the brand; all tiers are always listed. Tiers are no saved segments.',
    input: { query: v.strictObject({ as_of: asOf }) },
    output: RfmTiers,
    example: example.RFM_TIERS,
    run: async (ctx, { query }) => {
      const marts = await martsOf(ctx, query.as_of)
      const rows = await marts.rows<TierRow>('from rfm_tiers order by place')
      const customers = rows.reduce((all, { customer_count }) => all + customer_count, 0)
      return {
        customer_count: customers,
        currency_code: customers === 0 ? null : await currencyOf(marts),
        tiers: rows.map(({ tier, customer_count, order_count, revenue }) => ({
          tier,
          customer_count,
          order_count,
          total_revenue: revenue,
          average_ltv: averageOf(revenue, customer_count),
        })),
        as_of: await instantOf(marts, ctx.now),
      }
    },
  }),

  op({
    ...insight,
    name: 'get_top_products',
    route: 'GET /v1/insights/top-products',
    scopes: ['commerce:read'],
    what: 'The products that brought in most in complete orders in the currency of the brand, with how many customers bought them and which share of those (0.25 is a quarter) did so in more than one order. Revenue is what order lines come to, before refunds and also of unknown customers: lifetime values differ. Lines of a connected store come to their price less the discounts on them; imported ones to the total that they say, else to their price.',
    input: {
      query: v.strictObject({ limit: v.optional(queryInteger({ min: 1, max: 100 }), '10'), as_of: asOf }),
    },
    output: list(TopProduct),
    example: example.TOP_PRODUCTS,
    run: async (ctx, { query: { limit, as_of } }) => {
      const marts = await martsOf(ctx, as_of)
      const data = await marts.rows<v.InferOutput<typeof TopProduct>>(
        `select product_id, coalesce(title, product_id) as title, quantity, order_count, customer_count, revenue,
           currency_code, repeat_purchase_rate
         from product_performance cross join params
         order by product_performance.revenue desc, product_id limit $1`,
        [limit],
      )
      return { data, next_cursor: null }
    },
  }),

  op({
    ...insight,
    name: 'get_cohorts',
    route: 'GET /v1/insights/cohorts',
    what: 'Customers by the month of their first order (in the time zone of the brand), oldest first: how many of them ordered in each month since, which share of the cohort that is, and for how much.',
    input: { query: v.strictObject({ as_of: asOf }) },
    output: list(Cohort),
    example: example.COHORTS,
    run: async (ctx, { query }) => {
      const marts = await martsOf(ctx, query.as_of)
      const rows = await marts.rows<CohortRow>(
        'select * replace (cohort_month::varchar as cohort_month) from cohorts order by cohorts.cohort_month, month_number',
      )
      const currency_code = await currencyOf(marts)
      const data = [...Map.groupBy(rows, ({ cohort_month }) => cohort_month)].map(
        ([cohort_month, months]) => ({
          cohort_month,
          customer_count: months[0]?.customers ?? 0,
          currency_code,
          months: months.map(({ month_number, active_customers, retention, revenue }) => ({
            month_number,
            active_customers,
            retention,
            revenue,
          })),
        }),
      )
      return { data, next_cursor: null }
    },
  }),
]
