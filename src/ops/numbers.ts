import { METRIC_NAMES, metricSql } from '../campaign/metric.ts'

/**
 * One statement for every number that an operation answers from models, for docs/models.md: `at` is where in the answer
 * the rows stand (`data[].months` are the months of all, one after the other), the columns are called like the fields.
 * A name with `$` stands for a value of the call.
 */
export interface Numbers {
  operation: string
  /** What the operation has to be asked, and what stands in its path in place of an id. */
  query?: string
  item?: string
  at: string
  sql: string
}

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

const SPENT = 'customer_id as id, total_spend, orders_count, average_order_value'

const PROFILE =
  'total_spend as "totalSpend", orders_count as "ordersCount", average_order_value as "averageOrderValue"'

/** The lines of orders in their order. */
const linesOf = (orders: string) => `select line.id, line.quantity, line.price, line.total
from (select unnest(lines) as line from (${orders}))`

/** How often subscriptions are billed: `{ unit, count }`. */
const intervalsOf = (subscriptions: string) => `select coalesce(interval_count, 1) as count
from (${subscriptions})
where interval_unit is not null`

/** Variants of the imported catalog, whose prices are what an import says of them. */
const VARIANTS = `select variant ->> 'id' as id, round((variant ->> 'price')::decimal(38, 12), 2)::decimal(18, 2) as price
from (
    select unnest(variants::json[]) as variant
    from (select variants from products order by product_id limit 25)
)
where variant ->> 'id' is not null`

const AMOUNTS = 'id, total, subtotal, discount_total, refunded_total'

/** What campaigns came to in the last thirty days, and in those before. */
const STATS = `with days as (
    select
        (timezone(params.timezone, timezone('UTC', happened_at)))::date as day,
        (timezone(params.timezone, timezone('UTC', as_of)))::date as today,
        stg_campaign_results.*
    from stg_campaign_results, params
),

valued as (
    select
        day > today - 30 as is_current,
        ${METRIC_NAMES.map((name) => `${metricSql(name)} as ${name}`).join(',\n        ')}
    from days
    where day > today - 60 and day <= today
    group by is_current
)

select
    name,
    max(value) filter (is_current) as current_value,
    max(value) filter (not is_current) as previous_value
from (unpivot valued on columns(* exclude (is_current)) into name name value value)
group by name
order by list_position([${METRIC_NAMES.map((name) => `'${name}'`).join(', ')}], name)`

const MEMBER_COUNT = 'select count(*) as member_count from segment_members where segment_id = $segment_id'

export const NUMBERS: readonly Numbers[] = [
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
  {
    operation: 'list_customers',
    at: 'data',
    sql: `select ${SPENT}
from customers
where provenance <> 'pixel'
order by created_at desc, customer_id
limit 50`,
  },
  {
    operation: 'search_customers',
    query: 'query=example',
    at: 'data',
    sql: `select ${SPENT}
from customers
where provenance <> 'pixel'
    and contains(
        lower(concat_ws(chr(31), email, phone, concat_ws(' ', first_name, last_name), customer_id, store_customer_id)),
        'example'
    )
order by customer_id
limit 25`,
  },
  {
    operation: 'get_customer',
    at: '',
    sql: `select ${SPENT} from customers where customer_id = $customer_id`,
  },
  {
    operation: 'list_orders',
    at: 'data',
    sql: `select ${AMOUNTS} from orders order by created_at desc, id limit 25`,
  },
  {
    operation: 'list_orders',
    at: 'data[].lines',
    sql: linesOf('select lines from orders order by created_at desc, id limit 25'),
  },
  {
    operation: 'get_order',
    at: 'lines',
    sql: linesOf('select lines from orders where id = $order_id'),
  },
  { operation: 'get_order', at: '', sql: `select ${AMOUNTS} from orders where id = $order_id` },
  {
    operation: 'list_customer_orders',
    at: 'data',
    sql: `select ${AMOUNTS}
from orders
where customer_id = $customer_id
order by created_at desc, id
limit 50`,
  },
  {
    operation: 'list_customer_orders',
    at: 'data[].lines',
    sql: linesOf(
      'select lines from orders where customer_id = $customer_id order by created_at desc, id limit 50',
    ),
  },
  {
    operation: 'list_subscriptions',
    at: 'data',
    sql: 'select id, price from subscriptions order by started_at desc nulls last, id limit 25',
  },
  {
    operation: 'list_subscriptions',
    at: 'data[].interval',
    sql: intervalsOf('from subscriptions order by started_at desc nulls last, id limit 25'),
  },
  {
    operation: 'list_customer_subscriptions',
    at: 'data',
    sql: `select id, price
from subscriptions
where customer_id = $customer_id
order by started_at desc nulls last, id
limit 50`,
  },
  {
    operation: 'list_customer_subscriptions',
    at: 'data[].interval',
    sql: intervalsOf(
      'from subscriptions where customer_id = $customer_id order by started_at desc nulls last, id limit 50',
    ),
  },
  { operation: 'list_products', at: 'data[].variants', sql: VARIANTS },
  { operation: 'list_cdp_products', at: 'list[].variants', sql: VARIANTS },
  {
    operation: 'list_cdp_profiles',
    at: '',
    sql: 'select least(count(*), 10000) as "totalSize" from customers where provenance <> \'pixel\'',
  },
  {
    operation: 'list_cdp_profiles',
    at: 'list[].properties',
    sql: `select ${PROFILE}
from customers
where provenance <> 'pixel'
order by customer_id
limit 25`,
  },
  {
    operation: 'get_cdp_profile',
    at: 'profile.properties',
    sql: `select ${PROFILE} from customers where customer_id = $customer_id`,
  },
  {
    operation: 'list_cdp_sessions',
    at: '',
    sql: `select count(*) as "totalSize"
from stg_sessions
join customers using (customer)
where customer_id = $customer_id`,
  },
  {
    operation: 'list_cdp_sessions',
    at: 'list',
    sql: `select session_id as "itemId", duration_seconds as "durationSeconds", events
from stg_sessions
join customers using (customer)
where customer_id = $customer_id
order by started_at desc, session_id
limit 25`,
  },
  {
    operation: 'get_cdp_customer_insights',
    at: 'insights',
    sql: 'select ltv, order_count, aov from ltv where customer_id = $customer_id',
  },
  {
    operation: 'get_cdp_customer_insights',
    at: 'insights.rfm',
    sql: `select recency_score, frequency_score, monetary_score, tier, order_count, ltv
from rfm
where customer_id = $customer_id`,
  },
  {
    operation: 'get_cdp_customer_insights',
    at: 'insights.churn',
    sql: `select
    days_since_last_order, median_inter_order_days, brand_median_inter_order_days, at_risk_score, at_risk
from churn
where customer_id = $customer_id`,
  },
  {
    operation: 'get_cdp_customer_insights',
    at: 'insights.top_products',
    sql: `select product_id, quantity, order_count, customer_count, revenue, repeat_purchase_rate
from customer_products
join customers using (customer)
where customer_id = $customer_id
order by revenue desc, product_id
limit 5`,
  },
  {
    operation: 'list_cdp_customer_orders',
    at: '',
    sql: 'select count(*) as "totalSize" from orders where customer_id = $customer_id',
  },
  {
    operation: 'list_cdp_customer_orders',
    at: 'list',
    sql: `select id, total
from orders
where customer_id = $customer_id
order by created_at desc, id
limit 25`,
  },
  {
    operation: 'get_performance_stats',
    query: `stats=${METRIC_NAMES.join(',')}`,
    at: 'stats',
    sql: STATS,
  },
  { operation: 'get_segment_audience', at: '', sql: MEMBER_COUNT },
  { operation: 'get_segment', at: 'audience', sql: MEMBER_COUNT },
  {
    operation: 'list_cdp_segment_members',
    at: '',
    sql: 'select least(count(*), 10000) as "totalSize" from segment_members where segment_id = $segment_id',
  },
  {
    operation: 'list_cdp_segment_members',
    at: 'list[].properties',
    sql: `select ${PROFILE}
from customers
join segment_members using (customer)
where segment_id = $segment_id
order by customer_id
limit 25`,
  },
  { operation: 'count_items', item: 'profile', at: '', sql: 'select count(*) as count from customers' },
  { operation: 'count_items', item: 'event', at: '', sql: 'select count(*) as count from stg_events' },
]
