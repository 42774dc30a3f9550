-- Orders that the store removed are hidden. $2: external ids.
update store_order
set deleted = true
from store_version
where
    store_order.brand_id = $1
    and store_order.external_id = any($2::text[])
    and not store_order.deleted
    and store_version.brand_id = $1
    and store_version.kind = 'order'
    and store_version.external_id = store_order.external_id
    and store_version.removed
