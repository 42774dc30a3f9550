-- Orders ($2) show when they were recovered ($3, null where they were not).
update store_order
set recovered_at = given.recovered_at
from unnest($2::uuid[], $3::timestamptz[]) as given (id, recovered_at)
where
    store_order.brand_id = $1
    and store_order.id = given.id
    and store_order.recovered_at is distinct from given.recovered_at
