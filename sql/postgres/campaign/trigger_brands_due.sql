-- Brands with events that campaigns wait for, found by jumping from one to the next in the index, in the order of their oldest
-- one. $1: now, $2: at most so many.
with recursive brands as (
    (
        select brand_id
        from trigger_event
        order by brand_id
        limit 1
    )
    union all
    select next.brand_id
    from brands
    cross join lateral (
        select brand_id
        from trigger_event
        where brand_id > brands.brand_id
        order by brand_id
        limit 1
    ) as next
)

select brands.brand_id
from brands
cross join lateral (
    select occurred_at
    from trigger_event
    where brand_id = brands.brand_id and due_at <= $1
    order by occurred_at, event_id
    limit 1
) as oldest
order by oldest.occurred_at, brands.brand_id
limit $2
