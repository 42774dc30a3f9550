-- Customers that the store removed and that are not hidden yet. $2: store customer ids.
select customer.subject
from customer
join store_version
    on store_version.brand_id = customer.brand_id
    and store_version.kind = 'customer'
    and store_version.external_id = customer.store_customer_id
where
    customer.brand_id = $1
    and customer.store_customer_id = any($2::text[])
    and not customer.deleted
    and store_version.removed
