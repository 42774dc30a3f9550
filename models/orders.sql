-- what: every order with its lines, and whether and for how much it counts in lifetime value, scores and cohorts
-- grain: id
-- refresh: with the segments
-- from: stg_orders
-- by: customer
-- of: sales
-- plain: id, external_id, number

-- A day is one of the brand's zone: gaps, recency and cohorts go by it.
-- `customer_id` is null where there is no profile: the order is of nobody known, or of a customer whom the store removed.
-- Such orders are sales, and of no customer wherever customers are counted; `customer` still says whose they were.
select
    placed.order_id as id,
    placed.external_id,
    placed.number,
    placed.customer,
    profile.customer_id,
    placed.state,
    placed.billing_status,
    placed.currency_code,
    placed.subtotal,
    placed.discount_total,
    placed.total,
    placed.refunded_total,
    placed.discount_codes,
    placed.item_count,
    placed.lines,
    placed.created_at,
    placed.updated_at,
    placed.cancelled_at,
    placed.recovered_at,
    (timezone(params.timezone, timezone('UTC', placed.created_at)))::date as ordered_on,
    placed.state = 'complete' and placed.currency_code is not distinct from params.currency_code as counts,
    (placed.total - placed.refunded_total)::decimal(18, 2) as net_total
from stg_orders as placed
cross join params
left join customers as profile using (customer)
