-- Orders show when they were recovered, those of some customers ($2). One that was never attributed keeps what an import
-- said of it.
with theirs as (
    select $1::uuid as brand_id, customer as subject
    from unnest($2::integer[]) as customer
    union
    select brand_id, subject
    from subject_redirect
    where brand_id = $1 and customer = any($2::integer[]) and not deleted
)

update store_order
set recovered_at = case when attribution.recovered then attribution.ordered_at end
from theirs, attribution
where
    store_order.brand_id = theirs.brand_id
    and store_order.subject = theirs.subject
    and attribution.brand_id = store_order.brand_id
    and attribution.order_id = store_order.id
    and store_order.recovered_at is distinct from case when attribution.recovered then attribution.ordered_at end
