import type { Numbers } from './numbers.ts'

/** Halves of a cent go away from zero. */
const average = (total: string, of: string) =>
  `coalesce(round(${total} * 100 / nullif(${of}, 0)) / 100, 0)::decimal(18, 2)`

const VALUE = `select
    coalesce(sum(ltv), 0)::decimal(38, 2) as total_revenue,
    count(*) as customer_count,
    ${average('sum(ltv)', 'count(*)')} as average_ltv
from ltv`

const BUCKETS = `select bucket as label, at_least as min, less_than as max, customer_count
from ltv_buckets
order by at_least`

/** Numbers of what is said of all customers together. */
export const INSIGHT_NUMBERS: readonly Numbers[] = [
  { operation: 'get_lifetime_value', at: '', sql: VALUE },
  { operation: 'get_lifetime_value', at: 'distribution', sql: BUCKETS },
  {
    operation: 'get_lifetime_value',
    at: 'other_currencies',
    sql: `select currency_code, revenue as total_revenue, order_count, customer_count
from other_currencies
order by currency_code`,
  },
  { operation: 'get_cdp_lifetime_value', at: '', sql: VALUE },
  { operation: 'get_cdp_lifetime_value', at: 'distribution', sql: BUCKETS },
  { operation: 'get_rfm_tiers', at: '', sql: 'select count(*) as customer_count from rfm' },
  {
    operation: 'get_rfm_tiers',
    at: 'tiers',
    sql: `select
    tier, customer_count, order_count, revenue as total_revenue,
    ${average('revenue', 'customer_count')} as average_ltv
from rfm_tiers
order by place`,
  },
  {
    operation: 'get_top_products',
    at: 'data',
    sql: `select product_id, quantity, order_count, customer_count, revenue, repeat_purchase_rate
from product_performance
order by revenue desc, product_id
limit 10`,
  },
  {
    operation: 'list_at_risk_customers',
    at: 'data',
    sql: `select
    customer_id, days_since_last_order, median_inter_order_days, brand_median_inter_order_days, at_risk_score,
    order_count, ltv
from churn
where at_risk
order by at_risk_score desc, ltv desc, customer_id
limit 25`,
  },
  {
    operation: 'get_cohorts',
    at: 'data',
    sql: `select cohort_month, any_value(customers) as customer_count
from cohorts
group by cohort_month
order by cohort_month`,
  },
  {
    operation: 'get_cohorts',
    at: 'data[].months',
    sql: `select month_number, active_customers, retention, revenue
from cohorts
order by cohort_month, month_number`,
  },
]
