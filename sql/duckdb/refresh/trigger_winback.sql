-- Customers who are at risk at the session's instant and were not at $1, by the days that passed until then and by what was
-- usual then: their own median, else that of the brand, $2 (null: not known, the same as now). As the day began, in the
-- brand's zone, that made it more than twice as long as usual; where what is usual changed, as it was found.
with today as (
    select
        timezone(params.timezone, timezone('UTC', params.as_of))::date as day,
        timezone(params.timezone, timezone('UTC', $1::timestamp))::date as day_before
    from params
),

ordered as (
    select
        churn.*,
        today.day - churn.days_since_last_order as last_day,
        today.day_before,
        coalesce(churn.median_inter_order_days, churn.brand_median_inter_order_days) as usual_days,
        coalesce(churn.median_inter_order_days, $2::double, churn.brand_median_inter_order_days) as usual_days_before
    from churn
    cross join today
),

become as (
    select
        *,
        (last_day + floor(2 * usual_days)::integer + 1)::timestamp as midnight
    from ordered
    where at_risk
        and day_before - last_day <= 2 * usual_days_before
),

-- The first instant of the day, as in next_day.sql.
dated as (
    select
        become.*,
        least(
            timezone('UTC', timezone(params.timezone, midnight)),
            timezone('UTC', timezone(params.timezone, midnight - interval 1 microsecond)) + interval 1 microsecond
        ) as since
    from become
    cross join params
)

select
    dated.customer,
    dated.customer_id,
    dated.days_since_last_order,
    dated.at_risk_score,
    case when dated.since > $1::timestamp then dated.since else params.as_of end as at,
    strftime(timezone(params.timezone, timezone('UTC', customers.last_order_at)), '%Y-%m-%d') as last_order_day
from dated
inner join customers using (customer)
cross join params
-- What was paid in another currency than the brand's counts in no model, and is an order all the same.
anti join stg_orders as paid
    on paid.customer = dated.customer
    and paid.state = 'complete'
    and paid.created_at > customers.last_order_at
