-- what: checkouts started up to as_of, in their present state, under the customer that they belong to now
-- grain: checkout_id
-- refresh: at every read
-- from: checkouts
select
    checkout.checkout_id,
    checkout.external_id,
    coalesce(redirect.customer, checkout.subject) as customer,
    checkout.state,
    checkout.currency_code,
    checkout.total,
    checkout.item_count,
    checkout.url,
    checkout.created_at,
    checkout.updated_at,
    checkout.abandoned_at,
    checkout.completed_at
from checkouts as checkout
cross join params
left join subject_redirect as redirect using (subject)
where checkout.created_at <= params.as_of
