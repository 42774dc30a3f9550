import * as v from 'valibot'
import { count, currencyCode, money, named, time } from '../fields.ts'
import type { Published } from '../op.ts'
import { type Key, placeOf } from './customer-place.ts'
import { customerAt } from './customer-rows.ts'

const score = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5))

const TopProduct = named('CustomerTopProduct', {
  product_id: v.string(),
  title: v.string(),
  quantity: v.pipe(v.number(), v.integer()),
  order_count: count,
  customer_count: count,
  revenue: money,
  repeat_purchase_rate: v.number(),
})

/** What the models say of one customer. */
export const Insights = named('CustomerInsights', {
  ltv: money,
  order_count: count,
  aov: money,
  first_order_at: v.nullable(time),
  last_order_at: v.nullable(time),
  currency_code: v.nullable(currencyCode),
  rfm: v.nullable(
    v.object({
      recency_score: score,
      frequency_score: score,
      monetary_score: score,
      tier: v.string(),
      last_order_at: time,
      order_count: count,
      ltv: money,
    }),
  ),
  top_products: v.array(TopProduct),
  churn: v.nullable(
    v.object({
      days_since_last_order: v.pipe(v.number(), v.integer()),
      median_inter_order_days: v.nullable(v.number()),
      brand_median_inter_order_days: v.nullable(v.number()),
      at_risk_score: v.nullable(v.number()),
      at_risk: v.boolean(),
    }),
  ),
})

/** Of who has no order that counts. */
export const NONE: v.InferOutput<typeof Insights> = {
  ltv: '0.00',
  order_count: 0,
  aov: '0.00',
  first_order_at: null,
  last_order_at: null,
  currency_code: null,
  rfm: null,
  top_products: [],
  churn: null,
}

const SUMMARY = `
  select
    total_spend as ltv, orders_count as order_count, average_order_value as aov, first_order_at, customers.last_order_at,
    currency_code, recency_score, frequency_score, monetary_score, tier,
    days_since_last_order, median_inter_order_days::double as median_inter_order_days,
    brand_median_inter_order_days::double as brand_median_inter_order_days, at_risk_score::double as at_risk_score, at_risk
  from (${customerAt(true)}) as customers
  left join (from rfm where customer = $1::integer) as rfm using (customer)
  left join (from churn where customer = $1::integer) as churn using (customer)
  where orders_count > 0`

const TOP_PRODUCTS = `
  select product_id, coalesce(title, product_id) as title, quantity, order_count, customer_count, revenue,
    repeat_purchase_rate::double as repeat_purchase_rate
  from customer_products where customer = $1::integer
  order by customer_products.revenue desc, product_id
  limit 5`

interface SummaryRow {
  ltv: string
  order_count: number
  aov: string
  first_order_at: Date
  last_order_at: Date
  currency_code: string
  recency_score: number | null
  frequency_score: number
  monetary_score: number
  tier: string
  days_since_last_order: number | null
  median_inter_order_days: number | null
  brand_median_inter_order_days: number | null
  at_risk_score: number | null
  at_risk: boolean
}

/** Undefined for who has no order that counts. */
export async function insightsOf(
  served: Published,
  { customer, customer_id }: Key,
): Promise<v.InferOutput<typeof Insights> | undefined> {
  const { from, to } = await placeOf(served, customer_id)
  const [row] = await served.rows<SummaryRow>(SUMMARY, [customer, from, to])
  if (!row) return undefined
  const { ltv, order_count, aov, currency_code: currency } = row
  const last_order_at = row.last_order_at.toISOString()
  return {
    ...{ ltv, order_count, aov, last_order_at, currency_code: currency },
    first_order_at: row.first_order_at.toISOString(),
    rfm:
      row.recency_score === null
        ? null
        : {
            recency_score: row.recency_score,
            frequency_score: row.frequency_score,
            monetary_score: row.monetary_score,
            tier: row.tier,
            ...{ last_order_at, order_count, ltv },
          },
    top_products: await served.rows<v.InferOutput<typeof TopProduct>>(TOP_PRODUCTS, [customer]),
    churn:
      row.days_since_last_order === null
        ? null
        : {
            days_since_last_order: row.days_since_last_order,
            median_inter_order_days: row.median_inter_order_days,
            brand_median_inter_order_days: row.brand_median_inter_order_days,
            at_risk_score: row.at_risk_score,
            at_risk: row.at_risk,
          },
  }
}
