import type { Numbers } from './numbers.ts'

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

/** Numbers of orders, subscriptions and products. */
export const COMMERCE_NUMBERS: readonly Numbers[] = [
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
    operation: 'list_cdp_customer_orders',
    at: '',
    sql: 'select least(count(*), 10000) as "totalSize" from orders where customer_id = $customer_id',
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
]
