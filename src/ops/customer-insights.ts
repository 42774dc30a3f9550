import * as v from 'valibot'
import { count, currencyCode, money, named, time } from '../fields.ts'
import type { Published } from '../op.ts'

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

/** Columns of `customers`, `rfm`, `churn` and `customer_products`. */
const SPENT = `customer, total_spend as ltv, orders_count as order_count, average_order_value as aov, first_order_at,
  last_order_at, currency_code`
const SCORES = 'customer, recency_score, frequency_score, monetary_score, tier'
const CHURN = `customer, days_since_last_order, median_inter_order_days::double as median_inter_order_days,
  brand_median_inter_order_days::double as brand_median_inter_order_days, at_risk_score::double as at_risk_score, at_risk`
const PRODUCTS = `customer, product_id, coalesce(title, product_id) as title, quantity, order_count, customer_count, revenue,
  repeat_purchase_rate::double as repeat_purchase_rate`
const FIRST = `qualify row_number() over (partition by customer order by revenue desc, product_id) <= 5
  order by revenue desc, product_id`

type Shown = v.InferOutput<typeof Insights>

interface SpentRow extends Pick<Shown, 'ltv' | 'order_count' | 'aov'> {
  first_order_at: Date
  last_order_at: Date
  currency_code: string
}

type ScoresRow = Pick<
  NonNullable<Shown['rfm']>,
  'recency_score' | 'frequency_score' | 'monetary_score' | 'tier'
>
type ChurnRow = NonNullable<Shown['churn']>
type ProductRow = v.InferOutput<typeof TopProduct>

/** Undefined for who has no order that counts. */
export async function insightsOf(served: Published, customer: number): Promise<Shown | undefined> {
  const rows = async <Row>(table: string, what: string, which?: string): Promise<Row[]> => {
    const found = await served.of<Row & { customer: number }>(table, [customer], what, which)
    return found.map(({ customer: _, ...row }) => row as Row)
  }
  const [spent] = await rows<SpentRow>('customers', SPENT)
  if (!spent || spent.order_count === 0) return undefined
  const [[scores], [churn], products] = await Promise.all([
    rows<ScoresRow>('rfm', SCORES),
    rows<ChurnRow>('churn', CHURN),
    rows<ProductRow>('customer_products', PRODUCTS, FIRST),
  ])
  const { ltv, order_count } = spent
  const last_order_at = spent.last_order_at.toISOString()
  return {
    ...spent,
    ...{ first_order_at: spent.first_order_at.toISOString(), last_order_at },
    rfm: scores ? { ...scores, last_order_at, order_count, ltv } : null,
    top_products: products,
    churn: churn ?? null,
  }
}
