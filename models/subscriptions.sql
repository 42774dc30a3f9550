-- what: every subscription in its present state
-- grain: id
-- refresh: with the segments
-- from: stg_subscriptions
-- by: customer
select
    contract.subscription_id as id,
    contract.external_id,
    contract.customer,
    profile.customer_id,
    contract.status,
    contract.product_id,
    contract.title,
    contract.interval_unit,
    contract.interval_count,
    contract.price,
    contract.currency_code,
    contract.started_at,
    contract.next_billing_at,
    contract.cancelled_at,
    contract.updated_at
from stg_subscriptions as contract
left join customers as profile using (customer)
