-- Orders show when they were recovered, those of some customers ($2). One that was never attributed keeps what an import
-- said of it.
update store_order
set recovered_at = case when attribution.recovered then attribution.ordered_at end
from attribution
where
    store_order.brand_id = $1
    and attribution.brand_id = $1
    and attribution.order_id = store_order.id
    and store_order.subject in (
        select unnest($2::integer[])
        union
        select subject
        from subject_redirect
        where brand_id = $1 and customer = any($2::integer[]) and not deleted
    )
    and store_order.recovered_at is distinct from case when attribution.recovered then attribution.ordered_at end
