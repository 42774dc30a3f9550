-- what: subscriptions started up to as_of, in their present state, under the customer that they belong to now
-- grain: subscription_id
-- refresh: at every read
-- from: subscriptions_source
select
    subscription.subscription_id,
    subscription.external_id,
    coalesce(redirect.customer, subscription.subject) as customer,
    subscription.status,
    subscription.product_id,
    subscription.title,
    subscription.interval_unit,
    subscription.interval_count,
    subscription.price,
    subscription.currency_code,
    subscription.started_at,
    subscription.next_billing_at,
    subscription.cancelled_at,
    subscription.updated_at,
    -- Where nobody said when it started, when something was said of it last: what is looked back upon needs a time.
    coalesce(subscription.started_at, subscription.updated_at) as dated_at
from subscriptions_source as subscription
cross join params
left join subject_redirect as redirect using (subject)
where subscription.started_at is null
    or subscription.started_at <= params.as_of
