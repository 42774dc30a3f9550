import * as v from 'valibot'
import { count, currencyCode, money, named, time } from '../fields.ts'
import type { Reader } from '../op.ts'
import { byBytes } from '../store/duckdb-text.ts'
import { type CustomerRow, rowsOf } from './customer-rows.ts'

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

/**
 * What the models say of one customer. Money, numbers and times are those of `customers`, which is refreshed with the
 * segments; of a brand whose models are refreshed apart, scores, churn and products are those of the refresh before or after.
 */
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
      at_risk_score: v.number(),
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

const MOST_PRODUCTS = 5

type Shown = v.InferOutput<typeof Insights>

type ScoresRow = Pick<
  NonNullable<Shown['rfm']>,
  'recency_score' | 'frequency_score' | 'monetary_score' | 'tier'
>
/** Without a score where nobody has ordered on two days. */
type ChurnRow = Omit<NonNullable<Shown['churn']>, 'at_risk_score'> & { at_risk_score: number | null }
type ProductRow = Omit<v.InferOutput<typeof TopProduct>, 'title'> & { title: string | null }

/** Undefined for who has no order that counts. */
export async function insightsOf(marts: Reader, customer: number): Promise<Shown | undefined> {
  const rows = await rowsOf(marts, customer, ['customers', 'rfm', 'churn', 'customer_products'])
  const spent = rows?.<CustomerRow>('customers')[0]
  if (!rows || !spent || spent.orders_count === 0) return undefined
  return shownOf(spent as SpentRow, {
    scores: rows<ScoresRow>('rfm')[0],
    churn: rows<ChurnRow>('churn')[0],
    products: rows<ProductRow>('customer_products'),
  })
}

/** As it is of who has an order that counts. */
type SpentRow = CustomerRow & { average_order_value: string; first_order_at: Date; last_order_at: Date }

interface Marts {
  scores: ScoresRow | undefined
  churn: ChurnRow | undefined
  products: readonly ProductRow[]
}

const hasScore = (churn: ChurnRow | undefined): churn is ChurnRow & { at_risk_score: number } =>
  churn !== undefined && churn.at_risk_score !== null

/** The greatest first, ties by id. */
const byRevenue = (one: ProductRow, other: ProductRow): number =>
  Number(other.revenue) - Number(one.revenue) || byBytes(one.product_id, other.product_id)

function shownOf(spent: SpentRow, { scores, churn, products }: Marts): Shown {
  const { total_spend: ltv, orders_count: order_count } = spent
  const last_order_at = spent.last_order_at.toISOString()
  return {
    ltv,
    order_count,
    aov: spent.average_order_value,
    first_order_at: spent.first_order_at.toISOString(),
    last_order_at,
    currency_code: spent.currency_code,
    rfm: scores
      ? {
          recency_score: scores.recency_score,
          frequency_score: scores.frequency_score,
          monetary_score: scores.monetary_score,
          tier: scores.tier,
          ...{ last_order_at, order_count, ltv },
        }
      : null,
    top_products: products
      .toSorted(byRevenue)
      .slice(0, MOST_PRODUCTS)
      .map((product) => ({
        product_id: product.product_id,
        title: product.title ?? product.product_id,
        quantity: product.quantity,
        order_count: product.order_count,
        customer_count: product.customer_count,
        revenue: product.revenue,
        repeat_purchase_rate: product.repeat_purchase_rate,
      })),
    churn: hasScore(churn)
      ? {
          days_since_last_order: churn.days_since_last_order,
          median_inter_order_days: churn.median_inter_order_days,
          brand_median_inter_order_days: churn.brand_median_inter_order_days,
          at_risk_score: churn.at_risk_score,
          at_risk: churn.at_risk,
        }
      : null,
  }
}
