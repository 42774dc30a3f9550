-- Customers who became at risk after $1 and until the session's instant: as the day began, in the brand's zone, that made
-- it more than twice as long as usual.
with at_risk as (
    select
        churn.*,
        timezone(params.timezone, timezone('UTC', params.as_of))::date
        - churn.days_since_last_order
        + floor(2 * coalesce(churn.median_inter_order_days, churn.brand_median_inter_order_days))::integer
        + 1 as first_day
    from churn
    cross join params
    where churn.at_risk
),

dated as (
    select
        at_risk.*,
        timezone('UTC', timezone(params.timezone, first_day::timestamp)) as since
    from at_risk
    cross join params
)

select
    dated.customer,
    dated.customer_id,
    dated.days_since_last_order,
    dated.at_risk_score,
    dated.since as at,
    strftime(timezone(params.timezone, timezone('UTC', customers.last_order_at)), '%Y-%m-%d') as last_order_day
from dated
inner join customers using (customer)
cross join params
where dated.since > $1::timestamp
