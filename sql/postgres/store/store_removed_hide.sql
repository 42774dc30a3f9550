-- A customer that the store removed stays hidden, also when a late record names it again. $2: store customer ids.
update customer
set deleted = true
from store_version
where
    customer.brand_id = $1
    and customer.store_customer_id = any($2::text[])
    and not customer.deleted
    and store_version.brand_id = $1
    and store_version.kind = 'customer'
    and store_version.external_id = customer.store_customer_id
    and store_version.removed
returning customer.subject
