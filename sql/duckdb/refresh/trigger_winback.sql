-- Customers who are at risk at the session's instant and were not at $1.
select
    churn.customer,
    churn.customer_id,
    churn.days_since_last_order,
    churn.at_risk_score,
    strftime(timezone(params.timezone, timezone('UTC', customers.last_order_at)), '%Y-%m-%d') as last_order_day
from churn
inner join customers using (customer)
cross join params
where
    churn.at_risk
    and churn.days_since_last_order
    - date_diff(
        'day',
        timezone(params.timezone, timezone('UTC', $1::timestamp)),
        timezone(params.timezone, timezone('UTC', params.as_of))
    ) <= 2 * coalesce(churn.median_inter_order_days, churn.brand_median_inter_order_days)
