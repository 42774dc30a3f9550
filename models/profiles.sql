-- what: every profile as the customer-data host shows it: how it is known, what identifies it, and what events set on it
-- grain: customer
-- refresh: at every read
-- by: customer

-- The properties are those that events set; totals and order times are in customers.
with named as (
    select
        customer,
        list_sort(list(value)) as visitor_ids
    from stg_identities
    where kind = 'visitor_id'
    group by customer
)

select
    profile.customer,
    profile.customer_id as item_id,
    profile.provenance,
    case when profile.provenance = 'pixel' then 'anonymous' else 'customers' end as bucket,
    profile.email,
    profile.phone,
    profile.first_name,
    profile.last_name,
    profile.store_customer_id,
    coalesce(named.visitor_ids, []) as visitor_ids,
    coalesce(attributes.properties, json('{}')) as properties,
    profile.created_at as first_visit,
    profile.last_event_at as last_visit
from customers as profile
left join named using (customer)
left join profile_properties as attributes using (customer)
