-- what: every profile of the brand, visitors included, as it is now; merged profiles appear as their survivor
-- grain: customer
-- refresh: at every read

-- Identity is not limited to as_of: a later merge, name or address belongs to the same person. An imported
-- profile is created at import, long after the orders that it explains.
select
    profile.subject as customer,
    profile.customer_id,
    profile.store_customer_id,
    profile.email,
    profile.phone,
    profile.first_name,
    profile.last_name,
    coalesce(profile.tags, []) as tags,
    profile.provenance,
    profile.created_at,
    profile.updated_at
from customers_source as profile
anti join subject_redirect using (subject)
