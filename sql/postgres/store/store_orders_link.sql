-- Orders whose checkout was known by its token only. $2: tokens of checkouts. Returns these checkouts.
update store_order
set checkout_external_id = checkout.external_id
from checkout
where
    checkout.brand_id = $1
    and checkout.token = any($2::text[])
    and store_order.brand_id = $1
    and store_order.checkout_token = checkout.token
    and store_order.checkout_external_id is null
returning store_order.checkout_external_id
