import type { Numbers } from './numbers.ts'

const SPENT = 'customer_id as id, total_spend, orders_count, average_order_value'

export const PROFILE =
  'total_spend as "totalSpend", orders_count as "ordersCount", average_order_value as "averageOrderValue"'

/** Numbers of customers, of their visits, and of what is said of one. */
export const CUSTOMER_NUMBERS: readonly Numbers[] = [
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
        lower(
            concat_ws(
                chr(31), email, phone, concat_ws(' ', first_name, last_name), customer_id, store_customer_id,
                array_to_string(aliases, chr(31))
            )
        ),
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
    sql: `select least(count(*), 10000) as "totalSize"
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
where customer_id = $customer_id
    and at_risk_score is not null`,
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
]
