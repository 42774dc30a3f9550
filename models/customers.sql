-- what: every profile of the brand, visitors included, with what it spent, when it ordered and when it was last seen
-- grain: customer
-- refresh: with the segments
-- by: customer
-- seen: last_event_at
-- plain: customer_id, store_customer_id, email, phone
with counted_orders as (
    select
        customer,
        total - refunded_total as net_total,
        created_at
    from stg_orders
    inner join params using (currency_code)
    where state = 'complete'
),

ordering as (
    select
        customer,
        sum(net_total) as net_total,
        count(*)::integer as orders_count,
        min(created_at) as first_order_at,
        max(created_at) as last_order_at
    from counted_orders
    group by customer
),

-- What was given back without naming an order; the others are in the refunded_total of theirs.
given_back as (
    select
        customer,
        sum(total) as given_back
    from stg_refunds
    inner join params using (currency_code)
    where order_external_id is null
    group by customer
),

spending as (
    select
        customer,
        -- Within 13 digits, so that absurd amounts stop nothing: the cents of these are exact as doubles, too.
        greatest(
            least(coalesce(ordering.net_total, 0) - coalesce(given_back.given_back, 0), 9999999999999.99),
            -9999999999999.99
        )::decimal(18, 2) as total_spend,
        coalesce(ordering.orders_count, 0) as orders_count,
        ordering.first_order_at,
        ordering.last_order_at
    from ordering
    full join given_back using (customer)
),

activity as (
    select
        customer,
        max(occurred_at) as last_event_at
    from stg_events
    group by customer
    -- True of all: it has the planner expect fewer, so that these are held to be joined and not the profiles.
    having count(*) > 0
)

select
    profile.customer,
    profile.customer_id,
    profile.store_customer_id,
    profile.email,
    profile.phone,
    profile.first_name,
    profile.last_name,
    profile.tags,
    profile.aliases,
    profile.provenance,
    coalesce(spending.total_spend, 0)::decimal(18, 2) as total_spend,
    coalesce(spending.orders_count, 0) as orders_count,
    -- Halves of a cent go away from zero. They are exact in whole cents; 2.675 is below its half as a double.
    (round(spending.total_spend * 100 / nullif(spending.orders_count, 0)) / 100)::decimal(18, 2) as average_order_value,
    params.currency_code,
    spending.first_order_at,
    spending.last_order_at,
    activity.last_event_at,
    profile.created_at,
    profile.updated_at
from stg_customers as profile
cross join params
left join spending using (customer)
left join activity using (customer)
