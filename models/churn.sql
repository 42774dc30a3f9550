-- what: how long ago customers ordered last, measured by how often they order, and who is at risk of not coming back
-- grain: customer
-- refresh: with the segments
-- from: cadence
-- of: sales
-- plain: customer_id
with today as (
    select (timezone(params.timezone, timezone('UTC', params.as_of)))::date as day
    from params
),

brand as (
    select median(gap) as brand_median_inter_order_days
    from (
        select unnest(gaps) as gap
        from cadence
    )
),

measured as (
    select
        ltv.customer,
        ltv.customer_id,
        today.day - cadence.last_order_day as days_since_last_order,
        cadence.median_inter_order_days,
        brand.brand_median_inter_order_days,
        coalesce(cadence.median_inter_order_days, brand.brand_median_inter_order_days) as usual_days,
        ltv.ltv,
        ltv.order_count,
        ltv.last_order_at
    from ltv
    inner join cadence using (customer)
    cross join brand
    cross join today
)

select
    customer,
    customer_id,
    days_since_last_order::integer as days_since_last_order,
    median_inter_order_days,
    brand_median_inter_order_days,
    -- least leaves NULLs out.
    case when usual_days is not null then round(least(days_since_last_order / usual_days, 9.99), 4) end as at_risk_score,
    coalesce(days_since_last_order > 2 * usual_days, false) as at_risk,
    ltv,
    order_count,
    last_order_at
from measured
order by customer
