-- what: every id that a profile goes by or ever went by, of visitors too, under the customer whom it belongs to now
-- grain: kind, value
-- refresh: at every read

-- Email and phone identify as well; they stay in customers, the only relation with contact data.
with named as (
    select
        subject,
        'customer_id' as kind,
        customer_id as value
    from customers_source
    union all
    select
        subject,
        'store_customer_id' as kind,
        store_customer_id as value
    from customers_source
    where store_customer_id is not null
    union all
    select
        subject,
        'visitor_id' as kind,
        visitor_id as value
    from visitors
)

select
    coalesce(redirect.customer, named.subject) as customer,
    named.subject,
    named.kind,
    named.value,
    profile.provenance,
    profile.created_at as first_seen_at,
    redirect.customer is not null as merged
from named
inner join customers_source as profile using (subject)
left join subject_redirect as redirect using (subject)
